"""Repetitions in a text that arrives in parts: the loops into which weak models fall.

The work for each word is the same, however long the text is.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from ..languages.words import PAIRED
from ..replies import one_line

_TOKEN = re.compile(rf"\n[ \t]*(?:`{{3,}}|~{{3,}}|\||    )?|[{PAIRED}]|[^\W_]+|[.!?…。！？؟।]")
_START = 4  # words that a repetition is found by
_COPIES = 4  # times that the same words follow each other before it is a loop
_LEAST = 24  # words with letters in these copies
_SENTENCES = 6  # times that a sentence may stand in a text
_SENTENCE = 5  # words with letters of a sentence that counts
_SHOWN = 60  # characters of a repetition that are told
_PATIENCE = 5  # times as much is allowed in code and tables


@dataclass
class Loop:
    """A watch for a text that repeats itself. known: texts whose repetitions are no loops, as one.

    `found` is what is being repeated, or ""."""

    known: str = ""
    found: str = ""
    _known_words: str | None = None  # the words of the known texts, once they are needed
    _rest: str = "\n"
    _words: list[str] = field(default_factory=list)
    _last: dict[tuple[str, ...], int] = field(default_factory=dict)
    _period: int = 0
    _run: int = 0
    _letters: int = 0
    _sentence: list[str] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _in_code: bool = False
    _in_row: bool = False

    def feed(self, part: str, final: bool = False) -> str:
        """Take a further part. Return what is being repeated, or "" if the text goes on well."""
        text = self._rest + part
        end = len(text) if final else _complete(text)
        self._rest = text[end:]
        for token in _TOKEN.finditer(text, 0, end):
            if not self.found:
                self._take(token[0])
        return self.found

    def _take(self, token: str) -> None:
        if token[0] == "\n":
            self._end_sentence()
            begin = token.strip()
            self._in_code ^= begin[:1] in ("`", "~") and bool(begin)
            self._in_row = begin == "|" or token.endswith("    ")
        elif token[0].isalnum():
            self._add(token.casefold())
        else:
            self._end_sentence()

    def _add(self, word: str) -> None:
        """Take a word: it goes on with the words that were said a period before, or begins anew."""
        words = self._words
        words.append(word)
        self._sentence.append(word)
        at = len(words) - 1
        if self._period and words[at - self._period] == word:
            self._run += 1
            self._letters += not word.isdigit()
        else:
            self._begin(at)
        if at >= _START - 1:
            self._last[tuple(words[at - _START + 1 :])] = at
        times = _PATIENCE if self._in_code or self._in_row else 1
        if self._run >= (_COPIES - 1) * self._period * times and self._letters >= _LEAST * times:
            self._report(words[at - self._period + 1 :])

    def _begin(self, at: int) -> None:
        before = self._last.get(tuple(self._words[-_START:])) if at >= _START - 1 else None
        self._period = at - before if before is not None else 0
        self._run = _START if self._period else 0
        self._letters = sum(not word.isdigit() for word in self._words[-_START:]) if self._period else 0

    def _end_sentence(self) -> None:
        sentence, self._sentence = self._sentence, []
        if sum(not word.isdigit() for word in sentence) >= _SENTENCE and not self._in_code and not self._in_row:
            said = " ".join(sentence)
            self._counts[said] += 1
            if self._counts[said] >= _SENTENCES:
                self._report(sentence)

    def _report(self, words: list[str]) -> None:
        """Note what is repeated, unless the known texts repeat it, too."""
        said = " ".join(words[:40])
        if self._known_words is None:
            self._known_words = " ".join(_words(self.known))
        if self._known_words.count(said) > 1:
            self._period = self._run = self._letters = 0
            self._counts.pop(said, None)
        else:
            self.found = said


def _words(text: str) -> list[str]:
    return [token[0].casefold() for token in _TOKEN.finditer(text) if token[0][0].isalnum()]


def _complete(text: str) -> int:
    """Return where the last word of a text begins, which may go on, but not for ever."""
    end = len(text)
    while end > 0 and len(text) - end < 100 and text[end - 1] not in " \n\t":
        end -= 1
    cut = text.rfind("\n", 0, end)
    return cut if cut >= 0 and not text[cut:end].strip() else end


def told_repetition(repeated: str) -> str:
    """Return what is wrong with an answer that repeats some words, for a message."""
    return f"it repeats itself: “{one_line(repeated)[:_SHOWN]}…”"


def repeated_in(text: str) -> str:
    """Return what a whole text repeats, or ""."""
    return Loop().feed(text, final=True)
