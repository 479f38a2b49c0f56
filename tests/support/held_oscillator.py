"""A mass on a spring and a dashpot, whose other end is held: the exact answer, and a system to come near it.

    m y'' = -k (y - s) - c (y' - s')          y: the mass, less the spring's length at rest;  s: the support
    s(t) = S + D r(t / T) + V t  until T, S + D + V t  after it,          r(u) = 10 u^3 - 15 u^4 + 6 u^5

z = y - s obeys  z'' + 2 g z' + w^2 z = -s'',  g = c / 2m,  w^2 = k / m:  on each side of T a polynomial (from
its highest power down), and a damped oscillation that fits the start.

    reaction = k (s - y) + c (s' - y') + M s''          M: the support's own mass
    work = integral of reaction times s'                dissipated = integral of c (y' - s')^2

In space all of it happens along one direction.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from minusgrad import Fields, Motion, Node, Parameter, Potential, Time, bind, local_energy, ti
from minusgrad.codegen.kept_traces import KEPT
from minusgrad.energies.fields import Hold
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES, Scheme
from minusgrad.steppers.systems.system import System
from tests.support.damage import RED, REWRITTEN
from tests.support.modulated_trap import trap

K, M, SUPPORT, REST = 2.5, 0.7, 1.3, 1.2
"""Stiffness, the mass, the support's own mass, the spring's length at rest."""

START, RATE, FOOT = 2.0, -0.3, 0.4
"""Of the mass: where it is and how fast; where the support is."""

GAUSS = np.polynomial.legendre.leggauss(16)


# Paper --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dragged:
    """The exact motion from the time `begin` on.

    far: D; duration: T (0: the support is there at once); drift: V; drag: c.
    """

    far: float = 0.0
    duration: float = 0.0
    drift: float = 0.0
    drag: float = 0.0
    begin: float = 0.0

    def pieces(self) -> list[tuple[float, Polynomial]]:
        """When each begins, and s(t) from then on."""
        drift = Polynomial([0.0, self.drift])
        if not self.duration:
            return [(self.begin, drift + FOOT + self.far)]
        ramp = self.far * Polynomial([0, 0, 0, 10.0, -15.0, 6.0])(Polynomial([0.0, 1.0 / self.duration]))
        return [(self.begin, ramp + drift + FOOT), (self.duration, drift + FOOT + self.far)]

    def support(self, t: float) -> tuple[float, float, float]:
        """s, s' and s''."""
        s = [s for begin, s in self.pieces() if begin <= t][-1]
        return s(t), s.deriv()(t), s.deriv(2)(t)

    def mass(self, t: float) -> tuple[float, float]:
        """y + the length at rest, and y'."""
        begins, y, rate = self.pieces(), START - REST, RATE
        ends = [*(begin for begin, _ in begins[1:]), np.inf]
        for (begin, s), end in zip(begins, ends, strict=True):
            if begin <= t:
                smooth = s + _settled(s, self.drag)
                after = _ringing(y - smooth(begin), rate - smooth.deriv()(begin), self.drag)
                until = min(t, end)
                swing, speed = after(until - begin)
                y, rate = smooth(until) + swing, smooth.deriv()(until) + speed
        return y + REST, rate

    def reaction(self, t: float) -> float:
        """The support's force."""
        (s, speed, acceleration), (x, v) = self.support(t), self.mass(t)
        return K * (s + REST - x) + self.drag * (speed - v) + SUPPORT * acceleration

    def work(self, t: float) -> float:
        """Of the reaction, since the start (in which the support moves already)."""
        return self._integral(lambda at: self.reaction(at) * self.support(at)[1], t)

    def dissipated(self, t: float) -> float:
        """By the dashpot."""
        return self._integral(lambda at: self.drag * (self.mass(at)[1] - self.support(at)[1]) ** 2, t)

    def _integral(self, of: Callable[[float], float], t: float) -> float:
        breaks = [*(begin for begin, _ in self.pieces() if begin < t), t]
        total = 0.0
        for a, b in pairwise(breaks):
            inside = np.nextafter(a, b), np.nextafter(b, a)
            places = np.clip(a + 0.5 * (b - a) * (GAUSS[0] + 1.0), *inside)
            total += 0.5 * (b - a) * float(GAUSS[1] @ [of(at) for at in places])
        return total


