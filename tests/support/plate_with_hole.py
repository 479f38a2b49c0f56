"""A quarter of a strip with a hole in its middle, pulled along x: meshes, displacements, recovered stress.

The strip has the half width 0.5, the half length 2 and the hole the radius 0.2: d / W = 0.4, of which Howland
1930, Phil. Trans. R. Soc. A 229, 49 has K = 3.74 of the gross stress, at (0, 0.2).
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from minusgrad_elastic import generators
from minusgrad_elastic.cells import reference_cells
from minusgrad_elastic.materials.linear import linear_plane_stress
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.published.linear_statics import LinearBody, holding
from minusgrad_elastic.stress.cell_points import CellPoints
from minusgrad_elastic.stress.point_values import PointStress, PointValues
from minusgrad_elastic.stress.recovery import Recovery

RADIUS, WIDTH, LENGTH, K = 0.2, 0.5, 2.0, 3.74


def plate_mesh(
    around: int, rings: int, cell: str = "triangles", order: int = 2, growth: float = 1.3, beyond: int = 6
) -> Mesh:
    """So many cells around the quarter of the hole, rings that grow up to a square, and a rest beyond it."""
    square = generators.rectangle((1.0, 1.0), (around, rings), cell, order)
    s, t = square.points.T
    cosine, sine = np.cos(0.5 * np.pi * s), np.sin(0.5 * np.pi * s)
    out = WIDTH / np.maximum(cosine, sine)
    r = RADIUS + (out - RADIUS) * (growth ** (t * rings) - 1.0) / (growth**rings - 1.0)
    rest = generators.rectangle((1.0, 1.0), (beyond, around // 2), cell, order)
    x = WIDTH + (LENGTH - WIDTH) * rest.points[:, 0]
    y = WIDTH * np.tan(0.25 * np.pi * rest.points[:, 1])
    places = np.concatenate([np.stack([r * cosine, r * sine], 1), np.stack([x, y], 1)])
    mirror = reference_cells.cells()[2, square.cells.shape[1]].mirror
    cells = np.concatenate([square.cells[:, mirror], rest.cells + len(r)])
    _, first, number = np.unique(np.round(places, 9), axis=0, return_index=True, return_inverse=True)
    return with_sides(Mesh(places[first], number.reshape(-1)[cells].astype(np.int32)))


def with_sides(mesh: Mesh) -> Mesh:
    """The mesh with its sides left, bottom, right and hole."""
    x, y = mesh.points.T
    near = {"left": x, "bottom": y, "right": x - LENGTH, "hole": np.hypot(x, y) - RADIUS}
    mesh.bodies.update({name: np.flatnonzero(np.abs(off) < 1e-9) for name, off in near.items()})
    return mesh


def whole_mesh(quarter: Mesh) -> Mesh:
    """The strip of a quarter, mirrored twice, with another end."""
    mirror = list(reference_cells.cells()[2, quarter.cells.shape[1]].mirror)
    points, cells = quarter.points, quarter.cells
    for flip in ([-1.0, 1.0], [1.0, -1.0]):
        cells = np.concatenate([cells, cells[:, mirror] + len(points)])
        points = np.concatenate([points, points * flip])
    _, first, number = np.unique(np.round(points, 9), axis=0, return_index=True, return_inverse=True)
    mesh = with_sides(Mesh(points[first], number.reshape(-1)[cells].astype(np.int32)))
    mesh.bodies["end"] = np.flatnonzero(np.abs(mesh.points[:, 0] + LENGTH) < 1e-9)
    return mesh


class PulledPlate:
    """The plate under a pull of 1 on its right side, E = 1, nu = 0.3, in plane stress."""

    def __init__(self, mesh: Mesh):
        moduli = {"youngs_modulus": 1.0, "poissons_ratio": 0.3}
        self.body = LinearBody(mesh, linear_plane_stress, moduli)
        load = self.body.facet_load("right", np.array([1.0, 0.0]))
        if "end" in mesh.bodies:
            load += self.body.facet_load("end", np.array([-1.0, 0.0]))
        self.body.displaced(holding(mesh, left="x", bottom="y"), load)
        self.recovery, self.values = recovered_body(self.body)
        self.seats = self.recovery.seat_values(self.values.cauchy)
        top = np.abs(mesh.points - [0.0, RADIUS]).max(axis=1).argmin()
        (self.top,) = np.flatnonzero(self.recovery.patches.node == top)

    @property
    def peak(self) -> float:
        """sigma_xx at the top of the hole."""
        return float(self.seats[self.top, 0, 0])

    @property
    def error(self) -> float:
        """The error of the von Mises stress there, as it is printed."""
        return float(self.recovery.seat_errors("von_mises", self.values.cauchy, self.seats)[self.top])


def recovered_body(body: Any) -> tuple[Recovery, PointValues]:
    """The recovery of a `LinearBody`, and its values at points."""
    stepper = SimpleNamespace(potential=body.potential, time=0.0)
    context: Any = SimpleNamespace(stepper=stepper, state=body.state)
    cells = CellPoints(body.state, "cells")
    points = PointStress(context, "cells", {body.name: np.arange(len(cells.cell))})
    recovery = Recovery(cells, points)
    recovery.prepare()
    return recovery, points.at(0.0, strain=True)
