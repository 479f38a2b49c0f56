"""A watch over the energy of each member, which marks those that have diverged; it records nothing."""

from collections.abc import Mapping

import numpy as np

from ...errors import DivergedError, NonFiniteError
from ...files.trajectory import Recorder
from ...steppers.stability.energy_balance import EnergyWatch
from ..observers import Observer
from .member_stepper import MemberStepper


class MembersWatch(Observer):
    """`EnergyWatch` over all members; its memory is the energy at the start, and the scale, of each (M,)."""

    def __init__(self, stepper: MemberStepper, steps: int):
        self.stepper, self.recorder = stepper, Recorder({}, ("1", 1.0))
        self._members = stepper
        self._watch = EnergyWatch(stepper.inner, steps, lambda text: None)
        self.trigger = self._watch.trigger
        self._start, self._scale = np.full((2, stepper.count), np.nan)

    def observe(self) -> None:
        members, watch = self._members, self._watch
        for number in members.running:
            row = members.row[number]
            members.show(number)
            try:
                if np.isnan(self._start[row]):
                    watch.begin()
                else:
                    watch.start, watch.scale = self._start[row], self._scale[row]
                    watch.refused()
            except (DivergedError, NonFiniteError) as error:
                members.fail(number, members.inner.step, error)
            self._start[row], self._scale[row] = watch.start, watch.scale

    def state(self) -> dict[str, np.ndarray]:
        return {"start": self._start.copy(), "scale": self._scale.copy()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self._start, self._scale = np.array(state["start"]), np.array(state["scale"])
