"""Check of a first step of any stepper whose runs have derivatives: gradient against values, and transpose.

    taylor       L = (l, y) of the state y after the first step falls short of its slope as h^2
    transpose    (l, J w) = (J' l, w) for random l and w, over all fields and parameters together

J is the Jacobian of the first step by the start, fields that do not move, parameters, data and numbers of
holds; with constraints the start is projected first. J w comes from the tangent, J' l from the adjoint.

Decisions 0117.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from ...check.questions import EPS, Finding, step_inside, taylor
from ...check.variables import Variable
from ...energies.fields import ordered_sum
from ...potential.argument_values import argument_values, set_argument_values
from ...potential.potential import Potential
from ...steppers.integrator import Integrator
from ...steppers.programs.evolution import Evolution
from ...steppers.timed.gauss_radau.gauss_radau import GaussRadau
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..backward import owner
from ..losses import ObservedStates
from ..rollout import Rollout
from .transposition import transposed

TRANSPOSE = 1e-10
"""The largest difference of both products, in parts of the sum of their absolute summands."""
STEP = 1e-2
"""The size of a step, in parts of the size of the values."""
OF_PROGRAM = 1e-12, 0.1
"""The same of programs, whose steps solve nothing."""
Values = Mapping[str, np.ndarray]
Checked = Integrator | VariationalIntegrator | GaussRadau | Evolution


def of_first_step(stepper: Checked, seed: int = 0) -> Iterator[Finding]:
    """Check the first step from the present fields. Restores fields, parameters, data and holds."""
    rng = np.random.default_rng(seed)
    yield from of_step(FirstStep(stepper, rng), rng)


def of_program(stepper: Evolution, seed: int = 0) -> Iterator[Finding]:
    """`of_first_step` of a program, to rounding; in double precision."""
    rng = np.random.default_rng(seed)
    yield from of_step(FirstStep(stepper, rng), rng, *OF_PROGRAM)


def of_step(
    step: "FirstStep", rng: np.random.Generator, bound: float = TRANSPOSE, size: float = STEP
) -> Iterator[Finding]:
    """Check a first step from the present fields, which are restored; bound, size: as above."""
    start = {name: step.values(name) for name in step.names}
    if staged := step.without_tangents:
        text = f"not asked: the staged kernels of '{staged}' have no tangents"
        yield step.finding("", "transpose", True, None, text)
    else:
        way = {n: rng.normal(size=v.shape) * _size(v) * step.inputs(n) for n, v in start.items()}
        yield step.transpose(way, bound)
    for name, values in start.items():
        put, gradient = partial(step.put, name), partial(step.gradient, name)
        variable = Variable(name, values, put, gradient, size * _size(values))
        try:
            yield taylor(
                step, variable, step_inside(step, variable, variable.direction(rng) * step.inputs(name))
            )
        finally:
            step.put(name, values)


class FirstStep:
    """L = (l, y) of the state y after the first step, with random l, as a subject of questions."""

    def __init__(self, stepper: Checked, rng: np.random.Generator):
        self.stepper, self._fields = stepper, stepper.potential.fields
        moving = [field.name for field in stepper.moving]
        self._numbers = stepper.holds.numbers
        potentials = stepper.system.potentials
        lengths = [n for p in potentials for n in p.time_steps]
        given = [n for p in potentials for n in p.arguments if n not in lengths]
        if program := isinstance(stepper, Evolution):
            fields = sorted((stepper.potential.reads | set(moving)) - self._fields.derived)
        else:
            fields = [*moving, *sorted(stepper.weights)]
        # of some numbers there is no derivative
        numbers = [] if stepper.lagrangian or program else self._numbers.names
        self.names = [*fields, *given, *numbers]
        self.without_tangents = next(iter(stepper.potential.chain.staged), "")
        self._seen = ObservedStates(self._fields, moving, [1])
        self._run = Rollout(stepper, [self._seen], 1)
        self._weights = {n: rng.normal(size=self._fields[n].shape) for n in moving}

    def values(self, name: str) -> np.ndarray:
        """The present values of a field, parameter, datum or number of a hold, in f64."""
        if name in self._numbers:
            return self._numbers.parameter(name)
        potential = owner(self.stepper, name)
        found = (
            argument_values(potential, name)
            if isinstance(potential, Potential)
            else self._fields[name].values
        )
        return np.array(found, np.float64)

    def put(self, name: str, values: np.ndarray) -> None:
        """Set a field, parameter, datum or number of a hold."""
        potential = owner(self.stepper, name)
        if name in self._numbers:
            self._numbers.set_parameter(name, values)
        elif isinstance(potential, Potential):
            set_argument_values(potential, name, values)
        else:
            self._fields[name].set(values)

    def inputs(self, name: str) -> np.ndarray:
        """1 at the components of a moving field that are free, and 1 of all else; 0 at held ones."""
        for motion in self.stepper.motions:
            if name in (motion.position, motion.velocity):
                return self.stepper.holds.free(motion.position) * 1.0
        return np.ones(())

    # The subject

    def value(self) -> float:
        return sum(ordered_sum(self._weights[n] * y) for n, y in self._after().items())

    def decisions(self) -> None:
        """None: a Taylor test meets no jump."""

    def rounding(self) -> float:
        """100 eps times the sum of the absolute summands."""
        sizes = (np.abs(self._weights[n] * y) for n, y in self._after().items())
        return 100.0 * EPS * sum(ordered_sum(np.where(np.isfinite(a), a, 0.0)) for a in sizes)

    def gradient(self, name: str) -> np.ndarray:
        """dL/d(name) by the adjoint."""
        return self._pulled(self.names)[name]

    def finding(self, argument: str, question: str, passed: bool, figure: float | None, text: str) -> Finding:
        text = f"{text}, of the first step"
        return Finding(self.stepper.name, argument, question, passed, figure, text, precision="f64")

    def transpose(self, way: Values, bound: float = TRANSPOSE) -> Finding:
        """(l, J w) = (J' l, w) to a bound."""
        moved, back = self._pushed(way), self._pulled(list(way))
        if moved is None:
            return self.finding("", "transpose", False, None, f"is not solved: {self._run.trouble}")
        seen = {n: moved[n] for n in self._weights}
        return self.finding("", "transpose", *transposed(self._weights, seen, back, way, bound))

    def _after(self) -> dict[str, np.ndarray]:
        """The state after the step; NaN where there is none."""
        kept = {n: np.full((1, *self._fields[n].shape), math.nan) for n in self._weights}
        self._seen.kept = kept
        self._run.value()
        self._seen.kept = {}
        return {n: rows[0] for n, rows in kept.items()}

    def _pulled(self, names: list[str]) -> dict[str, np.ndarray]:
        self._seen.slopes = {n: w[None] for n, w in self._weights.items()}
        found = self._run.evaluate(names)[1]
        return {n: np.asarray(a, np.float64) for n, a in found.items()}

    def _pushed(self, way: Values) -> dict[str, np.ndarray] | None:
        """The tangents of the state after the step; None where the step is not solved."""
        if not math.isfinite(self._run.value()):
            return None
        return self._run.end_tangents(way)


def _size(values: np.ndarray) -> float:
    """The root mean square of the finite values; 1 for zeros."""
    return float(np.sqrt(np.mean(np.where(np.isfinite(values), values, 0.0) ** 2))) or 1.0
