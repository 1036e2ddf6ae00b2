"""`lmm-knit`: the lecture notes, without metadata and RAG-only material."""

from __future__ import annotations

import sys

from .knit.command import run


def main() -> None:
    """Run the command `lmm-knit`, which pandoc starts. In a render by Quarto, the extension's client does, and
    has the render's server do the work."""
    sys.exit(run())


if __name__ == "__main__":
    main()
