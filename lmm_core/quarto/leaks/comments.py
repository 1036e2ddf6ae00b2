"""Find metadata comments (`<!-- lmm`) that no filter removed from a page.

They are matched by their opening: a short one (`type: exercise`) has too few words to search for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from .findings import Leak
from .site_text import PAGES, Text

_OPEN = re.compile(r"<!--[ \t\r\n]{0,9}lmm(?=[ \t\r\n]|-->)")
MOST = 20  # comments of a page that are reported
_REACH = 300  # characters of a comment that are looked at


def comment_leaks(file: Path, text: Text) -> Iterator[Leak]:
    """Yield a leak for each metadata comment in a page, at its line."""
    if text.suffix not in PAGES or "<!--" not in text.source:
        return
    for found in islice(_OPEN.finditer(text.source), MOST):
        comment = text.source[found.start() : found.start() + _REACH].partition("-->")[0]
        line = text.source.count("\n", 0, found.start()) + 1
        yield Leak(file, file, line, " ".join(comment.split()[:8]), text.member)
