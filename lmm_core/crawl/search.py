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
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from typing import Any

from ..errors import CrawlError, StoreError
from ..index.encoding import DENSE, SPARSE, Encoder, is_earlier, is_later
from ..store.folder_lock import Lending
from ..store.vector_store import Where
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
from .ranking import SHOWN, Found, Match, Query
from .snippets import Snippet
from .terms import Terms

DEPTH = 50  # candidates of each index and vector; more if more results are wanted
DEEPER = 16  # times as many candidates if most of them are copies of the same texts

_SOURCE = re.compile(r"(?P<path>.+)#L(?P<first>[0-9]{1,9})-L(?P<last>[0-9]{1,9})", re.S)

EncoderFor = Callable[[Mapping[str, Any]], Encoder]


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

    async def search(self, query: str, index: str = ALL, k: int = 5, shown: int = SHOWN) -> list[Match]:
        """Return the `k` snippets that fit a query best, the best first.

        index: its name, or `all` for the five that the catalogue ranks best; shown: characters of
        each snippet at most, those that fit best. Raise CrawlError,
        StoreError or ModelError."""
        entries = await asyncio.to_thread(self._wanted, index)
        encoder = self._encoder(entries)
        fitting = self._fitting(entries, encoder, index)
        terms = {name: await asyncio.to_thread(self._terms_of, name) for name in fitting}
        languages = sorted(set().union(*(one.languages for one in terms.values())))
        vectors = (await encoder.searches([as_utf8(query)], k, languages=languages))[0].vectors
        chosen = shortlist([entry for entry in entries if entry.name in fitting], terms, vectors, SHORTLIST)
        async with self._lent([entry.name for entry in chosen], index) as opened:
            asked = Query(query, languages, vectors, encoder, {name: terms[name] for name in opened}, shown)
            depth = max(DEPTH, 4 * k)
            found = await self._found(asked, opened, fitting, depth, index)
            if len(asked.best(found, k)) < k and any(len(points) == depth for _, _, points in found):
                found = await self._found(asked, opened, fitting, DEEPER * depth, index)
        return asked.best(found, k)

    async def read(self, source: str, index: str) -> list[Snippet]:
        """Return the whole snippets that stand on lines of a file of an index, in their order.

        source: `path#L3-L20`, as a search gives it. Raise CrawlError, also if there are none."""
        place = _SOURCE.fullmatch(source.strip())
        if place is None:
            raise CrawlError(f"{source[:200]!r} is not the source of a snippet, such as 'notes.md#L3-L20'")
        if index == ALL:
            raise CrawlError("name the index in which the snippet was found")
        name = self._wanted(index)[0].name
        async with self._lent([name], name) as opened:
            found = await asyncio.to_thread(_snippets_of, opened[name], place["path"])
        first, last = int(place["first"]), int(place["last"])
        fitting = [one for one in found if one.line_start <= last and first <= one.line_end]
        if not fitting:
            raise CrawlError(f"nothing is at {source[:200]!r} in the index {name!r} (now): search again")
        return sorted(fitting, key=lambda one: (one.line_start, one.line_end))

    async def _found(
        self, asked: Query, opened: Mapping[str, OpenIndex], fitting: Mapping[str, list[str]], depth: int, index: str
    ) -> list[Found]:
        """Return the best points of the indexes. Raise CrawlError if none can be searched."""
        searched = (self._candidates(asked, opened[name], name, fitting[name], depth, index) for name in opened)
        found = [one for each in await asyncio.gather(*searched) for one in each]
        if not found:
            raise CrawlError(f"none of the indexes in {self.database.root} can be searched now: see the warnings")
        return found

    async def _candidates(
        self, asked: Query, opened: OpenIndex, name: str, kinds: Sequence[str], depth: int, index: str
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


def _snippets_of(opened: OpenIndex, path: str) -> list[Snippet]:
    return [snippet_of(point.payload) for point in opened.store.scroll(opened.collection, Where({"source": path}))]


def _is_current(entry: CatalogueEntry) -> bool:
    return not (is_earlier(entry.identity) or is_later(entry.identity))


def _models(entry: CatalogueEntry) -> str:
    return f"{entry.identity.get('embedding')} {entry.identity.get('sparse')}"
