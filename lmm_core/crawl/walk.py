"""Crawling: the markdown files under a folder, but for those that git would ignore."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..markdown.files import SUFFIXES

LARGE, LARGEST = 2**20, 10 * 2**20  # bytes: from the first on a file should be split, above the second it is not read


class CrawlError(Exception):
    """Something about the index of a folder that cannot be done as asked."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to be indexed. doc_path: relative to the root, with `/`; size in bytes."""

    path: Path
    doc_path: str
    size: int
    mtime_ns: int

    @property
    def advice(self) -> str:
        """What the writer should do with a file that is large; "" for most."""
        return ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder (its `doc_path` ends with `/`) that is left out though no rule
    ignores it, and why."""

    doc_path: str
    reason: str


def crawl(
    root: Path, ignore: Sequence[str] = (), endings: Sequence[str] = SUFFIXES, without: Sequence[Path] = ()
) -> Iterator[Found | Skipped]:
    """The files under a folder, lazily and sorted."""
    raise NotImplementedError


def read(found: Found) -> str | Skipped:
    """The text of a file."""
    raise NotImplementedError


def read_all(found: Iterable[Found], max_fibers: int = 25) -> AsyncIterator[tuple[Found, str | Skipped]]:
    """The texts of files, in their order, so many read at a time."""
    raise NotImplementedError
