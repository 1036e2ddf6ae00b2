"""What questions are compared by: their words, what they found in the notes, and their meaning.

Each question becomes a row of numbers, and two questions belong together as far as the product of their
rows is large. Rows of questions that the notes answer hold the words and the sections that were found,
since two questions with different words about one section are about one subject. What was found for a
question that the notes do not answer says nothing, so that its row holds its words and, if the index
has an embedding model, its meaning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .turns import RecordedTurn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The shares of words, sections and meaning in the product of two rows; see benchmarks/grouping.py.
WORDS_OF_ANSWERED, SECTIONS = 0.2, 0.4
WORDS_WITH_MEANING, MEANING = 0.35, 0.35
OTHER_QUESTIONS = 200  # that are thought to be beside those that are compared
SECTIONS_COMPARED = 5  # of those that were found, the best


_Row = dict[tuple[str, int | str], float]  # by words and sections


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """What the index's encoder makes of a question.

    words: the weight of each of its words, by the number that the encoder gives to it; meaning: the vector of
    the embedding model, without what all texts of the notes have in common; empty if there is none."""

    words: Mapping[int, float]
    meaning: Sequence[float] = ()


@dataclass(frozen=True)
class Rows:
    """The rows of questions: sparse ones, of column numbers and values, and dense ones (or none, of length 0)."""

    columns: list[NDArray[np.int64]]
    values: list[NDArray[np.float32]]
    dense: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.columns)


def make_rows(turns: Sequence[RecordedTurn], vectors: Sequence[QuestionVector]) -> Rows:
    """Return the row of each turn's question. vectors: those of the questions."""
    import numpy as np

    weights = _rarity(vector.words for vector in vectors)
    numbers: dict[tuple[str, int | str], int] = {}
    columns, values = [], []
    for turn, vector in zip(turns, vectors, strict=True):
        row = _sparse_row(turn, vector, weights)
        columns.append(np.array([numbers.setdefault(key, len(numbers)) for key in row], np.int64))
        values.append(np.array(list(row.values()), np.float32))
    return Rows(columns, values, _dense_rows(turns, vectors))


def _rarity(questions: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Return how much each word says, by how many questions have it, and as if there were more without it.

    Otherwise a word that all of a few questions have would say nothing. The root is taken, because otherwise
    a question's rarest word outweighs the others."""
    counts, size = Counter[int](), OTHER_QUESTIONS
    for words in questions:
        counts.update(words.keys())
        size += 1
    return {word: math.sqrt(math.log(1 + (size - count + 0.5) / (count + 0.5))) for word, count in counts.items()}


def _sparse_row(turn: RecordedTurn, vector: QuestionVector, rarity: Mapping[int, float]) -> _Row:
    words: _Row = {("word", word): weight * rarity[word] for word, weight in vector.words.items()}
    sections: _Row = {("section", section): weight for section, weight in found_sections(turn).items()}
    if sections:
        return _scaled(words, WORDS_OF_ANSWERED) | _scaled(sections, SECTIONS)
    return _scaled(words, WORDS_WITH_MEANING if vector.meaning else 1.0)


def is_answered(turn: RecordedTurn) -> bool:
    """Return True if what was found for a question says what it is about."""
    return turn.outcome not in ("refused", "off_topic") and bool(turn.sources)


def found_sections(turn: RecordedTurn) -> dict[str, float]:
    """Return the weights of the best sections that were found for a question, none if they do not answer it."""
    if not is_answered(turn):
        return {}
    best = max((source.score for source in turn.sources), default=0.0)
    if best <= 0:
        return {source.section: 1 / source.rank for source in turn.sources[:SECTIONS_COMPARED]}
    found = ((source.section, max(source.score, 0.0) / best) for source in turn.sources[:SECTIONS_COMPARED])
    return {section: weight**2 for section, weight in found if weight}


def _scaled(row: _Row, share: float) -> _Row:
    """Return a row whose product with itself is the share."""
    length = math.sqrt(sum(value * value for value in row.values()))
    return {key: value * math.sqrt(share) / length for key, value in row.items()} if length else {}


def _dense_rows(turns: Sequence[RecordedTurn], vectors: Sequence[QuestionVector]) -> NDArray[np.float32]:
    import numpy as np

    size = max((len(vector.meaning) for vector in vectors), default=0)
    rows = np.zeros((len(turns), size), np.float32)
    for row, turn, vector in zip(rows, turns, vectors, strict=True):
        if vector.meaning and not is_answered(turn):
            row[:] = vector.meaning
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows * (math.sqrt(MEANING) / np.where(lengths > 0, lengths, 1))).astype(np.float32)
