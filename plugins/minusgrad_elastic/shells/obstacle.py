"""Contact with obstacles of any shape: a penalty on the depth of nodes within a closed surface.

    U(x) = sum_i k/3 max(0, -s(x_i))^3          s the signed distance to the surface, negative inside

x (n, 3) [m], k [N/m^2]: the force is k s^2 along the gradient of s, as of `floor`, `wall` and `sphere`
(`contacts`). s is a cubic spline through distances on a grid (`signed_distance`), so U has two continuous
derivatives, exact ones of this s; how far s is from zero on the surface itself is said in a remark.

Decisions 0158.
"""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    CompoundContext,
    Datum,
    Facets,
    Node,
    Parameter,
    Quantity,
    Record,
    Table,
    UserError,
    local_energy,
    quantities,
    ti,
)

from ..contacts import STIFFNESS, pushed
from ..states import Place
from .signed_distance import DistanceGrid, distance_grid
from .surface_files import read_surface
from .surface_mesh import SurfaceMesh

MOST_SHOWN = 4_000
"""Triangles of a picture."""


@ti.func
def weight(k, s):
    """B-spline weights of the four points around a place, s from the second of them."""
    r = 1.0 - s
    if ti.static(k == 0):
        return r * r * r / 6.0
    if ti.static(k == 1):
        return (4.0 + s * s * (3.0 * s - 6.0)) / 6.0
    if ti.static(k == 2):
        return (4.0 + r * r * (3.0 * r - 6.0)) / 6.0
    return s * s * s / 6.0


@ti.func
def kept(place, count):
    """A place along an axis of the grid; beyond its rim, where all is free, one at the rim."""
    low = ti.select(place > 1.0, place, 1.0)
    return ti.select(low < count - 2.5, low, count - 2.5)


@local_energy(
    "obstacle",
    over="nodes",
    x=Node("m", (3,)),
    distance=Table("m"),
    corner=Parameter("m", (3,), about="First point of the grid of distances."),
    spacing=Parameter(
        "m", bounds=(0.0, float("inf")), open=True, reason="a grid has cells", about="Side of a cell."
    ),
    points=Datum(shape=(3,), integer=True, about="Numbers of points of the grid along the axes."),
    stiffness=STIFFNESS,
)
def obstacle(x, distance, corner, spacing, points, stiffness):
    """Keeps nodes outside of a closed surface, whose signed distance is a cubic spline on a grid."""
    u = (x[0] - corner) / spacing
    a, b, c = kept(u[0], points[0]), kept(u[1], points[1]), kept(u[2], points[2])
    i, j, k = ti.cast(ti.floor(a), ti.i32), ti.cast(ti.floor(b), ti.i32), ti.cast(ti.floor(c), ti.i32)
    rows, along = ti.cast(points[1], ti.i32), ti.cast(points[2], ti.i32)
    first = ((i - 1) * rows + j - 1) * along + k - 1
    depth = 0.0
    for p in ti.static(range(4)):
        sheet = 0.0
        for q in ti.static(range(4)):
            row = 0.0
            for r in ti.static(range(4)):
                row += weight(r, c - k) * distance[first + (p * rows + q) * along + r]
            sheet += weight(q, b - j) * row
        depth -= weight(p, a - i) * sheet
    return pushed(depth, stiffness)


class Obstacle(Record):
    """An obstacle in the shape of a closed surface from a file (STL, OBJ, PLY), with the extra `mesh`."""

    file: str
    """File beside the scene, a closed surface of triangles."""
    length: str
    """Unit of the coordinates in the file."""
    stiffness: Annotated[float | str, Quantity("N m^-2", "nonnegative")]
    """Stiffness of the obstacle: force per squared depth."""
    origin: tuple[Place, ...] = ()
    """Displacement of the whole surface from where the file has it; empty: none."""
    cells: Annotated[int, Field(ge=8, le=512)] = 64
    """Cells of the grid of distances along the longest side of the surface."""
    body: str | tuple[str, ...] = ()
    """Body or bodies that meet the obstacle; empty: all nodes."""
    name: str = "obstacle"
    """Name of the energy in reports."""

    def make(self, context: CompoundContext) -> Compound:
        values = quantities(self, context.units)
        if len(values["origin"]) not in (0, 3):
            raise UserError(f"origin: {len(values['origin'])} numbers for 3 axes")
        mesh = read_surface(self.file, context.read(self.file))
        scale = context.units.convert(f"1 {self.length}", "m")
        moved = scale * mesh.points + np.array(values["origin"] or np.zeros(3), float)
        mesh = replace(mesh, points=moved)
        grid = distance_grid(mesh, self.cells)
        said = (*mesh.remarks, surface_error(mesh, grid))
        context.remarks.extend(f"{mesh.source}: {remark}" for remark in said)
        known = grid_values(grid)
        known["parameters"] |= {"stiffness": values["stiffness"]}
        bodies = _named_bodies(context, (self.body,) if isinstance(self.body, str) else self.body)
        shape = Facets(coarse_corners(mesh))
        seen = replace(obstacle, looks=lambda: [shape])
        more: dict[str, Any] = {"name": self.name, "bodies": bodies, "units": context.units}
        term = bind(seen, context.fields, **more, **known)
        return Compound([term])


def coarse_corners(mesh: SurfaceMesh, most: int = MOST_SHOWN) -> np.ndarray:
    """Corners (F, 3, 3) of the surface for pictures, of which there are `most` at most.

    Of finer ones the points of each cell of a grid are one, as wide as it must be.
    """
    corners, size = mesh.corners(), float(np.ptp(mesh.points, axis=0).max())
    cells = 64
    while len(corners) > most:
        _, which = np.unique(np.floor(mesh.points / (size / cells)), axis=0, return_inverse=True)
        which = which.reshape(-1)
        middle = np.stack([np.bincount(which, axis) / np.bincount(which) for axis in mesh.points.T], axis=1)
        rows = which[mesh.triangles]
        kept = (rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])
        corners, cells = middle[rows[kept]], cells // 2
    return corners


def grid_values(grid: DistanceGrid) -> dict[str, Any]:
    """What `bind` takes of a grid: where it lies, how many points it has, the coefficients."""
    return {
        "parameters": {"corner": grid.corner, "spacing": grid.spacing},
        "data": {"points": np.array(grid.values.shape)},
        "tables": {"distance": grid.coefficients.ravel()},
    }


def _named_bodies(context: CompoundContext, names: tuple[str, ...]) -> list[Any]:
    """Bodies of the state. Raises `UserError` for a name that it does not have."""
    known = {body.name: body for body in context.state.bodies}
    if lost := [name for name in names if name not in known]:
        raise UserError(f"body: no body named '{lost[0]}' (there are: {', '.join(known) or 'none'})")
    return [known[name] for name in names]


def surface_error(mesh: SurfaceMesh, grid: DistanceGrid) -> str:
    """How far the spline is from zero on the surface: at corners, middles of edges and of triangles."""
    corners = mesh.corners()
    places = [
        mesh.points,
        corners.mean(axis=1),
        *(0.5 * (corners[:, k] + corners[:, k - 1]) for k in range(3)),
    ]
    found = np.abs(grid.spline_values(np.concatenate(places)))
    worst, mean = found.max() / grid.spacing, found.mean() / grid.spacing
    cells = "x".join(map(str, grid.values.shape))
    return (
        f"distances on {cells} points are off by {worst:.2g} cells at most on the surface, {mean:.2g} in mean"
    )
