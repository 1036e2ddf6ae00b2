"""Signs that a reply is no text of the model's own: parts of the prompt, marks of chat templates, refusals."""

from __future__ import annotations

import re
from functools import cache

from ..languages.words import find_words
from ..prompts import instructions

KEYS = frozenset(
    "questions question summary summaries string text texts array items item list object json type titles title "
    "language subsections section key keys value values description properties required null none true false".split()
)
_ECHO = 8  # words of our instructions, one after the other, that no short text has by chance
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
_KEY = re.compile(r"[\"'`“]\s*(?:questions|summary)\s*[\"'`”]\s*:|\A\W*(?:questions|summary)\W*\Z", re.I)
_REFUSAL = re.compile(
    r"^\W*(?:(?:i[’']?m |i am )?sorry(?:\W{0,3}[,.:;!–—]| but| i\b).{0,40}\b(?:can(?:no|[’'])t|unable|not able)"
    r"|as an ai\b[^.]{0,60}, i\b"
    r"|as an? (?:ai|artificial intelligence|(?:ai |large )?language model)(?: model| assistant)?,"
    r"|i can(?:no|[’'])t (?:answer|provide|generate|help|assist|create)|i(?:[’']m| am) (?:unable|not able) to )",
    re.I,
)  # fmt: skip


@cache
def instruction_runs(length: int) -> frozenset[tuple[str, ...]]:
    """Return all runs of that many words in our instructions."""
    return frozenset(run for text in instructions() for run in runs(find_words(text), length))


def runs(words: list[str], length: int) -> list[tuple[str, ...]]:
    """Return all runs of that many words."""
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


def echoes_prompt(text: str) -> bool:
    """Return True if a text repeats what the model was told to do."""
    return any(run in instruction_runs(_ECHO) for run in runs(find_words(text), _ECHO))


def echo_in(text: str, source: str = "") -> str:
    """Return why a short text is no text of the model's own, or "".

    source: what it is about; a mark that also stands there may be what the text tells of."""
    if found := next((one for one in MARKS.finditer(text) if one[0] not in source), None):
        why = "the server uses a wrong one, or the model is not made for chats"
        return f"holds a mark of a chat template ({found[0]}): {why}"
    if TAGS.search(text) or echoes_prompt(text):
        return "repeats the prompt"
    if _KEY.search(text) or text.lower().strip(" .:?!\"'`*_[]{}()<>-") in KEYS:
        return "is a key of the reply, not its value"
    return "is a refusal" if _REFUSAL.match(text) else ""
