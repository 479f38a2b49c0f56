"""Check of a step of a program: its gradient against values, and its adjoint against its tangent.

    taylor       L = (l, y) of the next state y falls short of its slope as h^2, for each field and parameter
    transpose    (l, J w) = (J' l, w) for random l and w, over all fields and parameters together

J is the Jacobian of the first step; J w comes from the tangent, J' l from the adjoint.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from ...check.questions import EPS, Finding, inside, taylor
from ...check.variables import Variable
from ...energies.fields import ordered_sum
from ...engine import storage
from ...errors import NonFiniteError, OutsideError
from ...potential.staged.staged_term import StagedTerm
from ...steppers.programs.evolution import Evolution
from ...steppers.programs.state_tape import StateTape
from ..transposition import transposed
from .program import ProgramAdjoint, ProgramTangents

TRANSPOSE = 1e-12
"""The largest difference of both products, in parts of the sum of their absolute summands."""
STEP = 0.1
"""The size of a step, in parts of the size of the values."""
Values = Mapping[str, np.ndarray]


def of_program(stepper: Evolution, seed: int = 0) -> Iterator[Finding]:
    """Check the first step from the present fields, in double precision. Restores fields and parameters."""
    rng = np.random.default_rng(seed)
    step = FirstStep(stepper, rng)
    start = step.state()
    try:
        if staged := list(stepper.potential.chain.staged):
            text = f"not asked: the staged kernels of '{staged[0]}' have no tangents"
            yield step.finding("", "transpose", True, None, text)
        else:
            yield step.transpose({n: rng.normal(size=v.shape) * _size(v) for n, v in start.items()})
        for name, values in start.items():
            step.put(start)
            put, gradient = partial(step.put_one, name), partial(step.gradient, name)
            variable = Variable(name, values, put, gradient, STEP * _size(values))
            yield taylor(step, variable, inside(step, variable, variable.direction(rng)))
    finally:
        step.put(start)


class FirstStep:
    """L = (l, y) of the state y after the first step, with random l, as a subject of questions."""

    def __init__(self, stepper: Evolution, rng: np.random.Generator):
        self._stepper = stepper.with_tape(StateTape(stepper.moving, 1))
        self._start = self._stepper.clock
        self._potential, self._fields = stepper.potential, stepper.potential.fields
        read = (self._potential.reads | set(stepper.updates)) - self._fields.derived
        names = [n for n in self._potential.arguments if n not in self._potential.time_steps]
        self._names = [*sorted(read), *names]
        self._weights = {f.name: rng.normal(size=f.shape) for f in stepper.moving}
        self._adjoint = ProgramAdjoint(self._stepper, self._names)
        self._tangents = ProgramTangents(self._stepper, self._names)

    # The state

    def state(self) -> dict[str, np.ndarray]:
        """The values of all fields, parameters and data that a step reads."""
        return {name: np.array(self._values(name), np.float64) for name in self._names}

    def _values(self, name: str) -> np.ndarray:
        if name in self._fields:
            return self._fields[name].values
        term, _, argument = name.partition(".")
        part = self._potential.parts[term]
        if isinstance(part, StagedTerm):
            return part.inputs[argument]
        return storage.host(part.data[argument]) if argument in part.data else self._potential.parameter(name)

    def put(self, state: Values) -> None:
        """Set fields, parameters and data."""
        for name, values in state.items():
            term, _, argument = name.partition(".")
            if name in self._fields:
                self._fields[name].set(values)
            elif isinstance(part := self._potential.parts[term], StagedTerm):
                part.set_input(argument, values)
            elif argument in part.data:
                part.set_datum(argument, values)
            else:
                self._potential.set_parameter(name, values)

    def put_one(self, name: str, values: np.ndarray) -> None:
        """Set one of them."""
        self.put({name: values})

    # The subject

    def value(self) -> float:
        return sum(ordered_sum(self._weights[n] * y) for n, y in self._after().items())

    def decisions(self) -> None:
        """None: a Taylor test meets no jump."""

    def rounding(self) -> float:
        """100 eps times the sum of the absolute summands."""
        sizes = {n: np.abs(self._weights[n] * y) for n, y in self._after().items()}
        return 100.0 * EPS * sum(ordered_sum(np.where(np.isfinite(a), a, 0.0)) for a in sizes.values())

    def gradient(self, name: str) -> np.ndarray:
        """dL/d(name) by the adjoint."""
        before = self._memory()
        self._record()
        self._adjoint.clear()
        self._adjoint.add(self._weights)
        self._adjoint.back(1, 1)
        self._recall(before)
        return np.asarray(self._adjoint.found(name), np.float64)

    def finding(self, argument: str, question: str, passed: bool, figure: float | None, text: str) -> Finding:
        text = f"{text}, of the first step"
        return Finding(self._stepper.name, argument, question, passed, figure, text, precision="f64")

    def transpose(self, way: Values) -> Finding:
        """(l, J w) = (J' l, w)."""
        before = self._memory()
        self._begin()
        self._tangents.start(way)
        self._tangents.advance(1)
        moved = {n: storage.host(self._tangents.tangents[n]) for n in self._weights}
        self._recall(before)
        back = {n: self.gradient(n) for n in way}
        return self.finding("", "transpose", *transposed(self._weights, moved, back, way, TRANSPOSE))

    def _after(self) -> dict[str, np.ndarray]:
        """The state after the step; NaN where there is none."""
        before = self._memory()
        taken = self._record()
        found = {
            f.name: f.values.astype(np.float64) if taken else np.full(f.shape, np.nan)
            for f in self._stepper.moving
        }
        self._recall(before)
        return found

    def _begin(self) -> None:
        self._stepper.clock = self._start
        self._stepper.begin_tape(0)

    def _record(self) -> bool:
        """Take the step; False if it is refused, and the fields are those before it."""
        self._begin()
        try:
            self._stepper.advance(1)
        except (NonFiniteError, OutsideError):
            return False
        return True

    def _memory(self) -> dict[str, np.ndarray]:
        return {f.name: f.values.copy() for f in self._stepper.moving}

    def _recall(self, before: Values) -> None:
        self.put(before)
        self._stepper.clock = self._start


def _size(values: np.ndarray) -> float:
    """The root mean square of the finite values; 1 for zeros."""
    return float(np.sqrt(np.mean(np.where(np.isfinite(values), values, 0.0) ** 2))) or 1.0
