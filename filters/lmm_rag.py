"""`lmm-rag`: questions and a summary for each section."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .process import run_filter

if TYPE_CHECKING:
    from .pandoc.document import FilterDocument, FilterOutput


def main() -> None:
    """Run the command `lmm-rag`, which pandoc starts."""
    sys.exit(run_filter("lmm-rag", _annotate, remembers=True))


def _annotate(document: FilterDocument) -> FilterOutput:
    from .annotations import annotate  # loads much, and most runs change nothing

    return annotate(document)


if __name__ == "__main__":
    main()
