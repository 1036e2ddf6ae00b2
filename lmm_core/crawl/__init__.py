"""Any folder of markdown, prepared by nobody: crawled, cut into snippets, indexed and searched.

May import what `retrieve` may, and `retrieve`.
"""
