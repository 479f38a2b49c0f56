"""Ranges of the numbers that kernels of a term were verified at; beyond them they are verified again.

A kernel is compared with its reference after its first launch (`codegen.verification`). Numbers that are a
hundred times larger or smaller later may leave the range of the precision. So the sizes of all arguments are
noted with a verification:

    the largest |value| of a field of vectors and of the box;
    the largest and the smallest |value| > 0 of other fields, of parameters, data and the time.

They are looked at when an array was written by other means than a kernel; steppers count a write when they
have taken their steps. Of a large array a fixed sample counts. On a device only parameters and the time are
looked at, since fields would be copied.

Decisions 0032.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import gcd, isfinite
from typing import Any

import numpy as np

from ...energies.roles import Time
from ...energies.term import Term
from ...engine import runtime, storage

Sizes = list[tuple[float, float]]
APART = 100.0
"""Factor by which a size may differ from a verified one."""
SAMPLE = 256
"""Numbers of an array that are looked at."""
FEW = 32
"""Numbers that are compared one by one, which takes less time than a call of NumPy."""
MOST = 64
"""Ranges that are kept: those that were verified last."""


_closed: list[None] = []


@contextmanager
def ranges_closed() -> Iterator[None]:
    """Context manager: ranges are not looked at, while kernels have other parameters than their terms."""
    _closed.append(None)
    try:
        yield
    finally:
        _closed.pop()


class VerifiedRanges:
    """The sizes of a term's arguments where its kernels were verified, numbered."""

    def __init__(self, term: Term):
        self.term = term
        self._read = [(field.array, bool(field.shape[1:])) for field in term.read.values()]
        self._slots = [slot for slot, _ in self._read if hasattr(slot, "writes")]  # not plain arrays
        self._clock = bool(term.energy.of_role(Time))
        self._known: dict[int, Sizes] = {}
        self._numbers = count()
        self._at, self._written = -1, -1
        self._given: tuple[int, Sizes] = -1, []

    def number(self, t: float) -> int:
        """The number of the range that the arguments lie in; a new one where no known range has them."""
        if _closed and self._at in self._known:
            return self._at
        written = self.term.writes
        for slot in self._slots:
            written += slot.writes
        if written != self._written or (self._clock and not self._has_time(t)):
            self._written = written
            self._at = self._range_of(self._argument_sizes(t))
        return self._at

    def _has_time(self, t: float) -> bool:
        """True if the time lies in the present range."""
        low, high = self._known[self._at][-1]
        return t == 0.0 or low <= APART * abs(t) <= APART * APART * high

    def _range_of(self, sizes: Sizes) -> int:
        if self._at in self._known and _covers_sizes(self._known[self._at], sizes):
            return self._at
        if not all(isfinite(most) for _, most in sizes) and self._at in self._known:
            return self._at  # nothing can be compared
        for number, known in self._known.items():
            if _covers_sizes(known, sizes):
                return number
        number = next(self._numbers)
        self._known[number] = sizes
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        return number

    def _argument_sizes(self, t: float) -> Sizes:
        """The lowest and the highest size of each argument; 0 and 0 of one that is zero."""
        on_host = runtime.arch() == "cpu"
        sizes = (
            [_size_range(storage.host(slot), of_vectors) for slot, of_vectors in self._read]
            if on_host
            else []
        )
        if self._given[0] != self.term.writes:
            given = [storage.host(array) for array in self.term.data.values()] if on_host else []
            given += [values.rows for values in self.term.parameters.values()]
            self._given = self.term.writes, [_size_range(values, False) for values in given]
        return [*sizes, *self._given[1], *([(abs(t), abs(t))] if self._clock else [])]


class ProvenRanges:
    """The ranges in which kernels of potentials were verified, for a kernel that has the loops of all."""

    def __init__(self, *potentials: Any):
        self._potentials = potentials
        self._proven: set[tuple[int, ...]] = set()
        self._here: tuple[int, ...] = ()

    def lack(self, t: float) -> bool:
        """True if the present arguments lie in a range that was not noted."""
        self._here = tuple([number for one in self._potentials for number in one.ranges(t)])
        return self._here not in self._proven

    def note(self) -> None:
        """Note the range that `lack` found: all kernels were launched, and so verified, in it."""
        self._proven.add(self._here)


def _covers_sizes(known: Sizes, sizes: Sizes) -> bool:
    """True if sizes are at most 100 times beyond the known ones. What is zero cannot leave the range."""
    if len(known) != len(sizes):
        return False
    for (low, high), (least, most) in zip(known, sizes, strict=True):
        if most != 0.0 and not (least * APART >= low and most <= high * APART):
            return False
    return True


def _size_range(values: np.ndarray, of_vectors: bool) -> tuple[float, float]:
    """The smallest and the largest |value| > 0 of a sample; of vectors the largest alone."""
    flat = values.reshape(-1)
    if of_vectors and 0 < flat.size <= FEW:
        most = max(map(abs, flat.tolist()))
        return most, most
    if flat.size > SAMPLE:
        step, one = flat.size // SAMPLE, flat.size // len(values)
        while gcd(step, one) > 1:
            step += 1  # all components take part
        flat = flat[::step]
    if not flat.size:
        return 0.0, 0.0
    some = np.abs(flat)
    most = float(np.maximum.reduce(some))
    if of_vectors or most == 0.0 or some.dtype.kind != "f":
        return most, most
    return float(some.min(where=some > 0.0, initial=most)), most
