"""The state `surface`: a thin shell of triangles in space, from a file (STL, OBJ, PLY, OFF, VTK, ...).

    list        rows     data of its elements
    triangles   (E, 3)   area [m^2], volume [m^3] = area times thickness, gradients (3, 2) [1/m] of the
                         shape functions along two axes in the triangle at rest
    edges       (K, 2)   rest [m], their length
    hinges      (H, 4)   rest [rad], the angle between the two triangles of an edge, multiplicity 1,
                         aspect [1] = l^2 / (A_1 + A_2), l the length of the edge, hinge_area [m^2] =
                         A_1 + A_2, weights (3,) of the quadratic bending, and warp_share [1] of the
                         direction across the edge, where there are directions of the material
    boundary    (E, 3)   the triangles as facets: area, shares, tangents, weight

    m_i = rho t/3 sum of the areas of the triangles at node i

rho [kg/m^3] is the density, t [m] the thickness. Normals point outwards where the surface is closed. A group
of triangles in the file is a list of its own beside `triangles`, and a body.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from minusgrad.plugin import (
    Body,
    Motion,
    Quantity,
    Record,
    Sheets,
    State,
    StateContext,
    UserError,
    quantities,
)
from minusgrad_elastic.cells import reference_cells
from minusgrad_elastic.shells.surface_files import read_surface
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh
from minusgrad_elastic.states import Length, Place, Speed

from .bending import fold_angles
from .plate_bending import hinge_weights

LISTS = ("triangles", "edges", "hinges", "boundary")
STEEP = 1e-3
"""Sine of the angle between a triangle and the warp, at least, so that the warp has a direction in it."""


@dataclass(frozen=True, eq=False)
class SheetParts:
    """What compounds read of a sheet: the mesh at rest, in the run's unit, and directions of its material.

    axes (E, 2, 3): warp and weft in each triangle; spots (n, 2): lengths along the sides of a flat sheet at
    each node. None where there are none.
    """

    mesh: SurfaceMesh
    axes: np.ndarray | None = None
    spots: np.ndarray | None = None


class Surface(Record):
    """A thin shell of triangles in space, from a surface file (STL, OBJ, PLY, OFF), with the extra `mesh`."""

    file: str
    """File beside the scene."""
    length: str
    """Unit of the coordinates in the file."""
    density: Annotated[float | str, Quantity("kg m^-3", "positive")]
    """Mass per volume."""
    thickness: Length
    """Thickness of the shell."""
    origin: tuple[Place, ...] = ()
    """Displacement of the whole surface from where the file has it; empty: none."""
    velocity: tuple[Speed, ...] = ()
    """Velocity of all nodes; empty: at rest."""
    warp: tuple[float, ...] = ()
    """Direction of the warp in space, of any length, laid into each triangle; empty: no fabric."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        for key in ("origin", "velocity", "warp"):
            if len(values[key]) not in (0, 3):
                raise UserError(f"{key}: {len(values[key])} numbers for 3 axes")
        mesh = read_surface(self.file, context.read(self.file))
        context.remarks += [f"{mesh.source}: {remark}" for remark in mesh.remarks]
        scale = context.units.convert(f"1 {self.length}", "m")
        axes = laid_axes(mesh, np.array(self.warp, float)) if self.warp else None
        mass = values["density"], values["thickness"]
        return shell(mesh, scale, *mass, values["origin"], values["velocity"], axes=axes)


