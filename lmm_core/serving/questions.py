"""The questions that arrive, read and checked against their limits."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from .texts import ServedTexts

MOST_BYTES = 256 * 1024  # in a request's body
READ_TIME = 10.0  # seconds to read it
CLOSE = {"Connection": "close"}  # because the rest of the request is not read
TURNS = 6  # the last turns of the history that count
MOST_ANSWER = 8_000  # characters of an earlier answer


@dataclass(frozen=True)
class Question:
    """A question, and the questions and answers before it; kind: the type asked for, "" for none."""

    text: str
    history: tuple[tuple[str, str], ...] = ()
    kind: str = ""


async def read_body(request: Request) -> bytes:
    """Return the body of a request. Raise HTTPException if it is too long or too slow."""
    data = bytearray()
    try:
        async with asyncio.timeout(READ_TIME):
            async for part in request.stream():
                data += part
                if len(data) > MOST_BYTES:
                    raise HTTPException(413, f"The request is longer than {MOST_BYTES // 1024} KB.", CLOSE)
    except TimeoutError:
        raise HTTPException(408, "The request did not come in time.", CLOSE) from None
    return bytes(data)


def read_question(data: bytes, most: int, texts: ServedTexts) -> Question:
    """Return the question in a body, with at most `most` characters. Raise HTTPException otherwise."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not JSON.") from None
    if not isinstance(said, dict):
        raise HTTPException(400, 'The request should be {"question": …, "history": […], "type": …}.')
    history = said.get("history") or []
    if not isinstance(history, list):
        raise HTTPException(400, "history should be a list.")
    turns = tuple(_turn(one, most) for one in history[-TURNS:])
    return Question(checked_text(said.get("question"), most, texts), turns, _text(said.get("type") or "", "type"))


def checked_text(value: Any, most: int, texts: ServedTexts) -> str:
    """Return a question that is not empty and not too long. Raise HTTPException otherwise."""
    text = _text(value, "question").strip()
    if not text:
        raise HTTPException(400, texts.empty)
    if len(text) > most:
        raise HTTPException(413, texts.too_long)
    return text


def _turn(value: Any, most: int) -> tuple[str, str]:
    if not isinstance(value, dict):
        raise HTTPException(400, 'history should hold {"question": …, "answer": …}.')
    return _text(value.get("question"), "question")[:most], _text(value.get("answer"), "answer")[:MOST_ANSWER]


def _text(value: Any, name: str) -> str:
    """Return a text that can be written as UTF-8; lone surrogates are replaced."""
    if not isinstance(value, str):
        raise HTTPException(400, f"{name} should be a text.")
    return value.encode("utf-8", "replace").decode("utf-8")


class QuestionLog:
    """A file of questions with the sections that answered them, as `lmm bench --questions` reads it.

    It holds nothing about who asked, or when. Raise OSError if it cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write_lines("")

    def add(self, question: str, section: str) -> None:
        """Write a question; section: `file#anchor`, "" for none."""
        found = {"question": question} | ({"section": section} if section else {})
        self.write_lines(json.dumps(found, ensure_ascii=False) + "\n")

    def write_lines(self, text: str) -> None:
        """Append to the file; if it is new, nobody else can read it."""
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, text.encode("utf-8"))
        finally:
            os.close(file)
