"""Average linkage: the groups of rows whose products are large, in seconds for ten thousand rows.

Groups are merged as long as the mean product of their rows is at least a threshold. Equal rows are merged
before that, and of very many rows those that are nearly equal, so that the work stays bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from .features import Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

MOST_LINKED = 3_000  # bundles of rows that are compared each with each: 36 MB
NEARLY = (0.999, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)  # the product of a row with another, as a share of that with itself


def link(rows: Rows, threshold: float) -> list[list[int]]:
    """Return groups of row numbers, each row in one of them, the most central rows of a group first."""
    postings = _Postings(rows)
    bundles = _bundle(postings, len(rows), NEARLY[0])
    for near in NEARLY[1:]:
        if len(bundles) <= MOST_LINKED:
            break
        bundles = _bundle(postings, len(rows), near)
    bundles.sort(key=lambda bundle: (-len(bundle), bundle[0]))
    linked, alone = bundles[:MOST_LINKED], bundles[MOST_LINKED:]
    groups = _average(_products(postings, linked), [len(bundle) for bundle in linked], threshold)
    made = [*([row for at in group for row in linked[at]] for group in groups), *alone]
    return [_central_first(postings, group) for group in made]


def _central_first(postings: _Postings, group: Sequence[int]) -> list[int]:
    """Return a group by how near its rows are to all of its rows; those that are equally near by number."""
    if len(group) == 1:
        return list(group)
    sums = postings.products(*postings.total(group)).round(5)
    return sorted(group, key=lambda at: (-sums[at], at))


class _Postings:
    """The rows by column, so that a row meets only those with which it has something in common."""

    def __init__(self, rows: Rows) -> None:
        import numpy as np

        self.rows = rows
        columns = np.concatenate(rows.columns) if len(rows) else np.zeros(0, np.int64)
        values = np.concatenate(rows.values) if len(rows) else np.zeros(0, np.float32)
        owners = np.repeat(np.arange(len(rows)), [len(one) for one in rows.columns])
        order = np.argsort(columns, kind="stable")
        self._owners, self._values = owners[order], values[order]
        width = int(columns.max()) + 1 if len(columns) else 0
        self._starts = np.searchsorted(columns[order], np.arange(width + 1))

    def products(self, columns: NDArray[np.int64], values: Matrix, dense: Matrix) -> Matrix:
        """Return the products of a row with all rows."""
        import numpy as np

        made = self.rows.dense @ dense if len(dense) else np.zeros(len(self.rows), np.float32)
        for column, value in zip(columns.tolist(), values.tolist(), strict=True):
            there = slice(self._starts[column], self._starts[column + 1])
            made[self._owners[there]] += self._values[there] * np.float32(value)  # a row has a column only once
        return cast("Matrix", made)

    def row(self, at: int) -> tuple[NDArray[np.int64], Matrix, Matrix]:
        """Return a row: columns, values and its dense part."""
        return self.rows.columns[at], self.rows.values[at], self.rows.dense[at]

    def total(self, group: Sequence[int]) -> tuple[NDArray[np.int64], Matrix, Matrix]:
        """Return the sum of rows, as a row."""
        import numpy as np

        columns, places = np.unique(np.concatenate([self.rows.columns[at] for at in group]), return_inverse=True)
        values = np.bincount(places, np.concatenate([self.rows.values[at] for at in group]), len(columns))
        return columns, values.astype(np.float32), self.rows.dense[list(group)].sum(axis=0)


def _bundle(postings: _Postings, size: int, near: float) -> list[list[int]]:
    """Return the rows in bundles, each of a row with those that are nearly equal to it and in no bundle before."""
    import numpy as np

    free = np.ones(size, bool)
    bundles = []
    for at in range(size):
        if free[at]:
            products = postings.products(*postings.row(at))
            bundle = np.flatnonzero(free & (products >= near * products[at]) & (products[at] > 0))
            members = bundle.tolist() or [at]
            free[members] = False
            bundles.append(members)
    return bundles


def _products(postings: _Postings, bundles: Sequence[Sequence[int]]) -> Matrix:
    """Return the mean products of the rows of each bundle with those of each other one."""
    import numpy as np

    owner = np.full(len(postings.rows), len(bundles))  # rows in no bundle are counted behind the others
    for number, bundle in enumerate(bundles):
        owner[list(bundle)] = number
    sizes = np.array([len(bundle) for bundle in bundles], np.float32)
    made = np.zeros((len(bundles), len(bundles)), np.float32)
    for number, bundle in enumerate(bundles):
        products = postings.products(*postings.total(bundle))
        made[number] = np.bincount(owner, products, len(bundles) + 1)[:-1] / (sizes * len(bundle))
    return cast("Matrix", (made + made.T) / 2)


def _average(products: Matrix, sizes: Sequence[int], threshold: float) -> list[list[int]]:
    """Return the groups of average linkage, found by chains of nearest neighbours.

    products: is changed; its diagonal is not read."""
    import numpy as np

    np.fill_diagonal(products, -np.inf)
    members = [[at] for at in range(len(sizes))]
    weights = np.array(sizes, np.float32)
    for start in range(len(members)):
        chain = [start] if members[start] else []
        while chain:
            at = chain[-1]
            nearest = int(products[at].argmax())
            if len(chain) > 1 and products[at, chain[-2]] >= products[at, nearest]:
                nearest = chain[-2]
            if products[at, nearest] < threshold:
                # Nothing is near enough; a merge of others brings nothing nearer than the nearest of them was.
                products[at], products[:, at] = -np.inf, -np.inf
                chain.pop()
            elif len(chain) > 1 and nearest == chain[-2]:
                _merge(products, weights, members, at, nearest)
                del chain[-2:]
                chain = chain or [nearest]
            else:
                chain.append(nearest)
    return [sorted(one) for one in members if one]


def _merge(products: Matrix, weights: Matrix, members: list[list[int]], gone: int, kept: int) -> None:
    """Merge a group into another one."""
    import numpy as np

    both = weights[gone] + weights[kept]
    mean = (products[gone] * weights[gone] + products[kept] * weights[kept]) / both
    products[kept], products[:, kept] = mean, mean
    products[gone], products[:, gone] = -np.inf, -np.inf
    products[kept, kept] = -np.inf
    weights[kept] = both
    members[kept] += members[gone]
    members[gone] = []
