"""What plain Taichi's reverse mode says, and the order of what a gradient leaves over: for comparisons."""

from collections.abc import Callable

import numpy as np

from minusgrad import ti
from minusgrad.engine import runtime

ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)
MANY = ti.types.ndarray(dtype=ti.f64, ndim=1)


def array(values: np.ndarray | float) -> ti.ScalarNdarray:
    """An array of Taichi with an adjoint, both as a user must set them: the adjoint at zero."""
    runtime.start()
    made = ti.ndarray(ti.f64, np.shape(values), needs_grad=True)
    made.from_numpy(np.array(values, float))
    made.grad.fill(0)
    return made


def reverse(kernel: Callable, loss: ti.ScalarNdarray, *arguments: ti.ScalarNdarray) -> None:
    """Forward, seed, reverse, as the documentation does it."""
    kernel(*arguments)
    loss.grad.fill(1)
    kernel.grad(*arguments)  # type: ignore[attr-defined]


def order(value: Callable[[np.ndarray], float], at: np.ndarray, gradient: np.ndarray) -> float:
    """The order of U(a + h d) - U(a) - h grad U . d in h: 2 of a true gradient, else 1."""
    step = 0.01 * np.random.default_rng(1).normal(size=at.shape)
    h = 0.5 ** np.arange(1, 7)
    left = [abs(value(at + s * step) - value(at) - s * np.sum(gradient * step)) for s in h]
    return float(np.polyfit(np.log2(h), np.log2(left), 1)[0])
