"""Numbers that a run gets from its page, written into the journal before the step that uses them.

    between two batches, after a save by the clock, at step s:
        the changes that the journal has for step s, in their order       (a resumed or a repeated run)
        else, if none is ahead, what the page has left: judge, journal (step, name, value), write

    {"event": "inputs", "inputs": [{"name": "goal", "parameter": ..., "range": ..., "unit": ..., ...}]}
    {"event": "input", "step": 1200, "name": "goal", "parameter": "goal_offset.goal.0", "value": 0.3}
    {"event": "repeated", "run": "runs/old", "changes": [...]}            of a repeated run, at its start

A value is a double, which JSON has exactly. Checkpoints of step s have the values before the changes of step
s, so a run that goes on from one finds in its journal all that came later.

Decisions 0144.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ...assembly.building.view_inputs import ViewInputs
from ...errors import RunFolderError, UserError
from ...files.held import inbox
from ...files.held.inbox import CHANGED, INPUTS, REFUSED, REPEATED
from ...files.run_folder import RunDir


class Change(NamedTuple):
    """One number that was given to a run: from which step on, the input, its address, the value."""

    step: int
    name: str
    parameter: str
    value: float


def recorded_changes(folder: RunDir) -> list[Change]:
    """The changes in the journal of a run, by step. Raises `RunFolderError` for one that is damaged."""
    found: list[Change] = []
    for event in folder.events():
        if event.get("event") == REPEATED:
            listed = event.get("changes")
            found += [_change_of(folder, one) for one in (listed if isinstance(listed, list) else [None])]
        elif event.get("event") == CHANGED:
            found.append(_change_of(folder, event))
    if any(late.step < early.step for early, late in pairwise(found)):
        raise _damage(folder, "its steps go back")
    return found


def _change_of(folder: RunDir, facts: Any) -> Change:
    table = facts if isinstance(facts, Mapping) else {}
    step, name, parameter, value = (table.get(key, "") for key in Change._fields)
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (step, value))
    if not (numbers and isinstance(step, int) and step >= 0 and isinstance(name, str)):
        raise _damage(folder, "it has no step, name and value")
    if not (isinstance(parameter, str) and abs(value) <= sys.float_info.max):
        raise _damage(folder, "it has no parameter, or no finite value")
    return Change(step, name, parameter, float(value))


def _damage(folder: RunDir, what: str) -> RunFolderError:
    return RunFolderError(
        f"{folder.path}/journal.jsonl: a number that the run was given is damaged: {what}; restore the"
        " original file"
    )


def refuse_others(inputs: ViewInputs, changes: Iterable[Change], run: Path) -> None:
    """Raise `UserError` for changes of a run that these inputs could not have had."""
    for change in changes:
        one = inputs.named(change.name)
        if one.address != change.parameter:
            raise UserError(
                f"{run}: its '{one.name}' was {change.parameter}, got {one.address}; name the same parameter"
            )
        one.judged(change.value)


class Steering:
    """The changes of the numbers of a running job; `apply` is called between batches, `pause_after` before.

    said: called with a remark about a number that was refused.
    """

    def __init__(self, inputs: ViewInputs, stepper: Any, folder: RunDir, said: Callable[[str], None]):
        self._inputs, self._stepper, self._folder, self._said = inputs, stepper, folder, said
        changes = recorded_changes(folder) if inputs else []
        refuse_others(inputs, changes, folder.path)
        self._ahead = deque(one for one in changes if one.step >= stepper.step)
        if inputs:
            folder.journal(INPUTS, step=stepper.step, inputs=[*map(_facts_of, inputs)])

    def pause_after(self, step: int) -> int | None:
        """The first step after this one at which a recorded change is due."""
        return next((one.step for one in self._ahead if one.step > step), None)

    def apply(self) -> None:
        """Write what is due at the present step: what is recorded, or else what a page has left."""
        if not self._inputs:
            return
        step = self._stepper.step
        while self._ahead and self._ahead[0].step <= step:
            change = self._ahead.popleft()
            self._write(change.name, change.value)
        if not self._ahead:
            self._take_numbers(step)

    def _write(self, name: str, value: float) -> None:
        if self._inputs.differs(name, value):
            self._inputs.write_value(name, value)

    def _take_numbers(self, step: int) -> None:
        """Judge and write the numbers of a page; one that is refused is named, and the run goes on."""
        for name, given in self._left_numbers().items():
            try:
                one = self._inputs.named(name)
                value = one.judged(given)
            except UserError as error:
                self._refuse(error)
                continue
            if self._inputs.differs(name, value):
                self._folder.journal(CHANGED, step=step, name=name, parameter=one.address, value=value)
                self._inputs.write_value(name, value)

    def _left_numbers(self) -> Mapping[str, Any]:
        try:
            return inbox.take(self._folder.path)
        except UserError as error:
            self._refuse(error)
            return {}

    def _refuse(self, error: UserError) -> None:
        self._folder.journal(REFUSED, step=self._stepper.step, error=str(error))
        self._said(f"step {self._stepper.step}: {error}")


def _facts_of(one: Any) -> dict[str, Any]:
    """An input, for the page of the run."""
    ends = [one.lowest, one.highest]
    return {"name": one.name, "parameter": one.address, "range": ends, "unit": one.unit, "value": one.value}


def journal_repeated(folder: RunDir, run: Path, changes: Sequence[Change]) -> None:
    """Put the changes of another run into the journal, before the first step."""
    folder.journal(REPEATED, run=str(run), changes=[one._asdict() for one in changes])
