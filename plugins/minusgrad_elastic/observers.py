"""Observers of solids: the energy density of each cell."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record, UserError

from .rest_shapes import growth


class EnergyDensity(Observer):
    """Records `cells/LIST/energy_density`: psi = U_e / V_e [J/m^3] of one term, cell by cell.

    V_e is the volume at rest, of the present rest shape where that is a field. Of cells with quadrature
    points U_e and V_e are sums over these.
    """

    def __init__(self, context: ObserverContext, every: int, term: str, cells: str):
        super().__init__(context.stepper, context.recorder, every)
        self.term, self.cells = term, cells
        self.volume = context.state.data[cells]["volume"]
        self.points, tuples = context.state.quadratures.get(cells), context.state.tuples
        self.lists = {n: len(tuples[n]) for n in (self.points.lists if self.points else (cells,))}
        context.recorder.unit("energy_density", context.units.symbol("J/m^3"), context.units.in_si("J/m^3"))

    def observe(self) -> None:
        stepper, start = self.stepper, 0
        density = self.density(stepper.time)
        for name, count in self.lists.items():
            own = {"energy_density": density[start : start + count]}
            self.recorder.record_cells(stepper.step, stepper.time, name, own)
            start += count

    def density(self, t: float) -> np.ndarray:
        """psi of every cell (E,)."""
        energies = self.potential.by_element(self.term, t)
        volumes = self.volume * growth(self.potential.terms[self.term])
        if self.points is not None:
            energies, volumes = (np.bincount(self.points.cell, weights=v) for v in (energies, volumes))
        return energies / volumes


class EnergyDensityBlock(Record):
    """Energy density of each cell of a solid: of the term named, else of the only one over all the cells."""

    every: Annotated[int, Field(ge=1)]
    term: str | None = None

    def make(self, context: ObserverContext) -> Observer:
        solids = _solids(context)
        term = self.term or (next(iter(solids)) if len(solids) == 1 else None)
        if term is None or term not in solids:
            known = ", ".join(solids) or "none"
            asked = f"no term '{self.term}'" if self.term else "no term" if not solids else "say which `term`"
            raise UserError(f"{asked} covers a whole list of cells with volumes (there are: {known})")
        return EnergyDensity(context, self.every, term, solids[term])


def _solids(context: ObserverContext) -> Mapping[str, str]:
    """The terms that cover a whole list of cells with volumes, and its name."""
    state = context.state
    rows = {**state.tuples, **{name: points.nodes for name, points in state.quadratures.items()}}
    lists = {n: found for n, found in rows.items() if "volume" in state.data.get(n, {})}
    terms = context.stepper.potential.terms
    return {
        term: name
        for term, bound in terms.items()
        for name, rows in lists.items()
        if "volume" in bound.data and np.array_equal(bound.elements.nodes, rows)
    }


OBSERVERS = {"energy_density": EnergyDensityBlock}
