"""Places in a body: the cells that contain the points of a line, and the nodes of a side in their order.

    X = sum_a X_a N_a(xi)           solved for xi by Newton's method in every cell whose box has the point
    v(X) = sum_a v_a N_a(xi)        of values at the nodes of the cell

X (d,) [m] are places in the body at rest.
"""

from typing import NamedTuple

import numpy as np

from minusgrad.plugin import State, UserError

from .cell_points import Block, CellPoints

NEAR = 1e-6
"""How far outside of a cell, in its coordinates, a point may lie that counts as inside."""
TURNS = 30
"""Steps of Newton's method, which needs three or four."""


class Line(NamedTuple):
    """Points in cells. places (Q, d) at rest [m]; apart (Q,): distances from the first; inside (Q,); slots,
    shares: of each point inside of the body the slots of its cell and the shape functions there."""

    places: np.ndarray
    apart: np.ndarray
    inside: np.ndarray
    slots: np.ndarray
    shares: np.ndarray

    def values(self, at_slots: np.ndarray) -> np.ndarray:
        """Values (Q, ...) of those at the slots of cells; NaN outside of the body."""
        found = np.full((len(self.places), *at_slots.shape[1:]), np.nan)
        found[self.inside] = np.einsum("qa,qa...->q...", self.shares, at_slots[self.slots])
        return found


def line_through(cells: CellPoints, first: np.ndarray, last: np.ndarray, points: int) -> Line:
    """Equally spaced points from one place to another. Raises `UserError` if none is in the body."""
    places = first + np.linspace(0.0, 1.0, points)[:, None] * (last - first)
    widest = max(block.kind.count for block in cells.blocks)
    slots, shares = np.zeros((points, widest), int), np.zeros((points, widest))
    beyond, start = np.full(points, np.inf), 0
    for block in cells.blocks:
        own, k = cells.X[block.rows], block.kind.count
        low, high = own.min(axis=1), own.max(axis=1)
        room = 0.2 * (high - low).max(axis=1, keepdims=True) + 1e-300  # of curved edges
        for q, place in enumerate(places):
            near = np.flatnonzero(((place >= low - room) & (place <= high + room)).all(axis=1))
            if not len(near) or beyond[q] <= 0.0:
                continue
            xi, off = _find_coordinates(block, own[near], place)
            best = int(off.argmin())
            if off[best] < beyond[q]:
                beyond[q] = off[best]
                slots[q], shares[q] = 0, 0.0
                slots[q, :k] = start + near[best] * k + np.arange(k)
                shares[q, :k] = block.kind.values(xi[best][None])[0]
        start += block.rows.size
    inside = beyond <= NEAR
    if not inside.any():
        raise UserError(
            f"stress: the line from {_show(first)} to {_show(last)} does not meet the cells, whose box is"
            f" {_show(cells.X[cells.slots].min(axis=0))} to {_show(cells.X[cells.slots].max(axis=0))}, in the"
            " run's unit of length; give places in the body at rest"
        )
    apart = np.linalg.norm(places - first, axis=1)
    return Line(places, apart, inside, slots[inside], shares[inside])


