"""Inputs that reach the loss, and which of their numbers a run reads before it overwrites them.

A trajectory x[t] whose first row is read and whose other rows are overwritten is an input by its first row:
the adjoints of the others belong to values that the run computed. The replay tells which; where there is
none, the compiled kernels do: numbers are moved a little, and the loss stays or changes.

Decisions 0082.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import numpy as np

from ...errors import TraceError
from ...interpreter.array_memory import IndexOutsideError
from ...interpreter.program_arrays import ProgramArray
from ...interpreter.recorded_launches import RecordedLaunch, Recording, around_kernels
from ...interpreter.replay import Replay, replay
from ..questions import field_spread

LITTLE = 2.0**-12
"""How far numbers are moved, in parts of their spread."""
FEW, RUNS, SECONDS = 26, 48, 5.0
"""The runs for one array: at most `RUNS`, and so many as take `SECONDS`, but at least `FEW`."""


def choose_inputs(launches: Recording, ran: Sequence[RecordedLaunch]) -> Replay | None:
    """Keep the inputs that reach the loss (all that are declared), each with the numbers that are read.

    Returns the replayed run, None where there is none.

    Raises `TraceError`, so that the case is not asked, if none reaches the loss.
    """
    candidates = _left_alone(launches, [h for h in launches.inputs if h.is_real])
    try:
        followed = replay(launches, ran, candidates)
    except IndexOutsideError:
        _keep(launches, [h for h in candidates if h.start.any()] or candidates)
        return None
    except Exception as error:  # a fault of the replay, or a kernel that it cannot follow
        followed, launches.unfollowed = None, error
    reach = _by_runs(launches, candidates) if followed is None else _by_replay(launches, followed, candidates)
    _keep(launches, reach)
    return followed


def _left_alone(launches: Recording, candidates: Sequence[ProgramArray]) -> list[ProgramArray]:
    """The candidates that Python does not overwrite before the first launch; of some, the numbers."""
    starts = [handle.start for handle in candidates]
    for handle, start in zip(candidates, starts, strict=True):
        handle.start = (start + LITTLE * field_spread(start)).astype(start.dtype)
    first: list[np.ndarray] = []

    def launched(kernel: Any, run: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
        del kernel, arguments
        if not first:
            first.extend(handle.values for handle in candidates)
        return run()

    try:
        with around_kernels(launched):
            launches.begin()
            launches.run()
    finally:
        moved = [handle.start for handle in candidates]
        for handle, start in zip(candidates, starts, strict=True):
            handle.start = start
    found = []
    for handle, before, there in zip(candidates, moved, first or moved, strict=True):
        kept = there == before
        if not kept.all():
            handle.read = kept
        if kept.any() or launches.table.inputs:
            found.append(handle)
    return found


def _keep(launches: Recording, reach: Sequence[ProgramArray]) -> None:
    if launches.table.inputs:
        return
    launches.inputs = [h for h in launches.inputs if any(h is one for one in reach)]
    if not launches.inputs:
        raise TraceError(
            f"{launches.case.name}: has no inputs to differentiate: no array with a gradient reaches the loss"
            f" '{launches.loss.name}'; make them with needs_grad=True, or name them in `inputs`"
        )


def _by_replay(
    launches: Recording, followed: Replay, candidates: Sequence[ProgramArray]
) -> list[ProgramArray]:
    """The candidates that the loss depends on, also through casts, branches and indices."""
    reached = followed.reached_serials(launches.loss)
    found = []
    for handle in candidates:
        first = followed.first_access(handle)
        read = first != "write"
        if not read.all() and read.any():
            handle.read = read if handle.read is None else handle.read & read
        leaves = followed.leaves[handle.name]
        if any(leaf.serial in reached for leaf in leaves):
            found.append(handle)
    return found


def _by_runs(launches: Recording, candidates: Sequence[ProgramArray]) -> list[ProgramArray]:
    """The candidates that change the loss, by runs with some numbers moved a little.

    Arrays of zeros that a run fills are its work space; they are inputs only if nothing else is.
    """
    begun = monotonic()
    values = [launches.value() for _ in range(3)]
    took = monotonic() - begun
    runs = int(np.clip(3.0 * SECONDS / took, FEW, RUNS))
    noise = 4.0 * (max(values) - min(values))
    work = [h for h in candidates if not h.start.any() and h.values.any()]
    inputs = [h for h in candidates if all(h is not one for one in work)]
    found = _moving_candidates(launches, inputs, values[0], noise, runs)
    found = found or _moving_candidates(launches, work, values[0], noise, runs)
    if noise > 0.0 and not found and not launches.table.inputs:
        raise TraceError(
            f"{launches.case.name}: the same inputs give losses from {min(values):.6g} to {max(values):.6g}:"
            " random numbers are drawn, or iterations race; draw them once, into an array"
        )
    return found


def _moving_candidates(
    launches: Recording, candidates: Sequence[ProgramArray], value: float, noise: float, runs: int
) -> list[ProgramArray]:
    """The candidates that change the loss, each with the rows that do."""
    found, rng = [], np.random.default_rng(0)
    for handle in candidates:
        moved = _Moved(launches, handle, value, noise, rng, runs)
        if moved.changes(np.ones(handle.start.shape, bool)):
            found.append(handle)
            rows = moved.rows()
            if rows.any() and not rows.all():
                mask = _of_rows(rows, handle.start)
                handle.read = mask if handle.read is None else handle.read & mask
    return found


class _Moved:
    """Runs with some numbers of one array moved a little."""

    def __init__(
        self,
        launches: Recording,
        handle: ProgramArray,
        value: float,
        noise: float,
        rng: np.random.Generator,
        runs: int,
    ):
        self.launches, self.handle, self.value, self.noise = launches, handle, value, noise
        self.start, self.left = handle.start.copy(), runs
        self.step = LITTLE * field_spread(self.start) * rng.uniform(0.5, 1.0, self.start.shape)

    def changes(self, part: np.ndarray) -> bool:
        """True if the loss changes as the numbers of a part are moved."""
        self.left -= 1
        self.handle.start = np.where(part, self.start + self.step, self.start).astype(self.start.dtype)
        value = self.launches.value()
        self.handle.start = self.start
        return not abs(value - self.value) <= self.noise

    def rows(self) -> np.ndarray:
        """The rows along the first axis that change the loss, by halves, from the first one on.

        False where runs are used up, unless no row was found.
        """
        if self.start.ndim == 0:
            return np.ones(1, bool)
        found = np.zeros(len(self.start), bool)
        waiting = [(0, len(found))]
        while waiting:
            begin, end = waiting.pop()
            part = np.zeros(self.start.shape, bool)
            part[begin:end] = True
            if self.left <= 0:
                found[begin:end] = not found.any()
            elif self.changes(part):
                middle = (begin + end) // 2
                waiting += [(middle, end), (begin, middle)] if end - begin > 1 else []
                found[begin:end] = end - begin == 1
        return found


def _of_rows(rows: np.ndarray, start: np.ndarray) -> np.ndarray:
    """A mask of numbers from one of rows along the first axis."""
    return np.broadcast_to(rows.reshape(-1, *[1] * (start.ndim - 1)), start.shape).copy()
