"""The shipped programs in time beside the same programs by `ti.ad.Tape` and by JAX, for `evolution`.

Each maker takes the number of steps and the precision, reads the start from the scene, and returns a call
that gives the gradient as one row of numbers, in the order in which the scene's parameters are sought.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minusgrad.app.run_options import RunOptions
from minusgrad.app.runs import build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.assembly.fits.fit import ParameterFit

from . import evolution_in_jax
from .harness import session
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


def fit_of(name: str, steps: int, precision: str) -> ParameterFit:
    """The fit of a shipped scene over so many steps."""
    changes = {"run.steps": steps, "runtime.precision": precision, "runtime.threads": session.threads()}
    return ParameterFit(
        RunOptions(ROOT / f"scenes/{name}.toml", {**changes, **PROGRAMS[name].changes}).validated()
    )


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


FOUND = {"fit.parameters.height": {}}
"""From the height that was found: seen through a level surface every ray ends on a corner of cells."""
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


def _electric_by_tape(steps: int, precision: str) -> Call:
    from .tape.electric import Electric, World

    made = fit_of("electric", steps, precision).simulation  # with the goals that its first iteration draws
    n, places = len(made.fields["x"]), made.state.data["electrodes"]["place"]
    ways = made.fields["way_point"].values.reshape(n, -1, 2)
    w = [made.potential.parameter(name) for name in ELECTRIC]
    program = Electric(World(places[: len(places) // n].tolist()), ways, len(w[4]), steps, precision)
    first = np.hstack([one[:, 0] for one in w[:4]])
    given = {
        "w1": first,
        "b1": w[4],
        "w2": w[5],
        "b2": w[6],
        "x": made.fields["x"].values,
        "v": np.zeros((n, 2)),
    }

    def call() -> np.ndarray:
        _, found = program.evaluate(given)
        return _row([*np.split(found["w1"], 4, axis=1), found["b1"], found["w2"], found["b2"]])

    return call


def _robot_of_boxes_by_tape(steps: int, precision: str) -> Call:
    from .tape import rigid_body

    made = _built("rigid_body")
    state, weights = made.state, {name: made.potential.parameter(name) for name in BOXES}
    struts, joints = (state.data[name] for name in ("struts", "joints"))
    robot = {name: made.fields[name].values for name in ("x", "half", "m", "inertia")} | {
        "struts": state.tuples["struts"][:, 1:],
        "joints": state.tuples["joints"],
        "strut_points": np.stack([struts["first"], struts["second"]], axis=1),
        "joint_points": np.stack([joints["first"], joints["second"]], axis=1),
        "rest": struts["rest"],
        "phases": made.potential.parameter("sines.phase"),
        "k": 15.0,
    }
    program = rigid_body.program(robot, steps, precision, swing=0.05)
    return lambda: _row([program(weights)[1][name] for name in BOXES])


def _liquid_by_tape(steps: int, precision: str) -> Call:
    from .tape import liquid

    made = _built("liquid")
    water = np.zeros(len(made.fields["x"]), bool)
    water[next(one for one in made.state.bodies if one.name == "water").nodes] = True
    w, b = (made.potential.parameter(name) for name in CRAWLER)
    program = liquid.program(made.fields["x"].values, _muscles(made), water, steps, precision)
    return lambda: _row(program(w, b)[1:])


def _pond_by_tape(steps: int, precision: str) -> Call:
    from .tape import water_renderer

    made = _built("water_renderer")
    start, target = (one.reshape(128, 128) for one in _values(made, "height", "target", precision=precision))
    depth = float(made.potential.parameter("refracted.depth"))
    ground = np.ascontiguousarray(made.state.tables["ground"]).astype(DTYPE[precision])
    program = water_renderer.program(128, steps, 0.25, 0.5 * depth * (1.0 - 1.0 / 1.333), precision)
    return lambda: program(start, ground, target)[1].ravel()


CRAWLER = ("dense.w", "neuron.b")
ROBOT = ("of_waves.w", "of_offsets.w", "of_velocities.w", "of_goal.w", "hidden.b", "of_hidden.w", "muscles.b")
ELECTRIC = ("of_place.w", "of_velocity.w", "of_offset.w", "of_goal_velocity.w", "hidden.b", "of_hidden.w")
ELECTRIC = (*ELECTRIC, "electrodes.b")
BOXES = tuple(tomllib.loads((ROOT / "scenes/rigid_body.toml").read_text())["fit"]["parameters"])

PROGRAMS = {
    "wave": Program(("height",), 256, 16, 0.5, 1e-4, _wave_by_tape, _wave_in_jax, FLAT),
    "smoke": Program(("velocity",), 100, 10, 1.0, 1e-2, _smoke_by_tape, changes=STORED),
    "diffmpm": Program(CRAWLER, 1023, 32, 1.0, None, _crawler_by_tape, _crawler_in_jax),
    "mass_spring": Program(ROBOT, 682, 16, 0.5, None, _robot_by_tape),
    "electric": Program(ELECTRIC, 512, 16, 0.5, 1e-2, _electric_by_tape),
    "rigid_body": Program(BOXES, 2047, 32, 0.5, None, _robot_of_boxes_by_tape),
    "liquid": Program(CRAWLER, 512, 4, 1.0, None, _liquid_by_tape),
    "water_renderer": Program(("height",), 256, 16, 0.5, 5e-2, _pond_by_tape, changes=FOUND),
    "billiards": Program(("x", "v"), 1023, 64, 0.5, 2e-3, _billiards_by_tape),
}
