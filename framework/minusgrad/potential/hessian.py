"""Hessians of a potential: d2U/(dx dx) over some fields, as a sparse matrix with a fixed pattern.

    H = sum over terms, sum over elements, of the element's Hessian at the rows of its nodes

Row of a number: where its field begins + node * components + component; fields stand one after another.
Elements write their own lower halves (`hessian_loops`); then each block of the matrix, node by node, sums
what belongs to it in the order of the elements, and is written twice, as it is and transposed. Hence no
atomics, the same bits at any number of threads, and H = H^T bit for bit.

The pattern holds every block of nodes that meet in an element, zeros too: it never changes, so that what a
solver found out about it (an ordering, a symbolic factorisation) can be kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.hessian_loops import HessianLoops, LaneHessians
from ..codegen.lane_loops import Lanes
from ..codegen.semidefinite import PROJECTIONS, projection
from ..codegen.term_loops import Emitter
from ..elements.gather import Gather
from ..energies.fields import Field
from ..energies.term import Term
from ..engine import lane_blocks as blocks
from ..engine import memory, storage
from ..engine.kernels import BoundKernel, Code
from ..errors import EnergyError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST = 2**31 - 1
"""Numbers in one array: kernels count in 32 bits."""


class Hessians:
    """The Hessians of a potential, made when they are first asked for.

    `emitters` by term; of a staged term None. `maps`, in their order, give fields of their own.
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        parts: Mapping[str, Any],
        maps: Mapping[str, Term],
        emitters: Mapping[str, Emitter | None],
    ):
        self._fields, self._parts, self._maps, self._emitters = fields, parts, maps, emitters
        self._elements: dict[tuple[str, tuple[str, ...]], ElementHessians] = {}
        self._assembled: dict[tuple[str, ...], Assembly] = {}

    def matrix(self, wrt: str | Sequence[str], t: float, project: str | None) -> "csr_matrix":
        """H over the fields `wrt`, one after another."""
        names = self._asked(wrt, project)
        for name in self._parts:
            self._refuse_sums_within(name, names)
        if names not in self._assembled:
            reading = [
                name for name in self._parts if name not in self._maps and self._arguments(name, names)
            ]
            shares = [self._of_term(name, names) for name in reading]
            self._assembled[names] = Assembly([self._fields[name] for name in names], shares)
        return self._assembled[names].matrix(t, project)

    def elements(self, term: str, wrt: str | Sequence[str], t: float, project: str | None) -> np.ndarray:
        """The Hessians of a term's elements, (E, m, m) in f64."""
        names = self._asked(wrt, project)
        if term not in self._parts:
            raise EnergyError(f"no term named '{term}' (there are: {', '.join(self._parts)})")
        self._refuse_sums_within(term, names)
        if not self._arguments(term, names):
            raise EnergyError(f"{term} does not read {' or '.join(names)}: its elements have no Hessian")
        return self._of_term(term, names).whole(t, project)

    def _of_term(self, term: str, names: tuple[str, ...]) -> "ElementHessians":
        if (term, names) not in self._elements:
            emitter = self._emitters[term]
            assert emitter is not None
            self._elements[term, names] = ElementHessians(emitter, self._arguments(term, names))
        return self._elements[term, names]

    def _arguments(self, term: str, names: tuple[str, ...]) -> list[str]:
        """The term's arguments that stand for the fields, in the order of the fields."""
        return [a for name in names for a, f in self._parts[term].fields.items() if f.name == name]

    def _asked(self, wrt: str | Sequence[str], project: str | None) -> tuple[str, ...]:
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        for name in names:
            self._fields[name]  # raises for a name that no field has
        given = {part.gives.name for part in self._maps.values() if part.gives}
        if found := [n for n in names if n in given]:
            raise EnergyError(f"'{found[0]}' is what maps give; ask for the fields that it is made of")
        if not names or len(set(names)) != len(names):
            raise EnergyError(
                f"a Hessian is over different fields, at least one, and not over [{', '.join(names)}]"
            )
        if project is not None and project not in PROJECTIONS:
            there = ", ".join(f"'{how}'" for how in PROJECTIONS)
            raise EnergyError(f"no projection '{project}' (there are: {there}, and None)")
        return names

    def _refuse_sums_within(self, name: str, names: tuple[str, ...]) -> None:
        """Raises `EnergyError` where U is no sum over elements of functions of these fields."""
        part = self._parts[name]
        if name in self._emitters and self._emitters[name] is None and self._arguments(name, names):
            raise EnergyError(
                f"'{name}' runs as stages, which have no second derivatives: write it as a local energy"
            )
        moved = set(names)
        for of_map in self._maps.values():
            if of_map.gives and any(f.name in moved for f in of_map.fields.values()):
                moved.add(of_map.gives.name)
        if found := [f.name for f in part.fields.values() if f.name in moved - set(names)]:
            raise EnergyError(
                f"'{name}' reads '{found[0]}', which maps give from {', '.join(names)}: this Hessian is no"
                " sum over elements; use potential.product, which gives it times any tangent"
            )


