"""A run as a function of tensors: from its start, its parameters and its data to its states at some steps.

Backward is the adjoint in time (`adjoint`), within its memory budget. It reruns the simulation from the given
tensors, so that one graph may contain any number of calls.

Decisions 0021, 0040, 0394.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from torch.autograd.function import Function

import torch

from ..adjoint.backward import owner
from ..adjoint.losses import ObservedStates
from ..adjoint.rollout import Rollout
from ..app.run_options import Overrides, Plugins
from ..app.runs import built_or_given
from ..assembly.built_scene import BuiltScene
from ..assembly.plugin_blame import blaming
from ..errors import NonFiniteError, PluginFailedError, TensorError
from ..potential.watches.followed_images import other_images
from ..scene.document import SceneSource
from ..steppers.integrator import Integrator
from . import tensors as guests
from .energy_function import ENGINE, LastDerivative, apply_function
from .hold_input import HoldInput
from .lane_runs import LaneRuns
from .members import Collected, TensorMembers, checked_call
from .tensors import DTYPES, Guest
from .term_input import Input

NO_SECOND = "a run through time has first derivatives here, and no second ones"


class RunFunction(guests.Lasting):
    """The states of a run as a function of tensors, by name: initial fields, parameters and differentiable
    data of terms, numbers of holds ("grip.angle").

        run = minusgrad.torch.rollout("scenes/stretch.toml", 100)
        state = run(x=x, v=v, **{"spring.k": k})
        state["x"], state["v"]                          # of the last step, (n, d)

        run = minusgrad.torch.rollout(scene, 100, observe=[0, 50, 100])
        run(x=x)["x"]                                   # (3, n, d)
        run(x=many, batch=64)["x"]                      # many (64, n, d): (64, 3, n, d)

    Like an energy it has no state: every call starts from the scene, with the given tensors in place of its
    values. Held components must be given at their prescribed positions, and have a derivative of zero. The
    states are those of `minusgrad run`, bit for bit; their gradient is exact for the discrete scheme. Second
    derivatives raise `TensorError`.

    With `batch` = B, an input with one dimension more, (B, ...), has a value for each member, and the others
    are shared (`members`). Raises `NonFiniteError` if the run, or that of a member, gives NaN or infinity.
    """

    def __init__(
        self, simulation: BuiltScene, steps: int, observe: Sequence[int] | None, memory: int, lanes: bool
    ):
        one = simulation.stepper.differentiable()
        if isinstance(one, Integrator):
            one.give_back_start()  # each run projects it
        self._one, fields = one, one.potential.fields
        self._registry = simulation.registry
        for step in [steps, *(observe or ())]:
            if isinstance(step, bool) or not isinstance(step, Integral) or step < 0:
                raise TensorError(f"observe: steps must be whole numbers of at least 0, got {step!r}")
        self._last = observe is None
        self._clock = one.clock
        one.holds.place(one.time)
        self._moving = tuple(dict.fromkeys(field.name for field in one.moving))
        steps_seen = sorted({steps} if observe is None else set(observe))
        if observe is not None and list(observe) != steps_seen:
            raise TensorError(f"observe: needs increasing steps, each once, got {list(observe)}")
        self._seen = ObservedStates(fields, self._moving, steps_seen)
        self._rollout = Rollout(one, [self._seen], steps, memory)
        self._precision = DTYPES[fields.dtype.name]
        self._fields = {n: f.values.copy() for n, f in fields.items() if n not in fields.derived}
        self.guests = {n: Guest(n, values.shape, self._precision) for n, values in self._fields.items()}
        self._inputs: dict[str, Input | HoldInput] = {}
        for potential in one.system.potentials:
            for name in potential.arguments:
                self._inputs[name] = Input(potential, name)
        self._inputs |= {name: HoldInput(one.holds.numbers, name) for name in one.holds.numbers.names}
        for name, given in self._inputs.items():
            self.guests[name] = Guest(name, given.start.shape, self._precision)
        self._lanes = LaneRuns(one, self._clock, self._inputs, steps, steps_seen, memory) if lanes else None

    @guests.eager
    def __call__(
        self, tensors: Mapping[str, Any] | None = None, /, *, batch: int | None = None, **more: Any
    ) -> dict[str, torch.Tensor]:
        given, members = checked_call(self.guests, tensors, more, batch)
        states = apply_function(_States, self, given, members)
        if self._last:
            states = [state[0] if batch is None else state[:, 0] for state in states]
        return dict(zip(self._moving, states, strict=True))

    def start(self, name: str) -> torch.Tensor:
        """A copy of the default value of input `name`."""
        if name not in self.guests:
            raise guests.strange(name, self.guests)
        values = self._inputs[name].start if name in self._inputs else self._fields[name]
        return guests.tensor(values, self._precision)

    # Called by autograd

    def states(self, members: TensorMembers, given: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Each member's moving fields at the observed steps, (steps, n, ...) each."""
        if self._lanes and (run := self._lanes.of(members)):
            with ENGINE, blaming(self._registry, PluginFailedError):
                self._lanes.begin(run, members, given, self._set_start)
                found = self._lanes.states(run)
            return tuple(torch.from_numpy(found[n]).to(guests.device()) for n in self._moving)
        count = len(self._seen.steps)
        kept = {
            n: np.empty(members.shape((count, *self._fields[n].shape)), self._fields[n].dtype)
            for n in self._moving
        }
        with ENGINE, blaming(self._registry, PluginFailedError):
            for k in members:
                with members.naming_member(k):
                    self._set_start(members.of_member(given, k))
                    self._seen.kept = {n: members.row(every, k) for n, every in kept.items()}
                    try:
                        self._rollout.value()
                        self._refuse_exploded()
                    finally:
                        self._seen.kept = {}
        return tuple(torch.from_numpy(kept[n]).to(guests.device()) for n in self._moving)

    def gradients(
        self,
        members: TensorMembers,
        given: Mapping[str, torch.Tensor],
        wanted: Sequence[str],
        slopes: Mapping[str, torch.Tensor],
    ) -> list[torch.Tensor]:
        """dL/d(name) for each name in `wanted`, from the slopes dL/d(states) of all members."""
        collected = Collected(members)
        if self._lanes and (run := self._lanes.of(members)):
            with ENGINE, blaming(self._registry, PluginFailedError):
                self._lanes.begin(run, members, given, self._set_start)
                rows = self._lanes.gradients(run, wanted, slopes)
            for k in members:
                for n in wanted:
                    collected.add(n, rows[n][k])
            return [collected.tensor(n, self._precision) for n in wanted]
        with ENGINE, blaming(self._registry, PluginFailedError):
            for k in members:
                with members.naming_member(k):
                    self._set_start(members.of_member(given, k))
                    self._seen.slopes = {n: guests.numbers(members.row(one, k)) for n, one in slopes.items()}
                    try:
                        _, found = self._rollout.evaluate(wanted)
                        self._refuse_exploded()
                    finally:
                        self._seen.slopes = {}
                for n in wanted:
                    collected.add(n, found[n])
        return [collected.tensor(n, self._precision) for n in wanted]

    def _set_start(self, given: Mapping[str, torch.Tensor]) -> None:
        """Set the clock, and every field and parameter to its given value, or to its default."""
        self._one.clock = self._clock
        for name, start in self._fields.items():
            values = guests.numbers(given[name]) if name in given else start
            self._one.potential.fields[name].set(values)
        for name, one in self._inputs.items():
            one.put(given.get(name), overwrite=True)
        self._refuse_moved(given)
        if "x" in given:
            terms = [part for one in self._one.system.potentials for part in one.parts.values()]
            if found := other_images(terms, self._one.potential.fields):
                raise TensorError(
                    f"'x': puts {found}, which a run keeps; give positions that are not wrapped, as those of"
                    " run.start('x')"
                )

    def _refuse_moved(self, given: Mapping[str, torch.Tensor]) -> None:
        """Raises `TensorError` for held components away from their prescribed positions."""
        self._one.holds.place(self._one.time)
        for name in (n for n in self._moving if n in given):
            placed, wanted = self._one.potential.fields[name].values, guests.numbers(given[name])
            same = (placed == wanted) | (np.isnan(placed) & np.isnan(wanted))  # NaN is reported by the run
            if not same.all():
                node = int(np.argmin(same.reshape(len(same), -1).all(1)))
                raise TensorError(
                    f"'{name}': node {node} is held by the scene, and is not at its prescribed value; take it"
                    f" from run.start('{name}')"
                )

    def _refuse_exploded(self) -> None:
        if self._rollout.trouble:
            raise NonFiniteError(f"the run: {self._rollout.trouble}")


