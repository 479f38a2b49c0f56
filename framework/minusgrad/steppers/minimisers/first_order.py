"""First-order minimisers: gradient descent, Adam and FIRE.

g = dU/dz, r the rate of each component's field, P the nearest point within the bounds.

Gradient descent with backtracking (Armijo 1966, Pacific J. Math. 16, 1):

    z <- P(z - a r g)                        a halved until U is lower by Armijo's condition, then grown again

or with a constant a = rate, which is stochastic gradient descent where U is drawn anew in each iteration
(Robbins & Monro 1951, Ann. Math. Stat. 22, 400).

Adam (Kingma & Ba 2015, ICLR), k = 1, 2, ... :

    m <- b1 m + (1 - b1) g                   mean = m / (1 - b1^k)
    v <- b2 v + (1 - b2) g^2                 root = sqrt(v / (1 - b2^k))
    z <- P(z - rate_k r mean / (root + 1e-8 max(root)))

with a constant rate_k = rate; or, from `rate` to `final_rate` in n = `decay_steps` iterations, along half a
cosine (Loshchilov & Hutter 2017, ICLR), and final_rate from then on:

    rate_k = final_rate + (rate - final_rate) (1 + cos(pi min((k - 1) / n, 1))) / 2

(1e-8 of the largest root in place of 1e-8, so that Adam does not depend on the unit of energy.)

FIRE, version 2.0 (Bitzek et al. 2006, Phys. Rev. Lett. 97, 170201; Guénolé et al. 2020, Comput. Mater. Sci.
175, 109584): a particle of inertia 1 / r slides down, by semi-implicit Euler steps of length h,

    f = -p;   v <- v + h r f;   v <- (1 - a) v + a |v| r f / |f|;   z <- P(z + h v)

with p the projected gradient, and norms weighted by the inertia. After some steps downhill, f.v > 0, h grows
and a decreases. After a step too far, f.v < 0, h is halved, and one step goes back by h v / 2 to rest there.

Decisions 0354.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import EnergyError, NonFiniteError, RunFailedError
from ..systems.system import System
from .line_search import lowers
from .minimiser import WITHOUT_SEARCH, Minimiser, Point, dot, largest
from .objective import Objective, Redrawn
from .outcomes import NO_TOLERANCES, Tolerances
from .unknowns import Unknown, positive

GROW = 1.25
"""Gradient descent: the next step may be longer by this factor; one that is too long costs an evaluation."""
DECAYS = 0.9, 0.999
"""Adam: b1 and b2."""
PATIENCE, FASTER, SLOWER, FASTEST = 5, 1.1, 0.5, 10.0
"""FIRE: steps downhill before h grows; its growth, its decline, and its limit in parts of the first h."""
MIXED, FADE = 0.25, 0.99
"""FIRE: a at the start, and the factor by which it decreases."""
CURE, CURE_OF_RATE = "a smaller `longest`", "a smaller rate"


class Redrawing(Minimiser):
    """The base of methods that compare no two values of U, which may be drawn anew in each iteration."""

    consumer = WITHOUT_SEARCH

    def at_next_draw(self, here: Point, z: np.ndarray) -> Point:
        """The next point, with U and dU/dz of its own draw (`Redrawn`). Raises as `finite_at` does."""
        objective = self.objective
        if not isinstance(objective, Redrawn):
            return self.finite_at(here, z, CURE_OF_RATE)
        try:
            objective.redraw(self.step + 1)
            return self.finite_at(here, z, CURE_OF_RATE)
        except (NonFiniteError, RunFailedError):
            objective.redraw(self.step)
            self.return_to(here)
            self.mark()
            raise


class GradientDescent(Redrawing):
    """Gradient descent with backtracking; `first`: the largest |dz| of the first trial.

    `rate`: each step is this times the slope instead, whether U falls or not; U may be drawn anew.
    """

    kept = ("length",)

    def __init__(
        self,
        objective: System | Objective,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        first: float = 0.1,
        rate: float | None = None,
        **options: Any,
    ):
        super().__init__(objective, unknowns, tolerances, **options)
        self.first, self.length = positive("first", first), 0.0
        self.rate = None if rate is None else positive("rate", rate)

    def _forget(self) -> None:
        self.length = 0.0

    def _next_point(self, here: Point) -> Point | None:
        downhill = -self.coordinates.rate * self.projected(here)
        if self.rate is not None:
            return self.at_next_draw(here, here.z + self.rate * downhill)
        length = self.length or self.first / largest(downhill)
        while ((there := self.evaluate_at(here.z + length * downhill)).x != here.x).any():
            if lowers(self, here, there):
                self.length = GROW * length
                return there
            length *= 0.5
        return None


class Adam(Redrawing):
    """Adam: steps of about `rate` along each component, independent of the size of its slope.

    `final_rate`: the rate that the steps fall to in `decay_steps` iterations, along half a cosine; the first
    ones, at `rate`, may then be long (default: the rate is constant).

    `clip`: the largest norm |p|; longer slopes are shortened to it, so that a single one, as behind a
    contact, does not outweigh all others in the means (Pascanu, Mikolov & Bengio 2013, ICML).

    Its means outlast a change of U: they fade by themselves, and a method for noisy slopes expects such.
    """

    kept: tuple[str, ...] = ("mean", "square")

    def __init__(
        self,
        objective: System | Objective,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        rate: float = 1e-3,
        final_rate: float | None = None,
        decay_steps: int | None = None,
        clip: float | None = None,
        **options: Any,
    ):
        super().__init__(objective, unknowns, tolerances, **options)
        self.rate = positive("rate", rate)
        self.final_rate, self.decay_steps = _decay(final_rate, decay_steps)
        self.clip = None if clip is None else positive("clip", clip)
        self.mean = np.zeros(len(self.coordinates))
        self.square = np.zeros(len(self.coordinates))

    def _next_point(self, here: Point) -> Point:
        b1, b2 = DECAYS
        k = self.step + 1
        slope = self._clipped(here)
        mean = b1 * self.mean + (1.0 - b1) * slope
        square = b2 * self.square + (1.0 - b2) * slope * slope
        root = np.sqrt(square / (1.0 - b2**k))
        move = mean / (1.0 - b1**k) / (root + 1e-8 * largest(root))
        rate = self._present_rate() * self.coordinates.rate
        there = self.at_next_draw(here, here.z - rate * move)
        self.mean, self.square = mean, square
        return there

    def _present_rate(self) -> float:
        """The rate of the next iteration, which follows from its number alone."""
        if self.final_rate is None or self.decay_steps is None:
            return self.rate
        passed = min(self.step / self.decay_steps, 1.0)
        return self.final_rate + 0.5 * (self.rate - self.final_rate) * (1.0 + math.cos(math.pi * passed))

    def _clipped(self, here: Point) -> np.ndarray:
        """The slopes, shortened where the projected ones are longer than `clip`."""
        if self.clip is None:
            return here.slope
        p = self.projected(here)
        norm = math.sqrt(dot(p, p))
        return here.slope * (self.clip / norm) if norm > self.clip else here.slope


def _decay(final_rate: float | None, decay_steps: int | None) -> tuple[float | None, int | None]:
    """The two numbers of a falling rate, if they are in their range and both given, or none of them."""
    if (final_rate is None) != (decay_steps is None):
        missing, given = (
            ("decay_steps", "final_rate") if decay_steps is None else ("final_rate", "decay_steps")
        )
        raise EnergyError(f"{given}: needs `{missing}` beside it, got none; give both, or leave both out")
    if final_rate is not None and not 0.0 <= final_rate < math.inf:
        raise EnergyError(f"final_rate must be 0 or more and finite, got {final_rate:g}")
    if decay_steps is not None and decay_steps < 1:
        raise EnergyError(f"decay_steps must be 1 or more, got {decay_steps}")
    return final_rate, decay_steps


class FIRE(Minimiser):
    """FIRE: a damped motion downhill that stops when it goes uphill.

    `first` and `longest`: the largest |dz| of the first step, and of any. The first step also determines h at
    the start (`pace`); h grows to at most ten times as much.
    """

    consumer = WITHOUT_SEARCH

    kept = ("velocity", "pace", "fastest", "mix", "downhill")

    def __init__(
        self,
        objective: System | Objective,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        first: float = 0.01,
        longest: float = 0.1,
        **options: Any,
    ):
        super().__init__(objective, unknowns, tolerances, **options)
        self.first, self.longest = positive("first", first), positive("longest", longest)
        self._forget()

    def _forget(self) -> None:
        self.velocity = np.zeros(len(self.coordinates))
        self.pace, self.fastest, self.mix, self.downhill = 0.0, 0.0, MIXED, 0

    def _next_point(self, here: Point) -> Point:
        rate, force = self.coordinates.rate, -self.projected(here)
        pace = self.pace or math.sqrt(self.first / largest(rate * force))
        fastest, mix = self.fastest or FASTEST * pace, self.mix
        power = dot(force, self.velocity)
        if power < 0.0:
            return self._turn(here)
        downhill = self.downhill + (power > 0.0)
        if downhill > PATIENCE:
            pace, mix = min(FASTER * pace, fastest), FADE * mix
        velocity = self.velocity + pace * rate * force
        along = math.sqrt(dot(velocity, velocity / rate) / (dot(force, rate * force) or math.inf))
        velocity = (1.0 - mix) * velocity + mix * along * rate * force
        if (reach := pace * np.abs(velocity).max()) > self.longest:
            velocity *= self.longest / reach
        there = self.finite_at(here, here.z + pace * velocity, CURE)
        stopped = self.coordinates.pinned(there.z, there.slope)
        self.velocity = self.tangent(np.where(stopped, 0.0, velocity))
        self.pace, self.fastest, self.mix, self.downhill = pace, fastest, mix, downhill
        return there

    def _turn(self, here: Point) -> Point:
        """Go back by half a halved step, and set the velocity to zero."""
        there = self.finite_at(here, here.z - 0.5 * SLOWER * self.pace * self.velocity, CURE)
        self.velocity = np.zeros_like(self.velocity)
        self.pace, self.mix, self.downhill = SLOWER * self.pace, MIXED, 0
        return there
