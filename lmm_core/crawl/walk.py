"""Walk the markdown files under a folder, except those that git would ignore."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import CrawlError
from ..files.gitignore import Ignored, read_rules, rules_above
from ..files.recovery import torn_problem
from ..files.walk import SUFFIXES, UNMERGED, Choice, Link, Skipped, WalkedFile, because, name_problem, shown_name, walk

MIB = 2**20
LARGE, LARGEST = MIB, 10 * MIB  # bytes: thresholds for advice to split, and for skipping
NEVER = frozenset({".git", ".md_index"})
# Skipped without any .gitignore: tools' output and hidden folders
MADE_BY_TOOLS = (
    ".*/", "_build/", "build/", "dist/", "target/", "_site/", "_book/", "_freeze/", "node_modules/",
    "bower_components/", "venv/", "renv/", "site-packages/", "__pycache__/", "*.egg-info/",
)  # fmt: skip


# Walking


def crawl(root: Path, ignore: Sequence[str] = (), without: Sequence[Path] = ()) -> Iterator[WalkedFile | Skipped]:
    """Yield the markdown files under a folder, by name in each folder. Raise CrawlError if the root is unreadable.

    Respects .gitignore files, also above the root; without any, skips hidden folders and those made by tools. Links are
    not followed. ignore: further patterns as in `.gitignore`; without: folders not entered."""
    if not root.is_dir():
        raise CrawlError(f"{root}: no such folder")
    try:
        root = root.resolve()
        ignored = Ignored(tuple(rules_above(root)), read_rules(MADE_BY_TOOLS), read_rules(ignore))
        os.scandir(root).close()
    except OSError as error:
        raise CrawlError(f"{root}: {because(error)}") from None
    return _crawl(root, Choice(_is_document, _is_entered, ignored, frozenset(map(os.path.realpath, without))))


def _is_document(name: str) -> bool:
    """Return True for a document's name; one like `a.lmm-unmerged.md` holds unmerged text."""
    return name.lower().endswith(SUFFIXES) and not name.lower().endswith(UNMERGED)


def _is_entered(name: str) -> bool:
    return name not in NEVER


def _crawl(root: Path, choice: Choice) -> Iterator[WalkedFile | Skipped]:
    for one in walk(root, choice):
        if isinstance(one, Link):
            yield Skipped(one.name, one.where_to() if one.leads_nowhere else f"{one.where_to()}: not followed")
        elif isinstance(one, WalkedFile) and (problem := name_problem(one.name)):
            yield Skipped(shown_name(one.name), problem)
        else:
            yield one


# Reading


def read(found: WalkedFile) -> str | Skipped:
    """Return a file's text without a byte-order mark, or why it is skipped: unreadable, not UTF-8, empty or too
    large."""
    try:
        with found.path.open("rb") as file:
            data = file.read(LARGEST + 1)
        torn = torn_problem(found.path, data)
    except OSError as error:
        return Skipped(found.name, because(error))
    if torn:
        return Skipped(found.name, torn, torn=True)
    if len(data) > LARGEST:
        size = found.path.stat().st_size
        return Skipped(
            found.name, f"the file has {size / MIB:.1f} MiB, and at most {LARGEST // MIB} are read: split it"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"line {line} is not UTF-8 (byte {error.start}, 0x{data[error.start]:02x}): save the file as UTF-8"
        return Skipped(found.name, what)
    return text if text.strip() else Skipped(found.name, "empty")
