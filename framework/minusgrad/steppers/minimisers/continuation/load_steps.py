"""Load stepping: an equilibrium followed from no load to the full load.

    dU/dx(x(s); s) = 0,   s from 0 to 1           s scales loads, supports and the time
    x <- x - H^-1 (d2U/dx ds) ds                  the guess at the next level: the tangent of x(s)

At the level s the time is s T, holds are where they are then, displacements and angles at once are s of
theirs, and the parameters that are named as loads are s of their values. A step goes from one of n equal
levels to the next. An increment that fails is halved, and doubled again after one that succeeds; where the
smallest fails, the search is stuck at the last equilibrium. An increment whose end is far from the tangent is
halved to see whether the path between is continuous: at a limit point the structure snaps through, which is
said with the load (`path_jumps`). (Crisfield 1991, Non-linear Finite Element
Analysis of Solids and Structures, vol. 1, chapter 9.)

Decisions 0072, 0364.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import RunFailedError, SingularSystemError
from ...holds import Holds
from ...stepper import refuse_unlike
from ..constrained_newton import ConstrainedNewton
from ..newton import ACCURATE, ROUNDINGS, Newton
from ..scaled_hessian import scaled_hessian
from ..soft_motions import soft_motions
from .followed_load import FollowedLoad
from .path_jumps import FAR, jump_between


class LoadSteps(FollowedLoad):
    """`levels` steps of load, each an equilibrium by `search`; parameters have their values at full load.

    search: over what is free, without holds of its own. loads: names of parameters, "term.argument".
    duration: T, in the unit of time. iterations: the most of one increment. halvings: how often an
    increment may be halved. Raises `EnergyError` where nothing grows with the load, or a load cannot be
    zero.
    """

    consumer = Newton.consumer

    def __init__(
        self,
        search: Newton,
        holds: Holds,
        levels: int,
        loads: Sequence[str] = (),
        duration: float = 1.0,
        iterations: int = 50,
        halvings: int = 6,
    ):
        super().__init__(search, holds, loads, duration)
        self.levels, self.iterations, self.parts = levels, iterations, 2**halvings
        self.reached, self.increment, self.exhausted = 0, self.parts, False
        self.trouble, self._guessed = "", np.zeros(0)
        self.jumped = math.nan
        self._said = self.jumped
        self._begun_at: float | None = None  # the load of an equilibrium between two levels
        self._apply(self.load)
        self.search.evaluate()

    # The stepper's interface

    @property
    def load(self) -> float:
        """s: the part of the full load that was reached."""
        return self._part(self.reached)

    @property
    def time(self) -> float:
        """s T."""
        return self.load * self.duration

    @property
    def multipliers(self) -> np.ndarray | None:
        """lambda (E,) of the constraints at the present fields; None without constraints."""
        return None if self.constraints is None else self.search.multipliers

    @property
    def solver_used(self) -> str:
        return self.search.solver_used

    def advance(self, n: int) -> None:
        """At most n levels of load; fewer if there is an outcome."""
        self.update()
        for _ in range(n):
            if self.outcome is not None:
                return
            target = self.parts * (self.step + 1)
            while self.reached < target and not self.exhausted:
                self._try(min(self.increment, target - self.reached))
            self.step += not self.exhausted
            self.mark()

    def _state(self) -> dict[str, np.ndarray]:
        own = {f"load/{name}": np.array(getattr(self, name)) for name in OWN}
        return super()._state() | own

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values of `state`. Raises `CheckpointError` if any is missing or does not fit."""
        state = {"load/jumped": np.array(math.nan), **state}  # of versions that did not look for jumps
        refuse_unlike(state, self._state())
        for name in OWN:
            setattr(self, name, state[f"load/{name}"].item())
        self._said = self.jumped
        self._apply(self.load)
        clock = {"step": np.array(self.search.step), "t": np.array(self.time)}
        self.search.restore(dict(state) | clock)
        self.mark()

    # The outcome

    @property
    def outcome(self) -> str | None:
        """ "converged" at the full load, "stuck" where the smallest increment fails; else None."""
        if self.exhausted:
            return "stuck"
        return "converged" if self.step == self.levels else None

    @property
    def verdict(self) -> str:
        """The load that was reached; if the search is stuck, why, with a cure."""
        level = f"load {self.load:.6g} of 1 (step {self.step} of {self.levels})"
        if not self.exhausted:
            found = "" if math.isnan(self.jumped) else f"; {self._of_jump}"
            return f"{self.outcome or 'not at the full load'}: {level}{found}"
        why = f": {self.trouble}" if self.trouble else ""
        return (
            f"stuck: no equilibrium was found beyond {level}, by increments down to {self._part(1):.3g}{why};"
            " the state is the last equilibrium, from which load_steps = { arc_length = 0.1 } may go on: it"
            " may be about to buckle, or at the largest load that it bears; else raise `iterations`"
        )

    @property
    def _of_jump(self) -> str:
        return (
            f"the structure jumps at load {self.jumped:.4g} of 1, where its equilibria end or branch (a limit"
            " point): states beyond it are equilibria, but not of this path, which"
            " load_steps = { arc_length = 0.1 } follows"
        )

    def events(self) -> list[dict[str, Any]]:
        """Remarks of the search, and on a jump at a limit point."""
        found = self.search.events()
        if not math.isnan(self.jumped) and self._said != self.jumped:
            self._said = self.jumped
            found.append(self._remark(self._of_jump))
        return found

    @property
    def failed(self) -> bool:
        """True unless the full load was reached."""
        return self.outcome != "converged"

    # Inside

    def _part(self, reached: int) -> float:
        return reached / (self.levels * self.parts)

    def _try(self, size: int) -> None:
        """One increment of the load, in units of the smallest; returns to where it began if it fails."""
        before = self._values()
        for guess in (True, False):
            if self._found(before, self._part(self.reached + size), guess):
                if not self._is_near(before, guess):
                    self._look_for_a_jump(before, self._part(self.reached + size))
                self.reached += size
                self.increment = min(2 * size, self.parts) if size == self.increment else self.increment
                return
            self._apply(self.load)
            self._put(before)
        self.increment, self.exhausted = size // 2, size == 1
        if self.exhausted:
            self.increment = 1
            self.search.evaluate(self.time)

    def _is_near(self, before: dict[str, np.ndarray], guess: bool) -> bool:
        """True if the equilibrium found is about where the tangent at the one before leads."""
        if not guess:
            return False
        here, start = self._scaled(self._values()), self._scaled(before)
        most = float(np.abs(self._guessed - start).max(initial=0.0))
        rounding = (
            ROUNDINGS * np.finfo(self.potential.fields.dtype).eps * float(np.abs(here).max(initial=0.0))
        )
        return float(np.abs(here - self._guessed).max(initial=0.0)) <= FAR * most + rounding

    def _scaled(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """The scaled free components (N,) of some values of the unknown fields."""
        variables = self.search.coordinates
        return variables.scaled(variables.components(values))

    def _look_for_a_jump(self, before: dict[str, np.ndarray], load: float) -> None:
        """Note the load of a jump between two equilibria, if the path between them has one; nothing moves."""
        after, kept, trouble = self._values(), self.search.state(), self.trouble
        start = self.load

        def between(values: dict[str, np.ndarray], here: float, there: float) -> dict[str, np.ndarray] | None:
            self._apply(here)
            self._put(values)
            self._begun_at = here
            return self._values() if self._found(values, there, True) else None

        found = jump_between((before, start), (after, load), between, self._scaled)
        self._begun_at = None
        self._apply(load)
        self._put(after)
        self.search.restore(kept)
        self.trouble = trouble
        if found is not None and math.isnan(self.jumped):
            self.jumped = found

    def _values(self) -> dict[str, np.ndarray]:
        return {field.name: field.values.copy() for field in self.moving}

    def _found(self, before: dict[str, np.ndarray], load: float, guess: bool) -> bool:
        """Search for the equilibrium at a level; `guess`: along the tangent, else from the last one."""
        self.search.step, self.search.t = 0, load * self.duration
        try:
            if guess:
                self._predict(before, load)
                self._guessed = self._scaled(self._values())
            else:
                self._apply(load)
            if self.potential.free_part(before, self._values()) < 1.0:
                self.trouble = f"the way to it passes '{self.potential.barriers[0]}'"
                return False
            self.search.evaluate()
            self.search.advance(self.iterations)
        except RunFailedError as error:
            self.trouble = str(error)
            return False
        self.trouble = "" if self.search.outcome in ("converged", "settled") else self.search.verdict
        return not self.trouble

    def _predict(self, before: dict[str, np.ndarray], load: float) -> None:
        """Apply a load, and move the free components along the tangent of the equilibrium."""
        here = self.load if self._begun_at is None else self._begun_at
        self._apply(load)
        moved = {f.name: f.values.astype(np.float64) - before[f.name] for f in self.moving}
        self._apply(here)
        self._put(before)
        way = {n: step for n, step in moved.items() if step.any()}
        way |= {n: (load - here) * full for n, full in self._full.items()}
        if self._uses_time:
            way["t"] = np.array((load - here) * self.duration)
        variables, t = self.search.coordinates, here * self.duration
        if way:
            step = self._tangent(way, t)
            variables.write(variables.scaled(variables.read()) + step)
        self._apply(load)

    def _tangent(self, way: dict[str, np.ndarray], t: float) -> np.ndarray:
        """The change of the free components (N,), scaled, as loads, supports and the time go along a way."""
        search, variables = self.search, self.search.coordinates
        own = {n: step for n, step in way.items() if self._owner(n) is self.potential}
        changes = {f.name: self.potential.product(own, f.name, t) for f in self.moving}
        if isinstance(search, ConstrainedNewton):
            return search.followed(way, changes)
        system = scaled_hessian(self.potential, variables, soft_motions(self.moving), t)
        kept = np.arange(system.size)
        try:
            search.solver.factor(system)
        except SingularSystemError:
            kept = np.setdiff1d(kept, search.unresisted())
            search.solver.factor(system.restricted_to(kept))
        right, step = variables.scale * variables.components(changes), np.zeros(system.size)
        step[kept] = -search.solver.solve(right[kept], ACCURATE)
        return step

    def _put(self, values: dict[str, np.ndarray]) -> None:
        for name, array in values.items():
            self.potential.fields[name].set(array)


OWN = ("step", "reached", "increment", "exhausted", "jumped")
"""The attributes that are saved, besides the state of the search."""
