"""PyTorch tensors in kernels: checks of type, shape and device, and fields that use a tensor's memory.

On the CPU kernels read a tensor's own memory, and write gradients into the memory of new tensors; on a GPU
they take the tensors. Only the values of parameters and data are copied.

Decisions 0394.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn, Self

import numpy as np

import torch

from ..engine import runtime
from ..engine.storage import ArraySlot
from ..errors import TensorError, choices

DTYPES = {"float32": torch.float32, "float64": torch.float64}
PRECISIONS = {torch.float32: "f32", torch.float64: "f64"}
CASTS = {torch.float32: ".float()", torch.float64: ".double()"}

eager = torch.compiler.disable(reason="minusgrad's kernels are compiled already, and no part of a graph")
"""Decorator: `torch.compile` leaves the call to Python, between two graphs; `fullgraph` is refused."""


TRANSFORMED = (
    "torch.func (vmap, grad, jacrev): cannot transform this function; give a batch as tensors with one"
    " dimension more and batch=B, or loop over it, and differentiate with backward() or torch.autograd.grad"
)


class Lasting:
    """Base of objects with compiled kernels and no state: copies share them, and files cannot hold them."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TensorError(
            "kernels: cannot be saved; save the layer's state_dict(), and make a new one from its scene"
        )


@dataclass(frozen=True)
class Guest:
    """Shape and type of the tensor for input `name`: a field, "term.argument" or the time "t"."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    def checked_tensor(self, given: Any, batch: int | None = None) -> torch.Tensor:
        """The checked tensor, of one member or a batch; a plain number becomes one. Raises `TensorError`."""
        if isinstance(given, torch.Tensor):
            if given.dtype is self.dtype and given.shape == self.shape and self._suits_kernels(given):
                return given
        elif isinstance(given, int | float) and not self.shape:
            return torch.tensor(given, dtype=self.dtype, device=device())
        refuse_others(self.name, given)
        if given.dtype is not self.dtype:
            raise TensorError(
                f"'{self.name}': needs the scene's precision {PRECISIONS[self.dtype]}, got {given.dtype};"
                f" use {CASTS[self.dtype]}, or set [runtime] precision"
            )
        if given.layout is not torch.strided:
            raise TensorError(f"'{self.name}': needs a dense tensor, got {given.layout}; use .to_dense()")
        if given.shape != self.shape and (batch is None or given.shape != (batch, *self.shape)):
            raise TensorError(f"'{self.name}': needs shape {self._needed_shapes(given.shape, batch)}")
        refuse_elsewhere(self.name, given, ", or set [runtime] arch")
        refuse_transformed(given)
        if not given.is_contiguous():
            raise TensorError(
                f"'{self.name}': needs a contiguous tensor, got strides {list(given.stride())};"
                " use .contiguous()"
            )
        return given

    def _suits_kernels(self, given: torch.Tensor) -> bool:
        """True if kernels can take its memory. Raises `TensorError` for a tensor of torch.func."""
        if given.layout is not torch.strided or given.device != _torch_device(device()):
            return False
        refuse_transformed(given)
        return given.is_contiguous()

    def _needed_shapes(self, got: Sequence[int], batch: int | None) -> str:
        """The shapes that it may have, and the one that it has; says how a batch is given."""
        if batch is not None:
            own = f"{[batch, *self.shape]}, one for each of {batch} members"
            return f"{list(self.shape)}, shared by all, or {own}, got {list(got)}"
        stacked = len(got) == len(self.shape) + 1 and tuple(got[1:]) == self.shape
        cure = f"; for {got[0]} members, call with batch={got[0]}" if stacked else ""
        return f"{list(self.shape)}, got {list(got)}{cure}"


def refuse_others(name: str, given: Any) -> None:
    """Raises `TensorError` unless `given` is a tensor."""
    if not isinstance(given, torch.Tensor):
        kind = type(given).__name__
        raise TensorError(f"'{name}': needs a tensor, got {kind}; use torch.as_tensor(...)")


def refuse_elsewhere(name: str, given: torch.Tensor, or_else: str = "") -> None:
    """Raises `TensorError` for a tensor on another device than the engine's."""
    if given.device != _torch_device(device()):
        raise TensorError(
            f"'{name}': needs device {device()}, the engine's, got {given.device};"
            f' use .to("{device()}"){or_else}'
        )


