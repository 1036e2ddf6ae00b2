"""Set up and render Quarto projects, check them for leaks, and give them an ask box.

May import `study`, `crawl` and what they may.
"""
