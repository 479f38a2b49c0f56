"""Keys of a scene that ask for resultants: `[[observe]] kind = "resultant"`."""

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from minusgrad.plugin import (
    EnergyError,
    Observer,
    ObserverContext,
    Record,
    UserError,
    choices,
    quantities,
)

from .blocks import Place, chosen_list
from .cell_points import CellPoints
from .places import Names, name_of_side, nodes_of_side
from .point_values import PointStress
from .resultants import Cut, CutResultant, SideResultant


class CutTable(Record):
    """`cut`: a plane through the body at rest; in the plane a line."""

    point: tuple[Place, ...]
    """A point of the plane."""
    normal: tuple[float, ...]
    """A vector of any length across the plane, to the part whose force on the other one is recorded."""
    body: Names | None = None
    """Cut the cells of this body or group alone, or of several (default: all)."""


class ResultantBlock(Record):
    """Force and moment of the stress on a cut through a solid, or of supports and loads on a side of it."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    cut: CutTable | None = None
    """A plane through the body at rest; it follows the facets of cells."""
    side: Names | None = None
    """A side of the body, or several, in place of a cut (default: none)."""
    about: tuple[Place, ...] | None = None
    """The place that moments are about (default: the `point` of the cut, the middle of the side's nodes)."""
    cells: str | None = None
    """Name of the list of cells (default: the only one)."""
    name: str | None = None
    """Name of the series (default: "cut", or that of the side)."""

    @model_validator(mode="after")
    def _one_place(self) -> "ResultantBlock":
        if (self.cut is None) is (self.side is None):
            got = "neither" if self.cut is None else "both"
            raise ValueError(f"needs a `cut` or a `side`, got {got}; give one of them")
        if self.cut is not None and not np.any(self.cut.normal):
            raise ValueError("cut.normal: has no direction, got zeros; give a vector across the plane")
        return self

    def make(self, context: ObserverContext) -> Observer:
        try:
            return self._made(context)
        except EnergyError as error:
            raise UserError(f"resultant: {error}") from None

    def _made(self, context: ObserverContext) -> Observer:
        if context.state.periodic is not None:
            raise UserError(
                "resultant: no plane or side parts a body that repeats, got `periodic`; record the stress of"
                " its cells, or the reactions of its holds"
            )
        name, terms = chosen_list(context, self.cells, "resultant")
        cells, points = CellPoints(context.state, name), PointStress(context, name, terms)
        d, values = cells.X.shape[1], quantities(self, context.units)
        about = self._place("about", values["about"], d)
        if self.cut is None:
            assert self.side is not None
            names = (self.side,) if isinstance(self.side, str) else self.side
            nodes = nodes_of_side(cells, context.state, self.side).nodes
            parts = [nodes_of_side(cells, context.state, one).nodes for one in names]
            middle, name = cells.X[nodes].mean(axis=0) if about is None else about, name_of_side(self.side)
            return SideResultant(context, self.every, self.name or name, cells, points, parts, middle)
        point = self._place("cut.point", quantities(self.cut, context.units)["point"], d)
        normal = self._place("cut.normal", self.cut.normal, d)
        assert point is not None
        assert normal is not None
        chosen = np.ones(cells.count, bool)
        if self.cut.body is not None:
            names = (self.cut.body,) if isinstance(self.cut.body, str) else self.cut.body
            parts = [cells_of_body(context, cells, name) for name in names]
            if not parts:
                raise UserError("cut.body: names no body, got []; leave it out for all")
            chosen = np.logical_or.reduce(parts)
        cut = Cut(cells, chosen, point, normal)
        centre = point if about is None else about
        return CutResultant(context, self.every, self.name or "cut", cells, points, cut, centre)

    @staticmethod
    def _place(key: str, value: tuple[float, ...] | None, d: int) -> np.ndarray | None:
        if value is not None and len(value) != d:
            raise UserError(f"{key}: needs {d} numbers, got {len(value)}")
        return None if value is None else np.array(value, float)


def cells_of_body(context: ObserverContext, cells: CellPoints, name: str) -> np.ndarray:
    """True for the cells of a group, or those whose nodes are all of a body (E,).

    Raises `UserError` for an unknown name, and for a body without cells.
    """
    groups = context.state.groups.get(cells.name, {})
    bodies = {body.name: body.nodes for body in context.state.bodies}
    chosen = np.zeros(cells.count, bool)
    if name in groups:
        chosen[groups[name]] = True
    elif name in bodies:
        for block in cells.blocks:
            chosen[block.own] = np.isin(block.rows, bodies[name]).all(axis=1)
    else:
        raise UserError(f"cut.body: there is no body '{name}'{choices(name, [*groups, *bodies])}")
    if not chosen.any():
        raise UserError(f"cut.body: '{name}' has no cells, got a body of nodes alone; name another one")
    return chosen
