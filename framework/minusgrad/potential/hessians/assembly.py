"""Assembly of a sparse Hessian: each block sums the parts of elements in their order.

Elements write their own lower halves (`hessian_loops`); then each block of the matrix, node by node, sums its
parts in the order of the elements, and is written twice, as it is and transposed. Hence no atomics, the same
bits at any number of threads, and H = H^T bit for bit.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.gather import Gather
from ...energies.fields import Field
from ...engine import lane_blocks as blocks
from ...engine import storage
from ...engine.kernels import BoundKernel, Code
from .element_hessians import ElementHessians
from .sparsity_pattern import DegreesOfFreedom, SparsityPattern, distinct

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class HessianAssembly:
    """The sparse matrix that sums the element Hessians of some terms over some fields."""

    def __init__(
        self,
        fields: Sequence[Field],
        shares: Sequence[ElementHessians],
        dofs: DegreesOfFreedom | None = None,
    ):
        self.dofs, self.shares = dofs or DegreesOfFreedom(fields), shares
        entries = [_Contributions(self.dofs, share) for share in shares]
        keys = [e.keys for e in entries]
        blocks = distinct(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
        self.pattern = SparsityPattern(self.dofs, blocks)
        self._data = storage.allocate(np.zeros(max(len(self.pattern.indices), 1)))
        self._gathers = [[*e.gathers(self.pattern, self._data)] for e in entries]

    def matrix(self, t: float, project: str | None) -> "csr_matrix":
        """H at the present fields and time t; all matrices share `indices` and `indptr`: never write them."""
        return self.pattern.matrix(self.numbers(t, project))

    def numbers(self, t: float, project: str | None) -> np.ndarray:
        """The numbers of H, in the order of the pattern."""
        storage.store(self._data, np.zeros(self._data.shape))
        for share, gathers in zip(self.shares, self._gathers, strict=True):
            share.fill(t, project)
            for gather in gathers:
                gather()
        return storage.host(self._data)[: len(self.pattern.indices)].copy()


class _Contributions:
    """The contributions of a term's elements to the blocks of a matrix: one for each two (argument, slot).

    `keys`: the block (as in `SparsityPattern`); `element`; `code`: which two, the later vertex first. They
    are sorted by element, then by the two; where one vertex occurs twice in an element, the two count twice.
    """

    def __init__(self, dofs: DegreesOfFreedom, share: ElementHessians):
        self.dofs, self.share = dofs, share
        vertices, count = dofs.vertices(share), dofs.first_vertices[-1]
        self.places = vertices.shape[1]
        high, low = np.tril_indices(self.places)
        one, other = vertices[:, high], vertices[:, low]
        forth, back = high * self.places + low, low * self.places + high
        keys = np.maximum(one, other) * count + np.minimum(one, other)
        codes = np.where(one >= other, forth, back)
        elements = np.broadcast_to(np.arange(len(vertices))[:, None], keys.shape)
        twice = (one == other) & (high != low)
        every = np.concatenate
        self.keys = every([keys.ravel(), keys[twice]])
        self.element = every([elements.ravel(), elements[twice]])
        self.code = every([codes.ravel(), np.broadcast_to(back, keys.shape)[twice]])

    def gathers(self, pattern: SparsityPattern, data: Any) -> Iterator[BoundKernel]:
        """Kernels that add the entries to the matrix: one for each two fields."""
        first, count = self.dofs.first_vertices, int(self.dofs.first_vertices[-1])
        numbers = sorted({self.dofs.number(f) for f in self.share.fields})
        later, earlier = self.keys // count, self.keys % count
        for a, b in product(numbers, numbers):
            mine = (
                (later >= first[a])
                & (later < first[a + 1])
                & (earlier >= first[b])
                & (earlier < first[b + 1])
            )
            if mine.any():
                yield self._gather_kernel(pattern, data, np.flatnonzero(mine), (a, b))

    def _gather_kernel(
        self, pattern: SparsityPattern, data: Any, mine: np.ndarray, of: tuple[int, int]
    ) -> BoundKernel:
        dofs = self.dofs
        found, which = np.unique(self.keys[mine], return_inverse=True)
        gather = Gather.of(which, len(found))
        later, earlier = np.divmod(found, dofs.first_vertices[-1])
        chosen = mine[gather.slots]
        arrays = {
            "start": gather.start,
            "element": self.element[chosen].astype(np.int32),
            "code": self.code[chosen].astype(np.int32),
            "here": pattern.place(later, earlier).astype(np.int32),
            "there": pattern.place(earlier, later).astype(np.int32),
            "stride": pattern.length[later].astype(np.int32),
            "stride_there": pattern.length[earlier].astype(np.int32),
            "at": self._place_table(dofs.widths[of[0]], dofs.widths[of[1]]),
        }
        made = {name: storage.allocate(array) for name, array in arrays.items()}
        text = _block_sum_loops(self.share.packed, dofs.widths[of[0]], dofs.widths[of[1]], of[0] == of[1])
        return BoundKernel(Code(text, {**made, "packed": blocks.single(self.share.packed), "data": data}))

    def _place_table(self, rows: int, columns: int) -> np.ndarray:
        """The places of the numbers of each two (argument, slot) in a lower half, (codes, rows * columns)."""
        begins = np.array(self.share.begins)
        i = begins[:, None, None, None] + np.arange(rows)[None, None, :, None]
        j = begins[None, :, None, None] + np.arange(columns)[None, None, None, :]
        high, low = np.maximum(i, j), np.minimum(i, j)
        return (high * (high + 1) // 2 + low).reshape(self.places**2, -1).astype(np.int32)


def _block_sum_loops(packed: Any, rows: int, columns: int, square: bool) -> str:
    """Loops that sum the entries of each block, and write it as it is and transposed; f64.

    A block on the diagonal is symmetric: its lower half is written twice.
    """
    places = [*product(range(rows), range(columns))]
    numbers = {(a, b): blocks.entry(packed, "packed", "e", f"at[c, {a * columns + b}]") for a, b in places}
    add = [f"s{a}_{b} += ti.f64({numbers[a, b]})" for a, b in places]

    def write(where: str, row: int, column: int, number: str) -> str:
        begin, stride = ("here", "stride") if where == "here" else ("there", "stride_there")
        at = f"data[{begin}[k] + {row} * {stride}[k] + {column}]"
        return f"{at} = {at} + {number}"

    apart = [write("here", a, b, f"s{a}_{b}") for a, b in places]
    apart += [write("there", b, a, f"s{a}_{b}") for a, b in places]
    lines = [
        *(f"s{a}_{b} = ti.f64(0.0)" for a, b in places),
        "for q in range(start[k], start[k + 1]):",
        "    e, c = element[q], code[q]",
        *(f"    {line}" for line in add),
    ]
    if square:
        same = [write("here", a, b, f"s{max(a, b)}_{min(a, b)}") for a, b in places]
        lines += ["if here[k] == there[k]:", *(f"    {line}" for line in same), "else:"]
        apart = [f"    {line}" for line in apart]
    lines += apart
    return "".join(
        f"{line}\n" for line in ("for k in range(start.shape[0] - 1):", *(f"    {x}" for x in lines))
    )
