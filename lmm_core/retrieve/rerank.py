"""Rerank passages."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ModelError
from ..indexing.passages import Passage
from ..models.addresses import is_address, shown_address, usable_environment
from ..models.chat import Asker
from ..models.names import ModelName
from ..models.openai.client import require_key, without_key
from ..models.prompts import RERANK, as_data, enclose
from ..models.replies import find_value
from ..models.sources import ModelSource

if TYPE_CHECKING:
    from httpx import Response

    from ..models.embedders.cross_encoder import CrossEncoder

MOST_CHARACTERS = 2_000  # of a passage, and of the question
TIMEOUT = 20.0  # seconds
_LEADS_ON = "the server redirects to another address, to which nothing is sent: if that is the right one, configure it"


@dataclass
class ModelReranker:
    """A chat model that grades passages in one request, from 0 (irrelevant) to 10 (answers). Ungraded ones come
    last."""

    asker: Asker

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Return all passages rescored, the best first. Raise ModelError."""
        if not passages:
            return []
        texts = (enclose("passage", _judged_text(passage), number) for number, passage in enumerate(passages, 1))
        values = {"question": as_data(question[:MOST_CHARACTERS]), "passages": "\n\n".join(texts)}
        grades = await self.asker.ask(RERANK.request(values), lambda text: _read_grades(text, len(passages)))
        return in_order(passages, grades)


class EndpointReranker:
    """A remote reranker with the API of Jina and Cohere: `POST base_url/rerank`.

    timeout: seconds. Raise ModelError if a required key is not set."""

    def __init__(self, name: ModelName, source: ModelSource, timeout: float = TIMEOUT) -> None:
        self.name = str(name)
        self._model, self._source, self._timeout = name.model, source, timeout
        if source.needs_key and not source.key():
            raise ModelError(f"{name}: {source.key_variable} is not set: put the key into the environment", stop=True)
        self._key = require_key(name, source)
        if not is_address(source.base_url):
            raise ModelError(f"{name}: {source.base_url} is not the address of a server (http://…)", stop=True)

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Return all passages rescored, the best first. Raise ModelError."""
        if not passages:
            return []
        body = {
            "model": self._model,
            "query": question[:MOST_CHARACTERS],
            "documents": [_judged_text(passage) for passage in passages],
            "top_n": len(passages),
        }
        response = await self._post(body)
        if not response.is_success:
            raise self._refused(response)
        try:
            results = response.json()["results"]
            return in_order(passages, {int(result["index"]): float(result["relevance_score"]) for result in results})
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise ModelError(f"{self.name}: the reply holds no `results` with `index` and `relevance_score`") from None

    async def _post(self, body: Mapping[str, Any]) -> Response:
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with usable_environment(partial(ModelError, stop=True)):
                opened = httpx.AsyncClient(timeout=self._timeout, trust_env=not self._source.local)
            async with opened as client:
                url = f"{self._source.base_url.rstrip('/')}/rerank"
                return await client.post(url, content=data, headers={"Content-Type": "application/json", **headers})
        except httpx.TimeoutException:
            raise ModelError(f"{self.name}: no answer in {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            address = shown_address(self._source.base_url)
            raise ModelError(f"{self.name}: cannot reach {address} (is the server running?)") from None

    def _refused(self, response: Response) -> ModelError:
        status = response.status_code
        if status in (401, 403):
            variable = self._source.key_variable
            where = f"look at ${variable}" if variable else "the server wants a key: name its variable in key_variable"
            return ModelError(f"{self.name}: the key is refused ({status}): {where}", stop=True)
        reply = without_key(response.text, self._key)
        if response.is_redirect:
            return ModelError(f"{self.name}: error {status}: {_LEADS_ON}", stop=True)
        if status == 404:
            address = shown_address(self._source.base_url)
            return ModelError(f"{self.name}: no such model or address at {address}/rerank (404): {reply}", stop=True)
        return ModelError(f"{self.name}: error {status}: {reply}")


@dataclass
class CrossEncoderReranker:
    """A reranker with a local cross-encoder."""

    encoder: CrossEncoder

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Return all passages rescored, the best first. Raise ModelError."""
        texts = [_judged_text(passage) for passage in passages]
        scores = await self.encoder.score(question[:MOST_CHARACTERS], texts) if texts else []
        return in_order(passages, dict(enumerate(scores)))


Reranker: TypeAlias = ModelReranker | EndpointReranker | CrossEncoderReranker


def in_order(passages: Sequence[Passage], scores: Mapping[int, float]) -> list[Passage]:
    """Sort passages by score, stably. Raise ValueError if none has a score.

    scores: by position; passages without one come last"""
    usable = {at: score for at, score in scores.items() if 0 <= at < len(passages) and math.isfinite(score)}
    if passages and not usable:
        raise ValueError("no passage has a score")
    least = min([0.0, *usable.values()])
    scored = [passage.scored(usable.get(at, least)) for at, passage in enumerate(passages)]
    order = sorted(range(len(passages)), key=lambda at: (at not in usable, -scored[at].score))
    return [scored[at] for at in order]


def _judged_text(passage: Passage) -> str:
    return "\n".join(filter(None, [" > ".join(passage.titles), passage.text]))[:MOST_CHARACTERS]


def _read_grades(text: str, count: int) -> dict[int, float]:
    """Return grades by position from 0. Raise ModelError if there are none."""
    value = find_value(text, "grades")
    grades: dict[int, float] = {}
    for graded in value if isinstance(value, list) else []:
        number, grade = map(graded.get, ("number", "grade")) if isinstance(graded, dict) else (0, 0)
        if type(number) is int and 1 <= number <= count and isinstance(grade, int | float) and 0 <= grade <= 10:
            grades.setdefault(number - 1, float(grade))
    if not grades:
        raise ModelError("the reply grades no passage")
    return grades
