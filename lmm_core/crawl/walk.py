"""Crawling: the markdown files under a folder, but for those that git would ignore."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..errors import CrawlError
from ..files.gitignore import Ignored, read_rules, rules_above
from ..files.recovery import torn_problem
from ..files.walk import SUFFIXES, UNMERGED, Choice, Link, Skipped, WalkedFile, because, shown_name, walk

MIB = 2**20
LARGE, LARGEST = MIB, 10 * MIB  # bytes: from the first on a file should be split, above the second it is not read
AT_ONCE = 32 * MIB  # bytes of the files that are read ahead
NEVER = frozenset({".git", ".md_index"})
# Where no .gitignore says what is not the writer's: what tools make, and hidden folders.
MADE_BY_TOOLS = (
    ".*/", "_build/", "build/", "dist/", "target/", "_site/", "_book/", "_freeze/", "node_modules/",
    "bower_components/", "venv/", "renv/", "site-packages/", "__pycache__/", "*.egg-info/",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CrawledFile:
    """A file to be indexed. doc_path: relative to the root, with `/`; size in bytes;
    mtime_ns as it was when the file was found."""

    path: Path
    doc_path: str
    size: int
    mtime_ns: int

    @property
    def advice(self) -> str:
        """What the writer should do with a file that is large; "" for most."""
        return f"{self.size / MIB:.1f} MiB: split it, so that it is found by parts" if self.size > LARGE else ""


# Walking


def crawl(
    root: Path, ignore: Sequence[str] = (), endings: Sequence[str] = SUFFIXES, without: Sequence[Path] = ()
) -> Iterator[CrawledFile | Skipped]:
    """The markdown files under a folder, by name in each folder, found as they are asked
    for. Left out in silence is what the .gitignore files say, those of the repository
    above the root included; where none speaks of a folder, what tools make and hidden
    folders are. Links are not followed.

    ignore: more patterns of the same kind, from the root, which come last; endings: of
    files, in whatever case; without: folders that are not entered. Raises CrawlError where
    the root is no folder that can be read."""
    if not root.is_dir():
        raise CrawlError(f"{root}: no such folder")
    try:
        root = root.resolve()
        ignored = Ignored(tuple(rules_above(root)), read_rules(MADE_BY_TOOLS), read_rules(ignore))
        os.scandir(root).close()
    except OSError as error:
        raise CrawlError(f"{root}: {because(error)}") from None
    return _crawl(root, Choice(_is_named(endings), _is_entered, ignored, frozenset(map(os.path.realpath, without))))


def _is_named(endings: Sequence[str]) -> Callable[[str], bool]:
    """Whether a file has the name of a document. (One like `a.lmm-unmerged.md` holds what could
    not be merged into another.)"""
    lower = tuple(ending.lower() for ending in endings)
    return lambda name: name.lower().endswith(lower) and not name.lower().endswith(UNMERGED)


def _is_entered(name: str) -> bool:
    return name not in NEVER


def _crawl(root: Path, choice: Choice) -> Iterator[CrawledFile | Skipped]:
    for one in walk(root, choice):
        if isinstance(one, Link):
            yield Skipped(one.name, one.where_to() if one.leads_nowhere else f"{one.where_to()}: not followed")
        else:
            yield one if isinstance(one, Skipped) else _found(one)


def _found(one: WalkedFile) -> CrawledFile | Skipped:
    if shown_name(one.name) != one.name:
        return Skipped(shown_name(one.name), "its name is not UTF-8: rename it")
    try:
        stat = one.path.stat(follow_symlinks=False)
    except OSError as error:
        return Skipped(one.name, because(error))
    reason = _size_problem(stat.st_size)
    return Skipped(one.name, reason) if reason else CrawledFile(one.path, one.name, stat.st_size, stat.st_mtime_ns)


def _size_problem(size: int) -> str:
    if size > LARGEST:
        return f"{size / MIB:.1f} MiB, and {LARGEST // MIB} MiB are the most: split it"
    return "" if size else "empty"


# Reading


def read(found: CrawledFile) -> str | Skipped:
    """The text of a file, without a byte-order mark; why it is left out where it cannot
    be read, is not UTF-8, holds nothing, or has grown too large since it was found."""
    try:
        with found.path.open("rb") as file:
            data = file.read(LARGEST + 1)
        torn = torn_problem(found.path, data)
    except OSError as error:
        return Skipped(found.doc_path, because(error))
    if torn:
        return Skipped(found.doc_path, torn, torn=True)
    if reason := _size_problem(len(data)):
        return Skipped(found.doc_path, reason)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"line {line} is not UTF-8 (byte {error.start}, 0x{data[error.start]:02x}): save the file as UTF-8"
        return Skipped(found.doc_path, what)
    return text if text.strip() else Skipped(found.doc_path, "empty: nothing but white space")


async def read_all(
    found: Iterable[CrawledFile], max_fibers: int = 25
) -> AsyncIterator[tuple[CrawledFile, str | Skipped]]:
    """The texts of files, in their order. So many are read at the same time, and no more
    ahead than fit into memory well (`AT_ONCE`), however long the caller takes."""
    waiting: deque[tuple[CrawledFile, Future[str | Skipped]]] = deque()
    ahead = 0
    pool = ThreadPoolExecutor(max_fibers, "lmm-read")
    try:
        for one in found:
            while waiting and (len(waiting) >= max_fibers or ahead + one.size > AT_ONCE):
                ahead -= waiting[0][0].size
                yield await _next(waiting)
            waiting.append((one, pool.submit(read, one)))
            ahead += one.size
        while waiting:
            yield await _next(waiting)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


async def _next(waiting: deque[tuple[CrawledFile, Future[str | Skipped]]]) -> tuple[CrawledFile, str | Skipped]:
    one, text = waiting.popleft()
    if text.done():  # as most are: others are let in all the same
        await asyncio.sleep(0)
        return one, text.result()
    return one, await asyncio.wrap_future(text)
