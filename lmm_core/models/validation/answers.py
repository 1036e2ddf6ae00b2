"""Stop answers that repeat themselves or the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...errors import CutOffError
from ..chat import Request, Show
from .faults import MARKS, TAGS, echoes_instructions, repeated_in, repetition_fault

_ECHO = 12  # consecutive words of our instructions that no answer has by chance
_STEP = 200  # characters, and a quarter of the length, between checks
_CODE_AND_TABLES = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)|`[^`\n]*`?|^(?: {4}|\t|\|)[^\n]*", re.M | re.S)


class AnswerWatch:
    """Watches an answer on arrival. tags: False if the prompt's tags may enclose it."""

    def __init__(self, request: Request, tags: bool = True) -> None:
        self._shown = "\n".join(message.content for message in request.messages if message.role != "system")
        self._tags = tags
        self._text = ""
        self._next = _STEP

    def around(self, show: Show | None) -> Callable[[str], None] | None:
        """Wrap `show`, raising CutOffError when the answer goes wrong."""
        if show is None:
            return None

        def watch(part: str) -> None:
            self._text += part
            if len(self._text) >= self._next:
                self._next = len(self._text) + len(self._text) // 4 + _STEP
                self.check(self._text)
            show(part)

        return watch

    def check(self, text: str) -> str:
        """Return an answer unchanged. Raise CutOffError if it repeats itself or the prompt."""
        if why := self._fault(_CODE_AND_TABLES.sub(" ", text)):
            raise CutOffError(f"the answer was stopped, since {why}", text)
        return text

    def _fault(self, prose: str) -> str:
        if repeated := repeated_in(prose, self._shown):
            return repetition_fault(repeated)
        marks = [match[0] for match in MARKS.finditer(prose) if match[0] not in self._shown]
        tags = [match[0].strip() for match in TAGS.finditer(prose)] if self._tags else []
        if marks := marks + [tag for tag in tags if not self._is_known(tag)]:
            return f"it holds parts of the prompt ({marks[0]})"
        return "it repeats what the model was told to do" if echoes_instructions(prose, _ECHO) else ""

    def _is_known(self, tag: str) -> bool:
        """Return True if a tag occurs in the texts shown, not only around them; `<text>` encloses unescaped texts."""
        return tag.replace("<", "<\\", 1) in self._shown or ("text" in tag and self._shown.count(tag) > 1)
