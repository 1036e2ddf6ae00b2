"""Search one or several indexes, with the ranking of prepared notes.

Several are searched as one: their candidates are ranked by the rarity of words in all.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from difflib import get_close_matches

from ..errors import CrawlError, LmmError, ModelError, RetrieveError
from ..indexing.encoding import make_encoder
from ..indexing.passages import SUMMARY, Passage, read_passage
from ..models.names import DEFAULT
from ..retrieve.library import Library
from ..retrieve.ranking.spans import Span, best_spans
from ..retrieve.search import search_spans
from ..settings.models import Models
from ..store.vector_store import Where
from .catalogue import ALL, SHORTLIST, CatalogueEntry, Database, shortlist, why_unlike

CANDIDATES = 50  # per index; more for more results
SHOWN, MOST_SHOWN = 500, 8_000  # characters of a snippet: default and maximum; whole ones are shorter

_SOURCE = re.compile(r"(?P<path>.+)#L(?P<first>[0-9]{1,9})-L(?P<last>[0-9]{1,9})", re.S)


@dataclass(frozen=True, slots=True)
class SnippetHit:
    """A snippet found. score: comparable within a search; snippet: its best part, from `source` (`path#L3-L20`)."""

    index: str
    score: float
    snippet: str
    source: str


class Indexes:
    """The indexes of a database, for one event loop. models: `warn` reports skipped indexes."""

    def __init__(self, database: Database, models: Models) -> None:
        self.database, self.models = database, models
        self._libraries: dict[str, Library] = {}

    async def search(self, query: str, index: str = ALL, k: int = 5, most_characters: int = SHOWN) -> list[SnippetHit]:
        """Return the `k` best snippets in an index, or in `all`. Raise CrawlError, StoreError or ModelError."""
        query = query.encode("utf-8", "replace").decode("utf-8")
        entries = await self._shortlist(query, await asyncio.to_thread(self._named_entries, index))
        async with self._open(entries, are_all=index == ALL) as libraries:
            most = max(CANDIDATES, 4 * k)
            spans = await search_spans(libraries, query, most, summaries=False) if libraries else []
        hits = ((span, _widened(span, spans, most_characters)) for span in _without_copies(spans, k))
        return [
            SnippetHit(_index_of(span), round(span.score, 6), beginning_of(wide.text, most_characters), source_of(wide))
            for span, wide in hits
        ]

    async def read(self, source: str, index: str) -> list[Passage]:
        """Return the whole snippets on some lines of a file (`path#L3-L20`). Raise CrawlError, also for none."""
        place = _SOURCE.fullmatch(source.strip())
        if place is None:
            raise CrawlError(f"{source[:200]!r} is not the source of a snippet, such as 'notes.md#L3-L20'")
        if index == ALL:
            raise CrawlError("Name the index in which the snippet was found.")
        async with self._open(self._named_entries(index), are_all=False) as libraries:
            where = Where({"source": place["path"]}, {"type": SUMMARY})
            points = [point for passage in libraries for point in passage.store.scroll(passage.collection, where)]
        first, last = int(place["first"]), int(place["last"])
        passages = sorted(map(read_passage, points), key=lambda passage: passage.sequence)
        fitting = [passage for passage in passages if passage.line_start <= last and first <= passage.line_end]
        if not fitting:
            raise CrawlError(f"There is nothing at {source[:200]!r} in the index {index!r} any more. Search again.")
        return fitting

    async def close(self) -> None:
        for library in self._libraries.values():
            library.release()

    # Opening

    def _named_entries(self, index: str) -> list[CatalogueEntry]:
        """Return the named, non-empty indexes. Raise CrawlError."""
        entries = self.database.entries()
        if not entries:
            raise CrawlError(f"Nothing is indexed in {self.database.root} yet. Run `lmm md-index --root FOLDER`.")
        if index != ALL and index not in entries:
            near = get_close_matches(index, entries, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise CrawlError(f"There is no index {index!r}.{hint} There are {', '.join(entries)}, and {ALL!r} for all.")
        return [entry for entry in entries.values() if entry.snippets and index in (ALL, entry.name)]

    async def _shortlist(self, query: str, entries: list[CatalogueEntry]) -> list[CatalogueEntry]:
        """Return the indexes to search: all, or the semantically nearest of many."""
        identity = next((entry.identity for entry in entries if entry.centroid), None)
        if len(entries) <= SHORTLIST or identity is None:
            return entries
        encoder = make_encoder(self.database.project, self.models, identity, DEFAULT, reads=True)
        if encoder.embedder is None:
            return entries
        try:
            [dense] = await encoder.embedder.embed([query])
        except ModelError:  # reported by the search
            return entries
        return shortlist(entries, dense)

    @asynccontextmanager
    async def _open(self, entries: Sequence[CatalogueEntry], *, are_all: bool) -> AsyncIterator[list[Library]]:
        """Open indexes for the block; of all, failing ones are skipped with a warning."""
        model, libraries = self._embedding_model(entries), list[Library]()
        async with AsyncExitStack() as stack:
            for entry in entries:
                try:
                    libraries.append(await self._open_index(entry, model, stack))
                except LmmError as error:
                    if not are_all:
                        raise
                    self.models.warn(f"left out: {error}")
            if entries and not libraries:
                raise CrawlError(
                    f"None of the indexes in {self.database.root} can be searched now. The warnings say why."
                )
            yield libraries

    def _embedding_model(self, entries: Sequence[CatalogueEntry]) -> str:
        """Return the embedding model to compare by: the configured one, or the most frequent."""
        project = self.database.project
        if project.models["embedding"] != DEFAULT:
            return str(self.models.name(project, "embedding"))
        models = Counter(str(entry.identity.get("embedding") or "") for entry in entries)
        del models[""]
        return next((model for model, _ in models.most_common(1)), "")

    async def _open_index(self, entry: CatalogueEntry, model: str, stack: AsyncExitStack) -> Library:
        """Return an index, open until the stack is closed. Raise LmmError if it cannot be searched."""
        name, identity = entry.name, entry.identity
        current = identity | {"embedding": model} if identity.get("embedding") else identity
        if problem := why_unlike(name, identity, current):
            raise CrawlError(problem)
        if name not in self._libraries:
            self._libraries[name] = Library(self.database.project_of(name), self.models)
        try:
            library = await stack.enter_async_context(self._libraries[name].use())
            await library.words()  # checks that it is readable
        except RetrieveError:
            raise CrawlError(f"The index {name!r} has lost its snippets. Run `lmm md-index` on its folder.") from None
        return library


# Results


def _without_copies(spans: Sequence[Span], k: int) -> list[Span]:
    """Return the best spans of `k` passages, without copies within an index."""
    texts: dict[tuple[str, str], Span] = {}
    for span in best_spans(spans).values():
        texts.setdefault((_index_of(span), " ".join(span.passage.text.split())), span)
    return list(texts.values())[:k]


def _index_of(span: Span) -> str:
    return span.passage.docid.partition("/")[0]


def source_of(text: Span | Passage) -> str:
    """Return the place of a snippet or a part of it: `path#L3-L20`."""
    source = text.passage.source if isinstance(text, Span) else text.source
    return f"{source}#L{text.line_start}-L{text.line_end}"


def _widened(span: Span, spans: Sequence[Span], most_characters: int) -> Span:
    """Extend a span by its neighbours in the passage, the better first."""
    beside = [neighbour for neighbour in spans if neighbour.passage.id == span.passage.id]
    while True:
        near = [neighbour for neighbour in beside if neighbour.start == span.end or neighbour.end == span.start]
        fitting = (wide for wide in map(span.joined, near) if len(wide.text) <= most_characters)
        if (wider := next(fitting, None)) is None:
            return span
        span = wider


def beginning_of(text: str, most_characters: int = SHOWN) -> str:
    """Return the beginning of a text, cut at a word."""
    text = text.strip()
    if len(text) <= most_characters:
        return text
    end = max(text.rfind(space, most_characters // 2, most_characters) for space in " \n\t")  # some scripts have none
    return text[: end if end > 0 else most_characters].rstrip() + " …"