def _settled(s: Polynomial, drag: float) -> Polynomial:
    """The polynomial z with z'' + 2 g z' + w^2 z = -s'', from its highest power down."""
    right = -s.deriv(2).coef
    z = np.zeros(len(right) + 2)
    for j in reversed(range(len(right))):
        z[j] = (right[j] - drag / M * (j + 1) * z[j + 1] - (j + 2) * (j + 1) * z[j + 2]) * M / K
    return Polynomial(z)


def _ringing(z: float, rate: float, drag: float) -> Callable[[float], tuple[float, float]]:
    """The free damped oscillation that starts at (z, rate): place and rate after a time."""
    g = drag / (2.0 * M)
    w = np.sqrt(K / M - g * g)
    b = (rate + g * z) / w

    def at(t: float) -> tuple[float, float]:
        cos, sin, fade = np.cos(w * t), np.sin(w * t), np.exp(-g * t)
        swing = fade * (z * cos + b * sin)
        return swing, -g * swing + fade * w * (b * cos - z * sin)

    return at


# The system ---------------------------------------------------------------------------------------------


@local_energy("coil", over=2, q=Node("m"), stiffness=Parameter("N/m"), rest=Parameter("m"))
def coil(q, stiffness, rest):
    """k (q_0 - q_1 - L)^2 / 2: a spring along a line."""
    return 0.5 * stiffness * (q[0] - q[1] - rest) ** 2


@local_energy("dashpot", over=2, u=Node("m s^-1"), drag=Parameter("kg s^-1"))
def dashpot(u, drag):
    """c (u_0 - u_1)^2 / 2: a dissipation, half the power that is lost."""
    return 0.5 * drag * (u[0] - u[1]) ** 2


@local_energy("coil_in_space", over=2, x=Node("m", ("d",)), stiffness=Parameter("N/m"), rest=Parameter("m"))
def coil_in_space(x, stiffness, rest):
    """k (|x_0 - x_1| - L)^2 / 2."""
    return 0.5 * stiffness * ((x[0] - x[1]).norm() - rest) ** 2


@local_energy("dashpot_in_space", over=2, v=Node("m s^-1", ("d",)), drag=Parameter("kg s^-1"))
def dashpot_in_space(v, drag):
    """c |v_0 - v_1|^2 / 2."""
    return 0.5 * drag * (v[0] - v[1]).norm_sqr()


DIRECTION = {2: np.array([0.6, 0.8]), 3: np.array([2.0, -3.0, 6.0]) / 7.0}
ORIGIN = {2: np.array([0.3, -0.2]), 3: np.array([0.1, 0.5, -0.4])}
MASS, SUPPORTED, IDLE = 0, 2, 1
"""Node numbers; the idle one is clamped and hangs on nothing, though it has a velocity to begin with."""


def placed(q: np.ndarray, d: int | None) -> np.ndarray:
    """Numbers along the line as positions: themselves where there is no space."""
    return q if d is None else ORIGIN[d] + np.multiply.outer(q, DIRECTION[d])


def aimed(q: np.ndarray | float, d: int | None) -> np.ndarray:
    """Numbers along the line as vectors."""
    return np.asarray(q) if d is None else np.multiply.outer(q, DIRECTION[d])