def refuse_transformed(tensor: torch.Tensor) -> None:
    """Raises `TensorError` for the tensors of torch.func, which have no memory of their own."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        raise TensorError(TRANSFORMED) from None


def device() -> str:
    """The device of all tensors: "cpu", or "cuda:0" if the engine runs there; it uses the first GPU.

    Raises `TensorError` if the engine's device shares no memory with PyTorch.
    """
    arch = runtime.arch()
    if arch not in ("cpu", "cuda"):
        raise TensorError(f"[runtime] arch: needs cpu or cuda to share memory with PyTorch, got {arch}")
    return "cuda:0" if arch == "cuda" else arch


@cache
def _torch_device(name: str) -> torch.device:
    return torch.device(name)


def named_arguments(tensors: Mapping[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, from a mapping and keywords together.

    Raises `TensorError` for a name that appears in both.
    """
    if tensors is not None and not isinstance(tensors, Mapping):
        kind = type(tensors).__name__
        raise TensorError(f'tensors: give them by name, f(x=x) or f({{"spring.k": k}}), got {kind}')
    if tensors and (twice := [name for name in tensors if name in more]):
        raise TensorError(f"'{twice[0]}': is given twice; give it once")
    return {**tensors, **more} if tensors else dict(more)


def checked_tensors(
    known: Mapping[str, Guest], given: Mapping[str, Any], batch: int | None = None
) -> dict[str, torch.Tensor]:
    """The given tensors, each checked. Raises `TensorError` for an unknown name or an unsuitable tensor."""
    for name in given:
        if name not in known:
            raise strange(name, known)
    return {name: known[name].checked_tensor(value, batch) for name, value in given.items()}


def strange(name: str, known: Iterable[str]) -> TensorError:
    """The error for an unknown name."""
    return TensorError(f"no input named '{name}'{choices(name, known)}")


def empty_tensor(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised tensor for the output of kernels."""
    return torch.empty(shape, dtype=dtype, device=device())


def number(value: float, dtype: torch.dtype) -> torch.Tensor:
    """A number as a tensor of shape () on the engine's device; infinite beyond the range of f32."""
    if dtype is torch.float64 and runtime.arch() == "cpu":
        return torch.from_numpy(np.array(value))  # a third of the time of the other
    return torch.tensor(value, dtype=dtype, device=device())


def new_in(place: ArraySlot, dtype: torch.dtype) -> torch.Tensor:
    """A new tensor, uninitialised, whose memory `place` uses until `place.leave()`."""
    if isinstance(place.own, np.ndarray):
        array = np.empty(place.shape, place.dtype)
        made = torch.from_numpy(array)
        place.lend(array, made.data_ptr())
    else:
        made = empty_tensor(place.shape, dtype)
        place.lend(made)
    return made


def seat(place: ArraySlot, tensor: torch.Tensor) -> None:
    """Make `place` use the memory of a contiguous tensor, until `place.leave()`."""
    refuse_transformed(tensor)
    plain = tensor.detach()
    if plain.is_neg():
        plain = plain.resolve_neg()
    if plain.is_cpu and isinstance(place.own, np.ndarray):
        place.lend(plain.numpy(), plain.data_ptr())
    else:
        place.lend(plain)


def numbers(tensor: torch.Tensor) -> np.ndarray:
    """The values of a tensor as a NumPy array; on the CPU a view."""
    refuse_transformed(tensor)
    return tensor.detach().cpu().resolve_neg().numpy()


def tensor(values: Any, dtype: torch.dtype) -> torch.Tensor:
    """A copy of a NumPy array as a tensor on the engine's device."""
    return torch.tensor(np.asarray(values), dtype=dtype, device=device())


def wait_for_torch() -> None:
    """On a GPU: wait for PyTorch, before kernels read its results."""
    if runtime.arch() == "cuda":
        torch.cuda.current_stream(device()).synchronize()


def wait_for_engine() -> None:
    """On a GPU: wait for kernels, before PyTorch reads their results."""
    if runtime.arch() != "cpu":
        runtime.sync()
