"""The long-range correction of a CustomNonbondedForce: pairs beyond the cutoff, at uniform density.

    U = C / V,    C = 2 pi N^2 < integral from R to infinity of u r^2 dr + s >
    s = integral from R_s to R of (1 - S(r)) u r^2 dr

< > is the mean over the N (N + 1) / 2 pairs of N particles, a particle with itself among them; V [m^3] is
the volume, R the cutoff, S the switch from R_s on. Integrals have 64 points of Gauss and Legendre, beyond the
cutoff in R / r: exact to rounding for sums of powers of 1 / r from the fourth on. (OpenMM stops at 1e-5 of
them.) C is computed when the scene is built, of the parameters that particles have then.
"""

from typing import Any

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.plugin import Cutoff, Term, UserError
from minusgrad_electrostatics.dispersion import dispersion_correction

from ..forces.force_kind import ForceContext

POINTS = 64
MOST = 20_000
"""Pairs of kinds of particles."""


def bind_correction(
    context: ForceContext,
    force: Any,
    energy: Any,
    values: dict[str, np.ndarray],
    cutoff: Cutoff,
    tables: dict[str, Any],
) -> Term:
    """The term of the correction.

    energy: u over listed pairs. values: the parameters of particles, (n,), by argument. cutoff: of the pairs.
    Raises `UserError` for too many kinds of particles, and for an integral that is not finite.
    """
    n = context.fields["x"].shape[0]
    columns = np.stack([np.zeros(n), *values.values()], axis=1)
    kinds, counts = np.unique(columns, axis=0, return_counts=True)
    first, second = np.triu_indices(len(kinds))
    if len(first) > MOST:
        raise UserError(
            f"{force.what}: its long-range correction takes at most {MOST:,} pairs of kinds of particles, got"
            f" {len(first):,}; set setUseLongRangeCorrection(False)"
        )
    pairs = np.where(first == second, counts[first] * (counts[first] + 1) / 2, counts[first] * counts[second])
    r, weights = _points_and_weights(cutoff)
    count, ends = len(first) * len(r), np.stack([first, second], axis=1)
    x = np.zeros((2 * count, 3))
    x[1::2, 0] = np.tile(r, len(first))
    own = np.repeat(kinds[ends], len(r), axis=0).reshape(2 * count, -1)
    nodal = {f"own_{a}": own[:, 1 + k] for k, a in enumerate(values)}
    fields = Fields({"x": x} | nodal)
    renamed = {a: f"own_{a}" for a in values if a in energy.roles}
    rows = np.arange(2 * count).reshape(-1, 2)
    alone = bind(
        energy, fields, name="beyond", tuples=rows, renamed=renamed, tables=tables, units=context.units
    )
    u = Potential(fields, [alone]).by_element("beyond").reshape(len(first), len(r))
    mean = float(pairs @ (u @ weights)) / (0.5 * n * (n + 1.0))
    if not np.isfinite(mean):
        raise UserError(
            f"{force.what}: its long-range correction must be finite, got {mean:g}; set"
            " setUseLongRangeCorrection(False)"
        )
    parameters = {"coefficient": 2.0 * np.pi * n * n * mean}
    return bind(
        dispersion_correction, context.fields, name=f"{force.term}_correction", sizes={"box": 1},
        parameters=parameters,
    )  # fmt: skip


def _points_and_weights(cutoff: Cutoff) -> tuple[np.ndarray, np.ndarray]:
    """Distances, and weights for the sum of u over them that is the integral."""
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    s, half = 0.5 * (nodes + 1.0), 0.5 * weights
    r, found = cutoff.radius / s, half * cutoff.radius**3 / s**4
    if cutoff.sharp:
        return r, found
    width = cutoff.radius - cutoff.begin
    within = cutoff.begin + width * s
    lost = s**3 * (10.0 + s * (-15.0 + 6.0 * s))
    return np.concatenate([r, within]), np.concatenate([found, half * width * lost * within**2])
