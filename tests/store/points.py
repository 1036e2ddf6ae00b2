"""Points for tests in this process and in those that are killed; imports nothing heavy."""

from uuid import UUID

from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store.vector_store import Point, VectorSpec

DIMENSIONS = 8
SPEC = VectorSpec(dense={"content": DIMENSIONS}, multi={"parts": DIMENSIONS}, sparse=("words",))
INDEXES = {"type": "keyword", "docid": "keyword", "sequence": "integer"}


def key(number):
    """Return a point's id; ids are in the order of the numbers."""
    return str(UUID(int=number))


def near(number):
    """Return a dense vector; those of close numbers are close."""
    return [1.0, number / 10, *[0.0] * (DIMENSIONS - 2)]


def point(number, words=(), payload=None, **vectors):
    """Return a point with a `content` vector by its number, and each of `words` once."""
    given = {"content": near(number)} | vectors
    if words:
        given["words"] = Sparse(list(words), [1.0] * len(words))
    return Point(key(number), given, {"n": number} if payload is None else payload)
