"""Ranges of the numbers that kernels of a term were verified at; beyond them they are verified again.

A kernel is compared with its reference after its first launch (`codegen.verification`). Numbers that are a
hundred times larger or smaller later may leave the range of the precision. So the sizes of all arguments are
noted with a verification:

    the largest |value| of a field of vectors and of the box;
    the largest and the smallest |value| > 0 of other fields, of parameters, data and the time.

They are looked at when an array was written by other means than a kernel, and wherever the energy is asked.
Of a large array a fixed sample counts. On a device only parameters and the time are looked at, since fields
would be copied.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import gcd
from typing import Any

import numpy as np

from ..energies.roles import Time
from ..energies.term import Term
from ..engine import runtime, storage

APART = 100.0
"""Factor by which a size may differ from a verified one."""
SAMPLE = 256
"""Numbers of an array that are looked at."""
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
        self._slots = [field.array for field in term.read.values()]
        self._clock = bool(term.energy.of_role(Time))
        self._known: dict[int, np.ndarray] = {}
        self._numbers = count()
        self._at, self._written = -1, -1

    def number(self, t: float, look: bool = False) -> int:
        """The number of the range that the arguments lie in; a new one where no known range has them.

        look: also where nothing was written.
        """
        if _closed and self._at in self._known:
            return self._at
        written = self.term.writes
        for slot in self._slots:
            written += slot.writes
        if written != self._written or look or (self._clock and not self._has_time(t)):
            self._written = written
            self._at = self._range_of(np.array([*self._sizes(t)]))
        return self._at

    def _has_time(self, t: float) -> bool:
        """True if the time lies in the present range."""
        low, high = self._known[self._at][-2:]
        return t == 0.0 or low <= APART * abs(t) <= APART * APART * high

    def _range_of(self, sizes: np.ndarray) -> int:
        if not np.isfinite(sizes).all():
            return self._at if self._at in self._known else self._noted(sizes)  # nothing can be compared
        for number in (self._at, *self._known):
            known = self._known.get(number)
            if known is not None and _covers(known, sizes):
                return number
        return self._noted(sizes)

    def _noted(self, sizes: np.ndarray) -> int:
        number = next(self._numbers)
        self._known[number] = sizes
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        return number

    def _sizes(self, t: float) -> Iterator[float]:
        """The lowest and the highest size of each argument; 0 and 0 of one that is zero."""
        term = self.term
        if runtime.arch() == "cpu":
            for field in term.read.values():
                one = field.shape[1:]
                yield from _sizes(storage.host(field.array), bool(one))
            for array in term.data.values():
                yield from _sizes(storage.host(array), False)
        for values in term.parameters.values():
            yield from _sizes(values.rows, False)
        if self._clock:
            yield from (abs(t), abs(t))


class ProvenRanges:
    """The ranges in which kernels of potentials were verified, for a kernel that has the loops of all."""

    def __init__(self, *potentials: Any):
        self._potentials = potentials
        self._proven: set[tuple[int, ...]] = set()
        self._here: tuple[int, ...] = ()

    def lack(self, t: float, look: bool = False) -> bool:
        """True if the present arguments lie in a range that was not noted; `look`: as of `VerifiedRanges`."""
        self._here = tuple([number for one in self._potentials for number in one.ranges(t, look)])
        return self._here not in self._proven

    def note(self) -> None:
        """Note the range that `lack` found: all kernels were launched, and so verified, in it."""
        self._proven.add(self._here)


def _covers(known: np.ndarray, sizes: np.ndarray) -> bool:
    """True if sizes are at most 100 times beyond the known ones. What is zero cannot leave the range."""
    low, high = known[::2], known[1::2]
    there, above = sizes[::2], sizes[1::2]
    return bool(((there * APART >= low) | (above == 0.0)).all() and (above <= high * APART).all())


def _sizes(values: np.ndarray, of_vectors: bool) -> tuple[float, float]:
    flat = values.reshape(-1)
    step, one = max(1, flat.size // SAMPLE), flat.size // max(len(values), 1)
    while step > 1 and gcd(step, one) > 1:
        step += 1  # all components take part
    some = np.abs(flat[::step])
    if not some.size:
        return 0.0, 0.0
    most = float(some.max())
    if of_vectors or most == 0.0 or some.dtype.kind != "f":
        return most, most
    return float(some.min(where=some > 0.0, initial=most)), most
