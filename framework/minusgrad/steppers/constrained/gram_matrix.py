"""The matrix A = G W G^T of constraints, and its factors: W is the inverse mass of each component.

    A (E, E), symmetric; positive definite where the rows of G are independent at the components that may move

Pattern and order of the sums are fixed. W is zero at held components.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...engine import storage
from ...engine.kernels import BoundKernel, Code, on_one_thread
from ...solvers.kernel_factors import KernelFactors
from .incidence import Entries


class GramMatrix:
    """A, from the rows of G in an array `rows` and inverse masses in `weights`, and its factors.

    For larger kernels: `code`, the loops that compute A, and `couplings`, those of its entries off the
    diagonal alone. `diagonals` (E,): the places of the diagonal in `factors.a`.
    """

    def __init__(self, count: int, every: Sequence[Entries], rows: Any, weights: Any):
        pairs = [entries.pairs() for entries in every]
        high, low = (
            np.concatenate([e.equation[p[k]] for e, p in zip(every, pairs, strict=True)]) for k in (0, 1)
        )
        keys, which = np.unique(high * count + low, return_inverse=True)
        self.factors = KernelFactors(count, keys // count, keys % count)
        at = np.empty(len(keys), np.int64)
        at[self.factors.entries] = np.arange(len(keys))
        of = at[which]
        order = np.argsort(of, kind="stable")
        numbers = {
            "one": [e.place[p[0]] for e, p in zip(every, pairs, strict=True)],
            "other": [e.place[p[1]] for e, p in zip(every, pairs, strict=True)],
            "component": [e.first + e.node[p[0]] * e.width for e, p in zip(every, pairs, strict=True)],
            "width": [np.full(len(p[0]), e.width) for e, p in zip(every, pairs, strict=True)],
        }
        begin = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(keys)))])
        arrays = {"begin": begin} | {n: np.concatenate(parts)[order] for n, parts in numbers.items()}
        made = {n: storage.allocate(a.astype(np.int32)) for n, a in arrays.items()}
        widths = {e.width for e in every if len(e.node)}
        width = widths.pop() if len(widths) == 1 else None
        text = _sums(width, "for k in range(begin.shape[0] - 1):\n")
        if "width[" not in text:
            del made["width"]
        self.code = Code(text, {**made, "rows": rows, "weights": weights, "a": self.factors.a})
        work = sum(len(p[0]) * e.width for e, p in zip(every, pairs, strict=True))
        high = np.repeat(np.arange(count), np.diff(self.factors.symbolic.of_row))
        off = np.flatnonzero(high != self.factors.symbolic.column)
        head = "for m in range(off.shape[0]):\n    k = off[m]\n"
        arrays_off = {"off": storage.allocate(off.astype(np.int32))} if len(off) else {}
        self.couplings = (
            Code(_sums(width, head), {**self.code.arrays, **arrays_off}) if len(off) else Code("")
        )
        self._fill = BoundKernel(on_one_thread(self.code, work))
        self._diagonal = self.factors.symbolic.of_row[1:] - 1
        self.diagonals = np.empty(count, np.int64)
        self.diagonals[self.factors.order] = self._diagonal

    def factor(self, damping: float = 0.0) -> None:
        """Compute A + damping diag A and its factors."""
        self._fill()
        if damping:
            a = storage.host(self.factors.a).copy()
            a[self._diagonal] *= 1.0 + damping
            storage.store(self.factors.a, a)
        self.factors.factor()

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of A (E,)."""
        found = np.empty(self.factors.size)
        found[self.factors.order] = storage.host(self.factors.a)[self._diagonal]
        return found

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A^-1 b; the solution stays in `factors.x`, too."""
        storage.store(self.factors.b, right)
        self.factors.solve()
        return storage.host(self.factors.x)


def _sums(width: int | None, head: str) -> str:
    """The loop over entries of A; components unrolled where all nodes have as many."""
    product = "rows[one[q] + {u}] * weights[component[q] + {u}] * rows[other[q] + {u}]"
    if width is None:
        inner = f"        for u in range(width[q]):\n            s += {product.format(u='u')}\n"
    else:
        inner = "".join(f"        s += {product.format(u=u)}\n" for u in range(width))
    return f"{head}    s = ti.f64(0.0)\n    for q in range(begin[k], begin[k + 1]):\n{inner}    a[k] = s\n"
