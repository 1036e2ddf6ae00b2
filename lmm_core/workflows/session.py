"""A session: a person's questions, one after another, each of which Ctrl-C can stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from .ask import SharedLibrary


async def read_questions(library: SharedLibrary, prompt: Callable[[], None]) -> AsyncIterator[str]:
    """Yield the lines of standard input that are not blank, until its end or Ctrl-C.

    While a line is awaited, other processes (`lmm index`) can have the index. prompt: is
    called before each line that a person types."""
    while (line := await _next_line(library, prompt)) is not None:
        if line.strip():
            yield line.strip()


async def _next_line(library: SharedLibrary, prompt: Callable[[], None]) -> str | None:
    """Return a line of standard input, or None at its end and after Ctrl-C."""
    if await until_ctrl_c(library.release()):
        return None
    if sys.stdin is None:  # it is closed
        return None
    if sys.stdin.isatty():
        prompt()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own would wait for the line
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        line = ""
    finally:
        signal.signal(signal.SIGINT, before)
    return line or None


async def until_ctrl_c(work: Coroutine[Any, Any, None]) -> bool:
    """Do some work that Ctrl-C stops, without stopping anything else. Return True if it was pressed."""
    task = asyncio.ensure_future(work)
    loop, pressed = asyncio.get_running_loop(), False

    def stop(*_: object) -> None:
        nonlocal pressed
        pressed = True
        loop.call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGINT, stop)
    try:
        await asyncio.wait([task])
    finally:
        signal.signal(signal.SIGINT, before)
    if not task.cancelled():
        task.result()  # raises what went wrong
    return pressed
