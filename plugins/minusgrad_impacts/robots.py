"""Robots of square boxes and triangles: masses at the corners, joined by springs (`spring_robots`).

triangle    a side of a box and the box's centre
muscle      a spring along a chosen side or diagonal of a box; or all springs of legs

Decisions 0143.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import Record, State, StateContext, UserError, at_key, quantities

from .spring_robots import Bodies, Length, Place, Stiffness, Swing, robot_state

Box = tuple[int, int]
Boxes = tuple[Box, ...]
Corner = tuple[float, float]
Pair = tuple[Corner, Corner]
Side = Literal["left", "right", "bottom", "top"]
ENDS: dict[str, tuple[Box, Box]] = {
    "left": ((0, 0), (0, 1)),
    "right": ((1, 0), (1, 1)),
    "bottom": ((0, 0), (1, 0)),
    "top": ((0, 1), (1, 1)),
    "rising": ((0, 0), (1, 1)),
    "falling": ((0, 1), (1, 0)),
}
"""The ends of the springs of a box, as columns and rows from its lower left corner; two are diagonals."""


class Triangle(Record):
    """A triangle of a side of a box and of its centre."""

    box: Box
    """The box, by column and row; it need not be one of the body."""
    side: Side
    """The side opposite to the corner at the centre of the box."""


class Muscles(Record):
    """Springs of boxes that are muscles."""

    boxes: Annotated[Boxes, Field(min_length=1)]
    """Boxes of the body or of legs, by column and row."""
    sides: Annotated[
        tuple[Literal["left", "right", "bottom", "top", "rising", "falling"], ...], Field(min_length=1)
    ]
    """The sides and diagonals of each of them that are muscles."""
    swing: Swing | None = None
    """Largest change of their lengths at rest, relative to them (default: that of the robot)."""


class BoxRobot(Record):
    """Equal masses at the corners of square boxes in the plane, with springs along sides and diagonals.

    `body` and `legs`: boxes by column and row, whose side is `size`; the corner of column 0 and row 0 is at
    `origin`. The length of `muscles` changes by `swing` at most; where none are chosen, springs of legs that
    no box of the body has are muscles. `bodies`: masses by name, in the order of boxes and their corners
    (lower left, lower right, upper left, upper right), then of triangles, each counted once.
    """

    body: Annotated[Boxes, Field(min_length=1)]
    """Boxes of the body, by column and row."""
    legs: Boxes = ()
    """Boxes of the legs, by column and row."""
    triangles: tuple[Triangle, ...] = ()
    """Triangles, each of a side of a box and the box's centre."""
    muscles: tuple[Muscles, ...] = ()
    """Sides and diagonals of boxes that are muscles (default: springs of legs that the body has not)."""
    size: Length
    """Side of a box."""
    origin: tuple[Place, Place] = (0.0, 0.0)
    """Place of the corner of column 0 and row 0."""
    swing: Swing = 0.0
    """Largest change of the length of muscles, relative to it, 0 up to 1."""
    stiffness: Stiffness | None = None
    """Stiffness of all springs (default: as the energy says)."""
    bodies: Bodies = {}  # noqa: RUF012
    """By name: the numbers of the masses of a body."""

    def make(self, context: StateContext) -> State:
        self._refuse_twins()
        corners = [*_box_corners([*self.body, *self.legs]), *_triangle_corners(self.triangles)]
        numbers = {corner: k for k, corner in enumerate(dict.fromkeys(corners))}
        given = quantities(self, context.units)
        x = given["size"] * np.array(list(numbers), float) + np.array(given["origin"])
        pairs = [*_box_springs(self.body), *_box_springs(self.legs), *_triangle_springs(self.triangles)]
        swing = dict.fromkeys(pairs, 0.0) | self._muscle_swings()
        edges = np.array([[numbers[a], numbers[b]] for a, b in swing])
        rest = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        stiffness = None if self.stiffness is None else np.full(len(edges), given["stiffness"])
        return robot_state(x, edges, rest, np.array([*swing.values()]), stiffness, self.bodies)

    def _muscle_swings(self) -> dict[Pair, float]:
        """The swing of each spring that is a muscle."""
        if not self.muscles:
            passive = dict.fromkeys(_box_springs(self.body))
            return {pair: self.swing for pair in _box_springs(self.legs) if pair not in passive}
        found, boxes = dict[Pair, float](), {*self.body, *self.legs}
        for k, one in enumerate(self.muscles):
            for n, box in enumerate(one.boxes):
                if box not in boxes:
                    with at_key("muscles", k, "boxes", n):
                        raise UserError(f"no box {list(box)}; name it in `body` or `legs`, too")
                own = self.swing if one.swing is None else one.swing
                found |= {_spring_along(box, side): own for side in one.sides}
        return found

    def _refuse_twins(self) -> None:
        """Raises `UserError` for a box that is named twice, and for a triangle in one, or named twice."""
        boxes = [*self.body, *self.legs]
        if twice := [box for box in boxes if boxes.count(box) > 1]:
            raise UserError(f"box {list(twice[0])} is named twice; name it once")
        for k, one in enumerate(self.triangles):
            with at_key("triangles", k):
                if one in self.triangles[:k]:
                    raise UserError("is named twice; name it once")
                if one.box in boxes:
                    raise UserError(f"lies in box {list(one.box)}; leave one of them out")


def _box_corners(boxes: Sequence[Box]) -> Iterator[Corner]:
    """The corners of boxes, in columns and rows."""
    for i, j in boxes:
        yield from ((i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1))


def _box_springs(boxes: Boxes) -> Iterator[Pair]:
    """The sides and diagonals of boxes, by their corners."""
    for box in boxes:
        yield from combinations(sorted(_box_corners([box])), 2)


def _spring_along(box: Box, side: str) -> Pair:
    """A side or diagonal of a box, by its corners."""
    first, second = sorted((box[0] + i, box[1] + j) for i, j in ENDS[side])
    return first, second


def _triangle_corners(triangles: Sequence[Triangle]) -> Iterator[Corner]:
    """The corners of triangles, in columns and rows."""
    for one in triangles:
        yield from _spring_along(one.box, one.side)
        yield one.box[0] + 0.5, one.box[1] + 0.5


def _triangle_springs(triangles: Sequence[Triangle]) -> Iterator[Pair]:
    """The sides of triangles, by their corners."""
    for one in triangles:
        yield from combinations(sorted(_triangle_corners([one])), 2)


ROBOTS = {"box_robot": BoxRobot}
