"""Derivatives of a program in time: adjoint and tangents of steps x <- y(x, p, t) (`steppers.programs`).

    adjoint     lx <- (dy/dx)' ly,   lp <- lp + (dy/dp)' ly        with ly = lx of the next state
    tangent     x. <- (dy/dx) x. + (dy/dp) p.

One sweep back through maps and slopes gives the first for all fields and parameters at once. The tape has the
state before each step; a step is computed once more on its way back. Held components have no adjoint, because
a step overwrites them.

Decisions 0114, 0356.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...energies.fields import Field
from ...engine import storage
from ...engine.kernels import BoundKernel, Code, add_loops, at_each, copy_loops, zero_loops
from ...errors import EnergyError
from ...potential.fused_code import FusedSweep
from ...potential.potential import Potential
from ...potential.watches.verified_ranges import ProvenRanges
from ...steppers.programs.evolution import Evolution
from ...steppers.programs.serial_steps import SerialSteps
from ...steppers.programs.state_exchange import StateExchange
from ...steppers.programs.step_reads import StepReads
from ...steppers.supports.hold_numbers import HoldNumbers
from ..backward import RunAdjoint, owner, rows_of
from ..tangents import shaped
from .adjoint_exchange import AdjointExchange


class ProgramAdjoint(RunAdjoint):
    """The adjoint of the steps on an evolution's tape.

    `adjoints`: dL/d(field) for updated fields and the fields among `names`; `parameters`:
    dL/d("term.argument"), in rows of values. They are derivatives with respect to the state at the step that
    `back` has reached. Raises `EnergyError` for names without a derivative.
    """

    def __init__(self, stepper: Evolution, names: Sequence[str]):
        assert stepper.tape is not None
        self.stepper, self.tape, self._potential = stepper, stepper.tape, stepper.potential
        self._placed = stepper.holds.placed
        fields = self._potential.fields
        nodal = dict.fromkeys([*stepper.updates, *(n for n in names if n in fields)])
        self.adjoints = {n: _zeros_like(fields[n]) for n in nodal}
        self.parameters, request = _request(stepper, names)
        self._found, self._seeds = request.gradient, request.seeds
        self._reads = StepReads.of(stepper, request, self.tape.names)
        self._request = replace(request, known=tuple(self._reads.after))
        self._states = StateExchange(fields, stepper.updates, self.tape)
        self._exchange: AdjointExchange | None = None
        if not stepper.fused and self._states.serves(fields, stepper.updates):
            self._exchange = AdjointExchange(stepper, self.adjoints, self._found, self._seeds)
        else:
            self._arrived = {x: _zeros_like(fields[x]) for x in stepper.updates}
            self._before, self._after = (
                [BoundKernel(loops) for loops in part] for part in (self._arrivals(), self._departures())
            )
            row = Code("tape_row = at\n")
            self._recall = [BoundKernel(Code.joined([row, loops]), "at") for loops in self._recalled()]
        self._steps, self._proven = self._kernel_of_steps(), ProvenRanges(self._potential)

    def back(self, last: int, steps: int) -> None:
        """Propagate the adjoints back by `steps` steps, from the end of step number `last`."""
        if self._exchange and steps:
            with self._states.lent(), self._exchange.lent():
                for step in reversed(range(last - steps, last)):
                    self._launch_in_place(step, self._exchange)
        elif self._steps is None:
            for step in reversed(range(last - steps, last)):
                self._launch(step)
        elif steps:
            self._verify(last - 1)
            first = last - steps
            self._steps(self.stepper.times(np.arange(first, last + 1)), first - self.tape.first)
            self._mark()

    def finish(self) -> None:
        """The initial state: held components are set before the first step, so they have no adjoint."""
        _clear_held(self.adjoints, self._placed)

    @property
    def fused(self) -> bool:
        """True if many steps are taken back inside one kernel."""
        return self._steps is not None

    def _launch(self, step: int) -> None:
        """Take a step back by single launches."""
        self._add(self._swept(step))
        for kernel in self._after:
            kernel()

    def _launch_in_place(self, step: int, exchange: AdjointExchange) -> None:
        """The same without copies: the state is read where the tape has it."""
        self._states.recall(step, self._reads)
        exchange.arrive()
        self._add(self._potential.sweep(self._request, self.stepper.times(step)).slopes)
        exchange.depart()

    def _add(self, slopes: Mapping[str, np.ndarray]) -> None:
        """Add the derivatives of a step by parameters."""
        for name, values in slopes.items():
            rows = self.parameters[name]
            storage.store(rows, storage.host(rows) + values.reshape(tuple(rows.shape)))

    def _swept(self, step: int) -> Mapping[str, np.ndarray]:
        """The derivatives by parameters in a step; those by fields are in `_found`."""
        for kernel in self._recall:
            kernel(step - self.tape.first)
        self._mark()
        for kernel in self._before:
            kernel()
        return self._potential.sweep(self._request, self.stepper.times(step)).slopes

    def _verify(self, step: int) -> None:
        """Sweep by kernels of their own, which are verified, once in each range of fields and parameters.

        The kernel of many steps has the same loops.
        """
        if self._proven.lack(self.stepper.times(step)):
            self._swept(step)
            self._proven.note()

    def _kernel_of_steps(self) -> SerialSteps | None:
        """Many steps back in one kernel; None for a large program."""
        if not self.stepper.fused:
            return None
        sums = {n: storage.allocate(np.zeros(tuple(rows.shape))) for n, rows in self.parameters.items()}
        code = FusedSweep(self._potential)
        swept = code.sweep(self._request, sums)
        if not SerialSteps.serve(code.statements):
            return None
        taken = [add_loops(self.parameters[n], array) for n, array in sums.items()]
        cleared = [zero_loops("sums", array) for array in sums.values()]
        loops = [*self._recalled(), *self._arrivals(), *cleared, *swept, *taken, *self._departures()]
        return SerialSteps(loops, code.statements, back=True, scratch=self._scratch(sums))

    def _scratch(self, sums: Mapping[str, Any]) -> list[Any]:
        """The arrays of a step back that nothing else reads."""
        chain = self._potential.chain
        fields = [*chain.outputs.values(), *chain.adjoints.values(), *chain.adjoint_tangents.values()]
        along = [array for kernels in chain.differentiators.values() for array in kernels.along.values()]
        own = [*self._arrived.values(), *self._found.values(), *self._seeds.values(), *sums.values()]
        return [*own, *along, *(field.array for field in fields)]

    # Pieces

    def _recalled(self) -> list[Code]:
        """The values that the way back reads, from the tape."""
        fields, reads = self._potential.fields, self._reads
        before = [self.tape.recalled(x, fields[x].array) for x in reads.before]
        return [
            *before,
            *(self.tape.recalled(x, fields[y].array, after=True) for y, x in reads.after.items()),
        ]

    def _mark(self) -> None:
        """Count a write of the fields that were overwritten."""
        for name in (*self._reads.before, *self._reads.after):
            self._potential.fields[name].array.writes += 1

    def _arrivals(self) -> list[Code]:
        """The adjoints of the fields after the step, zero at held components, and the seeds."""
        pieces = [self._free(x, array) for x, array in self._arrived.items()]
        for y, seed in self._seeds.items():
            pieces += self._sum(seed, self._passed(y))
        return pieces

    def _departures(self) -> list[Code]:
        """The adjoints of the fields before the step: those passed on, and those of the sweep."""
        return [
            piece
            for name, array in self.adjoints.items()
            for piece in self._sum(array, self._passed(name, name in self._found), name in self._arrived)
        ]

    def _passed(self, name: str, found: bool = False) -> list[Any]:
        """The adjoints of the fields which `name` becomes; and that which the sweep has `found`."""
        passed = [self._arrived[x] for x, given in self.stepper.updates.items() if given == name]
        return [*passed, self._found[name]] if found else passed

    def _sum(self, into: Any, parts: Sequence[Any], afresh: bool = True) -> list[Code]:
        """Loops that store the sum of arrays; or add it, if not `afresh`."""
        if not afresh:
            return [add_loops(into, array) for array in parts]
        first = copy_loops(into, parts[0]) if parts else zero_loops("zeros", into)
        return [first, *(add_loops(into, array) for array in parts[1:])]

    def _free(self, name: str, into: Any) -> Code:
        """Loops that store the adjoint of a field, zero at held components."""
        adjoint = self.adjoints[name]
        if (free := self._placed.get(name)) is None:
            return copy_loops(into, adjoint)
        line = "into[{at}] = source[{at}] * free[{at}]"
        return Code(at_each("into", into, line), {"into": into, "source": adjoint, "free": free})


def kept_fields(stepper: Evolution, names: Sequence[str]) -> tuple[str, ...]:
    """The fields whose values a tape needs for derivatives by these names.

    Raises `EnergyError` for names without a derivative.
    """
    return StepReads.of(stepper, _request(stepper, names)[1]).recorded


def _request(stepper: Evolution, names: Sequence[str]) -> tuple[dict[str, Any], DerivativeRequest]:
    """Rows for the derivatives by parameters, and the request for those of a step, in arrays of their own."""
    potential, fields = stepper.potential, stepper.potential.fields
    owners = {n: _owner(stepper, n) for n in names}
    parameters = {n: rows_of(p, n) for n, p in owners.items() if p}
    nodal = dict.fromkeys([*stepper.updates, *(n for n in names if n in fields)])
    found = {n: _zeros_like(fields[n]) for n in nodal if n in potential.reads}
    seeds = {y: _zeros_like(fields[y]) for y in stepper.updates.values() if y in fields.derived}
    slopes = tuple(parameters)
    return parameters, DerivativeRequest(gradient=found, slopes=slopes, seeds=seeds, only_seeds=True)


class ProgramTangents:
    """A program together with its tangent along one direction; `tangents`: the present ones, by field.

    Raises `EnergyError` for names that a run cannot be differentiated with respect to.
    """

    def __init__(self, stepper: Evolution, names: Sequence[str]):
        self.stepper, self._potential = stepper, stepper.potential
        fields = self._potential.fields
        self._placed = stepper.holds.placed
        owners = {n: _owner(stepper, n) for n in names}
        nodal = dict.fromkeys([*stepper.updates, *(n for n in names if n in fields)])
        self.tangents = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in nodal}
        self.parameters = {n: np.zeros(p.shape(n)) for n, p in owners.items() if p}

    def start(self, direction: Mapping[str, np.ndarray]) -> None:
        """Start at the stepper's present state with these tangents; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        for name, array in (self.tangents | self.parameters).items():
            storage.store(array, shaped(name, direction.get(name), tuple(array.shape)))
        _clear_held(self.tangents, self._placed)

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
        _clear_held(self.tangents, self._placed)


def _owner(stepper: Evolution, name: str) -> Potential | None:
    """The potential of a parameter; None for a field. Raises `EnergyError` for a number of a hold."""
    found = owner(stepper, name)
    if isinstance(found, HoldNumbers):
        raise EnergyError(
            f"'{name}': a program has no derivative by the numbers of its holds; compute the held values by a"
            " map with a parameter"
        )
    return found


def _zeros_like(field: Field) -> storage.ArraySlot:
    """An array for the adjoint of a field."""
    return storage.ArraySlot(storage.allocate(np.zeros_like(field.values)))


def _clear_held(arrays: Mapping[str, Any], placed: Mapping[str, Any]) -> None:
    """Set the held components of arrays to zero; `placed`: the free masks of fields with held components."""
    for name, free in placed.items():
        if name in arrays:
            array = arrays[name]
            storage.store(array, storage.host(array) * storage.host(free))
