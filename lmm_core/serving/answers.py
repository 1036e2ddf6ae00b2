"""Answer questions as a stream of events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from ..errors import CutOffError, ModelError, RecordingError, RetrieveError, StoreError
from ..indexing.collection import index_info
from ..indexing.passages import Material, Passage
from ..models.chat import Asker
from ..models.sources import STAND_IN, STAND_IN_NAME
from ..retrieve.answer import Answer, Conversation, make_conversation
from ..retrieve.context import CitedSource, Context
from ..retrieve.library import Library
from ..retrieve.ranking.spans import best_spans
from ..retrieve.search import Retrieval, Retriever, UnknownType
from ..retrieve.tools import Tools
from ..settings.models import Models
from ..settings.project import Project
from .log import Log
from .questions import Question
from .recorder import RecordedAnswer, Recorder, outcome_of

WAIT = 10.0  # seconds to wait for an index that another process (`lmm index`) has locked
AGAIN = 0.2  # seconds between attempts
RETRY = 5.0  # seconds in the header Retry-After
SHOWN = 1_200  # characters of a source's text
MOST_HITS = 20
NO_MODEL = "The model is not available right now. Try again later."
BROKEN = "The model stopped in the middle of the answer. Ask again for a whole one."
STOPPED = "The answer was stopped: it was too long, or no longer made sense. Ask again, or ask for less."
SLOW = "The answer did not come in time. Ask again, or ask for less."
NOT_NOW = "The notes cannot be read right now, maybe because of an update. Try again in a few seconds."
NOT_RECORDED = "This cannot be recorded right now. Try again in a few seconds."
EMPTY = "There are no notes to ask here yet."

Result = TypeVar("Result")
Tell = Callable[[str, dict[str, Any]], None]


class ServedModels(Models):
    """The models of a server. They have no cache, which would store students' questions, and go on after errors."""

    def asker(self, project: Project, role: str) -> Asker:
        asker = super().asker(project, role)
        asker.cache = None
        asker.model.stopped = None
        return asker

    def check(self, project: Project) -> str:
        """Return the name of the model that answers. Raise ModelError if it is not available."""
        name = self.name(project, "major")
        if name.source == STAND_IN:
            return "no model: the best matches are shown"
        import openai  # noqa: F401  # takes a second, for which the first readers would have to wait

        return self.asker(project, "major").model.name


@dataclass(frozen=True)
class Looked:
    """The results for a question, and the conversation that will answer it."""

    talk: Conversation
    found: Retrieval
    context: Context

    @property
    def by(self) -> str:
        """The model that answers."""
        return self.talk.asker.model.name if self.talk.asker else STAND_IN_NAME


