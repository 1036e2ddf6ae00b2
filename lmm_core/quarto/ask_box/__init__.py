"""Give a site its ask box, in which students search and practise on every page.

Its data are scripts, since a page that is opened as a file may fetch nothing else. Nothing that is
left out of the notes is in them, unless the project includes its type.
"""
