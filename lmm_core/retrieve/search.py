"""Search: question -> candidates of the store -> ranked spans, passages and sections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from ..errors import IndexChangedError, ModelError, RetrieveError
from ..indexing.collection import ParsedQuery, parse_query
from ..indexing.encoding import Compared
from ..indexing.passages import SUMMARY, Material, Passage
from ..indexing.statistics import TermStatistics
from ..store.vector_store import ScoredPoint, Where, run_in_thread
from .library import Library
from .ranking.fusion import Ranked, candidates_of, fuse, fuse_spans, rank_sections
from .ranking.lexical import LexicalIndex
from .ranking.spans import Span, passages_of, spread_spans, whole_span
from .ranking.weights import WEIGHTS
from .ranking.words import keyword_form, names_subject

if TYPE_CHECKING:
    from .models import ModelQueries, Reranker

MOST_CHARACTERS = 2_000  # of a question, whose beginning names the subject
HITS = 40  # per query
RERANKED = 20  # passages at most
# Measured share of a question in its best passage that makes further queries unnecessary
ENOUGH = 0.9
# Degradations, in words for readers
BY_QUESTION = "searching by the question alone"
BY_WORDS = "searching by words alone"
NOT_RERANKED = "not reranked"
PASSAGE = "passage"  # payload key of the best span

Help = TypeVar("Help")


@dataclass(frozen=True)
class Retrieval:
    """The result of a search: spans, passages and sections, the best first.

    text: the question without type keywords; type: the requested type, or ""
    material: the documents found, or all; missed: failed parts of the search, in words"""

    text: str
    type: str
    queries: tuple[str, ...]
    spans: tuple[Span, ...]
    passages: tuple[Passage, ...]
    sections: tuple[Ranked, ...]
    material: Material
    lexical: LexicalIndex
    missed: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The types of material that can be asked for."""
        return tuple(sorted(self.material.types))


@dataclass
class Retriever:
    """A search in a library.

    A question's own words are searched for first; the model of `queries` is asked only where they find too little.
    If it or the reranker fails, or takes longer than `patience` seconds, `warn` is called, and the search goes on."""

    library: Library
    queries: ModelQueries | None = None
    reranker: Reranker | None = None
    warn: Callable[[str], None] = lambda message: None
    patience: float | None = None

    async def retrieve(
        self, question: str, type: str = "", earlier: Sequence[str] = (), whole: bool = False
    ) -> Retrieval:
        """Return the spans, passages and sections that fit a question.

        type: find only this type of material, as a keyword (`*exercise*`) in the question does; earlier: previous
        questions; whole: return all documents as the material. Raise StoreError, ModelError or RetrieveError, also
        without material of the type."""
        async with self.library.use() as library:
            if whole:
                await library.material()
            return await self._retrieve(library, question, type, earlier)

    async def _retrieve(self, library: Library, question: str, type: str, earlier: Sequence[str]) -> Retrieval:
        words = await library.words()
        types = list(words.statistics.types)
        # "an *exercise* on that" refers to the previous question
        query = parse_query(question, types) if earlier else parse_asked(question, types, words.language)
        type = known_type(type, words.statistics) or query.type
        missed: list[str] = []
        search = _Search([library], words, query.text, type, lambda why: self._note_failure(BY_WORDS, why, missed))
        if not (earlier or type):
            await search.run([query.text])
        if not search.suffices():
            expansion = self.queries.expand(query.text, earlier) if self.queries else None
            queries = await self._try_model(expansion, BY_QUESTION, missed) if expansion else None
            await search.run(queries or plain_queries(query.text, words.language, earlier))
        spans, lexical = search.spans, search.lexical
        if type and query.text == type and not spans:  # any match will do
            lexical = words.within(await library.material())
            of_type = (passage for passage in lexical.material.passages.values() if type in passage.types)
            spans = [whole_span(passage) for passage in islice(of_type, HITS)]
        spans, best = await self._reranked(query.text, spans, lexical.material, missed)
        sections = rank_sections(best, lexical.material)
        return Retrieval(
            query.text, type, tuple(search.queries), tuple(spans), tuple(best), tuple(sections),
            lexical.material, lexical, tuple(missed),
        )  # fmt: skip

    async def _reranked(
        self, text: str, spans: list[Span], material: Material, missed: list[str]
    ) -> tuple[list[Span], list[Passage]]:
        best = passages_of(spans)
        if self.reranker is None or not best:
            return spans, best
        order = await self._try_model(self.reranker.rerank(text, best[:RERANKED]), NOT_RERANKED, missed)
        if not order or order == best[:RERANKED]:
            return spans, best
        graded = [passage.scored(-at) for at, passage in enumerate(order)]
        spans = fuse_spans([spans], fuse([graded], material), WEIGHTS["meaning"])
        return spans, [*order, *best[RERANKED:]]

    async def _try_model(self, help_of: Awaitable[Help], without: str, missed: list[str]) -> Help | None:
        try:
            async with asyncio.timeout(self.patience):
                return await help_of
        except TimeoutError:
            self._note_failure(without, f"no answer in {self.patience:g} s", missed)
        except ModelError as error:
            self._note_failure(without, str(error), missed)
        return None

    def _note_failure(self, without: str, why: str, missed: list[str]) -> None:
        missed.append(without)
        self.warn(f"{without}: {why}")


