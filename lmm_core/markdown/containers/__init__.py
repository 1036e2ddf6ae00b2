"""The content of divs, quotes, lists, footnotes and HTML elements, parsed as nested documents.

May import all of `markdown` but `divs`, which imports this package.
"""
