"""What one call from PyTorch costs: energy and gradient of 1,000 nodes, in ns a call.

    Taichi        a kernel by hand, launched on the tensors: the energy of each node, and its gradient
    minusgrad     U(x=x).backward() of the same energy
    no gradient   U(x=x), where nobody asks for one
    torch         the same in PyTorch's own operations, backward

So few nodes are no work: what is measured is the way there and back.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from minusgrad import Fields, Node, Potential, bind, local_energy, ti

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal, MissingColumnError

TAICHI, FORWARD = "Taichi", "no gradient"
N = 1000


@local_energy("well", over="nodes", x=Node("m", ("d",)))
def well(x):
    """A quartic well."""
    r2 = x[0].norm_sqr()
    return 0.5 * r2 + 0.25 * r2 * r2


def cases() -> Iterator[Case]:
    """One."""
    calls = 20 if session.quick() else 200
    x = np.random.default_rng(0).normal(size=(N, 3))
    gradient = x + (x * x).sum(1)[:, None] * x
    r2 = (x * x).sum(1)
    columns = {
        TAICHI: Column(partial(_by_hand, x, calls), engine=True),
        OURS: Column(partial(_ours, x, calls), engine=True),
        FORWARD: Column(
            partial(_forward, x, calls),
            engine=True,
            expected=lambda: np.array([(0.5 * r2 + 0.25 * r2 * r2).sum()]),
        ),
        "torch": Column(partial(_torch, x, calls)),
    }
    yield Case(
        "torch_call",
        f"{N}",
        "f64",
        columns,
        expected=lambda: gradient,
        tolerance=1e-12,
        count=calls,
        unit="ns a call",
        base=TAICHI,
        goals=(Goal(TAICHI, 2.0),),
        about={"N": N, "calls": calls},
    )


def _tensor(x: np.ndarray, needed: bool = True) -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingColumnError("torch is not installed") from None
    return torch.tensor(x, requires_grad=needed)


def on(x: np.ndarray, calls: int, device: str) -> Call:
    """`U(x=x).backward()` so many times, of a tensor on that device."""
    given, u = _tensor(x).detach().to(device).requires_grad_(), _energy(x)
    return _backward(given, u, calls)


def _ours(x: np.ndarray, calls: int) -> Call:
    return _backward(_tensor(x), _energy(x), calls)


def _backward(given: Any, u: Any, calls: int) -> Call:

    def call() -> np.ndarray:
        for _ in range(calls):
            given.grad = None
            u(x=given).backward()
        return given.grad

    return call


def _forward(x: np.ndarray, calls: int) -> Call:
    given, u = _tensor(x, needed=False), _energy(x)

    def call() -> np.ndarray:
        for _ in range(calls):
            value = u(x=given)
        return value[None]

    return call


def _energy(x: np.ndarray) -> Any:
    import minusgrad.torch

    fields = Fields({"x": x})
    return minusgrad.torch.energy(Potential(fields, [bind(well, fields)]))


def _by_hand(x: np.ndarray, calls: int) -> Call:
    given = _tensor(x, needed=False)
    gradient, energy = given.new_empty(x.shape), given.new_empty(len(x))
    array = ti.types.ndarray

    @ti.kernel
    def kernel(
        x: array(dtype=ti.f64, ndim=2), g: array(dtype=ti.f64, ndim=2), u: array(dtype=ti.f64, ndim=1)
    ):
        for i in range(x.shape[0]):
            r2 = x[i, 0] * x[i, 0] + x[i, 1] * x[i, 1] + x[i, 2] * x[i, 2]
            u[i] = 0.5 * r2 + 0.25 * r2 * r2
            for c in ti.static(range(3)):
                g[i, c] = (1.0 + r2) * x[i, c]

    def call() -> np.ndarray:
        for _ in range(calls):
            kernel(given, gradient, energy)
        ti.sync()
        return gradient

    return call


def _torch(x: np.ndarray, calls: int) -> Call:
    given = _tensor(x)

    def call() -> np.ndarray:
        for _ in range(calls):
            given.grad = None
            r2 = given.square().sum(1)
            (0.5 * r2 + 0.25 * r2 * r2).sum().backward()
        return given.grad

    return call
