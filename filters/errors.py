"""The error of the filters."""

from __future__ import annotations

from lmm_core.errors import LmmError


class FilterError(LmmError):
    """An error that stops pandoc before it writes. The text says what to do."""
