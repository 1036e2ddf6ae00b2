"""Answers in words: stopped as soon as they repeat themselves or the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...errors import CutOffError
from ..chat import Request, Show
from .faults import MARKS, TAGS, echoes_instructions, repeated_in, told_repetition

_ECHO = 12  # words of our instructions, one after the other, that no answer has by chance
_STEP = 200  # characters after which an answer is looked at again, and a quarter of its length
_CODE_AND_TABLES = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)|`[^`\n]*`?|^(?: {4}|\t|\|)[^\n]*", re.M | re.S)


class AnswerWatch:
    """A watch on the answer to a request, while it comes and when it is there.

    tags: False for replies that may be enclosed in the prompt's tags."""

    def __init__(self, request: Request, tags: bool = True) -> None:
        self._known = "\n".join(message.content for message in request.messages if message.role != "system")
        self._tags = tags
        self._said = ""
        self._next = _STEP

    def around(self, show: Show | None) -> Callable[[str], None] | None:
        """Return a function that shows the parts of the answer; it raises CutOffError when it goes wrong."""
        if show is None:
            return None

        def watch(part: str) -> None:
            self._said += part
            if len(self._said) >= self._next:
                self._next = len(self._said) + len(self._said) // 4 + _STEP
                self.check(self._said)
            show(part)

        return watch

    def check(self, text: str) -> str:
        """Return an answer as it is. Raise CutOffError if it repeats itself or the prompt."""
        if why := self._fault(_CODE_AND_TABLES.sub(" ", text)):
            raise CutOffError(f"the answer was stopped, since {why}", text)
        return text

    def _fault(self, prose: str) -> str:
        if repeated := repeated_in(prose, self._known):
            return told_repetition(repeated)
        marks = [found[0] for found in MARKS.finditer(prose) if found[0] not in self._known]
        tags = [found[0].strip() for found in TAGS.finditer(prose)] if self._tags else []
        if marks := marks + [tag for tag in tags if not self._is_known(tag)]:
            return f"it holds parts of the prompt ({marks[0]})"
        return "it repeats what the model was told to do" if echoes_instructions(prose, _ECHO) else ""

    def _is_known(self, tag: str) -> bool:
        """Return True if a tag also stands in the texts that the model was shown, not only around them; `<text>` is
        around texts that are not escaped."""
        return tag.replace("<", "<\\", 1) in self._known or ("text" in tag and self._known.count(tag) > 1)
