"""Rerankers that `benchmarks/ask.py` measures: those that `[ask] rerank` names, and one on loopback."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from evaluation import MODEL
from texts import ROOT

from lmm_core.errors import ModelError
from lmm_core.indexing.passages import Passage
from lmm_core.models.chat import run
from lmm_core.models.embedders.fastembed_embedder import FastEmbedder
from lmm_core.models.names import ModelName
from lmm_core.models.sources import ModelSource
from lmm_core.retrieve.answer import make_conversation
from lmm_core.retrieve.library import Library
from lmm_core.retrieve.rerank import Reranker
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import AskOptions

NONE, LOOPBACK = "none", "loopback"  # a reranker, and the source of another


class NotMeasured(Exception):
    """Say what keeps a reranker from being measured: `Retriever` would go on without it."""


@dataclass
class Timed:
    """A reranker, and how long it took for each question."""

    reranker: Reranker
    seconds: list[float] = field(default_factory=list)

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """See `Reranker`. Raises NotMeasured."""
        begun = time.perf_counter()
        try:
            found = await self.reranker.rerank(question, passages)
        except ModelError as error:
            raise NotMeasured(str(error)) from None
        self.seconds.append(time.perf_counter() - begun)
        return found


def reranker_of(project: Project, name: str, models: Models, library: Library) -> Reranker | None:
    """What `rerank = name` in the project's `[ask]` gives. Raises NotMeasured."""
    try:
        made = make_conversation(replace(project, ask=AskOptions(rerank=name)), models, library).retriever.reranker
    except ModelError as error:
        raise NotMeasured(str(error)) from None
    if made is None and name != NONE:
        raise NotMeasured("no model is configured that could be asked")
    return made


@contextmanager
def with_loopback(project: Project) -> Iterator[Project]:
    """The project with one more source: a server of the shape of Jina's and Cohere's, in a thread, whose scores are
    the cosines of MiniLM's vectors of the question and of each passage."""
    sys.path.insert(0, str(ROOT))
    from tests.model_server import ModelServer

    embedder = FastEmbedder(ModelName("fastembed", str(MODEL)))

    def answer(body: dict[str, Any]) -> bytes:
        asked, *documents = run(embedder.embed([body["query"], *body["documents"]]))
        scores = [sum(map(float.__mul__, asked, vector)) for vector in documents]
        results = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
        return json.dumps({"results": sorted(results, key=lambda one: -one["relevance_score"])}).encode()

    with ModelServer(reply=answer) as server:
        yield replace(project, sources={**project.sources, LOOPBACK: ModelSource(LOOPBACK, server.url)})
