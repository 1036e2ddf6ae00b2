"""Rerankers that `benchmarks/ask.py` measures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lmm_core.errors import ModelError
from lmm_core.indexing.passages import Passage
from lmm_core.retrieve.answer import make_conversation
from lmm_core.retrieve.library import Library
from lmm_core.retrieve.models import Reranker
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import AskOptions

NONE = "none"


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
