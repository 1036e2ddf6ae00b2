"""Crawling: the markdown files under a folder, but for those that git would ignore."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ..files.gitignore import Rules, read_rules, rules_above, rules_of, says_ignored
from ..markdown.files import SUFFIXES

MIB = 2**20
LARGE, LARGEST = MIB, 10 * MIB  # bytes: from the first on a file should be split, above the second it is not read
AT_ONCE = 32 * MIB  # bytes of the files that are read ahead
NEVER = frozenset({".git", ".md_index"})
# Where no .gitignore says what is not the writer's: what tools make, and hidden folders.
MADE_BY_TOOLS = (
    ".*/", "_build/", "build/", "dist/", "target/", "_site/", "_book/", "_freeze/", "node_modules/",
    "bower_components/", "venv/", "renv/", "site-packages/", "__pycache__/", "*.egg-info/",
)  # fmt: skip


class CrawlError(Exception):
    """Something about the index of a folder that cannot be done as asked."""


@dataclass(frozen=True, slots=True)
class Found:
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


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder (its `doc_path` ends with `/`) that is left out though nothing
    says that it should be, and why."""

    doc_path: str
    reason: str


# Walking


def crawl(
    root: Path, ignore: Sequence[str] = (), endings: Sequence[str] = SUFFIXES, without: Sequence[Path] = ()
) -> Iterator[Found | Skipped]:
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
        rules = rules_above(root)
        os.scandir(root).close()
    except OSError as error:
        raise CrawlError(f"{root}: {_because(error)}") from None
    return _Walk(root, read_rules(ignore), tuple(ending.lower() for ending in endings), without).walk(rules)


_Step: TypeAlias = "Found | Skipped | Iterator[_Step]"


@dataclass
class _Walk:
    root: Path
    extra: Rules
    endings: tuple[str, ...]
    without: Sequence[Path]
    banned: frozenset[str] = field(init=False)
    deny: Rules = field(init=False)

    def __post_init__(self) -> None:
        self.banned = frozenset(str(path.resolve()) for path in self.without)
        self.deny = read_rules(MADE_BY_TOOLS)

    def walk(self, rules: list[Rules]) -> Iterator[Found | Skipped]:
        """Folder by folder, without recursion: a tree may be deep."""
        open_folders = [self._folder(str(self.root), "", rules)]
        while open_folders:
            step = next(open_folders[-1], None)
            if step is None:
                open_folders.pop()
            elif isinstance(step, Found | Skipped):
                yield step
            else:
                open_folders.append(step)

    def _folder(self, path: str, rel: str, rules: list[Rules]) -> Iterator[_Step]:
        """What is in a folder; for each folder in it an iterator of the same kind."""
        try:
            with os.scandir(path) as entries:
                wanted = [entry for entry in entries if self._is_wanted(entry)]
            lines = rules_of(path)
        except OSError as error:
            yield Skipped(_shown(rel), _because(error))
            return
        if lines is not None:
            rules = [*rules, read_rules(lines, len(rel))]
        for entry in sorted(wanted, key=lambda entry: entry.name):
            yield from self._entry(entry, rel + entry.name, rules)

    def _is_wanted(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry is a folder, or has the name of a markdown file. (A file like
        `a.lmm-unmerged.md` holds what could not be merged into another.)"""
        name = entry.name.lower()
        if name.endswith(self.endings):
            return not name.endswith(".lmm-unmerged.md")
        return entry.name not in NEVER and _is_folder(entry)

    def _entry(self, entry: os.DirEntry[str], rel: str, rules: list[Rules]) -> Iterator[_Step]:
        is_link = entry.is_symlink()
        is_folder = not is_link and entry.is_dir()
        rel += "/" if is_folder else ""
        if entry.path in self.banned or self._is_ignored(rel, rules):
            return
        if is_link:
            yield Skipped(_shown(rel), self._where_to(entry))
        elif is_folder:
            yield self._folder(entry.path, rel, rules)
        else:
            yield self._file(entry, rel)

    def _is_ignored(self, rel: str, rules: list[Rules]) -> bool:
        return says_ignored([*(rules or [self.deny]), self.extra], rel)

    def _where_to(self, entry: os.DirEntry[str]) -> str:
        target = Path(os.path.realpath(entry.path))
        if not os.access(target, os.F_OK):
            return "a link that leads nowhere"
        if not target.is_relative_to(self.root):
            return f"a link out of the folder, to {target}: not followed"
        if Path(entry.path).is_relative_to(target):
            return "a link to a folder around it: not followed"
        return f"a link to {target.relative_to(self.root).as_posix()}: not followed"

    def _file(self, entry: os.DirEntry[str], rel: str) -> Found | Skipped:
        if not entry.is_file():
            return Skipped(_shown(rel), "no regular file")
        if _shown(rel) != rel:
            return Skipped(_shown(rel), "its name is not UTF-8: rename it")
        try:
            stat = entry.stat()
        except OSError as error:
            return Skipped(rel, _because(error))
        reason = _size_problem(stat.st_size)
        return Skipped(rel, reason) if reason else Found(Path(entry.path), rel, stat.st_size, stat.st_mtime_ns)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder, or a link to one that can be looked at."""
    try:
        return Path(entry.path).is_dir() if entry.is_symlink() else entry.is_dir()
    except OSError:
        return False


def _shown(rel: str) -> str:
    """A path as text, whatever its bytes are."""
    return os.fsencode(rel).decode("utf-8", "replace") or "./"


def _because(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "gone since it was found"
    if isinstance(error, PermissionError):
        return "may not be read: permission denied"
    return f"cannot be read: {error.strerror or error}"


def _size_problem(size: int) -> str:
    if size > LARGEST:
        return f"{size / MIB:.1f} MiB, and {LARGEST // MIB} MiB are the most: split it"
    return "" if size else "empty"


# Reading


def read(found: Found) -> str | Skipped:
    """The text of a file, without a byte-order mark; why it is left out where it cannot
    be read, is not UTF-8, holds nothing, or has grown too large since it was found."""
    try:
        with found.path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        return Skipped(found.doc_path, _because(error))
    if reason := _size_problem(len(data)):
        return Skipped(found.doc_path, reason)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"line {line} is not UTF-8 (byte {error.start}, 0x{data[error.start]:02x}): save the file as UTF-8"
        return Skipped(found.doc_path, what)
    return text if text.strip() else Skipped(found.doc_path, "empty: nothing but white space")


async def read_all(found: Iterable[Found], max_fibers: int = 25) -> AsyncIterator[tuple[Found, str | Skipped]]:
    """The texts of files, in their order. So many are read at the same time, and no more
    ahead than fit into memory well (`AT_ONCE`), however long the caller takes."""
    waiting: deque[tuple[Found, Future[str | Skipped]]] = deque()
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


async def _next(waiting: deque[tuple[Found, Future[str | Skipped]]]) -> tuple[Found, str | Skipped]:
    one, text = waiting.popleft()
    if text.done():  # as most are: others are let in all the same
        await asyncio.sleep(0)
        return one, text.result()
    return one, await asyncio.wrap_future(text)
