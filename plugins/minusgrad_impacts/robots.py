"""Robots of square boxes on legs, for programs with impacts: masses at the corners, joined by springs.

x, v (n, d)          positions [m], at rest
springs (K, 3)       rows (spring, mass, mass), with rest [m] and swing [1] of each
edges (K, 2)         the same without the first column, as pictures draw them
members (n, 2)       rows (0, mass), with the fraction [1] of each mass in the whole
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Body, Quantity, Record, State, StateContext, UserError, node_numbers, quantities

Place = tuple[int, int]
Boxes = tuple[Place, ...]
Length = Annotated[float | str, Quantity("m")]


class BoxRobot(Record):
    """Equal masses at the corners of square boxes in the plane, with springs along sides and diagonals.

    `body` and `legs`: boxes by column and row, whose side is `size`; the corner of column 0 and row 0 is at
    `origin`. Springs of legs that no box of the body has are muscles: their length changes by `swing` at
    most. `bodies`: masses by name, in the order of boxes and their corners (lower left, lower right, upper
    left, upper right), each counted once.
    """

    body: Annotated[Boxes, Field(min_length=1)]
    """Boxes of the body, by column and row."""
    legs: Boxes = ()
    """Boxes of the legs, by column and row."""
    size: Annotated[float | str, Quantity("m", "positive")]
    """Side of a box."""
    origin: tuple[Length, Length] = (0.0, 0.0)
    """Place of the corner of column 0 and row 0."""
    swing: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """Largest change of the length of springs of legs, relative to it, 0 up to 1."""
    bodies: dict[str, Annotated[tuple[int, ...], Field(min_length=1)]] = {}  # noqa: RUF012
    """By name: the numbers of the masses of a body."""

    def make(self, context: StateContext) -> State:
        numbers = {
            corner: k for k, corner in enumerate(dict.fromkeys(_box_corners([*self.body, *self.legs])))
        }
        self._refuse_strangers(len(numbers))
        given = quantities(self, context.units)
        x = given["size"] * np.array(list(numbers), float) + np.array(given["origin"])
        passive = dict.fromkeys(_box_sides(self.body))
        pairs = list(dict.fromkeys([*passive, *_box_sides(self.legs)]))
        edges = node_numbers("springs", [[numbers[a], numbers[b]] for a, b in pairs])
        rest = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        swing = np.array([0.0 if pair in passive else self.swing for pair in pairs])
        n = len(x)
        return State(
            fields={"x": x, "v": np.zeros_like(x)},
            units={"x": "m", "v": "m s^-1"},
            bodies=tuple(Body(name, sorted(nodes)) for name, nodes in self.bodies.items()),
            tuples={
                "springs": np.column_stack([np.arange(len(edges)), edges]),
                "edges": edges,
                "members": np.column_stack([np.zeros(n, int), np.arange(n)]),
            },
            data={
                "springs": {"rest": rest, "swing": swing},
                "members": {"fraction": np.full(n, 1.0 / n)},
            },
            labels={"x": "position", "v": "velocity"},
            shown=("edges",),
        )

    def _refuse_strangers(self, n: int) -> None:
        """Raises `UserError` for a box that is named twice, and for masses that there are not."""
        boxes = [*self.body, *self.legs]
        if twice := [box for box in boxes if boxes.count(box) > 1]:
            raise UserError(f"box {list(twice[0])} is named twice; name it once")
        for name, nodes in self.bodies.items():
            if strange := [k for k in nodes if not 0 <= k < n]:
                raise UserError(f"bodies.{name}: no mass {strange[0]}; there are {n}, counted from 0")


def _box_corners(boxes: list[Place]) -> Iterator[Place]:
    """The corners of boxes, in columns and rows."""
    for i, j in boxes:
        yield from ((i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1))


def _box_sides(boxes: Boxes) -> Iterator[tuple[Place, Place]]:
    """The sides and diagonals of boxes, by their corners."""
    for box in boxes:
        yield from combinations(sorted(_box_corners([box])), 2)


ROBOTS = {"box_robot": BoxRobot}
