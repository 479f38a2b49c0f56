"""Stress at nodes by superconvergent recovery, and the error of the computed one (Zienkiewicz & Zhu).

    sigma* = sum_a N_a sigma*_a                     of the values at nodes (`patches`)
    |e|^2 = sum over points of V (P* - P) : (F* - F)            of a cell, and of the body
    error of a cell    |e|_cell / sqrt(2 U + |e|^2)             of the body: the root of the sum of squares
    error at a node    1.5 times the largest m(sigma* - sigma) at it and the points of the cells around

P and F are the first Piola-Kirchhoff stress [Pa] and the deformation gradient at quadrature points, of F-bar
its Fbar, U [J] the energy of the cells, V [m^3] volumes of points at rest. Of small strains |e| is the energy
norm of the error: P* - P = C : (F* - F). m is the measure, sigma the stress that cells have by themselves, at
a node continued from their samples. The error at a node is thus that of sigma, and sigma* is mostly better by
far; where a few cells are around a hole it is not, which 1.5 is for. Of cells of order 1 the polynomials miss
the curvature of the stress, so that the error is twice the largest difference at all nodes and points of the
cells around.

Zienkiewicz & Zhu 1992, Int. J. Numer. Methods Eng. 33, 1331 (recovery) and 1365 (error).

Decisions 0161.
"""

from collections.abc import Mapping

import numpy as np

from .cell_points import CellPoints
from .measures import Measure, bound_measure, von_mises
from .patches import Patches
from .point_values import PointStress, PointValues

SAFETY = {1: 2.0, 2: 1.5}
"""Factors of the error at nodes by the order of the cells, with which it is above the true one at holes."""


class Recovery:
    """Values at the seats of a list of cells: one for each node and each body around it.

    Where bodies of different material meet, `at_nodes` takes the seat with the largest von Mises stress.
    """

    def __init__(self, cells: CellPoints, points: PointStress):
        self.cells, self.points = cells, points
        self._writes, self._material = -1, np.zeros(0, int)
        self.patches: Patches

    def prepare(self) -> None:
        """Make the patches, and again where parameters have changed which cells are of one material."""
        if self._writes == self.points.writes:
            return
        first = np.searchsorted(self.cells.cell, np.arange(self.cells.count))
        material = self.points.materials(first)
        if not np.array_equal(material, self._material):
            self._material, self.patches = material, Patches(self.cells, material)
        self._writes = self.points.writes

    def seat_values(self, at_points: np.ndarray) -> np.ndarray:
        """Recovered values (K, ...) of those at points (P, ...)."""
        return _apply(self.patches.matrix, _apply(self.cells.sampler, at_points))

    def point_values(self, at_seats: np.ndarray) -> np.ndarray:
        """Recovered values at points (P, ...), by the shape functions."""
        return _apply(self.cells.point_shares, at_seats[self.patches.seat_of])

    def seats_of_nodes(self, cauchy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of cells, and of each the seat with the largest von Mises stress; cauchy (K, 3, 3)."""
        node = self.patches.node
        order = np.lexsort((self.patches.of_group, -von_mises(cauchy), node))
        nodes, first = np.unique(node[order], return_index=True)
        return nodes, order[first]

    def at_nodes(self, seats: tuple[np.ndarray, np.ndarray], at_seats: np.ndarray) -> np.ndarray:
        """Values (n, ...) at all nodes; NaN at nodes of no cell."""
        nodes, chosen = seats
        found = np.full((len(self.cells.X), *at_seats.shape[1:]), np.nan)
        found[nodes] = at_seats[chosen]
        return found

    def seat_errors(self, measure: Measure, at_points: np.ndarray, at_seats: np.ndarray) -> np.ndarray:
        """The error (K,) of a measure of Cauchy's stress at each seat; infinite beside stresses of NaN."""
        own = _apply(self.cells.continued, _apply(self.cells.sampler, at_points))
        apart = bound_measure(measure, at_seats[self.patches.seat_of] - own)
        inside = bound_measure(measure, self.point_values(at_seats) - at_points)
        of_cell, found = np.zeros(self.cells.count), np.zeros(len(self.patches.node))
        apart, inside = (np.where(np.isnan(one), np.inf, one) for one in (apart, inside))
        np.maximum.at(of_cell, self.cells.cell, inside)
        if self.patches.degree == 1:
            np.maximum.at(of_cell, self.cells.slot_cell, apart)
        np.maximum.at(found, self.patches.seat_of, np.maximum(apart, of_cell[self.cells.slot_cell]))
        return SAFETY[self.patches.degree] * found

    def cell_errors(self, values: PointValues, energy: float) -> np.ndarray:
        """The error (E,) of each cell in the energy norm, in parts of that of the body; energy: U [J]."""
        P, F = values.first_piola_kirchhoff, values.bar
        apart = [self.point_values(self.seat_values(one)) - one for one in (P, F)]
        squares = np.abs(self.cells.cell_sums(self.points.volume * (apart[0] * apart[1]).sum(axis=(1, 2))))
        whole = 2.0 * abs(energy) + squares.sum()
        return np.sqrt(squares / whole) if whole > 0.0 else squares


def _apply(matrix, values: np.ndarray) -> np.ndarray:
    """A sparse matrix times values (P, ...)."""
    return (matrix @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])


def relative_error(of_cells: np.ndarray) -> float:
    """That of the body: the root of the sum of squares."""
    return float(np.sqrt(np.sum(of_cells * of_cells)))


def peak_values(
    seats: tuple[np.ndarray, np.ndarray], value: np.ndarray, error: np.ndarray, X: np.ndarray
) -> Mapping[str, np.ndarray | float]:
    """The largest value at nodes, its error, and its place at rest; value and error (K,)."""
    nodes, chosen = seats
    top = int(np.where(np.isnan(value[chosen]), -np.inf, value[chosen]).argmax())
    seat = chosen[top]
    return {"peak": value[seat], "peak_error": error[seat], "peak_place": X[nodes[top]]}
