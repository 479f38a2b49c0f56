"""Stress of one energy of cells, from its derivative by F.

    P = sum over terms of dU_e/dF / V         first Piola-Kirchhoff: force on the body per area at rest
    sigma = P F^T / J                         Cauchy: force per area as it is, J = det F
    sigma = P                                 of the linear theory, where P is linear in F - I

F (3, 3) [1], V [m^3] the rest volume of a cell or of a quadrature point, all stresses [Pa]. An energy that
depends on several F of one cell, as F-bar does, has the Kirchhoff stress sum_k dU_e/dF_k F_k^T / V. In
plane strain the energy is asked in space, at F_33 = 1, so that sigma_33 is its own. In plane stress, where
an energy is of the plane alone, sigma_33 = 0, and F_33 is the stretch across (`stretch_across`); of energies
of other plugins, whose stretch is not known, areas across are those of the thickness at rest. Where the rest
shape is a field, F and V are those of the present one.

Decisions 0326.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minusgrad.plugin import LinearDerivatives, ObserverContext, UserError, storage

from .. import rest_shapes
from .stretch_across import StretchAcross

SAME = 1e-6
"""How far stresses that are to be the same may differ, relative to the largest; in f32 1e-3."""
PROBE = np.array([[1.05, 0.1, 0.0], [-0.02, 0.98, 0.0], [0.0, 0.0, 1.0]])
"""A deformation at which they are compared: at rest stresses are rounding alone."""
MEAN = "mean_"
"""Begins the name of the mean over a cell of a deformation gradient, which F-bar reads."""


class OfTerm(NamedTuple):
    """At the elements of a term (E, 3, 3): F of the first argument, from the present rest shape; the sum of
    dU_e/dF F^T; V sigma; Fbar, which is F of an energy without F-bar."""

    F: np.ndarray
    turned: np.ndarray
    true: np.ndarray
    bar: np.ndarray


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

    def at(self, t: float) -> OfTerm:
        """F, the sum of dU_e/dF F^T, V sigma, Fbar."""
        derivatives = self.in_space or self.flat
        pairs = [*derivatives.at(t).values()]
        turned = _turned_pairs(pairs)
        F = self._from_rest(next(iter(derivatives.made)))
        slopes = np.sum([slope for _, slope in pairs], axis=0)
        true = slopes if self.small else turned / self._volume_ratio(F, t)[:, None, None]
        found = F, turned, true, self._bar(F)
        if F.shape[1] == 3:
            return OfTerm(*found)
        whole = np.zeros((4, len(F), 3, 3))
        whole[0], whole[3] = np.eye(3), np.eye(3)
        for part, flat in zip(whole, found, strict=True):
            part[:, :2, :2] = flat
        return OfTerm(*whole)

    def _volume_ratio(self, F: np.ndarray, t: float) -> np.ndarray:
        """J (E,), of a plate with the stretch across."""
        return np.linalg.det(F) * (1.0 if self._across is None else self._across.at(F, t))

    def stretch_across(self, F: np.ndarray, t: float) -> np.ndarray | float:
        """F_33 (E,) of a body in the plane at F (E, 3, 3); NaN where a plate's is not known."""
        if self.in_space is not None:
            return F[:, 2, 2]
        return np.full(len(F), np.nan) if self._across is None else self._across.at(F[:, :2, :2], t)

    def nodal_rows(self, t: float) -> np.ndarray:
        """dU_e/dx of the nodes of each element (E, k, d), in double precision, by the chain rule."""
        found, d = 0.0, self.flat.own
        for name, (_, slope) in self.flat.at(t).items():
            weights = storage.host(self.term.data[self.flat.made[name].weights]).astype(float)
            found = found + np.einsum("eij,eaj->eai", slope[:, :d, :d], weights)
        return np.asarray(found)

    def _from_rest(self, argument: str) -> np.ndarray:
        """An argument that is Linear in x, from the present rest shape."""
        derivatives = self.in_space or self.flat
        F, linear = derivatives.matrix(argument), self.term.energy.linear
        rest = [
            name
            for name, made in linear.items()
            if made.field == rest_shapes.REST and made.weights == linear[argument].weights
        ]
        return F @ np.linalg.inv(derivatives.matrix(rest[0])) if rest else F

    def _bar(self, F: np.ndarray) -> np.ndarray:
        """Fbar of an energy with F-bar: F with the volume ratio of the mean over the cell."""
        made = (self.in_space or self.flat).made
        if (mean := MEAN + next(iter(made))) not in made:
            return F
        d = self.flat.own
        ratio = np.linalg.det(self._from_rest(mean)[:, :d, :d]) / np.linalg.det(F[:, :d, :d])
        scaled = F.copy()
        scaled[:, :d, :d] *= np.abs(ratio)[:, None, None] ** (1.0 / d)
        return scaled

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
