"""From a question to passages and sections: queries, search, ranking, reranking."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

from ..errors import ModelError, RetrieveError
from ..index.chunks import SUMMARY
from ..index.collection import ParsedQuery, parse_query
from ..index.passages import Material, Passage
from ..index.statistics import TermStatistics
from ..store.threads import out_of_turn
from ..store.vector_store import Where
from .library import Found, Lender, Library
from .queries import Expander, OffTopic, PlainQueries
from .ranking.fusion import (
    WEIGHTS,
    Meant,
    Ranked,
    candidates_of,
    fuse,
    fuse_spans,
    rank_sections,
    themselves,
    under_summary,
)
from .ranking.lexical import LexicalIndex
from .ranking.spans import Span, passages_of, whole_span
from .ranking.surroundings import rank_spans
from .ranking.words import names_subject
from .rerank import NoReranker, Reranker

HITS = 40  # of each query
RERANKED = 20  # passages at most
# Share of a question that its best passage has to have for its own words to suffice, by benchmarks/suffice.py.
ENOUGH = 0.9
# What a search had to do without, in words for readers.
BY_QUESTION = "searching by the question alone"
BY_WORDS = "searching by words alone"
NOT_RERANKED = "not reranked"
NOT_CHECKED = "it was not checked whether the question is about a subject of the course, so it was not answered"

Help = TypeVar("Help")


@dataclass(frozen=True)
class Retrieval:
    """The result of retrieval for a question; spans, passages and sections come with the best first.

    text: the question without keywords for a type; kind: the type that was asked for, or "";
    material: the documents in which it was found, or all; lexical: the ranking by words;
    language: that of the material; missed: what had to be done without;
    off_topic: it is about no subject of the course; repeatable: the same question alone finds the same in this
    material again, since no model had a part in it."""

    question: str
    text: str
    kind: str
    queries: tuple[str, ...]
    spans: tuple[Span, ...]
    passages: tuple[Passage, ...]
    sections: tuple[Ranked, ...]
    material: Material
    lexical: LexicalIndex
    language: str = ""
    missed: tuple[str, ...] = ()
    off_topic: bool = False
    repeatable: bool = False

    def with_whole_passages(self) -> Retrieval:
        """Return the result with each passage as one span: what is quoted is cut out of whole passages."""
        return replace(self, spans=tuple(map(whole_span, self.passages)))


@dataclass
class Retriever:
    """A retriever that searches a library, which is lent for one question at a time.

    A question's own words are searched for first; only where they do not suffice, the expander is
    asked for more. If a model or reranker fails, or takes longer than `patience` seconds (None for
    no limit), `warn` is told, and the search goes on without it. checks: the expander says whether a
    question is about a subject of the course; it is always asked then, and its failure is an error."""

    library: Lender
    expander: Expander = field(default_factory=PlainQueries)
    reranker: Reranker = field(default_factory=NoReranker)
    warn: Callable[[str], None] = lambda message: None
    patience: float | None = None
    checks: bool = False

    async def retrieve(
        self, question: str, kind: str = "", earlier: Sequence[str] = (), whole: bool = False
    ) -> Retrieval:
        """Return what fits a question.

        kind: the only type of material to be found, as a keyword in the question (`*exercise*`)
        asks for it; earlier: the questions asked before this one; whole: let the result have all documents as its
        material, not only those that were found. Raise StoreError, ModelError or
        RetrieveError; the last one also if there is no material of the type."""
        async with self.library.use() as library:
            if whole:
                await library.material()
            return await self._retrieve(library, question, kind, earlier)

    async def _retrieve(self, library: Library, question: str, kind: str, earlier: Sequence[str]) -> Retrieval:
        words = await library.words()
        kinds, language = (
            list(words.statistics.kinds),
            words.language,
        )  # "an *exercise* on that" is about what was asked before
        asked = parse_query(question, kinds) if earlier else parse_asked(question, kinds, language)
        kind = known_kind(kind, words.statistics) or asked.type
        missed: list[str] = []
        search = _Search(library, words, asked.text, kind, lambda why: self._miss(BY_WORDS, why, missed))
        off_topic = False
        if not (self.checks or earlier or kind):
            await search.run([asked.text])
        suffices = search.suffices()
        if not suffices:
            try:
                queries = await self._expand(asked.text, language, earlier, missed)
            except OffTopic:
                queries, off_topic = None, True
            await search.run(queries or await PlainQueries().expand(asked.text, language, earlier))
        spans, lexical = search.spans, search.lexical
        if kind and asked.text == kind and not spans:  # any will do, also those that do not have the word
            lexical = await library.lexical()
            of_kind = (one for one in lexical.material.passages.values() if kind in one.kinds)
            spans = [whole_span(one) for one in islice(of_kind, HITS)]
        best = passages_of(spans)
        order = await self._helped(self.reranker.rerank(asked.text, best[:RERANKED]), NOT_RERANKED, missed)
        if order and order != best[:RERANKED]:
            best = [*order, *best[RERANKED:]]
            graded = [one.scored(-at) for at, one in enumerate(order)]
            spans = fuse_spans([spans], fuse([graded], lexical.material), WEIGHTS["meaning"])
        sections = rank_sections(best, lexical.material)
        without_models = (suffices or isinstance(self.expander, PlainQueries)) and isinstance(self.reranker, NoReranker)
        return Retrieval(
            question, asked.text, kind, tuple(search.queries), tuple(spans), tuple(best), tuple(sections),
            lexical.material, lexical, language, tuple(missed), off_topic, without_models and not (earlier or missed),
        )  # fmt: skip

    async def _expand(self, text: str, language: str, earlier: Sequence[str], missed: list[str]) -> list[str] | None:
        """Return the expander's queries, or None if it fails. Raise ModelError if it checks, and OffTopic."""
        queries = await self._helped(self.expander.expand(text, language, earlier), BY_QUESTION, missed)
        if queries is None and self.checks:
            raise ModelError(NOT_CHECKED)
        return queries

    async def _helped(self, help_of: Awaitable[Help], without: str, missed: list[str]) -> Help | None:
        """Return what a model does for the search, or None if it fails or is too slow."""
        try:
            async with out_of_turn(), asyncio.timeout(self.patience):
                return await help_of
        except TimeoutError:
            self._miss(without, f"no answer in {self.patience:g} s", missed)
        except ModelError as error:
            self._miss(without, str(error), missed)
        return None

    def _miss(self, without: str, why: str, missed: list[str]) -> None:
        missed.append(without)
        self.warn(f"{without}: {why}")


