"""Indicators of chaos along a run: MEGNO, and the Lyapunov time, by the exact tangent of the steps.

With d_k the norm of a tangent at the k-th look, at the time t_k from the start, and D_k = t_k - t_(k-1),

    Y_k = (2 / t_k) sum_{j<=k} t_j log(d_j / d_(j-1)),    MEGNO = (1 / t_k) sum_{j<=k} D_j Y_j
    Lyapunov exponent l_k = log(d_k / d_0) / t_k,         Lyapunov time = 1 / l_k

MEGNO is the mean exponential growth of nearby orbits: it tends to 2 on regular orbits, where d grows in
proportion to t, and to l t / 2 on chaotic ones (Cincotta & Simo 2000, A&AS 147, 205; in this form, of a map:
Cincotta, Giordano & Simo 2003, Physica D 182, 151). A step is a map; its derivative carries the tangent.

Decisions 0388.
"""

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    EnergyError,
    MemberLanes,
    Observer,
    ObserverContext,
    Record,
    Recorder,
    StackedRows,
    Stepper,
    Variation,
)

SUMS = ("start", "last", "growth", "weighted", "mean")


class Megno(Observer):
    """Records megno, and lyapunov_time [the run's unit of time]: infinite while the tangent has not grown.

    The tangent has a fixed direction at the start, and its norm is that of positions and velocities in the
    run's units; both numbers have limits that depend on neither. Looks aside from the rhythm, as at the end
    of a run, change nothing that is remembered. Raises `EnergyError` for a stepper without tangents.
    """

    def __init__(self, stepper: Stepper, recorder: Recorder, every: int):
        super().__init__(stepper, recorder, every)
        if not stepper.motions:
            raise EnergyError(
                f"megno: is of motions in time, got the stepper '{stepper.name}'; leave the observer out"
            )
        self.variation = Variation(stepper, "megno")
        self.sums = dict.fromkeys(SUMS, 0.0) | {"start": stepper.time, "last": stepper.time}

    def of_members(self, members: MemberLanes, rows: StackedRows | None) -> Observer:
        """That of all members at once. Raises `NotWideError` where tangents of a step have no lanes."""
        from .members_megno import MembersMegno

        return MembersMegno(members, self, rows)

    def begin_here(self) -> None:
        self.variation.begin()
        self.sums = dict.fromkeys(SUMS, 0.0) | {"start": self.stepper.time, "last": self.stepper.time}

    def observe(self) -> None:
        now = self.sums
        if (time := self.stepper.time) != now["last"]:
            kept = self.trigger.due(self.stepper.step)
            now = grow_sums(now, time, self.variation.stop() if kept else self.variation.growth())
            self.sums = now if kept else self.sums
        found = indicators({n: np.array([value]) for n, value in now.items()}, time)
        recorded = {n: value[0] for n, value in found.items()}
        self.recorder.record_observables(self.stepper.step, time, recorded)

    def state(self) -> dict[str, np.ndarray]:
        """The sums, the tangent, and the state of the run where it is the tangent."""
        of_tangent = {f"tangent/{n}": w for n, w in self.variation.tangent.items()}
        saved = {f"at/{n}": a for n, a in self.variation.saved.items()}
        return {n: np.array(value) for n, value in self.sums.items()} | of_tangent | saved

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set what `state` returned."""
        self.sums = {n: float(state[n]) for n in SUMS}
        one = self.variation
        one.tangent = {n: state[f"tangent/{n}"].copy() for n in one.tangent}
        one.saved = {n: state[f"at/{n}"].copy() for n in one.saved}


class MegnoBlock(Record):
    """MEGNO and the Lyapunov time, by a tangent of the run: whether nearby orbits part exponentially."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""

    def make(self, context: ObserverContext) -> Observer:
        context.recorder.unit("megno", "1", 1.0)
        context.recorder.unit("lyapunov_time", context.units.symbol("s"), context.units.in_si("s"))
        return Megno(context.stepper, context.recorder, self.every)


def grow_sums(sums: Mapping[str, Any], time: float, growth: Any) -> dict[str, Any]:
    """The sums at a time, by the growth of the tangent since the last look: of one run, or of many (M,)."""
    t = time - sums["start"]
    weighted = sums["weighted"] + t * growth
    mean = sums["mean"] + (time - sums["last"]) * 2.0 * weighted / t
    last = time + 0.0 * sums["last"]
    return {**sums, "last": last, "growth": sums["growth"] + growth, "weighted": weighted, "mean": mean}


def indicators(sums: Mapping[str, np.ndarray], time: float) -> dict[str, np.ndarray]:
    """MEGNO and the Lyapunov time (M,) at a time, from sums (M,)."""
    t, growing = time - sums["start"], sums["growth"] > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "megno": np.where(t > 0.0, sums["mean"] / t, 0.0),
            "lyapunov_time": np.where(growing, t / sums["growth"], inf),
        }
