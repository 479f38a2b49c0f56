"""Gradients through time: a run as a function of its initial state and its parameters.

    L(x0, v0, theta) = sum over observed steps of l(state)        dL/d(x0, v0, theta)

is exact for the discrete scheme: the states come from the same kernels as in a run, and the adjoint takes the
moves of each step in reverse (`backward`). The stored states follow a plan within a budget of memory
(`storage_plan`); the others are recomputed.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from ..engine import storage
from ..engine.memory import size
from ..errors import EnergyError, NonFiniteError
from ..potential.non_finite import refuse_non_finite
from ..steppers.integrator import inertia
from ..steppers.stepper import DifferentiableStepper, Stepper
from ..steppers.tape import Tape
from .backward import Backward
from .losses import Loss, ObservedStates
from .storage_plan import Plan
from .tangents import Sensitivity


class Rollout:
    """A run of an integrator: so many steps from the present fields, judged by losses on its way.

    Every question begins at the present fields, and leaves them as they were. `budget`: bytes for what is
    stored for the way back (`plan`). A run that is not finite has the value nan, and `trouble` says why.
    Raises `EnergyError` for losses after the last step, for a budget that is too small, and for a stepper
    whose runs have no derivative (`Stepper.differentiable`).
    """

    def __init__(
        self,
        stepper: Stepper | DifferentiableStepper,
        losses: Sequence[Loss | ObservedStates],
        steps: int,
        budget: int = 1 << 30,
    ):
        self.one = stepper.differentiable()
        self.losses, self.steps, self.budget = list(losses), steps, budget
        self.observed = sorted({step for loss in losses for step in loss.steps})
        if beyond := [k for k in self.observed if not 0 <= k <= steps]:
            raise EnergyError(f"a loss looks at step {beyond[0]}, and the run has steps 0 to {steps}")
        self.trouble = ""
        self._state_size = sum(a.nbytes for a in self._state(self.one).values())
        self.plan = Plan.of(steps, self._tape_size, self._state_size, budget, self._longest)
        self._sensitivities: dict[tuple[str, ...], Sensitivity] = {}
        self._backward: dict[tuple[str, ...], Backward] = {}
        self._recorded: DifferentiableStepper | None = None

    # Questions

    def value(self) -> float:
        """L: a run forward."""
        with self._from_here():
            return self._guarded(self._there)

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]:
        """L and dL/d(name): initial fields, masses among them, and parameters "term.argument".

        Of the shape of the field, in its precision, or of the parameter's values, in f64; nan where L is nan.
        The derivative by a held component is zero.
        """
        with self._from_here():
            back = self._way_back(names)
            value = self._guarded(lambda: self._there_and_back(back))
        found = {n: back.found(n) for n in names}
        if not math.isfinite(value):
            found = {n: np.full_like(values, math.nan) for n, values in found.items()}
        return value, found

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """Sum over observed steps of J' l'' J, (P, P): J how the states there change along the P directions.

        `directions`: by the names that `evaluate` takes. This is the matrix of Gauss and Newton: the Hessian
        of L but for l' times the second derivatives of the states, which vanishes with the residuals; where L
        is minus the logarithm of a likelihood, Fisher's information. Raises `NonFiniteError` for a run that
        explodes, and `EnergyError` where the states along all directions do not fit into the budget.
        """
        names = list(dict.fromkeys(n for direction in directions for n in direction))
        beside = self._beside(names)
        self._refuse_large(beside, len(directions))
        self._refuse_massless()
        with self._from_here():
            start = self._state(self.one)
            tracks = []
            for direction in directions:
                self._restore(self.one, start)
                beside.start(direction)
                tracks.append(self._track(beside))
            return self._bent(directions, tracks, start)

    def _beside(self, names: Sequence[str]) -> Sensitivity:
        key = tuple(names)
        if key not in self._sensitivities:
            self._sensitivities[key] = Sensitivity(self.one, names)
        return self._sensitivities[key]

    def _refuse_large(self, beside: Sensitivity, directions: int) -> None:
        looked = sum(a.nbytes for n, a in beside.tangents.items() if n in self._looked)
        if (needed := directions * len(self.observed) * looked) > self.budget:
            raise EnergyError(
                f"the observed states along {directions} directions need {size(needed)}, and the budget is"
                f" {size(self.budget)}: give it more `memory`"
            )

    def _track(self, beside: Sensitivity) -> list[dict[str, np.ndarray]]:
        """The tangents, at the observed steps, of what losses look at."""
        found = []
        for stop in self.observed:
            beside.advance(stop - self.one.step)
            refuse_non_finite(self.one.moving, f"step {stop}")
            tangents = {n: a for n, a in beside.tangents.items() if n in self._looked}
            found.append({n: storage.host(a).copy() for n, a in tangents.items()})
        return found

    def _bent(
        self,
        directions: Sequence[Mapping[str, np.ndarray]],
        tracks: Sequence[list[dict[str, np.ndarray]]],
        start: dict[str, np.ndarray],
    ) -> np.ndarray:
        """The sum over observed steps, of a second run."""
        matrix = np.zeros((len(tracks), len(tracks)))
        self._restore(self.one, start)
        for k, stop in enumerate(self.observed):
            self._go(self.one, stop)
            for loss in self.losses:
                if stop in loss:
                    states = [
                        self._seen_by(loss, d, track[k]) for d, track in zip(directions, tracks, strict=True)
                    ]
                    matrix += loss.bent(stop, self._time(stop), states)
        return 0.5 * (matrix + matrix.T)

    def _seen_by(
        self,
        loss: Loss | ObservedStates,
        direction: Mapping[str, np.ndarray],
        track: Mapping[str, np.ndarray],
    ) -> dict[str, np.ndarray]:
        """The tangents that a loss sees: of states, and of the parameters of maps that it looks through."""
        shared = loss.shared(direction, self.one.potential)
        return {n: w for n, w in track.items() if n in loss.reads} | {n: direction[n] for n in shared}

    # There and back

    def _there(self) -> float:
        worth: dict[int, float] = {}
        self._forward(0, self.steps, worth)
        return self._total(worth)

    def _there_and_back(self, back: Backward) -> float:
        kept: dict[int, dict[str, np.ndarray]] = {}
        worth: dict[int, float] = {}
        seeds: Seeds = {}
        blocks = self.plan.blocks
        back.clear()
        for action in self.plan.actions():
            match type(action).__name__:
                case "Forward":
                    first, end = blocks[action.n0][0], blocks[action.n1 - 1][1]
                    if action.write_ics:
                        kept[action.n0] = self._state(self.one)
                    if action.write_adj_deps:
                        self._record(first, end, back, worth, seeds)
                    else:
                        self._forward(first, end, worth)
                case "Reverse":
                    self._back(back, blocks[action.n1 - 1], seeds)
                case "Copy":
                    self._restore(self.one, kept[action.n])
                case "Move":
                    self._restore(self.one, kept.pop(action.n))
                case "EndReverse":
                    break
        back.finish()
        return self._total(worth)

    def _forward(self, first: int, end: int, worth: dict[int, float]) -> None:
        """Run from one step to another, and note the losses on the way that are not known yet."""
        for stop in self._stops(first, end):
            if stop not in worth:
                self._go(self.one, stop)
                worth[stop] = sum(loss.value(stop, self._time(stop)) for loss in self.losses if stop in loss)
        self._go(self.one, end)

    def _record(self, first: int, end: int, back: Backward, worth: dict[int, float], seeds: "Seeds") -> None:
        """A block onto the tape, with the derivatives of the losses on its way."""
        recorded = back.one
        recorded.dt = self.one.dt
        self._restore(recorded, self._state(self.one))
        recorded.begin_tape(first)
        for stop in self._stops(first, end):
            self._go(recorded, stop)
            value, seeds[stop] = self._looked_at(stop, back)
            worth.setdefault(stop, value)
        self._go(recorded, end)

    def _looked_at(self, step: int, back: Backward) -> tuple[float, dict[str, np.ndarray]]:
        """The sum of the losses at an observed step, and its derivatives."""
        total = 0.0
        slopes: dict[str, np.ndarray] = {}
        for loss in self.losses:
            if step in loss:
                shared = loss.shared(back.parameters, self.one.potential)
                value, found = loss.evaluate(step, self._time(step), back.adjoints, shared)
                total += value
                slopes |= {n: slopes[n] + a if n in slopes else a for n, a in found.items()}
        return total, slopes

    def _back(self, back: Backward, block: tuple[int, int], seeds: "Seeds") -> None:
        first, here = block
        for stop in reversed(self._stops(*block)):
            back.back(here, here - stop)
            back.add(seeds.pop(stop))
            here = stop
        back.back(here, here - first)

    def _stops(self, first: int, end: int) -> list[int]:
        """The observed steps after `first` until `end`; with the first one of all, if it is `first`."""
        begin = bisect_right(self.observed, first) if first else 0
        return self.observed[begin : bisect_right(self.observed, end)]

    def _go(self, one: DifferentiableStepper, step: int) -> None:
        if step > one.step:
            one.advance(step - one.step)

    def _total(self, worth: Mapping[int, float]) -> float:
        """L, summed in the order of the steps."""
        total = sum(worth[step] for step in self.observed)
        if not math.isfinite(total):
            step = next(k for k in self.observed if not math.isfinite(worth[k]))
            self.trouble = f"step {step}: what the run is judged by is not finite"
        return total

    def _time(self, step: int) -> float:
        return self.one.t0 + step * self.one.dt

    # Storage

    @property
    def _looked(self) -> set[str]:
        """The fields that losses look at."""
        return {name for loss in self.losses for name in loss.reads}

    def _tape_size(self, block: int) -> int:
        """Bytes stored for the adjoint of so many steps: the tape and the derivatives of losses."""
        fields, one = self.one.potential.fields, self.one
        drifts, friction = len(one.scheme.drifts), one.dissipation is not None
        looks = np.bincount(np.maximum(np.array(self.observed, int) - 1, 0) // block, minlength=1).max()
        seeds = sum(fields[n].values.nbytes for n in self._looked)
        return Tape.size(fields, one.motions, block, drifts, friction) + int(looks) * seeds

    @property
    def _longest(self) -> int:
        return Tape.longest(self.one.potential.fields, self.one.motions, len(self.one.scheme.drifts))

    def _way_back(self, names: Sequence[str]) -> Backward:
        """All of them share one tape."""
        if self._recorded is None:
            one, friction = self.one, self.one.dissipation is not None
            tape = Tape.of(
                one.potential.fields, one.motions, self.plan.block, len(one.scheme.drifts), friction
            )
            self._recorded = one.with_tape(tape)
        key = tuple(names)
        if key not in self._backward:
            self._backward[key] = Backward(self._recorded, names)
        return self._backward[key]

    # States

    @contextmanager
    def _from_here(self) -> Iterator[None]:
        """Begin a run at the present fields; all is at the end as it was."""
        before = self._state(self.one)
        try:
            with ExitStack() as data:
                for loss in self.losses:
                    data.enter_context(loss.unchanged())
                self.one.step = 0
                self.one.holds.place(self.one.t0)
                self.one.evaluate()
                yield
        finally:
            self._restore(self.one, before)

    def _state(self, one: DifferentiableStepper) -> dict[str, np.ndarray]:
        return one.state() | {f"fields/{f.name}": f.values.copy() for f in one.moving}

    def _restore(self, one: DifferentiableStepper, state: Mapping[str, np.ndarray]) -> None:
        for field in one.moving:
            field.set(state[f"fields/{field.name}"])
        one.restore(dict(state))

    def _refuse_massless(self) -> None:
        """A search may have walked to an inertia that is none."""
        for motion in self.one.motions:
            try:
                inertia(motion, self.one.potential)
            except EnergyError as error:
                raise NonFiniteError(str(error)) from error

    def _guarded(self, run: Callable[[], float]) -> float:
        """The loss of a run; NaN for one that is not finite, with the reason in `trouble`."""
        self.trouble = ""
        try:
            self._refuse_massless()
            return run()
        except NonFiniteError as error:
            self.trouble = str(error)
            return math.nan


Seeds = dict[int, dict[str, np.ndarray]]
"""Derivatives of the losses by the fields, at observed steps."""