@dataclass
class _Search:
    """The search for one question, over successive queries.

    libraries: ranked together, by the rarity of words in all; under: see `search_spans`
    limit: candidates per library; summaries: are results, too"""

    libraries: Sequence[Library]
    lexical: LexicalIndex
    text: str
    type: str
    miss: Callable[[str], None]
    under: str = ""
    limit: int = HITS
    summaries: bool = False
    queries: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    async def run(self, queries: Sequence[str]) -> None:
        queries = [*queries, *filter(None, [self.lexical.corrected(self.text)])]
        if queries == self.queries:
            return
        conditions = {"type": self.type, _key_of(self.under): self.under}
        conditions = {key: value for key, value in conditions.items() if value}
        where = Where(conditions) if conditions else None
        texts = list(map(self.lexical.synonyms.expanded, queries))
        parts = [await find_candidates(library, texts, self.limit, where, self.miss) for library in self.libraries]
        candidates = parts[0] if len(parts) == 1 else _joint_candidates(parts, self.lexical)
        self.lexical = candidates.lexical
        self.queries, self.spans = queries, rank_candidates(candidates, queries, self.type, self.summaries)

    def suffices(self) -> bool:
        """Return True if the best passage covers nearly all of the question, by rarity."""
        best = [span.passage for span in self.spans[:1]]
        return self.lexical.share(self.text, best) >= ENOUGH


def _key_of(under: str) -> str:
    return "section_path" if under.replace(".", "").isdigit() else "source"


async def search_spans(
    libraries: Sequence[Library], text: str, limit: int, *, summaries: bool = True, type: str = "", under: str = ""
) -> list[Span]:
    """Return spans from several libraries, ranked as by `Retriever`. Raise StoreError, ModelError or RetrieveError.

    The models warn if the embedding model fails and search is lexical only. limit: candidates per library; type: find
    only this type, as a keyword in the text does; under: only in this section (a path like `1.2`) or file"""
    warn = libraries[0].models.warn
    words = await libraries[0].words() if len(libraries) == 1 else await _joint_words(libraries)
    query = parse_asked(text, list(words.statistics.types), words.language)
    type = known_type(type, words.statistics) or query.type
    most = max(limit, HITS)
    search = _Search(libraries, words, query.text, type, lambda why: warn(f"{BY_WORDS}: {why}"), under, most, summaries)
    await search.run([query.text])
    return search.spans


async def search_points(
    library: Library, text: str, limit: int, type: str = "", under: str = ""
) -> list[ScoredPoint]:  # fmt: skip
    """Return the best points with summaries, and best spans as `passage` in the payload; see `search_spans`."""
    best = spread_spans(await search_spans([library], text, limit, type=type, under=under))
    if under and not best and under not in library.store.facet(library.collection, _key_of(under)):
        is_file = _key_of(under) == "source"
        hint = ". Give its path from the project's folder." if is_file else ""
        raise RetrieveError(f"there is no {'file' if is_file else 'section'} {under} in the index{hint}")
    ids = list(best)[:limit]
    points = await run_in_thread(library.store.retrieve, library.collection, ids)
    return [
        replace(point, score=best[point.id].score, payload={**point.payload, PASSAGE: best[point.id].text})
        for point in points
    ]


# Questions


def parse_asked(question: str, types: Sequence[str], language: str) -> ParsedQuery:
    """Parse a question as `parse_query`; one with only a type has the type as its text."""
    query = parse_query(question, types)
    return replace(query, text=query.type) if query.type and not names_subject(query.text, language) else query


