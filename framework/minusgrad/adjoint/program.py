"""Derivatives of a program in time: adjoint and tangents of steps x <- y(x, p, t) (`steppers.programs`).

    adjoint     lx <- (dy/dx)' ly,   lp <- lp + (dy/dp)' ly        with ly = lx of the next state
    tangent     x. <- (dy/dx) x. + (dy/dp) p.

One sweep back through maps and slopes gives the first for all fields and parameters at once. The tape has the
state before each step; a step is computed once more on its way back. Held components have no adjoint, because
a step overwrites them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..engine import storage
from ..steppers.programs.evolution import Evolution
from .backward import owner, rows_of
from .tangents import shaped


class ProgramAdjoint:
    """The adjoint of the steps on an evolution's tape.

    `adjoints`: dL/d(field) for updated fields and the fields among `names`; `parameters`:
    dL/d("term.argument"), in rows of values. They are derivatives with respect to the state at the step that
    `back` has reached.
    Raises `EnergyError` for names without a derivative.
    """

    def __init__(self, stepper: Evolution, names: Sequence[str]):
        assert stepper.tape is not None
        self.stepper, self.tape, self._potential = stepper, stepper.tape, stepper.potential
        self._placed = stepper.holds.placed
        owners = {n: owner(stepper, n) for n in names}
        fields = self._potential.fields
        nodal = dict.fromkeys([*stepper.updates, *(n for n in names if n in fields)])
        self.adjoints = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in nodal}
        self.parameters = {n: rows_of(p, n) for n, p in owners.items() if p}
        read = [n for n in nodal if n in self._potential.reads]
        self._found = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in read}
        outputs = dict.fromkeys(y for y in stepper.updates.values() if y in fields.derived)
        self._seeds = {y: storage.allocate(np.zeros_like(fields[y].values)) for y in outputs}
        self._request = DerivativeRequest(
            gradient=self._found, slopes=tuple(self.parameters), seeds=self._seeds
        )

    def clear(self) -> None:
        """Set all derivatives to zero, for the end of a run."""
        for array in (*self.adjoints.values(), *self.parameters.values()):
            array.fill(0)

    def add(self, slopes: Mapping[str, np.ndarray]) -> None:
        """Add the derivatives of a loss with respect to the present state."""
        for name, slope in slopes.items():
            array = self.adjoints[name] if name in self.adjoints else self.parameters[name]
            storage.store(array, storage.host(array) + slope.reshape(tuple(array.shape)))

    def found(self, name: str) -> np.ndarray:
        """dL/d(name), in the shape of the field or of the argument's values."""
        if name in self.adjoints:
            return storage.host(self.adjoints[name]).copy()
        return storage.host(self.parameters[name]).reshape(self._potential.shape(name)).copy()

    def back(self, last: int, steps: int) -> None:
        """Propagate the adjoints back by `steps` steps, from the end of step number `last`."""
        for step in reversed(range(last - steps, last)):
            self.tape.recall(step)
            self._step(self.stepper.t0 + step * self.stepper.dt)

    def finish(self) -> None:
        """The initial state: held components are set before the first step, so they have no adjoint."""
        for name in self.adjoints:
            storage.store(self.adjoints[name], self._free(name))

    def _step(self, t: float) -> None:
        arrived = {x: self._free(x) for x in self.stepper.updates}
        for y, seed in self._seeds.items():
            sources = [arrived[x] for x, given in self.stepper.updates.items() if given == y]
            storage.store(seed, sum(sources[1:], sources[0]))
        slopes = self._potential.sweep(self._request, t).slopes
        for name, values in slopes.items():
            rows = self.parameters[name]
            storage.store(rows, storage.host(rows) + values.reshape(tuple(rows.shape)))
        for name, array in self.adjoints.items():
            kept = np.zeros_like(storage.host(array)) if name in arrived else storage.host(array)
            passed = [arrived[x] for x, given in self.stepper.updates.items() if given == name]
            found = [storage.host(self._found[name])] if name in self._found else []
            storage.store(array, sum([*passed, *found], kept))

    def _free(self, name: str) -> np.ndarray:
        """The adjoint of a field after the step, zero at held components."""
        values = storage.host(self.adjoints[name]).copy()
        if (free := self._placed.get(name)) is not None:
            values *= storage.host(free)
        return values


class ProgramTangents:
    """A program together with its tangent along one direction; `tangents`: the present ones, by field.

    Raises `EnergyError` for names that a run cannot be differentiated with respect to.
    """

    def __init__(self, stepper: Evolution, names: Sequence[str]):
        self.stepper, self._potential = stepper, stepper.potential
        fields = self._potential.fields
        self._placed = stepper.holds.placed
        owners = {n: owner(stepper, n) for n in names}
        nodal = dict.fromkeys([*stepper.updates, *(n for n in names if n in fields)])
        self.tangents = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in nodal}
        self.parameters = {n: np.zeros(p.shape(n)) for n, p in owners.items() if p}

    def start(self, direction: Mapping[str, np.ndarray]) -> None:
        """Start at the stepper's present state with these tangents; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        for name, array in (self.tangents | self.parameters).items():
            storage.store(array, shaped(name, direction.get(name), tuple(array.shape)))
        self._hold()

    def advance(self, steps: int) -> None:
        """Advance the state and its tangent by `steps` steps."""
        for _ in range(steps):
            self._step()
            self.stepper.advance(1)

    def _step(self) -> None:
        along: dict[str, Any] = {n: storage.host(a) for n, a in self.tangents.items()}
        found = self._potential.map_output_tangents(along | self.parameters, self.stepper.time)
        after = {}
        for x, y in self.stepper.updates.items():
            values = found.get(y, along.get(y))
            after[x] = np.zeros_like(along[x]) if values is None else np.array(values)
        for name, values in after.items():
            storage.store(self.tangents[name], values)
        self._hold()

    def _hold(self) -> None:
        for name, free in self._placed.items():
            if name in self.tangents:
                array = self.tangents[name]
                storage.store(array, storage.host(array) * storage.host(free))
