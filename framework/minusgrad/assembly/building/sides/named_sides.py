"""A state with the sides of its scene: bodies of their nodes, and the facets that loads act on.

Decisions 0159.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....energies.fields import Body, State
from ....errors import at_key
from ....scene.state_tables.sides_table import SideTable
from ....scene.units import UnitSystem
from .found_side import Side
from .side_finder import SideFinder

SIDES = "sides"
"""The key of the tables."""


def with_named_sides(
    state: State, tables: Mapping[str, SideTable], units: UnitSystem
) -> tuple[State, list[Side]]:
    """The state with a body for each table, and the sides. Raises `UserError` below the key `sides`."""
    with at_key(SIDES):
        found = SideFinder(state, tables, units).sides()
    bodies = tuple(Body(side.name, side.nodes) for side in found)
    of_facets = {side.name: side.facets for side in found if side.facets is not None}
    lists = state.facet_lists if of_facets else ()
    groups = {**state.groups, **{name: {**state.groups.get(name, {}), **of_facets} for name in lists}}
    return replace(state, bodies=(*state.bodies, *bodies), groups=groups), found


def bodies_as_sides(state: State, units: UnitSystem, names: Sequence[str] = ()) -> list[Side]:
    """Bodies of a state with their facets, areas and nodes; all of them without names.

    Raises `UserError` for an unknown name, and a state without positions.
    """
    finder = SideFinder(state, {}, units)
    return [finder.named(name) for name in names or [body.name for body in state.bodies]]


def side_facts(sides: list[Side], units: UnitSystem) -> dict[str, str]:
    """The sizes of sides in words, by name, for the facts of a checkpoint."""
    return {side.name: side.sizes(units) for side in sides}
