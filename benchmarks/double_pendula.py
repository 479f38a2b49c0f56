"""1,024 double pendula for 10 s: ours as nodes of one scene, in one kernel; SciPy's DOP853 a member.

What is compared is work at equal energy error: both keep the energy of every member to 1e-7 of it (order 4
at dt = 7.5 ms, DOP853 at a tolerance of 1e-8); the answer is the energy at the end, and right is that of the
start. SciPy's right side is written out in scalars of Python, which is the fastest way to call it so.
"""

from collections.abc import Iterator
from math import cos, sin

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.fields import Motion
from minusgrad.engine import runtime
from minusgrad.steppers.variational.variational_integrator import VariationalIntegrator
from minusgrad_control.mechanisms import double_pendulum

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal

END, DT, TOLERANCE, G = 10.0, 0.0075, 1e-8, 9.81
ONE = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "l2": 1.0, "g": G}
SCIPY = "SciPy DOP853"


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
    stepper = VariationalIntegrator(Potential(fields, []), lagrangian, [Motion("q", "v")], DT, 4)
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
