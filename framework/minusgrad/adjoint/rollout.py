"""Gradients through time: a run as a function of its initial state and its parameters.

    L(x0, v0, theta) = sum over observed steps of l(state)        dL/d(x0, v0, theta)

is exact for the discrete scheme: the states come from the same kernels as in a run, and the adjoint takes the
moves of each step in reverse (`backward`). The stored states follow a plan within a budget of memory
(`storage_plan`); the others are recomputed.

Decisions 0040, 0117.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from ..engine import storage
from ..engine.memory import size
from ..errors import EnergyError, NonFiniteError, OutsideError, UnsolvedStepError
from ..potential.far_pairs.tree_kernels import refuse_kept_trees
from ..potential.non_finite import refuse_non_finite
from ..potential.potential import Potential
from ..steppers.holds import Holds
from ..steppers.stepper import DifferentiableStepper, Stepper
from ..steppers.systems.parts import ALL, BAROSTAT, BATH, Consumer
from .backward import RunAdjoint, owner
from .derivation import Tangents, derivation
from .losses import Loss, ObservedStates
from .storage_plan import Plan

RUNS = Consumer("derivatives of runs", ALL - {BATH, BAROSTAT}, cure="use leapfrog, at constant volume")
"""The parts of a system whose motion has an adjoint and tangents."""


class Rollout:
    """A run of an integrator: so many steps from the present fields, with losses of the states on its way.

    Every evaluation starts from the present fields at the present time, without memory of earlier steps, and
    restores them; steps of losses count from there. `budget`: bytes for the states stored
    for the reverse pass (`plan`). A run that is not finite, or leaves a grid that refuses it, has the value
    NaN, and `trouble` says why. Raises `EnergyError` for losses after the last step, for a budget that is too
    small, and for a stepper whose runs have no derivative (`Stepper.differentiable`).
    """

    label = "the run of the loss"

    def __init__(
        self,
        stepper: Stepper | DifferentiableStepper,
        losses: Sequence[Loss | ObservedStates],
        steps: int,
        budget: int = 1 << 30,
    ):
        self.stepper = stepper.differentiable()
        RUNS.accept(self.stepper.system)
        of_losses = [loss.potential for loss in losses if isinstance(loss, Loss)]
        for potential in (self.stepper.potential, self.stepper.dissipation, *of_losses):
            if potential is not None:
                refuse_kept_trees(potential.parts.values())
        self._derivation = derivation(self.stepper)
        self.losses, self.steps, self.budget = list(losses), steps, budget
        self.observed = sorted({step for loss in losses for step in loss.steps})
        if beyond := [k for k in self.observed if not 0 <= k <= steps]:
            raise EnergyError(
                f"loss: its steps must be within 0 to {steps}, got {beyond[0]}; give steps of the run"
            )
        self.trouble = ""
        self._state_size = sum(a.nbytes for a in self._state(self.stepper).values())
        self.plan = Plan.of(steps, self._tape_size, self._state_size, budget, self._derivation.longest)
        self._tangents: dict[tuple[str, ...], Tangents] = {}
        self._adjoints: dict[tuple[str, ...], RunAdjoint] = {}
        self._recorded: dict[tuple[str, ...], DifferentiableStepper] = {}

    @property
    def writes(self) -> tuple[float, ...]:
        """The inputs of the value, as numbers that differ after every write (`Potential.writes`)."""
        one = self.stepper
        of_losses = sum(loss.potential.writes for loss in self.losses if isinstance(loss, Loss))
        return one.dt, one.time, one.writes + of_losses

    @property
    def potentials(self) -> list[Potential]:
        """All that have parameters."""
        return self.stepper.system.potentials

    @property
    def holds(self) -> Holds:
        """The holds, whose numbers are parameters."""
        return self.stepper.holds

    def inputs_of(self, name: str) -> np.ndarray:
        """Mask of the components of a field on which a run depends: those that are not held."""
        return self.stepper.holds.free(name)

    def set_input(self, name: str, values: np.ndarray) -> None:
        """Overwrite an initial field."""
        self.stepper.potential.fields[name].set(values)

    def state(self) -> dict[str, np.ndarray]:
        """Nothing: every evaluation begins at the same start."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Nothing."""

    # Loss, gradient and curvature

    def value(self) -> float:
        """L, by a forward run."""
        return self._guarded(self._loss_forward)

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]:
        """L and dL/d(name): initial fields, masses among them, parameters "term.argument", "hold.number".

        Of the shape of the field, in its precision, or of the parameter's values, in f64; NaN where L is NaN.
        The derivative by a held component is zero.
        """
        found: dict[str, np.ndarray] = {}

        def run() -> float:
            back = self._adjoint(names)
            value = self._forward_and_reverse(back)
            found.update({n: back.found(n) for n in names})
            return value

        value = self._guarded(run)
        return value, found if math.isfinite(value) else {n: self._unknown(n) for n in names}

    def _unknown(self, name: str) -> np.ndarray:
        """NaN in the shape of a derivative. Raises `EnergyError` for a name without one."""
        if (of := owner(self.stepper, name)) is not None:
            return np.full(of.shape(name), math.nan)
        return np.full_like(self.stepper.potential.fields[name].values, math.nan)

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """Sum over observed steps of J' l'' J, (P, P): J: the tangents of these states along P directions.

        `directions`: by the names that `evaluate` takes. This is the Gauss-Newton matrix: the Hessian of L
        without l' times the second derivatives of the states, which vanishes with the residuals; where L is
        minus the logarithm of a likelihood, it is the Fisher information.

        Raises `NonFiniteError` for a run that is not finite, and `EnergyError` where the states along all
        directions do not fit into the budget.
        """
        names = list(dict.fromkeys(n for direction in directions for n in direction))
        self._refuse_unfit()
        beside = self._beside(names)
        groups = self._groups(beside, directions)
        together = beside.size is not None and len(groups) == 1
        if not together:
            self._refuse_large(len(directions))
        with self._from_here():
            self._derivation.begin()
            if together:
                beside.start(directions)
                return self._gauss_newton(directions, lambda k: self._carried(beside, self.observed[k]))
            start = self._state(self.stepper)
            tracks: list[list[Track]] = []
            for group in groups:
                self._restore(self.stepper, start)
                beside.start(group)
                stops = [self._carried(beside, stop) for stop in self.observed]
                tracks += [list(track) for track in zip(*stops, strict=True)]
            self._restore(self.stepper, start)
            return self._gauss_newton(directions, lambda k: self._again(tracks, k))

    def end_tangents(self, direction: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The tangents of the moving fields after the last step along a direction, in f64.

        `direction`: by the names that `evaluate` takes. Raises as `curvature` does.
        """
        self._refuse_unfit()
        beside = self._beside(list(direction))
        with self._from_here():
            self._derivation.begin()
            beside.start([direction])
            beside.advance(self.steps)
            (along,) = beside.along
            moving = [field.name for field in self.stepper.moving]
            return {n: storage.host(along[n]).astype(np.float64) for n in moving}

    def _beside(self, names: Sequence[str]) -> Tangents:
        key = tuple(names)
        if key not in self._tangents:
            self._tangents[key] = self._derivation.tangents(names)
        return self._tangents[key]

    def _groups(
        self, beside: Tangents, directions: Sequence[Mapping[str, np.ndarray]]
    ) -> list[Sequence[Mapping[str, np.ndarray]]]:
        """The directions that each run carries: as many as fit into the budget."""
        most = 1 if beside.size is None else max(1, self.budget // beside.size)
        return [directions[k : k + most] for k in range(0, len(directions), most)]

    def _refuse_large(self, directions: int) -> None:
        fields = self.stepper.potential.fields
        moving = {field.name for field in self.stepper.moving}
        tracked = sum(fields[n].values.nbytes for n in self._tracked & moving)
        if (needed := directions * len(self.observed) * tracked) > self.budget:
            raise EnergyError(
                f"the observed states along {directions} directions: need {size(needed)}, got a budget of"
                f" {size(self.budget)}; give it more `memory`"
            )

    def _carried(self, beside: Tangents, stop: int) -> "list[Track]":
        """Advance to an observed step; the tangents there of the fields that losses read, by direction."""
        beside.advance(stop - self.stepper.step)
        refuse_non_finite(self.stepper.moving, f"step {stop}")
        return [
            {n: storage.host(a).copy() for n, a in one.items() if n in self._tracked} for one in beside.along
        ]

    def _again(self, tracks: "Sequence[list[Track]]", k: int) -> "list[Track]":
        """Advance a second run to the k-th observed step, where the tangents are known."""
        self._go(self.stepper, self.observed[k])
        return [track[k] for track in tracks]

    def _gauss_newton(
        self, directions: Sequence[Mapping[str, np.ndarray]], arrive: "Callable[[int], list[Track]]"
    ) -> np.ndarray:
        """The sum of J' l'' J over observed steps; `arrive(k)` goes to the k-th, with the tangents there."""
        matrix = np.zeros((len(directions), len(directions)))
        for k, stop in enumerate(self.observed):
            tracks = arrive(k)
            for loss in self.losses:
                if stop in loss:
                    states = [
                        self._tangents_for(loss, d, track)
                        for d, track in zip(directions, tracks, strict=True)
                    ]
                    matrix += loss.gauss_newton(stop, self._time(stop), states)
        return 0.5 * (matrix + matrix.T)

    def _tangents_for(
        self,
        loss: Loss | ObservedStates,
        direction: Mapping[str, np.ndarray],
        track: Mapping[str, np.ndarray],
    ) -> dict[str, np.ndarray]:
        """The tangents of the states that a loss reads, and of the parameters of the maps that it shares."""
        shared = loss.shared(direction, self.stepper.potential)
        return {n: w for n, w in track.items() if n in loss.reads} | {n: direction[n] for n in shared}

    # Forward and reverse pass

    def _loss_forward(self) -> float:
        self._derivation.begin()
        values: dict[int, float] = {}
        self._forward(0, self.steps, values)
        return self._total(values)

    def _forward_and_reverse(self, back: RunAdjoint) -> float:
        kept: dict[int, dict[str, np.ndarray]] = {}
        values: dict[int, float] = {}
        seeds: Seeds = {}
        blocks = self.plan.blocks
        self._derivation.begin()
        back.clear()
        for action in self.plan.actions():
            match type(action).__name__:
                case "Forward":
                    first, end = blocks[action.n0][0], blocks[action.n1 - 1][1]
                    if action.write_ics:
                        kept[action.n0] = self._state(self.stepper)
                    if action.write_adj_deps:
                        self._record(first, end, back, values, seeds)
                    else:
                        self._forward(first, end, values)
                case "Reverse":
                    self._back(back, blocks[action.n1 - 1], seeds)
                case "Copy":
                    self._restore(self.stepper, kept[action.n])
                case "Move":
                    self._restore(self.stepper, kept.pop(action.n))
                case "EndReverse":
                    break
        back.finish()
        return self._total(values)

    def _forward(self, first: int, end: int, values: dict[int, float]) -> None:
        """Run from one step to another, and compute the losses on the way that are not known yet."""
        for stop in self._stops(first, end):
            if stop not in values:
                self._go(self.stepper, stop)
                values[stop] = sum(loss.value(stop, self._time(stop)) for loss in self.losses if stop in loss)
        self._go(self.stepper, end)

    def _record(
        self, first: int, end: int, back: RunAdjoint, values: dict[int, float], seeds: "Seeds"
    ) -> None:
        """Record a block on the tape, and the derivatives of the losses at its steps."""
        recorded = back.stepper
        recorded.clock = self.stepper.clock
        self._restore(recorded, self._state(self.stepper))
        recorded.begin_tape(first)
        for stop in self._stops(first, end):
            self._go(recorded, stop)
            value, seeds[stop] = self._losses_at(stop, back)
            values.setdefault(stop, value)
        self._go(recorded, end)

    def _losses_at(self, step: int, back: RunAdjoint) -> tuple[float, dict[str, np.ndarray]]:
        """The sum of the losses at an observed step, and its derivatives."""
        total = 0.0
        slopes: dict[str, np.ndarray] = {}
        for loss in self.losses:
            if step in loss:
                shared = loss.shared(back.parameters, self.stepper.potential)
                value, found = loss.evaluate(step, self._time(step), back.adjoints, shared)
                total += value
                slopes |= {n: slopes[n] + a if n in slopes else a for n, a in found.items()}
        return total, slopes

    def _back(self, back: RunAdjoint, block: tuple[int, int], seeds: "Seeds") -> None:
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

    def _total(self, values: Mapping[int, float]) -> float:
        """L, summed in the order of the steps."""
        total = sum(values[step] for step in self.observed)
        if not math.isfinite(total):
            step = next(k for k in self.observed if not math.isfinite(values[k]))
            self.trouble = f"step {step}: the loss is not finite"
        return total

    def _time(self, step: int) -> float:
        return float(self.stepper.times(step))

    # Storage

    @property
    def _tracked(self) -> set[str]:
        """The fields that losses read."""
        return {name for loss in self.losses for name in loss.reads}

    def _tape_size(self, block: int) -> int:
        """Bytes stored for the adjoint of so many steps: the tape and the derivatives of losses."""
        fields = self.stepper.potential.fields
        most = np.bincount(np.maximum(np.array(self.observed, int) - 1, 0) // block, minlength=1).max()
        seeds = sum(fields[n].values.nbytes for n in self._tracked)
        return self._derivation.tape_size(block) + int(most) * seeds

    def _adjoint(self, names: Sequence[str]) -> RunAdjoint:
        """The adjoint for these names; adjoints that keep the same fields share one tape."""
        key = tuple(names)
        if key not in self._adjoints:
            kept = self._derivation.kept(names)
            if kept not in self._recorded:
                self._recorded[kept] = self._derivation.recorded(self.plan.block, kept)
            self._adjoints[key] = self._derivation.adjoint(self._recorded[kept], names)
        return self._adjoints[key]

    # States

    @contextmanager
    def _from_here(self) -> Iterator[None]:
        """Start a run at the present fields; restore fields, data and stepper on leaving."""
        before = self._state(self.stepper)
        try:
            with ExitStack() as data:
                for loss in self.losses:
                    data.enter_context(loss.unchanged())
                self.stepper.count_from_here()
                self.stepper.holds.place(self.stepper.time)
                self.stepper.potential.fields.list_afresh()
                self.stepper.evaluate()
                data.enter_context(self.stepper.potential.fields.images_held())
                yield
        finally:
            self._restore(self.stepper, before)

    def _state(self, one: DifferentiableStepper) -> dict[str, np.ndarray]:
        saved = [*one.moving, *one.potential.fields.of_lists.values()]
        return one.state() | {f"fields/{f.name}": f.values.copy() for f in saved}

    def _restore(self, one: DifferentiableStepper, state: Mapping[str, np.ndarray]) -> None:
        for field in [*one.moving, *one.potential.fields.of_lists.values()]:
            field.set(state[f"fields/{field.name}"])
        one.restore(dict(state))

    def _refuse_unfit(self) -> None:
        """Raise `NonFiniteError` for a state without a step, which a minimiser may have reached."""
        try:
            self.stepper.refuse_unfit()
        except EnergyError as error:
            raise NonFiniteError(str(error)) from error

    def _guarded(self, run: Callable[[], float]) -> float:
        """The loss of a run; NaN for one that is not finite, with the reason in `trouble`."""
        self.trouble = ""
        try:
            self._refuse_unfit()
            with self._from_here():
                return run()
        except (NonFiniteError, OutsideError, UnsolvedStepError) as error:
            self.trouble = str(error)
            return math.nan


Track = dict[str, np.ndarray]
"""Tangents at one observed step, by field."""
Seeds = dict[int, dict[str, np.ndarray]]
"""Derivatives of the losses by the fields, at observed steps."""
