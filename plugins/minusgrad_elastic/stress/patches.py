"""Superconvergent patch recovery: polynomials over the cells around a corner give values at nodes.

    sum over samples s of the patch of |p(x_s) - v_s|^2  least,     p of the order of the cells
    v*_i = sum over corners c of a cell of N_c(xi_i) p_c(x_i)       at a node i

v_s are values at samples (`cell_points`), x_s their places at rest, N_c the shape functions of the cell with
straight edges: a corner has the value of its own patch, a node on an edge the mean of two. A corner on the
boundary takes the polynomials of the inner corners of its cells, around which there are samples on all sides;
where there is none, its own. Patches have no cells of other groups, so that a node between bodies has a value
for each: a seat is a node of one group. A patch whose samples do not determine the polynomial grows by the
cells around it; one that cannot grow has a polynomial of lower degree. Coordinates are those in which the
samples have the mean 0 and the covariance 1, so that cells may be small, stretched or distorted.

Zienkiewicz & Zhu 1992, Int. J. Numer. Methods Eng. 33, 1331; the sum over corners makes the values of a cell
those of one field (Blacker & Belytschko 1994, Int. J. Numer. Methods Eng. 37, 517).

Decisions 0161.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from .cell_points import Block, CellPoints

LEAST = 1e-5
"""The least eigenvalue of a patch's normal equations over the largest, below which it grows."""
LAYERS = 3
"""How often a patch grows before its degree is lowered."""
AT_ONCE = 256
"""The number of patches that are computed together."""
Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows, columns and values of a sparse matrix."""


class Patches:
    """The patches of all groups of a list of cells, as one matrix from samples to seats.

    group (E,): the group of each cell, from 0. node, of_group (K,): those of each seat; seat_of (sum E k,):
    the seat of each slot of a cell; matrix (K, samples).
    """

    def __init__(self, cells: CellPoints, group: np.ndarray):
        self.cells, n = cells, len(cells.X)
        key = group[cells.slot_cell].astype(np.int64) * n + cells.slots
        seats, first, self.seat_of = np.unique(key, return_index=True, return_inverse=True)
        self.node, self.of_group, self._first_slot = seats % n, seats // n, first
        self.corners = self._cells_at_corners()
        ones, of_cell = np.ones(len(cells.sample_cell)), cells.sample_cell
        self._samples = csr_array((ones, (of_cell, np.arange(len(ones)))), shape=(cells.count, len(ones)))
        self.degree = max(block.order for block in cells.blocks)
        self.matrix = self._seat_matrix()

    def _seats_by_block(self) -> Iterator[tuple[Block, np.ndarray]]:
        """Each block with the seats of its cells (E, k)."""
        start = 0
        for block in self.cells.blocks:
            yield block, self.seat_of[start : start + block.rows.size].reshape(block.rows.shape)
            start += block.rows.size

    def _cells_at_corners(self) -> csr_array:
        """1 for a seat that is a corner of a cell (K, E)."""
        seats, cells = [], []
        for block, own in self._seats_by_block():
            seats.append(own[:, : block.kind.corners].ravel())
            cells.append(np.repeat(np.arange(block.own.start, block.own.stop), block.kind.corners))
        seat, cell = np.concatenate(seats), np.concatenate(cells)
        return csr_array((np.ones(len(seat)), (seat, cell)), shape=(len(self.node), self.cells.count))

    def _inner_corners(self) -> np.ndarray:
        """True for corners that are on no facet of one cell alone of their group (K,)."""
        by_size = dict[int, list[np.ndarray]]()
        for block, seats in self._seats_by_block():
            for facet in block.kind.facets:
                corners = [a for a in facet if a < block.kind.corners]
                by_size.setdefault(len(corners), []).append(seats[:, corners])
        inner = np.diff(self.corners.indptr) > 0
        for parts in by_size.values():
            facets = np.concatenate(parts)
            keys, which = np.unique(np.sort(facets, axis=1), axis=0, return_inverse=True)
            alone = np.bincount(which.reshape(-1), minlength=len(keys)) == 1
            inner[facets[alone[which.reshape(-1)]]] = False
        return inner

    def _patch_shares(self) -> csr_array:
        """The share of each patch, known by its corner, in the value of each seat (K, K)."""
        inner, count = self._inner_corners(), len(self.node)
        near = coo_array(self.corners @ self.corners.T)
        row, column = near.coords
        kept = inner[column] & (~inner[row] | (row == column))
        lonely = np.diff(self.corners.indptr) > 0
        lonely[row[kept]] = False
        alone = np.flatnonzero(lonely)
        rows, columns = np.append(row[kept], alone), np.append(column[kept], alone)
        shares = 1.0 / np.bincount(rows, minlength=count)[rows]
        of_corners = csr_array((shares, (rows, columns)), shape=(count, count))
        return csr_array(self._corner_shares() @ of_corners)

    def _corner_shares(self) -> csr_array:
        """N_c at each seat, of the corners of one cell that it belongs to (K, K)."""
        rows, columns, values, start = [], [], [], 0
        for block, seats in self._seats_by_block():
            slots = start + np.arange(seats.size).reshape(seats.shape)
            cell, a = np.nonzero(self._first_slot[seats] == slots)
            shares = block.corner_shares[a]
            rows.append(np.repeat(seats[cell, a], shares.shape[1]))
            columns.append(seats[cell, : shares.shape[1]].ravel())
            values.append(np.where(np.abs(shares) > 1e-12, shares, 0.0).ravel())
            start += seats.size
        found = [np.concatenate(part) for part in (values, rows, columns)]
        matrix = csr_array((found[0], (found[1], found[2])), shape=(len(self.node),) * 2)
        matrix.eliminate_zeros()
        return matrix

    def _seat_matrix(self) -> csr_array:
        """From values at samples to values at seats (K, S)."""
        shares = self._patch_shares().tocsc()
        patches = np.flatnonzero(np.diff(shares.indptr) > 0)
        found = []
        for start in range(0, len(patches), AT_ONCE):
            own = patches[start : start + AT_ONCE]
            found += [*self._fit_patches(shares, own, self.corners[own], self.degree, 0)]
        rows, columns, values = (np.concatenate(part) for part in zip(*found, strict=True))
        return csr_array((values, (rows, columns)), shape=(len(self.node), self._samples.shape[1]))

    def _fit_patches(
        self, shares: csr_array, patches: np.ndarray, around: csr_array, degree: int, layer: int
    ) -> Iterator[Entries]:
        """The entries of the matrix from some patches, whose cells are `around` (p, E)."""
        fit = Fit.of(csr_array(around @ self._samples), self.cells.sample_places, degree)
        sound = fit.is_determined()
        yield fit.entries(sound, shares[:, patches].tocsc(), self.cells.X[self.node])
        if sound.all():
            return
        rest, cells = patches[~sound], csr_array(around[~sound])
        if layer < LAYERS and degree > 0:
            cells = csr_array(cells @ self.corners.T @ self.corners)
            cells.data[:] = 1.0
            yield from self._fit_patches(shares, rest, cells, degree, layer + 1)
        else:
            yield from self._fit_patches(shares, rest, self.corners[rest], max(degree - 1, 0), 0)


class Fit(NamedTuple):
    """The normal equations of some patches.

    starts (p + 1,), samples (Q,): those of each patch; terms (Q, m): the monomials there; centre (p, d), turn
    (p, d, d): the coordinates of a patch are turn (x - centre); normal (p, m, m).
    """

    starts: np.ndarray
    samples: np.ndarray
    terms: np.ndarray
    centre: np.ndarray
    turn: np.ndarray
    normal: np.ndarray
    powers: np.ndarray

    @staticmethod
    def of(of_patch: csr_array, places: np.ndarray, degree: int) -> "Fit":
        """Of the samples of each patch (p, S), and their places (S, d)."""
        of_patch.sort_indices()
        starts, samples, d = of_patch.indptr, of_patch.indices, places.shape[1]
        count, x = np.diff(starts), places[samples]
        centre = np.add.reduceat(x, starts[:-1]) / count[:, None]
        apart = x - np.repeat(centre, count, axis=0)
        spread = np.add.reduceat(apart[:, :, None] * apart[:, None], starts[:-1]) / count[:, None, None]
        size, axes = np.linalg.eigh(spread)
        size = np.sqrt(np.maximum(size, 1e-12 * size[:, -1:] + 1e-300))
        turn = axes.transpose(0, 2, 1) / size[:, :, None]
        powers = np.array([p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree])
        terms = _monomials(np.einsum("qij,qj->qi", np.repeat(turn, count, axis=0), apart), powers)
        normal = np.add.reduceat(terms[:, :, None] * terms[:, None], starts[:-1]) / count[:, None, None]
        return Fit(starts, samples, terms, centre, turn, normal, powers)

    def is_determined(self) -> np.ndarray:
        """True for patches whose samples determine the polynomial (p,)."""
        size = np.linalg.eigvalsh(self.normal)
        return (np.diff(self.starts) >= len(self.powers)) & (size[:, 0] > LEAST * size[:, -1])

    def entries(self, sound: np.ndarray, shares: csr_array, places: np.ndarray) -> Entries:
        """Of the matrix from samples to seats, of patches that are sound; shares (K, p), places (K, d)."""
        count = np.diff(self.starts)
        patch = np.repeat(np.arange(len(count)), np.diff(shares.indptr))
        kept = sound[patch]
        patch, seat, share = patch[kept], shares.indices[kept], shares.data[kept]
        at = np.einsum("jik,jk->ji", self.turn[patch], places[seat] - self.centre[patch])
        weight = np.linalg.solve(self.normal[patch], _monomials(at, self.powers)[..., None])[..., 0]
        weight *= (share / count[patch])[:, None]
        each = count[patch]
        j = np.repeat(np.arange(len(patch)), each)
        q = np.arange(len(j)) - np.repeat(np.cumsum(each) - each, each) + self.starts[patch][j]
        return seat[j], self.samples[q], np.einsum("jm,jm->j", weight[j], self.terms[q])


def _monomials(at: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """The products of powers (m, d) of coordinates (q, d): (q, m)."""
    return np.prod(at[:, None] ** powers, axis=2)
