"""`lmm-knit`: lecture notes without metadata and RAG-only material."""

from __future__ import annotations

import sys

from .knit.document import knit_document
from .process import run_filter


def main() -> None:
    """Run the command `lmm-knit`."""
    sys.exit(run_filter("lmm-knit", knit_document))
