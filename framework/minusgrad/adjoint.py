"""Gradients through time: a run as a function of its initial state and its parameters.

    L(x0, v0, theta) = sum over observed steps of l(state)        dL/d(x0, v0, theta)

is exact for the discrete scheme: the states come from the same kernels as in a run, and adjoints go back move
by move (`backward`). What is kept of the way there follows a plan within a budget (`storage`); what is not is
computed again.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import runtime
from .backward import Backward
from .errors import EnergyError, NonFiniteError
from .fields import ordered_sum
from .integrators import Integrator
from .losses import Loss
from .potential import refuse_non_finite
from .sensitivity import Sensitivity
from .storage import Plan
from .sweep import Sweep
from .tape import Tape


class Rollout:
    """A run of an integrator: so many steps from the present fields, judged by losses on its way.

    Every question begins at the present fields, and leaves them as they were. `budget`: bytes for what is
    stored for the way back (`plan`). A run that is not finite has the value nan, and `trouble` says why.
    Raises `EnergyError` for losses after the last step, and for a budget that is too small.
    """

    def __init__(self, integrator: Integrator, losses: Sequence[Loss], steps: int, budget: int = 1 << 30):
        self.one, self.losses, self.steps, self.budget = integrator, list(losses), steps, budget
        self.observed = sorted({step for loss in losses for step in loss.steps})
        if beyond := [k for k in self.observed if not 0 <= k <= steps]:
            raise EnergyError(f"a loss looks at step {beyond[0]}, and the run has steps 0 to {steps}")
        self.trouble = ""
        fields, motions = integrator.potential.fields, integrator.motions
        moves, rubs = len(integrator.scheme.drifts), integrator.dissipation is not None
        state = sum(a.nbytes for a in self._state().values())
        seeds = sum(f.values.nbytes for f in integrator.moving)
        often = len(self.observed) / max(steps, 1)
        each = Tape.size(fields, motions, moves, rubs) + math.ceil(often * seeds)
        self.plan = Plan.of(steps, each, state, budget)
        self._sensitivities: dict[tuple[str, ...], Sensitivity] = {}
        self._backward: dict[tuple[str, ...], tuple[Backward, Integrator]] = {}

    # Questions

    def value(self) -> float:
        """L: a run forward."""
        with self._from_here():
            return self._guarded(lambda: self._forward(0, self.steps, judged=True))

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]:
        """L and dL/d(name): initial fields, masses among them, and parameters "term.argument".

        Of the shape of the field, in its precision, or of the parameter's values, in f64; nan where L is nan.
        What is held has the derivative zero.
        """
        back, recorded = self._way_back(names)
        with self._from_here():
            value = self._guarded(lambda: self._there_and_back(back, recorded))
        found = {n: self._found(back, n) for n in names}
        if not math.isfinite(value):
            found = {n: np.full_like(values, math.nan) for n, values in found.items()}
        return value, found

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """Sum over observed steps of J' l'' J, (P, P): J how the states there change along the P directions.

        `directions`: by the names that `evaluate` takes. This is the matrix of Gauss and Newton: the Hessian of L
        but for l' times the second derivatives of the states, which vanishes with the residuals; where L is minus
        the logarithm of a likelihood, Fisher's information. Raises `NonFiniteError` for a run that explodes, and
        `EnergyError` where the states along all directions do not fit into the budget.
        """
        names = list(dict.fromkeys(n for direction in directions for n in direction))
        beside = self._beside(names)
        with self._from_here():
            start = self._state()
            tracks = []
            for direction in directions:
                self._restore(self.one, start)
                beside.start(direction)
                tracks.append(self._track(beside))
            return self._bent(tracks, start)

    def _beside(self, names: Sequence[str]) -> Sensitivity:
        key = tuple(names)
        if key not in self._sensitivities:
            self._sensitivities[key] = Sensitivity(self.one, names)
        return self._sensitivities[key]

    def _track(self, beside: Sensitivity) -> list[dict[str, np.ndarray]]:
        """The tangents at the observed steps."""
        found = []
        for stop in self.observed:
            beside.advance(stop - self.one.step)
            refuse_non_finite(self.one.moving, f"step {stop}")
            found.append({n: runtime.host(a).copy() for n, a in beside.tangents.items()})
        return found

    def _bent(
        self, tracks: Sequence[list[dict[str, np.ndarray]]], start: dict[str, np.ndarray]
    ) -> np.ndarray:
        matrix = np.zeros((len(tracks), len(tracks)))
        self._restore(self.one, start)
        for k, stop in enumerate(self.observed):
            self.one.advance(stop - self.one.step)
            for loss in self.losses:
                if stop in loss.steps:
                    loss.look(stop)
                    for row, track in zip(matrix, tracks, strict=True):
                        moved = {n: w for n, w in track[k].items() if n in loss.potential.reads}
                        bent = {n: loss.potential.product(moved, n, self._time(stop)) for n in moved}
                        row += [sum(ordered_sum(bent[n] * other[k][n]) for n in bent) for other in tracks]
        return 0.5 * (matrix + matrix.T)

    # There and back

    def _there_and_back(self, back: Backward, recorded: Integrator) -> float:
        value, reached = 0.0, 0
        kept: dict[int, dict[str, np.ndarray]] = {}
        seeds: dict[int, dict[str, np.ndarray]] = {}
        blocks = self.plan.blocks
        for array in (*back.adjoints.values(), *back.kicked.values(), *back.parameters.values()):
            array.fill(0)
        for action in self.plan.actions():
            match type(action).__name__:
                case "Forward":
                    first, end = blocks[action.n0][0], blocks[action.n1 - 1][1]
                    if action.write_ics:
                        kept[action.n0] = self._state()
                    if action.write_adj_deps:
                        value += self._record(recorded, first, end, back, seeds, judged=end > reached)
                    else:
                        value += self._forward(first, end, judged=end > reached)
                    reached = max(reached, end)
                case "Reverse":
                    self._back(back, blocks[action.n1 - 1], seeds)
                case "Copy" | "Move":
                    self._restore(self.one, kept[action.n])
                    if type(action).__name__ == "Move":
                        del kept[action.n]
                case "EndReverse":
                    break
        back.finish()
        return value

    def _forward(self, first: int, end: int, judged: bool) -> float:
        """From one step to another; what the losses are on the way (at `first` only if it is the start)."""
        value = self._judged(0) if judged and first == 0 else 0.0
        for stop in self._stops(first, end) if judged else [end]:
            self.one.advance(stop - self.one.step)
            value += self._judged(stop) if judged else 0.0
        return value

    def _record(
        self, recorded: Integrator, first: int, end: int, back: Backward, seeds: dict, judged: bool
    ) -> float:
        """A block onto the tape, with the derivatives of the losses on its way."""
        self._restore(recorded, self._state())
        recorded.begin_tape(first)
        value, stops = 0.0, self._stops(first, end)
        for stop in [*([0] if first == 0 else []), *stops]:
            recorded.advance(stop - recorded.step)
            value += self._judged(stop) if judged else 0.0
            seeds[stop] = self._seed(stop, back)
        self._restore(self.one, self._state(recorded))
        return value

    def _back(self, back: Backward, block: tuple[int, int], seeds: dict) -> None:
        first, end = block
        here = end
        for stop in [*reversed(self._stops(first, end)), *([0] if first == 0 else [])]:
            back.back(here, here - stop)
            here = stop
            for name, seed in seeds.pop(stop).items():
                array = back.adjoints[name]
                runtime.store(array, runtime.host(array) + seed)
        back.back(here, here - first)

    def _stops(self, first: int, end: int) -> list[int]:
        """The observed steps after `first`, and the end."""
        within = [k for k in self.observed if first < k < end]
        return [*within, end] if end > first else []

    # Losses

    def _judged(self, step: int) -> float:
        value = 0.0
        for loss in self.losses:
            if step in loss.steps:
                loss.look(step)
                value += loss.potential.value(self._time(step))
        return value

    def _seed(self, step: int, back: Backward) -> dict[str, np.ndarray]:
        """dl/d(field) at an observed step."""
        found: dict[str, np.ndarray] = {}
        for loss in self.losses:
            if step in loss.steps:
                loss.look(step)
                for name in back.adjoints.keys() & loss.potential.reads:
                    slope = loss.potential.gradient(name, self._time(step))
                    found[name] = found[name] + slope if name in found else slope
        return found

    def _time(self, step: int) -> float:
        return self.one.t0 + step * self.one.dt

    # States

    @contextmanager
    def _from_here(self):
        """Begin a run at the present fields; they, and what the integrator holds, come back at the end."""
        before = self._state()
        try:
            self.one.step = 0
            self.one.holds.place(self.one.t0)
            self.one.evaluate()
            yield
        finally:
            self._restore(self.one, before)

    def _state(self, integrator: Integrator | None = None) -> dict[str, np.ndarray]:
        one = integrator or self.one
        return one.state() | {f"fields/{f.name}": f.values.copy() for f in one.moving}

    def _restore(self, one: Integrator, state: dict[str, np.ndarray]) -> None:
        for field in one.moving:
            field.set(state[f"fields/{field.name}"])
        one.restore(state)

    def _guarded(self, run: Any) -> float:
        self.trouble = ""
        try:
            return run()
        except NonFiniteError as error:
            self.trouble = str(error)
            return math.nan

    def _way_back(self, names: Sequence[str]) -> tuple[Backward, Integrator]:
        key = tuple(names)
        if key not in self._backward:
            one = self.one
            rubs = one.dissipation is not None
            tape = Tape.of(one.potential.fields, one.motions, self.plan.block, len(one.scheme.drifts), rubs)
            recorded = Integrator(
                one.potential, one.motions, one.scheme, one.dt, one.t0, one.holds, one.dissipation, tape
            )
            self._backward[key] = Backward(recorded, names), recorded
        return self._backward[key]

    def _found(self, back: Backward, name: str) -> np.ndarray:
        if name in back.adjoints:
            return runtime.host(back.adjoints[name]).copy()
        owner = (
            back.one.potential if name.partition(".")[0] in back.one.potential.parts else back.one.dissipation
        )
        assert owner
        return runtime.host(back.parameters[name]).reshape(owner.parameter(name).shape).copy()
