"""Observation of members: each is shown in the template, whose observers look at it; rows are stacked.

Observers of the scene are those of an ordinary run, with a memory for each member. At a step all that are due
look at one member after the other, so that each member is shown once. A member whose observation finds a
number that is not finite has failed there.

Decisions 0390.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import DivergedError, NonFiniteError, SingularSystemError, UnsolvedStepError
from ..observers import Observer
from .member_stepper import MemberStepper
from .stacked_rows import StackedRows

State = dict[str, np.ndarray]
OF_A_MEMBER = (NonFiniteError, DivergedError, UnsolvedStepError, SingularSystemError)
"""Errors of an observation that one member is to blame for."""


class AloneObserver(Observer):
    """An observer of the template, for a member that runs alone; its state has a row, as in an ensemble."""

    def __init__(self, stepper: MemberStepper, own: Observer):
        self.stepper, self.own, self.trigger = stepper, own, own.trigger
        self._members, self.recorder = stepper, own.recorder
        if not stepper.failures and begins(own):
            stepper.show(stepper.numbers[0])
            own.begin_here()

    def observe(self) -> None:
        self._members.show(self._members.numbers[0])
        with self._members.inner.observed():
            self.own.observe()

    def state(self) -> State:
        return {name: np.array(array)[None] for name, array in self.own.state().items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.own.restore({name: array[0] for name, array in state.items()})


class Round:
    """One step's observation of all members by the observers that are due."""

    def __init__(self, stepper: MemberStepper, observers: Sequence[Observer], rows: StackedRows, last: int):
        self.stepper, self.observers, self.rows, self.last = stepper, observers, rows, last
        self._begun: list[State] = [_copied(one.state()) for one in observers]
        self.memories: list[list[State]] = [[state] * stepper.count for state in self._begun]
        """The state of each observer for each member, by observer and row."""
        for one, memory in zip(observers, self.memories, strict=True):
            for number in stepper.numbers if begins(one) else ():
                if number not in stepper.failures:
                    stepper.show(number)
                    one.begin_here()
                    memory[stepper.row[number]] = _copied(one.state())
        self._step, self._seen = -1, dict[int, list[dict[str, np.ndarray] | None]]()

    def observe(self, place: int) -> None:
        """Record the rows of one observer at the present step."""
        step = self.stepper.step
        if step != self._step or place not in self._seen:
            self._look(self._due(step) | {place})
            self._step = step
        self.rows.record(step, self.stepper.time, self._seen.pop(place))

    def forget(self) -> None:
        """Drop what was seen, because memories were restored."""
        self._step, self._seen = -1, {}

    def _due(self, step: int) -> set[int]:
        """The observers that the scheduler calls at this step."""
        over = step in (0, self.last) or self.stepper.outcome is not None
        return {k for k, one in enumerate(self.observers) if over or one.trigger.due(step)}

    def _look(self, due: set[int]) -> None:
        stepper, recorder = self.stepper, self.stepper.template.recorder
        self._seen = {place: [None] * stepper.count for place in sorted(due)}
        for row, number in enumerate(stepper.numbers):
            if number in stepper.failures:
                continue
            stepper.show(number)
            try:
                with stepper.inner.observed():
                    for place in self._seen:
                        one, memory = self.observers[place], self.memories[place]
                        if memory[row]:
                            one.restore(memory[row])
                        one.observe()
                        if memory[row]:
                            memory[row] = _copied(one.state())
                        self._seen[place][row] = recorder.taken_row()
            except OF_A_MEMBER as error:
                stepper.fail(number, stepper.inner.step, error)
                for seen in self._seen.values():
                    seen[row] = None
            finally:
                recorder.taken_row()


class MembersObserver(Observer):
    """One observer of the scene, over all members."""

    def __init__(self, of_round: Round, place: int):
        own = of_round.observers[place]
        self.stepper, self.recorder, self.trigger = of_round.stepper, of_round.rows.recorder, own.trigger
        self._round, self._place = of_round, place

    def observe(self) -> None:
        self._round.observe(self._place)

    def state(self) -> State:
        """The memories of all members, with a row for each."""
        memories = self._round.memories[self._place]
        return {name: np.stack([one[name] for one in memories]) for name in memories[0]}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        rows = range(self._round.stepper.count)
        memories = [{name: array[row] for name, array in state.items()} for row in rows]
        self._round.memories[self._place] = memories
        self._round.forget()


def begins(observer: Observer) -> bool:
    """True if its memory begins with the fields of a member."""
    return type(observer).begin_here is not Observer.begin_here


def _copied(state: Mapping[str, np.ndarray]) -> State:
    return {name: np.array(array) for name, array in state.items()}
