"""Buckling: the factor of a load at which an equilibrium ceases to be stable.

    linearised    (K_0 + lambda (K_1 - K_0)) phi = 0      K_0 at the equilibrium without the load,
                                                          K_1 at that under the load (lambda = 1)
    critical      the smallest lambda > 0 at which the lowest eigenvalue of K(lambda) = d2U/dx2, along the
                  equilibria x(lambda), is zero

The first is the factor of textbooks (Bathe 1996, Finite Element Procedures, section 6.8.2), exact where K is
linear in lambda; the second follows the path, and narrows an interval at whose lower end K is positive
definite and at whose upper end it is not, or there is no equilibrium. Both count negative eigenvalues by the
signs of factors (Sylvester), so that no factor below is missed. Under constraints K is that of the Lagrangian
on the kernel of dg/dx (`constrained_body`). At a bifurcation the load does no work along
phi, at a limit point (snap-through) it does.

Decisions 0198, 0351.
"""

from dataclasses import dataclass

import numpy as np

from ...errors import EnergyError, RunFailedError
from ...solvers.linear_solver import direct
from .loaded_body import LoadedBody, LoadedEquilibrium

DENSE = 400
"""Unknowns up to which the linearised problem is diagonalised."""
ALONG = 3000
"""The most unknowns under constraints: a basis of their kernel is dense."""
ACCURACY = 1e-7
"""The width of the interval around the critical factor, relative to it."""
CLOSE, TRIALS = 0.3 * ACCURACY, 300
ENDED = 0.05
"""The lowest eigenvalue, by that without the load, above which a body is stable, and not at a limit point."""
COARSE, DOUBLINGS = 0.01, 7
"""The width of an interval around a guess, relative to it, and how often the first one may be doubled."""
FARTHER, MOST = 4.0, 10.0
"""The largest factor that is tried, by the first linearised one, and where there is none."""
SOFT = 1e-10
"""Factors above 1 / SOFT times the smallest are rounding."""
ORTHOGONAL = 1e-3
"""The cosine of load and mode up to which a point is a bifurcation."""


@dataclass(frozen=True)
class CriticalPoint:
    """Where stability is lost: the load's factor is between `lower` and `upper`.

    shape: phi (N,), of unit length. kind: "bifurcation" or "limit point". x (N,): the state at `lower`.
    """

    lower: float
    upper: float
    shape: np.ndarray
    kind: str
    x: np.ndarray

    @property
    def factor(self) -> float:
        return 0.5 * (self.lower + self.upper)


