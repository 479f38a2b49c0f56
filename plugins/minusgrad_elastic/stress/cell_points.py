"""The cells of a list by kind, the places of their quadrature points, and values continued within a cell.

    s = S v                     values at the samples of a cell, of those at its points
    v_a = sum_s C_as s_s        continued from the samples to node a of the cell

Samples are the places where derivatives of the shape functions are most exact (Barlow 1976, Int. J. Numer.
Methods Eng. 10, 243): of cells of order 1 the middle, with the mean by volume; of simplices of order 2 the
points of degree 2; of quadrilaterals and hexahedra of order 2 the 2^d points of Gauss. They have the values
there of the polynomial, linear along each axis, nearest to those at the 3^d points: the error of leading
order is orthogonal to it, and zero at the samples (Zlamal 1978, Math. Comput. 32, 663).

v (P, ...) at the points of all cells in their order, s (S, ...) at samples, in the order of the cells.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from minusgrad.plugin import State, UserError

from ..cells import reference_cells
from ..cells.quadrature import DEGREE_2, gauss
from ..cells.reference_cells import ReferenceCell

FIELD = "x"


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of one kind. rows (E, k): their nodes; first: the number of the first one in the list."""

    name: str
    kind: ReferenceCell
    rows: np.ndarray
    first: int

    @property
    def order(self) -> int:
        """1, or 2 with a node in the middle of each edge."""
        return 1 if self.kind.count == self.kind.corners else 2

    @property
    def own(self) -> slice:
        """The numbers of the cells in the list."""
        return slice(self.first, self.first + len(self.rows))

    @cached_property
    def corner_shares(self) -> np.ndarray:
        """The shape functions of the cell with straight edges at each node (k, corners)."""
        d = self.kind.dimension
        return reference_cells.cells()[d, self.kind.corners].values(_node_places(self.kind))


