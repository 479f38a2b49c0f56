"""A potential as a function of tensors, with first and second derivatives by the engine.

    u = U(x, p)            backward     g dU/dx,  g dU/dp
    backward of that       the one product of the engine: sum over b of d2U/(da db) v_b

Forward, backward and double backward are one sweep over the elements each. Value and gradient are computed
together if an input requires a gradient.

Decisions 0394.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import compress
from typing import Any

from torch.autograd.function import Function

import torch

from ..app.run_options import Overrides, Plugins
from ..app.runs import built_or_given
from ..assembly.built_scene import BuiltScene
from ..assembly.plugin_blame import blaming
from ..codegen.derivative_request import DerivativeRequest, Derivatives
from ..energies.fields import BOX
from ..engine import storage
from ..engine.runtime import ENGINE
from ..engine.storage import ArraySlot
from ..errors import PluginFailedError, TensorError
from ..potential.far_pairs.tree_kernels import refuse_kept_trees
from ..potential.potential import Potential
from ..scene.document import SceneSource
from . import tensors as guests
from .members import TensorMembers, checked_call
from .tensors import DTYPES, Guest
from .term_input import Input

Blame = Callable[[], AbstractContextManager[None]]
"""Makes a context in which errors of a plugin's code name the plugin."""

CALLS = "functions of tensors need the tree of each call's positions"
NO_THIRD = "an energy has first and second derivatives here, and no third ones"


