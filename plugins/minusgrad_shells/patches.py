"""Patches: a rectangle of triangles in two parameters, at any place in space.

    x = place(u, v),     0 <= u <= 1,     0 <= v <= 1
    a_1 = x_,u / |x_,u|,     a_2 = n x a_1           of each triangle, n its normal

u and v (n,) are the parameters of nodes, x (n, 3) [m] their places. Node i (n + 1) + j is that of u = i / m,
v = j / n in m x n cells. Sides: `left` (u = 0), `right` (u = 1), `bottom` (v = 0), `top` (v = 1), and four
corners such as `bottom_left`, together `corners`. Triangles are listed counter-clockwise in (u, v). a_1 and
a_2 (3,) are the directions of the material, warp and weft of a fabric.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minusgrad.plugin import UserError
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh

Diagonals = Literal["alternating", "right", "left", "crossed"]
"""How cells are cut: from the lower left up, from the lower right up, in turn, or both with a middle node."""
Place = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Patch:
    """The triangles, and the parameters (E, 3, 2) of their corners."""

    mesh: SurfaceMesh
    parameters: np.ndarray

    def node_parameters(self) -> np.ndarray:
        """The parameters (n, 2) of nodes; of a closed patch u is within [0, 1)."""
        found = np.full((len(self.mesh.points), 2), np.inf)
        for k in range(3):
            np.minimum.at(found, self.mesh.triangles[:, k], self.parameters[:, k])
        return found

    def axes(self) -> np.ndarray:
        """The directions a_1 and a_2 (E, 2, 3) of each triangle."""
        corners, given = self.mesh.corners(), self.parameters
        legs, steps = corners[:, 1:] - corners[:, :1], given[:, 1:] - given[:, :1]
        along = np.einsum("ek,eki->ei", np.linalg.inv(steps)[:, 0], legs)
        normal = self.mesh.normals()
        one = along / np.linalg.norm(along, axis=1)[:, None]
        normal = normal / np.linalg.norm(normal, axis=1)[:, None]
        return np.stack([one, np.cross(normal, one)], axis=1)


def triangulated_patch(
    place: Place,
    cells: tuple[int, int],
    diagonals: Diagonals = "alternating",
    closed: bool = False,
    source: str = "the sheet",
) -> Patch:
    """The triangles of m x n cells; `place` maps u (n,) and v (n,) to points (n, 3).

    closed: the side u = 1 is u = 0, as of a cylinder; there is no `left` and no `right` then, and no corner.
    Raises `UserError` where a triangle has no area, such as at a pole.
    """
    m, n = cells
    columns = np.arange(m + 1) % m if closed else np.arange(m + 1)
    number = columns[:, None] * (n + 1) + np.arange(n + 1)
    i, j = (part.ravel() for part in np.meshgrid(np.arange(m), np.arange(n), indexing="ij"))
    corners = np.stack([number[i, j], number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]], axis=1)
    spots = np.stack([np.stack([i + a, j + b], axis=1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))], axis=1)
    u, v = np.divmod(np.arange((m if closed else m + 1) * (n + 1)), n + 1)
    if diagonals == "crossed":
        middles = len(u) + np.arange(m * n)
        corners = np.concatenate([corners, middles[:, None]], axis=1)
        spots = np.concatenate([spots, spots[:, :1] + 0.5], axis=1)
        u, v = np.concatenate([u, i + 0.5]), np.concatenate([v, j + 0.5])
    rows = _cut_cells(i + j, diagonals)
    triangles = np.take_along_axis(corners, rows.reshape(len(i), -1), axis=1).reshape(-1, 3)
    parameters = np.take_along_axis(spots, rows.reshape(len(i), -1, 1), axis=1).reshape(-1, 3, 2)
    mesh = SurfaceMesh(
        source,
        np.asarray(place(u / m, v / n), float),
        triangles.astype(np.int32),
        bodies=_named_sides(number, closed),
    )
    areas, size = mesh.areas(), float(np.ptp(mesh.points, axis=0).max())
    if (flat := np.flatnonzero(~(areas > 1e-12 * size**2))).size:
        raise UserError(
            f"{source}: triangles need an area, got none at u, v ="
            f" {', '.join(f'{c:.4g}' for c in parameters[flat[0]].mean(axis=0) / (m, n))}; spread its points"
        )
    return Patch(mesh, parameters / (m, n))


CUTS = {"right": ((0, 1, 2), (0, 2, 3)), "left": ((0, 1, 3), (1, 2, 3))}
CROSSED = ((0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))
"""Corners of the triangles of a cell, counted from the lower left round it; the last one is in the middle."""


def _cut_cells(parity: np.ndarray, diagonals: Diagonals) -> np.ndarray:
    """The corners (cells, triangles, 3) of each triangle within its cell."""
    if diagonals == "crossed":
        return np.tile(np.array(CROSSED), (len(parity), 1, 1))
    chosen = parity % 2 if diagonals == "alternating" else np.full_like(parity, diagonals == "left")
    return np.array([CUTS["right"], CUTS["left"]])[chosen]


def _named_sides(number: np.ndarray, closed: bool) -> dict[str, np.ndarray]:
    """Nodes of sides and corners, in the order along them; number (m + 1, n + 1)."""
    if closed:
        return {"bottom": number[:-1, 0], "top": number[:-1, -1]}
    ends = {"left": number[0], "right": number[-1], "bottom": number[:, 0], "top": number[:, -1]}
    corners = {
        "bottom_left": number[:1, 0],
        "bottom_right": number[-1:, 0],
        "top_left": number[:1, -1],
        "top_right": number[-1:, -1],
    }
    return ends | corners | {"corners": np.concatenate(list(corners.values()))}
