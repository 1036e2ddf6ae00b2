"""Parse and validate incoming questions and ratings."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ..models.chat import Usage
from ..settings.tables import ServeOptions

MOST_BYTES = 256 * 1024  # of a request body
CLOSE = {"Connection": "close"}  # because the rest of the request is not read
TURNS = 6  # turns of the history that are used
MOST_ANSWER = 8_000  # characters of an earlier answer
RANDOM = re.compile("[0-9a-f]{32}")  # ids of answers and conversations


@dataclass(frozen=True)
class Question:
    """A question with its history.

    type: requested type, "" for any; conversation: random id from the page, or ""
    asked: arrival, by `perf_counter`; cost: of requests to models"""

    text: str
    history: tuple[tuple[str, str], ...] = ()
    type: str = ""
    conversation: str = ""
    asked: float = field(default_factory=time.perf_counter, compare=False)
    cost: Usage = field(default_factory=Usage, compare=False)


async def read_body(request: Request) -> bytes:
    """Return a request's body. Raise HTTPException if it is too long."""
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
            if len(data) > MOST_BYTES:
                raise HTTPException(413, f"The request is longer than {MOST_BYTES // 1024} KB.", CLOSE)
    except ClientDisconnect:
        raise HTTPException(400, "The request was broken off.") from None
    return bytes(data)


def read_question(data: bytes, options: ServeOptions) -> Question:
    """Parse a question. Raise HTTPException."""
    values = _read_object(data, '{"question": …, "history": […], "type": …, "conversation": …}')
    history = values.get("history") or []
    if not isinstance(history, list):
        raise HTTPException(400, "history should be a list.")
    turns = tuple(_turn(turn, options.max_question) for turn in history[-TURNS:])
    text, type = checked_text(values.get("question"), options), _text(values.get("type") or "", "type")
    conversation = values.get("conversation") or ""
    return Question(text, turns, type, conversation and _random(conversation, "conversation"))


def read_judgement(data: bytes, most: int) -> tuple[str, int, str]:
    """Parse a rating: the answer's id, thumb and comment. most: characters of its comment. Raise HTTPException."""
    values = _read_object(data, '{"id": …, "thumb": 1, "comment": …}')
    thumb, comment = values.get("thumb", 0), _text(values.get("comment") or "", "comment").strip()
    if type(thumb) is not int or thumb not in (-1, 0, 1):
        raise HTTPException(400, "thumb should be 1, -1 or 0.")
    if len(comment) > most:
        raise HTTPException(413, f"The comment is too long: it may have {most:,} characters.")
    return _random(values.get("id"), "id"), thumb, comment


def _read_object(data: bytes, form: str) -> dict[str, Any]:
    """Parse a JSON object. Raise HTTPException showing the expected form."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not JSON.") from None
    if not isinstance(values, dict):
        raise HTTPException(400, f"The request should be {form}.")
    return values


def _random(value: Any, name: str) -> str:
    """Return a random id. Raise HTTPException for other values, which could identify a person."""
    if not isinstance(value, str) or not RANDOM.fullmatch(value):
        raise HTTPException(400, f"{name} should be 32 random hexadecimal digits.")
    return value


def checked_text(value: Any, options: ServeOptions) -> str:
    """Return a valid question. Raise HTTPException if it is empty or too long."""
    text = _text(value, "question").strip()
    if not text:
        raise HTTPException(400, options.empty)
    if len(text) > options.max_question:
        raise HTTPException(413, options.too_long)
    return text


def _turn(value: Any, most: int) -> tuple[str, str]:
    if not isinstance(value, dict):
        raise HTTPException(400, 'history should hold {"question": …, "answer": …}.')
    return _text(value.get("question"), "question")[:most], _text(value.get("answer"), "answer")[:MOST_ANSWER]


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise HTTPException(400, f"{name} should be a text.")
    return value.encode("utf-8", "replace").decode("utf-8")