def plain_queries(question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
    """Return queries without a model: the question and, after others, one with the words of the last two."""
    question = question[:MOST_CHARACTERS]
    further = [keyword_form(f"{question} {earlier[-1][:MOST_CHARACTERS]}", language)] if earlier else []
    return list(dict.fromkeys([question, *further]))


# Candidates

Hits = list[list[Passage]]  # by text, the best first


@dataclass(frozen=True)
class Candidates:
    """Passages found for texts, lexical and semantic. lexical: the ranking of their documents."""

    compared: Compared
    words: Hits
    meaning: Hits
    lexical: LexicalIndex


async def find_candidates(
    library: Library, texts: Sequence[str], limit: int, where: Where | None, miss: Callable[[str], None]
) -> Candidates:
    """Return the best passages for texts, summaries included. Raise StoreError or ModelError.

    miss: called with the reason if the embedding model fails and search is lexical only"""
    encoder = library.encoder
    languages = sorted(filter(None, (await library.words()).statistics.languages))

    async def search(compared: Compared) -> list[list[ScoredPoint]]:
        searches = await encoder.searches(texts, limit, where, compared, languages)
        store, name = library.store, library.collection
        return await asyncio.gather(*(run_in_thread(store.search, name, search) for search in searches))

    compared: Compared = "words" if encoder.embedder is None else "both" if encoder.has_words else "meaning"
    by_words = await search("words") if compared != "meaning" else []
    by_meaning: list[list[ScoredPoint]] = []
    if compared != "words":
        try:
            by_meaning = await search("meaning")
        except ModelError as error:
            if compared == "meaning":
                raise
            miss(str(error))
            compared = "words"
    points = [point for many in (*by_words, *by_meaning) for point in many]
    material = await library.documents(str(point.payload.get("docid", "")) for point in points)
    if points and not any(point.id in material.passages for point in points):
        raise IndexChangedError(f"The collection {library.collection!r} was rebuilt during the search: ask again.")
    passages = material.passages  # points may be newer
    words, meaning = (
        [[passages[point.id].scored(point.score) for point in many if point.id in passages] for many in points_by_text]
        for points_by_text in (by_words, by_meaning)
    )
    return Candidates(compared, words, meaning, (await library.words()).within(material))


async def _joint_words(libraries: Sequence[Library]) -> LexicalIndex:
    statistics = TermStatistics()
    for library in libraries:
        statistics.update((await library.words()).statistics)
    first = libraries[0]
    return LexicalIndex(Material(), statistics.language or first.language, first.synonyms, statistics)


def _joint_candidates(parts: Sequence[Candidates], words: LexicalIndex) -> Candidates:
    material = Material()
    for part in parts:
        material.documents += part.lexical.material.documents
        material.sections |= part.lexical.material.sections
        material.passages |= part.lexical.material.passages
    by_words, by_meaning = _merge_hits([part.words for part in parts]), _merge_hits([part.meaning for part in parts])
    compared: Compared = "both" if by_words and by_meaning else "words" if by_words else "meaning"
    return Candidates(compared, by_words, by_meaning, words.within(material))


def _merge_hits(parts: Sequence[Hits]) -> Hits:
    by_text = zip(*filter(None, parts), strict=True)
    return [sorted(chain.from_iterable(many), key=lambda hit: (-hit.score, hit.id)) for many in by_text]


def rank_candidates(candidates: Candidates, queries: Sequence[str], type: str, summaries: bool) -> list[Span]:
    """Fuse the spans of several queries, the best first, without spans that match neither by word nor by meaning.

    type: any of its material is a result; summaries: are results, too; they are if asked for"""
    summaries, lexical = summaries or type == SUMMARY, candidates.lexical
    passages = candidates_of([*candidates.words, *candidates.meaning], lexical.material, summaries)
    # equivalent queries count once
    distinct = {str(lexical.weighted_stems(query)): query for query in reversed(queries)}
    by_words = [lexical.rank_spans(query, passages, type) for query in distinct.values()]
    meaning = fuse(candidates.meaning, lexical.material, summaries)
    return [span for span in fuse_spans(by_words, meaning, WEIGHTS[candidates.compared]) if span.score > 0 or type]


# Types of material


class UnknownType(RetrieveError):
    """An unknown type of material; `types` are the available ones."""

    def __init__(self, type: str, material: Material | TermStatistics) -> None:
        super().__init__(f"there is no material of the type {type!r}; {types_there(material)}")
        self.types = list(material.types)


def known_type(type: str, material: Material | TermStatistics) -> str:
    """Return a type in the collection's spelling, or "". Raise UnknownType."""
    spelled = {name.casefold(): name for name in material.types}
    if type.strip() and type.strip().casefold() not in spelled:
        raise UnknownType(type, material)
    return spelled.get(type.strip().casefold(), "")


def types_there(material: Material | TermStatistics) -> str:
    """List the available types of material in a sentence."""
    types = ", ".join(sorted(material.types))
    return f"types of material in the collection: {types}" if types else "no material in the collection has a type"
