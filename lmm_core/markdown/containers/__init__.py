"""The content of divs, quotes, lists, footnotes and HTML elements, read as documents of their own.

May import the other modules of `markdown`, but not `divs`, which stands on this package.
"""
