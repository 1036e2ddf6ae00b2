"""Reading models' replies: a JSON object, however it is wrapped, and texts on one line."""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import ModelError

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SHOWN = 60  # characters of a reply that are told
# Colours and titles of terminals.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")


def one_line(text: str) -> str:
    """Return a text on one line, without escapes and characters that no text file should hold."""
    text = _ESCAPE.sub("", text)
    return " ".join(_UNSEEN.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).split())


def find_object(text: str) -> dict[str, Any]:
    """Return the first JSON object in a reply.

    Servers that ignore schemas put prose, thoughts or a code fence around it. Raise ModelError if
    there is no object."""
    thoughts = text.rfind("</think>")  # an object inside the thoughts is not the answer
    for start in (0, thoughts + 1):
        found, end = _first_object(text, start)
        if found is not None and end > thoughts:
            return found
    raise ModelError(f"the reply is not JSON: {shown(text)}" if text.strip() else "the reply is empty")


def find_value(text: str, key: str) -> Any:
    """Return the value of a key in the object that a reply holds. Raise ModelError if it has no such key."""
    try:
        return find_object(text)[key]
    except (ModelError, KeyError):
        raise ModelError(f"the reply holds no {key}") from None


def _first_object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """Return the first object from a position on (or None), and the position where it ends."""
    decoder = json.JSONDecoder(strict=False)
    for _ in range(50):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
        else:
            return found, end
    return None, 0


def shown(text: str) -> str:
    """Return what a model said for a message: quoted, on one line, in at most 60 characters."""
    line = one_line(text[: 4 * _SHOWN])
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")
