"""Parse the changes in a model's reply.

    src/billing.py
    <<<<<< SEARCH
    the lines as they are
    =======
    the lines as they will be
    >>>>>> REPLACE

`SEARCH_MISSION` … `REPLACE_MISSION` has no path, and `CHANGELOG` … `CHANGELOG` encloses the text of one change. Marks
have 5 to 9 signs at the start of a line. The path is on the line before, optionally in backticks or bold and with a
colon; for a fenced block also before the fence or on its first line.

A block may contain lines that look like marks, if its own three marks have a different number of signs. The
specification has six signs around a divider of seven."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import LlmdError
from ..markdown.blocks import Problem
from ..models.replies import unwrap

_NAMES = "SEARCH_MISSION|REPLACE_MISSION|SEARCH|REPLACE|CHANGELOG"
_MARK = re.compile(rf"(?P<signs><{{5,9}}|>{{5,9}}) (?P<name>{_NAMES})[ \t]*")
_NAME = re.compile(rf"(?:{_NAMES})\b")
_DIVIDER = re.compile(r"={5,9}[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)")
_LABEL = re.compile(r"(?:#{2,6}[ \t]+)?(?:\*\*)?(?:file(?:name)?|path)(?:\*\*)?:(?:\*\*)?[ \t]*|#{2,6}[ \t]+", re.I)
_TICKED = re.compile(r"(`+)([^`]+)\1")
_BULLET = re.compile(r"[-*+][ \t]+(?=\S)")
_ENDS = {"SEARCH": "REPLACE", "SEARCH_MISSION": "REPLACE_MISSION", "CHANGELOG": "CHANGELOG"}


@dataclass(frozen=True, slots=True)
class Replacement:
    """Lines to search for and their replacement, without line ends.

    path: as in the reply, without `./` and not validated; "" for the mission; line: of the SEARCH mark, from 1"""

    path: str
    search: tuple[str, ...]
    replace: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class ChangelogText:
    """The description of a change for the changelog."""

    text: str
    line: int


@dataclass(slots=True)
class ParsedReply:
    """The changes in a reply, in order. They must not be applied if there are `problems`."""

    files: list[Replacement] = field(default_factory=list)
    missions: list[Replacement] = field(default_factory=list)
    changelog: list[ChangelogText] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def paths(self) -> dict[str, int]:
        """Return the files' paths, each with its first line."""
        paths: dict[str, int] = {}
        for file in self.files:
            paths.setdefault(file.path, file.line)
        return paths


def parse_reply(text: str, request: str = "", first_line: int = 1) -> ParsedReply:
    """Parse a reply. Errors in it are not raised but listed in `problems`.

    request: the human's text; tags and marks in it are left in the reply
    first_line: line of the document on which the reply begins"""
    answer = unwrap(text, request)
    before = "\n" * (first_line - 1 + text.count("\n", 0, max(0, text.rfind(answer))))  # for the line numbers
    return _ReplyReader([line.removesuffix("\r") for line in f"{before}{answer}".split("\n")]).read()


