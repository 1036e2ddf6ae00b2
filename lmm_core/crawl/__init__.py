"""A reader for any folder of markdown, prepared by nobody: crawled, cut into windows, indexed and searched.

May import what `retrieve` may, and `retrieve`.
"""

FOLDER = ".md_index"  # where the indexes are, in the working folder
