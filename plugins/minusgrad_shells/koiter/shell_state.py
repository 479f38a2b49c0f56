"""The state `shell`: a thin shell of triangles with directors on its edges, of a shape or from a file.

    fields           x, v (n, 3), m (n,) [kg];  director, director_rate (k, 3), director_inertia (k,) [kg m^2]
    list             rows     data of its elements
    shell_triangles  (E, 6)   edges across corners, corners: area, gradients, turns, rest
    shell_edges      (K, 3)   edge, its ends: length, aspect
    and those of `surface`: triangles, edges, hinges, boundary

    m_i = rho t / 3 sum of the areas of the triangles at node i
    director_inertia = rho t^3 / 36 sum of the areas of the triangles of the edge

The kinetic energy of directors is that of the turn of the normal, rho t^3 / 24 |dn/dt|^2 per area. Clamps and
mirrors are holds of the state, of the edges between the nodes of a side.

Decisions 0103.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    ByForm,
    Hold,
    Motion,
    Quantity,
    Record,
    Rotation,
    State,
    StateContext,
    UserError,
    choices,
    node_numbers,
    one_or_table,
    quantities,
)
from minusgrad_elastic.shells.surface_files import read_surface
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh
from minusgrad_elastic.states import Count, Length, Place, Speed, fitting

from ..patches import Diagonals, triangulated_patch
from ..surface_state import flat_slopes, shell
from .geometry import ShellGeometry, shell_geometry
from .shapes import AnyShape, Grading, SurfaceFile, is_closed


@dataclass(frozen=True, eq=False)
class ShellParts:
    """What compounds and observers of shells read of a state."""

    geometry: ShellGeometry
    thickness: float


class ShellClamp(Record):
    """A side whose directors are held, and may be turned about an axis."""

    side: str
    """The side, a body of the state."""
    angle: Annotated[float | str, Quantity("rad")] = 0.0
    """Angle by which the directors are turned, of any size; it grows with load steps."""
    axis: Annotated[tuple[float, ...], Field(min_length=3, max_length=3)] = (0.0, 1.0, 0.0)
    """Axis of the turn, of any length."""
    duration: Annotated[float | str, Quantity("s", "positive")] | None = None
    """Time in which the directors are turned (default: from the start)."""


class ShellState(Record):
    """A thin shell of triangles with directors on its edges, at rest; sides left, right, bottom, top."""

    shape: AnyShape
    """Shape at rest: a table with the kind plate, annulus, cylinder, sphere, strip or file."""
    cells: Annotated[tuple[Count, Count], fitting(lambda parts: 8 * parts[0] * parts[1])] | None = None
    """Numbers of cells along u and v, each of two triangles (default: the triangles of a file)."""
    diagonals: Diagonals = "right"
    """Diagonals that cut cells: all "right", all "left", "alternating", or "crossed" with a node amid."""
    grading: tuple[Grading, Grading] = (1.0, 1.0)
    """Powers of u and v: above 1, nodes crowd at the sides `left` and `bottom`."""
    thickness: Length
    """Thickness of the shell."""
    density: Annotated[float | str, Quantity("kg m^-3", "positive")]
    """Mass per volume."""
    origin: tuple[Place, ...] = ()
    """Displacement of the whole shell from where its shape has it; empty: none."""
    velocity: tuple[Speed, ...] = ()
    """Velocity of all nodes; empty: at rest."""
    clamps: tuple[Annotated[str | ShellClamp, ByForm(one_or_table, ("one", "table"))], ...] = ()
    """Sides whose directors are held, by name, or as tables with an angle; a hold of `x` holds the place."""
    mirrors: dict[str, Literal["x", "y", "z"]] = Field(default_factory=dict)
    """Sides in planes of symmetry, across an axis each: places and directors are held along it."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        for key in ("origin", "velocity"):
            if len(values[key]) not in (0, 3):
                raise UserError(f"{key}: {len(values[key])} numbers for 3 axes; give one for each")
        mesh, axes = self._surface(values, context)
        if values["origin"]:
            mesh = replace(mesh, points=mesh.points + np.array(values["origin"], float))
        made = director_shell(mesh, values["density"], values["thickness"], values["velocity"], axes)
        return replace(made, holds=tuple(self._holds(made, context)))

    def _holds(self, state: State, context: StateContext) -> list[Hold]:
        """Clamps and mirrors. Raises `UserError` for a side that there is not, or that has no edge."""
        bodies, geometry = {body.name: body.nodes for body in state.bodies}, state.brings.geometry
        holds: list[Hold] = []

        def edges_of(key: str, side: str) -> np.ndarray:
            if side not in bodies:
                raise UserError(f"{key}: no side named '{side}'{choices(side, bodies)}")
            if not len(found := geometry.edges_between(bodies[side])):
                raise UserError(f"{key}: '{side}' needs an edge, got none between its nodes; name a side")
            return found

        for k, one in enumerate(self.clamps):
            clamp = ShellClamp(side=one) if isinstance(one, str) else one
            turn = None
            if clamp.angle:
                given = quantities(clamp, context.units)
                if not np.any(clamp.axis):
                    raise UserError(f"clamps.{k}.axis: needs a direction, got zeros; give another one")
                turn = Rotation((0.0, 0.0, 0.0), clamp.axis, given["angle"])
                duration = given["duration"] or 0.0
            edges = edges_of(f"clamps.{k}", clamp.side)
            held = Hold(f"{clamp.side}_clamp", "director", edges, rotation=turn)
            holds.append(replace(held, duration=duration) if turn else held)
        for side, axis in self.mirrors.items():
            edges, axes = edges_of("mirrors", side), ("xyz".index(axis),)
            holds.append(Hold(f"{side}_mirror", "x", bodies[side], axes))
            holds.append(Hold(f"{side}_mirror_turn", "director", edges, axes))
        return holds

    def _surface(
        self, values: dict[str, Any], context: StateContext
    ) -> tuple[SurfaceMesh, np.ndarray | None]:
        """The triangles, and the axes of the material where there are some."""
        if isinstance(self.shape, SurfaceFile):
            return self._file_surface(context), None
        if self.cells is None:
            raise UserError("cells: needs two numbers, got none; give those along u and v")
        g, h = self.grading
        of_shape = values["shape"]
        place = self.shape.place(of_shape)
        made = triangulated_patch(
            lambda u, v: place(u**g, v**h),
            self.cells,
            self.diagonals,
            is_closed(self.shape, of_shape),
            f"the {self.shape.kind}",
        )
        return made.mesh, made.axes()

    def _file_surface(self, context: StateContext) -> SurfaceMesh:
        assert isinstance(self.shape, SurfaceFile)
        mesh = read_surface(self.shape.file, context.read(self.shape.file))
        context.remarks += [f"{mesh.source}: {remark}" for remark in mesh.remarks]
        return replace(mesh, points=context.units.convert(f"1 {self.shape.length}", "m") * mesh.points)


