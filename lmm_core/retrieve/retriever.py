"""From a question to passages and sections: queries, search, ranking, reranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..models.sources import ModelError
from ..store.collection import understand
from .library import Lender, Library, RetrieveError
from .passages import Material, Passage
from .queries import Expander, KeywordQueries
from .rank import Ranked, fuse, rank_sections
from .rerank import NoReranker, Reranker

HITS = 20  # of each query
RERANKED = 20  # passages at most


@dataclass(frozen=True)
class Found:
    """What a question has led to: `text` is the question without type keywords, `kind` the
    type that one of them asks for ("" for none), passages and sections the best first;
    `language` is that of the material, see `Library.language`."""

    question: str
    text: str
    kind: str
    queries: tuple[str, ...]
    passages: tuple[Passage, ...]
    sections: tuple[Ranked, ...]
    material: Material
    language: str = ""


@dataclass
class Retriever:
    """Retrieves from a library, which is lent for one question at a time. What a model or a
    reranker cannot do is told to `warn`, and is done without it."""

    library: Lender
    expander: Expander = field(default_factory=KeywordQueries)
    reranker: Reranker = field(default_factory=NoReranker)
    warn: Callable[[str], None] = lambda message: None

    async def retrieve(self, question: str, kind: str = "", earlier: Sequence[str] = ()) -> Found:
        """What fits a question. kind: a type of material that is asked for, as a keyword in
        the question (`*exercise*`) does: no other is found then; earlier: what was asked before
        it. Raises StoreError, ModelError, and RetrieveError, also where there is no such type."""
        async with self.library.use() as library:
            return await self._retrieve(library, question, kind, earlier)

    async def _retrieve(self, library: Library, question: str, kind: str, earlier: Sequence[str]) -> Found:
        material, language = await library.material(), library.language
        asked = understand(question, list(material.kinds))
        kind = known_kind(kind, material) or asked.type
        queries = await self._expand(asked.text, language, earlier)
        found = await library.search(queries, HITS, kind, only=bool(kind))
        best = fuse(found, material)
        best = [*await self._rerank(asked.text, best[:RERANKED]), *best[RERANKED:]]
        sections = rank_sections(found, material, best)
        return Found(question, asked.text, kind, tuple(queries), tuple(best), tuple(sections), material, language)

    async def _expand(self, question: str, language: str, earlier: Sequence[str]) -> list[str]:
        try:
            return await self.expander.expand(question, language, earlier)
        except ModelError as error:
            self.warn(f"searching by the question alone: {error}")
            return await KeywordQueries().expand(question, language, earlier)

    async def _rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        try:
            return await self.reranker.rerank(question, passages)
        except ModelError as error:
            self.warn(f"not reranked: {error}")
            return list(passages)


class UnknownKind(RetrieveError):
    """A type of material that the collection does not have; `kinds` are those that it has."""

    def __init__(self, kind: str, material: Material) -> None:
        super().__init__(f"there is no material of the type {kind!r}; {kinds_there(material)}")
        self.kinds = list(material.kinds)


def known_kind(kind: str, material: Material) -> str:
    """A type of material as the collection spells it, "" for none. Raises UnknownKind."""
    spelled = {known.casefold(): known for known in material.kinds}
    if kind.strip() and kind.strip().casefold() not in spelled:
        raise UnknownKind(kind, material)
    return spelled.get(kind.strip().casefold(), "")


def kinds_there(material: Material) -> str:
    """Which types of material there are, as messages say it."""
    kinds = ", ".join(sorted(material.kinds))
    return f"types of material in the collection: {kinds}" if kinds else "no material in the collection has a type"
