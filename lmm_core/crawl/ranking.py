"""The ranking of the snippets that were found, with one IDF for all indexes that are searched.

The rankings by words and by meaning, each over all indexes, are fused by reciprocal ranks. Of a
snippet, what is shown is the best of its spans, in its surroundings, and what stands beside it
(`retrieve.ranking.surroundings`). Snippets are not ranked by their spans: on the corpora of
`benchmarks/md_index.py` that found no more than their own BM25 score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import mul
from typing import Any, TypeAlias

from ..index.encoding import SPARSE, Encoder
from ..index.passages import Passage
from ..models.embedders.embedder import Sparse
from ..models.languages.words import find_words
from ..retrieve.ranking.lexical import share_found
from ..retrieve.ranking.spans import Span, best_spans, cut_spans
from ..retrieve.ranking.surroundings import LEAST, NEXT, Scored, rank_in_surroundings
from ..store.ranking import fuse_ranks, sort_hits
from ..store.vector_store import ScoredPoint, Search, Vector
from .catalogue import OpenIndex
from .points import snippet_of
from .snippets import Snippet
from .terms import Terms, inverse_document_frequency

SHOWN, MOST_SHOWN = 500, 8_000  # characters of a snippet: usually, and on request; a whole one has fewer
BETWEEN = 3  # lines that may stand between neighbours: blank ones, and the end of a block
Found: TypeAlias = tuple[str, str, list[ScoredPoint]]  # index, kind of vector, points


@dataclass(frozen=True, slots=True)
class Match:
    """A snippet that was found.

    index: its index; score: comparable within one search only; snippet: the part of it that fits best;
    source: the place of that part, `path#L3-L20`, from the folder that was indexed."""

    index: str
    score: float
    snippet: str
    source: str

    def as_json(self) -> dict[str, Any]:
        """Return the match as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Query:
    """One search: the query with its vectors, and the terms of all indexes that are searched.

    languages: of the snippets in them; shown: characters of each snippet that are shown at most."""

    text: str
    languages: Sequence[str]
    vectors: Mapping[str, Vector]
    encoder: Encoder
    terms: Mapping[str, Terms]
    shown: int = SHOWN

    def candidates(self, opened: OpenIndex, name: str, kinds: Sequence[str], depth: int) -> list[Found]:
        """Return the best points of an index by each kind of vector."""
        found = []
        for kind in kinds:
            vector = self.vectors[kind]
            if isinstance(vector, Sparse):
                vector = self._weighed(vector, self.terms[name])
            found.append((name, kind, opened.store.search(opened.collection, Search({kind: vector}, depth))))
        return found

    def _weighed(self, vector: Sparse, own: Terms) -> Sparse:
        """Return the query's words with weights that turn the index's own IDF into that of all.

        The best points by the latter are among the candidates then."""
        weights = [
            inverse_document_frequency(self.terms.values(), word) / inverse_document_frequency([own], word)
            for word in vector.indices
        ]
        return Sparse(vector.indices, list(map(mul, vector.values, weights)))

    def best(self, found: Sequence[Found], k: int) -> list[Match]:
        """Return one ranking of the candidates of all indexes.

        Of the copies of a text within an index, only the best is kept."""
        snippets, by_words, by_meaning = dict[str, Snippet](), list[Snippet](), list[tuple[str, float]]()
        for kind, point in ((kind, point) for _, kind, points in found for point in points):
            one = snippet_of(point.payload)
            snippets[one.id] = one
            if kind == SPARSE:
                by_words.append(one)
            else:
                by_meaning.append((one.id, point.score))
        sums = (sum(map(mul, own, self.rarity)) for own in self._scores_of(by_words))
        orders = [sort_hits(zip((one.id for one in by_words), sums, strict=True)), sort_hits(by_meaning)]
        orders = [order for order in orders if order]
        scores = orders[0] if len(orders) == 1 else sort_hits(fuse_ranks(orders).items())
        texts: dict[tuple[str, str], tuple[Snippet, float]] = {}
        for at, score in scores:
            if len(texts) < k:
                one = snippets[at]
                texts.setdefault((one.index, " ".join(one.body.split())), (one, score))
        return self._matches(list(texts.values()))

    def _matches(self, found: Sequence[tuple[Snippet, float]]) -> list[Match]:
        ranked = self.spans([one for one, _ in found])
        best = best_spans(ranked)
        shown = [_widened(best[one.id], ranked, self.shown) for one, _ in found]
        return [
            Match(one.index, round(score, 6), beginning_of(span.text, self.shown), _place(span))
            for (one, score), span in zip(found, shown, strict=True)
        ]

    @cached_property
    def words(self) -> list[tuple[int, ...]]:
        """The words of the query without stop words: the numbers of what each means in the languages, each once."""
        sparse = self.encoder.sparse
        words = find_words(self.text) if sparse else []
        made = [tuple(sparse.encode_query(word, self.languages).indices) for word in words if sparse]
        return list(dict.fromkeys(filter(None, made)))

    @cached_property
    def rarity(self) -> list[float]:
        """How much each word says, by how many snippets have what it means."""
        return [
            min(inverse_document_frequency(self.terms.values(), number) for number in numbers) for numbers in self.words
        ]

    def spans(self, snippets: Sequence[Snippet]) -> list[Span]:
        """Return the spans of snippets with their scores, the best first."""
        in_order = sorted(snippets, key=lambda one: (one.index, one.doc_path, one.line_start, one.line_end, one.id))
        scored = []
        for passage, whole in zip(_passages(in_order), self._scores_of(in_order), strict=True):
            spans = cut_spans(passage)
            own = self._scores([span.text for span in spans], [passage.language] * len(spans))
            sums = [sum(map(mul, one, self.rarity)) for one in own]
            factor = LEAST + share_found(whole, self.rarity)
            scored.append(
                Scored(passage, sum(map(mul, whole, self.rarity)), factor, list(zip(spans, sums, strict=True)))
            )
        return rank_in_surroundings(scored)

    def _scores_of(self, snippets: Sequence[Snippet]) -> list[list[float]]:
        return self._scores([one.embedded for one in snippets], [one.language for one in snippets])

    def _scores(self, texts: Sequence[str], languages: Sequence[str]) -> list[list[float]]:
        """Return the BM25 scores of texts for each word, apart from how rare these are."""
        if not self.words or self.encoder.sparse is None:
            return [[] for _ in texts]
        made = self.encoder.sparse.encode(texts, languages)
        weights = [dict(zip(one.indices, one.values, strict=True)) for one in made]
        return [[max(one.get(number, 0.0) for number in numbers) for numbers in self.words] for one in weights]


