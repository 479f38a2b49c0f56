"""Initial states of elastic bodies: x (n, d), v (n, d), m (n,), undeformed, with one velocity, in run units.

Their lists are those of `solids`. In the plane a body is a sheet of some thickness (default 1 m), under plane
strain. Where a mesh has groups of cells (Gmsh's physical groups), each is a list of its own beside `cells`.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from minusgrad.plugin import (
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    memory,
    quantities,
)

from . import generators
from .mesh import Mesh
from .mesh_files import gmsh
from .mesh_files.foreign import read_foreign as read_foreign
from .mesh_files.gmsh_sections import version_of
from .mesh_files.inspection import inspect
from .periodic.fibre_cell import fibre_mesh
from .periodic.gluing import glued_state
from .solids import solid

Length = Annotated[float | str, Quantity("m", "positive")]
Place = Annotated[float | str, Quantity("m")]
Speed = Annotated[float | str, Quantity("m s^-1")]
Count = Annotated[int, Field(ge=1)]


def fitting(cells: Callable[[Any], int]) -> AfterValidator:
    """Validator of a mesh's resolution: its cells must fit into the memory, 1000 bytes each."""

    def judge(parts: Any) -> Any:
        count = cells(parts)
        memory.require(1000 * count, f"{count} cells", error=ValueError)
        return parts

    return AfterValidator(judge)


Parts = Annotated[tuple[Count, Count, Count], fitting(lambda parts: 6 * prod(parts))]


