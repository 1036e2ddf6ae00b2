"""Choose which texts of a chunk become which vectors.

`EncodingModel` names the texts, `QdrantEmbeddingModel` the vectors of a collection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from ..errors import IndexChangedError, ModelError, StoreError
from ..logging import LoggerBase, counted
from ..models.embedders.embedder import Embedder
from ..models.names import DEFAULT
from ..settings.models import Models
from ..settings.project import Project
from ..store.vector_store import Search, Vector, VectorSpec, Where

if TYPE_CHECKING:
    from ..models.embedders.bm25 import Bm25Encoder

# Increase when the same text gives other chunks or vectors, to rebuild older collections
VERSION = 6
DENSE, SPARSE = "dense", "sparse"
Compared = Literal["words", "meaning", "both"]  # by a search


class EncodingModel(StrEnum):
    """The encoded texts of a chunk: its content, its annotations, or both.

    In a pair of words, the first concerns the sparse vectors, the second the dense ones."""

    NONE = "none"
    CONTENT = "content"
    MERGED = "merged"
    MULTIVECTOR = "multivector"
    SPARSE = "sparse"
    SPARSE_CONTENT = "sparse_content"
    SPARSE_MERGED = "sparse_merged"
    SPARSE_MULTIVECTOR = "sparse_multivector"
    BM25 = "bm25"
    HYBRID = "hybrid"


class QdrantEmbeddingModel(StrEnum):
    """The vectors of a collection."""

    UUID = "UUID"
    DENSE = "dense"
    MULTIVECTOR = "multivector"
    SPARSE = "sparse"
    HYBRID_DENSE = "hybrid_dense"
    HYBRID_MULTIVECTOR = "hybrid_multivector"
    BM25 = "bm25"
    HYBRID = "hybrid"


_WITH_DENSE = frozenset({QdrantEmbeddingModel.DENSE, QdrantEmbeddingModel.HYBRID_DENSE, QdrantEmbeddingModel.HYBRID})
_WITH_MULTI = frozenset({QdrantEmbeddingModel.MULTIVECTOR, QdrantEmbeddingModel.HYBRID_MULTIVECTOR})
_WITH_SPARSE = frozenset(QdrantEmbeddingModel) - {
    QdrantEmbeddingModel.UUID, QdrantEmbeddingModel.DENSE, QdrantEmbeddingModel.MULTIVECTOR,
}  # fmt: skip


def has_dense(model: QdrantEmbeddingModel) -> bool:
    """Return True if the vectors need an embedding model."""
    return model in _WITH_DENSE | _WITH_MULTI


def encoding_to_qdrantembedding_model(encoding: EncodingModel) -> QdrantEmbeddingModel:
    """Return the vectors that an encoding needs."""
    return _FLOW[encoding][0]


@dataclass(frozen=True, slots=True)
class ChunkTexts:
    """The encoded texts of a chunk; all may be empty.

    dense: one text, or annotations and content for a multivector; language: the code of `sparse`"""

    dense: tuple[str, ...] = ()
    sparse: str = ""
    language: str = ""


# Vectors, dense and sparse texts of each encoding: the flow table of LM markdown for education, and two more.
_FLOW: dict[EncodingModel, tuple[QdrantEmbeddingModel, str, str]] = {
    EncodingModel.NONE: (QdrantEmbeddingModel.UUID, "", ""),
    EncodingModel.CONTENT: (QdrantEmbeddingModel.DENSE, "content", ""),
    EncodingModel.MERGED: (QdrantEmbeddingModel.DENSE, "merged", ""),
    EncodingModel.MULTIVECTOR: (QdrantEmbeddingModel.MULTIVECTOR, "pair", ""),
    EncodingModel.SPARSE: (QdrantEmbeddingModel.SPARSE, "", "annotations"),
    EncodingModel.SPARSE_CONTENT: (QdrantEmbeddingModel.HYBRID_DENSE, "content", "annotations"),
    EncodingModel.SPARSE_MERGED: (QdrantEmbeddingModel.HYBRID_DENSE, "merged", "annotations"),
    EncodingModel.SPARSE_MULTIVECTOR: (QdrantEmbeddingModel.HYBRID_MULTIVECTOR, "pair", "annotations"),
    EncodingModel.BM25: (QdrantEmbeddingModel.BM25, "", "merged"),
    EncodingModel.HYBRID: (QdrantEmbeddingModel.HYBRID, "merged", "merged"),
}


def texts_to_encode(encoding: EncodingModel, content: str, annotations: str, language: str = "") -> ChunkTexts:
    """Return the texts of a chunk that an encoding needs. language: their code."""
    merged = f"{annotations}\n\n{content}" if annotations else content
    _, dense, sparse = _FLOW[encoding]
    by_name = {"": (), "content": (content,), "merged": (merged,), "pair": (annotations or content, content)}
    return ChunkTexts(by_name[dense], {"": "", "annotations": annotations, "merged": merged}[sparse], language)


@dataclass
class Encoder:
    """Creates the vectors of a collection. Raise StoreError if a needed model is missing.

    patience: seconds for embedding queries, None for no limit"""

    model: QdrantEmbeddingModel
    embedder: Embedder | None = None
    sparse: Bm25Encoder | None = None
    encoding: EncodingModel | None = None
    patience: float | None = None

    def __post_init__(self) -> None:
        if has_dense(self.model) and self.embedder is None:
            raise StoreError(
                f"{self.model} needs an embedding model, and none is available. Name one ([embeddings] dense_model), "
                "or use the encoding bm25."
            )
        if self.has_words and self.sparse is None:
            raise StoreError(f"{self.model} needs a sparse encoder.")
        self.embedder = self.embedder if has_dense(self.model) else None

    @property
    def has_words(self) -> bool:
        """True if lexical search is possible."""
        return self.model in _WITH_SPARSE

    async def spec(self) -> VectorSpec:
        """Return the vectors of a collection. Raise ModelError."""
        dense: dict[str, int] = {}
        if self.embedder is not None:
            dense = {DENSE: len((await self.embedder.embed(["dimensions"]))[0])}
        return VectorSpec(
            dense if self.model in _WITH_DENSE else {},
            dense if self.model in _WITH_MULTI else {},
            (SPARSE,) if self.has_words else (),
        )

    def identity(self) -> dict[str, Any]:
        """Return the choices stored with a collection, to prevent mixing."""
        encoding = {"encoding": str(self.encoding)} if self.encoding else {}
        return encoding | {
            "version": VERSION,
            "vectors": str(self.model),
            "embedding": self.embedder.name if self.embedder else "",
            "sparse": self.sparse.name if self.has_words and self.sparse else "",
        }

    async def encode(self, texts: Sequence[ChunkTexts]) -> list[dict[str, Vector]]:
        """Return the vectors of chunks by name. Raise ModelError."""
        by_chunk: list[dict[str, Vector]] = [{} for _ in texts]
        if self.embedder is not None:
            vectors = iter(await self.embedder.embed([text for chunk in texts for text in chunk.dense]))
            for vectors_of, chunk in zip(by_chunk, texts, strict=True):
                dense = [next(vectors) for _ in chunk.dense]
                vectors_of[DENSE] = dense if self.model in _WITH_MULTI else dense[0]
        if self.has_words and self.sparse is not None:
            words = self.sparse.encode([chunk.sparse for chunk in texts], [chunk.language for chunk in texts])
            for vectors_of, vector in zip(by_chunk, words, strict=True):
                vectors_of[SPARSE] = vector
        return by_chunk

    async def searches(
        self, texts: Sequence[str], limit: int, where: Where | None = None, compared: Compared = "both",
        languages: Sequence[str] = (),
    ) -> list[Search]:  # fmt: skip
        """Return the queries for several texts, embedded together. Raise ModelError, or StoreError without vectors.

        compared: limited to the collection's vectors; languages: for stemming"""
        by_text: list[dict[str, Vector]] = [{} for _ in texts]
        if self.embedder is not None and compared != "words":
            for vectors, dense in zip(by_text, await self._embed(self.embedder, texts), strict=True):
                vectors[DENSE] = [dense] if self.model in _WITH_MULTI else dense
        if self.has_words and self.sparse is not None and compared != "meaning":
            for vectors, text in zip(by_text, texts, strict=True):
                vectors[SPARSE] = self.sparse.encode_query(text, languages)
        if not all(by_text):
            raise StoreError("A collection without vectors (encoding none) cannot be searched by text.")
        return [Search(vectors, limit, where=where) for vectors in by_text]

    async def _embed(self, embedder: Embedder, queries: Sequence[str]) -> list[list[float]]:
        try:
            async with asyncio.timeout(self.patience):
                return await embedder.embed(list(queries))
        except TimeoutError:
            raise ModelError(f"{embedder.name}: no answer in {self.patience:g} s") from None