@dataclass
class Answers:
    """Answers questions from a project's index, which is open only while it is read, so that `lmm index` can write.

    log: gets errors, for the teacher. Methods raise HTTPException."""

    project: Project
    models: Models
    library: Library
    log: Log
    recorder: Recorder | None = None

    def __post_init__(self) -> None:
        self._tools = Tools(self.library)

    async def read(self, work: Callable[[Library], Awaitable[Result]], wait: float = WAIT) -> Result:
        """Return the result of work with the library. wait: seconds for a locked index."""
        seconds = self.project.serve.search_timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._read(work, wait)
        except TimeoutError:
            self.log(f"the index: reading and searching took more than {seconds:g} s ")
            raise _unavailable(NOT_NOW) from None

    async def _read(self, work: Callable[[Library], Awaitable[Result]], wait: float) -> Result:
        until = time.monotonic() + wait
        while True:
            try:
                async with self.library.use() as library:
                    return await work(library)
            except StoreError as error:
                if time.monotonic() > until:
                    self.log(f"the index: {error}")
                    raise _unavailable(NOT_NOW) from None
            except UnknownType as error:
                there = ", ".join(error.types) or "none"
                raise HTTPException(400, f"There is no material of this type; there is: {there}.") from None
            except RetrieveError as error:
                self.log(f"the index: {error}")
                raise _unavailable(EMPTY) from None
            except ModelError as error:
                self.log(f"the model: {error}")
                raise _unavailable(NO_MODEL) from None
            await asyncio.sleep(AGAIN)

    # Questions

    async def look(self, question: Question) -> Looked:
        """Search the notes for a question."""

        async def work(library: Library) -> Looked:
            patience = self.project.serve.patience
            talk = make_conversation(self.project, self.models, library, tools=self._tools, patience=patience)
            talk.history = list(question.history)
            return Looked(talk, *await talk.look(question.text, question.type))

        return await self.read(work)

    async def answer(self, looked: Looked, question: Question, tell: Tell) -> None:
        """Answer a question, and tell the events of the answer: its sources, parts and end."""
        found, shown = looked.found, looked.context.sources
        recorded = RecordedAnswer(self.recorder, question, found, looked.by)
        tell("sources", sources_data(shown, found.type))

        def show(part: str) -> None:
            if part:
                recorded.hear(part)
                tell("part", {"text": part})

        def cite(sources: Sequence[CitedSource]) -> None:
            tell("sources", sources_data(sources, found.type))

        try:
            answer = await looked.talk.answer(question.text, found, looked.context, show, cite)
        except ModelError as error:
            self.log(f"the model: {error}")
            why = STOPPED if isinstance(error.__cause__ or error, CutOffError) else BROKEN
            tell("error", {"error": why if recorded.parts else NO_MODEL})
            recorded.end("broken")
            return
        except asyncio.CancelledError as error:
            recorded.end("broken" if SLOW in error.args else "stopped")
            raise
        tell("done", answer_data(answer, found.missed) | {"id": recorded.id})
        recorded.end(outcome_of(answer), answer)

    async def judge(self, id: str, thumb: int, comment: str) -> None:
        """Record a student's rating."""
        if self.recorder is None:
            raise HTTPException(404, "Nothing is recorded here.")
        try:
            known = await self.recorder.judge(id, thumb, comment)
        except RecordingError:
            raise _unavailable(NOT_RECORDED) from None
        if not known:
            raise HTTPException(404, "There is no such answer anymore.")

    # Without a model

    async def search(self, query: str, type: str, limit: int) -> dict[str, Any]:
        """Return the best passages for a query, each as its best span."""

        async def work(library: Library) -> Retrieval:
            return await Retriever(library, warn=self.log).retrieve(query, type)

        retrieval = await self.read(work)
        best = best_spans(retrieval.spans)
        hits = [
            hit_data(replace(passage, text=best[passage.id].text), retrieval.type)
            for passage in retrieval.passages[:limit]
        ]
        return {"query": retrieval.text, "type": retrieval.type, "hits": hits}

    async def health(self) -> dict[str, Any]:
        """Return the size of the index, and when it was written."""

        async def work(library: Library) -> tuple[Material, float | None]:
            info = await asyncio.to_thread(index_info, self.project, library.store)
            return await library.material(), info.written

        material, written = await self.read(work, 0.0)
        indexed = datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds") if written else None
        return {
            "status": "ok",
            "documents": len(material.documents),
            "sections": len(material.sections),
            "types": sorted(material.types),
            "indexed": indexed,
        }


def _unavailable(error: str) -> HTTPException:
    return HTTPException(503, error, {"Retry-After": f"{RETRY:.0f}"})


# JSON


def event_bytes(event: str, data: dict[str, Any]) -> bytes:
    """Return a server-sent event, in ASCII since a client may cut other characters in two."""
    return f"event: {event}\ndata: {json.dumps(data)}\n\n".encode("ascii")


def sources_data(sources: Sequence[CitedSource], type: str) -> dict[str, Any]:
    """Return sources for a reader. type: see `hit_data`."""
    return {"sources": [{"number": source.number, **hit_data(source, type)} for source in sources]}


def hit_data(hit: CitedSource | Passage, type: str) -> dict[str, Any]:
    """Return a hit for a reader, without its text if its type was not requested: it may be a solution."""
    open_text = not hit.types or type in hit.types
    page = {"page": hit.page} if hit.page else {}
    return {**_place(hit.titles, hit), **page, "types": hit.types, "text": _cut(hit.text) if open_text else ""}


def answer_data(answer: Answer, missed: Sequence[str] = ()) -> dict[str, Any]:
    """Return the data of an answer's last event. missed: messages about unavailable parts of the search."""
    return {
        "answered": answer.answered,
        "cited": answer.cited,
        "notes": [*missed, *answer.notes],
        "nearest": [_place(ranked.section.titles, ranked.section) for ranked in answer.nearest],
        "types": answer.types,
        "by": answer.by,
    }


def _place(titles: Sequence[str], there: Any) -> dict[str, Any]:
    return {"titles": titles, "place": there.place, "anchor": there.anchor}


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
