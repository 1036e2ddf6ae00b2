"""The changes that a reply makes to files and document, or the reasons why it makes none.

Lines are compared whole and exactly, except for their ends. Only where a text is nowhere else, differences
that nobody sees (NFC and NFD, kinds of blanks, blanks at the end) are passed over. Lines that a reply leaves as they
are keep the file's bytes.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ..errors import LlmdError
from ..markdown.blocks import BOM, Problem
from .document import Llmd
from .editing import add_changelog, plain_mission, remove_file, set_file, set_mission
from .reply import ParsedReply, Replacement

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_HIDDEN = re.compile("[\u00ad\u200b\u200e\u200f\u2060-\u2064\ufeff]")  # not the joiners, which change words
_BLANK = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_MOST = 20_000  # lines of a file that are searched for similar ones
_LONGEST = 300  # characters of a line compared with others, since comparing is quadratic


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's text before (None: it is new) and after (None: it is deleted)."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The effect of a reply.

    With `problems` (line in the reply) it does nothing: no changes, and `document` as it was.
    Otherwise `document` contains the changes to code context, mission and changelog. `warnings`
    stop nothing."""

    changes: tuple[FileChange, ...]
    mission: str | None
    changelog: tuple[str, ...]
    document: Llmd
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def plan(llmd: Llmd, texts: Mapping[str, str], reply: ParsedReply) -> ChangePlan:
    """Return what a reply changes.

    texts: the texts of existing files (line ends as on disk), by the paths that the reply uses."""
    problems = list(reply.problems)
    now: dict[str, str | None] = {path: texts.get(path) for path in reply.paths}
    for one in reply.files:
        _attempt(problems, one, now)
    mission = _mission(problems, llmd, reply.missions)
    changes = tuple(FileChange(path, texts.get(path), new) for path, new in now.items() if new != texts.get(path))
    changelog = tuple(entry.text for entry in reply.changelog)
    document = llmd
    if not problems:
        document = _document(problems, llmd, changes, mission, reply)
    if problems:
        return ChangePlan((), None, (), llmd, tuple(sorted(problems, key=lambda one: one.line)))
    return ChangePlan(changes, mission, changelog, document, (), tuple(_warnings(reply, changes)))


def _warnings(reply: ParsedReply, changes: Sequence[FileChange]) -> Iterator[Problem]:
    if changes and not reply.changelog:
        yield Problem(reply.files[0].line, "the reply changes code and has no CHANGELOG block")
    if reply.changelog and not reply.files and not reply.missions:
        yield Problem(reply.changelog[0].line, "the reply has a CHANGELOG block and changes nothing else")


def _attempt(problems: list[Problem], one: Replacement, now: dict[str, str | None]) -> None:
    """Apply one replacement to the present text of a file, or add a problem."""
    try:
        now[one.path] = _replaced(now[one.path], one)
    except LlmdError as error:
        problems.append(Problem(one.line, f"{one.path}: {error}"))


def _replaced(text: str | None, one: Replacement) -> str | None:
    """Return a file's text after a replacement; None for no file."""
    if _UNWRITABLE.search("".join(one.replace)):
        raise LlmdError("the new text holds characters that a text file cannot have (NUL or a lone surrogate)")
    if text is None and any(line.strip() for line in one.search):
        raise LlmdError("there is no such file (an empty SEARCH makes a new one)")
    if not text and not any(line.strip() for line in one.search):
        return "".join(f"{line}\n" for line in one.replace)
    if not one.search:
        raise LlmdError("the file is there already, and an empty SEARCH makes a new one")
    return _replace_lines(text or "", one)


def _replace_lines(text: str, one: Replacement) -> str | None:
    bom = BOM if text.startswith(BOM) else ""
    lines = _LINE.findall(text.removeprefix(bom))
    bare = [_bare(line) for line in lines]
    places = _find(bare, one.search)
    if not places:
        raise LlmdError(_missed(bare, one))
    if len(places) > 1:
        numbers = ", ".join(str(at + 1) for at in places)
        raise LlmdError(f"the SEARCH text occurs more than once (lines {numbers}): include more lines around it")
    at, end = places[0], places[0] + len(one.search)
    if not one.replace and len(lines) == len(one.search):
        return None
    new = _unchanged_kept(one, bare[at:end])
    return bom + "".join([*lines[:at], *_with_ends(new, lines[at:end], lines), *lines[end:]])


def _unchanged_kept(one: Replacement, there: Sequence[str]) -> list[str]:
    """Return the new lines, those that the replacement leaves as they are in the file's own bytes."""
    if tuple(there) == one.search:
        return list(one.replace)
    lines: list[str] = []
    compared = difflib.SequenceMatcher(None, one.search, one.replace, autojunk=False)
    for kind, first, end, new_first, new_end in compared.get_opcodes():
        lines += there[first:end] if kind == "equal" else one.replace[new_first:new_end]
    return lines


