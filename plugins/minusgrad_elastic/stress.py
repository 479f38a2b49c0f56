"""Stress of solids, from the derivative of any energy of cells by F.

    P = sum over terms of dU_e/dF / V         first Piola-Kirchhoff: force on the body per area at rest
    sigma = P F^T / J                         Cauchy: force per area as it is, J = det F
    sigma = P                                 of the linear theory, where P is linear in F - I
    von Mises = sqrt(3/2 s : s),              s = sigma - tr sigma / 3 I

F (3, 3) [1], V [m^3] the rest volume of a cell or of a quadrature point, all stresses [Pa]. An energy that
depends on several F of one cell, as F-bar does, has the Kirchhoff stress sum_k dU_e/dF_k F_k^T / V. In
plane strain the energy is asked in space, at F_33 = 1, so that sigma_33 is its own. In plane stress, where
an energy is of the plane alone, sigma_33 = 0, and F_33 is the stretch across (`stretch_across`); of energies
of other plugins, whose stretch is not known, areas across are those of the thickness at rest. Of a cell with
several points it is the mean by volume; of a node that of the cells around it. Where the rest shape is a
field, F and V are those of the present one.

von Mises 1913, Nachr. Ges. Wiss. Göttingen, 582.

Decisions 0326.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    EnergyError,
    LinearDerivatives,
    Observer,
    ObserverContext,
    Quadrature,
    Record,
    UserError,
)

from . import rest_shapes
from .stretch_across import StretchAcross

Measure = Literal["von_mises", "cauchy", "first_piola_kirchhoff"]
LABELS: dict[Measure, str] = {
    "von_mises": "von_mises_stress",
    "cauchy": "cauchy_stress",
    "first_piola_kirchhoff": "first_piola_kirchhoff_stress",
}
SHORT = {1.0: "Pa", 1e3: "kPa", 1e6: "MPa", 1e9: "GPa"}
SAME = 1e-6
"""How far stresses that are to be the same may differ, relative to the largest; in f32 1e-3."""
PROBE = np.array([[1.05, 0.1, 0.0], [-0.02, 0.98, 0.0], [0.0, 0.0, 1.0]])
"""A deformation at which they are compared: at rest stresses are rounding alone."""


class TermStress:
    """dU_e/dF F^T of one term in space, at the rows of a list that it covers.

    `small`: it is of the linear theory, whose stress is P: dU_e/dF is linear in F - I.
    """

    def __init__(self, context: ObserverContext, term: str, rows: np.ndarray):
        self.term, self.rows = context.stepper.potential.terms[term], rows
        self.flat = LinearDerivatives(self.term, rest_shapes.FIELD)
        self.in_space = self.flat if self.flat.d == 3 else self._in_space()
        self.small = self._is_linear(context.stepper.time)
        self._across = None if self.in_space is not None else StretchAcross.of(self.term)

    def _is_linear(self, t: float) -> bool:
        derivatives = self.in_space or self.flat
        eye, probe = np.eye(derivatives.d), PROBE[: derivatives.d, : derivatives.d]
        here, once, twice = (
            np.sum([slope for _, slope in derivatives.at(t, F).values()], axis=0)
            for F in (eye, probe, 2.0 * probe - eye)
        )
        allowed = SAME if self.term.dtype == np.float64 else 1e-3
        return bool(np.abs(twice - 2.0 * once + here).max() <= allowed * np.abs(once).max())

    def _in_space(self) -> LinearDerivatives | None:
        """The energy at F_33 = 1; None of one for the plane alone."""
        roles = self.term.energy.roles
        if any("d" in roles[m.weights].shape for m in self.flat.made.values()):
            return LinearDerivatives(self.term, rest_shapes.FIELD, dimension=3)
        return None

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """F of the first argument, from the present rest shape, the sum of dU_e/dF F^T, and V sigma.

        Each is (E, 3, 3).
        """
        pairs = [*(self.in_space or self.flat).at(t).values()]
        turned = _turned_pairs(pairs)
        derivatives = self.in_space or self.flat
        F = derivatives.matrix(next(iter(derivatives.made)))
        if (rest := rest_shapes.deformation(self.in_space or self.flat)) is not None:
            F = F @ np.linalg.inv(rest)
        slopes = np.sum([slope for _, slope in pairs], axis=0)
        J = np.linalg.det(F) * (1.0 if self._across is None else self._across.at(F, t))
        true = slopes if self.small else turned / J[:, None, None]
        if F.shape[1] == 3:
            return F, turned, true
        whole = np.zeros((3, len(F), 3, 3))
        whole[0] = np.eye(3)
        for part, flat in zip(whole, (F, turned, true), strict=True):
            part[:, :2, :2] = flat
        return whole[0], whole[1], whole[2]

    def require_plane_strain(self, t: float) -> None:
        """Raise `UserError` for an energy written for any space that has another stress in the plane."""
        if self.in_space is self.flat or self.in_space is None:
            return
        turned = _turned_pairs([*self.in_space.at(t, PROBE).values()])
        flat = _turned_pairs([*self.flat.at(t, PROBE[:2, :2]).values()])
        scale = max(float(np.abs(flat).max()), 1e-300)
        allowed = SAME if self.term.dtype == np.float64 else 1e-3
        if np.abs(turned[:, :2, :2] - flat).max() > allowed * scale:
            raise UserError(
                f"stress: the energy '{self.term.name}' has in space at F_33 = 1 another stress than in the"
                " plane, got no stress across; declare its arguments of shape (2,) if it is in plane stress"
            )


def _turned_pairs(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The sum of dU_e/dF F^T over the F of an energy."""
    return np.sum([slope @ F.transpose(0, 2, 1) for F, slope in pairs], axis=0)


