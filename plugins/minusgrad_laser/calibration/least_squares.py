"""Least squares by Newton's method, with derived gradients and Hessians, and errors from the covariance.

    z <- z - (|A| + l)^-1 g,    covariance = s^2 A^-1,    s^2 = 2 U / (n - p)

g and A are the gradient and the Hessian of U, a sum of squared misfits, by the unknowns z, each over its
scale; |A| has the sizes of its eigenvalues, and l is as large as needed for U to fall (Nocedal & Wright 2006,
Numerical Optimization, ch. 3 and 4).

Decisions 0179.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import Potential, UserError

ROUNDS = 200
SETTLED = 1e-9
"""Step over the scale of the unknowns at which the search ends."""
FLAT = 1e-10
"""Eigenvalue of the scaled Hessian, over the largest, below which a combination is not determined."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The unknowns at the least U: values (p,) in the order of the fields, covariance (p, p), n - p, s.

    scatter: s without its floor.
    """

    values: np.ndarray
    covariance: np.ndarray
    freedom: int
    deviation: float
    scatter: float


def least_misfit(
    potential: Potential,
    scales: Mapping[str, Sequence[float]],
    count: int,
    positive: Sequence[str] = (),
    floor: float = 0.0,
) -> Optimum:
    """Move the fields of `scales` to the least U. count: of misfits. positive: fields that stay above 0.

    floor: the least s, for errors that all measurements share.

    Raises `UserError` where a combination of unknowns is not determined, or where no end is found.
    """
    names = list(scales)
    scale = np.concatenate([np.asarray(scales[name], float) for name in names])
    keep = np.concatenate([np.full(len(scales[name]), name in positive) for name in names])
    z = _present_values(potential, names)
    here, damping = potential.value(), 1e-6
    for _ in range(ROUNDS):
        slope = scale * np.concatenate([potential.gradient(name).ravel() for name in names])
        curves, along = np.linalg.eigh(_scaled_bend(potential, names, scale))
        curves = np.abs(curves)
        step = -scale * (along @ ((along.T @ slope) / (curves + damping * curves.max())))
        new = np.where(keep, np.clip(z + step, 0.5 * z, 2.0 * z), z + step)
        _write_values(potential, scales, new)
        there = potential.value()
        if there <= here:
            moved = np.abs((new - z) / scale).max()
            z, here, damping = new, there, max(0.1 * damping, 1e-15)
            if moved < SETTLED:
                break
        elif damping > 1e3:  # no step is lower to rounding
            break
        else:
            _write_values(potential, scales, z)
            damping *= 10.0
    else:
        raise UserError(
            f"--fit: found no end within {ROUNDS} steps, got {names[0]} {z[0]:g}; look at the photo, or write"
            " a grid with more powers and speeds that mark"
        )
    _write_values(potential, scales, z)
    bend = _scaled_bend(potential, names, scale)
    size = np.sqrt(np.maximum(np.diag(bend), 1e-300))
    values, vectors = np.linalg.eigh(bend / np.outer(size, size))
    freedom = count - len(z)
    if freedom < 1 or values[0] < FLAT * values[-1]:
        which = names[0] if freedom < 1 else _named_part(vectors[:, 0], scales)
        raise UserError(
            f"--fit: the measured lines do not determine {which}, got {count} of them; write a grid with more"
            " powers and speeds that mark"
        )
    scatter = float(np.sqrt(2.0 * here / freedom))
    deviation = max(scatter, floor)
    inverse = (vectors / values) @ vectors.T / np.outer(size, size)
    return Optimum(z, deviation**2 * inverse * np.outer(scale, scale), freedom, deviation, scatter)


def _scaled_bend(potential: Potential, names: list[str], scale: np.ndarray) -> np.ndarray:
    return potential.hessian(names).toarray() * np.outer(scale, scale)


def _present_values(potential: Potential, names: Sequence[str]) -> np.ndarray:
    return np.concatenate([potential.fields[name].values.ravel() for name in names]).astype(float)


def _write_values(potential: Potential, scales: Mapping[str, Sequence[float]], values: np.ndarray) -> None:
    begin = 0
    for name, scale in scales.items():
        field = potential.fields[name]
        field.set(values[begin : begin + len(scale)].reshape(field.values.shape))
        begin += len(scale)


def _named_part(direction: np.ndarray, scales: Mapping[str, Sequence[float]]) -> str:
    """The unknown that takes the largest part in a direction."""
    owners = [name for name, scale in scales.items() for _ in scale]
    return owners[int(np.argmax(np.abs(direction)))]
