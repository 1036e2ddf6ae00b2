"""The ranking of spans in their surroundings: by their words, and by those of what stands around them.

A span alone says too little: what it is about often stands before it, or in the title. So it has
its own score, that of its passage with the titles (`lexical`), some of that of the better
neighbour, and some of that of the better neighbouring passage. The weights were chosen by
`benchmarks/ask.py`, in steps, on several corpora in one index; the figures hardly depend on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from ...index.passages import Passage
from .fusion import best_first
from .lexical import Asked, LexicalIndex, Meant, aside, share_found, term_score
from .spans import MOST, SIZE, Span, whole_span

PASSAGE = 2.0  # weight of the score of a span's passage; its own has 1
BESIDE_SPAN, BESIDE_PASSAGE = 0.4, 0.5  # weights of the better neighbours' scores
LEAST = 0.5  # what is left of a score where nothing of the question is found, beside the share that is
CUT = 20  # passages that are cut into spans, those with the best scores
NEXT = 2  # chunks of a document are neighbours if their numbers differ by so much at most; a summary may be between


def spans_data() -> dict[str, Any]:
    """Return the sizes and weights of spans as the ask box reads them."""
    return {"size": SIZE, "most": MOST, "beside": BESIDE_SPAN}


@dataclass(frozen=True)
class Scored:
    """A passage with its score and the factor of its spans' scores; `own` are its spans with their own scores."""

    passage: Passage
    score: float
    factor: float
    own: Sequence[tuple[Span, float]]


def rank_spans(index: LexicalIndex, meant: Sequence[Meant], passages: Sequence[Passage], kind: str = "") -> list[Span]:
    """Return the spans of passages with their scores, the best first.

    meant: by each word of the question, see `LexicalIndex.meant`; kind: the type of material that is asked for."""
    in_order = sorted(passages, key=lambda one: (one.docid, one.sequence, one.id))
    return rank_in_surroundings(_scored(index, meant, in_order, kind))


def rank_in_surroundings(scored: Sequence[Scored]) -> list[Span]:
    """Return the spans of passages, which come document by document in their order, the best first."""
    ranked: list[Span] = []
    for before, one, after in zip([None, *scored], scored, [*scored[1:], None], strict=False):
        ranked += _in_surroundings(_neighbour(one, before), one, _neighbour(one, after))
    return best_first(ranked)


def _scored(index: LexicalIndex, meant: Sequence[Meant], passages: Sequence[Passage], kind: str) -> list[Scored]:
    asked = Asked(meant)
    rarity = [index.rarity(one) for one in meant]
    scores = list(index.scores(passages, asked))
    sums = [sum(map(mul, own, rarity)) for own in scores]
    factors = [aside(one, kind) * (LEAST + share_found(own, rarity)) for one, own in zip(passages, scores, strict=True)]
    order = sorted(range(len(passages)), key=lambda at: -sums[at] * factors[at])
    spans = {at: index.spans_of(passages[at].id) for at in order[:CUT]}
    lengths = [length for many in spans.values() for _, _, length in many]
    usual = max(1.0, sum(lengths) / max(len(lengths), 1))
    made = []
    for at, passage in enumerate(passages):
        own = [(span, _weighed(asked, stems, length, usual, rarity)) for span, stems, length in spans.get(at, ())]
        made.append(Scored(passage, sums[at], factors[at], own or [(whole_span(passage), 0.0)]))
    return made


def _weighed(asked: Asked, stems: Counter[str], length: int, usual: float, rarity: Sequence[float]) -> float:
    """Return the score of a span, of which `length` is the number of stems."""
    if not (found := asked.found(stems)):
        return 0.0
    scores = asked.scores([{stem: term_score(stems[stem], length, usual) for stem in found}])
    return sum(score * rare for score, rare in zip(scores, rarity, strict=True))


def _neighbour(one: Scored, other: Scored | None) -> Scored | None:
    """Return the other passage if it stands beside the one."""
    if other is None or other.passage.docid != one.passage.docid:
        return None
    return other if abs(other.passage.sequence - one.passage.sequence) <= NEXT else None


def _in_surroundings(before: Scored | None, one: Scored, after: Scored | None) -> list[Span]:
    """Return the spans of a passage with their scores."""
    beside = max(before.score if before else 0.0, after.score if after else 0.0)
    around = PASSAGE * one.score + BESIDE_PASSAGE * beside
    own = [score for _, score in one.own]
    first, last = before.own[-1][1] if before else 0.0, after.own[0][1] if after else 0.0
    neighbours = map(max, [first, *own[:-1]], [*own[1:], last])
    return [
        span.scored(one.factor * (score + around + BESIDE_SPAN * neighbour))
        for (span, score), neighbour in zip(one.own, neighbours, strict=True)
    ]
