"""Runs between supports that turn and move, by splitting schemes and with friction; see `implicit_runs`."""

import numpy as np

from minusgrad import Fields, Hold, Motion, Potential, Rotation, bind
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.energies.misfit import misfit
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.stepper import DifferentiableStepper
from minusgrad.steppers.systems.system import System
from tests.support import implicit_runs as swings
from tests.support.implicit_runs import rub, stiffening

NUMBERS = ("turning.angle", "turning.rate", "pushed.displacement", "pushed.velocity")
STEPS, DT = 6, 0.15


def swung(scheme: str, damped: bool = True, at_once: bool = False, precision: str = "f64") -> Integrator:
    """The masses of `implicit_runs.swing` by a splitting scheme; `at_once`: supports jump at the start."""
    start = {"x": swings.X, "v": swings.V, "m": swings.MASSES}
    fields = Fields(start, precision=precision)
    numbers = {"k": swings.K, "q": swings.Q, "b": swings.B, "rest": swings.L}
    terms = [bind(stiffening, fields, tuples=swings.ENDS, parameters=numbers)]
    losses = [bind(rub, fields, tuples=swings.ENDS, parameters={"c": swings.C, "e": swings.E})]
    ramp = 0.0 if at_once else swings.RAMP
    turn = Rotation(tuple(swings.CENTRE), angle=swings.ANGLE, rate=swings.SPIN)
    push = {"displacement": tuple(swings.FAR), "velocity": tuple(swings.DRIFT), "duration": ramp}
    holds = [
        Hold("turning", "x", np.array([2]), rotation=turn, duration=ramp),
        Hold("pushed", "x", np.array([3]), **push),
    ]
    motions = [Motion("x", "v", "m")]
    return Integrator(
        System(
            Potential(fields, terms),
            motions,
            holds=Holds(fields, holds, motions),
            dissipation=Potential(fields, losses) if damped else None,
        ),
        SCHEMES[scheme],
        DT,
    )


def judged(one: DifferentiableStepper, budget: int = 1 << 30) -> Rollout:
    """Misfits of all states, those of held nodes among them, at the start and at three steps."""
    fields, rng = one.potential.fields, np.random.default_rng(1)
    terms = [
        bind(
            misfit(fields[name]),
            fields,
            name=f"misfit_{name}",
            renamed={"x": name},
            data={"target": rng.normal(size=fields[name].shape)},
            parameters={"sigma": 0.7},
        )
        for name in ("x", "v")
    ]
    return Rollout(one, [Loss(Potential(fields, terms), (0, 2, 4, STEPS))], STEPS, budget)


def difference(run: Rollout, name: str, direction: np.ndarray, h: float = 2e-3) -> float:
    """dL along a direction of a hold's number, of sixth order."""
    numbers = run.holds.numbers
    base = numbers.parameter(name)

    def loss(part: int) -> float:
        numbers.set_parameter(name, base + part * h * direction)
        return run.value()

    found = sum(c * (loss(k) - loss(-k)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)
    numbers.set_parameter(name, base)
    return found
