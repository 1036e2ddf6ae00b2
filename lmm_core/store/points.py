"""Validate names, ids, points and vectors, equally in every place."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from ..errors import StoreError
from ..files.names import name_problem
from ..models.embedders.embedder import Sparse
from .vector_store import Point, Vector, VectorSpec

_WRITTEN = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


def checked_name(name: str) -> str:
    """Return a collection's name. Raise StoreError if it cannot be a folder and a part of a URL."""
    if problem := name_problem(name):
        raise StoreError(f"{name!r:.250} cannot be the name of a collection: {problem}")
    return name


def checked_id(text: str) -> str:
    """Return a point's id in Qdrant's form. Raise StoreError if it is no UUID."""
    if isinstance(text, str) and _WRITTEN(text):
        return text
    try:
        return str(UUID(text))
    except (ValueError, AttributeError, TypeError):
        raise StoreError(f"{text!r} cannot be the id of a point: use a UUID") from None


def checked_points(points: Iterable[Point], spec: VectorSpec) -> list[Point]:
    """Return points without empty vectors. Raise StoreError if one is invalid, before any is written."""
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
    """Raise StoreError if the collection has no such vector."""
    if isinstance(vector, Sparse):
        _check_sparse(name, vector, spec)
    elif name in spec.dense:
        _check_numbers(name, vector, spec.dense[name])
    elif name in spec.multi and vector:
        for numbers in vector:
            _check_numbers(name, numbers, spec.multi[name])
    else:
        raise StoreError(_no_vector(name, spec))


def _check_sparse(name: str, vector: Sparse, spec: VectorSpec) -> None:
    if name not in spec.sparse:
        raise StoreError(_no_vector(name, spec))
    if not len(set(vector.indices)) == len(vector.indices) == len(vector.values):
        raise StoreError(f"the sparse vector {name!r} needs one value for each index, and each index once")
    if not math.isfinite(sum(vector.values)):
        raise StoreError(f"the sparse vector {name!r} holds something that is not a number")


def _check_numbers(name: str, vector: Any, dimensions: int) -> None:
    if not isinstance(vector, list) or len(vector) != dimensions:
        raise StoreError(
            f"the vector {name!r} has {len(vector)} dimensions, the collection's has {dimensions}: "
            "was the collection made with another embedding model?"
        )
    try:
        fine = math.isfinite(sum(vector))
    except TypeError:
        fine = False
    if not fine:
        raise StoreError(f"the vector {name!r} holds something that is not a number")


def _no_vector(name: str, spec: VectorSpec) -> str:
    if name in spec.multi:
        return f"the vector {name!r} is a multivector without vectors"
    names = ", ".join(sorted([*spec.dense, *spec.multi, *spec.sparse])) or "none"
    return f"the collection has no vector {name!r} of this kind; it has: {names}"


def in_batches(values: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))
