"""One module for each thing that a person asks for, which puts settings, files and passes together.

Nothing here prints or reads arguments. May import everything but `quarto`, `serving`, `cli` and the filters.
"""
