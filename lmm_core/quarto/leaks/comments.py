"""Find the comments of metadata (`<!-- lmm`) that no filter took out of a page.

They are found as such and not by their words, of which a short one (`type: exercise`) has too few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...errors import MarkdownError
from ...markdown.files import read_markdown
from .findings import Leak
from .site_text import PAGES, Text

_OPEN = re.compile(r"<!--[ \t\r\n]{0,9}lmm(?=[ \t\r\n]|-->)")
_REACH = 300  # characters of a comment by which it is told from others


def find_comments(text: Text) -> dict[str, int]:
    """Return the comments of metadata in a page, by their first words, each with its line there."""
    return dict(_comments_in(text.source)) if text.suffix in PAGES and "<!--" in text.source else {}


def _comments_in(source: str) -> Iterator[tuple[str, int]]:
    line, at = 1, 0
    for found in _OPEN.finditer(source):
        line += source.count("\n", at, found.start())
        at = found.start()
        comment = source[at : at + _REACH].partition("-->")[0]
        yield " ".join(comment.split()), line


def comment_leaks(
    file: Path, member: str, comments: dict[str, int], sources: Iterable[Path], known: Sequence[Leak]
) -> Iterator[Leak]:
    """Yield a leak for each comment of metadata in a file, but for those in which words were found.

    Its place is that in the source, or in the page if no source has it. known: the leaks that were
    found by their words."""
    reported = {(leak.source, leak.line) for leak in known}
    places = _places(sources, comments)
    for comment, line in comments.items():
        source = places.get(comment, (file, line))
        if source not in reported:
            yield Leak(file, *source, " ".join(comment.split()[:8]), member)


def _places(sources: Iterable[Path], comments: dict[str, int]) -> dict[str, tuple[Path, int]]:
    """Return the source and the line of each comment that a source has."""
    places: dict[str, tuple[Path, int]] = {}
    for path in sources:
        try:
            text = read_markdown(path).text
        except (OSError, MarkdownError):  # reported before
            continue
        for comment, line in _comments_in(text):
            if comment in comments:
                places.setdefault(comment, (path, line))
    return places
