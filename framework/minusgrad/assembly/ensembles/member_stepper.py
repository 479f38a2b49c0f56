"""MemberStepper: the interface of steppers that move all members of an ensemble.

A member is named by its number in the ensemble; `points.members` are those that run: all of them, or one
alone. Arrays over members have a row for each of them, in this order.

A member that fails keeps the state before the failed step, and takes no more steps; the others go on. A
member alone fails as an ordinary run does.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.fields import Motion
from ...errors import RunFailedError
from ...steppers.stepper import Stepper
from .marks import End, Failure, read_marks

if TYPE_CHECKING:
    from .members import Members

FAILED, MIXED = "failed", "mixed"
"""The outcomes of an ensemble: every member failed; the members that ended did so in several ways."""


class MemberStepper(Stepper):
    """Moves the members of an ensemble; `template` is the simulation in which one of them can be shown.

    step: the steps taken, by members that stopped or failed fewer. `failures` and `ends` are by number.
    """

    patience = 8.0
    watched = False
    """True if the energy of each member is watched; it is evaluated as often as in an ordinary run."""
    why: str = ""
    """The reason why the members are moved in this way, for the journal."""

    def __init__(self, members: "Members"):
        self.members, self.template = members, members.template
        self.numbers: tuple[int, ...] = tuple(map(int, members.points.members))
        self.row = {number: row for row, number in enumerate(self.numbers)}
        self.alone = members.points.table.member is not None
        self.inner = self.template.stepper
        self.kind, self.step = self.inner.kind, 0
        self.failures: dict[int, Failure] = {}
        self.ends: dict[int, End] = {}
        self._news: list[dict[str, Any]] = []

    @property
    def motions(self) -> tuple[Motion, ...]:
        return self.inner.motions

    # For the job of an ensemble

    def advance(self, n: int) -> None:
        """Move all running members by n steps, or until they end; then `step` is the most that one took.

        An error of the run's own is raised by a member alone; else its member is marked (`fail`).
        """
        raise NotImplementedError

    def show(self, number: int) -> None:
        """Put the fields, parameters and stepper state of a member into the template.

        The template is for observers, which do not write.
        """
        raise NotImplementedError

    def own_state(self) -> dict[str, np.ndarray]:
        """All that the next steps of the members depend on, as arrays with a row for each."""
        raise NotImplementedError

    def restore_own(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the values of `own_state`. Raises `CheckpointError` where they do not fit."""
        raise NotImplementedError

    # Common

    @property
    def count(self) -> int:
        """The number of members that run."""
        return len(self.numbers)

    def seed(self, number: int) -> int:
        """The seed of a member's random numbers."""
        return self.members.seed(number)

    @property
    def running(self) -> list[int]:
        """The members that take steps."""
        return [n for n in self.numbers if n not in self.failures and n not in self.ends]

    def fail(self, number: int, step: int, error: RunFailedError) -> None:
        """Mark a member as failed after so many steps. A member alone raises the error."""
        if self.alone:
            raise error
        self.failures[number] = Failure(step, str(error))
        self.note(number, {"event": "member failed", "step": step, "error": str(error)})

    def note(self, number: int, facts: Mapping[str, Any]) -> None:
        """Keep an entry for the journal about one member."""
        self._news.append({**facts, "member": number})

    def events(self) -> list[dict[str, Any]]:
        """Failures, and the events of the members' steppers, since the last call."""
        news, self._news = self._news, []
        return news

    def end(self, number: int, step: int, outcome: str) -> None:
        """Mark a member as ended by itself."""
        self.ends[number] = End(step, outcome)

    def state(self) -> dict[str, np.ndarray]:
        """`own_state`, the clock, and the marks of members that failed or ended."""
        marks = [
            [n, *asdict(mark).values()] for kept in (self.failures, self.ends) for n, mark in kept.items()
        ]
        text = json.dumps([len(self.failures), marks]).encode()
        clock = {"members/step": np.array(self.step), "members/marks": np.frombuffer(text, np.uint8).copy()}
        return self.own_state() | clock

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the values of `state`. Raises `CheckpointError` where they do not fit."""
        self.step = int(state["members/step"])
        self.failures, self.ends = read_marks(state)
        self.restore_own(state)

    @property
    def dt(self) -> float:
        """The time step of the members."""
        return self.inner.dt

    @dt.setter
    def dt(self, dt: float) -> None:
        self.inner.dt = dt

    @property
    def time(self) -> float:
        """The time of the members that take all steps."""
        times: Any = getattr(self.inner, "times", None)
        return self.inner.time if times is None else float(times(self.step))

    def place(self) -> None:
        """Nothing: `show` places what is held."""

    def evaluate(self) -> None:
        """Nothing: `show` restores the forces of a member."""

    @property
    def outcome(self) -> str | None:
        """None while a member takes steps; then that of all, "mixed" or "failed"."""
        if self.running:
            return None
        found = {end.outcome for end in self.ends.values()}
        return FAILED if not found else found.pop() if len(found) == 1 else MIXED

    @property
    def verdict(self) -> str:
        """The outcomes of the members in a sentence; of a member alone, its own."""
        if self.alone:
            return self.inner.verdict
        counts = Counter(end.outcome for end in self.ends.values())
        if self.failures:
            counts[FAILED] = len(self.failures)
        if left := len(self.running) if counts else 0:
            counts["finished"] = left
        parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        return f"{self.count} members: {parts}" if parts else ""

    @property
    def failed(self) -> bool:
        """True if a member failed, or is not at its tolerances where it ended."""
        if self.failures or any(end.outcome == "stuck" for end in self.ends.values()):
            return True
        for number in self.running[:1] if not self.motions else ():
            self.show(number)
            return self.inner.failed
        return False

    @property
    def residual(self) -> float | None:
        """That of the member that is shown; None for members that move in time."""
        return self.inner.residual

    @property
    def solver_used(self) -> str:
        return self.inner.solver_used
