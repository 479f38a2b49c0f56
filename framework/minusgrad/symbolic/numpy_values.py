"""Evaluation of an expression graph in NumPy, for many elements at once.

The results of operations can be changed on the way (`After`): perturbed by rounding errors, to see how far
they move the outputs, or limited to the range of a precision, to see where it underflows or overflows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .graph import reachable
from .operations import OPERATIONS, TRUTHS
from .scalar import Scalar

After = Callable[[Scalar, Any], Any]
"""Of an operation that rounds and its result: the number in its place."""
Step = tuple[int, Scalar, Callable[..., Any] | None, tuple[int, ...] | None]
"""A node by serial, the function of NumPy (none of lookups), and its arguments (none of constants)."""
EXACT = frozenset({"select", "min", "max", "abs", "to_real", "lookup"})
"""Operations that do not round: they return one of their arguments, or a number of a table."""


def numbers(
    outputs: Sequence[Scalar],
    leaves: Mapping[int, np.ndarray],
    tables: Mapping[str, np.ndarray],
    literals: Any = np.float64,
    after: After | None = None,
    wide: Any = np.float64,
) -> list[np.ndarray]:
    """The outputs, for the values of the leaves (by serial), which broadcast together; tables by name.

    `literals`: the type that constants are rounded to; `wide`: the type to compute in; `after`: see `After`.
    """
    known: dict[int, Any] = dict(leaves)
    one = wide(1.0)
    with np.errstate(all="ignore"):
        for serial, node, function, places in _evaluation_steps(outputs):
            if serial in known:
                continue
            if places is None:
                known[serial] = wide(node.number if node.integer else literals(node.number))
                continue
            arguments = [known[place] for place in places]
            if function is None:
                found = _looked_up(tables[node.value], arguments)
            else:
                found = function(*arguments)
                found = found if getattr(found, "dtype", None) is one.dtype else found * one
            known[serial] = found if after is None or not rounds(node) else after(node, found)
    return [np.asarray(known[output.serial], wide) for output in outputs]


def _evaluation_steps(outputs: Sequence[Scalar]) -> list[Step]:
    """The operations that the outputs need, in order; looked up once for each graph."""
    if not outputs:
        return []
    key = ("steps", tuple([one.serial for one in outputs]))
    return outputs[0].graph.once(key, lambda: [_evaluation_step(node) for node in reachable(outputs)])


def _evaluation_step(node: Scalar) -> Step:
    function = OPERATIONS[node.op].numpy if node.op != "lookup" else None
    places = None if node.number is not None else tuple([a.serial for a in node.args])
    return node.serial, node, function, places


def value(node: Scalar, arguments: Sequence[Any]) -> Any:
    """The value of an operation for those of its arguments, numbers or arrays."""
    function = OPERATIONS[node.op].numpy
    assert function is not None, node.op
    return function(*arguments)


def rounds(node: Scalar) -> bool:
    """True if the result of an operation is a real number that may need more digits than there are."""
    row = OPERATIONS[node.op]
    return not (
        node.integer or node.op in EXACT or node.op in TRUTHS or row.result == "whole" or row.rounding
    )


def _looked_up(table: np.ndarray, places: Sequence[Any]) -> np.ndarray:
    """The numbers of a table at integer indices, zero out of bounds."""
    at = np.broadcast_arrays(*(np.asarray(place).astype(np.int64) for place in places))
    inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(at, table.shape, strict=True)])
    near = tuple(np.clip(p, 0, n - 1) for p, n in zip(at, table.shape, strict=True))
    return np.where(inside, table[near], 0.0)
