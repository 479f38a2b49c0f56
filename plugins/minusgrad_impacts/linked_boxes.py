"""Boxes of one density, with struts and joints between them, listed in the scene or in files.

list        rows                        data of its elements
struts      (S, 3): strut, two boxes    first, second (2,): the points in the boxes' own axes [m]; rest [m];
                                        k [N/m], gain [1] where the state has them
joints      (J, 2): two boxes           first, second; k
hinges      (2 J, 2): both orders       here, there
members     (n, 2): 0, box              fraction [1]: of each box in the mass of all
NAME        the same of the body NAME   fraction: in the mass of the body

Decisions 0143.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    at_key,
    node_numbers,
    quantities,
)

from .listed_rows import FILE_OR_ROWS, Length, ListedRows, Number, Place, Stiffness

Angle = Annotated[float | str, Quantity("rad")]
Point = tuple[Place, Place]
POINTS = ("first_x", "first_y", "second_x", "second_y")
LISTS = ("struts", "joints", "hinges", "members")


class Joint(Record):
    """`points`, one in the axes of each of two `boxes`, that are at one place."""

    boxes: tuple[Number, Number]
    """Numbers of the two boxes."""
    points: tuple[Point, Point]
    """Points in the axes of each box."""
    stiffness: Stiffness | None = None
    """Stiffness with which the points are held together (default: that of all)."""


class Strut(Joint):
    """A spring between `points` of two `boxes`, of this `length` at rest."""

    length: Length
    """Length at rest."""
    stiffness: Stiffness | None = None
    """Stiffness of the spring (default: that of all)."""
    gain: float | None = None
    """Change of the length at rest at an activation of one, relative to it (default: that of all)."""


class LinkedBoxes(Record):
    """Boxes with `centres`, `half_sizes` and `angles` (0), of one density, at rest; `struts` and `joints`.

    In files: `boxes` has the columns x, y, half_x, half_y and, if wanted, angle; `struts` and `joints` the
    columns a, b (numbers of boxes, counted from 0), first_x, first_y, second_x, second_y and, if wanted,
    stiffness; struts length and, if wanted, gain. Numbers are in the run's units.
    """

    centres: tuple[Point, ...] = ()
    """Centres of the boxes, as x and y."""
    half_sizes: tuple[tuple[Length, Length], ...] = ()
    """Half of the sides of each box."""
    angles: tuple[Angle, ...] = ()
    """Angle of each box; empty: 0."""
    boxes: str | None = None
    """CSV file beside the scene with the boxes (default: as `centres` and `half_sizes` say)."""
    density: Annotated[float | str, Quantity("kg m^-2", "positive")]
    """Mass per area."""
    struts: Annotated[tuple[Strut, ...] | str, FILE_OR_ROWS] = ()
    """Springs between points of two boxes; or a CSV file beside the scene."""
    joints: Annotated[tuple[Joint, ...] | str, FILE_OR_ROWS] = ()
    """Points of two boxes that are at one place; or a CSV file beside the scene."""
    stiffness: Stiffness | None = None
    """Stiffness of struts and joints that give none (default: as their energies say)."""
    gain: float | None = None
    """Gain of struts that give none (default: as the energy says)."""
    bodies: dict[str, Annotated[tuple[Number, ...], Field(min_length=1)]] = {}  # noqa: RUF012
    """By name: the numbers of the boxes of a body."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        x, half, angle = self._box_places(values, context)
        n, m = len(x), 4.0 * values["density"] * half.prod(axis=1)
        self._refuse_misfits(n)
        tuples, data = self._link_lists(values, context, n)
        for name, boxes in (self.bodies | {"members": tuple(range(n))}).items():
            tuples[name] = node_numbers(name, [[0, k] for k in boxes])
            data[name] = {"fraction": m[list(boxes)] / m[list(boxes)].sum()}
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

    def _box_places(
        self, values: dict[str, Any], context: StateContext
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centres, half sizes and angles. Raises `UserError` for lists of another length, and for none."""
        lists = [key for key in ("centres", "half_sizes", "angles") if values[key]]
        if self.boxes is not None:
            if lists:
                raise UserError(f"boxes: a file has the boxes, got `{lists[0]}`, too; leave one of them out")
            needed = ("x", "y", "half_x", "half_y")
            rows = ListedRows.of_file("boxes", self.boxes, context, needed, ("angle",), needed[2:])
            table = np.array([[row.get(name, 0.0) for name in (*needed, "angle")] for row in rows.rows])
            return table[:, :2], table[:, 2:4], table[:, 4]
        n = len(self.centres)
        if not n:
            raise UserError("centres: needs at least one box, got none; give `centres` and `half_sizes`")
        for key in ("half_sizes", "angles"):
            if (found := len(values[key])) != n and not (key == "angles" and not found):
                raise UserError(f"{key}: got {found} for {n} boxes; give one for each")
        x, half = np.array(values["centres"], float), np.array(values["half_sizes"], float)
        return x, half, np.array(values["angles"], float) if self.angles else np.zeros(n)

    def _refuse_misfits(self, n: int) -> None:
        """Raises `UserError` for bodies of boxes that there are not, and for names of lists."""
        for name, boxes in self.bodies.items():
            with at_key("bodies", name):
                if max(boxes) >= n:
                    raise UserError(f"no box {max(boxes)}; there are {n}, counted from 0")
                if len(set(boxes)) < len(boxes):
                    raise UserError("names a box twice; name another one")
                if name in LISTS:
                    raise UserError("is the name of a list of the state; choose another one")

    def _link_lists(
        self, values: dict[str, Any], context: StateContext, n: int
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, np.ndarray]]]:
        """The lists of struts and joints that there are, and the data of their elements."""
        tuples: dict[str, np.ndarray] = {}
        data: dict[str, dict[str, np.ndarray]] = {}
        if self.struts:
            struts = _link_rows("struts", values["struts"], context, ("length",), ("gain",))
            boxes = struts.numbers_of("box", ("a", "b"), n)
            tuples["struts"] = np.column_stack([np.arange(len(boxes)), boxes])
            rest = np.array([row["length"] for row in struts.rows], float)
            given = {"k": struts.values_of("stiffness", values["stiffness"])}
            given["gain"] = struts.values_of("gain", self.gain)
            data["struts"] = _end_points(struts) | {"rest": rest} | _those_given(given)
        if self.joints or self.struts:
            joints = _link_rows("joints", values["joints"], context)
            boxes = joints.numbers_of("box", ("a", "b"), n)
            tuples |= {"joints": boxes, "hinges": np.concatenate([boxes, boxes[:, ::-1]])}
            points = _end_points(joints)
            given = {"k": joints.values_of("stiffness", values["stiffness"])}
            data["joints"] = points | _those_given(given)
            data["hinges"] = {
                "here": np.concatenate([points["first"], points["second"]]),
                "there": np.concatenate([points["second"], points["first"]]),
            }
        return tuples, data


def _link_rows(
    key: str,
    given: Any,
    context: StateContext,
    needed: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> ListedRows:
    """The rows of struts or joints, as written or of a file."""
    if isinstance(given, str):
        own, above = ("a", "b", *POINTS, *needed), (*needed, "stiffness")
        return ListedRows.of_file(key, given, context, own, ("stiffness", *optional), above)
    rows = []
    for row in given:
        (first_x, first_y), (second_x, second_y) = row["points"]
        points = dict(zip(POINTS, (first_x, first_y, second_x, second_y), strict=True))
        rows.append(row | dict(zip("ab", row["boxes"], strict=True)) | points)
    return ListedRows(key, rows)


def _end_points(links: ListedRows) -> dict[str, np.ndarray]:
    """The points of links in the axes of their first and second boxes, (rows, 2) each."""
    points = np.array([[row[name] for name in POINTS] for row in links.rows], float).reshape(-1, 4)
    return {"first": points[:, :2], "second": points[:, 2:]}


def _those_given(values: dict[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """Values by name, without those that there are not."""
    return {name: one for name, one in values.items() if one is not None}


LINKED_BOXES = {"boxes": LinkedBoxes}
