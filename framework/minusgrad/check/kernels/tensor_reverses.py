"""Reverses of kernels with PyTorch tensors, as in the `backward` of a `torch.autograd.Function`.

    f(x, y)                              the tensors at the launch are kept
    y.grad = grad_of_y; f.grad(x, y)     the seeds: adjoints of its tensors before the reverse

Each kernel is asked by itself, on copies of its tensors: the loss is the sum of seed x value of the tensors
that had an adjoint. What PyTorch computes between kernels is not asked.

Decisions 0084.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ...interpreter.case import Case, CaseTable
from ...interpreter.program_arrays import HostArray, alive, host_memory, is_host_array, is_tensor
from ...interpreter.weighted_sums import weighted_loss

KEPT = 8
"""The launches of each kernel whose tensors are kept."""
Arguments = tuple[Any, ...]


@dataclass
class TensorReverses:
    """The first reverse with a seed of each kernel that was given tensors, and its launch forward."""

    module: ModuleType
    ran: dict[Callable, list[tuple[Any, Arguments, Arguments]]] = field(default_factory=dict)
    """Launches: the kernel, its arguments, and these with copies of the arrays."""
    asked: dict[Callable, Case] = field(default_factory=dict)

    def forward(self, function: Callable, kernel: Any, arguments: Arguments) -> None:
        """Keep the arrays of a launch with tensors."""
        if any(map(is_tensor, arguments)):
            kept = self.ran.setdefault(function, [])
            kept.append((kernel, arguments, tuple(map(_copy_as_leaf, arguments))))
            del kept[:-KEPT]

    def reverse(self, function: Callable, arguments: Arguments) -> bool:
        """Take a reverse whose arguments are tensors; False for another one."""
        if not any(map(is_tensor, arguments)):
            return False
        if function not in self.asked or self.asked[function].unasked:
            self.asked[function] = self._make_case(function, arguments)
        return True

    def cases(self) -> Iterator[Case]:
        """A case for each kernel that was reversed."""
        yield from self.asked.values()

    def _make_case(self, function: Callable, arguments: Arguments) -> Case:
        name = f"'{function.__name__}' with tensors"
        launch = self.launch(function, arguments)
        if launch is None:
            return Case(name, CaseTable(), unasked="it was reversed, and its launch forward was not seen")
        kernel, copies = launch
        outputs = [
            (copy, seed, (0,) * seed.ndim)
            for copy, seed in zip(copies, map(seed_of, arguments), strict=True)
            if seed is not None and seed.any()
        ]
        if not outputs:
            return Case(name, CaseTable(), unasked="it was reversed, and none of its tensors had an adjoint")
        found = alive(vars(self.module))
        found.owners = [one for one in found.owners if not isinstance(one, HostArray)]
        names = inspect.signature(function).parameters
        given = [(n, c) for n, c in zip(names, copies, strict=False) if is_host_array(c)]
        found.owners += [HostArray(n, c, names=(n,)) for n, c in given]
        for one in found.owners:
            one.settle()
        add, loss = weighted_loss(found, outputs)

        def run() -> None:
            kernel(*copies)
            add()

        return Case(name, CaseTable(), run, guessed=True, loss=loss, found=found)

    def launch(self, function: Callable, arguments: Arguments) -> tuple[Any, Arguments] | None:
        """The kernel and copies of the last launch with these tensors, else of the last one like it."""
        launches = self.ran.get(function, [])
        for alike in (_host_memories, _array_shapes):
            for kernel, given, copies in reversed(launches):
                if alike(given) == alike(arguments):
                    return kernel, copies
        return None


def _copy_as_leaf(value: Any) -> Any:
    """A copy of an array, a tensor of real numbers as a leaf with an adjoint; another value itself."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if not is_tensor(value):
        return value
    made = value.detach().clone()
    return made.requires_grad_(value.requires_grad) if made.is_floating_point() else made


def seed_of(value: Any) -> np.ndarray | None:
    """The adjoint of a tensor as numbers, if it has one."""
    if not is_tensor(value) or not value.requires_grad or value.grad is None:
        return None
    return np.array(value.grad.detach().cpu().numpy(), np.float64)


def _host_memories(arguments: Arguments) -> list[Any]:
    return [host_memory(value) for value in arguments if is_host_array(value)]


def _array_shapes(arguments: Arguments) -> list[Any]:
    return [tuple(value.shape) for value in arguments if is_host_array(value)]
