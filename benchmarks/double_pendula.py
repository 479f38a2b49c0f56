"""1,024 double pendula for 10 s: ours as nodes of one scene, in one kernel; SciPy's DOP853; heyoka.py.

Work is compared at equal energy error: all keep the energy of every member to 1e-7 of it (order 4 at dt =
7.5 ms, DOP853 at a tolerance of 1e-8, heyoka.py at 1e-7); the answer is the energy at the end, and right is
that of the start. SciPy's right side is written out in scalars of Python, which is the fastest way to call it
so; heyoka.py compiles a Taylor method of high order for it, and takes as many members at once as the
processor's vectors hold numbers.
"""

from collections.abc import Iterator
from math import cos, sin

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.fields import Motion
from minusgrad.engine import runtime
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.variational.variational_integrator import VariationalIntegrator
from minusgrad_control.mechanisms import double_pendulum

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.peers import peer

END, DT, TOLERANCE, G = 10.0, 0.0075, 1e-8, 9.81
ONE = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "l2": 1.0, "g": G}
SCIPY, HEYOKA = "SciPy DOP853", "heyoka.py"
TAYLOR = 1e-7
"""The tolerance of heyoka.py."""


def cases() -> Iterator[Case]:
    yield case(16 if session.quick() else 1024)


def case(members: int) -> Case:
    """So many pendula, released from angles a little apart."""
    return Case(
        "double_pendula",
        f"{members}",
        "f64",
        {
            OURS: Column(lambda: ours(members), engine=True),
            SCIPY: Column(lambda: in_scipy(members), peer=True),
            HEYOKA: Column(lambda: in_heyoka(members), peer=True),
        },
        expected=lambda: energies(np.zeros((members, 2)), start(members)),
        tolerance=1e-7,
        count=members,
        unit="ms a member",
        base=SCIPY,
        goals=(Goal(SCIPY, 0.1),),
        about={"members": members, "end": END},
    )


def start(members: int) -> np.ndarray:
    """Angles (members, 2) [rad]; all are at rest."""
    return np.stack([np.linspace(2.0, 2.1, members), np.full(members, 1.5)], 1)


def energies(v: np.ndarray, q: np.ndarray) -> np.ndarray:
    """T + U (members,) [J]."""
    (u, w), (a, b) = v.T, q.T
    return u * u + 0.5 * w * w + u * w * np.cos(a - b) - G * (2.0 * np.cos(a) + np.cos(b))


def ours(members: int) -> Call:
    """`advance`"""
    q = start(members)
    fields = Fields({"q": q, "v": np.zeros_like(q)})
    lagrangian = Potential(fields, [bind(double_pendulum, fields, parameters=ONE)])
    stepper = VariationalIntegrator(
        System(Potential(fields, []), [Motion("q", "v")], lagrangian=lagrangian), DT, 4
    )
    began = stepper.state()

    def call() -> np.ndarray:
        fields["q"].set(q)
        fields["v"].set(np.zeros_like(q))
        stepper.restore(began)
        stepper.advance(round(END / DT))
        runtime.sync()
        return energies(fields["v"].values, fields["q"].values)

    return call


def in_scipy(members: int) -> Call:
    """`solve_ivp`, member by member"""
    from scipy.integrate import solve_ivp

    def rate(t: float, y: np.ndarray) -> list[float]:
        a, b, u, w = y
        s, c = sin(a - b), cos(a - b)
        pull, push, det = -w * w * s - 2.0 * G * sin(a), u * u * s - G * sin(b), 2.0 - c * c
        return [u, w, (pull - c * push) / det, (2.0 * push - c * pull) / det]

    def call() -> np.ndarray:
        ends = []
        for a, b in start(members):
            found = solve_ivp(
                rate, (0.0, END), [a, b, 0.0, 0.0], method="DOP853", rtol=TOLERANCE, atol=TOLERANCE
            )
            ends.append(found.y[:, -1])
        ended = np.array(ends)
        return energies(ended[:, 2:], ended[:, :2])

    return call


def in_heyoka(members: int) -> Call:
    """`taylor_adaptive_batch`"""
    heyoka = peer("heyoka")
    a, b, u, w = heyoka.make_vars("a", "b", "u", "w")
    s, c = heyoka.sin(a - b), heyoka.cos(a - b)
    pull, push = -w * w * s - 2.0 * G * heyoka.sin(a), u * u * s - G * heyoka.sin(b)
    det, width = 2.0 - c * c, heyoka.recommended_simd_size()
    rates = [(a, u), (b, w), (u, (pull - c * push) / det), (w, (2.0 * push - c * pull) / det)]
    one = heyoka.taylor_adaptive_batch(rates, np.zeros((4, width)), tol=TAYLOR)
    q = start(members)
    padded = np.concatenate([q, np.tile(q[-1:], (-members % width, 1))])

    def call() -> np.ndarray:
        ended = np.empty((len(padded), 4))
        for k in range(0, len(padded), width):
            one.set_time(0.0)
            one.state[:2], one.state[2:] = padded[k : k + width].T, 0.0
            one.propagate_until(END)
            ended[k : k + width] = one.state.T
        return energies(ended[:members, 2:], ended[:members, :2])

    return call