def version_of(identity: Mapping[str, Any]) -> int:
    """Return the version that made a collection, 0 if unknown."""
    version = identity.get("version")
    return version if isinstance(version, int) else 0


def describe_differences(stored: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """Return the choices (encoding, models) in which a collection differs, "" for none."""
    ignored = {"version", "sparse"} if version_of(stored) < VERSION else {"version"}
    ignored |= set() if stored.get("encoding") else {"encoding"}
    differing = [key for key, value in current.items() if key not in ignored and stored.get(key) != value]
    return "; ".join(f"{key} {stored.get(key) or 'none'}, now {current[key] or 'none'}" for key in differing)


def compare_identity(name: str, stored: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Raise IndexChangedError if a collection has other models, another encoding or version."""
    compare_choices(name, stored, current)
    if version_of(stored) < VERSION:
        raise IndexChangedError(
            f"The collection {name!r} was made by an earlier version of LM markdown. Run `lmm index FILES`, which "
            "rebuilds it."
        )


def compare_choices(name: str, stored: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Raise IndexChangedError if a collection has other models, another encoding or a later version."""
    if not stored:
        raise IndexChangedError(
            f"The collection {name!r} was not made by LM markdown, and nothing says what its vectors are. Make one "
            "with `initialize_collection` or `lmm index FILES`, under another name, and upload the texts to it."
        )
    if version_of(stored) > VERSION:
        raise IndexChangedError(
            f"The collection {name!r} was made by a later version of LM markdown. Update this one, name another "
            "collection ([database] collection_name), or rebuild it: lmm index --rebuild"
        )
    if differences := describe_differences(stored, current):
        raise IndexChangedError(
            f"The collection {name!r} was made with other settings ({differences}). Use those, name another "
            "collection ([database] collection_name), or rebuild it: lmm index --rebuild"
        )


# Configuration


def make_encoder(
    project: Project, models: Models, identity: Mapping[str, Any], encoding: str, reads: bool = False
) -> Encoder:
    """Return an encoder as configured. Raise StoreError and ModelError.

    identity: the collection's, for open choices; encoding: may be `default`; reads: see `_embedder`"""
    if encoding == DEFAULT:
        encoding = _known_encoding(identity)
    embedder = None
    if encoding == DEFAULT or has_dense(encoding_to_qdrantembedding_model(EncodingModel(encoding))):
        embedder = _embedder(project, models, identity, reads)
    if encoding == DEFAULT:
        encoding = "hybrid" if embedder else "bm25"
    kind = EncodingModel(encoding)
    return Encoder(encoding_to_qdrantembedding_model(kind), embedder, _sparse(project), kind)


def make_encoder_of(
    project: Project, models: Models, identity: Mapping[str, Any], chosen: QdrantEmbeddingModel | EncodingModel
) -> Encoder:
    """Return the encoder of an encoding, or of vectors alone; see `make_encoder`."""
    if isinstance(chosen, EncodingModel):
        return make_encoder(project, models, identity, str(chosen))
    embedder = _embedder(project, models, identity) if has_dense(chosen) else None
    stored = EncodingModel(identity["encoding"]) if identity.get("encoding") else None
    is_stored = stored is not None and encoding_to_qdrantembedding_model(stored) is chosen
    return Encoder(chosen, embedder, _sparse(project), stored if is_stored else None)


def _known_encoding(identity: Mapping[str, Any]) -> str:
    """Return a collection's encoding, or the simplest with its vectors."""
    fitting = (kind for kind in EncodingModel if encoding_to_qdrantembedding_model(kind) == identity.get("vectors"))
    return str(identity.get("encoding") or next(fitting, DEFAULT))


def _embedder(project: Project, models: Models, identity: Mapping[str, Any], reads: bool = False) -> Embedder | None:
    """Return the configured embedding model, or the collection's, cached. reads: a missing one fails on use only."""
    stored_model = str(identity.get("embedding") or "") if project.models["embedding"] == DEFAULT else ""
    configured = replace(project, models=project.models | {"embedding": stored_model}) if stored_model else project
    try:
        embedder = models.embedder(configured)
    except ModelError as error:
        if not reads:
            raise
        from ..models.embedders.embedder import AbsentEmbedder

        return AbsentEmbedder(str(models.name(configured, "embedding")), error)
    if embedder is None:
        return None
    from ..models.cache import Cache
    from ..models.embedders.embedder import CachedEmbedder

    return CachedEmbedder(embedder, Cache(), models.warn, project.requests("embedding").max_concurrency)


def _sparse(project: Project) -> Bm25Encoder:
    from ..models.embedders.bm25 import Bm25Encoder

    return Bm25Encoder(project.embeddings.language)


# Warnings


def report_long(encoder: Encoder, too_long: int, logger: LoggerBase) -> None:
    """Report chunks that the embedding model truncates."""
    if too_long and encoder.embedder is not None:
        logger.warning(
            f"{counted(too_long, 'chunk')} with more than the {encoder.embedder.window} tokens that "
            f"{encoder.embedder.name} reads will be cut there. Choose a smaller max_size in [split], or the default "
            "sizes."
        )


def report_unfindable(encoder: Encoder, unasked: int, count: int, logger: LoggerBase) -> None:
    """Warn if only questions and titles are encoded, and most texts have no questions."""
    if encoder.encoding is EncodingModel.SPARSE and 2 * unasked > count:
        logger.warning(
            f"The encoding `sparse` finds texts by their titles and questions alone, but {unasked} of "
            f"{counted(count, 'chunk')} have no questions. Write some (`lmm rag`), or use `bm25`."
        )
