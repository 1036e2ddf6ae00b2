"""The ask box of a site, in which students search and practise.

Its data are scripts, since a page opened as a file may fetch nothing else. Hidden parts are not in them, unless the
project includes their type."""
