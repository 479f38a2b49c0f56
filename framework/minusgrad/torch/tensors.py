"""Tensors of PyTorch as the engine takes them: what each must be, and how its memory sits in a field's place.

On the CPU kernels read a tensor's own memory, and write gradients into that of tensors made for them; on a
device they are given the tensors. Nothing is copied but the few numbers of parameters and data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
"""Makes `torch.compile` leave a call to Python, between two graphs; with `fullgraph` it is refused."""


TRANSFORMED = (
    "the engine computes one state at a time, and torch.func (vmap, grad, jacrev) cannot transform it: loop"
    " over the batch, and differentiate with backward() or torch.autograd.grad"
)


class Lasting:
    """What holds compiled kernels and has no state: copies of a module share it, and no file holds it."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TensorError(
            "compiled kernels cannot be saved: save the layer's state_dict(), and make another from its scene"
        )


@dataclass(frozen=True)
class Guest:
    """What a tensor must be to stand for `name`: a field, "term.argument" or the time "t"."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    def taken(self, given: Any) -> torch.Tensor:
        """The tensor, or a plain number as one. Raises `TensorError` with the one thing that is wrong."""
        if isinstance(given, int | float) and not self.shape:
            return torch.tensor(given, dtype=self.dtype, device=device())
        refuse_others(self.name, given)
        if given.dtype is not self.dtype:
            raise TensorError(
                f"'{self.name}' is {given.dtype}, and the scene computes in {PRECISIONS[self.dtype]}:"
                f" give it {CASTS[self.dtype]}, or choose [runtime] precision"
            )
        if given.layout is not torch.strided:
            raise TensorError(
                f"'{self.name}' is sparse, and kernels read it where it lies: give it .to_dense()"
            )
        if given.shape != self.shape:
            raise TensorError(f"'{self.name}' has shape {list(given.shape)}, and needs {list(self.shape)}")
        refuse_elsewhere(self.name, given, ", or choose [runtime] arch")
        refuse_transformed(given)
        if not given.is_contiguous():
            raise TensorError(
                f"'{self.name}' is no contiguous piece of memory (strides {list(given.stride())}), and"
                " kernels read it where it lies: give it .contiguous()"
            )
        return given


def refuse_others(name: str, given: Any) -> None:
    """Raises `TensorError` for what is no tensor."""
    if not isinstance(given, torch.Tensor):
        kind = type(given).__name__
        raise TensorError(f"'{name}' is a {kind}, and is to be a tensor: torch.as_tensor(...)")


def refuse_elsewhere(name: str, given: torch.Tensor, or_else: str = "") -> None:
    """Raises `TensorError` for a tensor that does not lie where the engine computes."""
    if given.device != torch.device(device()):
        raise TensorError(
            f"'{name}' is on {given.device}, and the engine computes on {device()}:"
            f' give it .to("{device()}"){or_else}'
        )


def refuse_transformed(tensor: torch.Tensor) -> None:
    """Raises `TensorError` for what stands for many tensors, or for none: it has no memory of its own."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        raise TensorError(TRANSFORMED) from None


def device() -> str:
    """Where tensors must be: "cpu", or "cuda:0" when the engine runs there: it takes the first one.

    Raises `TensorError` where it runs on what PyTorch shares no memory with.
    """
    arch = runtime.arch()
    if arch not in ("cpu", "cuda"):
        raise TensorError(f"the engine computes on {arch}, which shares no tensors: use [runtime] arch")
    return "cuda:0" if arch == "cuda" else arch


def named(tensors: Mapping[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """What a function is given by name, as one mapping and as keywords.

    Raises `TensorError` for a name that is given twice.
    """
    if tensors is not None and not isinstance(tensors, Mapping):
        kind = type(tensors).__name__
        raise TensorError(f'tensors are given by name, f(x=x) or f({{"spring.k": k}}); this is a {kind}')
    if tensors and (twice := [name for name in tensors if name in more]):
        raise TensorError(f"'{twice[0]}' is given twice")
    return {**tensors, **more} if tensors else dict(more)


def taken(known: Mapping[str, Guest], given: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """What is given, each looked at. Raises `TensorError` for what is not what its name needs."""
    for name in given:
        if name not in known:
            raise strange(name, known)
    return {name: known[name].taken(value) for name, value in given.items()}


def strange(name: str, known: Iterable[str]) -> TensorError:
    """The error for an unknown name."""
    return TensorError(f"no '{name}' here{choices(name, known)}")


def empty(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A tensor for what kernels write."""
    return torch.empty(shape, dtype=dtype, device=device())


def seat(place: ArraySlot, tensor: torch.Tensor) -> None:
    """Let a contiguous tensor's memory sit here, until `place.leave()`."""
    refuse_transformed(tensor)
    plain = tensor.detach().resolve_neg()
    if plain.device.type == "cpu" and isinstance(place.own, np.ndarray):
        place.lend(plain.numpy(), plain.data_ptr())
    else:
        place.lend(plain)


def numbers(tensor: torch.Tensor) -> np.ndarray:
    """The numbers of a tensor, for what is copied anyway; on the CPU a view."""
    refuse_transformed(tensor)
    return tensor.detach().cpu().resolve_neg().numpy()


def tensor(values: Any, dtype: torch.dtype) -> torch.Tensor:
    """A copy of NumPy's numbers where tensors are."""
    return torch.tensor(np.asarray(values), dtype=dtype, device=device())


def wait_for_torch() -> None:
    """On a device: what PyTorch has launched is done before kernels read it."""
    if runtime.arch() == "cuda":
        torch.cuda.current_stream(device()).synchronize()


def wait_for_engine() -> None:
    """On a device: kernels are done before PyTorch reads what they wrote."""
    if runtime.arch() != "cpu":
        runtime.sync()