class Stress(Observer):
    """Records stresses `cells/LIST/..._stress`, cell by cell, and of nodes where asked."""

    def __init__(
        self,
        context: ObserverContext,
        every: int,
        cells: str,
        terms: Mapping[str, np.ndarray],
        measures: Sequence[Measure],
        nodes: bool,
    ):
        super().__init__(context.stepper, context.recorder, every)
        self.cells, self.measures, self.of_nodes = cells, measures, nodes
        state = context.state
        self.points: Quadrature | None = state.quadratures.get(cells)
        self._made_with = state.data[cells]["volume"]
        self.lists = {n: state.tuples[n] for n in (self.points.lists if self.points else (cells,))}
        self.parts = [TermStress(context, term, rows) for term, rows in terms.items()]
        for part in self.parts:
            part.require_plane_strain(self.stepper.time)
        for measure in measures:
            for label in (LABELS[measure], *([at_nodes(LABELS[measure])] if nodes else [])):
                context.recorder.unit(label, *pressure_unit(context))

    def observe(self) -> None:
        stepper = self.stepper
        found = {LABELS[m]: values for m, values in self.stresses(stepper.time).items()}
        start = 0
        for name, rows in self.lists.items():
            own = {label: values[start : start + len(rows)] for label, values in found.items()}
            self.recorder.record_cells(stepper.step, stepper.time, name, own)
            start += len(rows)
        if self.of_nodes:
            self.recorder.record_frame(stepper.step, stepper.time, self._at_nodes(found))

    def stresses(self, t: float) -> dict[Measure, np.ndarray]:
        """Each measure of every cell: (E,), or (E, 3, 3)."""
        self.volume = self._made_with.astype(float)
        turned, true, F = np.zeros((3, len(self.volume), 3, 3))
        F[:] = np.eye(3)
        for part in self.parts:
            F[part.rows], own, its_true = part.at(t)
            turned[part.rows] += own
            true[part.rows] += its_true
            self.volume[part.rows] = self._made_with[part.rows] * rest_shapes.growth(part.term)
        turned /= self.volume[:, None, None]
        cauchy = self._of_cells(true / self.volume[:, None, None])
        found: dict[Measure, np.ndarray] = {"cauchy": cauchy, "von_mises": von_mises(cauchy)}
        if "first_piola_kirchhoff" in self.measures:
            found["first_piola_kirchhoff"] = self._of_cells(turned @ np.linalg.inv(F).transpose(0, 2, 1))
        return {measure: found[measure] for measure in self.measures}

    def _of_cells(self, values: np.ndarray) -> np.ndarray:
        """Means over the points of each cell, weighted by volume."""
        if self.points is None:
            return values
        total = _row_sums(self.points.cell, self.volume[:, None, None] * values)
        return total / _row_sums(self.points.cell, self.volume)[:, None, None]

    def _at_nodes(self, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Means over the cells around each node, weighted by volume; NaN at nodes of none."""
        volume = self.volume if self.points is None else _row_sums(self.points.cell, self.volume)
        nodes = np.concatenate([rows.ravel() for rows in self.lists.values()])
        corners = np.concatenate([np.full(len(r), r.shape[1]) for r in self.lists.values()])
        cells, count = np.repeat(np.arange(len(corners)), corners), len(self.fields[rest_shapes.FIELD])
        weight = _row_sums(nodes, volume[cells], count)
        means = {}
        for label, values in found.items():
            shares = values[cells] * volume[cells].reshape(-1, *[1] * (values.ndim - 1))
            with np.errstate(invalid="ignore", divide="ignore"):
                sums = _row_sums(nodes, shares, count)
                means[at_nodes(label)] = sums / weight.reshape(-1, *[1] * (values.ndim - 1))
        return means


def pressure_unit(context: ObserverContext) -> tuple[str, float]:
    """The name of the run's unit of pressure, by its short one if it has one, and its size in SI."""
    size, symbol = context.units.in_si("Pa"), context.units.symbol("Pa")
    return symbol if symbol == "1" else SHORT.get(size, symbol), size


def at_nodes(label: str) -> str:
    """The label of means at nodes."""
    return f"{label}_at_nodes"


def von_mises(stress: np.ndarray) -> np.ndarray:
    """sqrt(3/2 s : s) of stresses (E, 3, 3)."""
    s = stress - np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
    return np.sqrt(1.5 * (s * s).sum(axis=(1, 2)))


def _row_sums(rows: np.ndarray, values: np.ndarray, count: int = 0) -> np.ndarray:
    """Sums of values (P, ...) by row, in the order of the values."""
    flat = values.reshape(len(values), -1).T
    sums = [np.bincount(rows, weights=column, minlength=count) for column in flat]
    return np.stack(sums, axis=1).reshape(-1, *values.shape[1:])


class StressBlock(Record):
    """Stress of each cell of a solid, of all energies of its cells: `measures` of von_mises, cauchy and
    first_piola_kirchhoff. `nodes = true`: means at nodes, too. `cells`: the list, if there are several."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    measures: Annotated[tuple[Measure, ...], Field(min_length=1)] = ("von_mises", "cauchy")
    """Which stresses are recorded."""
    nodes: bool = False
    """Record means at nodes, too."""
    cells: str | None = None
    """Name of the list of cells (default: the only one)."""

    def make(self, context: ObserverContext) -> Observer:
        known = solids(context)
        name = self.cells or (next(iter(known)) if len(known) == 1 else "")
        if name not in known:
            listed = ", ".join(known) or "none"
            asked = f"'{name}' is no list of cells" if name else "say which `cells`" if known else "no cells"
            raise UserError(f"stress: {asked} with volumes and an energy of F, got lists: {listed}")
        try:
            return Stress(context, self.every, name, known[name], self.measures, self.nodes)
        except EnergyError as error:
            raise UserError(f"stress: {error}") from None


def solids(context: ObserverContext) -> dict[str, dict[str, np.ndarray]]:
    """Lists of cells with volumes; of each the terms of F over it, with the rows that they cover."""
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
    whole = {n: terms for n, terms in found.items() if n in LISTS_OF_ALL}
    return whole or found


LISTS_OF_ALL = ("cells",)
"""The list of all cells of a body, beside which groups of cells have lists of their own."""


def _covered_rows(rows: np.ndarray, nodes: np.ndarray) -> np.ndarray | None:
    """The numbers of the rows that a term covers: those that lie wholly in its nodes; None if not these."""
    if rows.shape[1] != nodes.shape[1]:
        return None
    kept = np.flatnonzero(np.isin(rows, nodes).all(axis=1))
    return kept if np.array_equal(rows[kept], nodes) else None
