"""A batch of members: inputs with one dimension more, results of each, and sums over all in fixed order.

    u_k = U(x_k, p)             x (B, n, d) of each member, p shared
    dL/dx_k = s_k dU/dx (x_k, p)        dL/dp = sum over k of s_k dU/dp (x_k, p),   s = dL/du

Members are evaluated one after another, so that row k has the bits of a call with row k alone. The sum over k
begins with member 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from torch.autograd.function import Function

import torch

from ..errors import NonFiniteError, TensorError
from . import tensors as guests
from .tensors import Guest

UNNAMED = (
    "batch = {count}: no input has a dimension more than one member's; stack the members' values,"
    " torch.stack([...]), or leave `batch` out"
)


@dataclass(frozen=True)
class TensorMembers:
    """The members of one call. count: how many, None without a batch; own: inputs with a value for each."""

    count: int | None
    own: frozenset[str]

    @classmethod
    def of(cls, known: Mapping[str, Guest], given: Mapping[str, torch.Tensor], count: int) -> Self:
        """Raises `TensorError` if no input has the dimension of a batch of so many."""
        own = frozenset(name for name, one in given.items() if one.dim() > len(known[name].shape))
        if not own:
            raise TensorError(UNNAMED.format(count=count))
        return cls(count, own)

    def __iter__(self) -> Iterator[int]:
        """The numbers of the members; 0 without a batch."""
        return iter(range(1 if self.count is None else self.count))

    def shape(self, one: Sequence[int]) -> tuple[int, ...]:
        """The shape of the results of all members, from that of one."""
        return tuple(one) if self.count is None else (self.count, *one)

    def row(self, every: Any, k: int) -> Any:
        """Member k's part of an array or tensor of this shape."""
        return every if self.count is None else every[k]

    def of_member(self, given: Mapping[str, torch.Tensor], k: int) -> dict[str, torch.Tensor]:
        """The inputs of member k."""
        return {name: one[k] if name in self.own else one for name, one in given.items()}

    def along(self, name: str, weights: torch.Tensor, every: torch.Tensor) -> torch.Tensor:
        """The slopes by an input: each member's part times its own number; differentiable."""
        if self.count is None:
            return weights * every
        weights = weights.reshape(weights.shape + (1,) * (every.dim() - weights.dim()))
        return self.sum_over_members(name, weights * every)

    def sum_over_members(self, name: str, every: torch.Tensor) -> torch.Tensor:
        """The derivative by an input, from those of the members: their sum, if they share the input."""
        if self.count is None or name in self.own:
            return every
        (found,) = InOrder.apply(every)
        return found

    @contextmanager
    def naming_member(self, k: int) -> Iterator[None]:
        """Errors inside name the member."""
        try:
            yield
        except (TensorError, NonFiniteError) as error:
            if self.count is None:
                raise
            raise type(error)(f"member {k}: {error}") from error


ALONE = TensorMembers(None, frozenset())
"""A call without a batch: its inputs have the shapes of one member's."""


class Collected:
    """Derivatives by inputs, added member by member: rows of own inputs, sums of shared ones."""

    def __init__(self, members: TensorMembers):
        self.members = members
        self._rows: dict[str, list[np.ndarray]] = {}

    def add(self, name: str, values: np.ndarray) -> None:
        """The derivative of the next member; it is copied."""
        rows, values = self._rows.setdefault(name, []), np.array(values)
        if name in self.members.own or not rows:
            rows.append(values)
        else:
            rows[0] += values

    def tensor(self, name: str, dtype: torch.dtype) -> torch.Tensor:
        """The derivative by an input of all members, in the input's shape."""
        rows = self._rows[name]
        return guests.tensor(np.stack(rows) if name in self.members.own else rows[0], dtype)


class InOrder(Function):
    """The sum over the first dimension, from its first row to its last, whatever the number of threads."""

    @staticmethod
    def forward(ctx: Any, every: torch.Tensor) -> tuple[torch.Tensor]:
        ctx.count = len(every)
        total = every[0].clone()
        for row in every[1:]:
            total += row
        return (total,)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> torch.Tensor:
        return slopes[0].expand(ctx.count, *slopes[0].shape)


def member_count(batch: Any) -> int | None:
    """The number of members. Raises `TensorError` unless it is a whole number of at least 1, or None."""
    if batch is None:
        return None
    if isinstance(batch, torch.Tensor):
        raise TensorError(
            "batch: is the number of members, got a tensor; give an input of this name in the mapping,"
            ' f({"batch": ...})'
        )
    if isinstance(batch, bool) or not isinstance(batch, Integral) or batch < 1:
        raise TensorError(f"batch: needs a whole number of at least 1, got {batch!r}; give len(x)")
    return int(batch)


def checked_call(
    known: Mapping[str, Guest], tensors: Mapping[str, Any] | None, more: Mapping[str, Any], batch: Any
) -> tuple[dict[str, torch.Tensor], TensorMembers]:
    """The checked arguments of a call by name, and its members. Raises `TensorError`."""
    count = member_count(batch)
    given = guests.checked_tensors(known, guests.named_arguments(tensors, more), count)
    return given, ALONE if count is None else TensorMembers.of(known, given, count)
