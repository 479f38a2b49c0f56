"""Factors of a sparse symmetric matrix in a kernel, for many matrices of one pattern: A = L D L^T.

    L   ones on the diagonal and zeros above it, D diagonal; rows and columns in an order that is chosen once

Each row of L follows from the rows before it (the up-looking factorisation: Davis 2005, ACM Trans. Math.
Softw. 31, 587). Pattern, order and sums are fixed, so that equal matrices have equal factors, bit for bit, at
any number of threads. Rows that no path of entries connects are independent groups, which threads share.

The order is that of the rows themselves, or SuperLU's minimum degree where that has fewer entries; long paths
are eliminated from both ends (`paths`).

Decisions 0379.
"""

from typing import Any

import numpy as np

from ..engine import storage
from ..engine.kernels import GRAIN, BoundKernel, Code, on_one_thread, words
from . import paths
from .paths import order_of_paths

FACTOR = """for group in range(begin.shape[0] - 1):
    for i in range(begin[group], begin[group + 1]):
        for p in range(of_row[i], of_row[i + 1]):
            work[column[p]] = a[p]
        d = work[i]
        work[i] = 0.0
        for q in range(l_row[i], l_row[i + 1]):
            j, place = l_column[q], l_place[q]
            y = work[j]
            work[j] = 0.0
            for p in range(l_begin[j], place):
                work[l_index[p]] = work[l_index[p]] - l[p] * y
            s = y * inverse[j]
            l[place] = s
            d = d - s * y
        pivot[i] = d
        inverse[i] = 1.0 / d
"""
SOLVE = """for group in range(begin.shape[0] - 1):
    for i in range(begin[group], begin[group + 1]):
        s = b[order[i]]
        for q in range(l_row[i], l_row[i + 1]):
            s = s - l[l_place[q]] * work[l_column[q]]
        work[i] = s
    for back in range(begin[group + 1] - begin[group]):
        i = begin[group + 1] - 1 - back
        s = work[i] * inverse[i]
        for p in range(l_begin[i], l_begin[i + 1]):
            s = s - l[p] * work[l_index[p]]
        work[i] = s
    for i in range(begin[group], begin[group + 1]):
        x[order[i]] = work[i]
        work[i] = 0.0
"""


class KernelFactors:
    """Factors of matrices (E, E) of one pattern; `factor` and `solve` launch a kernel each.

    rows, columns: of the entries of the lower half, the diagonal among them, each once. The caller writes
    their numbers into `a`, an array for kernels, in the order of `entries`. `b` is the right side, `x` the
    solution, in the caller's order of rows. `codes`: the loops by the method's name, for larger kernels.
    """

    def __init__(self, size: int, rows: np.ndarray, columns: np.ndarray):
        self.size = size
        group = _row_groups(size, rows, columns)
        plain = _Symbolic(size, rows, columns, _sort_by_group(np.arange(size), group))
        self.symbolic = plain
        along = order_of_paths(size, rows, columns, group)
        if along is not None:
            self.symbolic = _Symbolic(size, rows, columns, along)
        elif plain.fill > len(rows) - size:
            other = _Symbolic(
                size, rows, columns, _sort_by_group(_minimum_degree(size, rows, columns), group)
            )
            self.symbolic = other if other.fill < plain.fill else plain
        self.entries = self.symbolic.entries
        self.order = self.symbolic.order
        counts = np.bincount(group[self.order], minlength=int(group.max(initial=0)) + 1)
        seen = group[self.order][np.concatenate([[True], np.diff(group[self.order]) != 0])[:size]]
        self.begin = np.concatenate([[0], np.cumsum(counts[seen])])
        made = {"begin": self.begin, "order": self.order, **self.symbolic.arrays()}
        arrays: dict[str, Any] = {n: storage.allocate(v.astype(np.int32)) for n, v in made.items()}
        numbers = {"a": len(rows), "l": max(self.symbolic.fill, 1)}
        numbers |= dict.fromkeys(("work", "pivot", "inverse", "b", "x"), size)
        arrays |= {n: storage.allocate(np.zeros(count)) for n, count in numbers.items()}
        self.a, self.b, self.x, self._pivot = (arrays[n] for n in ("a", "b", "x", "pivot"))
        self.arrays = arrays
        most = GRAIN if len(self.begin) <= GRAIN else 0
        factor, solve = (FACTOR, SOLVE) if along is None else (paths.FACTOR, paths.SOLVE)
        self.codes = {"factor": _code_with_arrays(factor, arrays), "solve": _code_with_arrays(solve, arrays)}
        self._factor, self._solve = (
            BoundKernel(on_one_thread(code, len(self.begin), most)) for code in self.codes.values()
        )

    def factor(self) -> None:
        """Factor the matrix whose entries are in `a`."""
        self._factor()

    def solve(self) -> None:
        """x = A^-1 b, by the last factors."""
        self._solve()

    @property
    def pivots(self) -> np.ndarray:
        """The pivots D (E,), in the caller's order of rows; tiny where a row is a sum of others."""
        found = np.empty(self.size)
        found[self.order] = storage.host(self._pivot)
        return found

    def combination(self, row: int) -> np.ndarray:
        """y (E,) with L^T y = e at this row: A y is its pivot there, and zero at other rows."""
        place = int(np.flatnonzero(self.order == row)[0])
        work, lower, s = np.zeros(self.size), storage.host(self.arrays["l"]), self.symbolic
        work[place] = 1.0
        for i in range(place, -1, -1):
            for p in range(s.begin[i], s.begin[i + 1]):
                work[i] -= lower[p] * work[s.index[p]]
        found = np.empty(self.size)
        found[self.order] = work
        return found


