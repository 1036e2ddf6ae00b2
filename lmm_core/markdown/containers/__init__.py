"""Content of divs, quotes, lists, footnotes and HTML elements, parsed as documents.

May import all of `markdown` but `divs`, which imports this package.
"""