class ElementHessians:
    """The Hessians of the elements of one term, over some of its arguments: m rows each."""

    def __init__(self, emitter: Emitter, arguments: Sequence[str]):
        self.term, self.arguments = emitter.term, tuple(arguments)
        self.fields = [self.term.fields[a] for a in arguments]
        self.widths = [prod(f.shape[1:]) for f in self.fields]
        self._refuse_beyond_memory()
        loops = LaneHessians(emitter) if isinstance(emitter, Lanes) else HessianLoops(emitter)
        self.nodes, self.rows = loops.term.elements.nodes, loops.size(arguments)
        code, self.packed = loops.hessians(arguments)
        self._fill, self._loops, self._proven = BoundKernel(code, "t"), loops, False
        self._projections: dict[str, BoundKernel] = {}

    def fill(self, t: float, project: str | None) -> None:
        """Compute them into `packed`, the lower halves row by row, (E, m (m + 1) / 2) in rows or blocks."""
        self._fill(t)
        if not self._proven:
            self._loops.verify_hessians(self.arguments, t)
            self._proven = True
        if project is not None:
            if project not in self._projections:
                self._projections[project] = projection(self.packed, self.rows, project)
            self._projections[project]()

    def whole(self, t: float, project: str | None) -> np.ndarray:
        """All of them, (E, m, m) in f64."""
        self.fill(t, project)
        packed = blocks.rows(storage.host(self.packed), len(self.nodes))
        found = np.zeros((len(packed), self.rows, self.rows))
        low, high = np.tril_indices(self.rows)
        found[:, low, high] = found[:, high, low] = packed
        return found

    @property
    def begins(self) -> list[int]:
        """The first row of each (argument, slot)."""
        arity = self.term.arity
        sizes = np.repeat(self.widths, arity)
        return [0, *np.cumsum(sizes)[:-1].tolist()]

    def _refuse_beyond_memory(self) -> None:
        """Memory for the elements; of unordered pairs also for the matrix, 20 bytes a number.

        Each pair has a block of the matrix to itself; other elements share theirs.
        """
        term, blocks = self.term, len(self.arguments) * self.term.arity
        m, count = sum(self.widths) * term.arity, term.elements.count
        each = m * (m + 1) // 2 * term.dtype.itemsize + 16 * blocks * (blocks + 1)
        if term.elements.unordered:
            each += 20 * m * m // 2
        many = f"its {count} {'pairs' if term.elements.unordered else 'elements'}"
        _require(count * m * (m + 1) // 2, count * each, f"'{term.name}': the Hessian of {many}")


@dataclass(frozen=True)
class Layout:
    """The rows of some fields, and their nodes in one row of numbers ("vertices").

    A vertex is a node of a field; its rows are next to each other.
    """

    fields: Sequence[Field]

    @cached_property
    def widths(self) -> list[int]:
        """Components of each field."""
        return [prod(f.shape[1:]) for f in self.fields]

    @cached_property
    def first(self) -> np.ndarray:
        """The first vertex of each field; and how many there are."""
        return np.concatenate([[0], np.cumsum([len(f) for f in self.fields])]).astype(np.int64)

    @cached_property
    def width(self) -> np.ndarray:
        """Rows of each vertex."""
        return np.repeat(self.widths, [len(f) for f in self.fields]).astype(np.int64)

    @cached_property
    def row(self) -> np.ndarray:
        """The first row of each vertex; and how many there are."""
        return np.concatenate([[0], np.cumsum(self.width)])

    def number(self, field: Field) -> int:
        return next(k for k, f in enumerate(self.fields) if f is field)

    def vertices(self, share: ElementHessians) -> np.ndarray:
        """The vertices of each element, (E, arguments * slots)."""
        return np.concatenate([self.first[self.number(f)] + share.nodes for f in share.fields], axis=1)


class Pattern:
    """Which vertices meet, and the matrix that follows: `indptr`, `indices`, columns in order.

    `blocks`: pairs of vertices (later, earlier), as later * vertices + earlier, sorted.
    """

    def __init__(self, layout: Layout, blocks: np.ndarray):
        self.layout, count = layout, int(layout.first[-1])
        self.blocks = blocks
        later, earlier = blocks // count, blocks % count
        mirrored = earlier != later
        keys = np.concatenate([blocks, earlier[mirrored] * count + later[mirrored]])
        keys.sort()
        self._count, self._keys = count, keys
        row, column = keys // count, keys % count
        width = layout.width
        before = np.concatenate([[0], np.cumsum(width[column])])
        begin = np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * count)
        self.length = before[begin[1:]] - before[begin[:-1]]
        """Numbers in each row of a vertex."""
        lengths = np.repeat(self.length, width)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        _require(int(indptr[-1]), 24 * int(indptr[-1]), f"a Hessian of {indptr[-1]} numbers")
        self._place = indptr[layout.row[row]] + before[:-1] - before[begin[row]]
        columns = np.repeat(layout.row[column] - before[:-1], width[column]) + np.arange(before[-1])
        shift = np.repeat(before[begin[:-1]], width) - indptr[:-1]
        self.indptr = indptr.astype(np.int32)
        self.indices = columns[np.arange(indptr[-1]) + np.repeat(shift, lengths)].astype(np.int32)

    def place(self, later: np.ndarray, earlier: np.ndarray) -> np.ndarray:
        """Where the first numbers of these blocks stand in the matrix."""
        return self._place[np.searchsorted(self._keys, later * self._count + earlier)]


