"""MemberLanes: all members of small systems take their steps in one kernel, each in a lane of a vector.

The members begin in the template one after another, as in `OneAfterAnother`, and are captured from there.
Their steps have bits of their own: those of the kernel for lanes, whose arithmetic depends on nothing but
the member's own numbers.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...engine.members.text_survey import NotWideError
from ...errors import CheckpointError, NonFiniteError
from ...steppers.integrator import Integrator
from ...steppers.members.integrator_lanes import IntegratorLanes
from .differing import fields, parameters, supports
from .one_after_another import OneAfterAnother, State, under

if TYPE_CHECKING:
    from .members import Members


class MemberLanes(OneAfterAnother):
    """Moves the members of an ensemble together. Raises `NotWideError` for members that have no lanes."""

    watched = False  # the energies of all members, one by one, would take longer than their steps

    def __init__(self, members: "Members"):
        inner = members.template.stepper
        self.inner: Integrator
        if not isinstance(inner, Integrator):
            raise NotWideError(f"{inner.name} has no lanes")
        count = len(members.numbers)
        self.lanes = IntegratorLanes(
            inner, count, [*fields(members), *parameters(members), *supports(members)]
        )
        self._clock: State = {}
        self._energies: dict[str, np.ndarray] | None = None
        """The energies of all members by term at the present step, once they were asked for."""
        super().__init__(members)
        self.lanes.evaluate(self.time)
        if self.running:
            self._put(self.running[0], self._state(self.row[self.running[0]]))
            self.lanes.verify(self.time)
        self._shown = None

    def _begin(self) -> None:
        """Begin each member in the template, and capture it."""
        for row, number in enumerate(self.numbers):
            state = self._begun(number)
            self.lanes.capture(row)
            if not row:
                clock = {n: a for n, a in state.items() if n.startswith("stepper/")}
                self._clock = {n: a for n, a in clock.items() if n not in self.lanes.names}

    def advance(self, n: int) -> None:
        before, lanes = self.lanes.state(), self.lanes
        self._energies = None
        self.to_present()
        lanes.advance(self.inner.step - self.inner.since, n)
        running = set(self.running)
        going = np.array([number in running for number in self.numbers])
        if (lost := going & ~lanes.finite()).any():
            self._find(before, n, lost)
        if not going.all():
            lanes.put_rows(before, ~going)
        self.step += n if self.running else 0
        self._shown = None

    def _find(self, before: State, n: int, lost: np.ndarray) -> None:
        """Take the steps once more, one by one, and mark members that are not finite where they fail.

        They keep the state before that step.
        """
        lanes, first = self.lanes, self.inner.step - self.inner.since
        lanes.restore(before)
        for k in range(n):
            last = lanes.state()
            lanes.advance(first + k, 1)
            gone = lost & ~lanes.finite()
            for row in np.flatnonzero(gone).tolist():
                found = lanes.first_not_finite(row)
                assert found
                error = f"step {self.step + k + 1}: '{found[0].name}' is not finite at node {found[1]}"
                self.fail(self.numbers[row], self.step + k, NonFiniteError(error))
            if failed := [row for row, number in enumerate(self.numbers) if number in self.failures]:
                lanes.put_rows(last, np.array(failed))
            lost &= ~gone

    def show(self, number: int) -> None:
        if self._shown == number:
            return
        super().show(number)
        if number not in self.failures:
            if self._energies is None:
                self._energies = self.lanes.energies(self.time)
            of_member = {term: float(rows[self.row[number]]) for term, rows in self._energies.items()}
            self.template.potential.presume(of_member, self.inner.time)

    def own_state(self) -> State:
        varied = {f"fields/{n}": self.members.initial(n) for n in self.template.saved_fields}
        clock = {n: np.stack([self._clock_of(n, number) for number in self.numbers]) for n in self._clock}
        return {n: np.array(a) for n, a in (varied | clock | self.lanes.state()).items() if n in self._first}

    def restore_own(self, state: Mapping[str, np.ndarray]) -> None:
        for name in self.lanes.names:
            if name not in state or len(state[name]) != self.count:
                raise CheckpointError(f"the checkpoint's '{name}' does not fit {self.count} members")
        self.lanes.restore({name: np.asarray(state[name]) for name in self.lanes.names})
        self._energies = None
        self._clock = {n: np.array(state[n][self._row_of_clock()]) for n in self._clock if n in state}
        self._shown = None
        self.show((self.running or self.numbers)[0])
        self.to_present()

    def _row_of_clock(self) -> int:
        """The row of a member that took all steps, or of the first one."""
        return self.row[(self.running or self.numbers)[0]]

    def to_present(self) -> None:
        """Set the clock of the template to the present step."""
        self.inner.restore_clock(under("stepper", self._clock_at(self.step)))

    def _clock_at(self, step: int) -> State:
        return self._clock | {"stepper/step": np.array(step)}

    def _clock_of(self, name: str, number: int) -> np.ndarray:
        failed = self.failures.get(number)
        return self._clock_at(failed.step if failed else self.step)[name]

    def _state(self, row: int) -> State:
        """The state of a member, as the template's."""
        number = self.numbers[row]
        varied = {f"fields/{n}": self.members.initial(n)[row] for n in self.template.saved_fields}
        clock = {n: self._clock_of(n, number) for n in self._clock}
        return varied | clock | self.lanes.state_of(row)