@dataclass
class _Search:
    """The search for a question by one list of queries or another; `queries`, `lexical` and `spans` are those of the
    last."""

    library: Library
    lexical: LexicalIndex
    text: str
    kind: str
    miss: Callable[[str], None]
    queries: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    async def run(self, queries: Sequence[str]) -> None:
        """Search by these queries, unless that is done already."""
        queries = [*queries, *filter(None, [self.lexical.corrected(self.text)])]
        if queries == self.queries:
            return
        where = Where({"type": self.kind}) if self.kind else None
        searched = with_other_names(queries, self.text, self.lexical)
        found = await self.library.find(*searched, HITS, where, self.kind, self.miss)
        self.lexical = found.lexical
        self.queries, self.spans = queries, rank_found(found, queries, self.kind)

    def suffices(self) -> bool:
        """Return True if the best passage has nearly all that the question says, counted by how rare its words are."""
        best = [span.passage for span in self.spans[:1]]
        return any(one.share >= ENOUGH for one in self.lexical.match(self.text, best, self.kind).values())


def parse_asked(question: str, kinds: Sequence[str], language: str) -> ParsedQuery:
    """Return a question as `parse_query` does. If it is about nothing but a type ("give me an *exercise*"), that
    is its text."""
    asked = parse_query(question, kinds)
    return replace(asked, text=asked.type) if asked.type and not names_subject(asked.text, language) else asked


def with_other_names(
    queries: Sequence[str], question: str, lexical: LexicalIndex
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the queries that are searched for, and those that have no vote on what the others find; see
    `Library.find`.

    The question with other names has one if no text has the name that it asks for."""
    other, is_known = lexical.with_other_names(question)
    if not other:
        return queries, ()
    return (queries, (other,)) if is_known else ((*queries, other), ())


def rank_found(found: Found, queries: Sequence[str], kind: str, meant: Meant = under_summary) -> list[Span]:
    """Return the spans of what several queries found as one list, the best first. meant: see `fuse`."""
    meant, lexical = themselves if kind == SUMMARY else meant, found.lexical
    candidates = candidates_of([*found.words, *found.meaning], lexical.material, meant)
    asked = {str(meant): meant for meant in map(lexical.meant, queries)}  # queries that mean the same count once
    by_words = [rank_spans(lexical, meant, candidates, kind) for meant in asked.values()]
    return fuse_spans(by_words, fuse(found.meaning, lexical.material, meant), WEIGHTS[found.compared])


class UnknownKind(RetrieveError):
    """A type of material that the collection does not have; `kinds` are those that it has."""

    def __init__(self, kind: str, material: Material | TermStatistics) -> None:
        super().__init__(f"there is no material of the type {kind!r}; {kinds_there(material)}")
        self.kinds = list(material.kinds)


def known_kind(kind: str, material: Material | TermStatistics) -> str:
    """Return a type of material as the collection spells it, or "". Raise UnknownKind."""
    spelled = {known.casefold(): known for known in material.kinds}
    if kind.strip() and kind.strip().casefold() not in spelled:
        raise UnknownKind(kind, material)
    return spelled.get(kind.strip().casefold(), "")


def kinds_there(material: Material | TermStatistics) -> str:
    """Return a sentence, for messages, that lists the types of material in the collection."""
    kinds = ", ".join(sorted(material.kinds))
    return f"types of material in the collection: {kinds}" if kinds else "no material in the collection has a type"
