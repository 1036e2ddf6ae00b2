"""Other formats (Word, slides, web pages, notebooks, PDF) made into documents.

What is read is data: nothing in it can annotate, hide or publish a part. May import files and markdown.
"""
