"""Meshes of simple shapes: rectangle, box, beam and disc, of any cells of order 1 or 2.

Boxes are cut by Kuhn's rule: a simplex for each order of the axes, walking along them from the lowest corner
of a cell to the highest (Freudenthal 1942, Ann. Math. 43, 580; Kuhn 1960, IBM J. 4, 518): 2 triangles for a
rectangle, 6 tetrahedra for a box, all of the same volume. Neighbours meet in whole facets, since every face
is cut along the diagonal that leaves its lowest corner. The cut into 5 tetrahedra saves one, but must
alternate from box to box, and its inner tetrahedron is twice as large as the others.

Cells of order 2 have a node in the middle of each edge: 6-node triangles, 8-node quadrilaterals, 10-node
tetrahedra, 20-node hexahedra.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Literal

import numpy as np

from minusgrad.plugin import UserError

from .cells import reference_cells
from .mesh import Mesh

Cell = Literal["triangles", "quadrilaterals", "tetrahedra", "hexahedra"]
QUADRATIC = {(2, 3): 6, (2, 4): 8, (3, 4): 10, (3, 8): 20}
"""The nodes of a cell of order 2, by dimension and nodes of one of order 1."""
SIDES = (("left", "right"), ("front", "back"), ("bottom", "top"))
"""Names of the lowest and highest side of a box along x, y and z; a rectangle's y is its height."""


def rectangle(size: Sequence[float], cells: Sequence[int], cell: Cell = "triangles", order: int = 1) -> Mesh:
    """A rectangle of size (2,) [m] with a corner at the origin, in cells (2,) parts along x and y.

    A part is 2 triangles, or 1 of the `quadrilaterals`. Bodies: left, right (x), bottom, top (y). Raises
    `UserError` where a size or a count is not positive.
    """
    return _mesh_with_sides(
        *_part_box(size, cells, 2, cell == "triangles", order), sides=(SIDES[0], SIDES[2])
    )


def box(size: Sequence[float], cells: Sequence[int], cell: Cell = "tetrahedra", order: int = 1) -> Mesh:
    """A box of size (3,) [m] with a corner at the origin, in cells (3,) parts along x, y and z.

    A part is 6 tetrahedra, or 1 of the `hexahedra`. Bodies: left, right (x), front, back (y), bottom, top
    (z). Corners are numbered along z, then y, then x, so that left is a range; nodes on edges follow.
    Raises `UserError` where a size or a count is not positive.
    """
    return _mesh_with_sides(*_part_box(size, cells, 3, cell == "tetrahedra", order), sides=SIDES)


def beam(
    length: float,
    width: float,
    height: float,
    cells: Sequence[int],
    cell: Cell = "tetrahedra",
    order: int = 1,
) -> Mesh:
    """A box whose axis lies on the x axis, from the origin to `length`; width along y, height along z [m]."""
    points, solids = _part_box((length, width, height), cells, 3, cell == "tetrahedra", order)
    return _mesh_with_sides(points - [0.0, 0.5 * width, 0.5 * height], solids, sides=SIDES)


def disc(radius: float, rings: int, order: int = 1) -> Mesh:
    """A disc [m] around the origin: a node in the centre, 6 k corners on ring k, 6 rings^2 triangles.

    Its area is that of the polygon, 3 rings radius^2 sin(pi / (3 rings)). Triangles of order 2 have all
    nodes of the rim on the circle. Bodies: centre, rim. Raises `UserError` where the radius or the number
    of rings is not positive.
    """
    _require_positive("the radius", (radius,))
    _require_positive("the number of rings", (rings,), whole=True)
    points, triangles = [np.zeros((1, 2))], []
    for k in range(1, rings + 1):
        angle = np.arange(6 * k) * (np.pi / (3 * k))
        points.append(radius * k / rings * np.stack([np.cos(angle), np.sin(angle)], axis=1))
        step = np.arange(6 * k)
        sector, place = step // k, step % k
        inner = _on_ring(k - 1, sector * (k - 1) + place)
        outer, following = _on_ring(k, step), _on_ring(k, step + 1)
        triangles.append(np.stack([inner, outer, following], axis=1))
        beside = _on_ring(k - 1, sector * (k - 1) + place + 1)
        triangles.append(np.stack([inner, following, beside], axis=1)[place < k - 1])
    rim = _on_ring(rings, np.arange(6 * rings)).astype(np.int32)
    made, cells = np.concatenate(points), np.concatenate(triangles).astype(np.int32)
    if order == 2:
        count, (made, cells) = len(made), with_middles(made, cells)
        outer = cells[:, [3, 4, 5]][np.isin(cells[:, [[0, 1], [1, 2], [2, 0]]], rim).all(axis=2)]
        made[outer] *= radius / np.linalg.norm(made[outer], axis=1, keepdims=True)
        assert outer.min() >= count
        rim = np.concatenate([rim, np.unique(outer)])
    return Mesh(made, cells, {"centre": np.zeros(1, np.int32), "rim": rim})


