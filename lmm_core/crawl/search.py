"""Search in one or all indexes of markdown, with one ranking.

The scores of several indexes are made comparable. Each kind of vector is searched by
itself. Cosines of one embedding model are comparable as they are. BM25 scores are not,
because each index weighs words by their inverse_document_frequency in itself, so that a word common in one
index and rare in another would decide which index comes first. Therefore everything is
weighed by one IDF, that of all searched indexes together. The two rankings, each over all
indexes, are fused by reciprocal ranks.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from operator import mul
from typing import Any, TypeAlias

from ..errors import CrawlError, StoreError
from ..index.encoding import DENSE, SPARSE, Encoder, is_earlier, is_later
from ..models.embedders.embedder import Sparse
from ..store.folder_lock import Lending
from ..store.ranking import Hit, fuse_ranks, sort_hits
from ..store.vector_store import ScoredPoint, Search, Vector
from .catalogue import (
    ALL,
    SHORTLIST,
    TERMS,
    CatalogueEntry,
    Database,
    OpenIndex,
    as_utf8,
    other_models,
    shortlist,
)
from .points import snippet_of
from .snippets import Snippet
from .terms import Terms, inverse_document_frequency

DEPTH = 50  # candidates of each index and vector; more if more results are wanted
DEEPER = 16  # times as many candidates if most of them are copies of the same texts
SHOWN = 500  # characters of a snippet

Found: TypeAlias = tuple[str, str, list[ScoredPoint]]  # index, kind of vector, points
EncoderFor = Callable[[Mapping[str, Any]], Encoder]


@dataclass(frozen=True, slots=True)
class Match:
    """A snippet that was found.

    index: its index; score: comparable within one search only; snippet: its beginning; source:
    its place, `path#L3-L20`, from the folder that was indexed."""

    index: str
    score: float
    snippet: str
    source: str

    def as_json(self) -> dict[str, Any]:
        """Return the match as a JSON object."""
        return asdict(self)


class Indexes:
    """The indexes of a database, to be searched within one event loop.

    An index stays open until another process waits for one.

    encoder_for: returns the encoder for an index by what it was made with; warn: told which
    indexes are left out, and why."""

    def __init__(
        self, database: Database, encoder_for: EncoderFor, warn: Callable[[str], None] = lambda message: None
    ) -> None:
        self.database, self.encoder_for, self.warn = database, encoder_for, warn
        self._encoders: dict[str, Encoder] = {}
        self._terms: dict[str, tuple[int, Terms]] = {}
        self._opened: dict[str, OpenIndex] = {}
        self._opening = asyncio.Lock()
        self._lending = Lending(self._let_go, lambda: map(database.folder, self._opened))

    async def search(self, query: str, index: str = ALL, k: int = 5) -> list[Match]:
        """Return the `k` snippets that fit a query best, the best first.

        index: its name, or `all` for the five that the catalogue ranks best. Raise CrawlError,
        StoreError or ModelError."""
        entries = await asyncio.to_thread(self._wanted, index)
        encoder = self._encoder(entries)
        fitting = self._fitting(entries, encoder, index)
        terms = {name: await asyncio.to_thread(self._terms_of, name) for name in fitting}
        languages = sorted(set().union(*(one.languages for one in terms.values())))
        vectors = (await encoder.searches([as_utf8(query)], k, languages=languages))[0].vectors
        chosen = shortlist([entry for entry in entries if entry.name in fitting], terms, vectors, SHORTLIST)
        async with self._lent([entry.name for entry in chosen], index) as opened:
            asked = _Query(vectors, encoder, {name: terms[name] for name in opened})
            depth = max(DEPTH, 4 * k)
            found = await self._found(asked, opened, fitting, depth, index)
            if len(asked.best(found, k)) < k and any(len(points) == depth for _, _, points in found):
                found = await self._found(asked, opened, fitting, DEEPER * depth, index)
        return asked.best(found, k)

    async def _found(
        self, asked: _Query, opened: Mapping[str, OpenIndex], fitting: Mapping[str, list[str]], depth: int, index: str
    ) -> list[Found]:
        """Return the best points of the indexes. Raise CrawlError if none can be searched."""
        searched = (self._candidates(asked, opened[name], name, fitting[name], depth, index) for name in opened)
        found = [one for each in await asyncio.gather(*searched) for one in each]
        if not found:
            raise CrawlError(f"none of the indexes in {self.database.root} can be searched now: see the warnings")
        return found

    async def _candidates(
        self, asked: _Query, opened: OpenIndex, name: str, kinds: Sequence[str], depth: int, index: str
    ) -> list[Found]:
        """Return the best points of an index by each vector.

        If all indexes are searched, one that cannot be is reported and has no points."""
        try:
            return await asyncio.to_thread(asked.candidates, opened, name, kinds, depth)
        except StoreError as error:
            if index != ALL:
                raise
            self.warn(f"left out: {error}")
            return []

    def _wanted(self, index: str) -> list[CatalogueEntry]:
        entries = self.database.entries()
        if index == ALL and entries:
            return list(entries.values())
        if index in entries:
            return [entries[index]]
        if not entries:
            raise CrawlError(f"nothing is indexed in {self.database.root} yet: run `lmm md-index --root FOLDER`")
        near = get_close_matches(index, entries, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise CrawlError(f"there is no index {index!r}: there are {', '.join(entries)}, and {ALL!r} for all{meant}")

    def _encoder(self, entries: Sequence[CatalogueEntry]) -> Encoder:
        """Return the encoder that most of the indexes were made with."""
        current = [entry for entry in entries if _is_current(entry)] or entries
        known = {_models(entry): entry.identity for entry in current}
        models = Counter(map(_models, current)).most_common(1)[0][0]
        if models not in self._encoders:
            self._encoders[models] = self.encoder_for(known[models])
        return self._encoders[models]

    def _fitting(self, entries: Sequence[CatalogueEntry], encoder: Encoder, index: str) -> dict[str, list[str]]:
        """Return for each index the vectors that can be compared with the query's.

        Raise CrawlError if the index that is named has any others."""
        wanted, fitting = encoder.identity(), {}
        for entry in entries:
            kinds = {DENSE: "embedding", SPARSE: "sparse"}
            has = [kind for kind, key in kinds.items() if entry.identity.get(key)]
            fits = [kind for kind in has if entry.identity[kinds[kind]] == wanted.get(kinds[kind])]
            is_current = _is_current(entry)
            if not is_current or (fits != has and (index != ALL or not fits)):
                problem = other_models(entry.name, entry.identity, wanted)
                if index != ALL:
                    raise CrawlError(problem)
                self.warn(f"left out: {problem}")
            if is_current and fits:
                fitting[entry.name] = fits
        return fitting

    def _terms_of(self, name: str) -> Terms:
        path = self.database.folder(name) / TERMS
        changed = path.stat().st_mtime_ns if path.exists() else 0
        if self._terms.get(name, (None,))[0] != changed:
            terms = self.database.terms(name)
            if terms is None:
                self.warn(f"{path} cannot be read: until `lmm md-index` runs again, all words count alike in {name!r}")
            self._terms[name] = (changed, terms or Terms())
        return self._terms[name][1]

    # Opening

    @asynccontextmanager
    async def _lent(self, names: Sequence[str], index: str) -> AsyncIterator[dict[str, OpenIndex]]:
        """Return the indexes, open within the block; if all are searched, those that can be opened."""
        async with self._lending.use():
            yield {name: opened for name in names if (opened := await self._open(name, index)) is not None}

    async def _open(self, name: str, index: str) -> OpenIndex | None:
        async with self._opening:
            if name not in self._opened:
                try:
                    self._opened[name] = await asyncio.to_thread(self.database.open, name)
                except StoreError as error:
                    if index != ALL:
                        raise
                    self.warn(f"left out: {error}")
                    return None
            self._lending.watch()
            return self._opened[name]

    def _let_go(self) -> None:
        for opened in self._opened.values():
            opened.close()
        self._opened.clear()

    async def close(self) -> None:
        """Close the indexes."""
        self._lending.stop()
        async with self._opening:
            self._lending.close()


def _is_current(entry: CatalogueEntry) -> bool:
    return not (is_earlier(entry.identity) or is_later(entry.identity))


def _models(entry: CatalogueEntry) -> str:
    return f"{entry.identity.get('embedding')} {entry.identity.get('sparse')}"


@dataclass(frozen=True)
class _Query:
    """One search: the query's vectors, and the terms of all indexes that are searched."""

    vectors: Mapping[str, Vector]
    encoder: Encoder
    terms: Mapping[str, Terms]

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
        points: dict[str, ScoredPoint] = {}
        rankings: dict[str, list[Hit]] = {}
        for name, kind, candidates in found:
            scored = self._rescored(candidates) if kind == SPARSE else candidates
            points |= {f"{name}\0{point.id}": point for point in scored}
            rankings.setdefault(kind, []).extend((f"{name}\0{point.id}", point.score) for point in scored)
        orders = [sort_hits(hits) for hits in rankings.values()]
        scores = orders[0] if len(orders) == 1 else sort_hits(fuse_ranks(orders).items())
        texts: dict[tuple[str, str], Match] = {}
        for at, score in scores:
            if len(texts) < k:
                snippet = snippet_of(points[at].payload)
                texts.setdefault((snippet.index, " ".join(snippet.body.split())), _match(snippet, score))
        return list(texts.values())

    def _rescored(self, points: Sequence[ScoredPoint]) -> list[ScoredPoint]:
        """Return the points with their BM25 scores by the IDF of all searched indexes."""
        query, sparse = self.vectors[SPARSE], self.encoder.sparse
        assert isinstance(query, Sparse) and sparse is not None
        weights = {word: inverse_document_frequency(self.terms.values(), word) for word in query.indices}
        snippets = [snippet_of(point.payload) for point in points]
        made = sparse.encode([one.embedded for one in snippets], [one.language for one in snippets])
        return [
            replace(point, score=sum(map(mul, (weights.get(word, 0.0) for word in one.indices), one.values)))
            for point, one in zip(points, made, strict=True)
        ]


def _match(snippet: Snippet, score: float) -> Match:
    return Match(snippet.index, round(score, 6), beginning_of(snippet.body), snippet.source)


def beginning_of(text: str) -> str:
    """Return the beginning of a text, about 500 characters, cut at a word."""
    text = text.strip()
    if len(text) <= SHOWN:
        return text
    end = max(text.rfind(space, SHOWN // 2, SHOWN) for space in " \n\t")
    return text[: end if end > 0 else SHOWN].rstrip() + " …"
