"""Answers in words: stopped as soon as they repeat themselves or the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...errors import CutOffError
from ..chat import Request, Show
from ..languages.words import find_words
from .echoes import MARKS, TAGS, instruction_runs, runs
from .repeats import Loop, told_repetition

_ECHO = 12  # words of our instructions, one after the other, that no answer has by chance
_MOST_LINE = 1_000  # characters of a line in which marks are looked for
# The beginning of what may become a tag or a mark; it comes in several parts.
_BEGUN = re.compile(r"(?:^[ \t]{0,3}</?(?:[a-z]{0,12}|(?:source|passage) n?)|<\|[a-z_ ]{0,30}\|?)\Z")
_CODE = re.compile(r"`[^`\n]*`?")


class AnswerWatch:
    """A watch on the answer to a request, while it comes and when it is there.

    tags: False for replies that may be enclosed in the prompt's tags."""

    def __init__(self, request: Request, tags: bool = True) -> None:
        self._request = request
        asked = [message.content for message in request.messages if message.role != "system"]
        self._known = "\n".join(asked)
        self._tags = tags
        self._said: list[str] = []
        self._loop = Loop(self._known)
        self._line = ""
        self._words: list[str] = []
        self._fenced = False

    def around(self, show: Show | None) -> Callable[[str], None] | None:
        """Return a function that shows the parts of the answer while they are good.

        What may be the beginning of one of the prompt's tags waits for the next part. It raises
        CutOffError at the first part by which the answer repeats itself or the prompt."""
        if show is None:
            return None
        to_screen, held = show, ""

        def watch(part: str) -> None:
            nonlocal held
            self.feed(part)
            text = held + part
            begun = _BEGUN.search(self._line)
            at = max(len(text) - len(self._line) + begun.start(), 0) if begun else len(text)
            held = text[at:]
            to_screen(text[:at])

        return watch

    def feed(self, part: str, final: bool = False) -> None:
        """Take a further part of the answer. Raise CutOffError."""
        self._said.append(part)
        if self._loop.feed(part, final):
            self._stop(told_repetition(self._loop.found))
        *lines, last = (self._line + part).split("\n")
        for line in lines:
            self._look_at(line, whole=True)
        self._look_at(last, whole=final)
        self._line = last[-_MOST_LINE:]

    def check(self, text: str) -> str:
        """Return a whole answer as it is. Raise CutOffError if it repeats itself or the prompt."""
        AnswerWatch(self._request, self._tags).feed(text, final=True)
        return text

    def _look_at(self, line: str, whole: bool) -> None:
        if line.lstrip().startswith(("```", "~~~")):
            self._fenced ^= whole
            return
        if self._fenced:
            return
        shown = _CODE.sub("", line[-_MOST_LINE:])
        for found in (MARKS.search(shown), TAGS.match(shown) if self._tags else None):
            if found and not self._is_known(found[0].strip()):
                self._stop(f"it holds parts of the prompt ({found[0].strip()})")
        if whole:
            self._look_at_words(line)

    def _look_at_words(self, line: str) -> None:
        words = self._words + find_words(line[:10_000])
        told = instruction_runs(_ECHO)
        if any(run in told for run in runs(words, _ECHO)):
            self._stop("it repeats what the model was told to do")
        self._words = words[-_ECHO + 1 :]

    def _is_known(self, mark: str) -> bool:
        """Return True if a mark also stands in the texts that the model was shown, not only around them."""
        if MARKS.match(mark):
            return mark in self._known
        escaped = mark.replace("<", "<\\", 1) in self._known
        return escaped or ("text" in mark and self._known.count(mark) > 1)  # the one tag around unescaped texts

    def _stop(self, why: str) -> None:
        raise CutOffError(f"the answer was stopped, since {why}", "".join(self._said))