def with_middles(points: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and cells of order 2: those of order 1, and then nodes in the middle of each edge."""
    d, n = points.shape[1], len(points)
    edges = reference_cells.cells()[d, QUADRATIC[d, cells.shape[1]]].edges
    ends = np.sort(cells[:, [edge[:2] for edge in edges]], axis=2).astype(np.int64)
    pairs, number = np.unique(ends[..., 0] * n + ends[..., 1], return_inverse=True)
    first, second = np.divmod(pairs, n)
    middles = 0.5 * (points[first] + points[second])
    added = (n + number.reshape(len(cells), len(edges))).astype(np.int32)
    return np.concatenate([points, middles]), np.concatenate([cells, added], axis=1)


def _on_ring(k: int, step: np.ndarray) -> np.ndarray:
    """Node numbers on ring k, counted around it."""
    return 1 + 3 * k * (k - 1) + step % (6 * k) if k else np.zeros_like(step)


def _part_box(
    size: Sequence[float], cells: Sequence[int], d: int, cut: bool, order: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points and positive cells of a box with a corner at the origin; its parts are `cut` into simplices."""
    if len(size) != d or len(cells) != d:
        raise UserError(f"{d} sizes and {d} numbers of cells are needed, not {len(size)} and {len(cells)}")
    _require_positive("sizes", size)
    _require_positive("numbers of cells", cells, whole=True)
    axes = [np.linspace(0.0, length, count + 1) for length, count in zip(size, cells, strict=True)]
    number = np.arange(np.prod([len(axis) for axis in axes])).reshape([len(axis) for axis in axes])
    lowest = number[(slice(-1),) * d].reshape(-1, 1)
    strides = np.array(number.strides) // number.itemsize
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    made = _kuhn_simplices(lowest, strides) if cut else _whole_parts(lowest, strides)
    return with_middles(points, made) if order == 2 else (points, made)


def _kuhn_simplices(lowest: np.ndarray, strides: np.ndarray) -> np.ndarray:
    """The simplices of parts with these lowest nodes (P, 1)."""
    d, simplices = len(strides), []
    for order in permutations(range(d)):
        path = np.concatenate([[0], np.cumsum(strides[list(order)])])
        if np.linalg.det(np.eye(d)[list(order)]) < 0.0:
            path[-2:] = path[-1], path[-2]
        simplices.append(lowest + path)
    return np.stack(simplices, axis=1).reshape(-1, d + 1).astype(np.int32)


def _whole_parts(lowest: np.ndarray, strides: np.ndarray) -> np.ndarray:
    """The parts as quadrilaterals or hexahedra."""
    d = len(strides)
    corners = reference_cells.cells()[d, 2**d].nodes > 0.0
    return (lowest + corners @ strides).astype(np.int32)


def _mesh_with_sides(points: np.ndarray, cells: np.ndarray, sides: Sequence[tuple[str, str]]) -> Mesh:
    """The mesh with its lowest and highest sides along each axis as bodies."""
    bodies = {}
    for along, (lowest, highest) in zip(points.T, sides, strict=True):
        bodies[lowest] = np.flatnonzero(along == along.min()).astype(np.int32)
        bodies[highest] = np.flatnonzero(along == along.max()).astype(np.int32)
    return Mesh(points, cells, bodies)


def _require_positive(what: str, numbers: Sequence[float], whole: bool = False) -> None:
    if not all(
        0 < number < np.inf and (not whole or isinstance(number, int | np.integer)) for number in numbers
    ):
        kind = "whole and at least 1" if whole else "finite and above 0"
        raise UserError(f"{what}: {', '.join(map(str, numbers))}; needed: {kind}")
