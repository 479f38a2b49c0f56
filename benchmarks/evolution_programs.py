"""The shipped programs in time beside the same programs by `ti.ad.Tape` and by JAX, for `evolution`.

Each maker takes the number of steps and the precision, reads the start from the scene, and returns a call
that gives the gradient as one row of numbers, in the order in which the scene's parameters are sought.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minusgrad.app.runs import build
from minusgrad.assembly.built_scene import BuiltScene

from . import evolution_in_jax
from .harness.cases import Call
from .harness.compiled import DTYPE
from .harness.process import ROOT

Maker = Callable[[int, str], Call]


@dataclass(frozen=True)
class Program:
    """A shipped scene and its counterparts.

    sought: what the gradient is by, fields and parameters of the start. steps, quick: of a run, and of one
    that only shows that it works. ratio: the goal against the Tape. tolerance: of f32, in parts of the
    largest number; None where f32 says nothing, because the run is chaotic.
    """

    sought: Sequence[str]
    steps: int
    quick: int
    ratio: float
    tolerance: float | None
    by_tape: Maker
    in_jax: Maker | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


def _built(name: str, changes: Mapping[str, Any] | None = None) -> BuiltScene:
    return build(ROOT / f"scenes/{name}.toml", dict(changes or {}))


def _values(made: BuiltScene, *names: str, precision: str) -> list[np.ndarray]:
    return [made.fields[name].values.astype(DTYPE[precision]) for name in names]


def _row(gradients: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.ravel(one) for one in gradients])


def _billiards_by_tape(steps: int, precision: str) -> Call:
    from .tape import billiards

    x, v = _values(_built("billiards"), "x", "v", precision=precision)
    program = billiards.program(len(x), steps, precision)
    return lambda: _row(program(x, v)[1:])


FLAT = {"state.fields.height": {"kind": "constant", "unit": "m"}}


def _wave_by_tape(steps: int, precision: str) -> Call:
    from .tape import wave

    target = _picture(precision)
    program = wave.program(len(target), steps, 0.25, precision)
    return lambda: program(np.zeros_like(target), target)[1].ravel()


def _wave_in_jax(steps: int, precision: str) -> Call:
    target = _picture(precision)
    return evolution_in_jax.wave(np.zeros_like(target), target, 0.25, steps)


def _picture(precision: str) -> np.ndarray:
    (target,) = _values(_built("wave", FLAT), "target", precision=precision)
    return target.reshape(256, 256)


STORED = {"fit.parameters.velocity": {}}
"""From the velocity that was found: from rest every foot lies on a cell, where the gradient has a jump."""


def _smoke_by_tape(steps: int, precision: str) -> Call:
    from .tape import smoke

    names = ("velocity", "smoke", "target")
    velocity, *others = _values(_built("smoke"), *names, precision=precision)
    n = 128
    first, start, target = velocity.reshape(n, n, 2), *(one.reshape(n, n) for one in others)
    program = smoke.program(n, steps, precision=precision)
    return lambda: program(first, start, target)[1].ravel()


def _crawler_by_tape(steps: int, precision: str) -> Call:
    from .tape import diffmpm

    made = _built("diffmpm")
    w, b = (made.potential.parameter(name) for name in CRAWLER)
    program = diffmpm.program(made.fields["x"].values, _muscles(made), steps, precision)
    return lambda: _row(program(w, b)[1:])


def _crawler_in_jax(steps: int, precision: str) -> Call:
    made = _built("diffmpm")
    fields = _values(made, "x", "v", "C", "F", "m", "volume", "wall", precision=precision)
    w, b = (made.potential.parameter(name).astype(DTYPE[precision]) for name in CRAWLER)
    grid = made.state.grids["grid"]
    given = evolution_in_jax.Crawler(*fields, _muscles(made), w, b, grid.shape[0], grid.spacing)
    return evolution_in_jax.crawler(given, steps)


def _muscles(made: BuiltScene) -> np.ndarray:
    """The muscle of each particle, or -1."""
    owner = np.full(len(made.fields["x"]), -1)
    particles, muscles = made.state.tuples["muscles"].T
    owner[particles] = muscles
    return owner


def _robot_by_tape(steps: int, precision: str) -> Call:
    from .tape.mass_spring import MassSpring, Robot

    made = _built("mass_spring")
    of, w = made.state, [made.potential.parameter(name) for name in ROBOT]
    springs, hidden = of.data["springs"], len(w[4])
    robot = Robot(of.fields["x"], of.tuples["edges"], springs["rest"], springs["swing"])
    program = MassSpring(robot, hidden, steps, precision)
    masses = np.concatenate([w[1], w[2]], axis=2).reshape(hidden, -1)
    weights = {"w1": np.hstack([w[0], masses, w[3].reshape(hidden, -1)]), "b1": w[4], "w2": w[5], "b2": w[6]}

    def call() -> np.ndarray:
        _, found = program.evaluate(weights)
        waves, inner, goal = np.split(found["w1"], [w[0].shape[1], -2], axis=1)
        offsets, velocities = np.split(inner.reshape(hidden, -1, 4), 2, axis=2)
        return _row([waves, offsets, velocities, goal, found["b1"], found["w2"], found["b2"]])

    return call


CRAWLER = ("dense.w", "neuron.b")
ROBOT = ("of_waves.w", "of_offsets.w", "of_velocities.w", "of_goal.w", "hidden.b", "of_hidden.w", "muscles.b")

PROGRAMS = {
    "wave": Program(("height",), 256, 16, 0.5, 1e-4, _wave_by_tape, _wave_in_jax, FLAT),
    "smoke": Program(("velocity",), 100, 10, 1.0, 1e-2, _smoke_by_tape, changes=STORED),
    "diffmpm": Program(CRAWLER, 1023, 32, 1.0, None, _crawler_by_tape, _crawler_in_jax),
    "mass_spring": Program(ROBOT, 682, 16, 0.5, None, _robot_by_tape),
    "billiards": Program(("x", "v"), 1023, 64, 0.5, 2e-3, _billiards_by_tape),
}
