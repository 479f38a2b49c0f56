"""`[[compound]] kind = "rigid_side"`: a side that moves as a rigid body, its pinned point, force and moment.

Decisions 0166.
"""

from typing import Annotated, Any

import numpy as np

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    CompoundContext,
    Quantity,
    Record,
    Term,
    UserError,
    choices,
    quantities,
)

from ..rods import rod
from .rigid_frames import RigidFrame
from .rigid_sides import rigid_companion, rigid_follower, rigid_load, rigid_moment, rigid_pin

Place = Annotated[float | str, Quantity("m")]
Strength = Annotated[float | str, Quantity("N")]
Moment = Annotated[float | str, Quantity("N m")]
Angle = Annotated[float | str, Quantity("rad")]


class RigidSide(Record):
    """A side that keeps its shape and moves by six numbers (in the plane three), under a force and a moment.

    Its nodes follow three of them (in the plane two), between which rods are. Without `rotates` it keeps its
    directions, too.
    """

    body: str | tuple[str, ...]
    """The side: a body of the state, or several."""
    name: str | None = None
    """Name of the side in reports and for other keys (default: that of the body)."""
    rotates: bool = True
    """False: the side keeps its directions and moves by a translation alone."""
    point: tuple[Place, ...] = ()
    """The reference point of force and pin; empty: the centre of area, or without facets of the nodes."""
    pinned: str = ""
    """Axes along which the reference point stays where it is, letters of "xyz": a hinge."""
    force: tuple[Strength, ...] = ()
    """Force at the reference point, in a fixed direction; empty: none."""
    moment: Moment | None = None
    """Moment about `axis`, in the plane from x to y (default: none)."""
    axis: tuple[float, ...] = ()
    """Axis of the moment, of any length, fixed in space; empty in the plane."""
    turn: Angle = 0.0
    """Angle within half a turn of which the angle of the side is counted, for moments that turn it far."""

    def make(self, context: CompoundContext) -> Compound:
        given = quantities(self, context.units)
        return _Builder(self, given, context).build()


