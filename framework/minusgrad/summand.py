"""One term of a potential at work: its kernels, made when they are first asked for."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import runtime
from .emit import Emitter
from .energy import Time
from .errors import EnergyError
from .fields import ordered_sum
from .kernels import Launch
from .terms import Term, Values

ELEMENTS, BLOCKS = "u of each element", "u of each block of elements"
"""What buffers may hold, besides the derivative with respect to an argument."""


class Summand:
    """Value and derivatives of one term; of a map those of its local energy lambda_p f.

    All sums in double precision and in fixed order.
    """

    def __init__(self, term: Term, emitter: Emitter):
        self.term, self.emitter = term, emitter
        self._launches: dict[Any, tuple[Launch, Any]] = {}

    def value(self, t: float) -> float:
        """Its part of U."""
        return self._sums(BLOCKS, t)[0]

    def by_element(self, t: float) -> np.ndarray:
        """The energy of each element, (E,) in f64; of pairs, for each target i with all j < i."""
        return self._filled(ELEMENTS, t)[:, 0].copy()

    def magnitude(self, t: float) -> float:
        """Sum of |u| over the elements (pairs: over the targets)."""
        return ordered_sum(np.abs(self._filled(ELEMENTS, t)))

    def gradient_into(self, targets: Mapping[str, Any], t: float) -> None:
        """Add dU/d(argument) to each array of `targets`, by node field argument."""
        key = ("into", *((a, id(array)) for a, array in targets.items()))
        if key not in self._launches:
            self._launches[key] = Launch(self.emitter.gradient(dict(targets)), "t"), tuple(targets.values())
        self._launches[key][0](t)

    def gradient(self, argument: str, t: float) -> np.ndarray:
        """dU/d(argument), of the shape of its values, for what is no node field."""
        term = self.term
        known = [*(a for a in term.energy.differentiable if a not in term.fields), *term.energy.linear]
        if argument not in known:
            raise EnergyError(
                f"{term.name} has no derivative with respect to '{argument}' (there are: {', '.join(known)})"
            )
        if argument in term.data or argument in term.energy.linear:
            each = self._filled(argument, t)
            return each.reshape(len(each), *term.shape(argument)).copy()
        if argument not in term.parameters:
            return np.array(self._sums(argument, t)[0])
        values = term.parameters[argument]
        if values.index is None:
            return np.array(self._sums(argument, t)).reshape(values.rows.shape[1:])
        each = self._filled(argument, t)
        rows = np.zeros((len(values.rows), each.shape[1]))
        np.add.at(rows, values.index, each)  # one after another, in the order of the elements
        return rows.reshape(values.rows.shape)

    def rate(self, t: float) -> float:
        """Its part of dU/dt at fixed fields."""
        return sum(self._sums(clock, t)[0] for clock in self.term.energy.of_role(Time))

    def parameter(self, argument: str) -> np.ndarray:
        """The values of a parameter: shape of one value, or rows of them."""
        values = self._values(argument)
        return values.rows[0].copy() if values.index is None else values.rows.copy()

    def set_parameter(self, argument: str, value: Any) -> None:
        """Give a parameter other values of the same shape."""
        values = self._values(argument)
        values.rows = np.broadcast_to(np.asarray(value, values.rows.dtype), values.rows.shape).copy()
        self.emitter.set_parameter(argument, values.rows)

    def _values(self, argument: str) -> Values:
        parameters = self.term.parameters
        if argument not in parameters:
            there = ", ".join(parameters) or "none"
            raise EnergyError(f"{self.term.name} has no parameter '{argument}' (there are: {there})")
        return parameters[argument]

    def _filled(self, what: str, t: float) -> np.ndarray:
        """The buffer that loops fill: ELEMENTS, BLOCKS, or dU/d(an argument)."""
        if what not in self._launches:
            whole = {ELEMENTS: self.emitter.value, BLOCKS: self.emitter.total}.get(what)
            code, buffer = whole() if whole else self.emitter.derivative(what)
            self._launches[what] = Launch(code, "t"), buffer
        launch, buffer = self._launches[what]
        launch(t)
        return runtime.host(buffer)

    def _sums(self, what: str, t: float) -> list[float]:
        return [ordered_sum(column) for column in self._filled(what, t).T]
