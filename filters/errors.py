"""The error of the filters."""

from __future__ import annotations

from lmm_core.errors import LmmError


class FilterError(LmmError):
    """A reason to stop pandoc, which then writes nothing. The text says what to do."""