class _ReplyReader:
    """Parses one reply; lines count from 0 here."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.done = 0  # line after the last block
        self.fence = ""  # the open fence
        self.opened = -1  # its line
        self.reply = ParsedReply()

    def read(self) -> ParsedReply:
        at = 0
        while at < len(self.lines):
            at = self._read_line(at)
        return self.reply

    def _read_line(self, at: int) -> int:
        line = self.lines[at].rstrip()
        mark, following = _MARK.fullmatch(line), at + 1
        try:
            if mark and mark["signs"][0] == "<" and mark["name"] in _ENDS:
                following = self._find_end(at, mark) + 1
                self._read_block(at, following - 1, mark)
            elif mark:
                raise LlmdError(f"`{line}` ends no block")
            elif _is_nearly_mark(line):
                advice = "write 5 to 9 signs, a blank and the name in capitals, on a line of its own"
                raise LlmdError(f"`{line.strip()}` is not a mark: {advice}")
            elif fence := _FENCE.fullmatch(line):
                self._count_fence(at, fence)
        except LlmdError as error:
            self.reply.problems.append(Problem(at + 1, str(error)))
        self.done = following if mark else self.done
        return following

    def _count_fence(self, at: int, fence: re.Match[str]) -> None:
        if not self.fence:
            self.fence, self.opened = fence["fence"], at
        elif fence["fence"].startswith(self.fence) and not fence["info"]:
            self.fence, self.opened = "", -1

    def _find_end(self, at: int, mark: re.Match[str]) -> int:
        """Return the line of a block's end mark, which has as many signs as its first. Raise LlmdError without one."""
        end = f"{'>' * len(mark['signs'])} {_ENDS[mark['name']]}"
        for number, line in enumerate(self.lines[at + 1 :], at + 1):
            if line.rstrip() == end:
                return number
            if (other := _MARK.fullmatch(line)) and other["signs"] == mark["signs"]:
                break
        raise LlmdError(f"`{mark[0].strip()}` has no end: add the line `{end}`")

    def _read_block(self, at: int, end: int, mark: re.Match[str]) -> None:
        if mark["name"] == "CHANGELOG":
            text = "\n".join(self.lines[at + 1 : end]).strip()
            if not text:
                raise LlmdError("this CHANGELOG block has no text")
            self.reply.changelog += [ChangelogText(item, at + 1) for item in _items(text)]
            return
        divider = self._find_divider(at, end, len(mark["signs"]))
        search, new = tuple(self.lines[at + 1 : divider]), tuple(self.lines[divider + 1 : end])
        if mark["name"] == "SEARCH":
            self.reply.files.append(Replacement(self._path(at), search, new, at + 1))
        else:
            self.reply.missions.append(Replacement("", search, new, at + 1))

    def _find_divider(self, at: int, end: int, signs: int) -> int:
        dividers = [number for number in range(at + 1, end) if _DIVIDER.fullmatch(self.lines[number])]
        if not dividers:
            raise LlmdError("the block has no line `=======` between the old text and the new one")
        lengths = (6, 7) if signs == 6 else (signs,)
        fitting = [number for number in dividers if len(self.lines[number].rstrip()) in lengths] or dividers
        if len(fitting) > 1:
            numbers = ", ".join(str(number + 1) for number in fitting)
            advice = "write its three marks with another number of signs"
            raise LlmdError(f"lines {numbers} may all divide this block: {advice}")
        return fitting[0]

    # Paths

    def _path(self, at: int) -> str:
        before, path = self._previous_line(at), ""
        if before is not None and before == self.opened:
            words = self.lines[before].strip().lstrip("`~").split()
            path = words[-1] if words and re.search(r"[./]", words[-1]) and words[-1][0] not in "{." else ""
            before = self._previous_line(before)
        path = _plain_path(path) or (_read_path(self.lines[before]) if before is not None else "")
        if not path:
            raise LlmdError("this block has no path: write it on the line before (in backticks, if it has blanks)")
        return path

    def _previous_line(self, at: int) -> int | None:
        return next((number for number in range(at - 1, self.done - 1, -1) if self.lines[number].strip()), None)


def _is_nearly_mark(line: str) -> bool:
    """Return True for a line that begins with many signs, or with some and a mark's name."""
    bare = re.sub(r"[^\w<> ]", "", html.unescape(line))  # without bullets, emphasis and invisible characters
    rest = bare.lstrip(" <>")
    signs = sum(sign in "<>" for sign in bare[: len(bare) - len(rest)])
    return signs > 3 or (signs > 1 and _NAME.match(rest) is not None)


def _items(text: str) -> list[str]:
    if not _BULLET.match(text):
        return [text]
    items = re.split(rf"\n(?={_BULLET.pattern})", text)
    return [re.sub(r"\n[ ]{1,2}", "\n", _BULLET.sub("", item, count=1)).strip() for item in items]


def _read_path(line: str) -> str:
    label = _LABEL.match(line := line.strip())
    path = line[label.end() if label else 0 :].removesuffix(":").strip("*").removesuffix(":").rstrip()
    if ticked := _TICKED.fullmatch(path):
        return _plain_path(ticked[2].strip())
    is_heading = label is not None and not re.search(r"[./]", path)
    is_text = re.search(r"\s|`|\*\*", path) or path.startswith(("<", ">", "#", "=", "~~~"))
    return "" if is_heading or is_text else _plain_path(path)


def _plain_path(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)
