"""Benchmark cases: one question, with its answer in f64, asked of several columns.

A column is a way to compute it: ours, C, a peer. Its maker prepares what a user would keep from call to call
(arrays in its layout, compiled functions) and returns the call; the call computes the answer again,
and returns when all that it started has finished.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from minusgrad.errors import MinusgradError, UserError

Call = Callable[[], Any]
Expected = Callable[[], np.ndarray]

OURS, C = "minusgrad", "C"


class BenchError(MinusgradError):
    """A benchmark that could not be finished."""


class MissingColumnError(UserError):
    """Why a column cannot be measured here; it is left out by name."""


class WrongAnswerError(BenchError):
    """A column computes something else: no time of it means anything."""


class Clocked(NamedTuple):
    """What a call returns that has looked at the clock itself, such as one that starts a process.

    `memory`: peak bytes of a process that goes on; None for those that have ended.
    """

    seconds: float
    answer: Any
    memory: int | None = None


class Posed(NamedTuple):
    """What a maker returns whose program states the problem itself: the call, and the energy of its start."""

    call: Call
    energy: float


@dataclass(frozen=True)
class Column:
    """A way to compute the answer. `engine`: written for our engine, and measured on each that is asked for.

    `most`: items that it is still bearable for; beyond, it is left out. `peer`: counts among the peers.
    `expected`: of a column that stands there for a ratio alone, and answers something else.
    """

    make: Callable[[], Call | Posed]
    engine: bool = False
    peer: bool = False
    most: float = np.inf
    expected: "Expected | None" = None


@dataclass(frozen=True)
class Goal:
    """`column` shall take at most `ratio` times as long as `base`; on one engine, or on each."""

    base: str
    ratio: float
    engine: str = ""
    column: str = OURS


@dataclass(frozen=True)
class Case:
    """One question; times are given for each of its `count` items, in ns or ms `unit`s.

    `expected`: the answer in f64, or its first rows; None where there is none to compare. `tolerance`: in
    parts of the largest number expected. `base`: the column that ratios are to. `shared`: its columns live in
    a process for each engine that stays for the next case. `energy`: that of the start in f64, in whose parts
    every column's own one may differ by `agreement`; with it every column is `Posed`.
    """

    work: str
    name: str
    precision: str
    columns: Mapping[str, Column]
    expected: Expected | None
    tolerance: float = 0.0
    count: int = 1
    unit: str = "ms"
    base: str = C
    goals: tuple[Goal, ...] = ()
    threads: int = 0
    shared: bool = False
    energy: Callable[[], float] | None = None
    agreement: float = 0.0
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """As messages and files name it."""
        return f"{self.work}[{'-'.join(part for part in (self.name, self.precision) if part)}]"

    @property
    def scale(self) -> float:
        """From seconds to the unit."""
        return (1e3 if self.unit.startswith("ms") else 1e9) / self.count


Cases = Iterator[Case]


def numbers(array: Any) -> np.ndarray:
    """Anybody's array in f64: NumPy's, torch's, JAX's, Warp's, Taichi's, numba's."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    for name in ("copy_to_host", "to_numpy", "numpy"):
        if hasattr(array, name):
            array = getattr(array, name)()
            break
    return np.asarray(array, dtype=float)


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, in parts of the largest number expected; infinite for what is no number.

    What is expected may be the first rows of what was found.
    """
    found = found[: len(expected)] if found.ndim else found
    if found.shape != expected.shape:
        return np.inf
    worst = float(np.abs(found - expected).max() / (np.abs(expected).max() or 1.0))
    return worst if np.isfinite(worst) else np.inf
