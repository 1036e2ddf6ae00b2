"""Record questions and answers in a thread, so that the server never waits for the disk."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import RecordingError
from ..indexing.passages import section_address
from ..logging import counted
from ..retrieve.answer import Answer
from ..retrieve.search import Retrieval
from ..settings.project import Project
from ..settings.tables import ServeOptions
from ..study.asked.recordings import PLACE, Recordings, recordings_path, this_hour
from ..study.asked.turns import Outcome, RecordedSource, RecordedTurn
from .log import Log

if TYPE_CHECKING:
    from .questions import Question

DAY = 86_400.0  # seconds between looks at what has expired
SECTIONS = 10  # found sections that are recorded, beside those that are cited


@dataclass(frozen=True)
class Judgement:
    """A student's rating of an answer. thumb: 1 up, -1 down, 0 none"""

    id: str
    thumb: int
    comment: str


class Recorder:
    """Writes turns and judgements in order, in a thread of its own. Failures are logged, without the text.

    conversations: record conversations and answers, not questions alone
    keep_days: days after which records are deleted"""

    def __init__(self, recordings: Recordings, conversations: bool, keep_days: int, log: Log) -> None:
        self.recordings, self.conversations, self.keep_days, self.log = recordings, conversations, keep_days, log
        self._thread = ThreadPoolExecutor(1, "recorder")

    def add(self, turn: RecordedTurn) -> None:
        """Record a turn in the thread."""
        recorded = turn if self.conversations else replace(turn, conversation="", answer="")
        self._submit(lambda: self.recordings.add(recorded))

    async def judge(self, judgement: Judgement) -> bool:
        """Record a judgement, and return False if there is no such answer. Raise RecordingError.

        With questions alone, no comment is recorded: it would say more than the question."""
        comment = judgement.comment if self.conversations else ""
        future = self._submit(lambda: self.recordings.judge(judgement.id, judgement.thumb, comment))
        return bool(await asyncio.wrap_future(future))

    async def expire_daily(self) -> None:
        """Delete expired records, now and each day."""
        while True:
            self._submit(self._expire)
            await asyncio.sleep(DAY)

    def close(self) -> None:
        """Finish writing, and stop the thread."""
        self._thread.shutdown()
        self.recordings.close()

    def _expire(self) -> None:
        if count := self.recordings.expire(self.keep_days):
            self.log(f"recordings: {counted(count, 'question')} deleted, older than {self.keep_days} days")

    def _submit(self, job: Callable[[], object]) -> Future[object]:
        """Run a job in the thread; failures are logged."""

        def work() -> object:
            try:
                return job()
            except RecordingError as error:
                self.log(f"not recorded: {error}")
                raise

        return self._thread.submit(work)


def make_recorder(project: Project, log: Log) -> Recorder | None:
    """Return the recorder of a project's server, None if recording is off."""
    options = project.serve
    if options.record == "off":
        return None
    recordings = Recordings(recordings_path(project.root))
    return Recorder(recordings, options.record == "conversations", options.keep_days, log)


def describe_recording(options: ServeOptions) -> str:
    """Return a description of what a server records."""
    if options.record == "off":
        return "recording: off (record in the section [serve])"
    where = "/".join(PLACE)
    kept = f"for {counted(options.keep_days, 'day')}, in {where}; the pages say so"
    return f"recording: {options.record}, without who asked, {kept}"


# What is recorded of an answer


class RecordedAnswer:
    """An answer in progress, recorded when it ends if there is a recorder.

    id: of the turn, for judgements; "" if it is not recorded"""

    def __init__(self, recorder: Recorder | None, question: Question, found: Retrieval, by: str) -> None:
        self.recorder, self.question, self.found, self.by = recorder, question, found, by
        self.id = secrets.token_hex(16) if recorder else ""
        self.said: list[str] = []
        self._first: float | None = None

    def hear(self, part: str) -> None:
        """Add a part of the answer as it arrives."""
        if self._first is None:
            self._first = self._seconds()
        self.said.append(part)

    def end(self, outcome: Outcome, answer: Answer | None = None) -> None:
        """Record the end of the answer. answer: as a whole, if it came to its end"""
        if self.recorder is None:
            return
        asked, cost = self.question, self.question.cost
        self.recorder.add(
            RecordedTurn(
                self.id, asked.conversation or secrets.token_hex(16), this_hour(), asked.text, self.found.type,
                answer.text if answer else "".join(self.said), outcome, found_sources(self.found, answer), self.by,
                self._first, self._seconds(), cost.tokens_in, cost.tokens_out,
            )
        )  # fmt: skip

    def _seconds(self) -> float:
        """Return the seconds since the question arrived."""
        return round(time.perf_counter() - self.question.asked, 3)


def outcome_of(answer: Answer) -> Outcome:
    """Return the outcome of a complete answer."""
    if answer.answered:
        return "answered"
    if answer.off_topic:
        return "off_topic"
    return "partly" if answer.cited else "refused"


def found_sources(found: Retrieval, answer: Answer | None = None) -> tuple[RecordedSource, ...]:
    """Return the best sections of a search, and those that an answer cites."""
    used = [source for source in answer.sources if source.number in answer.cited] if answer else []
    cited = {section_address(source): source.titles for source in used}
    sources = []
    for rank, ranked in enumerate(found.sections, 1):
        address = section_address(ranked.section)
        if rank <= SECTIONS or address in cited:
            is_cited = cited.pop(address, None) is not None
            sources.append(
                RecordedSource(address, tuple(ranked.section.titles), rank, round(ranked.score, 4), is_cited)
            )
    after = len(found.sections) + 1  # a tool of the model found them
    more = [RecordedSource(address, tuple(titles), after, 0.0, True) for address, titles in cited.items()]
    return (*sources, *more)
