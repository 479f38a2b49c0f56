"""Integrators of motions: the code common to explicit and implicit ones, and returns to earlier states."""

from collections.abc import Callable, Iterable
from typing import Any

from ...energies.fields import Field
from ...engine import storage
from ...errors import NonFiniteError, RunFailedError, UnsolvedStepError
from .inertias import inertia
from .time_stepper import TimeStepper

Memory = tuple[dict[str, Any], list[Any]]
"""A state of a stepper, and the values of its fields."""


class MotionStepper(TimeStepper):
    """Moves fields with velocities and inertia in time (`Stepper.motions`)."""

    watches = True

    @property
    def works(self) -> bool:
        """True if the potential depends on time, supports move, or constraints are driven."""
        return self.system.is_driven

    @property
    def moving(self) -> list[Field]:
        """Positions and velocities."""
        return [self.potential.fields[n] for m in self.motions for n in (m.position, m.velocity)]

    def refuse_unfit(self) -> None:
        for motion in self.motions:
            inertia(motion, self.potential)

    def memory(self) -> Memory:
        """A copy of the state and the fields, for `recall`; on the device where they are on one."""
        return self._kept(), [storage.duplicate(field.array) for field in self._remembered]

    def _kept(self) -> dict[str, Any]:
        """`_state`, for `restore` in this process: its arrays may stay on a device."""
        return self._state()

    def recall(self, memory: Memory) -> None:
        """Be in an earlier state once more."""
        for field, values in zip(self._remembered, memory[1], strict=True):
            storage.store(field.array, values)
        self.restore(memory[0])

    def in_parts(
        self,
        divisions: Iterable[int],
        take: Callable[[int], None],
        unsolved: Callable[[int, RunFailedError], UnsolvedStepError],
    ) -> int:
        """Take a step in as few parts as are solved, of the numbers to try; returns that number.

        take: the step, in so many parts. unsolved: the error for a number of parts and its cause. Raises that
        of the last number, in the state before the step.
        """
        before, failed = self.memory(), None
        for parts in divisions:
            try:
                take(parts)
            except (NonFiniteError, UnsolvedStepError) as error:
                self.recall(before)
                failed = unsolved(parts, error)
                continue
            return parts
        assert failed
        raise failed

    @property
    def _remembered(self) -> list[Field]:
        """The fields that move, and the positions for which lists of neighbours were built."""
        return [*self.moving, *self.potential.fields.of_lists.values()]

    def _state(self) -> dict[str, Any]:
        """`state`, with the forces as they are."""
        raise NotImplementedError
