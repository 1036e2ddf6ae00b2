"""`lmm-knit`: lecture notes without metadata and RAG-only material."""

from __future__ import annotations

import os
import sys
import threading

from lmm_core.logging import say

from .knit.document import knit_document
from .process import run_filter

SECONDS = 300.0  # some hundred times the time for a course's largest page


def limit_time(name: str, seconds: float = SECONDS) -> None:
    """Exit with status 1 after a timeout."""
    timer = threading.Timer(seconds, _end, (name, seconds))
    timer.daemon = True
    timer.start()


def _end(name: str, seconds: float) -> None:
    say(
        f"{name}: The filter was stopped because it was not done after {seconds:g} seconds. "
        f"Try it outside of Quarto: pandoc -F {name}",
        err=True,
    )
    os._exit(1)  # an exception might never reach the main thread


def main() -> None:
    """Run the command `lmm-knit`."""
    if os.environ.get("QUARTO_DOCUMENT_FILE"):
        limit_time("lmm-knit")
    sys.exit(run_filter("lmm-knit", knit_document))
