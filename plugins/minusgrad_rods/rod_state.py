"""States of rods from lines of points: fields over nodes and edges, joints of neighbouring edges, ends.

    fields      x, v (n, 3), m (n,) [kg];  q, q_rate (e, 4), q_inertia (e,) [kg m^2]
    list        rows          data of its elements
    edges       (e, 2)        the nodes of each edge: length, radius
    rod_frames  (e, 1)        the frame of each edge: length, radius
    rod_edges   (e, 3)        edge, node, node: length, area, shear_areas, polar
    rod_joints  (j, 2)        edge, edge: length, second_moments, torsion, rest

    m_i = rho/2 sum of A l of the edges at node i,   q_inertia = 4 rho I l

The kinetic energy of a quaternion, 4 rho I l |dq/dt|^2 / 2 = rho I l |omega|^2 / 2, has one inertia for all
axes: I = I_1 + I_2 is that of a turn about the rod, I = (I_1 + I_2) / 2 that of a cross-section in bending.

Decisions 0188, 0190.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from minusgrad.plugin import Body, Motion, State, Tubes, UserError, node_numbers

from . import frames
from .sections import SectionNumbers

SHORT = 1e-9
"""Edges below this part of the longest one have no direction."""


@dataclass(frozen=True)
class RodEnd:
    """An end that clamps may hold: its edges, and for each the length to its middle, the wall, the section.

    edges (k,), lengths (k,) [m], walls (k, 4) quaternions, second_moments (k, 2) and torsion (k,) [m^4]; k is
    one but for pinned nodes of networks.
    """

    edges: np.ndarray
    lengths: np.ndarray
    walls: np.ndarray
    second_moments: np.ndarray
    torsion: np.ndarray


@dataclass(frozen=True)
class RodParts:
    """What compounds of rods read of a state: ends by name; the names of rigid nodes of several rods."""

    ends: Mapping[str, RodEnd] = field(default_factory=dict)
    rigid: Collection[str] = ()


@dataclass(frozen=True)
class RodLine:
    """A line of points (n, 3) with frames of its edges (e, 4); a closed one goes on from last to first.

    rest (j, 3): rotation vectors [rad] of the joints at rest; None: as they are.
    """

    points: np.ndarray
    frames: np.ndarray
    closed: bool
    rest: np.ndarray | None

    @property
    def edges(self) -> np.ndarray:
        """The nodes of each edge, (e, 2)."""
        n = len(self.points)
        first = np.arange(n if self.closed else n - 1)
        return np.stack([first, (first + 1) % n], axis=1)

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of the edges, (e,)."""
        return np.linalg.norm(self.points[self.edges[:, 1]] - self.points[self.edges[:, 0]], axis=1)

    @property
    def joints(self) -> np.ndarray:
        """Neighbouring edges, (j, 2)."""
        e = len(self.frames)
        first = np.arange(e if self.closed else e - 1)
        return np.stack([first, (first + 1) % e], axis=1)

    @property
    def rest_halves(self) -> np.ndarray:
        """Unit quaternions (j, 4) of half of the rotation at rest of each joint."""
        if self.rest is not None:
            return frames.rotation_of(0.5 * self.rest)
        a, b = self.frames[self.joints[:, 0]], self.frames[self.joints[:, 1]]
        return frames.half_rotations(frames.multiply(frames.conjugate(a), b))

    @property
    def shape_halves(self) -> np.ndarray:
        """The same of the rotation that the joints have now."""
        a, b = self.frames[self.joints[:, 0]], self.frames[self.joints[:, 1]]
        return frames.half_rotations(frames.multiply(frames.conjugate(a), b))


def line_of_points(
    points: np.ndarray, normal: np.ndarray | None, closed: bool = False, rest: np.ndarray | None = None
) -> RodLine:
    """A line with frames that are carried along it; normal (3,): d1 at its start (None: any).

    Raises `UserError` for points at one place, a line that turns back on itself, a normal along the line.
    """
    n = len(points)
    ahead = np.roll(points, -1, axis=0) - points
    ahead = ahead if closed else ahead[:-1]
    lengths = np.linalg.norm(ahead, axis=1)
    if not np.isfinite(points).all():
        raise UserError("points: a coordinate is not finite; correct it")
    if len(short := np.flatnonzero(lengths <= SHORT * lengths.max())):
        k = int(short[0])
        raise UserError(
            f"points: {k} and {(k + 1) % n} are at one place; an edge has a length, leave one out"
        )
    tangents = ahead / lengths[:, None]
    turns = np.sum(tangents[:-1] * tangents[1:], axis=1)
    if len(folded := np.flatnonzero(turns < -1.0 + 1e-9)):
        raise UserError(f"points: the line turns back on itself at point {folded[0] + 1}; move it")
    if normal is None:
        normal = np.eye(3)[int(np.argmin(np.abs(tangents[0])))]
    across = normal - (normal @ tangents[0]) * tangents[0]
    if not np.linalg.norm(across) > 1e-6 * np.linalg.norm(normal) > 0.0:
        raise UserError("normal: lies along the rod, and d1 is across it; give another direction")
    return RodLine(points, frames.transported_frames(tangents, normal), closed, rest)


