"""Evaluation of an expression graph in NumPy, for many elements at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .graph import reachable
from .operations import OPERATIONS
from .scalar import Scalar


def numbers(
    outputs: Sequence[Scalar],
    leaves: Mapping[int, np.ndarray],
    tables: Mapping[str, np.ndarray],
    literals: Any = np.float64,
) -> list[np.ndarray]:
    """The outputs in f64, for the values of the leaves (by serial), which have one shape; tables by name.

    `literals`: the type that constants are rounded to.
    """
    known: dict[int, Any] = dict(leaves)
    with np.errstate(all="ignore"):
        for node in reachable(outputs):
            if node.serial in known:
                continue
            if node.number is not None:
                known[node.serial] = np.float64(node.number if node.integer else literals(node.number))
                continue
            arguments = [known[a.serial] for a in node.args]
            if node.op == "lookup":
                known[node.serial] = _looked_up(tables[node.value], arguments)
            else:
                known[node.serial] = value(node, arguments) * 1.0
    return [np.asarray(known[output.serial], np.float64) for output in outputs]


def value(node: Scalar, arguments: Sequence[Any]) -> Any:
    """The value of an operation for those of its arguments, numbers or arrays."""
    function = OPERATIONS[node.op].numpy
    assert function is not None, node.op
    return function(*arguments)


def _looked_up(table: np.ndarray, places: Sequence[Any]) -> np.ndarray:
    """The numbers of a table at integer indices, zero out of bounds."""
    at = [np.asarray(place).astype(np.int64) for place in places]
    inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(at, table.shape, strict=True)])
    near = tuple(np.clip(p, 0, n - 1) for p, n in zip(at, table.shape, strict=True))
    return np.where(inside, table[near], 0.0)
