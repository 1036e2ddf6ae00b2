"""Words: texts as one stream of letters and digits, and what is looked for in it.

Hyphens at line ends, markup inside a word and the file's way to break lines make no difference
in such a stream. Where a renderer puts something else (math, citations, references, code), no run
of words goes across.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

WORDS = 6  # of a run that is looked for
LEAST = 3  # of a part that has no such run
LONG, SHORT = 16, 8  # letters that a run, and such a part, have to have
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_MARKUP = re.compile(
    r"""(?P<gap>\$\$.*?\$\$ | (?<![\\$])\$(?=[^\s$])(?:[^$\\\n]|\\.|\n(?!\s*\n))*?(?<=\S)\$(?!\d)  # math
    | \[[^\[\]]*@[^\[\]]*\] | (?<!\w)-?@[\w:.-]+                     # citations and references
    | \[\^[^\]\s]+\]:? | ^[ ]{0,3}\[[^\]\n]+\]:[ ]*\S.*$             # notes, link definitions
    | \^\[ | !\[ | \{\{<.*?>\}\} | ^[ \t>]*(?:`{3,}|~{3,})[^\n]*$)
    | <!--|--> | <[/a-zA-Z][^<>]*> | \]\([^()\n]*\) | \]\[[^\]\n]*\] | \{[^{}\n]*\}
    | ^[ \t>]*:{3,}[^\n]*$
    | ^[ \t>]*(?:\(?(?:[#@]\w*|\d{1,9}|[ivxlc]{1,5}|[a-zA-Z])[.)]|[-*+:~])[ \t]+""",
    re.S | re.M | re.X,
)


def words_of(text: str) -> list[str]:
    """The words of a text, without case, ligatures, punctuation and soft hyphens."""
    return _WORD.findall(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold())


def runs_of_markdown(text: str) -> list[list[str]]:
    """The runs of words that a renderer leaves together."""
    return [words for run in joined_runs(text) for words in run if words]


def joined_runs(text: str) -> list[list[list[str]]]:
    """The runs of words of a markdown text, those together in a list that have nothing but markup
    between them: the items of a list, of which each is a run. There is a list more than there are
    gaps (math, citations, code)."""
    found: list[list[list[str]]] = [[]]
    at = 0
    for mark in _MARKUP.finditer(text):
        found[-1].append(words_of(text[at : mark.start()]))
        at = mark.end()
        if mark["gap"]:
            found.append([])
    found[-1].append(words_of(text[at:]))
    return found


def strip_markup(text: str) -> str:
    """A markdown text with a blank for each piece of markup."""
    return _MARKUP.sub(" ", text)


def words_of_markdown(text: str) -> list[str]:
    """The words of a markdown text, without those of its markup."""
    return [word for run in runs_of_markdown(text) for word in run]


class Stream:
    """A text as its letters, with the places where its words begin."""

    def __init__(self, words: list[str]) -> None:
        self.letters = "".join(words)
        self.starts = list(accumulate(map(len, words), initial=0))

    def words(self, start: int, end: int) -> list[str]:
        """The words from one place to another, the last one as far as it goes."""
        places = self.starts[bisect_left(self.starts, start) : bisect_left(self.starts, end)]
        return [self.letters[at:to] for at, to in zip(places, [*places[1:], end], strict=True)]

    def is_between_words(self, at: int) -> bool:
        place = bisect_left(self.starts, at)
        return place < len(self.starts) and self.starts[place] == at


@dataclass(frozen=True, slots=True)
class Needle:
    """Letters to look for. A part that has no long run is looked for as `whole` words."""

    letters: str
    secret: int
    whole: bool = False


class Index:
    """What is looked for, by the first letters of each run."""

    def __init__(self, needles: Iterable[Needle]) -> None:
        self.long: dict[str, list[Needle]] = {}
        self.short: dict[str, list[Needle]] = {}
        for needle in needles:
            index, size = (self.long, LONG) if len(needle.letters) >= LONG else (self.short, SHORT)
            index.setdefault(needle.letters[:size], []).append(needle)

    def find(self, stream: Stream) -> list[tuple[int, list[str]]]:
        """Which of the secrets a text has: their numbers, each with the words of it that
        the text has first."""
        first: dict[int, list[str]] = {}
        for at, needle in self._hits(stream):
            if needle.secret not in first:
                first[needle.secret] = stream.words(at, at + len(needle.letters))
        return sorted(first.items())

    def forget(self, stream: Stream) -> None:
        """Look for nothing any more that this text has."""
        for letters in {needle.letters for _, needle in self._hits(stream)}:
            for index, size in ((self.long, LONG), (self.short, SHORT)):
                rest = [needle for needle in index.pop(letters[:size], ()) if needle.letters != letters]
                if rest:
                    index[letters[:size]] = rest

    def looked_for(self) -> set[int]:
        """The secrets that are looked for."""
        return {needle.secret for index in (self.long, self.short) for found in index.values() for needle in found}

    def _hits(self, stream: Stream) -> Iterator[tuple[int, Needle]]:
        """What a text has, each with its place among the letters."""
        letters = stream.letters
        for index, size in ((self.long, LONG), (self.short, SHORT)):
            for at in stream.starts if index else ():
                for needle in index.get(letters[at : at + size], ()):
                    if letters.startswith(needle.letters, at) and (
                        not needle.whole or stream.is_between_words(at + len(needle.letters))
                    ):
                        yield at, needle


def find_needles(secret: int, text: str) -> Iterator[Needle]:
    """Each word of a part with those after it; where none of its runs is long enough, those of the
    runs that stand together (a list of short items), else the longest as it is. A part that is too
    short has none. Code counts by itself."""
    runs = joined_runs(text)
    apart = [words for run in runs for words in run]
    together = [[word for words in run for word in words] for run in runs]
    for code in _codes(text):
        yield from (Needle(letters, secret) for letters in _windows(code))
        if len(code) >= LEAST and len("".join(code)) >= SHORT:
            yield Needle("".join(code), secret, whole=True)
    for found in (apart, together):
        if long := dict.fromkeys(letters for run in found for letters in _windows(run)):
            yield from (Needle(letters, secret) for letters in long)
            return
    # with the numbers of a list, as in a copy of the source
    yield from (Needle(letters, secret) for letters in _windows(words_of(text)))
    for found in (apart, together):
        longest: list[str] = max(found, key=len, default=[])
        letters = "".join(longest)
        if len(longest) >= LEAST and len(letters) >= SHORT:
            yield Needle(letters, secret, whole=True)
            return


def _codes(text: str) -> Iterator[list[str]]:
    """The words of each code in fences: a cell may be shown without the prose around it."""
    fence, lines = "", list[str]()
    for line in text.split("\n") if "```" in text or "~~~" in text else ():
        marks = _FENCE.match(line)
        if marks and not fence:
            fence, lines = marks[1], []
        elif marks and marks[1].startswith(fence) and not line[marks.end() :].strip():
            yield words_of("\n".join(lines))
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