def joint_lengths(line: RodLine) -> np.ndarray:
    """What each joint stands for: from the middle of its first edge to that of the second, (j,)."""
    return line.lengths[line.joints].mean(axis=1)


def rod_state(
    line: RodLine,
    at_edges: SectionNumbers,
    at_joints: SectionNumbers,
    at_ends: SectionNumbers,
    density: float,
    velocity: np.ndarray,
    twists: bool,
    looks: Tubes | None = None,
) -> State:
    """The state of one rod; at_ends: the sections at its two ends, of a closed one unused.

    twists: the inertia of the frames is that of a turn about the rod, else that of bending. looks: of edges.
    """
    n, edges, lengths = len(line.points), line.edges, line.lengths
    m = np.zeros(n)
    np.add.at(m, edges, (0.5 * density * at_edges.area * lengths)[:, None])
    inertia = 4.0 * density * at_edges.polar * lengths * (1.0 if twists else 0.5)
    numbers = np.arange(len(edges))
    rows = {
        "edges": node_numbers("edges", edges),
        "rod_edges": node_numbers("rod_edges", np.column_stack([numbers, edges])),
        "rod_frames": node_numbers("rod_frames", numbers[:, None]),
    }
    surface = {"length": lengths, "radius": at_edges.radius}
    halves = line.rest_halves
    data = {
        "edges": surface,
        "rod_frames": surface,
        "rod_edges": {
            "length": lengths,
            "area": at_edges.area,
            "shear_areas": at_edges.shear_areas,
            "polar": at_edges.polar,
        },
    }
    if len(line.joints):
        rows["rod_joints"] = node_numbers("rod_joints", line.joints)
        data["rod_joints"] = {
            "length": joint_lengths(line),
            "second_moments": at_joints.second_moments,
            "torsion": at_joints.torsion,
            "rest": halves[:, 1:] / halves[:, :1],
        }
    bodies = () if line.closed else (Body("first", [0]), Body("last", [n - 1]))
    return State(
        fields={
            "x": line.points,
            "v": np.tile(velocity, (n, 1)),
            "m": m,
            "q": line.frames,
            "q_rate": np.zeros_like(line.frames),
            "q_inertia": inertia,
        },
        units={"x": "m", "v": "m s^-1", "m": "kg", "q": "1", "q_rate": "s^-1", "q_inertia": "kg m^2"},
        motions=(Motion("x", "v", "m"), Motion("q", "q_rate", "q_inertia")),
        bodies=bodies,
        tuples=rows,
        data=data,
        labels={"x": "position", "v": "velocity", "m": "mass"},
        shown=("edges",),
        looks={} if looks is None else {"edges": looks},
        brings=RodParts({} if line.closed else _line_ends(line, halves, at_ends)),
    )


def _line_ends(line: RodLine, halves: np.ndarray, at_ends: SectionNumbers) -> dict[str, RodEnd]:
    """The ends of an open line."""
    edges, walls = np.array([0, len(line.frames) - 1]), end_walls(line, halves)
    return {
        name: RodEnd(
            edges[k : k + 1],
            0.5 * line.lengths[edges[k : k + 1]],
            walls[k : k + 1],
            at_ends.second_moments[k : k + 1],
            at_ends.torsion[k : k + 1],
        )
        for k, name in enumerate(("first", "last"))
    }


def end_walls(line: RodLine, halves: np.ndarray) -> np.ndarray:
    """The walls (2, 4) of both ends: where the edge is without strain, half a joint away."""
    first, last = line.frames[0], line.frames[-1]
    if len(halves):
        shape = line.shape_halves
        none = frames.conjugate
        first = frames.multiply(frames.multiply(first, none(shape[0])), halves[0])
        last = frames.multiply(frames.multiply(last, shape[-1]), none(halves[-1]))
    return np.stack([first, last])
