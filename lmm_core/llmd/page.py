"""Replies as a reader sees them: the text, and the changes as diffs, in their order."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .reply import ChangelogText, Replacement, parse_reply, without_thoughts

_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(?P<info>.*)")
_END_OF_LOG = re.compile(r">{5,9} CHANGELOG[ \t]*")


@dataclass(frozen=True, slots=True)
class Said:
    """Text of a reply, as markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class DisplayedChange:
    """A change as the lines of a diff.

    title: the path of a file, or "Mission" or "Changelog"."""

    title: str
    diff: str
    is_file: bool = True


def read_reply(reply: str, asked: str = "") -> list[Said | DisplayedChange]:
    """Return the parts of a reply, without what the model thought. asked: the request.

    If a block is malformed, nothing of the reply would be applied; all of it is shown as it is,
    in a code fence."""
    reply = without_thoughts(reply, asked).strip("\n")
    read = parse_reply(reply, asked)
    if read.problems:
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", reply))])
        return [Said(f"{fence}\n{reply}\n{fence}")]
    return list(_parts(reply.replace("\r\n", "\n").split("\n"), [*read.files, *read.missions, *read.changelog]))


def _parts(lines: list[str], blocks: list[Replacement | ChangelogText]) -> Iterator[Said | DisplayedChange]:
    done = 0
    for block in sorted(blocks, key=lambda block: block.line):
        first, behind = _span(lines, block)
        if text := "\n".join(lines[done:first]).strip("\n"):
            yield Said(text)
        yield _change(block)
        done = behind
    if text := "\n".join(lines[done:]).strip("\n"):
        yield Said(text)


def _span(lines: list[str], block: Replacement | ChangelogText) -> tuple[int, int]:
    """Return the lines of a block, with its path and the fence around it."""
    first = behind = block.line - 1
    if isinstance(block, ChangelogText):
        while not _END_OF_LOG.fullmatch(lines[behind]):
            behind += 1
        behind += 1
    else:
        behind += len(block.search) + len(block.replace) + 3
    path = block.path if isinstance(block, Replacement) else ""
    while first and (_FENCE.fullmatch(lines[first - 1]) or (path and _names(lines[first - 1], path))):
        path = "" if not _FENCE.fullmatch(lines[first - 1]) else path
        first -= 1
    fence = _FENCE.fullmatch(lines[behind]) if behind < len(lines) else None
    return first, behind + bool(fence and not fence["info"].strip())


def _names(line: str, path: str) -> bool:
    """Return True if a line holds the path and nothing else."""
    return line.strip(" \t*`:").removeprefix("./") == path


def _change(block: Replacement | ChangelogText) -> DisplayedChange:
    if isinstance(block, ChangelogText):
        return DisplayedChange("Changelog", "\n".join(f"+{line}" for line in block.text.strip().split("\n")), False)
    compared = difflib.unified_diff(block.search, block.replace, lineterm="", n=len(block.search))
    return DisplayedChange(block.path or "Mission", "\n".join(list(compared)[3:]), bool(block.path))
