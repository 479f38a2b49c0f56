"""Constant numbers of a term: data of its elements, weights among them, and tables.

Terms may be bound so that their tuples change: checks of new tuples, with their data, are here too.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...elements.changing.changing_tuples import ChangingTuples
from ...elements.elements import Elements
from ...elements.node_tuples import NodeTuples
from ...engine import runtime
from ...errors import EnergyError, RangeError, unknown
from ..fields import Field
from ..local_energy import LocalEnergy
from ..local_map import LocalMap
from ..roles import Datum, Table
from ..term_spec import TermSpec


def datum(
    what: str, role: Datum, value: Any, shape: tuple[int, ...], kept: np.ndarray, dtype: np.dtype
) -> np.ndarray:
    """A datum's values for the elements `kept` of all that were listed; `shape`: of one element's value.

    Raises `EnergyError` for values that are not finite, not of this shape, or not whole where they should be.
    """
    return _shaped_array(what, value, (len(kept), *shape), np.dtype(np.int32) if role.integer else dtype)[
        kept
    ]


def _shaped_array(what: str, value: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    given = np.asarray(value)
    if given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise EnergyError(f"{what}: needs finite numbers")
    with np.errstate(invalid="ignore", over="ignore"):
        array = given.astype(dtype)
        if dtype.kind == "f":
            require_range(what, given, dtype)
    if dtype.kind == "i" and (array != given).any():
        raise EnergyError(
            f"{what}: needs whole numbers below 2^31, got {given[array != given].flat[0]}; round it"
        )
    if not shape[0] and not array.size:
        return array.reshape(shape)
    if array.shape != shape:
        if array.shape != shape[1:]:
            raise EnergyError(
                f"{what}: needs shape {list(shape)} or {list(shape[1:])}, got {list(array.shape)}; reshape it"
            )
        array = np.broadcast_to(array, shape)
    return array


def dimension_of(role: Datum, value: Any) -> int | None:
    """The dimension of space that a datum's shape implies; None if it implies none."""
    shape = np.shape(value)
    if "d" not in role.shape or len(shape) < len(role.shape):
        return None
    return shape[role.shape.index("d") - len(role.shape)]


def require_range(what: str, values: np.ndarray, dtype: np.dtype) -> None:
    """Raise `RangeError` for values that become infinite in this precision, or all zero or subnormal.

    Small values beside larger ones are harmless.
    """
    limits, sizes = np.finfo(dtype), np.abs(np.asarray(values, np.float64))
    finite = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    if not finite.size or (float(limits.tiny) <= finite.max() <= float(limits.max)):
        return
    least, most = f"{float(limits.tiny):.1e}", f"{float(limits.max):.1e}"
    raise RangeError(
        f"{what}: must lie in the range of f{8 * dtype.itemsize}, {least} to {most}, got {finite.max():g};"
        ' use units in which it is nearer to 1, or precision = "f64"'
    )


def check_weights(what: str, arity: int, values: np.ndarray) -> None:
    """Refuse weights whose sum over an element is not zero: F would change if the element is translated.

    Raises `EnergyError`.
    """
    if arity == 1:
        raise EnergyError(
            f"{what}: weights must sum to zero, got elements of one node; use tuples of two or more nodes"
        )
    if not len(values):
        return
    weights = values.astype(np.float64).reshape(*values.shape[:2], -1)
    left, size = np.abs(weights.sum(axis=1)).max(axis=1), np.abs(weights).max(axis=(1, 2))
    if (off := left > 100.0 * np.finfo(values.dtype).eps * size).any():
        e = int(np.argmax(off))
        raise EnergyError(
            f"{what}: the weights of element {e} must sum to zero, got {left[e]:g}; subtract their mean, so"
            " that a translation of the element changes nothing"
        )


def table(what: str, role: Table, numbers: Any, dtype: np.dtype) -> np.ndarray:
    """A table's numbers in the run's precision. Raises `EnergyError` for none, or of another shape."""
    if numbers is None:
        raise EnergyError(f"{what}: needs a table of numbers, got none; give it in `tables`")
    array = np.asarray(numbers)
    with np.errstate(over="ignore"):
        held = array.astype(dtype) if array.dtype.kind in "iuf" else None
    if held is None or not np.isfinite(held).all():
        raise EnergyError(f"{what}: needs finite numbers")
    if array.ndim != role.axes or not array.size:
        raise EnergyError(
            f"{what}: needs {role.axes} axes, none of them empty, got shape {list(array.shape)}; reshape it"
        )
    return held


class Bound(Protocol):
    """A term, as far as its new tuples and data are checked against it."""

    name: str
    energy: LocalEnergy
    fields: dict[str, Field]
    dtype: np.dtype

    @property
    def arity(self) -> int: ...

    def slots(self, argument: str) -> Sequence[int]: ...

    def shape(self, argument: str) -> tuple[int, ...]: ...


def changing_tuples(spec: TermSpec, elements: Elements, periodic: bool) -> ChangingTuples:
    """The elements of a specification as tuples that change.

    Raises `EnergyError` where they cannot: where they are not listed, or other things follow from them.
    """
    refused = {
        "is a map, whose receivers follow from its tuples": isinstance(spec.energy, LocalMap),
        "has elements that are not listed": spec.tuples is None or type(elements) is not NodeTuples,
        "is limited to bodies": bool(spec.bodies),
        "is in a periodic box, whose images follow from its tuples": periodic,
        "is on a device": runtime.arch() != "cpu",
    }
    if found := [why for why, so in refused.items() if so]:
        raise EnergyError(f"{spec.label}: {found[0]}, got changing = True; leave `changing` out")
    return ChangingTuples(elements.nodes)


def checked_tuples(term: Bound, tuples: Any) -> np.ndarray:
    """New tuples of a term, (E, k), int32. Raises `EnergyError` with the first bad row."""
    what = f"{term.name}.tuples"
    nodes = NodeTuples.of(tuples, term.arity, None, what).nodes
    for argument, field in term.fields.items():
        own = list(term.slots(argument))
        if (outside := ((nodes[:, own] < 0) | (nodes[:, own] >= len(field))).any(axis=1)).any():
            row = int(np.argmax(outside))
            raise EnergyError(
                f"{what}: row {row} = {nodes[row].tolist()} names a node outside 0..{len(field) - 1} of"
                f" '{field.name}'; correct it"
            )
    return nodes


def checked_data(term: Bound, given: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    """The data of `count` new tuples, by argument. Raises `EnergyError` for missing and unfit values."""
    roles, every = term.energy.of_role(Datum), np.ones(count, bool)
    if strange := [a for a in given if a not in roles]:
        raise EnergyError(f"{term.name}: {unknown('datum', strange[0], roles)}")
    found = {}
    for argument, role in roles.items():
        what = f"{term.name}.{argument}"
        if argument not in given:
            raise EnergyError(f"{what}: needs a value for each of the {count} new tuples, got none; give it")
        found[argument] = datum(what, role, given[argument], term.shape(argument), every, term.dtype)
    for made in term.energy.linear.values():
        check_weights(f"{term.name}.{made.weights}", term.arity, found[made.weights])
    return found


def refuse_in_runs(terms: Iterable[Any]) -> None:
    """Raise `EnergyError` for a term whose tuples change: no checkpoint would hold them."""
    for term in terms:
        if isinstance(getattr(term, "elements", None), ChangingTuples):
            raise EnergyError(
                f"{term.name}: its tuples change, which no checkpoint holds, so that a resumed run would lose"
                " them; bind it without `changing`, or step it from Python"
            )