def linearised(
    rest: LoadedEquilibrium, loaded: LoadedEquilibrium, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The `count` smallest positive factors, ascending, and their modes (N, k), of unit length.

    There may be fewer, and none where the load stiffens. Raises `RunFailedError` where one is missed, and
    `EnergyError` for too many unknowns under constraints.
    """
    if rest.jacobian is not None:
        return _linearised_along(rest, loaded, count)
    change = (loaded.stiffness - rest.stiffness) / (loaded.factor - rest.factor)
    size = change.shape[0]
    if size <= DENSE or 2 * count >= size:
        from scipy.linalg import eigh

        inverse, modes = eigh(-change.toarray(), rest.stiffness.toarray())
        inverse, modes = inverse[::-1][:count], modes[:, ::-1][:, :count]
    else:
        inverse, modes = _largest(rest, change, count)
    return _positive(rest, inverse, modes)


def _positive(
    rest: LoadedEquilibrium, inverse: np.ndarray, modes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positive factors, and unit modes, from 1/lambda in descending order."""
    positive = inverse > SOFT * np.abs(inverse).max(initial=0.0)
    factors = rest.factor + 1.0 / inverse[positive]
    modes = modes[:, positive] / np.linalg.norm(modes[:, positive], axis=0)
    return factors, modes


def _linearised_along(
    rest: LoadedEquilibrium, loaded: LoadedEquilibrium, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """`linearised` along constraints, whose tangent space turns as the load grows.

    In an orthonormal basis Z_0 of the kernel of G_0, and in the one of the kernel of G_1 that is nearest.
    """
    from scipy.linalg import eigh, null_space, polar

    size = rest.stiffness.shape[0]
    if size > ALONG:
        raise EnergyError(
            f"buckling: with constraints {ALONG:,} free components are the most, got {size:,}; divide the"
            " body less finely"
        )
    assert rest.jacobian is not None
    assert loaded.jacobian is not None
    begun, ended = null_space(rest.jacobian.toarray()), null_space(loaded.jacobian.toarray())
    there = ended @ polar(ended.T @ begun)[0]
    first = begun.T @ (rest.stiffness @ begun)
    change = (there.T @ (loaded.stiffness @ there) - first) / (loaded.factor - rest.factor)
    inverse, modes = eigh(-0.5 * (change + change.T), 0.5 * (first + first.T))
    return _positive(rest, inverse[::-1][:count], begun @ modes[:, ::-1][:, :count])


def _largest(rest: LoadedEquilibrium, change, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest 1/lambda of -K' phi = (1/lambda) K_0 phi by the Lanczos method, none missed."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    assert rest.factors is not None
    size, by = change.shape[0], rest.factors
    inverse = LinearOperator((size, size), matvec=lambda b: by.solve(b, 0.0), dtype=np.float64)
    start = np.random.Generator(np.random.Philox(key=0)).normal(size=size)
    asked = count + 1
    for _ in range(4):
        values, modes = eigsh(-change, asked, M=rest.stiffness, Minv=inverse, which="LA", v0=start)
        values, modes = values[::-1], modes[:, ::-1]
        if not (values[count] > 0.0):
            return values[:count], modes[:, :count]
        between = direct(rest.stiffness + change / (0.5 * (values[count - 1] + values[count])))
        missed = 0 if between is None or between.negative is None else between.negative - count
        if missed <= 0:
            return values[:count], modes[:, :count]
        asked = min(asked + missed, size - 1)
    raise RunFailedError(f"buckling: the Lanczos method missed {missed} factors; ask for another number")


def critical_point(body: LoadedBody, rest: LoadedEquilibrium, guess: float | None) -> CriticalPoint | None:
    """The first point along the path from `rest`, which is stable, at which stability is lost.

    guess: where it may be. None if there is none up to `largest_factor`. Moves the fields. Raises
    `RunFailedError` where the path is lost.
    """
    lower, beyond, upper = rest, None, np.inf
    most = largest_factor(guess)
    step, growth, margin, halve = 0.5 * (guess or 2.0), 2.0, CLOSE, False
    for _ in range(TRIALS):
        if min(upper - lower.factor, step) <= ACCURACY * lower.factor:
            break
        if lower.factor > most:
            return None
        width = upper - lower.factor
        trial = lower.factor + step if beyond is None else _zero_between(lower, beyond, margin, halve)
        there = body.follow(lower, trial)
        if there is None:
            step, growth, beyond, upper = 0.5 * (trial - lower.factor), 1.0, None, np.inf
        elif there.stable:
            lower, margin, step = there, CLOSE, growth * step
        else:
            beyond, upper, margin = there, trial, -CLOSE
        halve = beyond is not None and upper - lower.factor > 0.5 * width and not halve
    softest, eigenvalue = _softest(lower)
    if eigenvalue > ENDED * _softest(rest)[1]:
        raise RunFailedError(
            f"buckling: no equilibrium was found beyond {lower.factor:g} times the load, though the body is"
            " stable there; take a load that is nearer to where it buckles"
        )
    body.x = lower.x
    load = body.load_gradient()
    works = abs(float(softest @ load)) > ORTHOGONAL * float(np.linalg.norm(load))
    end = min(upper, lower.factor + step)
    return CriticalPoint(lower.factor, end, softest, "limit point" if works else "bifurcation", lower.x)


def guessed_factor(body: LoadedBody, rest: LoadedEquilibrium, guess: float | None) -> float | None:
    """Where stability may be lost, better than the first linearised factor `guess`: K to second order.

    None where that is None and K stays definite up to `MOST`. Moves the fields.
    """
    if rest.jacobian is not None or (near := body.quadratic_stiffness(rest)) is None:
        return guess
    low, high = rest.factor, guess or MOST
    for _ in range(DOUBLINGS if guess else 1):
        if not near.is_definite(high):
            break
        low, high = high, 2.0 * high
    else:
        return guess
    while high - low > COARSE * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if near.is_definite(middle) else (low, middle)
    return high


def largest_factor(guess: float | None) -> float:
    """The factor up to which a critical point is looked for, where one was guessed."""
    return MOST if guess is None else FARTHER * guess


def _zero_between(lower: LoadedEquilibrium, beyond: LoadedEquilibrium, margin: float, halve: bool) -> float:
    """A factor between a stable and an unstable equilibrium: where K is singular if it is linear, or the
    middle. `margin` moves it to the side of the zero that was not tried last, so that the interval closes."""
    middle = 0.5 * (lower.factor + beyond.factor)
    change = (beyond.stiffness - lower.stiffness) / (beyond.factor - lower.factor)
    step = None if halve else _first_zero(lower, change)
    if step is None:
        return middle
    trial = (lower.factor + step) * (1.0 + margin)
    return trial if lower.factor < trial < beyond.factor else middle


def _first_zero(here: LoadedEquilibrium, change) -> float | None:
    """The smallest s > 0 at which K + s K' is singular, by inverse iteration; None if there is none."""
    assert here.factors is not None
    shape = np.random.Generator(np.random.Philox(key=1)).normal(size=change.shape[0])
    for _ in range(20):
        shape = here.factors.solve(-(change @ shape), 0.0)
        square = float(shape @ (here.stiffness @ shape))
        if not square > 0.0:
            return None
        norm = np.sqrt(square)
        shape /= norm
    found = -float(shape @ (change @ shape))
    return 1.0 / found if found > 0.0 else None


def _softest(here: LoadedEquilibrium) -> tuple[np.ndarray, float]:
    """The eigenvector of the eigenvalue of K that is nearest to zero, and it, by inverse iteration."""
    assert here.factors is not None
    shape = np.random.Generator(np.random.Philox(key=2)).normal(size=len(here.x))
    for _ in range(30):
        shape = here.factors.solve(shape, 0.0)
        shape /= np.linalg.norm(shape)
    largest = np.argmax(np.round(np.abs(shape) / np.abs(shape).max(), 6))
    return shape * (1.0 if shape[largest] > 0 else -1.0), float(shape @ (here.stiffness @ shape))