def _passages(snippets: Sequence[Snippet]) -> list[Passage]:
    """Return snippets as passages. They come file by file, and are numbered so that neighbours are known."""
    made: list[Passage] = []
    before: Snippet | None = None
    number = 0
    for one in snippets:
        follows = before is not None and one.line_start <= before.line_end + BETWEEN
        number += 1 if follows else NEXT + 1
        made.append(_passage(one, number))
        before = one
    return made


def _passage(snippet: Snippet, number: int) -> Passage:
    return Passage(
        snippet.id, snippet.body, (), f"{snippet.index}\0{snippet.doc_path}", snippet.doc_path, (snippet.title,), "",
        "", 0, snippet.line_start, snippet.line_end, number, language=snippet.language,
    )  # fmt: skip


def _widened(span: Span, ranked: Sequence[Span], shown: int) -> Span:
    """Return a span with those beside it in its snippet, the better one first, as long as that can be shown."""
    beside = [one for one in ranked if one.passage.id == span.passage.id]
    while near := [one for one in beside if one.start == span.end or one.end == span.start]:
        wider = next((span.joined(one) for one in near if len(span.joined(one).text) <= shown), None)
        if wider is None:
            break
        span = wider
    return span


def _place(span: Span) -> str:
    return f"{span.passage.source}#L{span.line_start}-L{span.line_end}"


def beginning_of(text: str, shown: int = SHOWN) -> str:
    """Return the beginning of a text, about so many characters, cut at a word."""
    text = text.strip()
    if len(text) <= shown:
        return text
    end = max(text.rfind(space, shown // 2, shown) for space in " \n\t")
    return text[: end if end > 0 else shown].rstrip() + " …"
