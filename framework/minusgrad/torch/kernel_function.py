"""Taichi kernels as differentiable functions of tensors: one, or several in sequence.

Each is a staged energy without a sum, under the same rules: a kernel that Taichi would silently differentiate
wrongly is refused, by its source or at its first run.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, TypeVar

import numpy as np
from torch.autograd.function import Function

import torch

from ..energies.declaration import identifier
from ..energies.fields import Fields
from ..energies.roles import Datum, Node, Parameter, Time
from ..energies.staged_energy import Between, Stage, Staged, arguments, staged_energy
from ..engine import runtime
from ..errors import TensorError
from ..potential.staged.staged_binding import bind_staged
from ..potential.staged.staged_term import StagedTerm
from . import tensors as guests
from .energy_function import ENGINE, LastDerivative, apply_function
from .tensors import PRECISIONS

T = TypeVar("T")
MOST = 8
"""Kernels are bound to arrays of one shape; this is the number of shapes that are cached."""
NO_SECOND = "a kernel has first derivatives here, and no second ones: Taichi reverses it once"


class Stages(guests.Lasting):
    """The outputs of staged kernels as a function of tensors, by the names of its inputs.

    One output is a tensor, several are a tuple of them. Tensors are copied into arrays that Taichi can
    differentiate. Raises `TensorError` for a tensor of another type, shape or device.
    """

    def __init__(self, energy: Staged, sizes: Mapping[str, int]):
        self.energy, self.sizes = energy, dict(sizes)
        self._bound: dict[Any, StagedTerm] = {}

    @guests.eager
    def __call__(self, tensors: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
        given = guests.named_arguments(tensors, more)
        roles = self.energy.roles
        for name in given:
            if name not in roles:
                raise guests.strange(name, roles)
        if missing := [name for name in roles if name not in given]:
            raise TensorError(f"{self.energy.name}: '{missing[0]}' is missing (it takes {', '.join(roles)})")
        return self.of(_check_tensors({name: given[name] for name in roles}))

    def of(self, given: Mapping[str, torch.Tensor]) -> Any:
        """The outputs for checked and complete inputs, in their order."""
        found = apply_function(_KernelOutputs, self, given)
        return found if len(self.energy.outputs) > 1 else found[0]

    def outputs(self, given: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The arrays that the last stages write."""
        with ENGINE:
            found = self._stages_at(given).output_values(self._given_time(given))
        precision = _common_precision(given)
        return tuple(guests.tensor(found[name], precision) for name in self.energy.outputs)

    def gradients(
        self, given: Mapping[str, torch.Tensor], wanted: Sequence[str], slopes: Mapping[str, torch.Tensor]
    ) -> list[torch.Tensor]:
        """dL/d(name) for each name in `wanted`, from dL/d(output)."""
        with ENGINE:
            seeds = {name: guests.numbers(slope) for name, slope in slopes.items()}
            found = self._stages_at(given).gradients(wanted, self._given_time(given), seeds)
        return [guests.tensor(found[name], given[name].dtype) for name in wanted]

    def _stages_at(self, given: Mapping[str, torch.Tensor]) -> StagedTerm:
        """The kernels bound to arrays of these shapes, with these values."""
        key = tuple((t.shape, t.dtype) for t in given.values())
        values = {name: guests.numbers(t) for name, t in given.items()}
        term = _keep_recent(self._bound, key, lambda: self._bind_stages(values, _common_precision(given)))
        for name, field in term.fields.items():
            field.set(values[name])
        for name in term.inputs:
            term.set_input(name, values[name])
        return term

    def _bind_stages(self, values: Mapping[str, np.ndarray], precision: torch.dtype) -> StagedTerm:
        fields, data, parameters = (
            {a: values[a] for a in self.energy.of_role(role)} for role in (Node, Datum, Parameter)
        )
        of = Fields(fields, precision=PRECISIONS[precision])
        return bind_staged(self.energy, of, data=data, parameters=parameters, sizes=self.sizes)

    def _given_time(self, given: Mapping[str, torch.Tensor]) -> float:
        return sum(given[name].item() for name in self.energy.of_role(Time))


