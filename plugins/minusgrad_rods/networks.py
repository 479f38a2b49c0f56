"""Networks of rods between named nodes: rigid nodes with frames of their own, pinned nodes without.

    list          rows          data of its elements
    rod_branches  (b, 2)        frame of a rigid node, edge: length, second_moments, torsion, polar, turn

The other fields and lists are those of one rod (`rod_state`), over the rods one after another; nodes of x
begin with those that have names, rows of q end with the frames of rigid nodes. A node of one rod has no
frame; it is an end that a clamp may hold, as pinned nodes are, rod by rod. A frame of a node takes a quarter
of the inertia of each frame at it.

Decisions 0196.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    ByForm,
    CsvTable,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    Tubes,
    UserError,
    at_key,
    choices,
    memory,
    node_numbers,
    one_or_table,
    quantities,
)

from .rod_state import SHORT, RodEnd, RodLine, RodParts, end_walls, joint_lengths, line_of_points
from .sections import AnySection, SectionNumbers
from .states import BYTES, Natural, Place, Speed, Three, rest_of_joints

SHARE = 0.25
"""The part of the inertia of a frame that a rigid node at its end takes."""
Place3 = Annotated[tuple[Place, ...], Field(min_length=3, max_length=3)]


class NetworkRod(Record):
    """A rod between two nodes, straight or through points."""

    nodes: tuple[str, str]
    """Names of the nodes at its ends."""
    through: tuple[Place3, ...] = ()
    """Points that it passes between them; empty: it is straight."""
    elements: Annotated[int, Field(ge=1)] | None = None
    """Number of edges of each straight piece (default: that of the network)."""
    section: AnySection | None = None
    """Cross-section (default: that of the network)."""
    normal: Three = ()
    """Direction of d1 at its first node, made across it; empty: any."""
    name: str = ""
    """Name of the body of its nodes; empty: it is none."""


class RodNetwork(Record):
    """Rods between named nodes, at rest; rods that meet in a node are rigidly joined, unless it is pinned."""

    nodes: dict[str, Place3] = {}  # noqa: RUF012
    """Positions of the nodes by name."""
    nodes_file: str = ""
    """CSV file with more nodes, in the columns name, x, y and z; empty: none."""
    rods: tuple[Annotated[tuple[str, ...] | NetworkRod, ByForm(one_or_table, ("one", "table"))], ...] = ()
    """Rods: two names of nodes each, or a table."""
    rods_file: str = ""
    """CSV file with more rods, in the columns first and last; empty: none."""
    pinned: tuple[str, ...] | Literal["all"] = ()
    """Nodes in which rods turn freely against each other; "all" for every node."""
    elements: Annotated[int, Field(ge=1)]
    """Number of edges of each straight piece of a rod."""
    section: AnySection
    """Cross-section: a table with the kind circle, tube, rectangle or given."""
    density: Annotated[float | str, Quantity("kg m^-3", "positive")]
    """Mass per volume."""
    length: str = "m"
    """Unit of the coordinates in a file of nodes."""
    natural: Annotated[Literal["shape", "straight"] | Natural, ByForm(one_or_table, ("one", "table"))] = (
        "shape"
    )
    """Shape of the rods without forces: "shape", as they begin; "straight"; or a table."""
    inertia: Literal["twist", "bending"] = "twist"
    """Inertia of the frames, one for all axes: of a turn about the rod, or of bending."""
    velocity: tuple[Speed, ...] = ()
    """Velocity of all nodes; empty: at rest."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        places = self._places(context, values)
        rods = self._rods(context, places)
        self._refuse_misfits(places, rods)
        if len(self.velocity) not in (0, 3):
            raise UserError(f"velocity: needs 3 numbers, got {len(self.velocity)}; give one for each axis")
        made = [self._made_rod(k, rod, context, values, places) for k, rod in enumerate(rods)]
        network = Assembled(list(places), np.array([*places.values()]), made, self._pins(places))
        if len(parts := network.parts()) > 1:
            listed = "; ".join(", ".join(one[:4]) + (", ..." if len(one) > 4 else "") for one in parts)
            context.remarks.append(f"the network has {len(parts)} parts that no rod joins: {listed}")
        velocity = np.array(values["velocity"] or np.zeros(3), float)
        return network.state(values["density"], velocity, 1.0 if self.inertia == "twist" else 0.5)

    def _places(self, context: StateContext, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The nodes by name. Raises `UserError` for two of one name, or at one place."""
        found = {name: np.array(place, float) for name, place in values["nodes"].items()}
        if self.nodes_file:
            table = CsvTable(self.nodes_file, context.read(self.nodes_file))
            unit = context.units.convert(f"1 {self.length}", "m")
            x = np.stack([table.numbers(axis) for axis in "xyz"], axis=1) * unit
            names = table.texts("name")
            if twice := [name for name in names if name in found or names.count(name) > 1]:
                raise UserError(f"nodes_file: has a second node named '{twice[0]}'; rename one")
            found |= dict(zip(names, x, strict=True))
        if len(found) < 2:
            raise UserError(f"nodes: needs 2 at least, got {len(found)}; add some")
        x = np.array([*found.values()])
        if not np.isfinite(x).all():
            raise UserError("nodes: a coordinate is not finite; correct it")
        order = np.lexsort(x.T[::-1])
        near = np.linalg.norm(np.diff(x[order], axis=0), axis=1) <= SHORT * np.ptp(x, axis=0).max()
        if near.any():
            k = int(np.argmax(near))
            a, b = sorted(order[k : k + 2])
            raise UserError(f"nodes: '{[*found][a]}' and '{[*found][b]}' are at one place; join them in one")
        return found

    def _rods(self, context: StateContext, places: Mapping[str, np.ndarray]) -> list[NetworkRod]:
        """The rods as tables. Raises `UserError` for a node that there is not."""
        found = []
        for k, rod in enumerate(self.rods):
            if isinstance(rod, tuple) and len(rod) != 2:
                raise UserError(f"rods.{k}: joins two nodes, got {len(rod)} names; give two")
            found.append(rod if isinstance(rod, NetworkRod) else NetworkRod(nodes=(rod[0], rod[1])))
        if self.rods_file:
            table = CsvTable(self.rods_file, context.read(self.rods_file))
            pairs = zip(table.texts("first"), table.texts("last"), strict=True)
            found += [NetworkRod(nodes=pair) for pair in pairs]
        if not found:
            raise UserError("rods: needs one at least, got none; add some")
        for k, rod in enumerate(found):
            for name in rod.nodes:
                if name not in places:
                    raise UserError(f"rods.{k}: no node named '{name}'{choices(name, places)}")
        return found

    def _refuse_misfits(self, places: Mapping[str, np.ndarray], rods: Sequence[NetworkRod]) -> None:
        """Raises `UserError` for rods between the same nodes, and nodes without a rod."""
        seen: dict[frozenset[str], int] = {}
        for k, rod in enumerate(rods):
            first, last = rod.nodes
            if rod.through:
                continue
            if first == last:
                raise UserError(f"rods.{k}: joins '{first}' with itself; let it pass points, in `through`")
            if (other := seen.setdefault(frozenset(rod.nodes), k)) != k:
                raise UserError(f"rods.{k}: joins '{first}' and '{last}' as rod {other} does; leave one out")
        used = {name for rod in rods for name in rod.nodes}
        if idle := [name for name in places if name not in used]:
            raise UserError(f"nodes: '{idle[0]}' is of no rod, and has no mass; leave it out, or join it")
        for name in () if self.pinned == "all" else self.pinned:
            if name not in places:
                raise UserError(f"pinned: no node named '{name}'{choices(name, places)}")
        named = [rod.name for rod in rods if rod.name]
        if twice := [name for name in named if named.count(name) > 1 or name in places]:
            raise UserError(f"rods: two bodies are named '{twice[0]}'; rename the rod")

    def _pins(self, places: Mapping[str, np.ndarray]) -> set[str]:
        return {*places} if self.pinned == "all" else {*self.pinned}

    def _made_rod(
        self,
        k: int,
        rod: NetworkRod,
        context: StateContext,
        values: Mapping[str, Any],
        places: Mapping[str, np.ndarray],
    ) -> "MadeRod":
        with at_key("rods", k):
            own = quantities(rod, context.units)
            if len(rod.normal) not in (0, 3):
                raise UserError(f"normal: needs 3 numbers, got {len(rod.normal)}; give one for each axis")
            bends = [
                places[rod.nodes[0]],
                *np.array(own["through"], float).reshape(-1, 3),
                places[rod.nodes[1]],
            ]
            n = rod.elements or self.elements
            memory.require(BYTES * n * (len(bends) - 1), f"{n} elements", error=UserError)
            s = np.arange(n)[:, None] / n
            pieces = [a + s * (b - a) for a, b in pairwise(bends)]
            points = np.concatenate([*pieces, bends[-1:]])
            line = line_of_points(points, np.array(rod.normal, float) if rod.normal else None)
            line = RodLine(line.points, line.frames, False, rest_of_joints(values["natural"], line))
            model, given = (rod.section, own["section"]) if rod.section else (self.section, values["section"])
            ends = np.concatenate([[0.0], np.cumsum(line.lengths)]) / line.lengths.sum()
            middles = 0.5 * (ends[1:] + ends[:-1])
            at_edges, at_joints = model.numbers(given, middles), model.numbers(given, ends[1:-1])
            at_ends, looks = model.numbers(given, np.array([0.0, 1.0])), model.tubes(given, middles, "q")
            return MadeRod(rod, line, at_edges, at_joints, at_ends, looks)


@dataclass(frozen=True)
class MadeRod:
    """A rod of a network: its line from node to node, the sections at edges, joints and ends, its looks."""

    given: NetworkRod
    line: RodLine
    at_edges: SectionNumbers
    at_joints: SectionNumbers
    at_ends: SectionNumbers
    looks: Tubes


@dataclass(frozen=True)
class Branch:
    """The end of a rod at a node: rod, edge of the network, half of its length, wall, section."""

    rod: int
    edge: int
    length: float
    wall: np.ndarray
    second_moments: np.ndarray
    torsion: float
    polar: float


class Assembled:
    """A network of made rods; names and x (N, 3) of the nodes that have names."""

    def __init__(self, names: Sequence[str], x: np.ndarray, rods: Sequence[MadeRod], pinned: set[str]):
        self.names, self.rods, self._number = names, rods, {name: k for k, name in enumerate(names)}
        self.first_edge = np.concatenate([[0], np.cumsum([len(rod.line.frames) for rod in rods])])
        points, self.nodes, count = [x], [], len(x)
        for rod in rods:
            inner = rod.line.points[1:-1]
            first, last = (self._number[name] for name in rod.given.nodes)
            self.nodes.append(np.array([first, *range(count, count + len(inner)), last]))
            points.append(inner)
            count += len(inner)
        self.x = np.concatenate(points)
        self.branches = self._branches()
        several = [name for name in names if len(self.branches[name]) > 1]
        self.rigid = [name for name in several if name not in pinned]

    def parts(self) -> list[list[str]]:
        """The names of the nodes of each part that no rod joins with another."""
        of = {name: name for name in self.names}

        def root(name: str) -> str:
            while of[name] != name:
                name = of[name]
            return name

        for rod in self.rods:
            first, last = (root(name) for name in rod.given.nodes)
            of[last] = first
        found: dict[str, list[str]] = {}
        for name in self.names:
            found.setdefault(root(name), []).append(name)
        return [*found.values()]

    def _branches(self) -> dict[str, list[Branch]]:
        """The ends of rods at each node."""
        found: dict[str, list[Branch]] = {name: [] for name in self.names}
        for k, rod in enumerate(self.rods):
            line, ends = rod.line, rod.at_ends
            walls = end_walls(line, line.rest_halves)
            for j, (name, local) in enumerate(zip(rod.given.nodes, (0, len(line.frames) - 1), strict=True)):
                half = 0.5 * float(line.lengths[local])
                section = ends.second_moments[j], float(ends.torsion[j]), float(ends.polar[j])
                found[name].append(Branch(k, int(self.first_edge[k]) + local, half, walls[j], *section))
        return found

    def state(self, density: float, velocity: np.ndarray, share: float) -> State:
        """The state; share: the part of the polar inertia that frames have."""
        n, e = len(self.x), int(self.first_edge[-1])
        edges = np.concatenate([np.stack([row[:-1], row[1:]], axis=1) for row in self.nodes])
        lengths = np.concatenate([rod.line.lengths for rod in self.rods])
        at = {
            key: np.concatenate([getattr(rod.at_edges, key) for rod in self.rods])
            for key in ("area", "shear_areas", "polar", "radius")
        }
        m = np.zeros(n)
        np.add.at(m, edges, (0.5 * density * at["area"] * lengths)[:, None])
        inertia, frames_of_nodes = self._shared_inertia(4.0 * density * at["polar"] * lengths * share)
        q = np.concatenate([*(rod.line.frames for rod in self.rods), frames_of_nodes])
        numbers, surface = np.arange(e), {"length": lengths, "radius": at["radius"]}
        rows = {
            "edges": node_numbers("edges", edges),
            "rod_edges": node_numbers("rod_edges", np.column_stack([numbers, edges])),
            "rod_frames": node_numbers("rod_frames", numbers[:, None]),
        }
        own = {"length": lengths} | {key: at[key] for key in ("area", "shear_areas", "polar")}
        data: dict[str, Any] = {"edges": surface, "rod_frames": surface, "rod_edges": own}
        for name, (found, values) in {
            "rod_joints": self._joints(),
            "rod_branches": self._rigid_rows(e),
        }.items():
            if len(found):
                rows[name], data[name] = node_numbers(name, found), values
        bodies = [Body(name, [k]) for k, name in enumerate(self.names)]
        bodies += [
            Body(rod.given.name, np.unique(own))
            for rod, own in zip(self.rods, self.nodes, strict=True)
            if rod.given.name
        ]
        ends = {name: _end(found) for name, found in self.branches.items() if name not in self.rigid}
        return State(
            fields={
                "x": self.x,
                "v": np.tile(velocity, (n, 1)),
                "m": m,
                "q": q,
                "q_rate": np.zeros_like(q),
                "q_inertia": inertia,
            },
            units={"x": "m", "v": "m s^-1", "m": "kg", "q": "1", "q_rate": "s^-1", "q_inertia": "kg m^2"},
            motions=(Motion("x", "v", "m"), Motion("q", "q_rate", "q_inertia")),
            bodies=tuple(bodies),
            tuples=rows,
            data=data,
            labels={"x": "position", "v": "velocity", "m": "mass"},
            shown=("edges",),
            looks={"edges": self._looks()},
            brings=RodParts(ends, tuple(self.rigid)),
        )

    def _looks(self) -> Tubes:
        """What edges look like; with rigid nodes, whose frames are in q, too, without a stripe of frames."""
        widths = np.concatenate([rod.looks.widths for rod in self.rods])
        outlines = {rod.looks.outline for rod in self.rods}
        whole = not self.rigid and len(outlines) == 1
        return Tubes(widths, "q", outlines.pop()) if whole else Tubes(widths)

    def _shared_inertia(self, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inertia of all frames (e + r,), and the frames of rigid nodes (r, 4)."""
        taken, of_nodes = np.zeros_like(inertia), []
        for name in self.rigid:
            at = [one.edge for one in self.branches[name]]
            of_nodes.append(SHARE * sum(inertia[k] for k in at))
            np.add.at(taken, at, SHARE * inertia[at])
        frames_of_nodes = np.tile([1.0, 0.0, 0.0, 0.0], (len(self.rigid), 1))
        return np.concatenate([inertia - taken, np.array(of_nodes, float)]), frames_of_nodes

    def _joints(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Joints within rods, and their data."""
        rows = [rod.line.joints + first for rod, first in zip(self.rods, self.first_edge[:-1], strict=True)]
        halves = np.concatenate([rod.line.rest_halves for rod in self.rods])
        return np.concatenate(rows), {
            "length": np.concatenate([joint_lengths(rod.line) for rod in self.rods]),
            "second_moments": np.concatenate([rod.at_joints.second_moments for rod in self.rods]),
            "torsion": np.concatenate([rod.at_joints.torsion for rod in self.rods]),
            "rest": halves[:, 1:] / halves[:, :1],
        }

    def _rigid_rows(self, edges: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Rigid nodes with the edges at them, and their data."""
        found = [(edges + k, one) for k, name in enumerate(self.rigid) for one in self.branches[name]]
        return np.array([[frame, one.edge] for frame, one in found], np.int64).reshape(-1, 2), {
            "length": np.array([one.length for _, one in found]),
            "second_moments": np.array([one.second_moments for _, one in found]),
            "torsion": np.array([one.torsion for _, one in found]),
            "polar": np.array([one.polar for _, one in found]),
            "turn": np.array([one.wall for _, one in found]),
        }


def _end(branches: Sequence[Branch]) -> RodEnd:
    """The end of one rod, or of several that are pinned together."""
    return RodEnd(
        np.array([one.edge for one in branches]),
        np.array([one.length for one in branches]),
        np.array([one.wall for one in branches]),
        np.array([one.second_moments for one in branches]),
        np.array([one.torsion for one in branches]),
    )
