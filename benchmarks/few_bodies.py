"""Leapfrog for 2 and for 8 bodies, f64: ns a step. What counts here is what happens around the arithmetic.

Ours is `stepper.advance(steps)` of a scene that was built; every call begins at the same state. What is right
is the scheme by NumPy; REBOUND's is drift - kick - drift, one evaluation a step like ours, and is compared
with that.
"""

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.fields import Motion
from minusgrad.engine import runtime
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity

from .gravity_by_hand import leapfrog
from .harness import session
from .harness.cases import OURS, C, Call, Case, Column, Goal
from .harness.compiled import aligned, library, pointers
from .harness.peers import peer
from .programs.leapfrog import in_jax, in_rebound

DT, EPS = 0.002, 0.0


def cases() -> Iterator[Case]:
    """Two bodies on an ellipse; eight, a sun and seven planets."""
    steps = 1000 if session.quick() else 20_000
    for n in (2, 8):
        yield case(n, steps)


def case(n: int, steps: int) -> Case:
    """So many bodies and steps a call."""
    columns = {
        C: Column(lambda: in_c(n, steps)),
        OURS: Column(lambda: ours(n, steps), engine=True),
        "REBOUND": Column(
            lambda: in_rebound(state(n, steps)),
            peer=True,
            expected=lambda: expected(n, steps, drift_first=True),
        ),
        "JAX": Column(lambda: in_jax(softened(n, steps)), peer=True),
        "REBOUND, integrate": Column(
            lambda: by_integrate(n, steps), peer=True, expected=lambda: expected(n, steps, drift_first=True)
        ),
    }
    return Case(
        "few_bodies",
        f"{n}",
        "f64",
        columns,
        expected=lambda: expected(n, steps),
        tolerance=1e-9,
        count=steps,
        unit="ns a step",
        base="REBOUND",
        goals=(Goal("REBOUND", 2.0),),
        about={"N": n, "steps": steps},
    )


@cache
def state(n: int, steps: int) -> dict[str, Any]:
    """Bodies on circles around the first, a little apart from one plane."""
    radius, angle = 1.0 + 0.5 * np.arange(n - 1), 2.4 * np.arange(n - 1)
    speed = radius**-0.5
    flat = np.stack([np.cos(angle), np.sin(angle), 0.01 * np.cos(3 * angle)], 1)
    turned = np.stack([-np.sin(angle), np.cos(angle), 0.0 * angle], 1)
    x = np.concatenate([np.zeros((1, 3)), radius[:, None] * flat])
    v = np.concatenate([np.zeros((1, 3)), speed[:, None] * turned])
    m = np.concatenate([[1.0], np.full(n - 1, 1e-4)])
    return {"x": x, "v": v, "m": m, "dt": DT, "eps": EPS, "steps": steps}


def softened(n: int, steps: int) -> dict[str, Any]:
    """The same for forms that let a body attract itself: a length that f64 cannot tell from none."""
    return state(n, steps) | {"eps": 1e-12}


def expected(n: int, steps: int, drift_first: bool = False) -> np.ndarray:
    """The last x by NumPy."""
    given = state(n, steps)
    away = np.diag(np.full(n, np.inf))

    def acceleration(x: np.ndarray) -> np.ndarray:
        d = x - x[:, None]
        r2 = (d * d).sum(-1) + away
        return np.einsum("ij,ijk->ik", given["m"] * r2**-1.5, d)

    return leapfrog(given, acceleration, drift_first)


def ours(n: int, steps: int) -> Call:
    """`advance`"""
    given = state(n, steps)
    fields = Fields({name: given[name] for name in "xvm"})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": EPS})])
    stepper = Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], DT)
    began = stepper.state()

    def call() -> np.ndarray:
        for name in "xv":
            fields[name].set(given[name])
        stepper.restore(began)
        stepper.advance(steps)
        runtime.sync()
        return fields["x"].values

    return call


def in_c(n: int, steps: int) -> Call:
    """`few` in `reference/leapfrog.c`."""
    function = library("leapfrog.c", "f64").few
    given = state(n, steps)
    x, v, m, g = (aligned(given[name], float) for name in "xvmx")
    numbers = ctypes.c_double(EPS), ctypes.c_double(DT)

    def call() -> np.ndarray:
        x[...], v[...] = given["x"], given["v"]
        function(ctypes.c_int(n), ctypes.c_int(steps), *pointers([x, v, m, g]), *numbers)
        return x

    return call


def by_integrate(n: int, steps: int) -> Call:
    """REBOUND as most scripts call it: `integrate` to a time, without the last step made shorter."""
    rebound = peer("rebound")
    given = state(n, steps)

    def call() -> np.ndarray:
        simulation = rebound.Simulation()
        simulation.dt, simulation.integrator = DT, "leapfrog"
        for x, v, m in zip(given["x"], given["v"], given["m"], strict=True):
            simulation.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
        simulation.integrate((steps - 0.5) * DT, exact_finish_time=0)
        return np.array([p.xyz for p in simulation.particles])

    return call
