"""Seams: two sides of sheets sewn together, node by node, by springs without length.

    U(x) = sum over pairs of k/2 w |x_i - x_j|^2

x (n, 3) [m]; w [m] the length of the seam at a pair, k [N/m^2] its stiffness: force per length and opening.
The force is along the line between both nodes, so that momentum and angular momentum stay.

Decisions 0135.
"""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

import numpy as np

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    CompoundContext,
    Datum,
    Node,
    Parameter,
    Quantity,
    Record,
    UserError,
    choices,
    local_energy,
    quantities,
)

from .surface_state import SheetParts

LENGTHS = 0.01
"""Largest difference of the lengths of two sides of a seam, relative to the longer one."""


@local_energy(
    "sewn",
    over=2,
    symmetries=("translation", "rotation"),
    x=Node("m", (3,)),
    stiffness=Parameter(
        "N m^-2", bounds=(0.0, inf), about="Stiffness of the seam: force per length and opening."
    ),
    seam_length=Datum("m", about="Length of the seam at this pair of nodes."),
)
def sewn(x, stiffness, seam_length):
    """Two nodes sewn together: a spring without length."""
    return 0.5 * stiffness * seam_length * (x[0] - x[1]).norm_sqr()


class Seam(Record):
    """Two sides sewn together: springs without length between their nodes, in the order along both."""

    sides: tuple[str, str]
    """The two sides, bodies of nodes along the rim."""
    reversed: bool = False
    """Sew the first node of the first side to the last one of the second."""
    stiffness: Annotated[float | str, Quantity("N m^-2", "positive")]
    """Stiffness of the seam: force per length and opening."""
    name: str | None = None
    """Name of the energy in reports (default: seam_FIRST_SECOND)."""

    def make(self, context: CompoundContext) -> Compound:
        parts = context.state.brings
        if not isinstance(parts, SheetParts):
            raise UserError("seam: needs a sheet or a surface, got another state; use kind = 'sheet'")
        bodies = {body.name: body.nodes for body in context.state.bodies}
        one, other = (rim_line(parts, name, bodies) for name in self.sides)
        if self.reversed:
            other = other.turned()
        pairs = self._pairs(one, other)
        gap = np.linalg.norm(np.diff(context.fields["x"].values[pairs], axis=1), axis=2).max()
        context.remarks.append(
            f"seam {self.sides[0]} to {self.sides[1]}: {len(pairs)} pairs of nodes, {gap:.4g} apart at most"
        )
        made: dict[str, Any] = {
            "name": self.name or f"seam_{self.sides[0]}_{self.sides[1]}",
            "tuples": pairs,
            "data": {"seam_length": 0.5 * (one.shares() + other.shares())},
            "parameters": {"stiffness": quantities(self, context.units)["stiffness"]},
            "units": context.units,
        }
        return Compound([bind(sewn, context.fields, **made)])

    def _pairs(self, one: "RimLine", other: "RimLine") -> np.ndarray:
        """Pairs of nodes (P, 2). Raises `UserError` for sides that do not fit."""
        label = f"sides: '{self.sides[0]}' and '{self.sides[1]}'"
        if len(one.nodes) != len(other.nodes):
            raise UserError(
                f"{label} must have as many nodes, got {len(one.nodes)} and {len(other.nodes)}; choose the"
                " cells so that they fit"
            )
        lengths = one.places.sum(), other.places.sum()
        if abs(lengths[0] - lengths[1]) > LENGTHS * max(lengths):
            raise UserError(
                f"{label} must be as long, got {lengths[0]:.4g} and {lengths[1]:.4g}; choose sides of one"
                " length"
            )
        if len(same := np.flatnonzero(one.nodes == other.nodes)):
            raise UserError(
                f"{label} must have no node in common, got node {one.nodes[same[0]]}; turn one of them over"
                " with `reversed`, or choose other sides"
            )
        return np.stack([one.nodes, other.nodes], axis=1)


@dataclass(frozen=True, eq=False)
class RimLine:
    """Nodes (k,) along the rim, in their order, and the lengths (k - 1,) between them at rest."""

    nodes: np.ndarray
    places: np.ndarray

    def turned(self) -> "RimLine":
        """The other way round."""
        return RimLine(self.nodes[::-1], self.places[::-1])

    def shares(self) -> np.ndarray:
        """The length (k,) at each node: half of its neighbours'."""
        return 0.5 * (np.append(self.places, 0.0) + np.append(0.0, self.places))


def rim_line(parts: SheetParts, name: str, bodies: dict[str, np.ndarray]) -> RimLine:
    """The nodes of a side in their order along the rim, from the end that its body names first.

    Raises `UserError` for an unknown side, and for one that is no open line of the rim.
    """
    if name not in bodies:
        raise UserError(f"sides: no side named '{name}'{choices(name, bodies)}")
    edges, counts = parts.mesh.edges()
    rim = edges[counts == 1]
    own = rim[np.isin(rim, bodies[name]).all(axis=1)]
    near: dict[int, list[int]] = {int(node): [] for node in bodies[name]}
    for a, b in own.tolist():
        near[a].append(b)
        near[b].append(a)
    ends = [node for node, others in near.items() if len(others) == 1]
    line = [ends[0]] if len(ends) == 2 else []
    while line and (ahead := [node for node in near[line[-1]] if node not in line[-2:]]):
        line.append(ahead[0])
    if len(line) != len(near) or len(line) < 2:
        raise UserError(
            f"sides: '{name}' must be one open line of the rim, got {len(near)} nodes with {len(own)} edges"
            f" of the rim and {len(ends)} ends; name a part of the rim"
        )
    nodes = np.array(line, np.int32)
    rest = parts.mesh.points[nodes]
    return RimLine(nodes, np.linalg.norm(np.diff(rest, axis=0), axis=1))
