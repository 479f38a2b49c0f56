"""Arc length: equilibria followed through limit points, where a load that grows would jump.

    r(w, s) = 0,   |(w, s) - (w, s)_k| = length       the next state lies a length ahead, not a load above

Each step is an equilibrium. It begins at the end of the tangent, and is corrected on the plane across it
(`path_points`). A step fails where the corrections do, and where the end is far from the tangent or the path
turned by more than an angle, which keeps it on its path and going forward; it is then halved, and grows again
after steps that succeed. Critical points between two states are located and said (`critical_points`); at a
bifurcation that was asked for, the next step goes along the null vector (Keller 1977).

Decisions 0163.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...holds import Holds
from ...stepper import refuse_unlike
from ...systems.parts import (
    BAROSTAT,
    BATH,
    CONSTRAINTS,
    FAR,
    FRICTION,
    LAGRANGIAN,
    MAGNETIC,
    MOVING,
    PERIODIC,
    SUPPORTS,
    TIME,
    Consumer,
)
from ..newton import Newton
from .critical_points import BIFURCATION, LIMIT, CriticalState, critical_points
from .followed_load import FollowedLoad
from .limit_slopes import change_along, limit_slopes
from .path_equations import PathEquations, PathPoint
from .path_points import PathCorrector, PathMetric, PathPlane, PathState
from .path_remarks import described_point, named_point
from .path_start import at_load, refuse_unfit, unloaded_state

ASIDE, TURNED = 0.5, math.cos(math.radians(30.0))
"""How far the end of a step may be from that of the tangent, by its length, and the turn of the tangent."""
KINKED = 0.0
"""The cosine of the turn that the smallest step may have, as where bodies come into contact."""
QUICK = 4
"""A step grows again where so many corrections are enough."""
UNLOADED = 5
"""The corrections of the state without load are so many times those of a step at most."""
SHORTER = 0.93
"""The part of a step that is tried where its end is a critical point to rounding."""
KEPT = 32
"""The critical points that are saved."""
UNKNOWN = -1
"""The number of negative eigenvalues where it is not known."""


class ArcLength(FollowedLoad):
    """Steps of a `length` along the path of equilibria, from no load until it reaches `most`.

    length: in units of the load, which it grows by in a first step. most: the load, of either sign, at which
    the path ends; parts of the full load. longest: a step grows up to so many times `length`; halvings: and
    shrinks to this power of a half. direction: 1, or -1 where the load falls at first. branch: the number of
    the bifurcation at which the path leaves along the mode, negative for the other side; 0 for none. slopes:
    names of parameters, by which limit loads are differentiated. Raises `EnergyError` for what has no path.
    """

    consumer = Consumer(
        "arc_length",
        {SUPPORTS, CONSTRAINTS, PERIODIC, FAR},
        cure="leave it out",
        cures={
            FRICTION: "a path of equilibria has no velocities; leave it out",
            MAGNETIC: "a path of equilibria has no velocities; leave it out",
            MOVING: "give a displacement without a duration, which grows with the load",
            TIME: "make what depends on the time a parameter, and name it in `loads`",
            LAGRANGIAN: 'use kind = "variational"',
            BATH: "a path of equilibria has no temperature; leave it out",
            BAROSTAT: "leave it out",
        },
    )

    def __init__(
        self,
        search: Newton,
        holds: Holds,
        length: float,
        loads: Sequence[str] = (),
        *,
        most: float = 1.0,
        longest: float = 1.0,
        halvings: int = 10,
        iterations: int = 12,
        direction: int = 1,
        branch: int = 0,
        slopes: Sequence[str] = (),
    ):
        super().__init__(search, holds, loads)
        refuse_unfit(search, self.constraints)
        self.most, self.longest, self.smallest = most, longest * length, length * 0.5**halvings
        self.direction, self.branch, self._asked = direction, branch, tuple(slopes)
        self.equations = PathEquations(search, self._apply, self._ways)
        self.points: list[CriticalState] = []
        """The critical points that this run has passed."""
        self.slopes: list[dict[str, np.ndarray]] = []
        """d(load)/d(name) at each of `points`; empty for bifurcations."""
        self._given_length, self._iterations, self._events = length, iterations, list[dict[str, Any]]()
        self._load = 0.0
        self._forget()
        self._apply(0.0)
        search.evaluate()
        self._begin_path()

    # The stepper's interface

    @property
    def load(self) -> float:
        """s: the present part of the full load, which may fall and be negative."""
        return self._load

    @property
    def time(self) -> float:
        """The arc length from the start: nothing here depends on a time."""
        return self.arc

    @property
    def multipliers(self) -> np.ndarray | None:
        """mu (E,) of the constraints at the present state; None without constraints."""
        return None if self.constraints is None else self._multipliers

    @property
    def stable(self) -> bool | None:
        """True if U has a minimum along the constraints; None where this is not known."""
        return None if self.negative == UNKNOWN else self.negative == 0

    @property
    def solver_used(self) -> str:
        size = self.equations.size
        return f"factors of {size:,} unknown{'s' * (size > 1)}, bordered by the load"

    def begin(self) -> None:
        self.step, self._load = 0, 0.0
        self.points, self.slopes = [], []
        self._forget()
        super().begin()
        self._begin_path()
        self.mark()

    def evaluate(self) -> None:
        """Where fields or parameters were written: the state in balance at the present load, if there is one.

        The path goes on from it; U and its gradient are computed there.
        """
        self.place()
        base, plane = self._here()
        found = self.corrector.found(base, at_load(base), self._load, plane)
        if found is not None and found.point is not base:
            self._settle(found)
        else:  # nothing that matters was written: the same bits go on
            self.equations.place(base)
        self.search.evaluate()
        self.mark()

    def advance(self, n: int) -> None:
        """At most n steps along the path; fewer if there is an outcome."""
        self.update()
        for _ in range(n):
            if self.outcome is not None:
                return
            self._take_step()
            self.search.evaluate()
            self.mark()

    def _state(self) -> dict[str, np.ndarray]:
        own = {f"path/{name}": np.array(getattr(self, name)) for name in OWN}
        return super()._state() | own

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values of `state`. Raises `CheckpointError` if any is missing or does not fit."""
        refuse_unlike(state, self._state())
        for name in OWN:
            value = state[f"path/{name}"]
            setattr(self, name, value.copy() if value.ndim else value.item())
        self._use_metric()
        self._apply(self._load)
        self.search.restore(dict(state) | {"step": np.array(self.search.step), "t": np.array(self.search.t)})
        self._events = []
        self.mark()

    @property
    def outcome(self) -> str | None:
        """ "converged" at the most load, "stuck" where the smallest step fails; else None."""
        if self.exhausted:
            return "stuck"
        return "converged" if self.ended else None

    @property
    def verdict(self) -> str:
        """The load that was reached, critical points on the way; if the search is stuck, why, with a cure."""
        level = f"load {self._load:.6g} of 1 at arc length {self.arc:.6g} (step {self.step})"
        if self.exhausted:
            why = f": {self.trouble}" if self.trouble else ""
            return (
                f"stuck: no equilibrium was found beyond {level}, by steps down to {self.smallest:.3g}{why};"
                " the state is the last equilibrium; raise `halvings` or `iterations`, or give a smaller"
                " `arc_length`"
            )
        found = [named_point(kind, load) for kind, load in self.passed]
        return f"{self.outcome or 'followed'}: {level}" + "".join(f"; {text}" for text in found)

    @property
    def passed(self) -> list[tuple[str, float]]:
        """The kinds and loads of the critical points so far."""
        rows = self.critical[: int(self.count)]
        return [(LIMIT if kind == 0.0 else BIFURCATION, float(load)) for load, kind in rows]

    @property
    def failed(self) -> bool:
        """True if the search is stuck; a path may end anywhere."""
        return self.exhausted

    def events(self) -> list[dict[str, Any]]:
        """Remarks of the search, and on critical points."""
        found, self._events = [*self.search.events(), *self._events], []
        return found

    # The start

    def _forget(self) -> None:
        self.arc, self.length, self.exhausted, self.ended = 0.0, self._given_length, False, False
        self.count, self.fresh, self.trouble = 0, False, ""
        self.critical = np.zeros((KEPT, 2))

    def _begin_path(self) -> None:
        """The equilibrium without load, and the tangent there."""
        state, self.scale = unloaded_state(
            self.search, self.equations, UNLOADED * self._iterations, self._ways()
        )
        self._use_metric()
        length = self.direction * self.metric.length(state.way, state.rate)
        way, rate = state.way / length, state.rate / length
        self._settle(PathState(state.point, way, rate, state.negative, state.linearised))
        for name in self._asked:  # refuses what has no derivative
            change_along(self.equations, state.point, 0.0 * way, name)

    def _use_metric(self) -> None:
        self.metric = PathMetric(self.scale, self.equations.size)
        self.corrector = PathCorrector(self.equations, self.metric, self._iterations)

    def _ways(self) -> dict[str, np.ndarray]:
        """What changes with the load, by name: d/ds at the present one."""
        held = {n: way for n, way in self.holds.rates_of_part().items() if way.any()}
        return held | dict(self._full)

    # A step

    def _settle(self, state: PathState) -> None:
        """The present state of the path; the fields are set to it."""
        self.equations.place(state.point)
        self._load = state.point.load
        self.way, self.rate = state.way, state.rate
        self._multipliers = state.point.unknowns[self.equations.size :].copy()
        self.negative = UNKNOWN if state.negative is None else state.negative

    def _here(self) -> tuple[PathPoint, PathPlane]:
        """The present point, of the fields, and the plane across its tangent."""
        point = self.equations.read(self._multipliers, self._load)
        return point, self.metric.plane(point, self.way, self.rate)

    def _take_step(self) -> None:
        base, plane = self._here()
        length = self.length
        while True:
            ahead = PathPoint(base.unknowns + length * self.way, base.load + length * self.rate)
            found = self.corrector.found(ahead, plane, length)
            if found is not None and self._is_on_path(found, ahead):
                if found.negative is not None or length < SHORTER**3 * self.length:
                    break
                length *= SHORTER  # it met a critical point: a state before it tells the sides apart
                continue
            if self.length <= self.smallest:
                self.equations.place(base)
                self.exhausted = True
                return
            self.length = length = max(0.5 * self.length, self.smallest)
        quick = self.corrector.taken <= QUICK
        if self._passes(found) and self._leaves(self._state_at(base), found, plane):
            return
        if abs(found.point.load) >= self.most:
            found, length = self._at_most_load(base, found, plane, length)
            self.ended = True
        self.step += 1
        self.arc += length
        self.fresh = False
        self._settle(found)
        if quick:
            self.length = min(2.0 * self.length, self.longest)

    def _is_on_path(self, found: PathState, ahead: PathPoint) -> bool:
        """True if a state is near the end of the tangent, and the path goes on in about its direction."""
        off = self.metric.length(found.point.unknowns - ahead.unknowns, found.point.load - ahead.load)
        plane = self.metric.plane(found.point, self.way, self.rate)
        size = self.equations.size
        turn = float(plane.across[:size] @ found.way[:size]) + plane.load * found.rate
        if self.fresh or self.length <= self.smallest:
            near = off <= self.length and turn > KINKED
        else:
            near = off <= ASIDE * self.length and turn >= TURNED
        if not near:
            self.trouble = "what was found is far from the tangent of the path"
        return near

    def _state_at(self, base: PathPoint) -> PathState:
        """The present state, with the numbers that were saved of it."""
        return PathState(base, self.way, self.rate, self.negative, self.equations.linearised(base))

    def _passes(self, after: PathState) -> bool:
        """True if a critical point is between the present state and another one."""
        if self.fresh or self.negative == UNKNOWN or after.negative is None:
            return False
        return self.negative != after.negative or (self.rate < 0.0) != (after.rate < 0.0)

    def _leaves(self, before: PathState, after: PathState, plane: PathPlane) -> bool:
        """Note the critical points of a step; True if the path leaves at one, where the state then is."""
        for point in critical_points(self.corrector, plane, before, after):
            if abs(point.load) > self.most:
                continue
            self._note(point)
            number = sum(kind == BIFURCATION for kind, _ in self.passed)
            if self.branch and point.kind == BIFURCATION and number == abs(self.branch):
                self._stand_at(point, plane)
                return True
        return False

    def _note(self, point: CriticalState) -> None:
        """Keep a critical point, and say it."""
        slopes = {}
        if self._asked and point.kind == LIMIT:
            slopes = limit_slopes(self.equations, point, self._asked, self._full)
        self.points.append(point)
        self.slopes.append(slopes)
        if self.count < KEPT:
            self.critical[self.count] = point.load, float(point.kind == BIFURCATION)
            self.count += 1
        self._events.append(self._remark(described_point(point, slopes)))

    def _stand_at(self, point: CriticalState, plane: PathPlane) -> None:
        """Take a bifurcation as the state of this step; the next one goes along its mode."""
        mode, size = np.zeros_like(point.mode), self.equations.size
        mode[:size] = point.mode[:size]
        along = float(plane.across[:size] @ mode[:size])
        mode, rate = mode - along * self.way, -along * self.rate
        mode[size:] = 0.0
        length = self.metric.length(mode, rate) * math.copysign(1.0, self.branch)
        state = point.state
        self._settle(PathState(state.point, mode / length, rate / length, state.negative, state.linearised))
        self.step += 1
        self.arc += point.ahead
        self.fresh = True

    def _at_most_load(
        self, base: PathPoint, found: PathState, plane: PathPlane, length: float
    ) -> tuple[PathState, float]:
        """The state at the most load between two points, and how far it is ahead; else the second."""
        goal = math.copysign(self.most, found.point.load)
        part = (goal - base.load) / (found.point.load - base.load)
        if not 0.0 < part < 1.0:
            return found, length
        guess = PathPoint(base.unknowns + part * (found.point.unknowns - base.unknowns), goal)
        state = self.corrector.found(guess, at_load(base), goal, plane)
        return (found, length) if state is None else (state, plane.height(state.point))


OWN = (
    "step", "_load", "arc", "length", "exhausted", "ended", "count", "fresh", "critical", "scale", "way",
    "rate", "negative", "_multipliers",
)  # fmt: skip
"""The attributes that are saved, besides the state of the search."""
