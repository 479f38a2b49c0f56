"""Charges between electrodes, each with electrodes and a goal of its own: the samples of a batch.

x, v (n, d)               at the first way point, at rest
cost (n,)                 the running cost, 0
way_point (n w, d)        way points, uniform in a cube; those of copy i are rows i w, i w + 1, ...
ways (n w, 2)             rows (goal, way point), with knot = 0, 1, ...: the time of it in intervals
electrodes (n E, 2)       rows (charge, electrode), with the place [m] of each
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Quantity, Record, State, StateContext, UserError, quantities

Place = Annotated[float | str, Quantity("m")]


class SteeredCharges(Record):
    """Charges at rest at random places, each with electrodes and random way points of its goal.

    `copies` of them, for the samples of a batch; `electrodes`: their places, the same for all copies.
    `intervals`: those of the way of a goal, through way points `within` two numbers along every axis.
    """

    copies: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Number of charges, the samples of a batch."""
    electrodes: Annotated[tuple[tuple[Place, ...], ...], Field(min_length=1)]
    """Places of the electrodes, the same for all charges."""
    intervals: Annotated[int, Field(ge=1, le=1_000_000)]
    """Number of intervals of the goal's way."""
    within: tuple[Place, Place]
    """Lower and upper bound of way points along every axis."""

    def make(self, context: StateContext) -> State:
        values, rng = quantities(self, context.units), context.random("steered_charges")
        axes = len(self.electrodes[0])
        for k, place in enumerate(self.electrodes):
            if len(place) != axes or axes not in (2, 3):
                raise UserError(f"electrodes.{k}: got {len(place)} numbers; give 2 for each, or 3 for each")
        low, high = values["within"]
        if not low < high:
            raise UserError(
                f"within: its first number is the lower one, got {low:g} and {high:g}; exchange them"
            )
        for axis, places in enumerate(np.array(values["electrodes"], float).T):
            if low < places.min() or high > places.max():
                raise UserError(
                    f"within: goals need to lie in the field that the electrodes span, {places.min():g} to"
                    f" {places.max():g} along axis {axis}, got {low:g} and {high:g}; narrow it"
                )
        n, count, knots = self.copies, len(self.electrodes), self.intervals + 1
        ways = rng.uniform(low, high, (n, knots, axes))
        start = ways[:, 0].copy()
        return State(
            fields={
                "x": start,
                "v": np.zeros_like(start),
                "cost": np.zeros(n),
                "way_point": ways.reshape(-1, axes),
            },
            units={"x": "m", "v": "m s^-1", "cost": "m^2 s", "way_point": "m"},
            tuples={"ways": _rows_by_copy(n, knots), "electrodes": _rows_by_copy(n, count)},
            data={
                "ways": {"knot": np.tile(np.arange(float(knots)), n)},
                "electrodes": {"place": np.tile(np.array(values["electrodes"], float), (n, 1))},
            },
            labels={"x": "position", "v": "velocity"},
        )


def _rows_by_copy(copies: int, count: int) -> np.ndarray:
    """Rows (copy, node) of as many nodes for each copy."""
    return np.column_stack([np.repeat(np.arange(copies), count), np.arange(copies * count)])


CHARGES = {"steered_charges": SteeredCharges}
