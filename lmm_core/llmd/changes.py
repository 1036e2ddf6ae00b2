"""The changes that a reply makes to files and document, or the reasons why it makes none.

Lines are compared whole and exactly, except for their ends: the file keeps its own.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ..errors import LlmdError
from ..markdown.blocks import Problem
from .document import Llmd
from .editing import add_changelog, plain_mission, remove_file, set_file, set_mission
from .reply import ParsedReply, Replacement

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
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
    problems += _nested(reply, now)
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


def _attempt(problems: list[Problem], one: Replacement, now: dict[str, str | None]) -> None:
    """Apply one replacement to the present text of a file, or add a problem."""
    try:
        now[one.path] = _replaced(now[one.path], one)
    except LlmdError as error:
        problems.append(Problem(one.line, f"{one.path}: {error}"))


def _nested(reply: ParsedReply, now: Mapping[str, str | None]) -> Iterator[Problem]:
    """Yield a problem for each file that would have to lie inside another file."""
    files = [path for path, text in now.items() if text is not None]
    for path in files:
        if above := next((other for other in files if path.startswith(f"{other}/")), None):
            line = next(one.line for one in reply.files if one.path == path)
            yield Problem(line, f"{path}: {above} is no folder, but a file of this reply")


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
    lines = _LINE.findall(text)
    bare = [_bare(line) for line in lines]
    places = _places(bare, one.search)
    if not places:
        raise LlmdError(_missed(bare, one))
    if len(places) > 1:
        numbers = ", ".join(str(at + 1) for at in places)
        raise LlmdError(f"the SEARCH text occurs more than once (lines {numbers}): include more lines around it")
    at, end = places[0], places[0] + len(one.search)
    if not one.replace and len(lines) == len(one.search):
        return None
    return "".join([*lines[:at], *_with_ends(one.replace, lines[at:end], lines), *lines[end:]])


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def _with_ends(new: Sequence[str], old: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the new lines with the ends of the old ones, the last with that of the last."""
    ends = [line[len(_bare(line)) :] for line in old]
    usual = next((end for line in [*old, *lines] if (end := line[len(_bare(line)) :])), "\n")
    made = [line + (ends[at] if at < len(ends) and ends[at] else usual) for at, line in enumerate(new[:-1])]
    return [*made, *(line + ends[-1] for line in new[-1:])]


def _places(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    """Return the first few places where some lines stand among others, overlapping or not."""
    found = (at for at, line in enumerate(lines) if line == search[0] and _stands(lines, search, at))
    return list(islice(found, 5))


def _stands(lines: Sequence[str], search: Sequence[str], at: int) -> bool:
    return at + len(search) <= len(lines) and all(lines[at + n] == line for n, line in enumerate(search))


# Near misses


def _missed(lines: Sequence[str], one: Replacement) -> str:
    """Return a message that a text is missing, with the closest one and how it differs."""
    if one.replace and _places(lines, one.replace):
        return "the SEARCH text is not in the file, but the new text is: was the reply applied before?"
    at = _closest(lines, one.search)
    if at is None:
        return "the SEARCH text is not in the file, and nothing similar either"
    there = lines[at : at + len(one.search)]
    return f"the SEARCH text is not in the file. The closest text is in line {at + 1}:\n{_diff(there, one.search)}"


def _diff(there: Sequence[str], search: Sequence[str]) -> str:
    marked = difflib.unified_diff(there, search, "what is there", "what SEARCH says", lineterm="")
    return "\n".join(line for line in marked if not line.startswith("@@"))


def _closest(lines: Sequence[str], search: Sequence[str]) -> int | None:
    """Return where most of the searched lines stand at the same distances, or None.

    Blanks around lines are ignored. If no line is found, the place of a line most similar to the
    longest one counts."""
    lines = lines[:_MOST]
    known: dict[str, list[int]] = {}
    for at, line in enumerate(search):
        if plain := line.strip():
            known.setdefault(plain, []).append(at)
    votes: Counter[int] = Counter()
    for at, line in enumerate(lines):
        for other in known.get(line.strip(), [])[:50]:
            votes[at - other] += len(line.strip())
    if votes:
        return max(0, votes.most_common(1)[0][0])
    longest = max((line for line in known if len(line) <= _LONGEST), key=len, default="")
    others = sorted({line.strip() for line in lines if len(line) <= _LONGEST})
    alike = difflib.get_close_matches(longest, others, 1) if longest else []
    place = next((at for at, line in enumerate(lines) if line.strip() in alike), None)
    return None if place is None else max(0, place - known[longest][0])


# Mission and document


def _mission(problems: list[Problem], llmd: Llmd, missions: Sequence[Replacement]) -> str | None:
    """Return the mission after its replacements, or None if there are none."""
    now: str | None = None
    for one in missions:
        before = now if now is not None else llmd.mission.text if llmd.mission else ""
        search, new = plain_mission("\n".join(one.search)), plain_mission("\n".join(one.replace))
        if search != before:
            message = (
                f"SEARCH_MISSION has to be the whole mission:\n{_diff(before.split(chr(10)), search.split(chr(10)))}"
            )
            problems.append(Problem(one.line, message))
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
