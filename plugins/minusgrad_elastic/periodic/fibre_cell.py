"""A square cell with a round fibre in its middle: the representative cell of a composite of parallel fibres.

    V_f = pi R^2 / a^2          R the radius of the fibre, a the edge of the square, at most pi/4

Cells are quadrilaterals in the plane, hexahedra in space, along the fibre (z) in layers: a square core of
the fibre, a ring of it up to its surface, and a ring of matrix up to the square. Nodes of the surface of the
fibre are on the circle. Bodies: fibre, matrix, and the sides of a box.

Decisions 0166.
"""

from collections.abc import Sequence

import numpy as np

from minusgrad.plugin import UserError

from ..cells import reference_cells
from ..generators import SIDES, with_middles
from ..mesh import Mesh

CORE = 0.55
"""Half the edge of the core, in radii of the fibre."""


def fibre_mesh(
    size: float,
    fraction: float,
    around: int,
    rings: Sequence[int],
    depth: float = 0.0,
    layers: int = 1,
    order: int = 2,
) -> Mesh:
    """The mesh with a corner at the origin; depth: its length along the fibre, 0 in the plane.

    around: parts of each side of the square. rings: parts from the core to the fibre's surface, and from
    there to the square. Raises `UserError` for a fraction that no fibre in a square has.
    """
    radius = size * np.sqrt(fraction / np.pi)
    if not 0.0 < radius < 0.49 * size:
        raise UserError(f"fibre_fraction: must be within 0 and 0.754, got {fraction:g}; take another cell")
    t = np.linspace(-1.0, 1.0, around + 1)
    angle = 0.25 * np.pi * t
    core = CORE * radius * np.stack([np.ones_like(t), t], axis=1)
    circle = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    square = 0.5 * size * np.stack([np.ones_like(t), t], axis=1)
    inner = [core + s * (circle - core) for s in np.linspace(0.0, 1.0, rings[0] + 1)]
    outer = [circle + s * (square - circle) for s in np.linspace(0.0, 1.0, rings[1] + 1)[1:]]
    middle = CORE * radius * np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1)
    parts, fibre = [_quadrilaterals(middle)], [around * around]
    for quarter in range(4):
        cosine, sine = np.cos(0.5 * np.pi * quarter), np.sin(0.5 * np.pi * quarter)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        parts.append(_quadrilaterals(np.stack([*inner, *outer]) @ turn.T))
        fibre.append(around * rings[0])
    corners = np.concatenate(parts)
    inside = np.concatenate([np.arange(len(p)) < n for p, n in zip(parts, fibre, strict=True)])
    points, number = np.unique(np.round(corners.reshape(-1, 2) / size, 9), axis=0, return_inverse=True)
    first = np.zeros(len(points), int)
    first[number.reshape(-1)] = np.arange(number.size)
    points, cells = corners.reshape(-1, 2)[first], number.reshape(-1, 4)
    if depth:
        points, cells = _extruded(points, cells, depth, layers)
        inside = np.tile(inside, layers)
    cells = cells.astype(np.int32)
    if order == 2:
        points, cells = _with_round_middles(points, cells, radius)
    points[:, :2] += 0.5 * size
    chosen = {
        "fibre": np.flatnonzero(inside).astype(np.int32),
        "matrix": np.flatnonzero(~inside).astype(np.int32),
    }
    bodies = {name: np.unique(cells[rows]) for name, rows in chosen.items()}
    sides = (SIDES[0], SIDES[2]) if points.shape[1] == 2 else SIDES
    for along, names in zip(points.T, sides, strict=True):
        for name, end in zip(names, (along.min(), along.max()), strict=True):
            bodies[name] = np.flatnonzero(np.abs(along - end) < 1e-9 * size).astype(np.int32)
    return Mesh(points, cells, bodies, cell_bodies=chosen)


def _quadrilaterals(grid: np.ndarray) -> np.ndarray:
    """The corners (E, 4, 2) of the parts of a grid of points (p, q, 2), counterclockwise."""
    found = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=2)
    return found.reshape(-1, 4, 2)


def _extruded(
    points: np.ndarray, cells: np.ndarray, depth: float, layers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points and hexahedra of layers of quadrilaterals, one above another."""
    heights, count = np.linspace(0.0, depth, layers + 1), len(points)
    made = [np.column_stack([points, np.full(count, z)]) for z in heights]
    levels = [np.concatenate([cells + k * count, cells + (k + 1) * count], axis=1) for k in range(layers)]
    return np.concatenate(made), np.concatenate(levels)


def _with_round_middles(
    points: np.ndarray, cells: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Cells of order 2, whose edges on the surface of the fibre are round."""
    on_circle = np.abs(np.linalg.norm(points[:, :2], axis=1) - radius) < 1e-6 * radius
    made, wide = with_middles(points, cells)
    kinds = wide.shape[1] - cells.shape[1]
    edges = reference_cells.cells()[points.shape[1], wide.shape[1]].edges
    for k in range(kinds):
        ends = cells[:, list(edges[k][:2])]
        both = on_circle[ends].all(axis=1)
        nodes = wide[both, cells.shape[1] + k]
        flat = np.linalg.norm(made[nodes, :2], axis=1, keepdims=True)
        made[nodes, :2] *= radius / flat
    return made, wide
