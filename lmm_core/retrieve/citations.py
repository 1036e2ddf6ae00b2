"""Remove invented citations and links from a model's answer while it arrives.

Numbers without a source and unknown links are dropped, and listed; code and formulas stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass, field

NO_ANSWER = "NO_ANSWER"  # with which a model begins if the sources do not answer
_HELD = 600  # characters held back at most, until a bracket, code span or formula is closed
_AT_ONCE = 4_000  # characters processed at once
_SPECIAL = re.compile(r"( ?)(!?\[|<|`+|\\[$(\[]|\${1,2}|https?:|www\.)", re.I)  # a blank goes with a dropped part
_BEGIN = r"!|\\|https?|htt?|h|www?|w"
_BEGUN = re.compile(rf"(?: (?:{_BEGIN})?|{_BEGIN})\Z", re.I)  # may become special, or be dropped with it
_LINK = re.compile(
    r"(!?)\[([^\[\]]*)\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_CITATION = re.compile(r"\[\^?(\d{1,4}(?:\s*[,;–-]\s*\^?\d{1,4})*)\]")
_AUTOLINK = re.compile(r"<((?:https?|mailto|file|data|javascript):[^<>\s]*)>", re.I)
_ADDRESS = re.compile(r"(?:https?:|www\.)[^\s<>\"'`\])}]+", re.I)
# As in Pandoc: no blank just inside the dollars, no digit after a single one
_FORMULA = re.compile(r"\$\$(?:[^$\n]|\n(?!\n))+\$\$|\$(?![\s$])(?:[^$`\n\\]|\\.)*?(?<!\s)\$(?![\d$])")
_MONEY = re.compile(r"\$\d[\d.,]*(?:\s+(?:[^\W\d_]{2}|\[\d)|[)\"'’”])")  # as in the ask box (markdown.js)
_BRACKETED = re.compile(r"\\\((?:[^\\]|\\[^()])+\\\)|\\\[(?:[^\\]|\\[^\[\]])+\\\]")  # written by models, too
_NUMBERS = re.compile(r"\\\[[\d\s,;–-]+\\\]")  # escaped brackets around a citation
_INTERVAL = re.compile(r"0\s*[,;–-]")  # sources start at 1
_FENCE = re.compile(r"(`{3,}|~{3,})")


@dataclass
class CitedText:
    """An answer that arrives in parts.

    sources: numbers that may be cited; numbers: their new ones, in the order of citation
    knows: returns True for a link that the model has seen; dropped: removed citations and links
    text: so far; refused: the answer began with NO_ANSWER, which is removed"""

    sources: Container[int]
    knows: Callable[[str], bool]
    text: str = ""
    numbers: dict[int, int] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    refused: bool = False
    _buffer: str = ""
    _begun: bool = False
    _fence: str = ""

    def feed(self, part: str) -> str:
        """Add a part, and return the text that can be shown by now."""
        text = ""
        for at in range(0, len(part), _AT_ONCE):
            self._buffer += part[at : at + _AT_ONCE]
            text += self._take(final=False)
        return text

    def finish(self) -> str:
        """Return the rest of the text, after its last part."""
        return self._take(final=True)

    def drop_rest(self) -> None:
        """Drop the text held back: the beginning of a mark that nobody should see."""
        self._buffer = ""

    def _take(self, final: bool) -> str:
        if not self._begun and not self._begin(final):
            return ""
        text = ""
        while self._buffer:
            piece = self._fenced(final) if self._fence else self._prose(final)
            if piece is None:
                break
            text += piece
            self.text += piece
        return text

    def _begin(self, final: bool) -> bool:
        """Return True once the text has begun, after removal of NO_ANSWER."""
        start = self._buffer.lstrip().lstrip('*`"')
        if not final and len(start) < len(NO_ANSWER) + 2 and NO_ANSWER.startswith(start[: len(NO_ANSWER)]):
            return False
        if start.startswith(NO_ANSWER):
            self.refused, start = True, start[len(NO_ANSWER) :]
        self._buffer = start.lstrip('*`".:,– \n') if self.refused else self._buffer.lstrip()
        self._begun = bool(self._buffer)
        return self._begun

    def _fenced(self, final: bool) -> str | None:
        line, end, rest = self._buffer.partition("\n")
        if not end and not final:
            return None
        if line.strip() and set(line.strip()) == {self._fence[0]} and len(line.strip()) >= len(self._fence):
            self._fence = ""
        self._buffer = rest
        return line + end

    def _prose(self, final: bool) -> str | None:
        """Return text up to a possible citation, link or code, or one of these if complete."""
        at_start = not self.text or self.text.endswith("\n")
        if at_start and (fence := _FENCE.match(self._buffer)):
            line, end, rest = self._buffer.partition("\n")
            if not end and not final:
                return None
            self._fence, self._buffer = fence[0], rest
            return line + end
        match = _SPECIAL.search(self._buffer)
        if match is None or match.start() > 0:
            return self._plain(match.start() if match else len(self._buffer), match is None and not final)
        gap, sign = match.groups()
        self._buffer = self._buffer[len(gap) :]
        element = self._special(sign, final)
        if element is None:
            self._buffer = gap + self._buffer
            return None
        return gap + element if element else ""

    def _plain(self, end: int, more: bool) -> str | None:
        """Return ordinary text up to `end`; with `more`, only the part that no later text changes."""
        text = self._buffer[:end]
        cut = text.find("\n") + 1  # the next line may begin with a fence
        text = text[:cut] if cut else text
        if more and not cut and (begun := _BEGUN.search(text)):
            text = text[: begun.start()]
        self._buffer = self._buffer[len(text) :]
        return text or None

    def _special(self, sign: str, final: bool) -> str | None:
        """Return the element at a bracket, `<`, backtick, dollar or address; None if incomplete."""
        buffer = self._buffer
        if sign == "\\$" or (sign[0] == "$" and _MONEY.match(buffer)):
            return self._literally(len(sign))
        if sign[0] in "`$\\":
            return self._verbatim(sign, final)
        for pattern, handle in ((_LINK, self._link), (_CITATION, self._cite), (_AUTOLINK, self._address),
                              (_ADDRESS, self._address)):  # fmt: skip
            match = pattern.match(buffer)
            if match is None:
                continue
            if not final and self._goes_on(match):
                return None
            self._buffer = buffer[match.end() :]
            return handle(match)
        if not final and len(buffer) < _HELD and "\n" not in buffer and not buffer.startswith("< "):
            return None
        return self._literally(len(sign))

    def _goes_on(self, match: re.Match[str]) -> bool:
        rest = self._buffer[match.end() :]
        if match.re is _CITATION and rest.startswith("("):
            return len(rest) < _HELD and "\n" not in rest and ")" not in rest
        return not rest and match.re is not _LINK

    def _literally(self, size: int) -> str:
        text, self._buffer = self._buffer[:size], self._buffer[size:]
        return text

    def _verbatim(self, sign: str, final: bool) -> str | None:
        """Return a code span or formula, or its opening sign if it is unclosed or holds a citation."""
        code = rf"{sign}(?!`).+?(?<!`){sign}(?!`)"
        pattern = {"$": _FORMULA, "\\": _BRACKETED}.get(sign[0]) or re.compile(code, re.S)
        match, length = pattern.match(self._buffer), len(self._buffer)
        if match and _NUMBERS.fullmatch(match[0]):
            return self._literally(1)
        if match and (final or sign[0] == "\\" or match.end() < length):
            return self._literally(match.end())
        if not final and length < _HELD and ("\n" if sign == "$" else "\n\n") not in self._buffer:
            return None
        return self._literally(1 if sign[0] == "\\" else len(sign))

    def _cite(self, match: re.Match[str]) -> str:
        if _INTERVAL.match(match[1]):
            return match[0]
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        if (
            re.search(r"\d\s*[–-]\s*\^?\d", match[1])
            and len(numbers) == 2
            and numbers[0] < numbers[1] < numbers[0] + 50
        ):
            numbers = list(range(numbers[0], numbers[1] + 1))
        good = list(dict.fromkeys(number for number in numbers if number in self.sources))
        numbered = [self.numbers.setdefault(number, len(self.numbers) + 1) for number in good]
        self.dropped += [f"[{number}]" for number in dict.fromkeys(numbers) if number not in good]
        return f"[{', '.join(map(str, numbered))}]" if numbered else ""

    def _link(self, match: re.Match[str]) -> str:
        image, text, address = match.groups()
        if self.knows(address):
            return match[0]
        self.dropped.append(address)
        number = re.fullmatch(r"\^?(\d{1,4})", text)
        if number and int(number[1]) in self.sources:  # a citation written as a link
            return self._cite(re.match(_CITATION, f"[{number[1]}]"))  # type: ignore[arg-type]
        return "" if image else text

    def _address(self, match: re.Match[str]) -> str:
        address = match[1] if match.re is _AUTOLINK else match[0].rstrip(".,;:!?")
        if self.knows(address):
            return match[0]
        self.dropped.append(address)
        self._buffer = match[0][len(address) :] * (match.re is _ADDRESS) + self._buffer
        return ""
