"""216 rigid waters in a periodic box, 2 fs: lists, Lennard-Jones and a reaction field to 8 angstrom, RATTLE.

    216-step-2         ms a step, whole steps, lists included, by two threads

The System and the places are those of the scene `rigid_water`. OpenMM's CPU platform computes forces in f32
and constrains by SETTLE to 1e-6 of a length; it takes the leapfrog form of the scheme. What is right are the
places by OpenMM's Reference platform, in f64, with distances to 1e-12.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.app.runs import build
from minusgrad.engine import runtime

from .harness import session
from .harness.cases import OURS, Case, Column, Goal, Posed
from .harness.peers import peer

SCENES = Path(__file__).parents[1] / "scenes"
OPENMM = "OpenMM"
DT = 0.002


def cases() -> Iterator[Case]:
    for threads in sorted({1, session.threads()}):
        for precision in ("f32", "f64"):
            yield case(precision, 5 if session.quick() else 40, threads)


def case(precision: str, steps: int = 40, threads: int = 0) -> Case:
    """So many steps a call."""
    return Case(
        "rigid_water",
        f"216-step-{threads}",
        precision,
        {
            OURS: Column(lambda: ours(precision, steps), engine=True),
            OPENMM: Column(lambda: in_openmm(steps), peer=True),
        },
        expected=lambda: expected(steps),
        tolerance=1e-4,
        count=steps,
        unit="ms a step",
        base=OPENMM,
        goals=(Goal(OPENMM, 3.0),),
        threads=threads,
        energy=energy,
        agreement=1e-5,
        about={"molecules": 216, "steps": steps, "threads": threads},
    )


def stepper(precision: str) -> Any:
    """The stepper of the scene."""
    return build(SCENES / "rigid_water.toml", {"runtime.precision": precision, "observe": []}).stepper


def ours(precision: str, steps: int) -> Posed:
    """`advance`"""
    one = stepper(precision)
    fields = one.potential.fields
    (x, v), began = (fields[n].values.copy() for n in "xv"), one.state()

    def call() -> np.ndarray:
        fields["x"].set(x)
        fields["v"].set(v)
        one.restore(began)
        one.advance(steps)
        runtime.sync()
        return fields["x"].values.astype(float)

    return Posed(call, one.potential.value())


def in_openmm(steps: int, platform: str = "CPU", tolerance: float = 1e-6) -> Posed:
    """Its CPU platform"""
    openmm: Any = peer("openmm")
    x, half = start()
    system = openmm.XmlSerializer.deserialize((SCENES / "data" / "rigid_water.xml").read_text())
    integrator = openmm.VerletIntegrator(DT)
    integrator.setConstraintTolerance(tolerance)
    given = {"Threads": str(session.threads())} if platform == "CPU" else {}
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(platform), given)

    def call() -> np.ndarray:
        context.setPositions(0.1 * x)
        context.setVelocities(0.1 * half)
        integrator.step(steps)
        return 10.0 * context.getState(getPositions=True).getPositions(asNumpy=True)._value

    context.setPositions(0.1 * x)
    return Posed(call, context.getState(getEnergy=True).getPotentialEnergy()._value)


@cache
def start() -> tuple[np.ndarray, np.ndarray]:
    """Places [angstrom], and velocities [angstrom/ps] half a step before, as OpenMM has them."""
    one = stepper("f64")
    fields = one.potential.fields
    x, v, m = (fields[n].values.copy() for n in "xvm")
    return x, v + 0.5 * DT * one.potential.gradient("x") / m[:, None]


@cache
def expected(steps: int) -> np.ndarray:
    """Places after so many steps, by OpenMM's Reference platform."""
    return in_openmm(steps, "Reference", 1e-12).call()


@cache
def energy() -> float:
    """U of the start, by OpenMM's Reference platform."""
    return in_openmm(1, "Reference", 1e-12).energy
