"""Active cells of sparse fields (bitmasked, pointer, dynamic): read, and written without activating others.

Copying NumPy to a sparse field, as the engine does it, activates every cell; so would setting its adjoint.
"""
# mypy: disable-error-code="valid-type, name-defined"
# The annotations of kernels are the engine's, no types.

from functools import cache
from typing import Any

import numpy as np

from ..engine import runtime

SPARSE = ("pointer", "bitmasked", "dynamic", "hash")
"""Kinds of SNodes whose cells may be inactive."""


def is_sparse(snode: Any) -> bool:
    """True if an SNode, or one above it, has cells that may be inactive."""
    return top(snode) is not None


def top(snode: Any) -> Any:
    """The uppermost sparse SNode above a place; None if there is none."""
    found, node = None, snode.parent()
    while node is not None and hasattr(getattr(node, "ptr", None), "type"):
        kind = str(node.ptr.type).rpartition(".")[2]
        if kind == "root":
            break
        found = node if kind in SPARSE else found
        node = node.parent()
    return found


def active(member: Any) -> np.ndarray:
    """Which cells of a scalar field are active, (shape)."""
    mask = np.zeros(member.shape, np.int32)
    _cell_kernels(runtime.engine(), _engine_number())[0](member, mask)
    runtime.sync()
    return mask.astype(bool)


def write(member: Any, mask: np.ndarray, values: np.ndarray) -> None:
    """Write the values of a scalar field's cells where the mask is true; those cells become active."""
    if mask.any():
        values = np.ascontiguousarray(values)
        _cell_kernels(runtime.engine(), _engine_number())[1](member, mask.astype(np.int32), values)
        runtime.sync()


def _engine_number() -> int:
    """A number of the running engine, whose kernels end with it."""
    return id(runtime.part("lang.impl").get_runtime().prog)


@cache
def _cell_kernels(ti: Any, _: int) -> tuple[Any, Any]:
    """The two kernels, for one start of the engine."""

    @ti.kernel
    def mark(x: ti.template(), mask: ti.types.ndarray()):
        offset = ti.static(x.snode.ptr.offset if len(x.snode.ptr.offset) != 0 else [0] * len(x.shape))
        for I in ti.grouped(x):  # noqa: E741
            mask[I - offset] = 1

    @ti.kernel
    def put(x: ti.template(), mask: ti.types.ndarray(), values: ti.types.ndarray()):
        offset = ti.static(x.snode.ptr.offset if len(x.snode.ptr.offset) != 0 else [0] * len(x.shape))
        for I in ti.grouped(ti.ndrange(*x.shape)):  # noqa: E741
            if mask[I] != 0:
                x[I + offset] = values[I]

    return mark, put
