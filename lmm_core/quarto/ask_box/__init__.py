"""The ask box of a site: its data, and the tag that brings it onto the pages."""
