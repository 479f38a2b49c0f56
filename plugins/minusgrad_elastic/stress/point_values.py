"""F, stresses and strain at all quadrature points of a list of cells, of all energies over them.

V [m^3] (P,) is the volume at rest of each point, of the present rest shape; F, Fbar, P, sigma and E are
(P, 3, 3). Points of cells that no energy covers have F = I and no stress.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from minusgrad.plugin import ObserverContext, Potential

from .. import rest_shapes
from .term_stress import TermStress

LISTS_OF_ALL = ("cells",)
"""The list of all cells of a body, beside which groups of cells have lists of their own."""
GRADED = 8
"""A parameter with more values than one for so many cells is graded: cells that differ in it are one body."""


class PointValues(NamedTuple):
    """At the points of a list: F, Fbar, Cauchy's stress, the first Piola-Kirchhoff stress, and strain."""

    F: np.ndarray
    bar: np.ndarray
    cauchy: np.ndarray
    first_piola_kirchhoff: np.ndarray
    strain: np.ndarray


class PointStress:
    """The energies of a list of cells, each over the rows that it covers. volume (P,): the present one."""

    def __init__(self, context: ObserverContext, name: str, terms: Mapping[str, np.ndarray]):
        self.made_with = np.asarray(context.state.data[name]["volume"], float)
        self.volume = self.made_with.copy()
        self.parts = [TermStress(context, term, rows) for term, rows in terms.items()]
        for part in self.parts:
            part.require_plane_strain(context.stepper.time)

    def at(self, t: float, strain: bool = False) -> PointValues:
        """All of them at time t; the strain is NaN unless asked for."""
        count = len(self.made_with)
        turned, true, F, bar = np.zeros((4, count, 3, 3))
        F[:], bar[:] = np.eye(3), np.eye(3)
        self.volume = self.made_with.copy()
        for part in self.parts:
            own = part.at(t)
            F[part.rows], bar[part.rows] = own.F, own.bar
            turned[part.rows] += own.turned
            true[part.rows] += own.true
            self.volume[part.rows] = self.made_with[part.rows] * rest_shapes.growth(part.term)
        volume = self.volume[:, None, None]
        piola = turned / volume @ np.linalg.inv(F).transpose(0, 2, 1)
        return PointValues(F, bar, true / volume, piola, self._strains(F, t) if strain else F * np.nan)

    def _strains(self, F: np.ndarray, t: float) -> np.ndarray:
        """Green's strain; e of points whose energies are all of the linear theory."""
        whole, small = F.copy(), np.ones(len(F), bool)
        for part in self.parts:
            whole[part.rows, 2, 2] = part.stretch_across(F[part.rows], t)
            small[part.rows] &= part.small
        finite = 0.5 * (whole.transpose(0, 2, 1) @ whole - np.eye(3))
        return np.where(small[:, None, None], 0.5 * (whole + whole.transpose(0, 2, 1)) - np.eye(3), finite)

    def energies(self, t: float, potential: Potential) -> np.ndarray:
        """U of all energies at each point (P,)."""
        found = np.zeros(len(self.made_with))
        for part in self.parts:
            found[part.rows] += potential.by_element(part.term.name, t)
        return found

    @property
    def writes(self) -> int:
        """How often parameters of the energies were overwritten."""
        return sum(part.term.writes for part in self.parts)

    def materials(self, first_points: np.ndarray) -> np.ndarray:
        """The number of the material of each cell (E,), by its first point: its energies and their values."""
        columns = []
        for part in self.parts:
            covered = np.zeros(len(self.made_with), np.int64)
            covered[part.rows] = 1
            columns.append(covered[first_points])
            for values in part.term.parameters.values():
                if values.index is None:
                    continue
                _, kind = np.unique(values.rows.reshape(len(values.rows), -1), axis=0, return_inverse=True)
                own = np.full(len(self.made_with), -1, np.int64)
                own[part.rows] = kind.reshape(-1)[values.index]
                if len(np.unique(own[first_points])) * GRADED <= max(len(first_points), 2 * GRADED):
                    columns.append(own[first_points])
        _, material = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return material.reshape(-1)


def solids(context: ObserverContext) -> dict[str, dict[str, np.ndarray]]:
    """Lists of cells with volumes; of each the terms of F over it, with the rows that they cover.

    Lists of groups of cells are left out where there is one of all.
    """
    found = lists_of_cells(context)
    whole = {name: terms for name, terms in found.items() if name in LISTS_OF_ALL}
    return whole or found


def lists_of_cells(context: ObserverContext) -> dict[str, dict[str, np.ndarray]]:
    """As `solids`, with those of groups."""
    state, found = context.state, {}
    rows = {**state.tuples, **{name: points.nodes for name, points in state.quadratures.items()}}
    for name, nodes in rows.items():
        if "volume" in state.data.get(name, {}):
            covered = {}
            for term, bound in context.stepper.potential.terms.items():
                if not getattr(bound.energy, "shaping", ()):
                    continue
                if (own := _covered_rows(nodes, bound.elements.nodes)) is not None:
                    covered[term] = own
            if covered:
                found[name] = covered
    return found


def _covered_rows(rows: np.ndarray, nodes: np.ndarray) -> np.ndarray | None:
    """The numbers of the rows that are the elements of a term, in their order; None if there are others.

    Rows of cells with fewer nodes than others of the list repeat their first one.
    """
    if (missing := rows.shape[1] - nodes.shape[1]) < 0 or not len(nodes):
        return None
    nodes = np.concatenate([nodes, np.repeat(nodes[:, :1], missing, axis=1)], axis=1)
    both = np.concatenate([rows, nodes])
    _, key = np.unique(both, axis=0, return_inverse=True)
    kept = np.flatnonzero(np.isin(key.reshape(-1)[: len(rows)], key.reshape(-1)[len(rows) :]))
    return kept if np.array_equal(rows[kept], nodes) else None