class Energy(guests.Lasting):
    """U as a function of tensors, by name: fields ("x"), "term.argument", the time "t".

        U = minusgrad.torch.energy("scenes/two_body.toml")
        u = U(x=x, m=m)                         # a tensor of shape ()
        u = U({"x": x, "gravity.G": G})
        u.backward()
        u = U(x=many, m=m, batch=64)            # many (64, n, d), m shared by all: (64,)

    It is a function without state: inputs that are left out have their values of its construction.
    Tensors have the scene's precision and the run's units: fields of shape (n, ...), parameters and
    differentiable data of the shape of their values. Input tensors are never written to, so two of them may
    share memory. With `batch` = B, an input with one dimension more, (B, ...), has a value for each member,
    and the others are shared (`members`). Raises `TensorError` for a tensor of another type, shape, device
    or layout.

    Derivatives with respect to all inputs exist twice (staged energies: once); a further derivative raises
    `TensorError`, far pairs with a `skin` raise `EnergyError`. `torch.compile` leaves the call to Python;
    `vmap` is refused, and `batch` does its work.
    """

    def __init__(self, potential: Potential, blamed: Blame = nullcontext):
        refuse_kept_trees(potential.parts.values(), CALLS)
        self._blamed = blamed
        self._potential = potential.twin(images_stay=False)
        fields = self._potential.fields
        self._seats = {n: f.array for n, f in fields.items() if n not in fields.derived}
        self._precision = precision = DTYPES[fields.dtype.name]
        self.guests = {n: Guest(n, seat.shape, precision) for n, seat in self._seats.items()}
        self._inputs: dict[str, Input] = {}
        for term in self._potential.parts.values():
            for argument in term.energy.differentiable:
                name = term.address(argument)
                if argument not in term.fields and argument in Input.names_held(term):
                    self._inputs[name] = Input(self._potential, name)
                    self.guests[name] = Guest(name, self._inputs[name].start.shape, precision)
        self._time = self._potential.now
        if self._potential.uses_time:
            self.guests["t"] = Guest("t", (), precision)
        self._into, self._along = (
            {n: storage.vacant(seat.shape, fields.dtype) for n, seat in self._seats.items()} for _ in range(2)
        )
        self._sweeps: dict[tuple[str, ...], tuple[DerivativeRequest, Callable[[float], Derivatives]]] = {}

    @guests.eager
    def __call__(
        self, tensors: Mapping[str, Any] | None = None, /, *, batch: int | None = None, **more: Any
    ) -> torch.Tensor:
        given, members = checked_call(self.guests, tensors, more, batch)
        return apply_function(_Value, self, given, (members, torch.is_grad_enabled()))

    def start(self, name: str) -> torch.Tensor:
        """A copy of the default value of input `name`."""
        if name not in self.guests:
            raise guests.strange(name, self.guests)
        if name == "t":
            return guests.tensor(self._time, self._precision)
        values = self._inputs[name].start if name in self._inputs else storage.host(self._seats[name])
        return guests.tensor(values, self.guests[name].dtype)

    # Called by autograd

    def evaluate(
        self, members: TensorMembers, given: Mapping[str, torch.Tensor], wanted: tuple[str, ...]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """U of each member, and its dU/d(name) for each name in `wanted`, one row for each member."""
        if wanted not in self._sweeps:
            fields = {n: self._into[n] for n in wanted if n in self._seats}
            others = tuple(n for n in wanted if n not in self._seats)
            request = DerivativeRequest(value=True, gradient=fields, slopes=others)
            self._sweeps[wanted] = request, self._potential.repeated(request)
        asked, sweep = self._sweeps[wanted]
        if members.count is None and wanted:
            return self._of_one(given, wanted, asked, sweep)
        values = list[float]()
        found = self._derivative_rows(members, wanted)
        into = {n: found[n] for n in asked.gradient}
        with ENGINE, self._blamed():
            for k in members:
                with self._place_member(k, members, given, into, {}) as t:
                    if not wanted:
                        values.append(self._potential.value(t))
                        continue
                    swept = sweep(t)
                values.append(swept.value)
                for n in asked.slopes:
                    members.row(found[n], k)[...] = guests.tensor(swept.slopes[n], self.guests[n].dtype)
        if members.count is None:
            return guests.number(values[0], self._precision), [*found.values()]
        value = torch.tensor(values, dtype=self._precision, device=guests.device())
        return value, [*found.values()]

    def _of_one(
        self,
        given: Mapping[str, torch.Tensor],
        wanted: Sequence[str],
        asked: DerivativeRequest,
        sweep: Callable[[float], Derivatives],
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """`evaluate` without a batch, with some derivatives."""
        with ENGINE, self._blamed(), (visit := self._place_inputs(given, {}, {})) as t:
            found = {n: visit.new(slot, self._precision) for n, slot in asked.gradient.items()}
            swept = sweep(t)
        for n in asked.slopes:
            found[n] = guests.empty_tensor(self.guests[n].shape, self.guests[n].dtype)
            found[n][...] = guests.tensor(swept.slopes[n], self.guests[n].dtype)
        return guests.number(swept.value, self._precision), [found[n] for n in wanted]

    def product(
        self,
        members: TensorMembers,
        given: Mapping[str, torch.Tensor],
        wanted: Sequence[str],
        tangents: Mapping[str, torch.Tensor],
    ) -> list[torch.Tensor]:
        """The derivatives of each member's dU/d(name) along its tangents, for each name in `wanted`."""
        fields = {n: self._into[n] for n in wanted if n in self._seats}
        others = tuple(n for n in wanted if n not in self._seats)
        found = self._derivative_rows(members, wanted)
        into = {n: found[n] for n in fields}
        along = {n: v for n, v in tangents.items() if n in self._seats}
        with ENGINE, self._blamed():
            for k in members:
                moved: dict[str, Any] = {n: self._along[n] for n in along}
                moved |= {n: guests.numbers(members.row(v, k)) for n, v in tangents.items() if n not in along}
                asked = DerivativeRequest(product=fields, changes=others, tangents=moved)
                with self._place_member(k, members, given, into, along) as t:
                    swept = self._potential.sweep(asked, t)
                for n in others:
                    members.row(found[n], k)[...] = guests.tensor(swept.changes[n], self.guests[n].dtype)
        return [*found.values()]

    def _derivative_rows(self, members: TensorMembers, names: Sequence[str]) -> dict[str, torch.Tensor]:
        """Uninitialised tensors for a derivative by each of these inputs, one row for each member."""
        return {
            n: guests.empty_tensor(members.shape(self.guests[n].shape), self.guests[n].dtype) for n in names
        }

    def _place_member(
        self,
        k: int,
        members: TensorMembers,
        given: Mapping[str, torch.Tensor],
        into: Mapping[str, torch.Tensor],
        along: Mapping[str, torch.Tensor],
        others: Sequence[tuple[ArraySlot, torch.Tensor]] = (),
    ) -> AbstractContextManager[float]:
        """Put member k's inputs in place, its rows of `into` and `along`, and others; yields its time."""
        if members.count is None:
            return self._place_inputs(given, into, along, others)
        return self._place_named_member(k, members, given, into, along, others)

    @contextmanager
    def _place_named_member(
        self,
        k: int,
        members: TensorMembers,
        given: Mapping[str, torch.Tensor],
        into: Mapping[str, torch.Tensor],
        along: Mapping[str, torch.Tensor],
        others: Sequence[tuple[ArraySlot, torch.Tensor]],
    ) -> Iterator[float]:
        """The same for a member of a batch, whose errors name it."""
        mine, moved = ({n: members.row(v, k) for n, v in some.items()} for some in (into, along))
        with (
            members.naming_member(k),
            self._place_inputs(members.of_member(given, k), mine, moved, others) as t,
        ):
            yield t

    def _place_inputs(
        self,
        given: Mapping[str, torch.Tensor],
        into: Mapping[str, torch.Tensor],
        along: Mapping[str, torch.Tensor],
        others: Sequence[tuple[ArraySlot, torch.Tensor]] = (),
    ) -> "Visit":
        seats = [(self._seats[n], tensor) for n, tensor in given.items() if n in self._seats]
        if into:
            seats += [(self._into[n], tensor) for n, tensor in into.items()]
        if along:
            seats += [(self._along[n], tensor) for n, tensor in along.items() if n in self._seats]
        seats += others
        for name, one in self._inputs.items():
            one.put(given.get(name))
        if BOX in given and (box := self._potential.fields[BOX]).check is not None:
            box.check(guests.numbers(given[BOX]))
        return Visit(seats, given["t"].item() if "t" in given else self._time)


class Visit:
    """Context manager: fields use the memory of tensors while kernels run; its value is the time t."""

    __slots__ = ("_seats", "_t")

    def __init__(self, seats: list[tuple[ArraySlot, torch.Tensor]], t: float):
        self._seats, self._t = seats, t

    def new(self, place: ArraySlot, dtype: torch.dtype) -> torch.Tensor:
        """A new tensor for the output of kernels, in whose memory a slot is until the end."""
        made = guests.new_in(place, dtype)
        self._seats.append((place, made))
        return made

    def __enter__(self) -> float:
        try:
            for place, tensor in self._seats:
                guests.seat(place, tensor)
            guests.wait_for_torch()
        except BaseException:
            self._leave_seats()
            raise
        return self._t

    def __exit__(self, *_: object) -> None:
        guests.wait_for_engine()
        self._leave_seats()

    def _leave_seats(self) -> None:
        for place, _tensor in self._seats:
            place.leave()


def apply_function(function: type[Function], body: Any, given: Mapping[str, torch.Tensor], *more: Any) -> Any:
    """Apply an autograd function to these tensors. Raises `TensorError` within `vmap` and the like."""
    try:
        return function.apply(body, tuple(given), *more, *given.values())
    except RuntimeError as error:
        if "setup_context" not in str(error):
            raise
        raise TensorError(guests.TRANSFORMED) from None


class _Value(Function):
    """U; its gradient is computed with it if a graph is `recorded`."""

    @staticmethod
    def forward(ctx: Any, energy: Energy, names: Any, more: Any, *tensors: torch.Tensor) -> Any:
        members, recorded = more
        wanted = tuple(compress(names, ctx.needs_input_grad[3:])) if recorded else ()
        value, found = energy.evaluate(members, dict(zip(names, tensors, strict=True)), wanted)
        ctx.call = energy, names, members, wanted
        ctx.save_for_backward(*tensors, *found)
        return value

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[Any, ...]:
        energy, names, members, wanted = ctx.call
        saved = ctx.saved_tensors  # once: PyTorch's checkpoints unpack it at each access
        tensors, found = saved[: len(names)], saved[len(names) :]
        if torch.is_grad_enabled():
            found = _Gradient.apply(energy, names, members, wanted, found, *tensors)
        slopes = {n: members.along(n, slope, one) for n, one in zip(wanted, found, strict=True)}
        return None, None, None, *map(slopes.get, names)


class _Gradient(Function):
    """The known dU/d(name) for each name in `wanted`; backward: their derivatives along tangents."""

    @staticmethod
    def forward(
        ctx: Any,
        energy: Energy,
        names: Any,
        members: TensorMembers,
        wanted: Any,
        found: Any,
        *tensors: torch.Tensor,
    ) -> Any:
        ctx.energy, ctx.names, ctx.members, ctx.wanted = energy, names, members, wanted
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return tuple(one.detach() for one in found)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor | None) -> tuple[Any, ...]:
        tensors, members = ctx.saved_tensors, ctx.members
        tangents = {n: v.contiguous() for n, v in zip(ctx.wanted, slopes, strict=True) if v is not None}
        needed = zip(ctx.names, ctx.needs_input_grad[5:], strict=True)
        wanted = [n for n, yes in needed if yes and tangents]
        given = dict(zip(ctx.names, tensors, strict=True))
        changes = ctx.energy.product(members, given, wanted, tangents) if wanted else []
        changes = [members.sum_over_members(n, one) for n, one in zip(wanted, changes, strict=True)]
        if torch.is_grad_enabled() and wanted:
            changes = LastDerivative.apply(NO_THIRD, changes, *tangents.values(), *tensors)
        found = dict(zip(wanted, changes, strict=True))
        return None, None, None, None, None, *(found.get(n) for n in ctx.names)


class LastDerivative(Function):
    """Known tensors without a further derivative; backward raises `TensorError` with `text`."""

    @staticmethod
    def forward(ctx: Any, text: str, found: Sequence[torch.Tensor], *tensors: torch.Tensor) -> Any:
        ctx.text = text
        return tuple(one.detach() for one in found)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> Any:
        raise TensorError(ctx.text)


def energy(
    scene: SceneSource | BuiltScene | Potential, overrides: Overrides = (), plugins: Plugins = ()
) -> Energy:
    """U of a scene file, a simulation from `minusgrad.build`, or a potential, as a function of tensors.

    `overrides` and `plugins` are those of `minusgrad.run`. Raises `SceneError` with all mistakes.
    """
    built = built_or_given(scene, overrides, plugins, BuiltScene, Potential)
    if isinstance(built, BuiltScene):
        return Energy(built.potential, partial(blaming, built.registry, PluginFailedError))
    return Energy(built)
