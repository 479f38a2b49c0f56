"""States of one rod: straight, along a circle or a helix, through the points of a file."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    ByForm,
    CsvTable,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    memory,
    one_or_table,
    quantities,
)

from .rod_state import RodLine, joint_lengths, line_of_points, rod_state
from .sections import AnySection

Length = Annotated[float | str, Quantity("m", "positive")]
Place = Annotated[float | str, Quantity("m")]
Speed = Annotated[float | str, Quantity("m s^-1")]
Angle = Annotated[float | str, Quantity("rad", "positive")]
Curvature = Annotated[float | str, Quantity("rad/m")]
Three = Annotated[tuple[float, ...], Field(max_length=3)]
BYTES = 2000
"""Memory of an edge, some."""


class Natural(Record):
    """The curvature and the twist of a rod without forces, the same everywhere."""

    curvature: Annotated[tuple[Curvature, ...], Field(min_length=2, max_length=2)] = (0.0, 0.0)
    """Curvature about d1 and about d2."""
    twist: Curvature = 0.0
    """Twist: the angle by which the cross-section turns along the rod, per length."""


class RodModel(Record):
    """A rod with a cross-section and a density, at rest, with frames that are carried along it."""

    section: AnySection
    """Cross-section: a table with the kind circle, tube, rectangle or given."""
    density: Annotated[float | str, Quantity("kg m^-3", "positive")]
    """Mass per volume."""
    normal: Three = ()
    """Direction of d1 at the start of the rod, made across it; empty: any (of a circle its axis)."""
    natural: Annotated[Literal["shape", "straight"] | Natural, ByForm(one_or_table, ("one", "table"))] = (
        "shape"
    )
    """Shape without forces: "shape", as it begins; "straight"; or a table with curvature and twist."""
    inertia: Literal["twist", "bending"] = "twist"
    """Inertia of the frames, one for all axes: of a turn about the rod, or of bending."""
    velocity: tuple[Speed, ...] = ()
    """Velocity of all nodes; empty: at rest."""

    def make_rod(
        self, context: StateContext, points: np.ndarray, normal: Any = None, closed: bool = False
    ) -> State:
        """The state of a rod through points (n, 3); normal (3,): d1 of the first edge where none is given."""
        values = quantities(self, context.units)
        if len(self.normal) not in (0, 3) or len(self.velocity) not in (0, 3):
            raise UserError("normal, velocity: need 3 numbers each; give one for each axis")
        given = np.array(self.normal, float) if self.normal else normal
        line = line_of_points(points, given, closed)
        line = RodLine(line.points, line.frames, closed, rest_of_joints(values["natural"], line))
        lengths = line.lengths
        ends = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
        middles, inner = 0.5 * (ends[1:] + ends[:-1]), ends[1:] if closed else ends[1:-1]
        edges, joints, both = (
            self.section.numbers(values["section"], s) for s in (middles, inner, np.array([0.0, 1.0]))
        )
        velocity = np.array(values["velocity"] or np.zeros(3), float)
        twists = self.inertia == "twist"
        looks = self.section.tubes(values["section"], middles, "q")
        return rod_state(line, edges, joints, both, values["density"], velocity, twists, looks)


class Rod(RodModel):
    """A straight rod of equal elements."""

    elements: Annotated[int, Field(ge=1)]
    """Number of edges."""
    length: Length
    """Length of the rod."""
    direction: Annotated[tuple[float, ...], Field(min_length=3, max_length=3)] = (1.0, 0.0, 0.0)
    """Direction of the rod, of any size."""
    origin: tuple[Place, ...] = ()
    """Where its first node is; empty: at 0."""

    def make(self, context: StateContext) -> State:
        values, along = quantities(self, context.units), np.array(self.direction, float)
        memory.require(BYTES * self.elements, f"{self.elements} elements", error=UserError)
        if not (size := np.linalg.norm(along)) > 0.0:
            raise UserError("direction: needs a length above zero, got zeros; give another one")
        s = values["length"] * np.arange(self.elements + 1) / self.elements
        return self.make_rod(context, s[:, None] * along / size + origin_of(values))


class RodCircle(RodModel):
    """A rod along a circle, or along a part of it, from the direction `start` about its axis."""

    elements: Annotated[int, Field(ge=2)]
    """Number of edges."""
    radius: Length
    """Radius of the circle, on which the nodes are."""
    angle: Angle = "360 deg"
    """Angle of the arc; 360 deg is a closed ring."""
    axis: Annotated[tuple[float, ...], Field(min_length=3, max_length=3)] = (0.0, 0.0, 1.0)
    """Axis of the circle."""
    start: Three = ()
    """Direction from the centre to the first node; empty: any across the axis."""
    origin: tuple[Place, ...] = ()
    """Centre of the circle; empty: at 0."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        memory.require(BYTES * self.elements, f"{self.elements} elements", error=UserError)
        axis, first, second = circle_axes(self.axis, self.start)
        angle = values["angle"]
        if angle > 2.0 * np.pi * (1.0 + 1e-12):
            raise UserError(f"angle: is at most a turn, got {angle:g} rad; use rod_helix")
        closed = angle > 2.0 * np.pi * (1.0 - 1e-9)
        if closed and self.elements < 3:
            raise UserError(f"elements: a ring has 3 at least, got {self.elements}; give more")
        a = angle * np.arange(self.elements + (0 if closed else 1)) / self.elements
        ring = values["radius"] * (np.cos(a)[:, None] * first + np.sin(a)[:, None] * second)
        return self.make_rod(context, ring + origin_of(values), axis, closed)


