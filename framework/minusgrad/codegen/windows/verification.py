"""Verification of the kernels of maps to a grid in lanes, as in `kernel_verification`.

    forward   some cells, with all elements whose windows they lie in
    adjoint   some elements, with all cells of their windows

Windows and the floors they come from are taken as the kernels have stored them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...elements import window_edges
from ...energies.term import Term
from ...engine import storage
from ...engine.kernels import Code
from ...symbolic.scalar import Scalar
from ..derivative_request import Sweep, outputs, weights_of
from ..statements import is_tangent
from ..verification.element_samples import Number, Places, Sample, rows_of
from ..verification.kernel_verification import compare
from ..verification.sweep_verification import Swept, numbers_found


@dataclass(frozen=True)
class Windows:
    """Stored by kernels for each element: its window's ends along each axis, and floors by serial."""

    ends: np.ndarray
    floors: Mapping[int, np.ndarray]
    shape: tuple[int, ...]
    edges: tuple[str, ...]

    def holding(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The elements whose windows have the cell of this number, (n,), and its places there, (axes, n)."""
        if {*self.edges} == {"zero"}:
            near, cell = self._elements_near(number), np.array(np.unravel_index(number, self.shape))
            return near, np.repeat(cell[:, None], len(near), 1)
        rows, places = [np.zeros(0, int)], [np.zeros((len(self.shape), 0), int)]
        for element in self._elements_near(number):
            cells = self.cells(element)
            cells = cells[:, self.numbers(cells) == number]
            rows.append(np.full(cells.shape[1], element))
            places.append(cells)
        return np.concatenate(rows), np.concatenate(places, axis=1)

    def _elements_near(self, number: int) -> np.ndarray:
        """The elements whose windows hold a cell, or leave the grid."""
        low, high, cell = self.ends[:, 0::2], self.ends[:, 1::2], np.unravel_index(number, self.shape)
        beyond = np.array([edge != "zero" for edge in self.edges]) & ((low < 0) | (high >= self.shape))
        return np.flatnonzero((((low <= cell) & (high >= cell)) | beyond).all(axis=1))

    def cells(self, element: int) -> np.ndarray:
        """The places of an element's window where cells are, (axes, cells); they count on beyond the rim."""
        ends = zip(self.ends[element, 0::2], self.ends[element, 1::2], self.shape, self.edges, strict=True)
        ranges = [
            np.arange(max(low, 0), min(high + 1, n)) if edge == "zero" else np.arange(low, high + 1)
            for low, high, n, edge in ends
        ]
        return np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")])

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """The numbers of the cells at some places, (axes, n)."""
        return window_edges.numbers(places, self.shape, self.edges)


@dataclass(frozen=True)
class AtCells(Sample):
    """Some elements, each at one cell of its window."""

    cells: np.ndarray = field(kw_only=True)
    windows: Windows = field(kw_only=True)

    def leaf(self, leaf: Scalar) -> np.ndarray:
        argument = leaf.value[0]
        if argument == getattr(self.term.energy, "cell", None):
            return self.cells[leaf.value[2][0]].astype(np.float64)
        if argument not in self.term.fields or leaf.value[1] is not None:
            return super().leaf(leaf)
        array = self.tangents[argument] if is_tangent(leaf) else self.term.fields[argument].array  # adjoints
        cells = self.windows.numbers(self.cells)
        return storage.host(array)[(cells, *leaf.value[2])].astype(float)

    def known_values(self) -> dict[int, np.ndarray]:
        return {serial: values[self.rows] for serial, values in self.windows.floors.items()}


def verify_cells(
    term: Term,
    wanted: Sequence[Number],
    windows: Windows,
    found: Sequence[np.ndarray],
    t: float,
    along: Mapping[str, Any],
) -> None:
    """Compare the map's outputs `wanted` at some cells, of the arrays `found`, with their graphs.

    Raises `MiscompiledError` and `RangeError`.
    """
    chosen = set()
    for element in rows_of(term):
        cells = windows.cells(element)
        if cells.size:
            chosen.add(int(windows.numbers(cells[:, [cells.shape[1] // 2]])[0]))
    numbers = sorted(chosen)
    samples = [_sample_at_cells(term, *windows.holding(cell), windows, t, along) for cell in numbers]
    if samples:
        compare(Places(numbers, samples, sums=True), wanted, [one[numbers] for one in found])


def verify_windows(
    loops: Swept, sweep: Sweep, windows: Windows, code: Code, t: float, along: Mapping[str, Any]
) -> None:
    """Compare the adjoint's numbers for some elements with sums of the graphs over their windows.

    Raises `MiscompiledError` and `RangeError`.
    """
    term = loops.term
    inside = {element: windows.cells(element) for element in rows_of(term)}
    rows = np.array([element for element, cells in inside.items() if cells.size], int)
    if not rows.size:
        return
    pairs = zip(weights_of(sweep.traced), sweep.traced.given, strict=True)
    graphs = outputs(reduce(add, (weight * value for weight, value in pairs)), sweep.places, sweep.along)
    wanted, found = numbers_found(loops, list(zip(sweep.places, graphs, strict=True)), rows, code, t)
    compare(_in_windows(term, rows, windows, t, along), wanted, found)


def verify_sums(
    term: Term,
    wanted: Sequence[Number],
    windows: Windows,
    found: Sequence[np.ndarray],
    t: float,
    along: Mapping[str, Any],
) -> None:
    """Compare sums over the windows of some elements, of `found` for all elements, with their graphs.

    Raises `MiscompiledError` and `RangeError`.
    """
    rows = rows_of(term)
    compare(_in_windows(term, rows, windows, t, along), wanted, [one[rows] for one in found])


def _in_windows(term: Term, rows: np.ndarray, windows: Windows, t: float, along: Mapping[str, Any]) -> Places:
    """Some elements, each with all cells of its window."""
    inside = [windows.cells(e) for e in rows]
    samples = [
        _sample_at_cells(term, np.full(cells.shape[1], e), cells, windows, t, along)
        for e, cells in zip(rows, inside, strict=True)
    ]
    return Places(rows, samples, sums=True)


def _sample_at_cells(
    term: Term,
    rows: np.ndarray,
    cells: np.ndarray,
    windows: Windows,
    t: float,
    along: Mapping[str, Any],
) -> AtCells:
    nodes = list(term.elements.nodes[rows].T)
    return AtCells(term, rows, nodes, t, along, cells=cells, windows=windows)
