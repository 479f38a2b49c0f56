"""Boxes of one density, at places that the scene lists, with struts and joints between them.

list        rows                        data of its elements
struts      (S, 3): strut, two boxes    first, second (2,): the points in the boxes' own axes [m]; rest [m]
joints      (J, 2): two boxes           first, second
hinges      (2 J, 2): both orders       here, there
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Body, Quantity, Record, State, StateContext, UserError, quantities

Place = Annotated[float | str, Quantity("m")]
Length = Annotated[float | str, Quantity("m", "positive")]
Angle = Annotated[float | str, Quantity("rad")]
Number = Annotated[int, Field(ge=0)]
Point = tuple[Place, Place]


class Joint(Record):
    """`points`, one in the axes of each of two `boxes`, that are at one place."""

    boxes: tuple[Number, Number]
    """Numbers of the two boxes."""
    points: tuple[Point, Point]
    """Points in the axes of each box."""


class Strut(Joint):
    """A spring between `points` of two `boxes`, of this `length` at rest."""

    length: Length
    """Length at rest."""


class LinkedBoxes(Record):
    """Boxes with `centres`, `half_sizes` and `angles` (0), of one density, at rest; `struts` and `joints`."""

    centres: Annotated[tuple[Point, ...], Field(min_length=1)]
    """Centres of the boxes, as x and y."""
    half_sizes: Annotated[tuple[tuple[Length, Length], ...], Field(min_length=1)]
    """Half of the sides of each box."""
    angles: tuple[Angle, ...] = ()
    """Angle of each box; empty: 0."""
    density: Annotated[float | str, Quantity("kg m^-2", "positive")]
    """Mass per area."""
    struts: tuple[Strut, ...] = ()
    """Springs between points of two boxes."""
    joints: tuple[Joint, ...] = ()
    """Points of two boxes that are at one place."""
    bodies: dict[str, Annotated[tuple[Number, ...], Field(min_length=1)]] = {}  # noqa: RUF012
    """By name: the numbers of the boxes of a body."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        self._refuse_misfits()
        x, half = np.array(values["centres"], float), np.array(values["half_sizes"], float)
        n, m = len(x), 4.0 * values["density"] * half.prod(axis=1)
        angle = np.array(values["angles"], float) if self.angles else np.zeros(n)
        tuples, data = _link_lists(values)
        return State(
            fields={"x": x, "v": np.zeros((n, 2)), "angle": angle, "omega": np.zeros(n)}
            | {"half": half, "m": m, "inertia": m * (half**2).sum(axis=1) / 3.0},
            units={"x": "m", "v": "m s^-1", "angle": "rad", "omega": "rad s^-1"}
            | {"half": "m", "m": "kg", "inertia": "kg m^2"},
            bodies=tuple(Body(name, sorted(nodes)) for name, nodes in self.bodies.items()),
            tuples=tuples,
            data=data,
            labels={"x": "position", "v": "velocity", "m": "mass"},
        )

    def _refuse_misfits(self) -> None:
        """Raises `UserError` for lists of another length, and for missing boxes."""
        n = len(self.centres)
        for key in ("half_sizes", "angles"):
            if (found := len(getattr(self, key))) != n and not (key == "angles" and not found):
                raise UserError(f"{key}: got {found} for {n} boxes; give one for each")
        links = {f"struts.{k}.boxes": s.boxes for k, s in enumerate(self.struts)}
        links |= {f"joints.{k}.boxes": s.boxes for k, s in enumerate(self.joints)}
        for key, boxes in (links | {f"bodies.{name}": b for name, b in self.bodies.items()}).items():
            if max(boxes) >= n:
                raise UserError(f"{key}: no box {max(boxes)}; there are {n}, counted from 0")
            if len(set(boxes)) < len(boxes):
                raise UserError(f"{key}: names a box twice; name another one")


def _link_lists(values: dict) -> tuple[dict[str, np.ndarray], dict[str, dict[str, np.ndarray]]]:
    """The lists of struts and joints that there are, and the data of their elements."""
    struts, joints = values["struts"], values["joints"]
    tuples: dict[str, np.ndarray] = {}
    data: dict[str, dict[str, np.ndarray]] = {}
    if struts:
        tuples["struts"] = np.array([[k, *s["boxes"]] for k, s in enumerate(struts)])
        points = np.array([s["points"] for s in struts], float)
        rest = np.array([s["length"] for s in struts], float)
        data["struts"] = {"first": points[:, 0], "second": points[:, 1], "rest": rest}
    if joints:
        boxes = np.array([s["boxes"] for s in joints])
        points = np.array([s["points"] for s in joints], float)
        tuples |= {"joints": boxes, "hinges": np.concatenate([boxes, boxes[:, ::-1]])}
        both = np.concatenate([points, points[:, ::-1]])
        data["joints"] = {"first": points[:, 0], "second": points[:, 1]}
        data["hinges"] = {"here": both[:, 0], "there": both[:, 1]}
    return tuples, data


LINKED_BOXES = {"boxes": LinkedBoxes}
