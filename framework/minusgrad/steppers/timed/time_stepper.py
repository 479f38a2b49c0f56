"""Steppers in time: the clock of integrators and programs.

Time is t0 + (step - since) dt, never a running sum; `since` is 0 unless dt was changed between two steps.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..stepper import Stepper


class TimeStepper(Stepper):
    """Moves fields in time, by steps of `dt`.

    step: the number of steps taken. t0: the time at step `since`, at which dt was set last.
    """

    optional = frozenset({"since"})
    t0: float
    since: int

    def _start_clock(self, dt: float, t0: float) -> None:
        """Begin at step 0. Raises like `_checked`."""
        self.t0, self.step, self.since = t0, 0, 0
        self._start, self._dt = t0, self._checked(dt, t0)
        self._made_with = self._dt

    def begin_at(self, time: float) -> None:
        """Begin at step 0 and this time with the present fields. Raises `EnergyError` for a dt too small."""
        self._start_clock(self._dt, time)
        self._clock_changed()
        self.begin()

    def _checked(self, dt: float, now: float) -> float:
        """A time step that serves at the time `now`. Raises `EnergyError` for another one."""
        raise NotImplementedError

    def _clock_changed(self) -> None:
        """Pass dt and `since` on, after one of them has changed."""

    @property
    def time(self) -> float:
        return float(self.times(self.step))

    def times(self, steps: Any) -> Any:
        """The times at the start of steps, given by their numbers."""
        return self.t0 + (steps - self.since) * self._dt

    @property
    def dt(self) -> float:
        """The time step. Setting it starts the clock again at the present step and time.

        Raises `EnergyError` for one that does not serve.
        """
        return self._dt

    @dt.setter
    def dt(self, dt: float) -> None:
        if (dt := self._checked(dt, self.time)) != self._dt:
            self.t0, self.since, self._dt = self.time, self.step, dt
            self._clock_changed()

    @property
    def _origin(self) -> float:
        """The time at step 0."""
        return self._start if self.since else self.t0

    def rewind(self) -> None:
        """Set the clock to step 0, at the time where the stepper began."""
        self.t0, self.step, self.since = self._origin, 0, 0
        self._clock_changed()

    def _clock(self) -> dict[str, np.ndarray]:
        """The arrays of the clock; it has `since` only where dt was set after the stepper was made."""
        clock = {"step": np.array(self.step), "t0": np.array(self.t0), "dt": np.array(self._dt)}
        if self.since or self._dt != self._made_with:
            clock["since"] = np.array(self.since)
        return clock

    def restore_clock(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the clock; one made with another dt keeps its own, from that time.

        Where dt was set after the saved stepper was made, it is restored.
        """
        self.step, self.since = int(state["step"]), int(state.get("since", 0))
        self.t0, self._dt = float(state["t0"]), float(state["dt"])
        self._clock_changed()
        if "since" not in state:
            self.dt = self._made_with
