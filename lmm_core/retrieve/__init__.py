"""From a question to passages, a context within a budget, and an answer that cites its sources.

Also the tools by which agents search and read a collection. May import what `index` may,
and `index`.
"""