def shell(
    mesh: SurfaceMesh,
    scale: float,
    density: float,
    thickness: float,
    origin: Any = (),
    velocity: Any = (),
    axes: np.ndarray | None = None,
    spots: np.ndarray | None = None,
) -> State:
    """The state of a shell at rest; scale: of the file's coordinates.

    axes (E, 2, 3): unit vectors in each triangle, along which its gradients are (default: from its first
    corner to its second, and across). spots (n, 2): lengths along the sides of a flat sheet.
    Raises `UserError` for a group of triangles with the name of a list that every surface has.
    """
    if taken := [name for name in mesh.parts if name in LISTS]:
        raise UserError(
            f"{mesh.source}: its part '{taken[0]}' is called like a list of every surface; rename it"
        )
    x = scale * mesh.points
    areas = scale**2 * mesh.areas()
    m = np.zeros(len(x))
    np.add.at(m, mesh.triangles, (density * thickness / 3.0 * areas)[:, None])
    edges = mesh.edges()[0].astype(np.int32)
    hinges, owners = mesh.hinges()
    flat = {"area": areas, "volume": areas * thickness, "gradients": flat_slopes(x[mesh.triangles], axes)}
    tuples = {"triangles": mesh.triangles, "edges": edges}
    data: dict[str, dict[str, np.ndarray]] = {
        "triangles": flat,
        "edges": {"rest": np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)},
    }
    if len(hinges):
        spans = np.linalg.norm(x[hinges[:, 1]] - x[hinges[:, 2]], axis=1)
        tuples["hinges"] = hinges
        data["hinges"] = {
            "rest": fold_angles(x[hinges]),
            "multiplicity": np.ones(len(hinges), np.int32),
            "aspect": spans**2 / areas[owners].sum(axis=1),
            "hinge_area": areas[owners].sum(axis=1),
            "weights": hinge_weights(x[hinges]),
        }
        if axes is not None:
            data["hinges"]["warp_share"] = warp_shares(x, hinges, owners, axes)
    tuples["boundary"], data["boundary"] = mesh.triangles, _facet_data(areas)
    for name, rows in mesh.parts.items():
        tuples[name], data[name] = mesh.triangles[rows], {key: all_[rows] for key, all_ in flat.items()}
    return State(
        fields={
            "x": x + np.array(origin or np.zeros(3), float),
            "v": np.tile(np.array(velocity or np.zeros(3), float), (len(x), 1)),
            "m": m,
        },
        units={"x": "m", "v": "m s^-1", "m": "kg"},
        motions=(Motion("x", "v", "m"),),
        bodies=tuple(Body(name, nodes) for name, nodes in mesh.bodies.items() if len(nodes)),
        tuples=tuples,
        data=data,
        labels={"x": "position", "v": "velocity", "m": "mass"},
        shown=("triangles",),
        looks={"triangles": Sheets(thickness)},
        groups={"boundary": dict(mesh.parts)},
        brings=SheetParts(replace(mesh, points=x), axes, spots),
    )


def laid_axes(mesh: SurfaceMesh, warp: np.ndarray) -> np.ndarray:
    """Unit vectors (E, 2, 3) in each triangle: the direction (3,) laid into it, and across.

    Raises `UserError` for a direction that is zero, or perpendicular to a triangle.
    """
    size = float(np.linalg.norm(warp))
    if not 0.0 < size < np.inf:
        raise UserError(f"warp: must be a direction, got {warp.tolist()}; give three numbers, not all zero")
    normal = mesh.normals()
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    along = warp / size - (normal @ warp / size)[:, None] * normal
    lengths = np.linalg.norm(along, axis=1)
    if (steep := np.flatnonzero(lengths < STEEP)).size:
        place = ", ".join(f"{c:.4g}" for c in mesh.corners()[steep[0]].mean(axis=0))
        raise UserError(
            f"warp: has no direction in triangles that it is perpendicular to, got one at ({place}); turn it"
        )
    along /= lengths[:, None]
    return np.stack([along, np.cross(normal, along)], axis=1)


def warp_shares(x: np.ndarray, hinges: np.ndarray, owners: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Squared cosines (H,) between the warp and the direction across each edge: means of both triangles."""
    edge = x[hinges[:, 2]] - x[hinges[:, 1]]
    edge /= np.linalg.norm(edge, axis=1)[:, None]
    along = np.einsum("hki,hi->hk", axes[owners][:, :, 0], edge)
    return 1.0 - (along**2).mean(axis=1)


def axes_along_edges(corners: np.ndarray) -> np.ndarray:
    """Unit vectors (E, 2, 3) in triangles with corners (E, 3, 3): along the first edge, and across it."""
    legs = corners[:, 1:] - corners[:, :1]
    one = legs[:, 0] / np.linalg.norm(legs[:, 0], axis=1)[:, None]
    normal = np.cross(legs[:, 0], legs[:, 1])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    return np.stack([one, np.cross(normal, one)], axis=1)


def flat_slopes(corners: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    """Gradients (E, 3, 2) of the shape functions along two axes (E, 2, 3) in each triangle.

    corners (E, 3, 3). Axes by default: those of `axes_along_edges`.
    """
    legs = corners[:, 1:] - corners[:, :1]
    if axes is None:
        axes = axes_along_edges(corners)
    inverse = np.linalg.inv(np.einsum("eai,eji->eaj", legs, axes))
    return np.concatenate([-inverse.sum(axis=2)[:, None], inverse.swapaxes(1, 2)], axis=1)


def _facet_data(areas: np.ndarray) -> dict[str, np.ndarray]:
    """As the facets of a solid have them: one point in the middle of each triangle."""
    kind = reference_cells.facets()[3, 3]
    places, weights = kind.rule
    count = len(areas)
    return {
        "area": areas,
        "shares": np.tile(kind.values(places), (count, 1)),
        "tangents": np.tile(kind.slopes(places), (count, 1, 1)),
        "weight": np.full(count, weights[0] / kind.parts),
    }
