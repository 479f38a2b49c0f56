"""Verification of compiled kernels against NumPy: once for each, after its first launch.

A compiler may translate the value itself wrongly, which no check of a gradient against values detects; and
numbers may leave the range of the precision on the way. So the numbers of a kernel for some elements are
compared with the traced graph evaluated by NumPy in a wider type, and the graph's energy with the function
run as plain Python. A kernel that is off beyond rounding

    under- or overflows   if the reference does the same as soon as its range is limited: `RangeError`
    is translated wrongly otherwise: `MiscompiledError`

Numbers that cancellation leaves without digits are accepted: no order of the same operations has more
(`element_samples`). Where the reference is not finite in f64 nothing is compared: the caller sees infinity or
NaN, and runs name the step.

This holds for the state at the first launch. Later states may underflow unnoticed; an overflow becomes
infinite or NaN, which runs notice.

Decisions 0257, 0258.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ...energies.local_map import numbers_of
from ...engine import runtime, storage
from ...errors import MiscompiledError, RangeError
from ...symbolic.formulas import formula, operation
from ...symbolic.scalar import Scalar
from ..kept_traces import KEPT
from ..tracing import Trace
from .element_samples import Number, Places

ROOM = {"float32": 1e-2, "float64": 1e-6}
"""Tolerance relative to the largest numbers; a wrong kernel is off by about all of them."""
FINE = {"float32": 1e-4, "float64": 1e-9}
"""The same for numbers that the reference, limited in range, explains."""
CONDITION = 1e3
"""Tolerance in multiples of the change that an eps in every operation makes."""
TINY = float(np.finfo(np.float64).tiny)
HARMLESS = {"float32": 1e-6, "float64": 1e-14}
"""Underflows that are smaller than this part of the largest number of their kind are accepted."""
MARGINS = (1.0, 2.0**24)
"""Factors that narrow the range: compilers multiply in another order, with other partial products."""
CULPRITS = 300
"""Most operations that are tried one by one."""


def quiet(function: Callable[..., None]) -> Callable[..., None]:
    """The function without NumPy's warnings about infinities and NaN."""

    @wraps(function)
    def call(*arguments: Any) -> None:
        with np.errstate(all="ignore"):
            function(*arguments)

    return call


@quiet
def compare(places: Places, wanted: Sequence[Number], found: Sequence[np.ndarray]) -> None:
    """Compare a kernel's numbers with the reference. Raises `RangeError` and `MiscompiledError`."""
    term = places.term
    exact, sizes = places.reference(wanted)
    scale = sizes.max(axis=1, initial=0.0, keepdims=True) if places.largest else sizes
    tiny = float(np.finfo(term.dtype).tiny)  # smaller ones may be zero
    count = max(len(some.rows) for some in places.samples) if places.sums else 1
    compiled = np.array(found, exact.dtype).reshape(exact.shape)
    if (np.abs(compiled - exact) <= FINE[term.dtype.name] * scale + count * tiny).all():
        return  # whatever rounding may move
    rounding = CONDITION * _of_kin(wanted, places.rounding_reach(wanted)) + count * tiny
    room = FINE[term.dtype.name] * scale + rounding
    known = (np.abs(exact) <= np.finfo(np.float64).max) & np.isfinite(room)
    wrong = known & ~(np.abs(compiled - exact) <= room)
    coarse = ROOM[term.dtype.name] * scale + rounding
    for n in map(int, np.flatnonzero(wrong.any(axis=1))):
        kin = [m for m, other in enumerate(wanted) if other.name == wanted[n].name]
        largest = np.where(known, sizes, 0.0)[kin].max()
        left = _outside_of_range(places, wanted[n], wrong[n], compiled[n], exact[n], room[n], largest)
        translated = left & np.isfinite(compiled[n]) & ~(np.abs(compiled[n] - exact[n]) <= coarse[n])
        if translated.any():
            k = int(np.argmax(translated))
            _raise_miscompiled(places, wanted[n].name, places.labels[k], compiled[n, k], exact[n, k])


def _of_kin(wanted: Sequence[Number], moved: np.ndarray) -> np.ndarray:
    """The largest move of each number and of those of its name at the same place.

    A number that is exactly zero, as a stress beside the axes of an undeformed cell, does not move when
    its factors, zeros, are perturbed by factors; a kernel that mixes components rounds it like the others.
    """
    names = [number.name for number in wanted]
    return np.array([moved[[other == name for other in names]].max(axis=0) for name in names])


