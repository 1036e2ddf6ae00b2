"""The work of the command `lmm-knit`."""

from __future__ import annotations

import os

from ..process import run_filter
from .document import knit_document
from .time_limit import limit_time


def run() -> int:
    """Do the work in this process, and return the exit status."""
    if os.environ.get("QUARTO_DOCUMENT_FILE"):
        limit_time("lmm-knit")
    return run_filter("lmm-knit", knit_document)
