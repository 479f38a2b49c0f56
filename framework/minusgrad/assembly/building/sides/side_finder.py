"""The sides of a state by the tables of [state.sides], one after another as they need each other.

Decisions 0159.
"""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import numpy as np

from ....energies.fields import POSITIONS, State
from ....errors import UserError, at_key, unknown
from ....scene.state_tables.sides_table import SideTable
from ....scene.units import UnitSystem, parse_unit
from .boundary_facets import BoundaryFacets
from .found_side import Side, SideContext
from .side_rules import SideRules, needed_sides


class SideFinder:
    """The sides of a state by their tables.

    Raises `UserError` with the key of the table for a state without positions, a name that is taken, one that
    is unknown or needs itself, and for a side that has nothing.
    """

    def __init__(self, state: State, tables: Mapping[str, SideTable], units: UnitSystem):
        facets = BoundaryFacets(state) if state.facet_lists else None
        self._around = SideContext(_positions(state, tables), facets, self.named, units)
        self._state, self._tables = state, tables
        self._bodies = {body.name: body.nodes for body in state.bodies}
        self._found: dict[str, Side] = {}

    def sides(self) -> list[Side]:
        """All sides, in the order of their tables."""
        for name in self._order():
            with at_key(name):
                if not name.strip():
                    raise UserError(f"a side needs a name, got '{name}'; give it one")
                if name in self._bodies:
                    raise UserError(f"'{name}' is a body of the state already; give the side another name")
                self._found[name] = SideRules(self._around, name, self._tables[name]).side()
        return [self._found[name] for name in self._tables]

    def _order(self) -> list[str]:
        """The names, each after those that it needs."""
        needs = {
            name: [other for other in needed_sides(table) if other in self._tables]
            for name, table in self._tables.items()
        }
        try:
            return [*TopologicalSorter(needs).static_order()]
        except CycleError as error:
            circle = [*reversed(error.args[1])]
            with at_key(circle[0]):
                words = " needs ".join(f"'{one}'" for one in circle)
                raise UserError(f"a side cannot need itself, got {words}; leave one of them out") from None

    def named(self, name: str) -> Side:
        """A side that was found, or a body of the state as one. Raises `UserError` for a name of neither."""
        if name in self._found:
            return self._found[name]
        if name not in self._bodies:
            raise UserError(unknown("side or body", name, [*self._bodies, *self._tables]))
        nodes, state = self._bodies[name], self._state
        if (facets := self._around.facets) is None:
            return Side(name, nodes)
        known = state.groups.get(state.facets, {}).get(name)
        if known is None:
            known = np.flatnonzero(facets.all_within(self._around.node_mask(nodes)))
            if not len(known):
                return Side(name, nodes)
        whole = bool(np.isin(nodes, facets.rows[known]).all())
        area = None if facets.areas is None else float(facets.areas[known].sum())
        return Side(name, nodes, known, area, whole, state.inner.get(state.facets, {}).get(name, 0))


def _positions(state: State, tables: Mapping[str, SideTable]) -> np.ndarray:
    """x (n, d), d up to 3. Raises `UserError` for a state without them."""
    x = state.fields.get(POSITIONS)
    shape = "none" if x is None else f"shape {list(np.shape(x))}"
    if x is None or np.ndim(x) != 2 or not 1 <= np.shape(x)[1] <= 3:
        raise UserError(
            f"are places of nodes, which need a field '{POSITIONS}' of shape [n, 1] to [n, 3], got {shape};"
            f" leave it out"
        )
    unit = state.units.get(POSITIONS, "m")
    if parse_unit(unit) != parse_unit("m"):
        raise UserError(f"are places of nodes, got a field '{POSITIONS}' in {unit}; leave them out")
    return np.asarray(x, np.float64)
