"""Bitwise comparison of two runs or two checkpoints: the first difference of each array and series.

Compared are dtype, shape and bytes of every array in checkpoints of the same step, and every series row by
row. The layout of files, wall-clock times, machines and versions are ignored.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CheckpointError, UserError
from ..files import checkpoint, trajectory
from ..files.checkpoint import Snapshot
from ..files.held import held_folders
from ..files.run_folder import RunDir
from ..files.trajectory import Series


class Difference(NamedTuple):
    """A difference: the first step (None: the whole run), the name of the array or series, and a sentence."""

    step: int | None
    what: str
    text: str

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()


class Comparison(NamedTuple):
    """Differences, the earliest first, and the numbers of compared arrays and rows.

    until: the step up to which series were compared, because a run is still running; else None.
    """

    differences: list[Difference]
    arrays: int
    rows: int
    until: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return self._asdict() | {"differences": [d.as_dict() for d in self.differences]}


def compare(one: Path, other: Path) -> Comparison:
    """Compare two run folders, or two checkpoints: returns the first difference of each array and series.

    Raises CheckpointError if one is damaged, UserError if there is nothing to compare.
    """
    if missing := [str(path) for path in (one, other) if not path.exists()]:
        raise UserError(f"{' and '.join(missing)}: does not exist; give a run folder or a checkpoint")
    if one.is_dir() != other.is_dir():
        raise UserError(f"{one} and {other}: cannot be compared; give two runs or two checkpoints")
    if not one.is_dir():
        a, b = checkpoint.load(one), checkpoint.load(other)
        return Comparison(list(_moments(a, b)), len(a.arrays), 0)
    until = _until([RunDir.open(path, read_only=True) for path in (one, other)])
    differences, arrays = _checkpoints(one, other)
    more, rows = _series(one, other, until)
    found = sorted([*differences, *more], key=lambda d: (-1 if d.step is None else d.step, d.what))
    found = list({d.what: d for d in reversed(found)}.values())[::-1]
    if not arrays and not rows:
        found.append(
            Difference(
                None, "checkpoints", "the two have no checkpoint of the same step and no series in common"
            )
        )
    return Comparison(found, arrays, rows, until)


def _until(runs: Sequence[RunDir]) -> int | None:
    """The step of the newest checkpoint of the runs that are running, the smaller one; None without any."""
    steps = []
    for run in runs:
        if run.is_running():
            newest, _ = checkpoint.newest(run.path / "ckpt")
            steps.append(-1 if newest is None else checkpoint.step_of(newest))
    return min(steps, default=None)


def _up_to(until: int | None, pieces: Iterator[Series]) -> Iterator[Series]:
    """The rows up to a step."""
    for piece in pieces:
        end = len(piece.step) if until is None else int(np.searchsorted(piece.step, until, "right"))
        if end:
            yield Series(*(part[:end] for part in piece))


def _checkpoints(one: Path, other: Path) -> tuple[list[Difference], int]:
    """Compare checkpoints of equal steps; a run keeps only some, so others are ignored."""
    mine, theirs = (
        {checkpoint.step_of(p): p for p in checkpoint.list_checkpoints(r / "ckpt")} for r in (one, other)
    )
    found, arrays = [], 0
    for step in sorted(mine.keys() & theirs.keys()):
        try:
            a, b = checkpoint.load(mine[step]), checkpoint.load(theirs[step])
        except CheckpointError:
            if all(held_folders.status(path) is not None for path in (mine[step], theirs[step])):
                raise
            continue  # a running run has replaced it
        arrays += len(a.arrays.keys() & b.arrays.keys())
        found += list(_moments(a, b))
    return found, arrays


def _moments(a: Snapshot, b: Snapshot) -> Iterator[Difference]:
    if a.step != b.step:
        yield Difference(None, "step", f"{a.step} / {b.step}")
    for what, mine, theirs in (("time", a.time, b.time), ("dt", a.dt, b.dt)):
        if float(mine).hex() != float(theirs).hex():
            yield Difference(a.step, what, f"{mine!r} / {theirs!r}")
    for name in sorted(a.arrays.keys() | b.arrays.keys()):
        if name not in a.arrays or name not in b.arrays:
            yield Difference(a.step, name, f"only in the {'first' if name in a.arrays else 'second'}")
        elif text := _unlike(a.arrays[name], b.arrays[name]):
            yield Difference(a.step, name, text)


def _series(one: Path, other: Path, until: int | None) -> tuple[list[Difference], int]:
    mine, theirs, found, rows = trajectory.names(one), trajectory.names(other), [], 0
    for name in sorted({*mine, *theirs}):
        if name not in mine or name not in theirs:
            where = "first" if name in mine else "second"
            there = _up_to(until, trajectory.pieces(one if name in mine else other, name))
            if until is None or next(there, None) is not None:
                found.append(Difference(None, name, f"recorded only in the {where}"))
            continue
        difference, length = _one_series(one, other, name, until)
        rows += length
        found += [difference] if difference else []
    return found, rows


def _one_series(one: Path, other: Path, name: str, until: int | None) -> tuple[Difference | None, int]:
    """The first row that differs, and the number of compared rows."""
    rows = 0
    both = (_up_to(until, trajectory.pieces(run, name)) for run in (one, other))
    for a, b in _side_by_side(*both):
        if b is None or a is None:
            left, which = (a, "first") if b is None else (b, "second")
            assert left is not None
            return Difference(int(left.step[0]), name, f"continues only in the {which}"), rows
        if (a.value.dtype, a.value.shape[1:]) != (b.value.dtype, b.value.shape[1:]):
            return Difference(int(a.step[0]), name, f"a row is {_unlike(a.value[0], b.value[0])}"), rows
        width = a.value.nbytes // max(len(a.step), 1)
        alike = (a.step == b.step) & (a.time.view(np.int64) == b.time.view(np.int64))
        alike &= (_bytes(a.value, width) == _bytes(b.value, width)).all(axis=1)
        if not alike.all():
            k = int(np.argmin(alike))
            if a.step[k] != b.step[k]:
                text = f"step {a.step[k]} / {b.step[k]}"
            else:
                text = _unlike(a.value[k], b.value[k]) or f"time {a.time[k]!r} / {b.time[k]!r}"
            return Difference(int(min(a.step[k], b.step[k])), name, text), rows + k
        rows += len(a.step)
    return None, rows


def _side_by_side(
    one: Iterator[Series], other: Iterator[Series]
) -> Iterator[tuple[Series | None, Series | None]]:
    """Pieces of the same length, however the segments were cut; None where one has ended."""
    a, b = next(one, None), next(other, None)
    while a is not None or b is not None:
        if a is None or b is None:
            yield a, b
            return
        length = min(len(a.step), len(b.step))
        yield Series(*(x[:length] for x in a)), Series(*(x[:length] for x in b))
        a = Series(*(x[length:] for x in a)) if len(a.step) > length else next(one, None)
        b = Series(*(x[length:] for x in b)) if len(b.step) > length else next(other, None)


def _unlike(a: np.ndarray, b: np.ndarray) -> str:
    """How two arrays differ; empty if bit for bit they do not."""
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"{a.dtype}{list(a.shape)} / {b.dtype}{list(b.shape)}"
    apart = (_bytes(a, a.itemsize) != _bytes(b, b.itemsize)).any(axis=1)
    if not apart.any():
        return ""
    k = int(np.argmax(apart))
    at = list(map(int, np.unravel_index(k, a.shape))) if a.ndim else ""
    values = f"{a.ravel()[k]!s} / {b.ravel()[k]!s}"
    if a.dtype.kind == "f":
        values = f"{float(a.ravel()[k])!r} / {float(b.ravel()[k])!r}"
    return f"{at}{': ' if at else ''}{values} ({int(apart.sum())} of {a.size} numbers differ)"


def _bytes(array: np.ndarray, width: int) -> np.ndarray:
    """Rows of this many bytes."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, max(width, 1))
