"""Signs that a reply is no text of the model's own: parts of the prompt, and marks of chat templates."""

from __future__ import annotations

import re
from functools import cache

from ..languages.words import find_words
from ..prompts import instructions

# The marks by which servers tell a chat's messages apart. A model writes them as text if the server
# uses a wrong template, or if the model is not made for chats.
MARKS = re.compile(
    r"<\|[a-z_ ]{2,30}\|>|<\uff5c[^<>\n]{2,40}\uff5c>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</?s>(?=\s|\Z)"
)
# The tags as our prompts write them, at the beginning of a line.
TAGS = re.compile(
    r"^[ \t]{0,3}(?:</?(?:notes|outline|earlier|question|text|subsections|document|teacher)>|</(?:source|passage)>"
    r"|<(?:source|passage) n=)",
    re.M,
)


def echoes_instructions(text: str, length: int) -> bool:
    """Return True if so many words of our instructions stand in a text, one after the other."""
    return not _runs(text, length).isdisjoint(_instruction_runs(length))


@cache
def _instruction_runs(length: int) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(_runs(text, length) for text in instructions()))


def _runs(text: str, length: int) -> set[tuple[str, ...]]:
    words = find_words(text)
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
