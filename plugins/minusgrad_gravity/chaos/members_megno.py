"""Indicators of chaos of all members of an ensemble at once, as `megno` has them of one run."""

from collections.abc import Mapping

import numpy as np

from minusgrad.plugin import MemberLanes, MemberVariation, Observer, StackedRows

from .megno import SUMS, Megno, grow_sums, indicators


class MembersMegno(Observer):
    """Records megno and lyapunov_time of members in lanes, (M,); of a member alone, its own.

    own: the template's observer. rows: where rows of all members go; None for a member alone. Members that
    failed have NaN. Raises `NotWideError` where the tangents of a step have no lanes.
    """

    def __init__(self, stepper: MemberLanes, own: Megno, rows: StackedRows | None):
        self.stepper, self.own, self.rows = stepper, own, rows
        self.recorder, self.trigger = rows.recorder if rows else own.recorder, own.trigger
        self._members = stepper
        self.variation = MemberVariation(stepper.lanes, own.variation)
        self.sums: dict[str, np.ndarray] = {n: np.full(stepper.count, value) for n, value in own.sums.items()}

    def observe(self) -> None:
        now, members = self.sums, self._members
        if (time := members.time) != now["last"][0]:
            members.to_present()
            kept = self.trigger.due(members.step)
            now = grow_sums(now, time, self.variation.stop() if kept else self.variation.growth())
            self.sums = now if kept else self.sums
        found = indicators(now, time)
        lost = [members.row[number] for number in members.failures]
        for values in found.values():
            values[lost] = np.nan
        if self.rows is None:
            alone = {n: values[0] for n, values in found.items()}
            self.recorder.record_observables(members.step, time, alone)
        else:
            self.rows.record_observables(members.step, time, found)

    def state(self) -> dict[str, np.ndarray]:
        """The sums, the tangents, and the states of the members where these are the tangents; a row each."""
        one = self.variation
        of_tangent = {f"tangent/{n}": w for n, w in one.tangent.items()}
        saved = {f"at/{n}": a for n, a in one.saved.items()}
        since = {"since": np.full(self._members.count, one.since)}
        return {n: value.copy() for n, value in self.sums.items()} | of_tangent | saved | since

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set what `state` returned."""
        self.sums = {n: np.array(state[n]) for n in SUMS}
        one = self.variation
        one.tangent = {n: np.array(state[f"tangent/{n}"]) for n in one.tangent}
        one.saved = {n: np.array(state[f"at/{n}"]) for n in one.saved}
        one.since = int(state["since"][0])
