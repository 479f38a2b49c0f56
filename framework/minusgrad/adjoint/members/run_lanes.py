"""RunLanes: runs of many members of one small system, with their derivatives, one member to a lane.

    states of all members at some steps           the kernel of many steps (`integrator_lanes`)
    dL/d(start, parameters) from dL/d(states)     the adjoint of `Backward`, in a kernel for lanes, too

The states at the ends of blocks of steps are stored, and each block is run once more on a tape.

Decisions 0389.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...engine import storage
from ...engine.members.member_kernels import MemberArrays, MemberKernel
from ...engine.members.text_survey import NotWideError
from ...errors import EnergyError, MiscompiledError
from ...potential.potential import Potential
from ...steppers.integrator import Integrator
from ...steppers.members.integrator_lanes import IntegratorLanes
from ...steppers.timed.time_stepper import Clock
from ..backward import Backward
from ..derivation import derivation
from ..losses import ObservedStates
from ..rollout import Rollout

STEPS = 3
"""The steps of the run whose derivatives are compared with those of one member."""
TOLERANCE = 1e5
"""The difference of derivatives that rounding explains, in eps of the largest one."""
Rows = dict[str, np.ndarray]
"""Arrays (count, ...) by name."""


class RunLanes:
    """Members of an integrator, which begin at the fields in `arrays` and take `steps` steps.

    start: the clock of the integrator where they begin. own: the arrays in which members differ. budget:
    bytes of tapes. Raises `NotWideError` where there are no lanes for its steps, or for their adjoints.
    """

    def __init__(
        self, stepper: Integrator, start: Clock, count: int, own: Iterable[Any], steps: int, budget: int
    ):
        self.stepper, self.steps, self.count = stepper, steps, count
        self._start = start.counted_from_here()
        self.arrays, self._own = MemberArrays(count, stepper.potential.fields.dtype), [*own]
        self.lanes = IntegratorLanes(stepper, count, self._own, self.arrays)
        self._derivation = derivation(stepper)
        each = max(self._derivation.tape_size(2) - self._derivation.tape_size(1), 1) * count
        self.block = int(np.clip(budget // each, 1, max(steps, 1)))
        self._adjoints: dict[tuple[str, ...], AdjointLanes] = {}
        self._recorded: tuple[Integrator, IntegratorLanes] | None = None

    def begin(self) -> None:
        """Be at step 0, and compute the forces of all members at their present fields."""
        self.stepper.clock = self._start
        self.lanes.evaluate(self.stepper.time)

    def advance(self, step: int) -> None:
        """Run on to a step."""
        one = self.stepper
        if step > one.step:
            self.lanes.advance(one.step - one.since, step - one.step)
            one.step = step

    def gradients(self, names: Sequence[str], stops: Sequence[int], slopes: Mapping[str, np.ndarray]) -> Rows:
        """dL/d(name) of each member, (count, *shape), by initial fields and parameters.

        slopes: dL/d(field) at the steps `stops`, (count, stops, ...). The fields are then those of a member
        somewhere on the way.
        """
        back = self._adjoint(tuple(names))
        self._through(back, self.steps, stops, slopes)
        return {name: back.found(name) for name in names}

    def _through(
        self, back: "AdjointLanes", steps: int, stops: Sequence[int], slopes: Mapping[str, np.ndarray]
    ) -> None:
        """Run so many steps from the present fields, and take the derivatives back to the start."""
        ends = [*range(0, steps, self.block), steps]
        self.begin()
        kept = []
        for end in ends[:-1]:
            self.advance(end)
            kept.append(self.lanes.state())
        back.clear()
        for first, end in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
            self._record(first, end, kept.pop())
            here = end
            for place in reversed([k for k, stop in enumerate(stops) if first < stop <= end]):
                back.back(here, here - stops[place])
                back.add({name: values[:, place] for name, values in slopes.items()})
                here = stops[place]
            back.back(here, here - first)
        if stops and stops[0] == 0:
            back.add({name: values[:, 0] for name, values in slopes.items()})
        back.finish()

    def _record(self, first: int, end: int, state: Rows) -> None:
        """Run a block of steps on the tape."""
        recorded, lanes = self._taped()
        lanes.restore(state)
        recorded.clock = self.stepper.clock
        recorded.step = first
        assert recorded.tape
        recorded.tape.first = first
        for name, tape in recorded.tape.positions.items():
            self.arrays.copy(tape, recorded.potential.fields[name].array)
        lanes.advance(first - recorded.since, end - first)
        recorded.step = end

    def _taped(self) -> tuple[Integrator, IntegratorLanes]:
        if self._recorded is None:
            recorded = self._derivation.recorded(self.block, ())
            assert isinstance(recorded, Integrator)
            self._recorded = recorded, IntegratorLanes(recorded, self.count, self._own, self.arrays)
        return self._recorded

    def _adjoint(self, names: tuple[str, ...]) -> "AdjointLanes":
        if names not in self._adjoints:
            recorded, _ = self._taped()
            back = AdjointLanes(recorded, names, self.arrays, self._own)
            self._verify(back, names)
            self._adjoints[names] = back
        return self._adjoints[names]

    def _verify(self, back: "AdjointLanes", names: tuple[str, ...]) -> None:
        """Compare the derivatives of a few steps of the last member with those of `Rollout`, once.

        Raises `MiscompiledError`.
        """
        one, row, steps = self.stepper, self.count - 1, min(STEPS, self.steps)
        start, rng = self.lanes.state(), np.random.default_rng(0)
        slopes = {f.name: rng.normal(size=(1, 1, *f.shape)).astype(f.dtype) for f in one.moving}
        every = {n: np.repeat(values, self.count, axis=0) for n, values in slopes.items()}
        self._through(back, steps, [steps], every)
        found = {name: back.found(name)[row] for name in names}
        self.lanes.restore(start)
        fields = [field.array for field in one.moving]
        kept = [(array, np.array(storage.host(array))) for array in [*self._own, *fields]]
        for array, _ in kept:
            storage.store(array, self.arrays.row(array, row))
        seen = ObservedStates(one.potential.fields, tuple(slopes), [steps])
        seen.slopes = {n: values[0] for n, values in slopes.items()}
        one.clock = self._start
        _, wanted = Rollout(one, [seen], steps).evaluate(names)
        for array, values in kept:
            storage.store(array, values)
        eps = np.finfo(one.potential.fields.dtype).eps
        for name in names:
            most = np.abs(wanted[name]).max(initial=0.0)
            if np.isfinite(most) and not (np.abs(found[name] - wanted[name]) <= TOLERANCE * eps * most).all():
                raise MiscompiledError(
                    f"lanes of members: dL/d({name}) of {steps} steps is {found[name].ravel()[:3]}, and"
                    f" {wanted[name].ravel()[:3]} of one member; report it, and use lanes=False"
                )


class AdjointLanes:
    """The adjoint of the steps on the tape of all members (`Backward`)."""

    def __init__(self, recorded: Integrator, names: Sequence[str], arrays: MemberArrays, own: Iterable[Any]):
        self._back, self._arrays, self._recorded = Backward(recorded, names), arrays, recorded
        if self._back.supports:
            raise NotWideError("derivatives by numbers of holds have no lanes")
        with ExitStack() as stack:
            for potential in self._potentials():
                stack.enter_context(potential.scattering())
            try:
                codes = self._back.steps_code(), self._back.finish_code()
            except EnergyError as error:
                raise NotWideError(str(error)) from None
        whole = [*own, *self._back.adjoints.values(), *self._back.parameters.values()]
        self._many = MemberKernel(codes[0], ("steps", "first", "t0", "dt", "at"), arrays, whole)
        self._end = MemberKernel(codes[1], ("t0", "at"), arrays, whole)

    def clear(self) -> None:
        """Set all derivatives to zero, for the end of a run."""
        sums = (self._back.adjoints, self._back.parameters, self._back.kicked)
        for array in (array for some in sums for array in some.values()):
            self._arrays.clear(array)

    def back(self, last: int, steps: int) -> None:
        """Propagate the adjoints back by `steps` steps, from the end of step number `last`."""
        if steps:
            one = self._recorded
            assert one.tape
            first = last - steps
            self._many(steps, float(first - one.since), one.t0, one.dt, first - one.tape.first)

    def finish(self) -> None:
        """The end of the way back, at the initial state."""
        self._end(float(self._recorded.times(0)), 0)

    def add(self, slopes: Mapping[str, np.ndarray]) -> None:
        """Add the derivatives of a loss by the present fields, (count, ...) each."""
        for name, values in slopes.items():
            array = self._back.adjoints[name]
            self._arrays.write_members(array, self._arrays.rows(array) + values)

    def found(self, name: str) -> np.ndarray:
        """dL/d(name) of all members."""
        if name in self._back.adjoints:
            return self._arrays.rows(self._back.adjoints[name])
        (potential,) = [p for p in self._potentials() if name.partition(".")[0] in p.parts]
        rows = self._arrays.rows(self._back.parameters[name])
        return rows.reshape(len(rows), *potential.shape(name))

    def _potentials(self) -> list[Potential]:
        return self._recorded.system.potentials