def compare_plainly(places: Places, traced: Trace) -> None:
    """The graph of the energy against the function itself, for two elements. Raises `MiscompiledError`.

    Of a map, the graphs of all components of its outputs.
    """
    some = places.samples[-1]
    chosen = [0, len(some.rows) - 1 if some.counted is None else some.counted.sum() // 2] * bool(
        len(some.rows)
    )
    with np.errstate(all="ignore"):
        of_graph = np.array(some.exact(traced.values))
    evaluate = some.term.energy.evaluator()
    for k in chosen:
        try:
            right = numbers_of(evaluate(some.arguments(k)))
        except ArithmeticError:
            continue
        room = ROOM["float64"] * np.abs(right) + TINY  # Python's floats underflow
        with np.errstate(invalid="ignore"):  # the difference of two infinities
            off = np.isfinite(right) & ~(np.abs(of_graph[:, k] - right) <= room)
        if off.any():
            with np.errstate(all="ignore"):
                room = room + CONDITION * some.numbers_with_rounding(traced.values)[1][:, k]
                off &= np.isfinite(room) & ~(np.abs(of_graph[:, k] - right) <= room)
        if off.any():
            KEPT.hold(some.term)  # refuses a function that reads other values now
            n = int(np.argmax(off))
            _raise_miscompiled(places, "u in the traced graph", some.rows[k], of_graph[n, k], float(right[n]))


# Causes ---------------------------------------------------------------------------------------------


def _outside_of_range(
    places: Places,
    number: Number,
    wrong: np.ndarray,
    found: np.ndarray,
    exact: np.ndarray,
    room: np.ndarray,
    largest: float,
) -> np.ndarray:
    """The places at which the range does not explain a wrong number.

    Raises `RangeError` where it does, and is not harmless.
    """
    for margin in MARGINS:
        limits = _Limits(places, margin)
        there = places.number_with_change(number, limits)
        if (left := wrong & ~(np.abs(there - exact) <= room)).any():
            harmful = left & ~(np.abs(found - exact) <= HARMLESS[places.term.dtype.name] * largest)
            if harmful.any():
                k = int(np.argmax(harmful))
                _raise_range(places, number, k, (found[k], exact[k], room[k]), limits)
            wrong = wrong & ~left
    return wrong


class _Limits:
    """The range of a precision, narrowed by a factor: flushes results of operations that leave it.

    `flushed`: the nodes (by serial) that did. `only`: the one node that it holds for.
    """

    def __init__(self, places: Places, margin: float, only: int | None = None):
        info = np.finfo(places.term.dtype)
        self.margin, self.only, self.flushed = margin, only, dict[int, Scalar]()
        self.least, self.most = float(info.tiny) * margin, float(info.max) / margin

    def __call__(self, node: Scalar, found: Any) -> Any:
        if self.only is not None and node.serial != self.only:
            return found
        size = np.abs(found)
        small, large = (size < self.least) & (size > 0.0), (size > self.most) & np.isfinite(size)
        if not (small | large).any():
            return found
        self.flushed[node.serial] = node
        return np.where(small, 0.0, np.where(large, np.copysign(np.inf, found), found))


def _find_culprit(
    places: Places, number: Number, k: int, right: tuple[float, float], limits: _Limits
) -> Scalar:
    """The first operation whose under- or overflow alone moves the number at a place; else the first."""
    exact, room = right
    for serial in sorted(limits.flushed)[:CULPRITS]:
        alone = places.number_with_change(number, _Limits(places, limits.margin, serial))[k]
        if not abs(alone - exact) <= room:
            return limits.flushed[serial]
    return limits.flushed[min(limits.flushed)]


def _raise_range(
    places: Places, number: Number, k: int, numbers: tuple[float, float, float], limits: _Limits
) -> None:
    found, exact, room = numbers
    term = places.term
    node = _find_culprit(places, number, k, (exact, room), limits)
    text, value = _in_numbers(places, k, node, limits)
    info, precision = np.finfo(term.dtype), storage.ENGINE_DTYPES[term.dtype.name]
    near = "where" if limits.margin == 1.0 else "near"
    cure = ', or precision = "f64"' if precision == "f32" else ""
    finding = (
        f"term '{term.name}', {places.noun} {places.labels[k]}: {number.name} leaves the range of"
        f" {precision}, {_two_digits(info.tiny)} to {_two_digits(info.max)}, {near} {text} = {value}:"
        f" got {float(found):.6g} in place of {float(exact):.6g}"
    )
    raise RangeError(f"{finding}; use units in which such numbers are nearer to 1{cure}", finding)


def _in_numbers(places: Places, k: int, node: Scalar, limits: _Limits) -> tuple[str, str]:
    """An operation, by its formula or by the values of its arguments, and its result at a place."""
    some = places.samples[k] if places.sums else places.samples[0]
    values = some.exact([node, *node.args])
    if not places.sums:
        values = [one[k : k + 1] for one in values]
    size = np.abs(values[0])
    at = int(np.argmax((size > 0.0) & ((size < limits.least) | (size > limits.most))))
    result, *arguments = (_two_digits(one[at]) for one in values)
    return formula(node) or operation(node, arguments), result


def _two_digits(value: Any) -> str:
    """A number with two digits, also one beyond the range of f64."""
    return np.format_float_scientific(value, precision=1, unique=False, exp_digits=2)


def _raise_miscompiled(places: Places, what: str, label: int, found: float, right: float) -> None:
    raise MiscompiledError(
        f"term '{places.term.name}', {places.noun} {label}: {what} is {found:.9g} in the compiled kernel and"
        f" {right:.9g} by its function: engine '{runtime.engine_name()}' has translated it wrongly; set"
        " [runtime] engine to the other one, or fast_math = false, and please report it"
    )
