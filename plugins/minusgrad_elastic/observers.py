"""Observers of solids: the energy density of each cell."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record, UserError

from .rest_shapes import growth
from .stress.point_values import solids


class EnergyDensity(Observer):
    """Records `cells/LIST/energy_density`: psi = U_e / V_e [J/m^3] of some terms together, cell by cell.

    V_e is the volume at rest, of the present rest shape where that is a field. Of cells with quadrature
    points U_e and V_e are sums over these.
    """

    def __init__(self, context: ObserverContext, every: int, terms: Mapping[str, np.ndarray], cells: str):
        super().__init__(context.stepper, context.recorder, every)
        self.terms, self.cells = terms, cells
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
        energies, volumes = np.zeros(len(self.volume)), self.volume.astype(np.float64)
        for term, rows in self.terms.items():
            energies[rows] += self.potential.by_element(term, t)
            volumes[rows] = self.volume[rows] * growth(self.potential.terms[term])
        if self.points is not None:
            cell = self.points.cell
            return np.bincount(cell, weights=energies) / np.bincount(cell, weights=volumes)
        return energies / volumes


class EnergyDensityBlock(Record):
    """Energy density of each cell of a solid: of the term named, else of all energies of its cells together.

    `cells`: the list, if there are several."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    term: str | None = None
    """Name of one energy (default: all energies of the cells together)."""
    cells: str | None = None
    """Name of the list of cells (default: the only one)."""

    def make(self, context: ObserverContext) -> Observer:
        known = solids(context)
        terms = {term for own in known.values() for term in own}
        alone = self.term or (min(terms) if len(terms) == 1 else None)
        if alone in terms and self.cells is None and (name := _own_list(context, alone)):
            rows = np.arange(context.stepper.potential.terms[alone].elements.count)
            return EnergyDensity(context, self.every, {alone: rows}, name)
        own = {n: terms for n, terms in known.items() if self.term is None or self.term in terms}
        name = self.cells or (next(iter(own)) if len(own) == 1 else "")
        if name not in own:
            listed = "; ".join(f"{n} ({', '.join(terms)})" for n, terms in known.items()) or "none"
            asked = f"'{name}' is no list of cells" if name else "say which `cells`" if own else "no cells"
            if self.term and not own:
                asked = f"no term '{self.term}' of cells"
            raise UserError(f"energy_density: {asked} with volumes and an energy of F, got lists: {listed}")
        covered = own[name] if self.term is None else {self.term: own[name][self.term]}
        return EnergyDensity(context, self.every, covered, name)


def _own_list(context: ObserverContext, term: str) -> str:
    """The list of cells with volumes that are the elements of a term; "" if there is none."""
    state, nodes = context.state, context.stepper.potential.terms[term].elements.nodes
    rows = {**state.tuples, **{name: points.nodes for name, points in state.quadratures.items()}}
    own = [
        n for n, found in rows.items() if "volume" in state.data.get(n, {}) and np.array_equal(nodes, found)
    ]
    return own[0] if own else ""


OBSERVERS = {"energy_density": EnergyDensityBlock}
