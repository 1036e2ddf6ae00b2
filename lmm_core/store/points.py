"""Validate names, ids, points and vectors, in the same way for every store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from ..errors import StoreError
from ..files.names import name_problem
from ..models.embedders.embedder import Sparse
from .vector_store import Point, Vector, VectorSpec


def checked_name(name: str) -> str:
    """Return a collection's name. Raise StoreError if it cannot be the name of a folder and a part of a URL."""
    if problem := name_problem(name):
        raise StoreError(f"{name!r:.250} cannot be the name of a collection: {problem}")
    return name


def checked_id(text: str) -> str:
    """Return a point's id as Qdrant writes it. Raise StoreError if it is not a UUID."""
    try:
        return str(UUID(text))
    except (ValueError, AttributeError, TypeError):
        raise StoreError(f"{text!r} cannot be the id of a point: use a UUID") from None


def checked_points(points: Iterable[Point], spec: VectorSpec) -> list[Point]:
    """Return points as they are stored, without empty vectors. Raise StoreError if one is invalid."""
    return [_checked_point(point, spec) for point in points]


def _checked_point(point: Point, spec: VectorSpec) -> Point:
    at = checked_id(point.id)
    try:
        for name, vector in point.vectors.items():
            check_vector(name, vector, spec)
    except StoreError as error:
        raise StoreError(f"point {at} cannot be stored: {error}") from None
    if at == point.id and not any(map(is_empty, point.vectors.values())):
        return point
    return Point(at, {name: vector for name, vector in point.vectors.items() if not is_empty(vector)}, point.payload)


def is_empty(vector: Vector) -> bool:
    """Return True for a sparse vector without values."""
    return isinstance(vector, Sparse) and not vector.indices


def check_vector(name: str, vector: Vector, spec: VectorSpec) -> None:
    """Raise StoreError if the collection has no such vector, or if its numbers are invalid."""
    sizes = {**spec.dense, **spec.multi}
    if name not in (spec.sparse if isinstance(vector, Sparse) else sizes):
        names = ", ".join(sorted([*sizes, *spec.sparse])) or "none"
        raise StoreError(f"the collection has no vector {name!r} of this kind; it has: {names}")
    if isinstance(vector, Sparse):
        if not len(set(vector.indices)) == len(vector.indices) == len(vector.values):
            raise StoreError(f"the sparse vector {name!r} needs one value for each index, and each index once")
        _check_finite(name, vector.values)
        return
    if name in spec.multi and not vector:
        raise StoreError(f"the vector {name!r} is a multivector without vectors")
    for numbers in vector if name in spec.multi else [vector]:
        _check_numbers(name, numbers, sizes[name])


def _check_numbers(name: str, numbers: Any, dimensions: int) -> None:
    count = len(numbers) if isinstance(numbers, list) else 1
    if count != dimensions:
        raise StoreError(
            f"the vector {name!r} has {count} dimensions, the collection's has {dimensions}: "
            "was the collection made with another embedding model?"
        )
    _check_finite(name, numbers)


def _check_finite(name: str, numbers: Any) -> None:
    try:
        is_finite = math.isfinite(sum(numbers))
    except TypeError:
        is_finite = False
    if not is_finite:
        raise StoreError(f"the vector {name!r} holds something that is not a number")


def in_batches(values: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """Yield values in batches of at most `size`."""
    return (values[start : start + size] for start in range(0, len(values), size))
