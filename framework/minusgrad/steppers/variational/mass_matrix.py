"""Regularity of the mass matrix d2L/dv2: without it no velocity follows from a momentum.

    M = d2L/(dv dv)      regular if no block, over components that it couples, has a vanishing eigenvalue

Blocks are scaled to a unit diagonal first, so that units of components do not count.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import EnergyError
from ...potential.potential import Potential
from ..implicit.moving_components import MovingComponents

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SINGULAR = 1e-12
"""The least size of an eigenvalue, relative to the largest of its block, that is not taken for zero."""
LARGE = 500
"""Blocks of more rows are not tested by their eigenvalues; their factors tell."""


def first_singular(matrix: "csr_matrix", tolerance: float = SINGULAR) -> int | None:
    """A row of the first block of a matrix that is singular, to rounding; None if all are regular."""
    return min((row for least, row in _weakest(matrix) if not least > tolerance), default=None)


def least_eigenvalue(matrix: "csr_matrix") -> float:
    """The least size of an eigenvalue of a block, relative to the largest of its block; NaN if not finite."""
    return min((least for least, _ in _weakest(matrix)), default=1.0)


def _weakest(matrix: "csr_matrix") -> Iterator[tuple[float, int]]:
    """The relative size of the least eigenvalue of each block, and the row that moves most along it."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    matrix = csr_matrix(matrix, copy=True)
    matrix.eliminate_zeros()
    _, label = connected_components(matrix, directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label)
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for size in np.unique(sizes):
        if size > LARGE:
            continue
        rows = order[begins[sizes == size][:, None] + np.arange(size)]
        blocks = _dense(matrix, rows)
        diagonal = np.abs(np.einsum("bii->bi", blocks))
        scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled = blocks * scale[:, :, None] * scale[:, None, :]
        finite = np.array([bool(np.isfinite(one).all()) for one in scaled])
        values, vectors = np.linalg.eigh(np.where(finite[:, None, None], scaled, 0.0))
        values = np.abs(values)
        least = values.min(axis=1) / np.maximum(values.max(axis=1), np.finfo(float).tiny)
        weak = np.abs(np.take_along_axis(vectors, values.argmin(axis=1)[:, None, None], 2))[:, :, 0]
        for k, row in enumerate(weak.argmax(axis=1)):
            yield (float(least[k]) if finite[k] else np.nan), int(rows[k, row])


def _dense(matrix: "csr_matrix", rows: np.ndarray) -> np.ndarray:
    """The blocks (B, k, k) of these rows (B, k)."""
    count, size = rows.shape
    place = np.full(matrix.shape[0], -1)
    block = np.full(matrix.shape[0], -1)
    place[rows], block[rows] = np.arange(size), np.arange(count)[:, None]
    entries = matrix.tocoo()
    own = block[entries.row] >= 0
    found = np.zeros((count, size, size))
    found[block[entries.row[own]], place[entries.row[own]], place[entries.col[own]]] = entries.data[own]
    return found


def refuse_singular(matrix: "csr_matrix", lagrangian: Potential, components: MovingComponents) -> None:
    """Raise `EnergyError` for a mass matrix (N, N) that is singular at free components; names the element."""
    free = np.flatnonzero(components.free)
    eps = float(np.finfo(components.fields.dtype).eps)
    row = first_singular(matrix[free][:, free], max(SINGULAR, 8.0 * eps))
    if row is None:
        return
    field, node = components.place_of(int(free[row]))
    velocity = dict(zip(components.positions, components.velocities, strict=True))[field]
    where = next(filter(None, (_element(t, velocity, node) for t in lagrangian.terms.values())), None)
    if where is None:
        raise EnergyError(
            f"'{velocity}' at node {node}: is the rate of a coordinate that moves, got no Lagrangian with its"
            " inertia; add one, or keep it out of the motion"
        )
    raise EnergyError(
        f"{where}: its mass matrix d2L/dv2 is singular at node {node} of '{field}', so that a momentum gives"
        " no velocity; let L have a regular second derivative by every rate, or start elsewhere"
    )


def _element(term: Any, velocity: str, node: int) -> str | None:
    """The first element of a term with this node, in words; None if the term does not read the velocity."""
    if velocity not in {f.name for f in term.fields.values()}:
        return None
    found = np.flatnonzero((term.elements.tuples() == node).any(axis=1))
    return f"lagrangian '{term.name}', element {found[0]}" if found.size else None