class Kernel(guests.Lasting):
    """A Taichi kernel as a function of tensors: its inputs in their order, or by name.

        @minusgrad.torch.kernel(after="x")
        @ti.kernel
        def mapped(x: ti.types.ndarray(ndim=2), after: ti.types.ndarray(ndim=2)): ...

        after = mapped(x)

    Arguments that are plain numbers are constants. Raises `EnergyError` for a kernel that Taichi would
    differentiate wrongly, `TensorError` for unsuitable arguments.
    """

    def __init__(self, kernel: Any, outputs: Mapping[str, str | Sequence[int]]):
        if not hasattr(kernel, "grad"):
            raise TensorError("kernel: needs a Taichi kernel; put the decorator above @ti.kernel")
        self.kernel, self.shapes = kernel, dict(outputs)
        update_wrapper(self, kernel)
        names = arguments(kernel)
        if not self.shapes:
            raise TensorError(
                f'{self.__name__}: name its outputs, each with an input of its shape: kernel(after="x")'
            )
        for output in self.shapes:
            if output not in names:
                raise TensorError(f"{self.__name__}: no argument '{output}' (it takes {', '.join(names)})")
        inputs = [a for a in inspect.signature(kernel).parameters.values() if a.name not in self.shapes]
        self.stated = {a.name: a.annotation for a in inputs}
        self.signature = inspect.Signature([a.replace(annotation=inspect.Parameter.empty) for a in inputs])
        for output, like in self.shapes.items():
            if isinstance(like, str) and like not in self.signature.parameters:
                raise TensorError(f"{self.__name__}: '{output}' needs the shape of an input, got '{like}'")
        self._made: dict[Any, Stages] = {}

    __name__: str

    @guests.eager
    def __call__(self, *given: Any, **more: Any) -> Any:
        try:
            bound = self.signature.bind(*given, **more).arguments
        except TypeError as error:
            raise TensorError(
                f"{self.__name__}: {error} (it takes {', '.join(self.signature.parameters)})"
            ) from None
        for name, value in bound.items():
            self._check_kind(name, value)
        numbers = {n: v for n, v in bound.items() if isinstance(v, int | float)}
        tensors = {n: v for n, v in bound.items() if n not in numbers}
        checked = _check_tensors(tensors)
        return self._kernel_stages(numbers, checked).of(checked)

    def _check_kind(self, name: str, value: Any) -> None:
        """Raises `TensorError` for a tensor instead of a constant, or a type other than the annotated one."""
        stated = self.stated[name]
        if not isinstance(stated, runtime.engine().types.ndarray):
            if isinstance(value, torch.Tensor):
                if stated is runtime.engine().template or isinstance(stated, runtime.engine().template):
                    raise TensorError(
                        f"'{name}': must be a ti.types.ndarray to take a tensor, got a ti.template(), which"
                        f" takes fields; write {name}: ti.types.ndarray(dtype=ti.f32, ndim={value.ndim})"
                    )
                raise TensorError(f"'{name}': needs a plain number, got a tensor; use .item()")
            if isinstance(value, float) and str(stated) in ("i32", "i64", "<class 'int'>"):
                raise TensorError(f"'{name}': needs a whole number, got {value!r}")
        elif isinstance(value, torch.Tensor) and value.dtype in PRECISIONS:
            kind = str(getattr(stated.dtype, "dtype", stated.dtype))
            casts = {PRECISIONS[dtype]: cast for dtype, cast in guests.CASTS.items()}
            if kind in casts and kind != PRECISIONS[value.dtype]:
                raise TensorError(f"'{name}': needs {kind}, got {value.dtype}; use {casts[kind]}")

    def _kernel_stages(self, numbers: Mapping[str, float], tensors: Mapping[str, torch.Tensor]) -> Stages:
        """The kernel with these constants, for tensors of these shapes."""
        key = (repr(numbers), *((n, t.shape, t.dtype) for n, t in tensors.items()))
        return _keep_recent(self._made, key, lambda: self._make_stages(numbers, tensors))

    def _make_stages(self, numbers: Mapping[str, float], tensors: Mapping[str, torch.Tensor]) -> Stages:
        shapes = {
            output: tuple(tensors[like].shape) if isinstance(like, str) else tuple(like)
            for output, like in self.shapes.items()
        }
        roles: dict[str, Any] = {
            n: Datum("1", tuple(t.shape), differentiable=_is_real(t), integer=not _is_real(t))
            for n, t in tensors.items()
        }
        energy = staged_energy(
            identifier(self.__name__, "a kernel"),
            stages=[Stage(self.kernel, tuple(self.shapes), numbers=dict(numbers))],
            between={output: Between(shape) for output, shape in shapes.items()},
            outputs=tuple(self.shapes),
            **roles,
        )
        return Stages(energy, {})


