"""Find metadata comments (`<!-- lmm`) left in pages.

Matched by their opening, because short ones (`type: exercise`) make no needle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from .findings import Leak
from .site_text import PAGES, Text

_OPEN = re.compile(r"<!--[ \t\r\n]{0,9}lmm(?=[ \t\r\n]|-->)")
MOST = 20  # reported per page
_REACH = 300  # characters examined


def comment_leaks(file: Path, text: Text) -> Iterator[Leak]:
    """Yield a leak for each metadata comment in a page."""
    if text.suffix not in PAGES or "<!--" not in text.source:
        return
    for match in islice(_OPEN.finditer(text.source), MOST):
        comment = text.source[match.start() : match.start() + _REACH].partition("-->")[0]
        line = text.source.count("\n", 0, match.start()) + 1
        yield Leak(file, file, line, " ".join(comment.split()[:8]), text.member)
