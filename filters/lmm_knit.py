"""`lmm-knit`: the lecture notes, without metadata and RAG-only material."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command `lmm-knit`, which pandoc starts."""
    gc.disable()  # what is imported and read is needed to the end; looking through it takes a twentieth of the time
    from .knit.command import run

    sys.exit(run())


if __name__ == "__main__":
    main()
