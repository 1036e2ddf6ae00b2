"""Points to store, for this process and those that are killed: nothing heavy is imported."""

from uuid import UUID

from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store.vector_store import Point, VectorSpec

DIMENSIONS = 8
SPEC = VectorSpec(dense={"content": DIMENSIONS}, multi={"parts": DIMENSIONS}, sparse=("words",))
INDEXES = {"type": "keyword", "docid": "keyword", "sequence": "integer"}


def key(number):
    """A point's id; those of higher numbers are later."""
    return str(UUID(int=number))


def near(number):
    """A dense vector: those of near numbers are near."""
    return [1.0, number / 10, *[0.0] * (DIMENSIONS - 2)]


def point(number, words=(), payload=None, **vectors):
    """A point: `content` by its number, `words` each once."""
    given = {"content": near(number)} | vectors
    if words:
        given["words"] = Sparse(list(words), [1.0] * len(words))
    return Point(key(number), given, {"n": number} if payload is None else payload)
