"""OneAfterAnother: each member in turn takes its steps in the template.

for each member:  put its parameters, restore its fields and its stepper's state, advance, keep them

Exact for every stepper, because a restored state continues bit for bit. Each member begins from the state of
the template at step 0, so that its bits depend on no other member.

Decisions 0390.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...engine import memory
from ...errors import CheckpointError, MiscompiledError, PluginFailedError, RunFailedError, UserError
from .member_stepper import MemberStepper

if TYPE_CHECKING:
    from .members import Members

OBJECT = 200
"""Bytes that an array takes besides its numbers, as one of a member's."""
State = dict[str, np.ndarray]
"""Fields and state of one member: `fields/NAME`, `stepper/NAME`."""


class OneAfterAnother(MemberStepper):
    """Moves the members of an ensemble one after another. Raises `UserError` where they need too much memory.

    A member whose values cannot begin is marked as failed at step 0.
    """

    watched = True

    def __init__(self, members: "Members"):
        super().__init__(members)
        self._first = self._present()
        self._shown: int | None = None
        self._unsaved = False
        self._refuse_too_many()
        self._begin()

    def _refuse_too_many(self) -> None:
        """Refuse members whose states do not fit into memory, twice: they are copied at a checkpoint."""
        each = 2 * sum(array.nbytes + OBJECT for array in self._first.values())
        most = memory.free().count // each
        cure = f"{most:,} fit; run fewer, or shards of them with `minusgrad sweep`"
        memory.require(each * self.count, f"{self.count:,} members", cure)

    def _begin(self) -> None:
        """Begin each member in the template, and keep its state."""
        self._states = [self._begun(number) for number in self.numbers]

    def advance(self, n: int) -> None:
        target = self.step + n
        for number in self.running:
            self.show(number)
            self._unsaved = True
            inner = self.inner
            try:
                inner.advance(target - inner.step)
            except (PluginFailedError, MiscompiledError):
                raise
            except RunFailedError as error:
                self.fail(number, inner.step, error)
            for facts in inner.events():
                self.note(number, facts)
            if number not in self.failures and inner.outcome is not None:
                self.end(number, inner.step, inner.outcome)
        self.step = target if self.running else self._last()

    def show(self, number: int) -> None:
        if self._shown != number:
            self._keep()
            self._put(number, self._state(self.row[number]))

    def own_state(self) -> State:
        self._keep()
        return stacked(self._states)

    def restore_own(self, state: Mapping[str, np.ndarray]) -> None:
        for row in range(self.count):
            for name in self._first:
                if name not in state or len(state[name]) != self.count:
                    raise CheckpointError(
                        f"the checkpoint's 'stepper/{name}' does not fit {self.count} members"
                    )
            self._states[row] = {name: np.array(state[name][row]) for name in self._first}
        self._shown, self._unsaved = None, False
        self.show((self.running or self.numbers)[0])

    def _state(self, row: int) -> State:
        """The state of the member in this row."""
        return self._states[row]

    def _last(self) -> int:
        """The most steps that a member took, of those that ended or failed."""
        ended = [end.step for end in self.ends.values()]
        return max([self.step, *ended, *(failure.step for failure in self.failures.values())])

    def _begun(self, number: int) -> State:
        """The state of a member at step 0."""
        template, stepper = self.template, self.inner
        self._write(self._first)
        self.members.put(number)
        template.fields.list_afresh()
        try:
            stepper.take_parameters(list(self.members.parameters))
            stepper.draw_as(self.seed(number))
            stepper.restore(under("stepper", self._first))
            stepper.begin()
            template.potential.refresh(stepper.time)
        except (RunFailedError, UserError) as error:
            failed = error if isinstance(error, RunFailedError) else RunFailedError(str(error))
            self.fail(number, 0, failed if not self.alone else error)  # type: ignore[arg-type]
            return {name: array.copy() for name, array in self._first.items()}
        if stepper.outcome is not None:
            self.end(number, stepper.step, stepper.outcome)
        self._shown = number
        return self._present()

    def _put(self, number: int, state: State) -> None:
        """Restore a member into the template."""
        self._shown, self._unsaved = None, False
        self.members.put(number)
        self._write(state)
        self.inner.take_parameters(list(self.members.parameters))
        self.inner.draw_as(self.seed(number))
        self.inner.restore(under("stepper", state))
        self.template.refresh()
        self._shown = number

    def _write(self, state: State) -> None:
        """Set the fields of the template."""
        for name, field in self.template.saved_fields.items():
            field.set(state[f"fields/{name}"])

    def _keep(self) -> None:
        """Keep the state of the member that has taken steps in the template."""
        if self._unsaved and self._shown is not None:
            self._states[self.row[self._shown]] = self._present()
        self._unsaved = False

    def _present(self) -> State:
        """The state of the template."""
        found = {f"stepper/{n}": np.array(a) for n, a in self.inner.state().items()}
        return {f"fields/{n}": f.values.copy() for n, f in self.template.saved_fields.items()} | found


def stacked(states: list[State]) -> State:
    """The states of members as arrays with a row for each. Raises `RunFailedError` for unequal shapes."""
    found = {}
    for name, first in states[0].items():
        parts = [state[name] for state in states]
        if odd := next((list(p.shape) for p in parts if p.shape != first.shape), None):
            raise RunFailedError(
                f"'{name}': must have one shape for all members, got {odd} and {list(first.shape)}"
            )
        found[name] = np.stack(parts)
    return found


def under(folder: str, state: State) -> State:
    """The arrays below a name."""
    return {n.removeprefix(f"{folder}/"): a for n, a in state.items() if n.startswith(f"{folder}/")}
