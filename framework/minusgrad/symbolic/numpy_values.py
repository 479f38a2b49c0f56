"""A graph's numbers, by NumPy: every operation on arrays with a value for each of some elements."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..engine.special_functions import erf
from .graph import reachable
from .scalar import Scalar

NUMPY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "quotient": np.floor_divide,
    "pow": np.power,
    "recip": np.reciprocal,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan2": np.arctan2,
    "tanh": np.tanh,
    "erf": erf,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "to_int": np.trunc,
    "to_real": np.positive,
    "min": np.minimum,
    "max": np.maximum,
    "select": np.where,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}
"""What each operation is."""


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
                known[node.serial] = NUMPY[node.op](*arguments) * 1.0
    return [np.asarray(known[output.serial], np.float64) for output in outputs]


def _looked_up(table: np.ndarray, places: Sequence[Any]) -> np.ndarray:
    """The numbers at whole places, zero outside."""
    at = [np.asarray(place).astype(np.int64) for place in places]
    inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(at, table.shape, strict=True)])
    near = tuple(np.clip(p, 0, n - 1) for p, n in zip(at, table.shape, strict=True))
    return np.where(inside, table[near], 0.0)