def dragged(
    kind: str,
    dt: float,
    motion: Dragged | None = None,
    d: int | None = None,
    precision: str = "f64",
) -> Integrator:
    """The mass, about to move; the support as `motion` says. In d dimensions, or with scalar fields."""
    motion = motion or Dragged()
    x, v = ("q", "u") if d is None else ("x", "v")
    fields = Fields(
        {
            x: placed(np.array([START, 7.0, FOOT]), d),
            v: aimed(np.array([RATE, 5.0, -3.0]), d),
            "m": [M, 0.4, SUPPORT],
        },
        precision=precision,
    )
    spring, damper = (coil, dashpot) if d is None else (coil_in_space, dashpot_in_space)
    ends = [[MASS, SUPPORTED]]
    potential = Potential(
        fields, [bind(spring, fields, tuples=ends, parameters={"stiffness": K, "rest": REST})]
    )
    damped = [bind(damper, fields, tuples=ends, parameters={"drag": motion.drag})]
    motions = [Motion(x, v, "m")]
    holds = [
        Hold("idle", x, np.array([IDLE])),
        Hold(
            "support",
            x,
            np.array([SUPPORTED]),
            displacement=tuple(np.ravel(aimed(motion.far, d))),
            duration=motion.duration,
            velocity=tuple(np.ravel(aimed(motion.drift, d))),
        ),
    ]
    return Integrator(
        System(
            potential,
            motions,
            holds=Holds(fields, holds, motions),
            dissipation=Potential(fields, damped) if motion.drag else None,
        ),
        SCHEMES[kind],
        dt,
        motion.begin,
    )


def position(stepper: Integrator) -> np.ndarray:
    return stepper.potential.fields[stepper.motions[0].position].values


def velocity(stepper: Integrator) -> np.ndarray:
    return stepper.potential.fields[stepper.motions[0].velocity].values


# One step at a time, in NumPy ---------------------------------------------------------------------------


@dataclass
class ByHand:
    """The same scheme without the engine: forces, friction and supports as plain functions.

    force(x, t) = dU/dx, rate(x, t) = dU/dt, friction(v, x, t) = dR/dv, place(t) = (x, v) at the components
    that are `held`.
    """

    x: np.ndarray
    v: np.ndarray
    m: np.ndarray
    held: np.ndarray
    force: Callable
    rate: Callable
    friction: Callable
    place: Callable
    work: float = 0.0
    dissipated: float = 0.0

    def step(self, scheme: Scheme, t: float, h: float) -> None:
        self._slow(t, 0.5 * h)
        self._kicked(scheme.kicks[0] * h, t)
        for drift, kick in zip(scheme.drifts, scheme.kicks[1:], strict=True):
            self.x = self.x + drift * h * self.v
            t += drift * h
            self.put(t)
            self._kicked(kick * h, t)
        self._slow(t, 0.5 * h)

    def put(self, t: float) -> None:
        x, v = self.place(t)
        self.x, self.v = np.where(self.held, x, self.x), np.where(self.held, v, self.v)

    def kinetic(self) -> np.ndarray:
        return 0.5 * self.m * self.v**2

    def _kicked(self, h: float, t: float) -> None:
        force = self.force(self.x, t)
        self.v = np.where(self.held, self.v, self.v - h * force / self.m)
        self.work += h * (self.rate(self.x, t) + (force * self.v)[self.held].sum())

    def _slow(self, t: float, h: float) -> None:
        before, start = self.v, self.kinetic()
        middle = np.where(self.held, before, before - 0.5 * h * self.friction(before, self.x, t) / self.m)
        force = self.friction(middle, self.x, t)
        self.v = np.where(self.held, before, before - h * force / self.m)
        through = h * (force * self.v)[self.held].sum()
        self.work += through
        self.dissipated += (start - self.kinetic())[~self.held].sum() + through


@local_energy("tie", over=2, x=Node("m", ("d",)), stiffness=Parameter("N/m", default=0.8))
def tie(x, stiffness):
    """kappa |x_0 - x_1|^2 / 2."""
    return 0.5 * stiffness * (x[0] - x[1]).norm_sqr()


@local_energy("mist", over="nodes", x=Node("m", ("d",)), v=Node("m s^-1", ("d",)), m=Node("kg"), t=Time())
def mist(x, v, m, t):
    """g m (1 + b sin(w t)) (1 + |x|^2) |v|^2 / 2: thicker outside, and breathing."""
    thick = 0.3 * (1.0 + 0.5 * ti.sin(2.3 * t)) * (1.0 + x[0].norm_sqr())
    return 0.5 * m[0] * thick * v[0].norm_sqr()


TIES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [1, 3]])


