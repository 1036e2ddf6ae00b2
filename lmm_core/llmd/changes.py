"""Plan a reply's changes to files and document, or report problems.

Whole lines are compared exactly, apart from line ends. If there is no match, invisible differences (NFC and NFD,
kinds of blanks, trailing blanks) are ignored. Unchanged lines keep the file's bytes."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from ..errors import LlmdError
from ..markdown.blocks import BOM, Problem
from .document import MISSION, Llmd
from .editing import UNWRITABLE, add_changelog, plain_mission, remove_file, set_file, set_mission
from .reply import ParsedReply, Replacement

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_HIDDEN = re.compile("[\u00ad\u200b\u200e\u200f\u2060-\u2064\ufeff]")  # without joiners, which change words
_BLANK = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_MOST = 20_000  # lines of a file searched for similar ones


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's text before (None: new) and after (None: deleted)."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The effect of a reply, none with `problems`. document: with the new code context, mission and changelog."""

    document: Llmd
    changes: tuple[FileChange, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def plan(llmd: Llmd, read: Callable[[str], str | None], reply: ParsedReply) -> ChangePlan:
    """Return a reply's changes.

    read: returns a file's text by its path in the reply, or None; raises LlmdError if it may not be read"""
    problems = list(reply.problems)
    texts: dict[str, str | None] = {}
    for path, line in reply.paths.items():
        with _noted(problems, line):
            texts[path] = read(path)
    if texts.keys() != reply.paths.keys():
        return ChangePlan(llmd, problems=tuple(problems))
    new_texts, mission = dict(texts), llmd.parts[MISSION].text if MISSION in llmd.parts else ""
    for replacement in reply.files:
        with _noted(problems, replacement.line, f"{replacement.path}: "):
            new_texts[replacement.path] = _replaced(new_texts[replacement.path], replacement)
    for replacement in reply.missions:
        with _noted(problems, replacement.line):
            mission = _new_mission(mission, replacement)
    changes = tuple(FileChange(path, text, new_texts[path]) for path, text in texts.items() if new_texts[path] != text)
    document = llmd if problems else _changed_document(problems, llmd, changes, mission, reply)
    if problems:
        return ChangePlan(llmd, problems=tuple(sorted(problems, key=lambda problem: problem.line)))
    return ChangePlan(document, changes, warnings=tuple(_warnings(reply, changes)))


@contextmanager
def _noted(problems: list[Problem], line: int, start: str = "") -> Iterator[None]:
    """Add an error of the block to the problems. start: of the message."""
    try:
        yield
    except LlmdError as error:
        problems.append(Problem(line, f"{start}{error}"))


def _warnings(reply: ParsedReply, changes: Sequence[FileChange]) -> Iterator[Problem]:
    if changes and not reply.changelog:
        yield Problem(reply.files[0].line, "the reply changes code without a CHANGELOG block")
    if reply.changelog and not reply.files and not reply.missions:
        yield Problem(reply.changelog[0].line, "the reply changes nothing but the changelog")


def _replaced(text: str | None, replacement: Replacement) -> str | None:
    if UNWRITABLE.search("".join(replacement.replace)):
        raise LlmdError("the new text has characters that a text file cannot have (NUL or a lone surrogate)")
    if text is None and any(line.strip() for line in replacement.search):
        raise LlmdError("there is no such file: to make it, leave SEARCH empty")
    if not text and not any(line.strip() for line in replacement.search):
        return "".join(f"{line}\n" for line in replacement.replace)
    if not replacement.search:
        raise LlmdError("the file already exists: put the lines to replace into SEARCH")
    return _replace_lines(text or "", replacement)


def _replace_lines(text: str, replacement: Replacement) -> str | None:
    bom = BOM if text.startswith(BOM) else ""
    lines = _LINE.findall(text.removeprefix(bom))
    bare = [_bare(line) for line in lines]
    places = _find(bare, replacement.search)
    if not places:
        raise LlmdError(_missed(bare, replacement))
    if len(places) > 1:
        numbers = ", ".join(str(at + 1) for at in places)
        raise LlmdError(f"the SEARCH text occurs in lines {numbers}: add more lines around it")
    at, end = places[0], places[0] + len(replacement.search)
    if not replacement.replace and len(lines) == len(replacement.search):
        return None
    usual_end = next(filter(None, map(_end_of, [*lines[at:end], *lines])), "\n")
    return bom + "".join([*lines[:at], *_merge_lines(replacement, lines[at:end], usual_end), *lines[end:]])


def _merge_lines(replacement: Replacement, old: Sequence[str], usual_end: str) -> list[str]:
    """Return the new lines. Unchanged ones keep their bytes, others get the file's usual line end."""
    merged: list[str] = []
    compared = difflib.SequenceMatcher(None, replacement.search, replacement.replace, autojunk=False)
    for kind, first, end, new_first, new_end in compared.get_opcodes():
        new = [line + usual_end for line in replacement.replace[new_first:new_end]]
        merged += old[first:end] if kind == "equal" else new
    ended = [line if line.endswith("\n") else line + usual_end for line in merged[:-1]]
    return [*ended, *(_bare(line) + _end_of(old[-1]) for line in merged[-1:])]


def _normalized(lines: Sequence[str]) -> list[str]:
    """Return lines without invisible differences; tabs stay."""
    return [_HIDDEN.sub("", _BLANK.sub(" ", unicodedata.normalize("NFC", line))).rstrip(" \t") for line in lines]


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def _end_of(line: str) -> str:
    return line[len(_bare(line)) :]


def _find(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    return _places(lines, search) or _places(_normalized(lines), _normalized(search))


def _places(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    starts = (at for at, line in enumerate(lines) if line == search[0])
    return list(islice((at for at in starts if [*lines[at : at + len(search)]] == [*search]), 5))


# Near misses


def _missed(lines: Sequence[str], replacement: Replacement) -> str:
    if replacement.replace and _find(lines, replacement.replace):
        return "the SEARCH text is not in the file, but the new text is. Was the reply applied before?"
    at = _closest(lines, replacement.search)
    if at is None:
        return "the SEARCH text is not in the file, nor is anything similar"
    difference = _diff(lines[at : at + len(replacement.search)], replacement.search)
    return f"the SEARCH text is not in the file. The closest text is in line {at + 1}:\n{difference}"


def _diff(lines: Sequence[str], search: Sequence[str]) -> str:
    diff_lines = difflib.unified_diff(lines, search, "file", "SEARCH", lineterm="")
    return "\n".join(line for line in diff_lines if not line.startswith("@@"))


def _closest(lines: Sequence[str], search: Sequence[str]) -> int | None:
    """Return the index of the longest match, ignoring blanks, or None."""
    stripped, stripped_search = ([line.strip() for line in part] for part in (lines[:_MOST], search))
    run = difflib.SequenceMatcher(lambda line: not line, stripped, stripped_search, autojunk=False).find_longest_match()
    return max(0, run.a - run.b) if any(stripped_search[run.b : run.b + run.size]) else None


# Mission and document


def _new_mission(mission: str, replacement: Replacement) -> str:
    lines, search = mission.split("\n"), plain_mission("\n".join(replacement.search)).split("\n")
    if _normalized(lines) != _normalized(search):
        raise LlmdError(f"SEARCH_MISSION differs from the mission: repeat all of it\n{_diff(lines, search)}")
    if not (new := plain_mission("\n".join(replacement.replace))):
        raise LlmdError("the new mission is empty")
    return new


def _changed_document(
    problems: list[Problem], llmd: Llmd, changes: Sequence[FileChange], mission: str, reply: ParsedReply
) -> Llmd:
    for change in changes:
        with _noted(problems, reply.paths[change.path]):
            if change.new is not None:
                llmd = set_file(llmd, change.path, change.new)
            elif change.path in llmd.files:
                llmd = remove_file(llmd, change.path)
    if reply.missions:
        with _noted(problems, reply.missions[-1].line):
            llmd = set_mission(llmd, mission)
    for entry in reply.changelog:
        with _noted(problems, entry.line):
            llmd = add_changelog(llmd, entry.text)
    return llmd
