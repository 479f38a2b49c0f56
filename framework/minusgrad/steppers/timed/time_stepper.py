"""Steppers in time: the clock of integrators and programs.

Time is t0 + (step - since) dt, never a running sum; `since` is 0 unless dt was changed between two steps, or
steps are counted from a later one (`count_from_here`).

Decisions 0040, 0041, 0365.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import CheckpointError, EnergyError
from ..stepper import Stepper


class Clock(NamedTuple):
    """The clock of a stepper: time t0 + (step - since) dt; made_with: the dt that it was made with."""

    t0: float
    step: int
    since: int
    dt: float
    made_with: float

    def counted_from_here(self) -> "Clock":
        """The clock whose step 0 is the present step; its times have the same bits."""
        return self._replace(step=0, since=self.since - self.step)


class TimeStepper(Stepper):
    """Moves fields in time, by steps of `dt`.

    step: the number of steps taken. t0: the time at step `since`, at which dt was set last.
    """

    optional = frozenset({"since"})
    forward = False
    """True if its steps cannot be taken back in time, as those of a heat bath: dt is then above 0."""
    t0: float
    since: int

    def _start_clock(self, dt: float, t0: float) -> None:
        """Begin at step 0. Raises like `_checked`."""
        self.t0, self.step, self.since = t0, 0, 0
        self._dt = self._made_with = self._checked(dt, t0)

    def begin_at(self, time: float) -> None:
        """Begin at step 0 and this time with the present fields. Raises `EnergyError` for a dt too small."""
        self._start_clock(self._dt, time)
        self._clock_changed()
        self.begin()

    @property
    def dt_sizes(self) -> tuple[float, float]:
        """The least and the largest size of a time step."""
        return 1e-100, 1e100

    def _checked(self, dt: float, now: float) -> float:
        """A time step that serves at the time `now`. Raises `EnergyError` for another one."""
        if now + self._sized(dt) == now:
            raise EnergyError(
                f"dt: is lost in the rounding of the time {now:.10g}, got {dt:g}; give a larger dt"
            )
        return float(dt)

    def _sized(self, dt: float) -> float:
        """A time step of a size and a sign that serve. Raises `EnergyError` for another one."""
        dt, (least, most) = float(dt), self.dt_sizes
        given = "less" if _is_subnormal(dt) else f"{dt:g}"
        if not least <= abs(dt) <= most:
            raise EnergyError(
                f"dt: must be between {least:.3g} and {most:.3g} in size, got {given}; choose another"
                " dt, or another unit of time"
            )
        if self.forward and dt < 0.0:
            raise EnergyError(
                f"dt: must be above 0, got {dt:g}: '{self.name}' goes forward in time alone; give a"
                " positive one"
            )
        return dt

    def _clock_changed(self) -> None:
        """Pass dt and `since` on, after one of them has changed."""

    @property
    def works(self) -> bool:
        """True if the potential depends on time, supports move, or constraints are driven."""
        driven = self.constraints is not None and self.constraints.uses_time
        return self.potential.uses_time or self.holds.moving or driven

    @property
    def inputs(self) -> Any:
        return (*super().inputs, *((self.time,) if self.works else ())) if self.watches else None

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
    def clock(self) -> Clock:
        """The present clock; one of a stepper of the same fields may be set."""
        return Clock(self.t0, self.step, self.since, self._dt, self._made_with)

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self.t0, self.step, self.since, self._dt, self._made_with = clock
        self._clock_changed()

    def count_from_here(self) -> None:
        """Let the present step be step 0, at the present time; the times of later steps keep their bits."""
        self.clock = self.clock.counted_from_here()

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
        try:
            self._sized(self._dt)
        except EnergyError as error:
            raise CheckpointError(f"the checkpoint's 'stepper/dt' does not serve: {error}") from None
        self._clock_changed()
        if "since" not in state:
            self.dt = self._made_with


def _is_subnormal(number: float) -> bool:
    """By its bits: once an engine runs, the processor takes such numbers for zero."""
    bits, least = np.array([abs(number), np.finfo(np.float64).smallest_normal]).view(np.int64)
    return bool(0 < bits < least)