def tangled(
    kind: str, dt: float, d: int = 2, damped: bool = True, precision: str = "f64", t0: float = 0.3
) -> Integrator:
    """Five nodes tied together in a trap that is modulated in time, in a mist; all kinds of holds at once."""
    rng = np.random.default_rng(d)
    fields = Fields(
        {"x": rng.normal(size=(5, d)), "v": rng.normal(size=(5, d)), "m": rng.uniform(0.5, 2.0, 5)},
        precision=precision,
    )
    potential = Potential(fields, [bind(trap, fields), bind(tie, fields, tuples=TIES)])
    damper = bind(dashpot_in_space, fields, tuples=TIES, parameters={"drag": 0.4})
    dissipation = Potential(fields, [bind(mist, fields), damper]) if damped else None
    motions = [Motion("x", "v", "m")]
    holds = Holds(fields, list(tangle(d)), motions)
    return Integrator(System(potential, motions, holds=holds, dissipation=dissipation), SCHEMES[kind], dt, t0)


def tangle(d: int) -> Iterator[Hold]:
    """Several holds of one field; some nodes are held in all their components, by one of them or by two."""
    up = d - 1
    yield Hold("rail", "x", np.array([0, 2]), (up,), displacement=(0.5,), duration=1.1, velocity=(0.2,))
    yield Hold("slide", "x", np.array([2, 1]), (0,), velocity=(-0.4,))
    yield Hold("nail", "x", np.array([3]))
    yield Hold("jump", "x", np.array([4]), (up, 0), displacement=(0.3, -0.2))


def tangled_by_hand(d: int, damped: bool, t0: float = 0.3) -> ByHand:
    """The same, at the same start, from the equations above."""
    rng = np.random.default_rng(d)
    x, v, m = rng.normal(size=(5, d)), rng.normal(size=(5, d)), rng.uniform(0.5, 2.0, (5, 1))
    a, b = TIES.T

    def force(x, t):
        pull = 0.8 * (x[a] - x[b])
        found = (1.0 + 0.5 * np.sin(1.7 * t)) * x
        np.add.at(found, a, pull)
        np.add.at(found, b, -pull)
        return found

    def friction(v, x, t):
        thick = 0.3 * (1.0 + 0.5 * np.sin(2.3 * t)) * (1.0 + (x * x).sum(axis=1, keepdims=True))
        found, drag = m * thick * v, 0.4 * (v[a] - v[b])
        np.add.at(found, a, drag)
        np.add.at(found, b, -drag)
        return damped * found

    def rate(x, t):
        return 0.5 * 0.5 * 1.7 * np.cos(1.7 * t) * (x * x).sum()

    begun, held = x.copy(), np.zeros((5, d), bool)

    def place(t):
        x, v, u = begun.copy(), np.zeros((5, d)), min(max(t / 1.1, 0.0), 1.0)
        x[[0, 2], d - 1] += 0.5 * (10 * u**3 - 15 * u**4 + 6 * u**5) + 0.2 * t
        v[[0, 2], d - 1] = 0.5 * (30 * u**2 - 60 * u**3 + 30 * u**4) / 1.1 + 0.2
        x[[1, 2], 0] -= 0.4 * t
        v[[1, 2], 0] = -0.4
        x[4, d - 1] += 0.3
        x[4, 0] -= 0.2
        return x, v

    held[[0, 2, 4], d - 1] = held[[1, 2, 4], 0] = held[3] = True
    made = ByHand(x, v, m, held, force, rate, friction, place)
    made.put(t0)
    return made


# Damage -------------------------------------------------------------------------------------------------


def assert_seen(damage: Callable, test: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test is green without the damage, and red with it."""
    if test not in GREEN:
        test()
        GREEN.append(test)
    REWRITTEN.clear()
    KEPT.clear()  # damage is to what is derived from here on
    damage(monkeypatch)
    with pytest.raises((*RED, pytest.fail.Exception)):
        test()
    assert not REWRITTEN or any(REWRITTEN), "the text to be damaged is in no kernel"


GREEN: list[Callable] = []
"""Tests that have been seen green."""
