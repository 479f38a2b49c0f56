"""A step of a chain of 10,000 rods by RATTLE, and one of the same chain of springs by leapfrog.

Both fly freely and turn under their weight, from one start. The centre of mass falls as one body, which is
what is right for both; the rods keep their lengths, too.
"""

from collections.abc import Iterator

import numpy as np

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.energies.term import Term
from minusgrad.plugin import SCHEMES, Constraints, Integrator
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.loads import body_force
from minusgrad_elastic.rods import rod
from minusgrad_elastic.springs import spring

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal

DT, STEPS, LINK, MASS, STIFFNESS = 5e-4, 50, 0.05, 0.01, 1e4
FALL = np.array([0.0, 0.0, -9.81])
SPRINGS = "springs"


def cases() -> Iterator[Case]:
    yield case(200 if session.quick() else 10_000)


def case(rods: int) -> Case:
    """So many rods, which wave along their line."""
    return Case(
        "chain_of_rods",
        f"{rods}",
        "f64",
        {
            OURS: Column(lambda: rigid(rods), engine=True),
            SPRINGS: Column(lambda: elastic(rods), engine=True, expected=lambda: fallen(rods)),
        },
        expected=lambda: np.concatenate([fallen(rods), np.full(rods, LINK)]),
        tolerance=1e-12,
        count=STEPS,
        unit="ms a step",
        base=SPRINGS,
        goals=(Goal(SPRINGS, 3.0),),
        about={"rods": rods, "steps": STEPS},
    )


def start(rods: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and velocities (rods + 1, 3): a line that waves, and turns about the vertical as one body."""
    angle = 0.8 * np.sin(0.02 * np.pi * np.arange(rods))
    steps = LINK * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    x = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    x -= x.mean(axis=0)
    return x, np.cross([0.0, 0.0, 0.05], x)


def fallen(rods: int) -> np.ndarray:
    """The centre of mass (6,) at the end: place and velocity."""
    x, v = start(rods)
    t = STEPS * DT
    return np.concatenate([x.mean(axis=0) + 0.5 * t * t * FALL, v.mean(axis=0) + t * FALL])


def rigid(rods: int) -> Call:
    """`advance` with constraints"""
    fields = _fields(rods)
    kept = bind(rod, fields, tuples=_links(rods), data={"length": LINK})
    return _call(fields, [], Constraints(fields, [kept], frozenset(["rod"])))


def elastic(rods: int) -> Call:
    """`advance`"""
    fields = _fields(rods)
    one = bind(spring, fields, tuples=_links(rods), data={"rest": LINK}, parameters={"stiffness": STIFFNESS})
    return _call(fields, [one], None)


def _fields(rods: int) -> Fields:
    x, v = start(rods)
    return Fields({"x": x, "v": v, "m": np.full(rods + 1, MASS)})


def _links(rods: int) -> np.ndarray:
    return np.stack([np.arange(rods), np.arange(1, rods + 1)], axis=1)


def _call(fields: Fields, energies: list[Term], constraints: Constraints | None) -> Call:
    weight = bind(body_force, fields, parameters={"acceleration": FALL})
    motions = [Motion("x", "v", "m")]
    potential = Potential(fields, [weight, *energies])
    stepper = Integrator(System(potential, motions, constraints=constraints), SCHEMES["leapfrog"], DT)
    began, x, v = stepper.state(), fields["x"].values.copy(), fields["v"].values.copy()

    def call() -> np.ndarray:
        fields["x"].set(x)
        fields["v"].set(v)
        stepper.restore(began)
        stepper.advance(STEPS)
        ends = fields["x"].values
        lengths = np.linalg.norm(ends[1:] - ends[:-1], axis=1)
        return np.concatenate([ends.mean(axis=0), fields["v"].values.mean(axis=0), lengths])

    return call
