"""Reading models' replies: a JSON object, however it is wrapped, and texts on one line."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from ..errors import ModelError

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MOST_TRIED = 50  # braces of a reply at which an object may begin
_MOST_REPAIRED = 5  # of them, at which it may have faults
_TEXT_OR_COMMA = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.S)
_BACKSLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_SHOWN = 60  # characters of a reply that are told
# Colours and titles of terminals.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")


def one_line(text: str) -> str:
    """Return a text on one line, without escapes and characters that no text file should hold."""
    text = _ESCAPE.sub("", text)
    return " ".join(_UNSEEN.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).split())


def find_object(text: str) -> dict[str, Any]:
    """Return the first JSON object in a reply.

    Servers that ignore schemas put prose or a code fence around it. Raise ModelError if there is no
    object."""
    decoder, at = json.JSONDecoder(strict=False), -1
    for tried in range(_MOST_TRIED):
        at = text.find("{", at + 1)
        if at < 0:
            break
        for read in (str, _repaired) if tried < _MOST_REPAIRED else (str,):
            with contextlib.suppress(ValueError, RecursionError):
                value: dict[str, Any] = decoder.raw_decode(read(text[at:]))[0]
                return value
    raise ModelError(f"the reply is not JSON: {shown(text)}" if text.strip() else "the reply is empty")


def _repaired(text: str) -> str:
    """Return JSON without commas after the last item, and with the single backslashes (of formulas) doubled."""

    def repair(fault: re.Match[str]) -> str:
        return _BACKSLASH.sub(lambda escape: escape[0] if escape[1] else "\\\\", fault["text"]) if fault["text"] else ""

    return _TEXT_OR_COMMA.sub(repair, text)


def find_value(text: str, key: str) -> Any:
    """Return the value of a key in the object that a reply holds. Raise ModelError if it has no such key."""
    try:
        return find_object(text)[key]
    except (ModelError, KeyError):
        raise ModelError(f"the reply holds no {key}") from None


def shown(text: str) -> str:
    """Return what a model said for a message: quoted, on one line, in at most 60 characters."""
    line = one_line(text[: 4 * _SHOWN])
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")
