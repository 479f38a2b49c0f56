"""Batches of runs of a small system, one member to a lane of vectors (`adjoint.members.run_lanes`)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import torch

from ..adjoint.members.run_lanes import RunLanes
from ..engine import storage
from ..engine.members.text_survey import NotWideError
from ..errors import EnergyError, NonFiniteError, UserError
from ..potential.term_kernels import TermKernels
from ..steppers.integrator import Integrator
from ..steppers.timed.inertias import refuse_massless
from ..steppers.timed.time_stepper import Clock
from . import tensors as guests
from .members import TensorMembers
from .term_input import Input

KEPT = 4
"""The kinds of batches, by number and inputs of their own, whose arrays are kept."""


class LaneRuns:
    """The runs of batches. one: the integrator; start: its clock where they begin; inputs: its parameters
    by name; steps: of a run, and `seen` those whose states are asked for; memory: bytes of tapes.
    """

    def __init__(
        self,
        one: Any,
        start: Clock,
        inputs: Mapping[str, Any],
        steps: int,
        seen: Sequence[int],
        memory: int,
    ):
        self._start = start
        self._one, self._inputs, self._steps, self._seen, self._memory = one, inputs, steps, seen, memory
        self._made: dict[tuple[int, frozenset[str]], RunLanes] = {}
        self._possible = isinstance(one, Integrator) and not one.holds.fields

    def of(self, members: TensorMembers) -> RunLanes | None:
        """The runs of a batch; None without one, and where steps of one member have no lanes."""
        if not self._possible or members.count is None:
            return None
        key = members.count, members.own
        if key not in self._made:
            while len(self._made) >= KEPT:
                del self._made[next(iter(self._made))]
            try:
                own = [self._kernel_array(name) for name in sorted(members.own)]
                self._made[key] = RunLanes(
                    self._one, self._start, members.count, own, self._steps, self._memory
                )
            except NotWideError:
                self._possible = False
                return None
        return self._made[key]

    def begin(
        self,
        run: RunLanes,
        members: TensorMembers,
        given: Mapping[str, torch.Tensor],
        begin: Callable[[Mapping[str, torch.Tensor]], None],
    ) -> None:
        """Give all members their values; `begin` gives the template those that they share."""
        begin({name: one for name, one in given.items() if name not in members.own})
        fields = self._one.potential.fields
        for name in {field.name for field in self._one.moving} - members.own:
            values = fields[name].values
            run.arrays.write_members(fields[name].array, np.broadcast_to(values, (run.count, *values.shape)))
        for name in sorted(members.own):
            if name in fields:
                rows = guests.numbers(given[name])
                if name in self._one.weights:
                    self._refuse_massless(name, rows, members)
                run.arrays.write_members(fields[name].array, rows)
                continue
            array = self._kernel_array(name)
            for k in range(run.count):
                with members.naming_member(k):
                    self._inputs[name].put(given[name][k])
                run.arrays.put_row(array, k, storage.host(array))

    def states(self, run: RunLanes) -> dict[str, np.ndarray]:
        """The moving fields of all members at the steps seen, (members, steps, ...)."""
        run.begin()
        rows: dict[str, list[np.ndarray]] = {field.name: [] for field in self._one.moving}
        for step in self._seen:
            run.advance(step)
            for field in self._one.moving:
                rows[field.name].append(run.arrays.rows(field.array))
        run.advance(self._steps)
        self._refuse_exploded(run)
        return {name: np.stack(found, axis=1) for name, found in rows.items()}

    def gradients(
        self, run: RunLanes, wanted: Sequence[str], slopes: Mapping[str, torch.Tensor]
    ) -> dict[str, np.ndarray]:
        """dL/d(name) of each member, from dL/d(states)."""
        return run.gradients(wanted, self._seen, {n: guests.numbers(one) for n, one in slopes.items()})

    def _refuse_massless(self, name: str, rows: np.ndarray, members: TensorMembers) -> None:
        """Raise `NonFiniteError` for a member with a mass that is not above 0, as a run of it alone does."""
        moved = next(m.position for m in self._one.motions if m.inertia == name)
        for k in members:
            with members.naming_member(k):
                try:
                    refuse_massless(f"'{moved}'", rows[k])
                except EnergyError as error:
                    raise NonFiniteError(f"the run: {error}") from None

    def _refuse_exploded(self, run: RunLanes) -> None:
        if not (finite := run.lanes.finite()).all():
            k = int(np.argmin(finite))
            found = run.lanes.first_not_finite(k)
            assert found
            raise NonFiniteError(
                f"member {k}: the run: step {self._steps}: '{found[0].name}' is not finite at node {found[1]}"
            )

    def _kernel_array(self, name: str) -> Any:
        """The array that kernels read a field or parameter from. Raises `NotWideError` for other inputs."""
        if name in self._one.potential.fields:
            return self._one.potential.fields[name].array
        one = self._inputs[name]
        if isinstance(one, Input) and name in one.potential.common:
            raise NotWideError(f"'{name}' is a parameter of several terms")
        kernels = one.potential.kernels[one.term.name] if isinstance(one, Input) else None
        if not isinstance(kernels, TermKernels):
            raise NotWideError(f"'{name}' has no lanes")
        try:
            return kernels.scattered_loops.array_of(one.argument)
        except UserError as error:
            raise NotWideError(str(error)) from None
