"""Verification of the kernels of maps to a grid in lanes, as in `kernel_verification`.

    forward   some cells, with all elements whose windows they lie in
    adjoint   some elements, with all cells of their windows

Windows and the floors they come from are taken as the kernels have stored them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..energies.term import Term
from ..engine import storage
from ..symbolic.scalar import Scalar
from .kernel_verification import CONDITION, ROOM, Number, Sample, compared, quiet, sampled
from .map_loops import ADJOINT
from .statements import is_tangent


@dataclass(frozen=True)
class Windows:
    """Stored by kernels for each element: its window's ends along each axis, and floors by serial."""

    ends: np.ndarray
    floors: Mapping[int, np.ndarray]
    shape: tuple[int, ...]

    def holding(self, cell: tuple[int, ...]) -> np.ndarray:
        """The elements whose windows a cell lies in."""
        low, high = self.ends[:, 0::2], self.ends[:, 1::2]
        return np.flatnonzero(((low <= cell) & (high >= cell)).all(axis=1))

    def cells(self, element: int) -> np.ndarray:
        """The cells of an element's window that lie on the grid, (axes, cells)."""
        ends = zip(self.ends[element, 0::2], self.ends[element, 1::2], self.shape, strict=True)
        ranges = [np.arange(max(low, 0), min(high + 1, n)) for low, high, n in ends]
        return np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")])


@dataclass(frozen=True)
class AtCells(Sample):
    """Some elements, each at one cell of its window."""

    cells: np.ndarray = field(kw_only=True)
    windows: Windows = field(kw_only=True)

    def leaf(self, leaf: Scalar) -> np.ndarray:
        argument = leaf.value[0]
        if argument == getattr(self.term.energy, "cell", None):
            return self.cells[leaf.value[2][0]].astype(np.float64)
        if argument != ADJOINT:
            return super().leaf(leaf)
        array = self.tangents[ADJOINT] if is_tangent(leaf) else self.term.fields[ADJOINT].array
        return storage.host(array)[np.ravel_multi_index(tuple(self.cells), self.windows.shape)].astype(float)

    def known(self) -> dict[int, np.ndarray]:
        return {serial: values[self.rows] for serial, values in self.windows.floors.items()}


@quiet
def look_at_cells(
    term: Term, value: Scalar, windows: Windows, found: np.ndarray, t: float, along: Mapping
) -> None:
    """Compare the map's output at some cells, of the field `found`, with the graph `value` of it.

    Raises `MiscompiledError`.
    """
    chosen = set()
    for element in sampled(term):
        cells = windows.cells(element)
        if cells.size:
            chosen.add(tuple(int(c) for c in cells[:, cells.shape[1] // 2]))
    sums = []
    for cell in sorted(chosen):
        rows = windows.holding(cell)
        some = _at(term, rows, np.repeat(np.array(cell)[:, None], len(rows), 1), windows, t, along)
        sums.append(_sums(some, [value]))
    if not sums:
        return
    numbers = [int(np.ravel_multi_index(cell, windows.shape)) for cell in sorted(chosen)]
    expected, allowed = _expected(term, sums)
    what = [Number("what is given to this cell", value)]
    compared(term, what, np.array(numbers), [found[numbers]], expected, allowed)


@quiet
def look_at_windows(
    term: Term,
    wanted: Sequence[Number],
    windows: Windows,
    left: Callable[[np.ndarray], Sequence[np.ndarray]],
    t: float,
    along: Mapping[str, Any],
) -> None:
    """Compare the adjoint's numbers for some elements, `left`, with sums of the graphs over their windows.

    Raises `MiscompiledError`.
    """
    inside = {element: windows.cells(element) for element in sampled(term)}
    rows = np.array([element for element, cells in inside.items() if cells.size], int)
    if not rows.size:
        return
    graphs = [number.graph for number in wanted]
    sums = []
    for element in rows:
        cells = inside[element]
        sums.append(_sums(_at(term, np.full(cells.shape[1], element), cells, windows, t, along), graphs))
    expected, allowed = _expected(term, sums)
    compared(term, wanted, rows, left(rows), expected, allowed)


def _at(
    term: Term,
    rows: np.ndarray,
    cells: np.ndarray,
    windows: Windows,
    t: float,
    along: Mapping[str, Any],
) -> AtCells:
    nodes = list(term.elements.nodes[rows].T)
    return AtCells(term, rows, nodes, t, along, cells=cells, windows=windows)


def _sums(some: AtCells, graphs: Sequence[Scalar]) -> np.ndarray:
    """Of each graph over elements and cells: its sum, that of its absolute values, and how far it moves."""
    found = some.numbers(graphs, some.term.dtype)
    return np.array([(exact.sum(), np.abs(exact).sum(), moved.sum()) for exact, moved in found])


def _expected(term: Term, sums: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(graphs, places): the sums, and their tolerances: relative to the largest, and from their moves."""
    exact, sizes, moves = np.array(sums).reshape(len(sums), -1, 3).T
    largest = sizes.max(axis=1, initial=0.0)[:, None]
    return exact, ROOM[term.dtype.name] * largest + CONDITION * moves
