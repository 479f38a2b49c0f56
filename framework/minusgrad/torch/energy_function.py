"""A potential as a function of tensors, with first and second derivatives by the engine.

    u = U(x, p)            backward     g dU/dx,  g dU/dp
    backward of that       the one product of the engine: sum over b of d2U/(da db) v_b

Forward, backward and double backward are one sweep over the elements each. Value and gradient are computed
together if an input requires a gradient.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch.autograd.function import Function

import torch

from ..app.runs import Overrides, Plugins, build
from ..assembly.plugin_blame import blaming
from ..assembly.simulation import Simulation
from ..codegen.derivative_request import DerivativeRequest
from ..engine import storage
from ..engine.runtime import ENGINE
from ..engine.storage import ArraySlot
from ..errors import PluginFailedError, TensorError
from ..potential.far_pairs.tree_kernels import refuse_kept_trees
from ..potential.potential import Potential
from . import tensors as guests
from .tensors import DTYPES, Guest

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

    It is a function without state: inputs that are left out have their values of its construction.
    Tensors have the scene's precision and the run's units: fields of shape (n, ...), parameters and
    differentiable data of the shape of their values. Input tensors are never written to, so two of them may
    share memory. Raises `TensorError` for a tensor of another type, shape, device or layout.

    Derivatives with respect to all inputs exist twice (staged energies: once); a further derivative raises
    `TensorError`, far pairs with a `skin` raise `EnergyError`. `torch.compile` leaves the call to Python;
    `vmap` is refused.
    """

    def __init__(self, potential: Potential, blamed: Blame = nullcontext):
        refuse_kept_trees(potential.parts.values(), CALLS)
        self._blamed = blamed
        self._potential = potential.twin()
        fields = self._potential.fields
        self._seats = {n: f.array for n, f in fields.items() if n not in fields.derived}
        self._precision = precision = DTYPES[fields.dtype.name]
        self.guests = {n: Guest(n, seat.shape, precision) for n, seat in self._seats.items()}
        self._inputs: dict[str, Input] = {}
        for term in self._potential.parts.values():
            for argument in term.energy.differentiable:
                name = f"{term.name}.{argument}"
                if argument not in term.fields and argument in Input.held(term):
                    self._inputs[name] = Input(self._potential, name)
                    self.guests[name] = Guest(name, self._inputs[name].start.shape, precision)
        if self._potential.uses_time:
            self.guests["t"] = Guest("t", (), precision)
        self._into, self._along = (
            {n: storage.vacant(seat.shape, fields.dtype) for n, seat in self._seats.items()} for _ in range(2)
        )
        self._sweeps: dict[tuple[str, ...], DerivativeRequest] = {}

    @guests.eager
    def __call__(self, tensors: Mapping[str, Any] | None = None, /, **more: Any) -> torch.Tensor:
        given = guests.taken(self.guests, guests.named(tensors, more))
        return applied(_Value, self, given, torch.is_grad_enabled())

    def start(self, name: str) -> torch.Tensor:
        """A copy of the default value of input `name`."""
        if name not in self.guests:
            raise guests.strange(name, self.guests)
        if name == "t":
            return guests.tensor(0.0, self._precision)
        values = self._inputs[name].start if name in self._inputs else storage.host(self._seats[name])
        return guests.tensor(values, self.guests[name].dtype)

    # Called by autograd

    def evaluate(
        self, names: Sequence[str], tensors: Sequence[torch.Tensor], wanted: tuple[str, ...]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """U, and dU/d(name) for each name in `wanted`."""
        if wanted not in self._sweeps:
            fields = {n: self._into[n] for n in wanted if n in self._seats}
            others = tuple(n for n in wanted if n not in self._seats)
            self._sweeps[wanted] = DerivativeRequest(value=True, gradient=fields, slopes=others)
        asked = self._sweeps[wanted]
        found = {n: guests.empty(self._into[n].shape, self.guests[n].dtype) for n in asked.gradient}
        with ENGINE, self._blamed(), self._at(names, tensors, found, {}) as t:
            if wanted:
                swept = self._potential.sweep(asked, t)
                value = swept.value
                found |= {n: guests.tensor(swept.slopes[n], self.guests[n].dtype) for n in asked.slopes}
            else:
                value = self._potential.value(t)
        return torch.scalar_tensor(value, dtype=self._precision, device=guests.device()), [
            found[n] for n in wanted
        ]

    def product(
        self,
        names: Sequence[str],
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[str],
        tangents: Mapping[str, torch.Tensor],
    ) -> list[torch.Tensor]:
        """The derivative of dU/d(name) along the tangents, for each name in `wanted`."""
        moved: dict[str, Any] = {n: self._along[n] for n in tangents if n in self._seats}
        moved |= {n: guests.numbers(v) for n, v in tangents.items() if n not in self._seats}
        fields = {n: self._into[n] for n in wanted if n in self._seats}
        others = tuple(n for n in wanted if n not in self._seats)
        found = {n: guests.empty(self._into[n].shape, self.guests[n].dtype) for n in fields}
        with ENGINE, self._blamed(), self._at(names, tensors, found, tangents) as t:
            swept = self._potential.sweep(
                DerivativeRequest(product=fields, changes=others, tangents=moved), t
            )
        found |= {n: guests.tensor(swept.changes[n], self.guests[n].dtype) for n in others}
        return [found[n] for n in wanted]

    def _at(
        self,
        names: Sequence[str],
        tensors: Sequence[torch.Tensor],
        into: Mapping[str, torch.Tensor],
        along: Mapping[str, torch.Tensor],
        others: Sequence[tuple[ArraySlot, torch.Tensor]] = (),
    ) -> "Visit":
        given = dict(zip(names, tensors, strict=True))
        seats = [(self._seats[n], tensor) for n, tensor in given.items() if n in self._seats]
        seats += [(self._into[n], tensor) for n, tensor in into.items()]
        seats += [(self._along[n], tensor) for n, tensor in along.items() if n in self._seats]
        seats += others
        for name, one in self._inputs.items():
            one.put(given.get(name))
        return Visit(seats, given["t"].item() if "t" in given else 0.0)


class Visit:
    """Context manager: fields use the memory of tensors while kernels run; its value is the time t."""

    __slots__ = ("_seats", "_t")

    def __init__(self, seats: Sequence[tuple[ArraySlot, torch.Tensor]], t: float):
        self._seats, self._t = seats, t

    def __enter__(self) -> float:
        try:
            for place, tensor in self._seats:
                guests.seat(place, tensor)
            guests.wait_for_torch()
        except BaseException:
            self._leave()
            raise
        return self._t

    def __exit__(self, *_: object) -> None:
        guests.wait_for_engine()
        self._leave()

    def _leave(self) -> None:
        for place, _tensor in self._seats:
            place.leave()


class Input:
    """A parameter, or differentiable data, of a term; copied into the term if its values differ."""

    def __init__(self, potential: Potential, name: str):
        term, _, self.argument = name.partition(".")
        self.name, self.potential, self.term = name, potential, potential.parts[term]
        self.role = self.term.energy.roles[self.argument]
        values = self._values()
        self.start = np.array(values)
        self._default = True

    @staticmethod
    def held(term: Any) -> set[str]:
        """The names of the parameters and differentiable data of a term."""
        return set(term.inputs) if hasattr(term, "inputs") else {*term.parameters, *term.data}

    def put(self, given: torch.Tensor | None, overwrite: bool = False) -> None:
        """Set the term's values, or its initial ones; `overwrite`: even if they seem unchanged."""
        self._default &= not overwrite
        if given is not None:
            self._set(guests.numbers(given))
        elif not self._default:
            self._set(self.start)
        self._default = given is None

    def _values(self) -> np.ndarray:
        if hasattr(self.term, "inputs"):
            return self.term.inputs[self.argument]
        if self.argument in self.term.parameters:
            return self.potential.parameter(self.name)
        return storage.host(self.term.data[self.argument])

    def _set(self, values: np.ndarray) -> None:
        """Raises `TensorError` for NaN, infinity, and a parameter outside its bounds."""
        admits = getattr(self.role, "admits", None)
        if not np.isfinite(values).all():
            raise TensorError(f"'{self.name}': needs finite values; check how it was computed")
        if admits and not admits(values):
            bad = values.reshape(-1)[[not admits(v) for v in values.reshape(-1)]][0]
            raise TensorError(
                f"'{self.name}': must be {self.role.limits()}, got {bad:g}; restrict it, for example with exp"
                " or softplus of an unbounded tensor"
            )
        if hasattr(self.term, "inputs"):
            self.term.set_input(self.argument, values)
        elif self.argument in self.term.parameters:
            self.potential.set_parameter(self.name, values)
        else:
            self.term.set_datum(self.argument, values)


def applied(function: type[Function], body: Any, given: Mapping[str, torch.Tensor], *more: Any) -> Any:
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
    def forward(ctx: Any, energy: Energy, names: Any, recorded: bool, *tensors: torch.Tensor) -> Any:
        needed = zip(names, ctx.needs_input_grad[3:], strict=True)
        wanted = tuple(n for n, yes in needed if yes and recorded)
        value, found = energy.evaluate(names, tensors, wanted)
        ctx.energy, ctx.names, ctx.wanted = energy, names, wanted
        ctx.save_for_backward(*tensors, *found)
        return value

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[Any, ...]:
        (slope,) = slopes
        saved = ctx.saved_tensors  # once: PyTorch's checkpoints unpack it at each access
        tensors, found = saved[: len(ctx.names)], saved[len(ctx.names) :]
        if torch.is_grad_enabled():
            found = _Gradient.apply(ctx.energy, ctx.names, ctx.wanted, found, *tensors)
        gradient = dict(zip(ctx.wanted, found, strict=True))
        return None, None, None, *(slope * gradient[n] if n in gradient else None for n in ctx.names)


class _Gradient(Function):
    """The known dU/d(name) for each name in `wanted`; backward: their derivatives along tangents."""

    @staticmethod
    def forward(ctx: Any, energy: Energy, names: Any, wanted: Any, found: Any, *tensors: torch.Tensor) -> Any:
        ctx.energy, ctx.names, ctx.wanted = energy, names, wanted
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return tuple(one.detach() for one in found)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor | None) -> tuple[Any, ...]:
        tensors = ctx.saved_tensors
        tangents = {n: v.contiguous() for n, v in zip(ctx.wanted, slopes, strict=True) if v is not None}
        needed = zip(ctx.names, ctx.needs_input_grad[4:], strict=True)
        wanted = [n for n, yes in needed if yes and tangents]
        changes = ctx.energy.product(ctx.names, tensors, wanted, tangents) if wanted else []
        if torch.is_grad_enabled() and wanted:
            changes = Last.apply(NO_THIRD, changes, *tangents.values(), *tensors)
        found = dict(zip(wanted, changes, strict=True))
        return None, None, None, None, *(found.get(n) for n in ctx.names)


class Last(Function):
    """Known tensors without a further derivative; backward raises `TensorError` with `text`."""

    @staticmethod
    def forward(ctx: Any, text: str, found: Sequence[torch.Tensor], *tensors: torch.Tensor) -> Any:
        ctx.text = text
        return tuple(one.detach() for one in found)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> Any:
        raise TensorError(ctx.text)


def energy(
    scene: Path | str | Simulation | Potential, overrides: Overrides = (), plugins: Plugins = ()
) -> Energy:
    """U of a scene file, a simulation from `minusgrad.build`, or a potential, as a function of tensors.

    `overrides` and `plugins` are those of `minusgrad.run`. Raises `SceneError` with all mistakes.
    """
    if isinstance(scene, Path | str):
        scene = build(scene, overrides, plugins)
    if isinstance(scene, Simulation):
        return Energy(scene.potential, partial(blaming, scene.registry, PluginFailedError))
    return Energy(scene)