def _find_coordinates(block: Block, nodes: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """xi (C, d) of a place in cells with nodes (C, k, d), and how far outside it is (C,)."""
    kind = block.kind
    xi = np.tile(kind.nodes[: kind.corners].mean(axis=0), (len(nodes), 1))
    for _ in range(TURNS):
        missing = place - np.einsum("ca,cai->ci", kind.values(xi), nodes)
        legs = np.einsum("caj,cai->cij", kind.slopes(xi), nodes)
        step = np.einsum("cij,cj->ci", np.linalg.pinv(legs), missing)
        xi = np.clip(xi + step, -3.0, 3.0)
        if np.abs(step).max() < 1e-13:
            break
    missing = np.abs(place - np.einsum("ca,cai->ci", kind.values(xi), nodes)).max(axis=1)
    size = np.ptp(nodes, axis=1).max(axis=1)
    return xi, np.maximum(_distance_outside(block, xi), np.where(missing > 1e-9 * size, np.inf, 0.0))


def _distance_outside(block: Block, xi: np.ndarray) -> np.ndarray:
    """How far coordinates are outside of the reference cell (C,); 0 inside."""
    kind, d = block.kind, block.kind.dimension
    if kind.corners == d + 1:
        off = np.maximum(-xi.min(axis=1), xi.sum(axis=1) - 1.0)
    elif kind.corners == 6:
        flat = np.maximum(-xi[:, :2].min(axis=1), xi[:, :2].sum(axis=1) - 1.0)
        off = np.maximum(flat, np.abs(xi[:, 2]) - 1.0)
    else:
        off = np.abs(xi).max(axis=1) - 1.0
    return np.maximum(off, 0.0)


Names = str | tuple[str, ...]
"""A side, or several, which are their union."""


def name_of_side(side: Names) -> str:
    """The name of a side in series; of several their names, joined."""
    return side if isinstance(side, str) else "_".join(side)


class Side(NamedTuple):
    """The nodes of a side (Q,), in the plane in their order along it, and their distances from the first."""

    nodes: np.ndarray
    apart: np.ndarray


def nodes_of_side(cells: CellPoints, state: State, side: Names) -> Side:
    """The nodes of a side, or of several, that cells have.

    Raises `UserError` for an unknown name, or if there are none.
    """
    bodies = {body.name: body.nodes for body in state.bodies}
    names, name = (side,) if isinstance(side, str) else side, name_of_side(side)
    if missing := [one for one in names if one not in bodies]:
        raise UserError(f"side: there is no side '{missing[0]}', got sides: {', '.join(bodies) or 'none'}")
    nodes = np.intersect1d(np.concatenate([[], *(bodies[one] for one in names)]).astype(int), cells.slots)
    if not len(nodes):
        raise UserError(
            f"side: '{name}' has no node of the cells '{cells.name}', got others; name another side"
        )
    if cells.X.shape[1] == 2:
        nodes = _order_along(_edges_between(cells, nodes), nodes)
    legs = np.linalg.norm(np.diff(cells.X[nodes], axis=0), axis=1)
    return Side(nodes, np.concatenate([[0.0], np.cumsum(legs)]))


def _edges_between(cells: CellPoints, nodes: np.ndarray) -> np.ndarray:
    """Pairs of neighbours on facets of one cell alone, all of whose nodes are among these (K, 2)."""
    every = [block.rows[:, list(facet)] for block in cells.blocks for facet in block.kind.facets]
    corners = np.sort(np.concatenate([facets[:, :2] for facets in every]), axis=1)
    _, which, count = np.unique(corners, axis=0, return_inverse=True, return_counts=True)
    alone, start, pairs = count[which.reshape(-1)] == 1, 0, []
    for facets in every:
        own = facets[alone[start : start + len(facets)] & np.isin(facets, nodes).all(axis=1)]
        path = own[:, [0, 2, 1]] if facets.shape[1] == 3 else own
        pairs += [path[:, i : i + 2] for i in range(path.shape[1] - 1)]
        start += len(facets)
    return np.concatenate(pairs)


def _order_along(pairs: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The nodes along chains of pairs, each from an end if it has one; nodes of no pair come last."""
    near: dict[int, list[int]] = {int(node): [] for node in nodes}
    for a, b in pairs.tolist():
        near[a].append(b)
        near[b].append(a)
    left = dict.fromkeys(sorted(near, key=lambda node: (len(near[node]) != 1, not near[node], node)))
    found: list[int] = []
    while left:
        node: int | None = next(iter(left))
        while node is not None:
            del left[node]
            found.append(node)
            node = next((one for one in near[node] if one in left), None)
    return np.array(found)


def _show(place: np.ndarray) -> str:
    return f"({', '.join(f'{x:g}' for x in place)})"