class Assembly:
    """The matrix of some terms' element Hessians over some fields."""

    def __init__(self, fields: Sequence[Field], shares: Sequence[ElementHessians]):
        self.layout, self.shares = Layout(fields), shares
        entries = [_Entries(self.layout, share) for share in shares]
        keys = [e.keys for e in entries]
        blocks = np.unique(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
        self.pattern = Pattern(self.layout, blocks)
        self._data = storage.allocate(np.zeros(max(len(self.pattern.indices), 1)))
        self._gathers = [[*e.gathers(self.pattern, self._data)] for e in entries]

    def matrix(self, t: float, project: str | None) -> "csr_matrix":
        """H at the present fields; `indices` and `indptr` are the same arrays each time: never write them."""
        from scipy.sparse import csr_matrix

        storage.store(self._data, np.zeros(self._data.shape))
        for share, gathers in zip(self.shares, self._gathers, strict=True):
            share.fill(t, project)
            for gather in gathers:
                gather()
        pattern, size = self.pattern, int(self.layout.row[-1])
        data = storage.host(self._data)[: len(pattern.indices)].copy()
        matrix = csr_matrix((data, pattern.indices, pattern.indptr), shape=(size, size), copy=False)
        matrix.indices = pattern.indices  # of which it has made a view
        return matrix


class _Entries:
    """What a term's elements give to the blocks of a matrix: one entry for each two (argument, slot) of them.

    `keys`: the block (as in `Pattern`); `element`; `code`: which two, the later vertex first. By element,
    then by the two; where one vertex stands twice in an element, the two count both ways.
    """

    def __init__(self, layout: Layout, share: ElementHessians):
        self.layout, self.share = layout, share
        vertices, count = layout.vertices(share), layout.first[-1]
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

    def gathers(self, pattern: Pattern, data: Any) -> Iterator[BoundKernel]:
        """Kernels that add the entries to the matrix: one for each two fields."""
        first, count = self.layout.first, int(self.layout.first[-1])
        numbers = sorted({self.layout.number(f) for f in self.share.fields})
        later, earlier = self.keys // count, self.keys % count
        for a, b in product(numbers, numbers):
            mine = (
                (later >= first[a])
                & (later < first[a + 1])
                & (earlier >= first[b])
                & (earlier < first[b + 1])
            )
            if mine.any():
                yield self._gather(pattern, data, np.flatnonzero(mine), (a, b))

    def _gather(self, pattern: Pattern, data: Any, mine: np.ndarray, of: tuple[int, int]) -> BoundKernel:
        layout = self.layout
        found, which = np.unique(self.keys[mine], return_inverse=True)
        gather = Gather.of(which, len(found))
        later, earlier = np.divmod(found, layout.first[-1])
        chosen = mine[gather.slots]
        arrays = {
            "start": gather.start,
            "element": self.element[chosen].astype(np.int32),
            "code": self.code[chosen].astype(np.int32),
            "here": pattern.place(later, earlier).astype(np.int32),
            "there": pattern.place(earlier, later).astype(np.int32),
            "stride": pattern.length[later].astype(np.int32),
            "stride_there": pattern.length[earlier].astype(np.int32),
            "at": self._table(layout.widths[of[0]], layout.widths[of[1]]),
        }
        made = {name: storage.allocate(array) for name, array in arrays.items()}
        text = _sums(self.share.packed, layout.widths[of[0]], layout.widths[of[1]], of[0] == of[1])
        return BoundKernel(Code(text, {**made, "packed": blocks.single(self.share.packed), "data": data}))

    def _table(self, rows: int, columns: int) -> np.ndarray:
        """Where the numbers of each two (argument, slot) stand in a half, (codes, rows * columns)."""
        begins = np.array(self.share.begins)
        i = begins[:, None, None, None] + np.arange(rows)[None, None, :, None]
        j = begins[None, :, None, None] + np.arange(columns)[None, None, None, :]
        high, low = np.maximum(i, j), np.minimum(i, j)
        return (high * (high + 1) // 2 + low).reshape(self.places**2, -1).astype(np.int32)


def _sums(packed: Any, rows: int, columns: int, square: bool) -> str:
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


def _require(numbers: int, size: int, what: str) -> None:
    """Raise `EnergyError` for more numbers than an index can count, and for more bytes than are free."""
    cure = "use potential.product, which is the Hessian times a tangent"
    if numbers > MOST:
        raise EnergyError(f"{what}: needs at most {MOST} numbers, got {numbers}; {cure}")
    memory.require(size, what, cure, EnergyError)
