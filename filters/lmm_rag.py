"""`lmm-rag`: questions and a summary for each section."""

from __future__ import annotations

import sys

from .annotations import annotate
from .process import run_filter


def main() -> None:
    """Run the command `lmm-rag`, which pandoc starts."""
    sys.exit(run_filter("lmm-rag", annotate))


if __name__ == "__main__":
    main()
