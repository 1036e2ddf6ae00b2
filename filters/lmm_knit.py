"""`lmm-knit`: lecture notes without metadata and RAG-only material."""

from __future__ import annotations

import os
import sys

from .knit.document import knit_document
from .knit.time_limit import limit_time
from .process import run_filter


def main() -> None:
    """Run the command `lmm-knit`."""
    if os.environ.get("QUARTO_DOCUMENT_FILE"):
        limit_time("lmm-knit")
    sys.exit(run_filter("lmm-knit", knit_document))


if __name__ == "__main__":
    main()
