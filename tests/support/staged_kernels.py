"""Kernels of staged energies that several tests use."""

from collections.abc import Callable

import numpy as np

from minusgrad import (
    Between,
    Fields,
    Node,
    Stage,
    bind_staged,
    staged_energy,
    ti,
)
from minusgrad.potential.staged.staged_term import StagedTerm

A = ti.types.ndarray


@ti.kernel
def squares(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i] ** 2


@ti.kernel
def total(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i]


@ti.kernel
def sines(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = ti.sin(x[i])


def of_x(stages: list[Stage], between: dict[str, Between] | None = None, **options) -> StagedTerm:
    """A term of one field x of five numbers."""
    fields = Fields({"x": np.array([0.3, -0.7, 1.9, 2.2, -1.1])})
    return bind_staged(staged_energy("e", stages=stages, between=between, x=Node(), **options), fields)


N = Between(("n",))


def order(value: Callable[[np.ndarray], float], start: np.ndarray, gradient: np.ndarray) -> float:
    """The order of U(a + h d) - U(a) - h grad U . d: 2 where the gradient is true."""
    step = 0.01 * np.random.default_rng(1).normal(size=start.shape)
    h = 0.5 ** np.arange(1, 7)
    rest = [abs(value(start + s * step) - value(start) - s * np.sum(gradient * step)) for s in h]
    return float(np.polyfit(np.log2(h), np.log2(rest), 1)[0])  # 1 if it is wrong


@ti.kernel
def twice_the_slope(x: A(ndim=1), d_U: A(ndim=0), d_x: A(ndim=1)):
    for i in range(x.shape[0]):
        d_x[i] += 2.0 * 2.0 * x[i] * d_U[None]


@ti.kernel
def at_rest(v: A(ndim=1)):
    for i in v:
        v[i] = 0.0


@ti.kernel
def shared(s: A(ndim=0), x: A(ndim=1), U: A(ndim=0)):
    """The value is added in order, but the reverse adds to the adjoint of s from all iterations."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += ti.sin(s[None] * x[i])


X1 = {"x": "y"}