def kernel(**outputs: str | Sequence[int]) -> Callable[[Any], Kernel]:
    """Decorator: a Taichi kernel as a function of tensors; `outputs` names the arrays that it writes.

    Each has the shape of an input, after="x", or a given one, U=(). Kernels take `ti.types.ndarray`s.
    """
    return lambda made: Kernel(made, outputs)


def staged(energy: Staged, **sizes: int) -> Stages:
    """The outputs of a sequence of kernels (`staged_energy`) as a function of tensors.

    `sizes`: values of the names in shapes that do not follow from the inputs.
    """
    return Stages(energy, sizes)


def _keep_recent(made: dict[Any, T], key: Any, make: Callable[[], T]) -> T:
    """The cached object for this key, made if necessary; only the most recently used are kept."""
    found = made.pop(key) if key in made else make()
    made[key] = found
    while len(made) > MOST:
        del made[next(iter(made))]
    return found


def _is_real(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point


def _common_precision(given: Mapping[str, torch.Tensor]) -> torch.dtype:
    return next((t.dtype for t in given.values() if _is_real(t)), torch.float64)


def _check_tensors(given: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Check the tensors: type, device, finite values, one precision. Raises `TensorError`."""
    for name, one in given.items():
        guests.refuse_others(name, one)
        if one.dtype not in (*PRECISIONS, torch.int32, torch.int64):
            raise TensorError(f"'{name}': needs float32, float64, int32 or int64, got {one.dtype}")
        guests.refuse_elsewhere(name, one)
        guests.refuse_transformed(one)
        if not one.numel():
            raise TensorError(f"'{name}': is empty; give at least one value")
        if not (torch.isfinite(one).all() if _is_real(one) else (one.abs() <= 2**31 - 1).all()):
            what = "finite" if _is_real(one) else "whole and below 2^31"
            raise TensorError(f"'{name}': all its values must be {what}")
    if len(kinds := {one.dtype for one in given.values() if _is_real(one)}) > 1:
        shown = ", ".join(f"{n} {t.dtype}" for n, t in given.items() if _is_real(t))
        raise TensorError(f"inputs: need one precision, got {shown}; use {guests.CASTS[max(kinds, key=str)]}")
    return dict(given)


class _KernelOutputs(Function):
    """The outputs of kernels; backward runs them forward once more, then Taichi's reverse."""

    @staticmethod
    def forward(ctx: Any, stages: Stages, names: tuple[str, ...], *tensors: torch.Tensor) -> Any:
        ctx.stages, ctx.names = stages, names
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return stages.outputs(dict(zip(names, tensors, strict=True)))

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor | None) -> Any:
        given = dict(zip(ctx.names, saved := ctx.saved_tensors, strict=True))
        outputs = zip(ctx.stages.energy.outputs, slopes, strict=True)
        known = {name: slope for name, slope in outputs if slope is not None}
        needed = zip(ctx.names, ctx.needs_input_grad[2:], strict=True)
        wanted = [name for name, yes in needed if yes]
        found: Any = ctx.stages.gradients(given, wanted, known)
        if torch.is_grad_enabled():
            found = LastDerivative.apply(NO_SECOND, found, *saved, *known.values())
        by_name = dict(zip(wanted, found, strict=True))
        return None, None, *(by_name.get(name) for name in ctx.names)