def director_shell(
    mesh: SurfaceMesh,
    density: float,
    thickness: float,
    velocity: Any = (),
    axes: np.ndarray | None = None,
) -> State:
    """The state of a shell with directors; axes (E, 2, 3): of the material in each triangle.

    Raises `UserError` for triangles without area, edges of three triangles, a surface that is not oriented.
    """
    geometry = shell_geometry(mesh, axes)
    state = shell(mesh, 1.0, density, thickness, (), velocity, axes=geometry.axes)
    count, edges = len(geometry.edges), geometry.edges
    rows = {
        "shell_triangles": node_numbers(
            "shell_triangles", np.hstack([geometry.edges_of, geometry.triangles])
        ),
        "shell_edges": node_numbers("shell_edges", np.column_stack([np.arange(count), edges])),
    }
    data = {
        "shell_triangles": {
            "area": geometry.areas,
            "gradients": flat_slopes(geometry.corners, geometry.axes),
            "turns": geometry.turns,
            "rest": geometry.curvature,
        },
        "shell_edges": {
            "length": geometry.lengths,
            "aspect": geometry.lengths**2 / geometry.areas_around,
        },
    }
    own = {
        "director": geometry.directors,
        "director_rate": np.zeros((count, 3)),
        "director_inertia": density * thickness**3 / 36.0 * geometry.areas_around,
    }
    units = {"director": "1", "director_rate": "s^-1", "director_inertia": "kg m^2"}
    return replace(
        state,
        fields={**state.fields, **own},
        units={**state.units, **units},
        motions=(*state.motions, Motion("director", "director_rate", "director_inertia")),
        tuples={**state.tuples, **rows},
        data={**state.data, **data},
        brings=ShellParts(geometry, thickness),
    )
