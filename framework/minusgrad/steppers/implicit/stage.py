"""The stage of an implicit scheme: where inertia pulls to, which velocity friction reads, and the new state.

With displacements u = X - x from the start x of a step of length h, a step finds X such that at free
components

    weight m (u - y) + dU/dx(X, t_s) + dR/dv(V, x_s, t_s) = 0,        V = rate (u - q)

which is dPhi/du = 0 of the incremental potential (`incremental_potential`); then

    x' = x + reach u        v' = speed u + sum of carried

y, q and `carried` are sums of what the scheme knows at the start, each with a factor: the velocity v, the
displacement and velocity of one step before (BDF2), the acceleration a (Newmark). x_s = x + seen v is where
a dissipation reads positions: they are predicted, with an error of order h^2.

    implicit Euler      y = h v,  V = u / h = v'                        first order, damps
    implicit midpoint   X in the middle of the step, y = h v / 2        second order, symplectic
    BDF2                v' and dv'/dt by the parabola through the last  second order, damps; its first step
                        three states                                    is one of implicit Euler
    Newmark             x' = x + h v + h^2 ((1/2 - beta) a + beta a'),  second order for gamma = 1/2
                        v' = v + h ((1 - gamma) a + gamma a')

(Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section III.5, BDF2 of variable steps;
Newmark 1959, J. Eng. Mech. Div. ASCE 85, 67; Kane et al. 2000, Int. J. Numer. Meth. Eng. 49, 1295: Newmark's
as an incremental potential.)

Decisions 0373.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...errors import EnergyError

V, MOVED, V_BEFORE, A = "velocity", "last_displacement", "velocity_before", "acceleration"
"""The fields that a scheme may use at the start of a step, besides the positions."""
Known = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class ImplicitStage:
    """The numbers of one step of length h, as above."""

    h: float
    weight: float
    rate: float
    target: Mapping[str, float]
    rest: Mapping[str, float]
    seen: float
    speed: float
    carried: Mapping[str, float]
    reach: float = 1.0

    def free_motion(self, known: Known) -> np.ndarray:
        """y (N,)."""
        return combined(self.target, known)

    def at_rest(self, known: Known) -> np.ndarray:
        """q (N,), the displacement at which V is zero."""
        return combined(self.rest, known)

    def new_velocity(self, u: np.ndarray, known: Known) -> np.ndarray:
        """v' (N,)."""
        return self.speed * u + combined(self.carried, known)


def combined(factors: Mapping[str, float], known: Known) -> np.ndarray:
    """The sum of the known fields, each times its factor."""
    return sum((c * known[name] for name, c in factors.items()), np.zeros_like(known[V]))


@dataclass(frozen=True)
class ImplicitScheme:
    """An implicit scheme. `stage`: that of a step of length h, the last one of length h / r (r = 0: none).

    `keeps`: what it must know besides x and v. `ends`: the weights of the start and the end of a step in the
    sums of work and friction; None for its middle, where t_s is then, too. `conserves`: it keeps the energy
    of linear systems.
    """

    name: str
    stage: Callable[[float, float], ImplicitStage]
    keeps: tuple[str, ...] = ()
    ends: tuple[float, float] | None = (0.5, 0.5)
    conserves: bool = False
    facts: Mapping[str, float] = field(default_factory=dict)


def _euler(h: float, r: float) -> ImplicitStage:
    return ImplicitStage(h, 1.0 / h**2, 1.0 / h, {V: h}, {}, h, 1.0 / h, {})


def _midpoint(h: float, r: float) -> ImplicitStage:
    return ImplicitStage(h, 4.0 / h**2, 2.0 / h, {V: 0.5 * h}, {}, 0.5 * h, 4.0 / h, {V: -1.0}, 2.0)


def _bdf2(h: float, r: float) -> ImplicitStage:
    """The derivative at the end of a step is rate times the distance from the prediction of the past."""
    past = 1.0 + 2.0 * r
    rate, before, now = past / ((1.0 + r) * h), r**2 / past, (1.0 + r) ** 2 / past
    target = {MOVED: before, V: now / rate, V_BEFORE: -before / rate}
    return ImplicitStage(h, rate**2, rate, target, {MOVED: before}, h, rate, {MOVED: -rate * before})


def newmark(beta: float = 0.25, gamma: float = 0.5) -> ImplicitScheme:
    """Newmark's scheme. Raises `EnergyError` unless it is stable for every h: 2 beta >= gamma >= 1/2."""
    if not (np.isfinite([beta, gamma]).all() and 2.0 * beta >= gamma >= 0.5):
        raise EnergyError(
            f"newmark: is stable for every dt where 2 beta >= gamma >= 1/2, got beta {beta:g} and gamma"
            f" {gamma:g}; use beta 0.25 and gamma 0.5, or leapfrog for an explicit step"
        )

    def stage(h: float, r: float) -> ImplicitStage:
        rate, free = gamma / (beta * h), {V: h, A: h**2 * (0.5 - beta)}
        carried = {V: 1.0 - gamma / beta, A: h * (1.0 - gamma) - rate * free[A]}
        rest = {name: -c / rate for name, c in carried.items()}
        return ImplicitStage(h, 1.0 / (beta * h**2), rate, free, rest, h, rate, carried)

    facts = {"beta": beta, "gamma": gamma}
    return ImplicitScheme("newmark", stage, (A,), conserves=gamma == 0.5, facts=facts)


IMPLICIT_SCHEMES = {
    "implicit_euler": ImplicitScheme("implicit_euler", _euler, ends=(0.0, 1.0)),
    "implicit_midpoint": ImplicitScheme("implicit_midpoint", _midpoint, ends=None, conserves=True),
    "bdf2": ImplicitScheme("bdf2", _bdf2, (MOVED, V_BEFORE)),
    "newmark": newmark(),
}
