"""The errors of the filters."""

from __future__ import annotations


class FilterError(Exception):
    """A reason to stop pandoc, which then writes nothing. The text says what to do."""
