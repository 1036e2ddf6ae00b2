"""The keys that mean something in a metadata block or header: the one table of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

Value = Literal["switch", "words", "text", "message", "other"]


class Key(NamedTuple):
    """A key.

    value: what it holds; decides: who may see a part (`markdown.visibility` says how); is_headers: it is about a whole
    document, or stands in the headers of other programs as well, so that it is no sign of a block."""

    name: str
    value: Value
    decides: bool = False
    is_headers: bool = False


MESSAGE_KEYS = ("?", "+", "=", "query", "message", "edit")
KEYS = (
    Key("type", "words", True), Key("knit", "switch", True), Key("skip", "switch", True), Key("frozen", "switch"),
    Key("questions", "text"), Key("chat", "other"),
    *(Key(name, "message") for name in MESSAGE_KEYS),
    *(Key(name, "text", is_headers=True) for name in ("summary", "titles", "title", "docid")),
    *(Key(name, "other", is_headers=True) for name in ("lmm", "model")),
)  # fmt: skip
BLOCK_KEYS = frozenset(key.name for key in KEYS if key.name != "model")
DECIDING = frozenset(key.name for key in KEYS if key.decides)
POSITIONAL = frozenset(key.name for key in KEYS if not key.is_headers)
SWITCHES = tuple(key.name for key in KEYS if key.value == "switch")
TEXTS = ("type", "questions", "summary")  # that a slip may be meant for
# Keys about the text that follows; a block that has none of them may stand before nothing.
ABOUT_TEXT = frozenset({*SWITCHES, *TEXTS, "titles"})


def is_block_key(key: str) -> bool:
    """Return True if a key, in any spelling, shows that a mapping is meant as a metadata block."""
    return key.startswith("~") or key.removesuffix("=") in BLOCK_KEYS


def is_positional(key: str) -> bool:
    """Return True if a key in a document's metadata may come from a block inside the text."""
    return key in POSITIONAL or key.startswith("~") or key.endswith("=")


def is_private(key: str) -> bool:
    """Return True if a key in a document's metadata means something to this program alone."""
    return is_positional(key) or key in ("lmm", "model", "docid", "titles") or key.startswith("lmm-")
