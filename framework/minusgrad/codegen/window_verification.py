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

from ..energies.term import Term
from ..engine import storage
from ..engine.kernels import Code
from ..symbolic.scalar import Scalar
from .derivative_request import Sweep, outputs, weights_of
from .element_samples import Number, Places, Sample, rows_of
from .kernel_verification import compare
from .statements import is_tangent
from .sweep_verification import Swept, numbers_found


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
        if argument not in self.term.fields or leaf.value[1] is not None:
            return super().leaf(leaf)
        array = self.tangents[argument] if is_tangent(leaf) else self.term.fields[argument].array  # adjoints
        cells = np.ravel_multi_index(tuple(self.cells), self.windows.shape)
        return storage.host(array)[(cells, *leaf.value[2])].astype(float)

    def known(self) -> dict[int, np.ndarray]:
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
            chosen.add(tuple(int(c) for c in cells[:, cells.shape[1] // 2]))
    samples = []
    for cell in sorted(chosen):
        rows = windows.holding(cell)
        samples.append(_at(term, rows, np.repeat(np.array(cell)[:, None], len(rows), 1), windows, t, along))
    if samples:
        numbers = [int(np.ravel_multi_index(cell, windows.shape)) for cell in sorted(chosen)]
        places = Places(numbers, samples, sums=True)
        compare(places, wanted, [one[numbers] for one in found])


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
    samples = [_at(term, np.full(inside[e].shape[1], e), inside[e], windows, t, along) for e in rows]
    wanted, found = numbers_found(loops, list(zip(sweep.places, graphs, strict=True)), rows, code, t)
    compare(Places(rows, samples, sums=True), wanted, found)


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
