"""Keys of a scene that ask for stress: `[[observe]] kind = "stress"`."""

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from minusgrad.plugin import (
    EnergyError,
    Observer,
    ObserverContext,
    Quantity,
    Record,
    UserError,
    quantities,
)

from .cell_points import CellPoints
from .measures import Measure
from .observer import How, Stress, StressAlong, Where
from .places import Line, Names, Side, line_through, name_of_side, nodes_of_side
from .point_values import LISTS_OF_ALL, PointStress, lists_of_cells, solids
from .recovery import Recovery

Place = Annotated[float | str, Quantity("m")]


class LineTable(Record):
    """`line`: equally spaced points from one place to another, of the body at rest."""

    start: tuple[Place, ...] = Field(alias="from")
    """The first point."""
    to: tuple[Place, ...]
    """The last point."""
    points: Annotated[int, Field(ge=2, le=100_000)] = 101
    """Number of points, both ends included."""


class StressBlock(Record):
    """Stress of a solid, of all energies of its cells: of cells, points and nodes, along a line, on a side.

    At nodes it is recovered, with its error, the largest value and that one's error.
    """

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    measures: Annotated[tuple[Measure, ...], Field(min_length=1)] = ("von_mises", "cauchy")
    """Which stresses are recorded, and `strain`."""
    at: Annotated[tuple[Where, ...], Field(min_length=1)] | None = None
    """Where: "cells" (means), "points" (of quadrature), "nodes" (default: ["cells"])."""
    nodes: bool = False
    """The same as "nodes" in `at`, beside the cells."""
    recovery: How = "superconvergent"
    """Values at nodes: "superconvergent", by polynomials over patches of cells; or "means" over cells."""
    cells: str | None = None
    """Name of the list of cells, or of a group (default: all)."""
    line: LineTable | None = None
    """Record along a line through the body at rest, in place of `at`."""
    side: Names | None = None
    """Record at the nodes of this side, or of several, in place of `at` (default: none)."""
    name: str | None = None
    """Name of the series along a line or on a side (default: "line", or that of the side)."""

    @model_validator(mode="after")
    def _one_place(self) -> "StressBlock":
        along = [key for key in ("line", "side") if getattr(self, key) is not None]
        if len(along) == 2:
            raise ValueError("has a `line` and a `side`; give each an [[observe]] of its own")
        if along and (self.at is not None or self.nodes):
            raise ValueError(
                f"has `at` or `nodes` besides a `{along[0]}`; give each an [[observe]] of its own"
            )
        if along and self.recovery == "means":
            raise ValueError(f'recovery: a `{along[0]}` takes recovered values, got "means"; leave it out')
        if not along and self.name is not None:
            raise ValueError("name: is that of a `line` or a `side`, got neither; leave it out")
        if self.nodes and self.at is not None:
            raise ValueError('nodes: is the same as "nodes" in `at`, got both; leave `nodes` out')
        return self

    def make(self, context: ObserverContext) -> Observer:
        try:
            return self._made(context)
        except EnergyError as error:
            raise UserError(f"stress: {error}") from None

    def _made(self, context: ObserverContext) -> Observer:
        name, terms = chosen_list(context, self.cells, "stress")
        if self.line is None and self.side is None:
            at = self.at or (("cells", "nodes") if self.nodes else ("cells",))
            return Stress(context, self.every, name, terms, self.measures, at, self.recovery)
        cells = CellPoints(context.state, name)
        recovery = Recovery(cells, PointStress(context, name, terms))
        along: Line | Side
        if self.side is not None:
            along, called = (
                nodes_of_side(cells, context.state, self.side),
                self.name or name_of_side(self.side),
            )
        else:
            assert self.line is not None
            ends, d = quantities(self.line, context.units), cells.X.shape[1]
            for key in ("start", "to"):
                if len(ends[key]) != d:
                    shown = "from" if key == "start" else key
                    raise UserError(f"line.{shown}: needs {d} numbers, got {len(ends[key])}")
            first, last = (np.array(ends[key], float) for key in ("start", "to"))
            along, called = line_through(cells, first, last, self.line.points), self.name or "line"
        return StressAlong(context, self.every, called, recovery, self.measures, along)


def chosen_list(context: ObserverContext, name: str | None, kind: str) -> tuple[str, dict[str, np.ndarray]]:
    """A list of cells with its terms: the one named, or the only one. Raises `UserError` if there is none."""
    known, every = solids(context), lists_of_cells(context)
    found = name or (next(iter(known)) if len(known) == 1 else "")
    if found in every:
        return found, every[found]
    listed = ", ".join([*known, *sorted(set(every) - set(known) - set(LISTS_OF_ALL))]) or "none"
    asked = f"'{found}' is no list of cells" if found else "say which `cells`" if known else "no cells"
    raise UserError(f"{kind}: {asked} with volumes and an energy of F, got lists: {listed}")
