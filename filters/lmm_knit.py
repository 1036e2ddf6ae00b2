"""`lmm-knit`: the lecture notes, without metadata and RAG-only material."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command `lmm-knit`, which pandoc starts. In a render by Quarto, its server does the work."""
    status = _ask_server() if os.environ.get("QUARTO_DOCUMENT_FILE") else None
    if status is None:
        from .knit.command import run

        status = run()
    sys.exit(status)


def _ask_server() -> int | None:
    from lmm_core.quarto.render_server.client import ask_server

    return ask_server("lmm_filters.knit.page:run")


if __name__ == "__main__":
    main()
