"""Set up and render Quarto projects, check them for leaks, and give them an ask box.

May import `workflows` and the packages below it.
"""
