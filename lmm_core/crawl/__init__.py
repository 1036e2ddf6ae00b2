"""Crawl, index and search any folder of markdown, without preparation.

May import `retrieve` and its imports.
"""

FOLDER = ".md_index"  # of the indexes, in the working folder
