"""Record questions and answers in a thread, so that the server never waits for the disk."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import RecordingError
from ..logging import counted
from ..retrieve.answer import Answer
from ..retrieve.search import Retrieval
from ..settings.project import Project
from ..settings.tables import ServeOptions
from ..study.asked.recordings import (
    PLACE,
    Outcome,
    RecordedSource,
    RecordedTurn,
    Recordings,
    recordings_path,
    this_hour,
)
from .log import Log

if TYPE_CHECKING:
    from .questions import Question

DAY = 86_400.0  # seconds between deletions of expired records
SECTIONS = 10  # uncited sections to record


class Recorder:
    """Writes turns and ratings in a thread of its own. Failures are logged, without the texts.

    conversations: also record answers, comments, and which questions belong together; keep_days: days until deletion"""

    def __init__(self, recordings: Recordings, conversations: bool, keep_days: int, log: Log) -> None:
        self.recordings, self.conversations, self.keep_days, self.log = recordings, conversations, keep_days, log
        self._thread = ThreadPoolExecutor(1, "recorder")

    def add(self, turn: RecordedTurn) -> None:
        recorded = turn if self.conversations else replace(turn, conversation="", answer="")
        self._submit(lambda: self.recordings.add(recorded))

    async def judge(self, id: str, thumb: int, comment: str) -> bool:
        """Record a rating, and with `conversations` the comment. Return False for unknown ids. Raise RecordingError."""
        recorded = comment if self.conversations else ""
        future = self._submit(lambda: self.recordings.judge(id, thumb, recorded))
        return bool(await asyncio.wrap_future(future))

    async def expire_daily(self) -> None:
        """Delete expired records now, and then once a day."""
        while True:
            self._submit(self._expire)
            await asyncio.sleep(DAY)

    def close(self) -> None:
        self._thread.shutdown()

    def _expire(self) -> None:
        if count := self.recordings.expire(self.keep_days):
            self.log(f"recordings: {counted(count, 'question')} deleted, older than {self.keep_days} days")

    def _submit(self, job: Callable[[], object]) -> Future[object]:
        def work() -> object:
            try:
                return job()
            except RecordingError as error:
                self.log(f"not recorded: {error}")
                raise

        return self._thread.submit(work)


def make_recorder(project: Project, log: Log) -> Recorder | None:
    """Return a project's recorder, or None if recording is off."""
    options = project.serve
    if options.record == "off":
        return None
    recordings = Recordings(recordings_path(project.root))
    return Recorder(recordings, options.record == "conversations", options.keep_days, log)


def describe_recording(options: ServeOptions) -> str:
    """Describe in a line the recording, its place and its duration."""
    if options.record == "off":
        return "recording: off (record in the section [serve])"
    where = "/".join(PLACE)
    kept = f"for {counted(options.keep_days, 'day')}, in {where}; the pages say so"
    return f"recording: {options.record}, without who asked, {kept}"


# Answers


class RecordedAnswer:
    """An answer in progress, recorded at its end if there is a recorder. id: for ratings; "" if it is not recorded."""

    def __init__(self, recorder: Recorder | None, question: Question, retrieval: Retrieval, by: str) -> None:
        self.recorder, self.question, self.retrieval, self.by = recorder, question, retrieval, by
        self.id = secrets.token_hex(16) if recorder else ""
        self.parts: list[str] = []
        self._first: float | None = None

    def hear(self, part: str) -> None:
        """Note a part of the answer, and when the first one came."""
        if self._first is None:
            self._first = self._seconds()
        self.parts.append(part)

    def end(self, outcome: Outcome, answer: Answer | None = None) -> None:
        """Record the answer. answer: None if it was broken off."""
        if self.recorder is None:
            return
        asked, cost = self.question, self.question.cost
        self.recorder.add(
            RecordedTurn(
                self.id, asked.conversation or secrets.token_hex(16), this_hour(), asked.text, self.retrieval.type,
                answer.text if answer else "".join(self.parts), outcome, recorded_sources(self.retrieval, answer),
                self.by, self._first, self._seconds(), cost.tokens_in, cost.tokens_out,
            )
        )  # fmt: skip

    def _seconds(self) -> float:
        return round(time.perf_counter() - self.question.asked, 3)


def outcome_of(answer: Answer) -> Outcome:
    if answer.answered:
        return "answered"
    return "partly" if answer.cited else "refused"


def recorded_sources(retrieval: Retrieval, answer: Answer | None = None) -> tuple[RecordedSource, ...]:
    """Return the best sections of a retrieval, and all that the answer cites."""
    used = [source for source in answer.sources if source.number in answer.cited] if answer else []
    cited = {source.address: source.titles for source in used}
    sources = []
    for rank, ranked in enumerate(retrieval.sections, 1):
        address = ranked.section.address
        if rank <= SECTIONS or address in cited:
            is_cited = cited.pop(address, None) is not None
            sources.append(
                RecordedSource(address, tuple(ranked.section.titles), rank, round(ranked.score, 4), is_cited)
            )
    after = len(retrieval.sections) + 1  # found by a tool of the model
    more = [RecordedSource(address, tuple(titles), after, 0.0, cited=True) for address, titles in cited.items()]
    return (*sources, *more)