class RodHelix(RodModel):
    """A rod along a helix about its axis: a spring."""

    elements: Annotated[int, Field(ge=2)]
    """Number of edges."""
    radius: Length
    """Radius of the helix, on which the nodes are."""
    pitch: Place
    """Rise of a turn along the axis; negative: a left-handed helix."""
    turns: Annotated[float, Field(gt=0.0)]
    """Number of turns."""
    axis: Annotated[tuple[float, ...], Field(min_length=3, max_length=3)] = (0.0, 0.0, 1.0)
    """Axis of the helix."""
    start: Three = ()
    """Direction from the axis to the first node; empty: any across it."""
    origin: tuple[Place, ...] = ()
    """Point of the axis beside the first node; empty: at 0."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        memory.require(BYTES * self.elements, f"{self.elements} elements", error=UserError)
        axis, first, second = circle_axes(self.axis, self.start)
        part = np.arange(self.elements + 1) / self.elements * self.turns
        a = 2.0 * np.pi * part
        ring = values["radius"] * (np.cos(a)[:, None] * first + np.sin(a)[:, None] * second)
        return self.make_rod(context, ring + values["pitch"] * part[:, None] * axis + origin_of(values), axis)


class RodPoints(RodModel):
    """A rod through the points of a CSV file beside the scene, with the columns x, y and z."""

    file: str
    """CSV file with the columns x, y, z, a node each, in their order."""
    length: str
    """Unit of the coordinates in the file."""
    closed: bool = False
    """Join the last point with the first: a ring."""

    def make(self, context: StateContext) -> State:
        table = CsvTable(self.file, context.read(self.file))
        columns = [table.numbers(name) for name in "xyz"]
        points = np.stack(columns, axis=1) * context.units.convert(f"1 {self.length}", "m")
        least = 3 if self.closed else 2
        if len(points) < least:
            raise UserError(f"file: '{self.file}' needs {least} points at least, got {len(points)}; add some")
        return self.make_rod(context, points, None, self.closed)


def rest_of_joints(natural: Any, line: RodLine) -> np.ndarray | None:
    """Rotation vectors of the joints at rest (j, 3) of the key `natural`; None: as they are."""
    if natural == "shape":
        return None
    if natural == "straight":
        return np.zeros((len(line.joints), 3))
    return joint_lengths(line)[:, None] * np.array([*natural["curvature"], natural["twist"]], float)


def origin_of(values: dict[str, Any]) -> np.ndarray:
    """The key `origin` (3,). Raises `UserError` for another number of coordinates."""
    if len(values["origin"]) not in (0, 3):
        raise UserError(f"origin: needs 3 numbers, got {len(values['origin'])}; give one for each axis")
    return np.array(values["origin"] or np.zeros(3), float)


def circle_axes(axis: Any, start: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit vectors (3,) along the axis, towards the first point, and across both."""
    along = np.array(axis, float)
    if not (size := np.linalg.norm(along)) > 0.0:
        raise UserError("axis: needs a length above zero, got zeros; give another one")
    along = along / size
    if len(start) not in (0, 3):
        raise UserError(f"start: needs 3 numbers, got {len(start)}; give one for each axis")
    first = np.array(start, float) if start else np.eye(3)[int(np.argmin(np.abs(along)))]
    first = first - (first @ along) * along
    if not (size := np.linalg.norm(first)) > 1e-9:
        raise UserError("start: lies along the axis, got no direction across it; give another one")
    return along, first / size, np.cross(along, first / size)


STATES = {"rod": Rod, "rod_circle": RodCircle, "rod_helix": RodHelix, "rod_points": RodPoints}