class Solid(Record):
    """A body of one density [kg/m^3], moved by `origin`, with one velocity; a thickness in the plane only.

    rest_shape: its nodes at rest are the field `rest`, which energies with `rest_shape` read. temperature:
    its nodes have temperatures `T`, which energies with `thermal_expansion` read.
    """

    density: Annotated[float | str, Quantity("kg m^-3", "positive")]
    """Mass per volume."""
    thickness: Length | None = None
    """Thickness of a body in the plane (default: 1 m; a body in space has none)."""
    origin: tuple[Place, ...] = ()
    """Displacement of the whole body from where the mesh is made; empty: none."""
    velocity: tuple[Speed, ...] = ()
    """Velocity of all nodes; empty: at rest."""
    rest_shape: bool = False
    """Keep the nodes at rest as a field `rest`, which energies with `rest_shape` read."""
    temperature: Annotated[float | str, Quantity("K", "nonnegative", absolute=True)] | None = None
    """Temperature of all nodes, the field `T` of energies with `thermal_expansion` (default: no field)."""
    periodic: str = ""
    """Axes along which the body repeats, letters of "xyz": its opposite sides are one; empty: none."""
    deformation: tuple[tuple[float, ...], ...] = ()
    """Macroscopic deformation gradient of a body that repeats, row by row; empty: none."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        mesh = self.mesh(values, context)
        d, thickness = mesh.dimension, values["thickness"]
        if d == 3 and thickness is not None:
            raise UserError("thickness: a body in space has none; leave it out")
        for key in ("origin", "velocity"):
            if len(values[key]) not in (0, d):
                raise UserError(f"{key}: {len(values[key])} numbers for {d} axes")
        metre = 1.0 / context.units.in_si("m")
        moved = values["origin"], values["velocity"], self.rest_shape, values["temperature"]
        made = solid(mesh, values["density"], thickness or metre, *moved)
        gradient = self._deformation(d)
        if not self.periodic:
            return made
        return glued_state(made, ["xyz".index(a) for a in self.periodic], gradient, thickness or metre)

    def _deformation(self, d: int) -> np.ndarray:
        """F (d, d), checked with the axes along which the body repeats."""
        known, gradient = "xyz"[:d], np.array(self.deformation or np.eye(d))
        if not set(self.periodic) <= set(known) or len(set(self.periodic)) < len(self.periodic):
            raise UserError(
                f"periodic: needs different letters of '{known}', got '{self.periodic}'; correct it"
            )
        if self.periodic and self.rest_shape:
            raise UserError("periodic: the nodes at rest have no images, got rest_shape; leave it out")
        if self.deformation and not self.periodic:
            raise UserError("deformation: is of a body that repeats, got no `periodic`; give it, too")
        rows = [len(row) for row in self.deformation]
        if self.deformation and rows != [d] * d:
            raise UserError(f"deformation: needs {d} rows of {d} numbers, got rows of {rows}; correct it")
        if not np.linalg.det(gradient) > 0.0:
            raise UserError("deformation: must have a positive determinant; correct it")
        return gradient

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        """Undeformed, where it was made; `values` are the block's, in the run's units."""
        raise NotImplementedError


Order = Literal[1, 2]
"""2: cells with a node in the middle of each edge, and quadratic functions."""


class Rectangle(Solid):
    """A rectangle with a corner at the origin, in parts of 2 triangles; sides left, right, bottom, top.

    cell: "quadrilaterals" are whole parts.
    """

    size: tuple[Length, Length]
    """Lengths of the sides, along x and y."""
    cell: Literal["triangles", "quadrilaterals"] = "triangles"
    """Shape of the cells: two triangles, or one quadrilateral, in each part."""
    order: Order = 1
    """Order of the cells; 2: with a node in the middle of each edge."""
    cells: Annotated[tuple[Count, Count], fitting(lambda parts: 2 * prod(parts))]
    """Number of parts along x and y; cells are counted part by part, y fastest, the lower triangle first."""

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        return generators.rectangle(values["size"], self.cells, self.cell, self.order)


class Block(Solid):
    """A solid in parts of 6 tetrahedra; or, by `cell`, of one of the hexahedra."""

    cell: Literal["tetrahedra", "hexahedra"] = "tetrahedra"
    """Shape of the cells: six tetrahedra, or one hexahedron, in each part."""
    order: Order = 1
    """Order of the cells; 2: with a node in the middle of each edge."""


class Box(Block):
    """A box with a corner at the origin, in parts of 6 tetrahedra; or, by `cell`, of one of the hexahedra.

    Sides: left, right (x), front, back (y), bottom, top (z).
    """

    size: tuple[Length, Length, Length]
    """Lengths of the edges, along x, y and z."""
    cells: Parts
    """Number of parts along x, y and z; cells are counted part by part, z fastest, then y."""

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        return generators.box(values["size"], self.cells, self.cell, self.order)


class Beam(Block):
    """A box whose axis lies on the x axis, from the origin to `length`; sides as of a box."""

    length: Length
    """Length, along x."""
    width: Length
    """Width, along y."""
    height: Length
    """Height, along z."""
    cells: Parts
    """Number of parts along x, y and z; cells are counted part by part, z fastest, then y."""

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        size = values["length"], values["width"], values["height"]
        return generators.beam(*size, self.cells, self.cell, self.order)


class Disc(Solid):
    """A disc around the origin, in rings of triangles; bodies centre, rim."""

    radius: Length
    """Radius."""
    order: Order = 1
    """Order of the cells; 2: with a node in the middle of each edge."""
    rings: Annotated[Count, fitting(lambda rings: 6 * rings**2)]
    """Number of rings of triangles around the centre; cells are counted ring by ring, from the centre on."""

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        return generators.disc(values["radius"], self.rings, self.order)


class FibreCell(Solid):
    """A square cell with a round fibre in its middle, in quadrilaterals; with a `depth` in hexahedra.

    Bodies: fibre, matrix, and sides as of a rectangle or a box; the fibre is along z.
    """

    size: Length
    """Edge of the square, in the middle of which the fibre is."""
    fibre_fraction: Annotated[float, Field(gt=0.0, lt=0.785)]
    """Part of the fibre in the area, at most some 0.75."""
    depth: Length | None = None
    """Length along the fibre (default: a cell in the plane)."""
    around: Count = 4
    """Number of cells along each side of the square."""
    rings: tuple[Count, Count] = (2, 3)
    """Numbers of cells from the core of the fibre to its surface, and from there to the square."""
    layers: Count = 1
    """Number of cells along the fibre."""
    order: Order = 2
    """Order of the cells; 2: with a node in the middle of each edge, round on the fibre."""

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        count = self.around * (self.around + 4 * sum(self.rings)) * self.layers
        memory.require(1000 * count, f"{count} cells")
        depth = values["depth"] or 0.0
        return fibre_mesh(
            values["size"], self.fibre_fraction, self.around, self.rings, depth, self.layers, self.order
        )


class FromFile(Solid):
    """A mesh from a file beside the scene; its numbers are in the unit `length`, which few files state.

    Nodes of no cell are refused, or left out with `drop_unused`.
    """

    file: str
    """File beside the scene."""
    length: str | None = None
    """Unit of the coordinates in the file; needed in runs with units (default: what the file states)."""
    drop_unused: bool = False
    """Leave out nodes that belong to no cell; false: refuse the file."""

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        mesh, remarks = inspect(self.read(context.read(self.file)), self.drop_unused)
        context.remarks += remarks
        return mesh.scaled_mesh(self._unit_of(mesh, context))

    def _unit_of(self, mesh: Mesh, context: StateContext) -> float:
        """The unit of the file's numbers, in the run's; 1 in a run without units."""
        if self.length is not None:
            return context.units.convert(f"1 {self.length}", "m")
        if not context.units.names:
            return 1.0
        if not mesh.length:
            raise UserError(
                f"length: needs the unit of the coordinates, which {mesh.source} does not state; write"
                ' length = "mm", or the unit in which it was drawn'
            )
        context.remarks.append(f"{mesh.source}: its coordinates are in {mesh.length}, as it states")
        return context.units.convert(f"1 {mesh.length}", "m")

    def read(self, data: bytes) -> Mesh:
        """The mesh of the file, unchanged."""
        raise NotImplementedError


class FromGmsh(FromFile):
    """A mesh from a Gmsh file (MSH 4.1, and 2.2 with the extra `mesh`); physical groups are bodies."""

    def read(self, data: bytes) -> Mesh:
        is_old = (version_of(data) or "").startswith("2")
        return read_foreign(self.file, data) if is_old else gmsh.read(self.file, data)


class FromMesh(FromFile):
    """A mesh in another format of one file (VTK, VTU, Abaqus, Nastran, ...), with the extra `mesh`."""

    def read(self, data: bytes) -> Mesh:
        return read_foreign(self.file, data)


STATES = {
    "rectangle": Rectangle,
    "box": Box,
    "beam": Beam,
    "disc": Disc,
    "fibre_cell": FibreCell,
    "gmsh": FromGmsh,
    "mesh": FromMesh,
}
