"""The stretch across a plate in plane stress, t: the thickness as it is over that at rest.

    P_33(F_3; t) = 0,   F_3 = [F 0; 0 t]        of the solid in space whose plate it is
    t = g^3 / det F                             of incompressible sheets; g = 1 + alpha (T - T_0), or 1
    t = g - nu / (1 - nu) (F_11 + F_22 - 2 g)   of the linear theory (Timoshenko & Goodier 1951, section 7)

F (E, 2, 2) [1] in the plane, t (E,) [1], nu Poisson's ratio. The first one is solved by bisection in ln t,
for t from 1/55 to 55: P_33 pulls above it and pushes below.

Decisions 0256.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from minusgrad.plugin import LinearDerivatives, storage, with_thermal_expansion

from .. import rest_shapes
from ..hyperelastic import neo_hookean, st_venant_kirchhoff
from ..materials.corotated import fixed_corotated, linear_corotated
from ..materials.hencky import hencky
from ..materials.rubber import mooney_rivlin, ogden, stable_neo_hookean

SOLIDS: dict[str, Any] = {
    "hencky_plane_stress": hencky,
    "linear_corotated_plane_stress": linear_corotated,
    "fixed_corotated_plane_stress": fixed_corotated,
    "neo_hookean_plane_stress": neo_hookean,
    "stable_neo_hookean_plane_stress": stable_neo_hookean,
    "st_venant_kirchhoff_plane_stress": st_venant_kirchhoff,
    "compressible_mooney_rivlin_plane_stress": mooney_rivlin,
    "compressible_ogden_plane_stress": ogden,
}
"""The solid in space of each plate, with arguments of the same names."""
SHEETS = ("mooney_rivlin_plane_stress", "ogden_plane_stress")
"""Incompressible."""
LINEAR = ("linear_plane_stress",)
"""Of the linear theory, with a parameter `poissons_ratio`."""
FURTHEST, HALVINGS = 4.0, 53
"""The largest size of ln t, and how often its interval is halved: to 2e-15."""


class StretchAcross:
    """t of the elements of a term; `of` gives None of energies whose t is not known."""

    def __init__(self, term: Any):
        self._solid: LinearDerivatives | None = None
        self._writes = -1
        self._term, self._expands = term, "thermal_expansion" in term.energy.roles
        self._shares = "mean_cell_shares" if "mean_cell_shares" in term.data else "cell_shares"

    def _solid_in_space(self) -> LinearDerivatives | None:
        """Derivatives of the solid in space, bound again when a parameter of the term was written."""
        term = self._term
        if self._writes != term.writes and (solid := SOLIDS.get(term.energy.name)) is not None:
            if self._expands:
                solid = with_thermal_expansion(solid, means=self._shares != "cell_shares")
            own = {
                part: {a: v for a, v in getattr(term, part).items() if a in solid.roles}
                for part in ("fields", "data", "parameters")
            }
            self._solid = LinearDerivatives(replace(term, energy=solid, **own), rest_shapes.FIELD, 3)
            self._writes = term.writes
        return self._solid

    @staticmethod
    def of(term: Any) -> "StretchAcross | None":
        return StretchAcross(term) if term.energy.name in (*SOLIDS, *SHEETS, *LINEAR) else None

    def at(self, F: np.ndarray, t: float) -> np.ndarray:
        """The stretch across (E,) at F (E, 2, 2) and time t; NaN where none was found."""
        if self._term.energy.name in LINEAR:
            ratio = self._term.parameters["poissons_ratio"]
            nu = ratio.rows[0 if ratio.index is None else ratio.index].astype(float)
            g = self._growth()
            return g - nu / (1.0 - nu) * (F[:, 0, 0] + F[:, 1, 1] - 2.0 * g)
        if self._solid_in_space() is None:
            return self._growth() ** 3 / np.linalg.det(F)
        whole = np.zeros((len(F), 3, 3))
        whole[:, :2, :2] = F
        low, high = np.full(len(F), -FURTHEST), np.full(len(F), FURTHEST)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            above = self._transverse_pull(whole, middle, t) > 0.0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        inside = np.minimum(high + FURTHEST, FURTHEST - low) > 1e-6
        return np.where(inside, np.exp(0.5 * (low + high)), np.nan)

    def _growth(self) -> np.ndarray | float:
        """1 + alpha (T - T_0) at the elements (E,)."""
        if not self._expands:
            return 1.0
        term = self._term
        alpha, reference = (_of_elements(term, a) for a in ("thermal_expansion", "reference_temperature"))
        T = term.fields["T"].values[term.elements.nodes] - reference[..., None]
        return 1.0 + alpha * (storage.host(term.data[self._shares]) * T).sum(axis=1)

    def _transverse_pull(self, whole: np.ndarray, s: np.ndarray, t: float) -> np.ndarray:
        """P_33, in units of the element, at t = exp s."""
        assert self._solid is not None
        whole[:, 2, 2] = np.exp(s)
        ((_, slope),) = self._solid.at(t, whole).values()
        return slope[:, 2, 2]


def _of_elements(term: Any, argument: str) -> np.ndarray:
    """The values of a parameter by element, or one for all."""
    values = term.parameters[argument]
    return values.rows[0 if values.index is None else values.index]