class _Builder:
    """The terms of one block."""

    def __init__(self, block: RigidSide, given: dict, context: CompoundContext):
        self.block, self.given, self.context = block, given, context
        bodies = {body.name: body.nodes for body in context.state.bodies}
        self.bodies = (block.body,) if isinstance(block.body, str) else block.body
        if not self.bodies:
            raise UserError("body: names no body, got []; name one at least")
        if missing := [name for name in self.bodies if name not in bodies]:
            raise UserError(f"body: no body named '{missing[0]}'{choices(missing[0], bodies)}")
        self.name = block.name or "_".join(self.bodies)
        self.nodes = np.unique(np.concatenate([bodies[name] for name in self.bodies]))
        self.x = context.fields["x"].values.astype(np.float64)
        self.d = self.x.shape[1]
        if self.d not in (2, 3):
            raise UserError(f"{self.name}: needs positions in the plane or in space, got {self.d} components")
        self._refuse()
        self.frame = RigidFrame.of(self.name, self.nodes, self.x[self.nodes])

    def _refuse(self) -> None:
        """Refuse keys that do not fit, and nodes that other supports have."""
        block, d = self.block, self.d
        for key, values in (("point", block.point), ("force", block.force)):
            if len(values) not in (0, d):
                raise UserError(f"{key}: needs {d} numbers, got {len(values)}; give one for each axis")
        known = "xyz"[:d]
        if not set(block.pinned) <= set(known) or len(set(block.pinned)) < len(block.pinned):
            raise UserError(f"pinned: needs different letters of '{known}', got '{block.pinned}'; correct it")
        if block.moment is not None and not block.rotates:
            raise UserError("moment: does nothing on a side that does not rotate; leave one of them out")
        wanted = 3 if d == 3 and block.moment is not None else 0
        if len(block.axis) != wanted or (wanted and not np.linalg.norm(block.axis) > 0.0):
            raise UserError(
                f"axis: that of a moment in space has three numbers, not all zero, got {list(block.axis)};"
                f" {'correct it' if wanted else 'leave it out'}"
            )
        for hold in self.context.holds:
            if hold.field == "x" and len(both := np.intersect1d(hold.nodes, self.nodes)):
                raise UserError(
                    f"{self.name}: node {both[0]} is held by '{hold.name}', too; take it out of one of them,"
                    " or hold the reference point by `pinned`"
                )
        for other in self.context.others:
            for term in other.constraints:
                if len(both := np.intersect1d(term.elements.nodes, self.nodes)):
                    raise UserError(
                        f"{self.name}: node {both[0]} is part of '{term.name}', too; leave it out of one of"
                        " them, as a node has one rigid side"
                    )

    def build(self) -> Compound:
        kept = self._following() if self.block.rotates else self._translating()
        point = self._point()
        weights = self.frame.weights(point[None])
        frame = self.frame.nodes[None]
        if self.block.pinned:
            axes = np.eye(self.d)[["xyz".index(letter) for letter in self.block.pinned]]
            count = len(axes)
            data = {
                "weights": np.repeat(weights, count, 0),
                "axis": axes,
                "point": np.repeat(point[None], count, 0),
            }
            kept.append(self._bound(rigid_pin, "pin", np.repeat(frame, count, 0), data))
        terms = []
        if self.block.force:
            data = {"weights": weights, "point": point[None]}
            terms.append(self._bound(rigid_load, "force", frame, data, {"force": self.given["force"]}))
        if self.block.moment is not None:
            axis = np.array(self.block.axis or np.zeros(self.d))
            axis = axis / (np.linalg.norm(axis) or 1.0)
            given = {"moment": self.given["moment"], "turn": self.given["turn"]}
            data = {"dual": self.frame.dual[None], "axis": axis[None]}
            terms.append(self._bound(rigid_moment, "moment", frame, data, given))
        return Compound(terms, constraints=kept)

    def _following(self) -> list[Term]:
        """Rods between the nodes of the frame; each other node follows these along each axis."""
        pairs, lengths = self.frame.rods
        kept = [self._bound(rod, "rods", pairs, {"length": lengths})]
        others = np.setdiff1d(self.nodes, self.frame.nodes)
        if len(others):
            rows = np.concatenate(
                [others[:, None], np.repeat(self.frame.nodes[None], len(others), 0)], axis=1
            )
            weights = self.frame.weights(self.x[others])
            kept.append(self._bound(rigid_follower, "", *self._along_axes(rows, {"weights": weights})))
        return kept

    def _translating(self) -> list[Term]:
        """Each other node keeps its place beside the first one of the frame, along each axis."""
        first = self.frame.nodes[0]
        others = np.setdiff1d(self.nodes, [first])
        rows = np.stack([others, np.full(len(others), first)], axis=1)
        data = {"offset": self.x[others] - self.x[first]}
        return [self._bound(rigid_companion, "", *self._along_axes(rows, data))]

    def _along_axes(self, rows: np.ndarray, data: dict[str, np.ndarray]) -> tuple[np.ndarray, dict]:
        """The rows and data once for each axis."""
        d = self.d
        repeated = {name: np.repeat(values, d, axis=0) for name, values in data.items()}
        return np.repeat(rows, d, axis=0), repeated | {"axis": np.tile(np.eye(d), (len(rows), 1))}

    def _point(self) -> np.ndarray:
        """The reference point (d,)."""
        if self.block.point:
            return np.array(self.given["point"], np.float64)
        state = self.context.state
        points, data = state.quadratures.get("surface"), state.data.get("surface", {})
        groups = state.groups.get("surface", {})
        if points is not None:
            inside = np.zeros(len(points.cell), bool)
            for body in state.bodies:
                if body.name in groups and body.name in self.bodies:
                    inside |= np.isin(points.cell, groups[body.name])
                elif body.name in self.bodies:
                    inside |= np.isin(points.nodes, body.nodes).all(axis=1)
            if inside.any():
                at = np.einsum("pa,pai->pi", data["shape_values"][inside], self.x[points.nodes[inside]])
                return np.average(at, axis=0, weights=data["patch"][inside])
        return self.x[self.nodes].mean(axis=0)

    def _bound(
        self, energy: Any, part: str, rows: np.ndarray, data: dict, parameters: dict | None = None
    ) -> Term:
        return bind(
            energy,
            self.context.fields,
            name=f"{self.name}_{part}" if part else self.name,
            tuples=rows,
            data=data,
            parameters=parameters or {},
            units=self.context.units,
        )


COMPOUNDS = {"rigid_side": RigidSide}
