"""Run sessions until Ctrl-C: questions on standard input, or files being saved."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, QuartoError
from ..logging import say
from ..markdown.files import find_markdown
from ..settings.quarto_inputs import DocumentFinder

if TYPE_CHECKING:
    from ..retrieve.library import Library

SECONDS_BETWEEN_LOOKS = 0.3


async def read_questions(library: Library, prompt: Callable[[], None]) -> AsyncIterator[str]:
    """Yield non-blank lines of standard input until its end or Ctrl-C, each after a prompt on a terminal.

    While waiting, the index is released to other processes (`lmm index`)."""
    while (line := await _next_line(library, prompt)) is not None:
        if line.strip():
            yield line.strip()


async def _next_line(library: Library, prompt: Callable[[], None]) -> str | None:
    library.release()
    if sys.stdin is None:  # closed
        return None
    if sys.stdin.isatty():
        prompt()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's handler would wait for the line
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        line = ""
    finally:
        signal.signal(signal.SIGINT, before)
    return line or None


async def until_ctrl_c(work: Coroutine[Any, Any, None]) -> bool:
    """Run work that Ctrl-C cancels. Return True if it did."""
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
        task.result()  # raises the task's error
    return pressed


# Saved files


@dataclass
class SavedFiles:
    """Watches documents for changes; the paths may not exist yet. written: own output, which is not reported"""

    paths: Sequence[Path]
    finder: DocumentFinder = field(default_factory=DocumentFinder)
    written: dict[Path, bytes] = field(default_factory=dict)
    _states: dict[Path, tuple[int, int]] = field(default_factory=dict, init=False)
    _documents: list[Path] = field(default_factory=list, init=False)
    _waiting: list[Path] = field(default_factory=list, init=False)  # not reported yet

    def look(self) -> list[Path]:
        """Return the documents saved since the last call (at first, all).

        After ConfigError or QuartoError, a later call reports the changes."""
        existing = [path for path in self.paths if path.exists()]
        # before the work, to notice concurrent saves
        states = {path: state for path in self._walk_documents(existing) if (state := _state_of(path)) is not None}
        saved = [path for path in states if self._states.get(path) != states[path] and not self._is_own(path)]
        self._states |= states
        self.postpone(saved)
        return self._report(existing) if saved else []

    def postpone(self, saved: Sequence[Path]) -> None:
        """Report again with the next change, after failed work."""
        self._waiting.extend(saved)

    def _walk_documents(self, existing: Sequence[Path]) -> Iterable[Path]:
        try:
            return dict.fromkeys([*find_markdown(list(existing)), *self._documents])
        except FileNotFoundError:  # being replaced
            return self._documents

    def _report(self, existing: Sequence[Path]) -> list[Path]:
        documents = replace(self.finder).find(existing)  # a new finder, because settings may have changed
        self._states = {path: state for path in documents if (state := _state_of(path)) is not None} | self._states
        saved = [path for path in documents if path in self._waiting or path not in self._documents]
        self._documents, self._waiting = documents, []
        return saved

    def _is_own(self, path: Path) -> bool:
        try:
            return path in self.written and path.read_bytes() == self.written.pop(path)
        except OSError:
            return False


def _state_of(path: Path) -> tuple[int, int] | None:
    """Return a file's state, or None while it is being replaced."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def at_every_save(files: SavedFiles, work: Callable[[list[Path]], bool]) -> None:
    """Process all documents, then saved ones, until Ctrl-C. Failed work (False) is repeated at the next save."""
    waits = False
    try:
        while True:
            try:
                if (saved := files.look()) and not work(saved):
                    files.postpone(saved)
            except (ConfigError, QuartoError) as error:  # a half-typed configuration
                say(str(error), err=True)
            if not waits:
                say("Waiting for changes; Ctrl-C stops.", err=True)
            waits = True
            time.sleep(SECONDS_BETWEEN_LOOKS)
    except KeyboardInterrupt:
        say("", err=True)
