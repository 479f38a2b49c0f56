"""SearchLanes: the members of an ensemble search for their minima together, each in a lane of a vector.

Members begin as ordinary searches do; where nothing is held, all of them at once. Each stops by itself. Their
iterations have bits of their own, which depend on nothing but the member's own numbers.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine import storage
from ...engine.members.text_survey import NotWideError
from ...errors import CheckpointError, NonFiniteError
from ...steppers.members.minimiser_lanes import MinimiserLanes, suits
from ...steppers.minimisers.lbfgs import LBFGS
from ...steppers.minimisers.minimiser import Minimiser
from .differing import fields, parameters, supports
from .one_after_another import OneAfterAnother, State

if TYPE_CHECKING:
    from .members import Members


class SearchLanes(OneAfterAnother):
    """Moves searches of the members of an ensemble. Raises `NotWideError` for members that have no lanes."""

    watched = False

    def __init__(self, members: "Members"):
        inner = members.template.stepper
        if not isinstance(inner, Minimiser):
            raise NotWideError(f"{inner.name} has no lanes")
        if reason := suits(inner):
            raise NotWideError(reason)
        self.inner: LBFGS
        super().__init__(members)

    def _begin(self) -> None:
        """Evaluate all members; those that cannot begin are marked by the template."""
        moving = self.inner.moving
        x = [np.array(self.members.initial(field.name)) for field in moving]
        self.lanes = lanes = MinimiserLanes(self.inner, x, self._differing())
        if self.inner.holds.fields:
            for row, number in enumerate(self.numbers):
                state = self._begun(number)
                lanes.put(row, [state[f"fields/{field.name}"] for field in moving])
        finite, proven = lanes.begin(), False
        for row, number in enumerate(self.numbers):
            if number not in self.failures and not (finite[row] and proven):
                self._begun(number)
            if number in self.failures:
                continue
            if not finite[row]:
                self.fail(number, 0, NonFiniteError("step 0: U or its gradient is not finite"))
            elif not proven:
                proven = True
                lanes.verify(row)
        self._shown = None
        self.ends = {}
        self._mark(np.flatnonzero(finite))

    def _differing(self) -> Iterator[tuple[Any, np.ndarray]]:
        """The arrays of the template in which members differ, with the numbers of all."""
        members = self.members
        for name, array in zip(members.fields, fields(members), strict=True):
            yield array, members.initial(name)
        arrays = {id(array): array for array in [*parameters(members), *supports(members)]}.values()
        rows: list[list[np.ndarray]] = [[] for _ in arrays]
        for number in self.numbers if arrays else ():
            members.put(number)
            for one, array in zip(rows, arrays, strict=True):
                one.append(storage.host(array).copy())
        self._write(self._first)
        yield from zip(arrays, map(np.stack, rows), strict=True)

    def _mark(self, rows: np.ndarray) -> None:
        """Mark the members in these rows that have an outcome."""
        for row in rows[self.lanes.ended(rows)].tolist():
            outcome = self.lanes.outcome(row)
            assert outcome is not None
            self.end(self.numbers[row], int(self.lanes.step[row]), outcome)

    def advance(self, n: int) -> None:
        target, lanes = self.step + n, self.lanes
        rows = np.array([self.row[number] for number in self.running], np.int64)
        lanes.advance(rows, target)
        self._mark(rows)
        self.step = target if self.running else self._last()
        self._shown = None

    def own_state(self) -> State:
        found = {n: np.array(self.members.initial(n.removeprefix("fields/"))) for n in self._fields}
        same = {n: np.stack([self._first[n]] * self.count) for n in self._first if n.startswith("stepper/")}
        every = self.lanes.state(np.arange(self.count))
        return {n: a for n, a in (found | same | every).items() if n in self._first}

    def restore_own(self, state: Mapping[str, np.ndarray]) -> None:
        for name in self._first:
            if name not in state or len(state[name]) != self.count:
                raise CheckpointError(f"the checkpoint's '{name}' does not fit {self.count} members")
        self.lanes.restore({name: np.asarray(state[name]) for name in self._first})
        self._shown = None
        self.show((self.running or self.numbers)[0])

    @property
    def _fields(self) -> list[str]:
        return [name for name in self._first if name.startswith("fields/")]

    def _state(self, row: int) -> State:
        """The state of a member, as the template's."""
        found = {n: self.members.initial(n.removeprefix("fields/"))[row] for n in self._fields}
        every = self._first | found | self.lanes.state_of(row)
        return {name: every[name] for name in self._first}
