"""Check of an equilibrium: its sensitivities against values of other equilibria, and against each other.

    taylor       L = (l, x) of the equilibrium x falls short of its slope as h^2, for each parameter
    transpose    (l, J w) = (J' l, w) for random l and w, over all parameters together

J = dx/dp: J w comes from the tangent of the equilibrium, J' l from its adjoint.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from ...check.questions import Finding, step_inside, taylor
from ...check.variables import Variable
from ...energies.fields import ordered_sum
from ...potential.argument_values import argument_values, set_argument_values
from ...steppers.minimisers.minimiser import Minimiser
from ...steppers.minimisers.outcomes import BALANCED, Tolerances
from ..equilibria.equilibrium import Equilibrium
from .transposition import transposed

TRANSPOSE = 1e-9
"""The largest difference of both products, in parts of the sum of their absolute summands."""
STEP = 0.1
"""The size of a step, in parts of the size of the values."""
TIGHT = 1e-12
"""The relative out-of-balance force that is asked of the search, where rounding allows it."""
FLOOR = 10.0
"""The floor of a remainder, in units of this force."""


def of_equilibrium(
    search: Minimiser, names: Sequence[str], iterations: int, solver: str = "auto", seed: int = 0
) -> Iterator[Finding]:
    """Check the equilibrium by these parameters and fields; restores them. `iterations`: of one search."""
    rng, asked = np.random.default_rng(seed), search.tolerances
    search.tolerances = Tolerances(force=TIGHT)
    subject = EquilibriumSubject(Equilibrium(search, [], iterations, solver), rng)
    if not subject.one.find():
        search.tolerances = asked
        subject = EquilibriumSubject(Equilibrium(search, [], iterations, solver), rng)
    if not subject.one.find():
        yield subject.finding("", "equilibrium", False, None, f"was not found: {subject.one.trouble}")
        return
    start = {name: subject.values(name) for name in names}
    yield subject.transpose({n: rng.normal(size=v.shape) * _size(v) for n, v in start.items()})
    for name, values in start.items():
        put, gradient = partial(subject.put, name), partial(subject.gradient, name)
        variable = Variable(name, values, put, gradient, STEP * _size(values))
        direction = step_inside(subject, variable, variable.direction(rng) * subject.inputs(name))
        yield taylor(subject, variable, direction)
        subject.put(name, values)


class EquilibriumSubject:
    """L = (l, x) of the equilibrium x, with random l, as a subject of questions."""

    def __init__(self, one: Equilibrium, rng: np.random.Generator):
        self.one, self._fields = one, one.potential.fields
        self._weights = {f.name: rng.normal(size=f.shape) for f in one.search.moving}

    def values(self, name: str) -> np.ndarray:
        """The present values of a field or parameter, in f64."""
        if name in self._fields:
            return self._fields[name].values.astype(np.float64)
        if name in (numbers := self.one.holds.numbers):
            return numbers.parameter(name)
        return argument_values(self.one.owner(name), name).astype(np.float64)

    def put(self, name: str, values: np.ndarray) -> None:
        """Set a field that is not sought, or a parameter."""
        if name in self._fields:
            self.one.set_input(name, values)
        elif name in (numbers := self.one.holds.numbers):
            numbers.set_parameter(name, values)
        else:
            set_argument_values(self.one.owner(name), name, values)

    def inputs(self, name: str) -> np.ndarray:
        """1 at the components of a field that are inputs, and 1 of a parameter; else 0."""
        return self.one.inputs_of(name) * 1.0 if name in self._fields else np.ones(())

    # The subject

    def value(self) -> float:
        if not self.one.find():
            return math.nan
        return sum(ordered_sum(w * self._fields[n].values) for n, w in self._weights.items())

    def decisions(self) -> None:
        """None: a Taylor test meets no jump."""

    def rounding(self) -> float:
        """The uncertainty that the tolerance of the search leaves."""
        tolerance = self.one.search.tolerances.force or BALANCED[self._fields.dtype.name]
        sizes = (ordered_sum(np.abs(w * self._fields[n].values)) for n, w in self._weights.items())
        return FLOOR * tolerance * sum(sizes)

    def gradient(self, name: str) -> np.ndarray:
        """dL/d(name) by the adjoint."""
        self.one.find()
        return np.asarray(self.one.pulled_back(self._weights, [name])[name], np.float64)

    def finding(self, argument: str, question: str, passed: bool, figure: float | None, text: str) -> Finding:
        text = f"{text}, of the equilibrium"
        return Finding(self.one.search.name, argument, question, passed, figure, text, precision="f64")

    def transpose(self, way: Mapping[str, np.ndarray]) -> Finding:
        """(l, J w) = (J' l, w)."""
        way = {n: w * self.inputs(n) for n, w in way.items()}
        tangent, back = self.one.tangent(way), self.one.pulled_back(self._weights, list(way))
        moved = {n: tangent[n] for n in self._weights}  # and no velocities of supports
        return self.finding("", "transpose", *transposed(self._weights, moved, back, way, TRANSPOSE))


def _size(values: np.ndarray) -> float:
    """The root mean square of the values; 1 for zeros."""
    return float(np.sqrt(np.mean(values**2))) or 1.0