class _Symbolic:
    """Which entries L has, for an order of the rows; row by row, and column by column."""

    def __init__(self, size: int, rows: np.ndarray, columns: np.ndarray, order: np.ndarray):
        self.order, place = order, np.empty(size, np.int64)
        place[order] = np.arange(size)
        one, other = place[rows], place[columns]
        high, low = np.maximum(one, other), np.minimum(one, other)
        self.entries = np.lexsort((low, high))
        self.column = low[self.entries]
        self.of_row = np.concatenate([[0], np.cumsum(np.bincount(high, minlength=size))])
        self._follow_tree(size)

    def _follow_tree(self, size: int) -> None:
        """The pattern of each row: all that the elimination tree leads to from its entries."""
        parent, mark = [-1] * size, [-1] * size
        found: list[list[int]] = []
        starts, columns = self.of_row.tolist(), self.column.tolist()
        for i in range(size):
            mark[i], row = i, []
            for start in columns[starts[i] : starts[i + 1]]:
                j = start
                while mark[j] != i:
                    if parent[j] < 0:
                        parent[j] = i
                    mark[j] = i
                    row.append(j)
                    j = parent[j]
            found.append(sorted(row))
        self.l_row = np.concatenate([[0], np.cumsum([len(row) for row in found])]).astype(np.int64)
        self.l_column = np.array([j for row in found for j in row], np.int64)
        self.begin = np.concatenate([[0], np.cumsum(np.bincount(self.l_column, minlength=size))])
        by_column = np.argsort(self.l_column, kind="stable")
        self.index = np.repeat(np.arange(size), np.diff(self.l_row))[by_column]
        self.place = np.empty(len(by_column), np.int64)
        self.place[by_column] = np.arange(len(by_column))

    @property
    def fill(self) -> int:
        """The entries of L below the diagonal."""
        return len(self.l_column)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that the kernels name; none is empty."""
        one = np.zeros(1, np.int64)
        found = {"of_row": self.of_row, "column": self.column, "l_row": self.l_row, "l_begin": self.begin}
        listed = {"l_column": self.l_column, "l_place": self.place, "l_index": self.index}
        return found | {name: values if values.size else one for name, values in listed.items()}


def _code_with_arrays(text: str, arrays: dict[str, Any]) -> Code:
    named = words(text)
    return Code(text, {name: array for name, array in arrays.items() if name in named})


def _row_groups(size: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The group (E,) of each row."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), (size, size))
    return connected_components(graph, directed=False)[1]


def _sort_by_group(order: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The order with the rows of a group next to each other."""
    return order[np.argsort(group[order], kind="stable")]


def _minimum_degree(size: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """SuperLU's order of least degree for this pattern."""
    from scipy.sparse import coo_matrix, eye_array
    from scipy.sparse.linalg import splu

    half = coo_matrix((np.ones(len(rows)), (rows, columns)), (size, size)).tocsc()
    matrix = (half + half.T + 4.0 * abs(half + half.T).sum(axis=1).max() * eye_array(size)).tocsc()
    options = {"SymmetricMode": True}
    factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return np.argsort(factors.perm_c)
