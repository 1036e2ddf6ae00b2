"""Parse the changes in a model's reply.

    src/billing.py
    <<<<<< SEARCH
    the lines as they are
    =======
    the lines as they shall be
    >>>>>> REPLACE

`SEARCH_MISSION` … `REPLACE_MISSION` has no path, and `CHANGELOG` … `CHANGELOG` encloses the text of one change. Marks
have 5 to 9 signs at the start of a line. The path is on the line before, optionally in backticks or bold and with a
colon; if the block is fenced, also before the fence or in its first line.

Blocks may contain text that looks like a mark. So a block ends with the first end mark of equal length, else of any
length. Of several divider lines, the one of equal length counts; for the specification's six signs the one with
seven, unless another has six. Otherwise the block is malformed."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ..markdown.blocks import Problem
from ..models.replies import unwrap

_NAMES = "SEARCH_MISSION|REPLACE_MISSION|SEARCH|REPLACE|CHANGELOG"
_MARK = re.compile(rf"(?P<signs><{{5,9}}|>{{5,9}}) (?P<name>{_NAMES})[ \t]*")
# Malformed marks: many signs at the start of a line, or a name behind signs
_ALMOST = re.compile(
    rf"\s*+(?:[<>]{{4,}}+.*|[<>]{{3}}\W*+(?:{_NAMES})\b.*)"
    rf"|[^\w<>]*(?:>[^\w<>]+)*(?:[<>]{{2,}}+\W*+(?:{_NAMES})|[<>]{{4,}}+\W*+(?i:{_NAMES}))\W*"
)
_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")  # zero width
_DIVIDER = re.compile(r"={5,9}[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)")
_DECORATED = re.compile(r"(?:\*\*)?(?P<ticks>`+)(?P<path>[^`]+)(?P=ticks)(?:\*\*)?|\*\*(?P<bold>[^*`]+)\*\*")
_LABEL = re.compile(r"(?:#{2,6}[ \t]+)?(?:\*\*)?(?:file(?:name)?|path)(?:\*\*)?:(?:\*\*)?[ \t]*|#{2,6}[ \t]+", re.I)
_BULLET = re.compile(r"[-*+][ \t]+(?=\S)")
_ENDS = {"SEARCH": "REPLACE", "SEARCH_MISSION": "REPLACE_MISSION", "CHANGELOG": "CHANGELOG"}


@dataclass(frozen=True, slots=True)
class Replacement:
    """Lines to search for and their replacement, without line ends.

    path: as written, without `./`, unchecked; "" for the mission
    line: of the SEARCH mark, from 1"""

    path: str
    search: tuple[str, ...]
    replace: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class ChangelogText:
    """A description of one change."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The changes in a reply, in order. Any `problems` (line from 1) prevent applying."""

    files: tuple[Replacement, ...] = ()
    missions: tuple[Replacement, ...] = ()
    changelog: tuple[ChangelogText, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def paths(self) -> list[str]:
        """Return the distinct paths."""
        return list(dict.fromkeys(file.path for file in self.files))


class _Malformed(Exception):
    """A malformed block. at: line index."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(at + 1, message)


def parse_reply(text: str, asked: str = "") -> ParsedReply:
    """Parse a reply without failing; errors are in `problems`. asked: see `without_thoughts`."""
    return _ReplyReader([line.removesuffix("\r") for line in without_thoughts(text, asked).split("\n")]).read()


def without_thoughts(reply: str, asked: str = "") -> str:
    """Return a reply without the model's reasoning, keeping line numbers.

    asked: the request; its tags may be the reply's subject"""
    answer = unwrap(reply, asked)
    return "\n" * reply.count("\n", 0, max(0, reply.rfind(answer))) + answer


class _ReplyReader:
    """Parses one reply; lines count from 0 here."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.done = 0  # line after the last block
        self.fence = ""  # open fence, and its line
        self.opened = -1
        self.files: list[Replacement] = []
        self.missions: list[Replacement] = []
        self.changelog: list[ChangelogText] = []
        self.problems: list[Problem] = []

    def read(self) -> ParsedReply:
        at = 0
        while at < len(self.lines):
            at = self._line(at)
        return ParsedReply(tuple(self.files), tuple(self.missions), tuple(self.changelog), tuple(self.problems))

    def _line(self, at: int) -> int:
        line = self.lines[at].rstrip()
        mark, behind = _MARK.fullmatch(line), at + 1
        try:
            if mark and mark["signs"][0] == "<" and mark["name"] in _ENDS:
                behind = self._end(at, mark) + 1
                self._block(at, behind - 1, mark)
            elif mark:
                raise _Malformed(at, f"`{line}` ends no block")
            elif _ALMOST.fullmatch(_HIDDEN.sub("", unicodedata.normalize("NFKC", html.unescape(line)))):
                how = "a mark is 5 to 9 signs, a blank and its name in capitals, and has a line of its own"
                raise _Malformed(at, f"`{line.strip()}`: {how}")
            elif fence := _FENCE.fullmatch(line):
                self._count_fence(at, fence)
        except _Malformed as error:
            self.problems.append(error.problem)
        self.done = behind if mark else self.done
        return behind

    def _count_fence(self, at: int, fence: re.Match[str]) -> None:
        if not self.fence:
            self.fence, self.opened = fence["fence"], at
        elif fence["fence"].startswith(self.fence) and not fence["info"]:
            self.fence, self.opened = "", -1

    def _end(self, at: int, mark: re.Match[str]) -> int:
        """Return the line of the end mark for a block opened at `at`."""
        signs, name = len(mark["signs"]), _ENDS[mark["name"]]
        nearest, is_next_open = -1, False
        for line in range(at + 1, len(self.lines)):
            other = _MARK.fullmatch(self.lines[line])
            if other and other["signs"][0] == ">" and other["name"] == name:
                if len(other["signs"]) == signs:
                    return line
                if nearest < 0 and not is_next_open:
                    nearest = line
            elif other and other["signs"] == mark["signs"]:
                break
            elif other and other["signs"][0] == "<":
                is_next_open = True  # a later end of another length belongs to that block
        if nearest < 0:
            raise _Malformed(at, f"`{mark[0].strip()}` is not closed by a line `>>>>>> {name}`")
        return nearest

    def _block(self, at: int, end: int, mark: re.Match[str]) -> None:
        if mark["name"] == "CHANGELOG":
            text = "\n".join(self.lines[at + 1 : end]).strip()
            if not text:
                raise _Malformed(at, "this CHANGELOG block has no text")
            self.changelog += [ChangelogText(item, at + 1) for item in _items(text)]
            return
        divider = self._divider(at, end, len(mark["signs"]))
        search, new = tuple(self.lines[at + 1 : divider]), tuple(self.lines[divider + 1 : end])
        if mark["name"] == "SEARCH":
            self.files.append(Replacement(self._path(at), search, new, at + 1))
        else:
            self.missions.append(Replacement("", search, new, at + 1))

    def _divider(self, at: int, end: int, signs: int) -> int:
        dividers = [line for line in range(at + 1, end) if _DIVIDER.fullmatch(self.lines[line])]
        if not dividers:
            raise _Malformed(at, "the block has no line `=======` between the text to search and its replacement")
        lengths = [len(self.lines[line].rstrip()) for line in dividers]
        wanted = 7 if signs == 6 else signs
        if len(dividers) == 1:
            return dividers[0]
        if lengths.count(wanted) == 1 and not (signs == 6 and 6 in lengths):
            return dividers[lengths.index(wanted)]
        numbers = ", ".join(str(line + 1) for line in dividers)
        raise _Malformed(at, f"which of the lines {numbers} divides the block? Write its three marks with another "
                             "number of signs (the same for all, 5 to 9) than any in the text has")  # fmt: skip

    # Paths

    def _path(self, at: int) -> str:
        before, path = self._before(at), ""
        if before is not None and before == self.opened:
            words = self.lines[before].strip().lstrip("`~").split()
            path = words[-1] if words and re.search(r"[./]", words[-1]) and words[-1][0] not in "{." else ""
            before = self._before(before)
        path = _plain(path) or (_read_path(self.lines[before]) if before is not None else "")
        if not path:
            has = f": `{self.lines[before].strip()[:60]}` is none" if before is not None else ""
            raise _Malformed(at, f"no path of a file in the line before the block{has} (one with blanks in backticks)")
        return path

    def _before(self, at: int) -> int | None:
        return next((line for line in range(at - 1, self.done - 1, -1) if self.lines[line].strip()), None)


def _items(text: str) -> list[str]:
    if not _BULLET.match(text):
        return [text]
    items = re.split(rf"\n(?={_BULLET.pattern})", text)
    return [re.sub(r"\n[ ]{1,2}", "\n", _BULLET.sub("", item, count=1)).strip() for item in items]


def _read_path(line: str) -> str:
    label = _LABEL.match(line := line.strip())
    line = line[label.end() if label else 0 :].removesuffix(":").rstrip()
    decorated = _DECORATED.fullmatch(line)
    if decorated and decorated["path"]:
        return _plain(decorated["path"].strip())
    path = decorated["bold"].strip().removesuffix(":") if decorated else line
    if label:
        path = path.removesuffix("**")
        if not re.search(r"[./]", path):  # a single-word heading
            return ""
    return "" if re.search(r"\s|`|\*\*", path) or path.startswith(("<", ">", "#", "=", "~~~")) else _plain(path)


def _plain(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)
