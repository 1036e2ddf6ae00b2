"""One module for each thing that a person asks for: settings, files and passes put together.

Nothing here prints or reads arguments. May import everything but `quarto`, `serving`, `cli` and the filters.
"""
