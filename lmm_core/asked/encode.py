"""The vectors of questions, by the encoder of the index that answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ..errors import ModelError
from ..retrieve.library import Library
from ..retrieve.ranking.words import asked_words
from .features import QuestionVector, is_answered
from .turns import RecordedTurn

MOST_TITLES, FEWEST_TITLES = 200, 10


async def encode_turns(
    library: Library, turns: Sequence[RecordedTurn], miss: Callable[[str], None]
) -> list[QuestionVector]:
    """Return the vectors of the turns' questions.

    miss: is told why the embedding model of the index could not be asked; then words alone are compared. Raise
    StoreError and RetrieveError."""
    languages = sorted(filter(None, (await library.material()).languages))
    words = await asyncio.to_thread(_encode_words, library, {turn.question for turn in turns}, languages)
    unanswered = sorted({turn.question for turn in turns if not is_answered(turn)})
    try:
        meaning = await _embed(library, unanswered)
    except ModelError as error:
        miss(f"questions are grouped by their words alone: {error}")
        meaning = {}
    return [
        QuestionVector(words[turn.question], () if is_answered(turn) else meaning.get(turn.question, ()))
        for turn in turns
    ]


def _encode_words(library: Library, questions: set[str], languages: Sequence[str]) -> dict[str, dict[int, float]]:
    encoder = library.encoder.sparse
    if encoder is None:
        return {question: {} for question in questions}
    made = {}
    for question in questions:
        vector = encoder.encode_query(" ".join(asked_words(question, library.language)), languages)
        made[question] = dict(zip(vector.indices, vector.values, strict=True))
    return made


async def _embed(library: Library, questions: Sequence[str]) -> dict[str, list[float]]:
    """Return the vectors of questions, none without an embedding model. Raise ModelError.

    The mean vector of the sections' titles is taken off them. All vectors of a model have something in common,
    some much, some little; without it, 0 means of each model that two texts have nothing to do with each other."""
    encoder = library.encoder
    if encoder.embedder is None or not encoder.has_meaning or not questions:
        return {}
    titles = sorted({section.title for section in (await library.material()).walk()})
    titles = titles[:: len(titles) // MOST_TITLES + 1] if len(titles) >= FEWEST_TITLES else []
    vectors = await encoder.embedder.embed([*questions, *titles])
    asked, common = vectors[: len(questions)], _mean(vectors[len(questions) :])
    return {
        question: [one - mean for one, mean in zip(vector, common or [0.0] * len(vector), strict=True)]
        for question, vector in zip(questions, asked, strict=True)
    }


def _mean(vectors: Sequence[Sequence[float]]) -> list[float]:
    return [sum(numbers) / len(vectors) for numbers in zip(*vectors, strict=True)]
