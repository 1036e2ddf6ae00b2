"""Models that help a search: one writes further queries for a question, others rerank the passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..errors import ModelError
from ..indexing.passages import Passage
from ..models.chat import Asker
from ..models.prompts import QUERIES, RERANK, as_data, enclose
from ..models.replies import find_value
from .search import MOST_CHARACTERS

if TYPE_CHECKING:
    from ..models.embedders.fastembed_models import CrossEncoder

MOST_QUERIES = 4  # in addition to the question
MOST_EARLIER = 3  # previous questions in the prompt


@dataclass
class ModelQueries:
    """A model that generates queries. A follow-up question is replaced by self-contained queries."""

    asker: Asker

    async def expand(self, question: str, earlier: Sequence[str] = ()) -> list[str]:
        """Return distinct queries, including the question where useful. earlier: questions. Raise ModelError."""
        before = "\n".join(previous[:MOST_CHARACTERS] for previous in earlier[-MOST_EARLIER:])
        question = question[:MOST_CHARACTERS]
        values = {"question": as_data(question), "earlier": as_data(before), "most": str(MOST_QUERIES)}
        queries = await self.asker.ask(QUERIES.request(values), _read_queries)
        own = [] if earlier and queries else [question]
        return list(dict.fromkeys([*own, *queries]))


def _read_queries(text: str) -> list[str]:
    value = find_value(text, "queries")
    if not isinstance(value, list):
        raise ModelError("the reply holds no list of queries")
    queries = [" ".join(query.split())[:MOST_CHARACTERS] for query in value if isinstance(query, str)]
    return [query for query in queries if query][:MOST_QUERIES]


# Reranking


@dataclass
class ModelReranker:
    """A chat model that grades passages from 0 (irrelevant) to 10 (answers). Ungraded ones come last."""

    asker: Asker

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Return all passages rescored, the best first. Raise ModelError."""
        texts = (enclose("passage", _judged_text(passage), number) for number, passage in enumerate(passages, 1))
        values = {"question": as_data(question[:MOST_CHARACTERS]), "passages": "\n\n".join(texts)}
        grades = await self.asker.ask(RERANK.request(values), lambda text: _read_grades(text, len(passages)))
        return in_order(passages, grades)


@dataclass
class CrossEncoderReranker:
    """A reranker with a local cross-encoder."""

    encoder: CrossEncoder

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Return all passages rescored, the best first. Raise ModelError."""
        texts = [_judged_text(passage) for passage in passages]
        scores = await self.encoder.score(question[:MOST_CHARACTERS], texts)
        return in_order(passages, dict(enumerate(scores)))


Reranker: TypeAlias = ModelReranker | CrossEncoderReranker


def in_order(passages: Sequence[Passage], scores: Mapping[int, float]) -> list[Passage]:
    """Sort passages by score, stably. scores: by position; passages without one come last"""
    least = min([0.0, *scores.values()])
    scored = [passage.scored(scores.get(at, least)) for at, passage in enumerate(passages)]
    order = sorted(range(len(passages)), key=lambda at: (at not in scores, -scored[at].score))
    return [scored[at] for at in order]


def _judged_text(passage: Passage) -> str:
    return "\n".join(filter(None, [" > ".join(passage.titles), passage.text]))[:MOST_CHARACTERS]


def _read_grades(text: str, count: int) -> dict[int, float]:
    value = find_value(text, "grades")
    grades: dict[int, float] = {}
    for graded in value if isinstance(value, list) else []:
        number, grade = map(graded.get, ("number", "grade")) if isinstance(graded, dict) else (0, 0)
        if type(number) is int and 1 <= number <= count and isinstance(grade, int | float) and 0 <= grade <= 10:
            grades.setdefault(number - 1, float(grade))
    if not grades:
        raise ModelError("the reply grades no passage")
    return grades