class CellPoints:
    """A list of cells: blocks of one kind, cell (P,) of each point, volume (P,), nodes at rest X (n, d).

    Raises `UserError` for cells of a kind that is not known, or with other points than this plugin's.
    """

    def __init__(self, state: State, name: str):
        points = state.quadratures.get(name)
        self.name, self.X = name, np.asarray(state.fields[FIELD], float)
        self.volume = np.asarray(state.data[name]["volume"], float)
        lists = points.lists if points else (name,)
        self.blocks, first = list[Block](), 0
        for own in lists:
            rows = np.asarray(state.tuples[own])
            kind = reference_cells.cells().get((self.X.shape[1], rows.shape[1]))
            if kind is None:
                raise UserError(
                    f"stress: the cells '{own}' have {rows.shape[1]} nodes in {self.X.shape[1]} dimensions,"
                    " got a kind without shape functions; record stress of cells alone"
                )
            self.blocks.append(Block(own, kind, rows, first))
            first += len(rows)
        self.count = first
        self.cell = np.arange(first) if points is None else np.asarray(points.cell)
        self.per_cell = np.bincount(self.cell, minlength=first)

    @cached_property
    def point_shares(self) -> csr_array:
        """N_a at the points, over the corners of cells (P, sum E k), in the order of `slots`."""
        rows, columns, values = [], [], []
        start = 0
        for block in self.blocks:
            k = block.kind.count
            for cells, (places, _) in self._by_rule(block):
                shares = block.kind.values(places)
                at = self._points_of(cells, len(places))
                slots = start + (cells - block.first)[:, None] * k + np.arange(k)
                rows.append(np.repeat(at.ravel(), k))
                columns.append(np.repeat(slots, len(places), axis=0).ravel())
                values.append(np.tile(shares, (len(cells), 1)).ravel())
            start += block.rows.size
        return _sparse(rows, columns, values, (len(self.cell), start))

    @cached_property
    def slots(self) -> np.ndarray:
        """The node of each slot of each cell (sum E k,), block by block."""
        return np.concatenate([block.rows.ravel() for block in self.blocks])

    @cached_property
    def slot_cell(self) -> np.ndarray:
        """The cell of each slot (sum E k,)."""
        return np.concatenate(
            [
                block.first + np.repeat(np.arange(len(b)), b.shape[1])
                for block in self.blocks
                for b in [block.rows]
            ]
        )

    @cached_property
    def places(self) -> np.ndarray:
        """The points at rest (P, d)."""
        return self.point_shares @ self.X[self.slots]

    @cached_property
    def samples_per_cell(self) -> np.ndarray:
        """The number of samples of each cell (E,)."""
        found = np.ones(self.count, int)
        for block in self.blocks:
            found[block.own] = len(_sample_places(block.kind)) if block.order == 2 else 1
        return found

    @cached_property
    def sampler(self) -> csr_array:
        """S (samples, P)."""
        starts = np.concatenate([[0], np.cumsum(self.samples_per_cell)])
        rows, columns, values = [], [], []
        for block in self.blocks:
            for cells, rule in self._by_rule(block):
                q = len(rule[0])
                at = self._points_of(cells, q)
                if block.order == 1:
                    shares = self.volume[at] / self.volume[at].sum(axis=1, keepdims=True)
                    rows.append(np.repeat(starts[cells], q))
                    columns.append(at.ravel())
                    values.append(shares.ravel())
                    continue
                matrix = _nearest_values(block.kind, rule)
                s = len(matrix)
                rows.append(np.repeat(starts[cells][:, None] + np.arange(s), q, axis=1).ravel())
                columns.append(np.tile(at, (1, s)).ravel())
                values.append(np.tile(matrix.ravel(), len(cells)))
        return _sparse(rows, columns, values, (int(starts[-1]), len(self.cell)))

    @cached_property
    def sample_cell(self) -> np.ndarray:
        """The cell of each sample."""
        return np.repeat(np.arange(self.count), self.samples_per_cell)

    @cached_property
    def sample_places(self) -> np.ndarray:
        """The samples at rest (S, d)."""
        found = self.sampler @ self.places
        starts = np.concatenate([[0], np.cumsum(self.samples_per_cell)])
        for block in self.blocks:
            if block.order == 2:
                shares = block.kind.values(_sample_places(block.kind))
                at = starts[block.own][:, None] + np.arange(len(shares))
                found[at.ravel()] = np.einsum("sa,ead->esd", shares, self.X[block.rows]).reshape(
                    -1, self.X.shape[1]
                )
        return found

    @cached_property
    def continued(self) -> csr_array:
        """C (sum E k, samples)."""
        starts = np.concatenate([[0], np.cumsum(self.samples_per_cell)])
        rows, columns, values, slot = [], [], [], 0
        for block in self.blocks:
            matrix = np.ones((block.kind.count, 1))
            if block.order == 2:
                at = _linear_terms(block.kind, _sample_places(block.kind))
                matrix = _linear_terms(block.kind, _node_places(block.kind)) @ np.linalg.pinv(at)
            k, s = matrix.shape
            count = len(block.rows)
            rows.append(np.repeat(slot + np.arange(count * k), s))
            own = starts[block.own][:, None] + np.arange(s)
            columns.append(np.repeat(own, k, axis=0).ravel())
            values.append(np.tile(matrix.ravel(), count))
            slot += count * k
        return _sparse(rows, columns, values, (slot, int(starts[-1])))

    def cell_sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over the points of each cell, of values (P, ...)."""
        return row_sums(self.cell, values, self.count)

    def mean_values(self, values: np.ndarray, volume: np.ndarray) -> np.ndarray:
        """Means over the points of each cell (E, ...), weighted by volume (P,)."""
        if len(self.cell) == self.count:
            return values
        weight = volume.reshape(-1, *[1] * (values.ndim - 1))
        total = self.cell_sums(volume).reshape(-1, *[1] * (values.ndim - 1))
        return self.cell_sums(weight * values) / total

    def _by_rule(self, block: Block) -> list[tuple[np.ndarray, reference_cells.Rule]]:
        """The numbers of the cells of a block with each rule of quadrature."""
        rules = [block.kind.rule, *([block.kind.curved] if block.kind.curved else [])]
        counts, found = self.per_cell[block.own], []
        for rule in rules:
            if len(chosen := block.first + np.flatnonzero(counts == len(rule[1]))):
                found.append((chosen, rule))
        if sum(len(cells) for cells, _ in found) < len(block.rows):
            raise UserError(
                f"stress: cells '{block.name}' have {int(counts.max())} points, got another number than"
                f" {len(rules[0][1])} of {block.kind.name}; record stress of cells alone"
            )
        return found

    def _points_of(self, cells: np.ndarray, q: int) -> np.ndarray:
        """The numbers of the points of cells with q points each (E, q)."""
        return self._first_points[cells][:, None] + np.arange(q)

    @cached_property
    def _first_points(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.per_cell)])[:-1]


def row_sums(rows: np.ndarray, values: np.ndarray, count: int = 0) -> np.ndarray:
    """Sums of values (P, ...) by row, in the order of the values."""
    flat = values.reshape(len(values), int(np.prod(values.shape[1:]))).T
    sums = [np.bincount(rows, weights=column, minlength=count) for column in flat]
    return np.stack(sums, axis=1).reshape(-1, *values.shape[1:])


def _node_places(kind: ReferenceCell) -> np.ndarray:
    """The nodes of a reference cell; of a pyramid the apex last."""
    return kind.nodes[: kind.count]


def _is_simplex(kind: ReferenceCell) -> bool:
    return kind.corners == kind.dimension + 1


def _sample_places(kind: ReferenceCell) -> np.ndarray:
    """The samples of a cell of order 2 (s, d)."""
    d = kind.dimension
    return DEGREE_2[d][0] if _is_simplex(kind) else gauss(2, d)[0]


def _linear_terms(kind: ReferenceCell, at: np.ndarray) -> np.ndarray:
    """1, xi, eta, ...: of degree 1 in all for simplices, along each axis for others (q, m)."""
    d = kind.dimension
    return reference_cells.cells()[d, kind.corners].values(at)


def _nearest_values(kind: ReferenceCell, rule: reference_cells.Rule) -> np.ndarray:
    """Values at the samples of the polynomial of `_linear_terms` nearest to those at the points (s, q)."""
    places, weights = rule
    root = np.sqrt(weights)[:, None]
    fit = np.linalg.pinv(root * _linear_terms(kind, places)) * root.T
    return _linear_terms(kind, _sample_places(kind)) @ fit


def _sparse(rows: list, columns: list, values: list, shape: tuple[int, int]) -> csr_array:
    joined = [np.concatenate(part) if part else np.zeros(0) for part in (values, rows, columns)]
    return csr_array((joined[0], (joined[1].astype(int), joined[2].astype(int))), shape=shape)
