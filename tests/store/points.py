"""Points for tests in this process and in those that are killed; imports nothing heavy."""

import random
from uuid import UUID

from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store.vector_store import Point, Search, VectorSpec, Where

DIMENSIONS = 8
SPEC = VectorSpec(dense={"content": DIMENSIONS}, multi={"parts": DIMENSIONS}, sparse=("words",))
TYPES = ["text", "exercise", "summary", "Übung"]
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


def random_points(count, seed=1):
    """Return points with all vectors, about half of them with twins; 1 of 10 without dense ones."""
    chance, points = random.Random(seed), []
    for number in range(1, count + 1):
        payload = {"type": chance.choice(TYPES), "docid": f"a/{number % 7}.md", "sequence": number}
        if points and chance.random() < 0.5:
            vectors = chance.choice(points).vectors
        else:
            vectors = {"words": random_words(chance), "parts": [random_dense(chance) for _ in range(3)]}
            if chance.random() < 0.9:
                vectors["content"] = random_dense(chance)
        points.append(Point(str(UUID(int=chance.getrandbits(128), version=4)), vectors, payload))
    return points


def random_dense(chance):
    return [chance.gauss(0, 1) for _ in range(DIMENSIONS)]


def random_words(chance):
    words = sorted({min(int(chance.paretovariate(0.6)), 4_000_000_000) for _ in range(12)})
    return Sparse(words, [round(chance.uniform(0.5, 2), 2) for _ in words])


def ids(points):
    return [UUID(found.id).int for found in points]


def random_searches(count):
    chance = random.Random(9)
    for _ in range(count):
        vectors = {
            "content": random_dense(chance),
            "words": random_words(chance),
            "parts": [random_dense(chance) for _ in range(2)],
        }
        used = chance.sample(sorted(vectors), chance.choice([1, 1, 2, 2, 3]))
        where = Where(all={"docid": ["a/1.md", "a/2.md"]}, none={"type": "summary"})
        yield Search(
            {name: vectors[name] for name in used},
            limit=chance.choice([1, 5, 20]),
            where=chance.choice([None, where]),
        )
