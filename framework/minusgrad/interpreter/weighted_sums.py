"""Weighted sums of arrays as a loss: L = sum of w y, the loss of a reverse that begins with several seeds."""
# mypy: disable-error-code="valid-type, name-defined"
# The annotations of kernels are the engine's, no types.

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..engine import runtime
from .program_arrays import FoundArrays, ProgramArray

Outputs = list[tuple[Any, np.ndarray, tuple[int, ...]]]


def weighted_loss(found: FoundArrays, outputs: Outputs) -> tuple[Callable[[], None], Any]:
    """`weighted_sum` for a case: its function, and its loss, which is added to the arrays of the case."""
    add, new = weighted_sum(outputs)
    for k, array in enumerate(new):
        made = ProgramArray(f"weights {k}" if k else "the weighted sum of outputs", array)
        made.settle()
        found.owners.append(made)
    return add, new[0]


def weighted_sum(outputs: Outputs) -> tuple[Callable[[], None], list[Any]]:
    """A function that adds the sum of weight x output to a new loss field; that field, and other new ones.

    outputs: scalar fields and ndarrays of numbers, each with weights of its shape, and its offset.
    """
    ti = runtime.engine()
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def weigh(y: ti.template(), w: ti.template(), total: ti.template()):
        for I in ti.grouped(y):  # noqa: E741
            total[None] += w[I] * y[I]

    @ti.kernel
    def weigh_one(y: ti.template(), w: ti.f64, total: ti.template()):
        for _ in range(1):
            total[None] += w * y[None]

    @ti.kernel
    def weigh_array(y: ti.types.ndarray(), w: ti.types.ndarray(), total: ti.template()):
        for I in ti.grouped(y):  # noqa: E741
            total[None] += w[I] * y[I]

    new, calls = [loss], []
    for y, weights, offset in outputs:
        values = np.array(weights, np.float64, order="C")
        if not hasattr(y, "snode"):
            calls.append(partial(weigh_array, y, values, loss))
        elif not y.shape:
            calls.append(partial(weigh_one, y, float(values), loss))
        else:
            w = ti.field(ti.f64, y.shape, offset=offset if any(offset) else None)
            w.from_numpy(values)
            new.append(w)
            calls.append(partial(weigh, y, w, loss))

    def add() -> None:
        for call in calls:
            call()

    return add, new