def rollout(
    scene: SceneSource | BuiltScene,
    steps: int | None = None,
    *,
    observe: Sequence[int] | None = None,
    memory: int = 1 << 30,
    lanes: bool = True,
    overrides: Overrides = (),
    plugins: Plugins = (),
) -> RunFunction:
    """The states of a run after `steps` (default: the scene's), or at the steps `observe`.

    scene, overrides, plugins: as of `minusgrad.run`.
    A simulation from `minusgrad.build` belongs to the function afterwards. `memory`: bytes for stored states
    of the backward pass; the observed states come on top. `lanes`: batches of small systems run one member to
    a lane of vectors: their rows have the same bits in every batch, and differ from single calls by rounding;
    without, they run one after another, with the bits of single calls. Raises `SceneError` with all the
    scene's mistakes, `EnergyError` for a run without a derivative (a minimiser, a heat bath, forces that
    depend on velocities) and for a budget that is too small, `TensorError` for steps that are
    not whole numbers.
    """
    simulation = built_or_given(scene, overrides, plugins, BuiltScene)
    return RunFunction(simulation, simulation.last if steps is None else steps, observe, memory, lanes)


class _States(Function):
    @staticmethod
    def forward(
        ctx: Any, run: RunFunction, names: tuple[str, ...], members: TensorMembers, *tensors: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        wanted = [n for n, needed in zip(names, ctx.needs_input_grad[3:], strict=True) if needed]
        for name in wanted:
            owner(run._one, name)  # raises for inputs without a derivative
        ctx.run, ctx.names, ctx.members, ctx.wanted = run, names, members, wanted
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return run.states(members, dict(zip(names, tensors, strict=True)))

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor | None) -> tuple[Any, ...]:
        given = dict(zip(ctx.names, saved := ctx.saved_tensors, strict=True))
        known = {n: s for n, s in zip(ctx.run._moving, slopes, strict=True) if s is not None}
        found = ctx.run.gradients(ctx.members, given, ctx.wanted, known)
        if torch.is_grad_enabled():
            found = LastDerivative.apply(NO_SECOND, found, *saved, *known.values())
        by_name = dict(zip(ctx.wanted, found, strict=True))
        return None, None, None, *(by_name.get(n) for n in ctx.names)
