"""Search for runs of words in texts, both reduced to letters and digits.

This ignores hyphenation, inner markup and line breaks. Runs end at math, citations, references and code, which
renderers substitute."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

WORDS = 6  # words of a needle
LEAST = 3  # words required of a shorter part
LONG, SHORT = 16, 8  # letters required of a run, and of a shorter part
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f](?:[^\x00-\x7f]|[a-zA-Z0-9])*")
_SIGNS = "’“”—–\u00a0"  # between words, often the only characters beyond ASCII
_ASCII_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_MARKUP = re.compile(
    r"""(?=[$\[\-@^!{<\]]|^)  # the first characters of all alternatives, so that most positions fail at once
    (?:(?P<gap>\$\$.*?\$\$ | (?<![\\$])\$(?=[^\s$])(?:[^$\\\n]|\\.|\n(?!\s*\n))*?(?<=\S)\$(?!\d)  # math
    | \[[^\[\]]*@[^\[\]]*\] | (?<!\w)-?@[\w:.-]+                     # citations and references
    | \[\^[^\]\s]+\]:? | ^[ ]{0,3}\[[^\]\n]+\]:[ ]*\S.*$             # notes, link definitions
    | \^\[ | !\[ | \{\{<.*?>\}\} | ^[ \t>]*(?:`{3,}|~{3,})[^\n]*$)
    | <!--|--> | <[/a-zA-Z][^<>]*> | \]\([^()\n]*\) | \]\[[^\]\n]*\] | \{[^{}\n]*\}
    | ^[ \t>]*:{3,}[^\n]*$
    | ^[ \t>]*(?:\(?(?:[#@]\w*|\d{1,9}|[ivxlc]{1,5}|[a-zA-Z])[.)]|[-*+:~])[ \t]+)""",
    re.S | re.M | re.X,
)


def text_words(text: str) -> list[str]:
    """Return words without case, ligatures, punctuation and soft hyphens."""
    for sign in _SIGNS:
        text = text.replace(sign, " ")
    if text.isascii():
        return _ascii_words(text)
    words: list[str] = []
    at = 0
    for beyond in _BEYOND_ASCII.finditer(text):  # few in scripts and styles, which are long
        start = beyond.start()
        while start > at and text[start - 1].isalnum():
            start -= 1
        words += _ascii_words(text[at:start])
        at = beyond.end()
        words += _WORD.findall(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text[start:at])).casefold())
    return words + _ascii_words(text[at:])


def _ascii_words(text: str) -> list[str]:
    return text.encode("ascii").translate(_ASCII_LETTERS).decode("ascii").split()


def joined_runs(text: str) -> list[list[list[str]]]:
    """Return the runs of words that rendering keeps together, grouped by gaps (math, citations, code)."""
    runs: list[list[list[str]]] = [[]]
    at = 0
    for mark in _MARKUP.finditer(text):
        runs[-1].append(text_words(text[at : mark.start()]))
        at = mark.end()
        if mark["gap"]:
            runs.append([])
    runs[-1].append(text_words(text[at:]))
    return runs


def strip_markup(text: str) -> str:
    """Return markdown with markup replaced by spaces."""
    return _MARKUP.sub(" ", text)


def markdown_words(text: str) -> list[str]:
    return [word for runs in joined_runs(text) for run in runs for word in run]


class Stream:
    """Letters of a text, with word positions."""

    def __init__(self, words: list[str]) -> None:
        self.letters = "".join(words)
        self.starts = list(accumulate(map(len, words), initial=0))

    def words(self, start: int, end: int) -> list[str]:
        """Return the words between two positions, the last one cut."""
        places = self.starts[bisect_left(self.starts, start) : bisect_left(self.starts, end)]
        return [self.letters[at:to] for at, to in zip(places, [*places[1:], end], strict=True)]

    def contains(self, needle: Needle) -> bool:
        """Return True if the text contains a needle."""
        at = self.letters.find(needle.letters)
        while at >= 0:
            if self.is_between_words(at) and self.fits(needle, at):
                return True
            at = self.letters.find(needle.letters, at + 1)
        return False

    def fits(self, needle: Needle, at: int) -> bool:
        """Return True if a needle matches at a word's start."""
        if not self.letters.startswith(needle.letters, at):
            return False
        return not needle.whole_words or self.is_between_words(at + len(needle.letters))

    def is_between_words(self, at: int) -> bool:
        """Return True if a word starts or ends at a position."""
        place = bisect_left(self.starts, at)
        return place < len(self.starts) and self.starts[place] == at


class Needle(NamedTuple):
    """Letters to search for. whole_words: no parts of words, for parts without a long run."""

    letters: str
    whole_words: bool = False


class Index:
    """Needles indexed by their first letters, with the numbers of their secrets."""

    def __init__(self) -> None:
        self.secrets: dict[Needle, list[int]] = {}
        self._needles: dict[str, list[Needle]] = {}  # by their first SHORT letters

    def add(self, secret: int, needles: Iterable[Needle]) -> None:
        for needle in needles:
            if needle not in self.secrets:
                self._needles.setdefault(needle.letters[:SHORT], []).append(needle)
            self.secrets.setdefault(needle, []).append(secret)

    def find(self, stream: Stream) -> Iterator[tuple[int, Needle]]:
        """Yield positions and needles in a text."""
        letters, needles = stream.letters, self._needles
        for at in [at for at in stream.starts if letters[at : at + SHORT] in needles] if needles else ():
            for needle in needles[letters[at : at + SHORT]]:
                if stream.fits(needle, at):
                    yield at, needle


def find_needles(text: str) -> Iterator[Needle]:
    """Yield a part's needles: each word with its successors, code separately.

    Without a long run, adjacent runs (short list items) are joined, else the longest is used whole."""
    runs = joined_runs(text)
    apart = [words for run in runs for words in run]
    together = [[word for words in run for word in words] for run in runs]
    for code in _codes(text):
        yield from (Needle(letters) for letters in _windows(code))
        if len(code) >= LEAST and len("".join(code)) >= SHORT:
            yield Needle("".join(code), whole_words=True)
    for word_runs in (apart, together):
        if long := dict.fromkeys(letters for run in word_runs for letters in _windows(run)):
            yield from (Needle(letters) for letters in long)
            return
    # with list numbers, as in a copy of the source
    yield from (Needle(letters) for letters in _windows(text_words(text)))
    for word_runs in (apart, together):
        longest: list[str] = max(word_runs, key=len, default=[])
        letters = "".join(longest)
        if len(longest) >= LEAST and len(letters) >= SHORT:
            yield Needle(letters, whole_words=True)
            return


def _codes(text: str) -> Iterator[list[str]]:
    """Yield the words of each fenced code block, which may be displayed without its prose."""
    fence, lines = "", list[str]()
    for line in text.split("\n") if "```" in text or "~~~" in text else ():
        marks = _FENCE.match(line)
        if marks and not fence:
            fence, lines = marks[1], []
        elif marks and marks[1].startswith(fence) and not line[marks.end() :].strip():
            yield text_words("\n".join(lines))
            fence = ""
        elif fence:
            lines.append(line)


def _windows(run: list[str]) -> Iterable[str]:
    for start in range(len(run) - WORDS + 1):
        end = start + WORDS
        while (size := sum(map(len, run[start:end]))) < LONG and end < len(run):
            end += 1
        if size >= LONG:
            yield "".join(run[start:end])