def _as_seen(lines: Sequence[str]) -> list[str]:
    """Return lines without the differences that nobody sees, except for tabs, which may count."""
    return [_HIDDEN.sub("", _BLANK.sub(" ", unicodedata.normalize("NFC", line))).rstrip(" \t") for line in lines]


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def _with_ends(new: Sequence[str], old: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the new lines with the ends of the old ones, the last with that of the last."""
    ends = [line[len(_bare(line)) :] for line in old]
    usual = next((end for line in [*old, *lines] if (end := line[len(_bare(line)) :])), "\n")
    made = [line + (ends[at] if at < len(ends) and ends[at] else usual) for at, line in enumerate(new[:-1])]
    return [*made, *(line + ends[-1] for line in new[-1:])]


def _find(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    """Return the places of some lines, exactly as they are, or else as they are seen."""
    return _places(lines, search) or _places(_as_seen(lines), _as_seen(search))


def _places(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    """Return the first few places where some lines stand among others, overlapping or not."""
    found = (at for at, line in enumerate(lines) if line == search[0] and _stands(lines, search, at))
    return list(islice(found, 5))


def _stands(lines: Sequence[str], search: Sequence[str], at: int) -> bool:
    return at + len(search) <= len(lines) and all(lines[at + n] == line for n, line in enumerate(search))


# Near misses


def _missed(lines: Sequence[str], one: Replacement) -> str:
    """Return a message that a text is missing, with the closest one and how it differs."""
    if one.replace and _find(lines, one.replace):
        return "the SEARCH text is not in the file, but the new text is: was the reply applied before?"
    at = _closest(lines, one.search)
    if at is None:
        return "the SEARCH text is not in the file, and nothing similar either"
    difference = _diff(lines[at : at + len(one.search)], one.search)
    return f"the SEARCH text is not in the file. The closest text is in line {at + 1}:\n{difference}"


def _diff(there: Sequence[str], search: Sequence[str]) -> str:
    marked = difflib.unified_diff(there, search, "what is there", "what SEARCH says", lineterm="")
    return "\n".join(line for line in marked if not line.startswith("@@"))


def _closest(lines: Sequence[str], search: Sequence[str]) -> int | None:
    """Return where most of the searched lines in a row stand, or else a line similar to the longest one, or None.

    Blanks around lines are ignored."""
    there, wanted = ([line.strip() for line in part] for part in (lines[:_MOST], search))
    run = difflib.SequenceMatcher(lambda line: not line, there, wanted, autojunk=False).find_longest_match()
    if any(wanted[run.b : run.b + run.size]):
        return max(0, run.a - run.b)
    longest = max((line for line in wanted if len(line) <= _LONGEST), key=len, default="")
    alike = difflib.get_close_matches(longest, {line for line in there if len(line) <= _LONGEST}, 1) if longest else []
    return max(0, there.index(alike[0]) - wanted.index(longest)) if alike else None


# Mission and document


def _mission(problems: list[Problem], llmd: Llmd, missions: Sequence[Replacement]) -> str | None:
    """Return the mission after its replacements, or None if there are none."""
    now: str | None = None
    for one in missions:
        before = now if now is not None else llmd.mission.text if llmd.mission else ""
        search, new = plain_mission("\n".join(one.search)), plain_mission("\n".join(one.replace))
        there, wanted = before.split("\n"), search.split("\n")
        if _as_seen(there) != _as_seen(wanted):
            difference = _diff(there, wanted)
            problems.append(Problem(one.line, f"SEARCH_MISSION has to be the whole mission:\n{difference}"))
        elif not new:
            problems.append(Problem(one.line, "the new mission is empty"))
        now = new
    return now


def _document(
    problems: list[Problem], llmd: Llmd, changes: Sequence[FileChange], mission: str | None, reply: ParsedReply
) -> Llmd:
    """Return the document with all changes; one that has no place in it is a problem."""
    lines = {one.path: one.line for one in reply.files}
    line = 1
    try:
        for change in changes:
            line = lines[change.path]
            llmd = _changed_file(llmd, change)
        if mission is not None:
            line = reply.missions[-1].line
            llmd = set_mission(llmd, mission)
        for entry in reply.changelog:
            line = entry.line
            llmd = add_changelog(llmd, entry.text)
    except LlmdError as error:
        problems.append(Problem(line, str(error)))
    return llmd


def _changed_file(llmd: Llmd, change: FileChange) -> Llmd:
    if change.new is not None:
        return set_file(llmd, change.path, change.new)
    return remove_file(llmd, change.path) if change.path in llmd.files else llmd
