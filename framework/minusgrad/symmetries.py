"""What leaves U as it is, found by trying; and what its gradient must then obey.

    U(x + c) = U(x)   ->   sum_i dU/dx_i = 0            momentum is kept
    U(R x)   = U(x)   ->   sum_i x_i ^ dU/dx_i = 0      so is angular momentum

(Noether 1918.) Fields of vectors are moved one by one, and turned together. A symmetry that U does not have
is no finding; a gradient that breaks one that U has is wrong.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from .fields import Field, ordered_sum
from .questions import Finding, Subject

TRIES = 2
ALIKE = 1e3
"""Values that differ by so many roundings are the same."""
KEPT = 1e-8
"""What sums to zero, in parts of the sum of absolute values."""

Gradient = Callable[[str], np.ndarray]


def symmetries(
    subject: Subject, fields: Mapping[str, Field], gradient: Gradient, rng: np.random.Generator
) -> Iterator[Finding]:
    """Ask for translations of every field of vectors, and for rotations of all."""
    start = {name: field.values.astype(np.float64) for name, field in fields.items()}
    vectors = {name: x for name, x in start.items() if x.ndim == 2 and x.shape[1] in (2, 3)}
    vectors = {name: x for name, x in vectors.items() if np.isfinite(gradient(name)).all()}
    if not vectors or len({x.shape[1] for x in vectors.values()}) != 1:
        return

    def alike(moved: Callable[[np.random.Generator], dict[str, np.ndarray]]) -> bool:
        here, same = subject.value(), True
        for _ in range(TRIES):
            for name, values in moved(rng).items():
                fields[name].set(values)
            there = subject.value()
            same = same and abs(there - here) <= ALIKE * subject.rounding()
            for name in vectors:
                fields[name].set(start[name])
        return same

    for name, x in vectors.items():
        if alike(partial(_shifted, name, x)):
            g = gradient(name)
            yield _kept(subject, name, "translation", g, ordered_sum(np.abs(g)), "the sum of forces")
    if alike(partial(_turned, vectors)):
        forces = [gradient(name) for name in vectors]
        torques = np.concatenate([_moments(x, g) for x, g in zip(vectors.values(), forces, strict=True)])
        lengths = [np.linalg.norm(np.concatenate(rows), axis=1) for rows in (list(vectors.values()), forces)]
        scale = ordered_sum(lengths[0] * lengths[1])
        yield _kept(subject, ", ".join(vectors), "rotation", torques, scale, "the sum of torques")


def _kept(subject: Subject, name: str, question: str, parts: np.ndarray, scale: float, what: str) -> Finding:
    total = np.array([ordered_sum(column) for column in parts.T])
    error = float(np.abs(total).max()) / (scale or 1.0)
    text = f"U has this symmetry, and {what} is {error:.1e} of its parts"
    return subject.finding(name, question, error <= KEPT, error, text)


def _shifted(name: str, x: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A field moved as far as it is large."""
    size = float(np.abs(x).max()) or 1.0
    return {name: x + size * rng.normal(size=x.shape[1])}


def _turned(vectors: Mapping[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """All fields turned by one random rotation about the origin."""
    d = next(iter(vectors.values())).shape[1]
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    q = q * np.sign(np.diag(r))
    q[:, 0] *= np.sign(np.linalg.det(q))
    return {name: x @ q.T for name, x in vectors.items()}


def _moments(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """x ^ g for each node: one number in the plane, three in space."""
    if x.shape[1] == 2:
        return (x[:, :1] * g[:, 1:] - x[:, 1:] * g[:, :1]).reshape(-1, 1)
    return np.cross(x, g)
