"""`lmm-knit`: the lecture notes, without metadata and RAG-only material."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `lmm-knit`, which pandoc starts."""
    from .knit.command import run

    sys.exit(run())


if __name__ == "__main__":
    main()
