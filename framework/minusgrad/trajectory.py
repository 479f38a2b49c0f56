"""What a run has shown: immutable H5MD 1.1 segments, and one small master file that reads like all of them.

    traj/000000000600.<16 hex>.h5    sealed when the checkpoint of the same step is saved
    trajectory.h5                    virtual datasets over the segments, by relative paths

    /h5md                                      version int32[2]; author, creator
    /particles/all/box                         dimension, boundary
    /particles/all/<label>/step [T], time [T], value [T, N, ...]     frames: one array a node, N nodes
    /observables/<name>/step [T], time [T], value [T, ...]           scalars and small vectors of the whole

Frames and observables keep their own rhythms; those recorded together share step and time by hard links. A
unit stands at each value and time as `unit_symbol` and `unit_si` (its size in SI). H5MD's own `unit` is
written only for the few symbols that MDAnalysis reads; it refuses the file for any other. Source: H5MD 1.1,
nongnu.org/h5md.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from . import durable
from .errors import CheckpointError, RunFailedError, UserError

FRAMES, OBSERVABLES = "particles/all", "observables"
POSITION = "particles/all/position"
MASTER = "trajectory.h5"
MOST_SEGMENTS = 500  # a reader at 1024 open files sees fill values, without an error, beyond about 1018
_MDANALYSIS = {"Angstrom", "nm", "pm", "fm", "ps", "fs", "ns", "s"}
_RESERVED = {"", ".", "..", "step", "time", "value"}
Unit = tuple[str, float]


class Series(NamedTuple):
    """step (T,), time (T,) in the run's unit of time, value (T, ...): one named thing, all along the run."""

    step: np.ndarray
    time: np.ndarray
    value: np.ndarray


@dataclass
class _Rows:
    """One series since the last seal; shape and dtype of a row stay for the whole run."""

    shape: tuple[int, ...]
    dtype: np.dtype
    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    def arrays(self) -> Series:
        values = np.array(self.values, self.dtype).reshape(len(self.values), *self.shape)
        return Series(np.array(self.steps, np.int64), np.array(self.times, np.float64), values)


class Recorder:
    """Holds what has been recorded since the last seal; the series are named by their path in the file.

    units: label or observable -> (symbol, size in SI); what is missing there is written without a unit.
    """

    def __init__(self, units: dict[str, Unit], time_unit: Unit):
        self._units, self._time_unit = units, time_unit
        self._series: dict[str, _Rows] = {}

    def record_frame(self, step: int, time: float, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy arrays (N, ...) of one moment, by label.

        Raises RunFailedError for a changed shape or a repeated step.
        """
        for label, array in arrays.items():
            self._record(f"{FRAMES}/{label}", step, time, np.asarray(array))

    def record_observables(self, step: int, time: float, values: Mapping[str, float | np.ndarray]) -> None:
        """Note scalars or small vectors of one moment, as float64.

        Raises RunFailedError like `record_frame`.
        """
        for name, value in values.items():
            self._record(f"{OBSERVABLES}/{name}", step, time, np.asarray(value, np.float64))

    def state(self) -> dict[str, np.ndarray]:
        """The unsealed rows as arrays, for a checkpoint: `<series>/step`, `/time`, `/value`, T >= 0 rows."""
        return {
            f"{name}/{leaf}": array
            for name, rows in self._series.items()
            for leaf, array in rows.arrays()._asdict().items()
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take back what `state` gave: what is sealed from then on has the same bytes."""
        self._series = {}
        for key in state:
            name, leaf = key.rsplit("/", 1)
            if leaf == "value":
                step, time, value = (state[f"{name}/{part}"] for part in Series._fields)
                rows = _Rows(value.shape[1:], value.dtype, step.tolist(), time.tolist(), list(value.copy()))
                self._series[name] = rows

    def seal(self, folder: Path, step: int) -> Path | None:
        """Write the segment of this step into `folder` (the run's `traj`) and forget its rows; None if none.

        Raises RunFailedError if the disk refuses; the rows are then still here.
        """
        filled = {name: rows.arrays() for name, rows in sorted(self._series.items()) if rows.steps}
        if not filled:
            return None
        path = durable.write_new(folder, f"{step:012d}", durable.image(lambda file: self._fill(file, filled)))
        for name, rows in self._series.items():
            self._series[name] = _Rows(rows.shape, rows.dtype)
        return path

    def _record(self, name: str, step: int, time: float, value: np.ndarray) -> None:
        if _RESERVED & set(name.split("/")) or name == f"{FRAMES}/box":
            raise RunFailedError(
                f"'{name}' cannot name a series: empty parts, dots, step, time, value and box are taken"
            )
        rows = self._series.setdefault(name, _Rows(value.shape, value.dtype))
        if (value.shape, value.dtype) != (rows.shape, rows.dtype):
            raise RunFailedError(
                f"step {step}: series '{name}' was {rows.dtype}{list(rows.shape)} and is now "
                f"{value.dtype}{list(value.shape)}; a series keeps its shape: give the new one another name"
            )
        if rows.steps and step <= rows.steps[-1]:
            raise RunFailedError(
                f"step {step}: series '{name}' already has step {rows.steps[-1]}; "
                "two observers record one name: rename one"
            )
        rows.steps.append(step)
        rows.times.append(time)
        rows.values.append(value.copy())

    def _fill(self, file: h5py.File, filled: dict[str, Series]) -> None:
        position = filled.get(POSITION)
        _write_head(file, position.value.shape[-1] if position else 3)
        clocks: dict[bytes, str] = {}
        for name, series in filled.items():
            _label(file.create_dataset(f"{name}/value", data=series.value), self._units.get(_short(name)))
            clock = clocks.setdefault(series.step.tobytes() + series.time.tobytes(), name)
            if clock == name:
                file[f"{name}/step"] = series.step
                _label(file.create_dataset(f"{name}/time", data=series.time), self._time_unit)
            else:
                _share_clock(file, clock, name)


def write_master(run: Path, segments: list[Path]) -> Path | None:
    """Write `run/trajectory.h5` over segments in `run/traj`, in the order given; same segments, same bytes.

    None, and no master at all, without segments or with more than 500 of them, which a reader may not be
    able to open at once (`series` reads any number). Raises RunFailedError if a series changes its shape
    between segments.
    """
    master = run / MASTER
    if not 0 < len(segments) <= MOST_SEGMENTS:
        durable.remove(master)
        return None
    parts: dict[str, list[_Part]] = {}
    for path in segments:
        stamp = path.stat()
        for name, part in _parts(path, stamp.st_size, stamp.st_mtime_ns).items():
            parts.setdefault(name, []).append(part)
    position = parts.get(POSITION)

    def fill(file: h5py.File) -> None:
        _write_head(file, position[0].leaves["value"].shape[-1] if position else 3)
        clocks: dict[tuple, str] = {}
        for name, found in sorted(parts.items()):
            _write_virtual(file, name, "value", found)
            clock = clocks.setdefault(tuple((part.file, part.clock) for part in found), name)
            if clock == name:
                _write_virtual(file, name, "step", found)
                _write_virtual(file, name, "time", found)
            else:
                _share_clock(file, clock, name)

    durable.replace(master, durable.image(fill))
    return master


def segments(run: Path) -> list[Path]:
    """The segments of a run folder in the order of their steps, judged by name alone."""
    return sorted(path for path in (run / "traj").glob("*.h5") if durable.stem(path).isdigit())


def names(run: Path) -> list[str]:
    """The series of a run, e.g.

    `observables/total`, `particles/all/position`. Raises CheckpointError if damaged.
    """
    found: set[str] = set()
    for path in segments(run):
        with _checked(path) as file:
            found.update(_names(file))
    return sorted(found)


def pieces(run: Path, name: str) -> Iterator[Series]:
    """One series, segment by segment, each checked against its hash; see `series`."""
    found = False
    for path in segments(run):
        with _checked(path) as file:
            if f"{name}/value" in file:
                found = True
                yield Series(*(file[name][leaf][...] for leaf in Series._fields))
    if not found:
        raise UserError(
            f"{run}: no series '{name}' was recorded (there are: {', '.join(names(run)) or 'none'})"
        )


def series(run: Path, name: str) -> Series:
    """All of one series: step (T,), time (T,), value (T, ...), from the segments, hashes checked.

    Raises UserError if nobody recorded it, CheckpointError if a segment is damaged.
    """
    return Series(*map(np.concatenate, zip(*pieces(run, name), strict=True)))


def symbols(run: Path, name: str) -> tuple[str, str]:
    """The unit symbols of a series' value and time; empty where none was given."""
    for path in segments(run):
        with _checked(path) as file:
            if f"{name}/value" in file:
                value, time = (file[name][leaf].attrs.get("unit_symbol", "") for leaf in ("value", "time"))
                return str(value), str(time)
    return "", ""


class _Leaf(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype
    unit: Unit | None


class _Part(NamedTuple):
    """What one segment holds of one series.

    Two series of one segment with the same clock share step and time.
    """

    file: str
    clock: int
    leaves: dict[str, _Leaf]


@lru_cache(maxsize=2 * MOST_SEGMENTS)
def _parts(path: Path, size: int, modified: int) -> "dict[str, _Part]":
    """What a segment holds, by series; remembered as long as nobody touches the file."""
    with _opened(path) as file:
        return {name: _part(file[name], f"{path.parent.name}/{path.name}") for name in _names(file)}


def _part(group: h5py.Group, file: str) -> _Part:
    leaves = {
        leaf: _Leaf(group[leaf].shape, group[leaf].dtype, _unit_of(group[leaf])) for leaf in Series._fields
    }
    return _Part(file, h5py.h5o.get_info(group["step"].id).addr, leaves)


def _write_virtual(file: h5py.File, name: str, leaf: str, parts: list[_Part]) -> None:
    """One virtual dataset over the same series in several segments.

    A missing segment reads as NaN, -1 or 0.
    """
    first = parts[0].leaves[leaf]
    for part in parts:
        here = part.leaves[leaf]
        if (here.shape[1:], here.dtype) != (first.shape[1:], first.dtype):
            raise RunFailedError(
                f"series '{name}' is {here.dtype}{list(here.shape[1:])} in {part.file} and was "
                f"{first.dtype}{list(first.shape[1:])} in {parts[0].file}; a series keeps its shape"
            )
    total = (sum(part.leaves[leaf].shape[0] for part in parts), *first.shape[1:])
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)  # h5py.VirtualLayout would write the time of day into the file
    plan.set_fill_value(np.array({"f": np.nan, "i": -1}.get(first.dtype.kind, 0), first.dtype))
    start = 0
    for part in parts:
        shape = part.leaves[leaf].shape
        here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(shape)
        here.select_hyperslab((start,) + (0,) * len(shape[1:]), shape)
        plan.set_virtual(here, part.file.encode(), f"{name}/{leaf}".encode(), there)
        start += shape[0]
    kind, space = h5py.h5t.py_create(first.dtype, logical=True), h5py.h5s.create_simple(total)
    group = file.require_group(name)
    _label(h5py.Dataset(h5py.h5d.create(group.id, leaf.encode(), kind, space, plan)), first.unit)


def _write_head(file: h5py.File, dimension: int) -> None:
    head = file.create_group("h5md")
    head.attrs["version"] = np.array([1, 1], np.int32)
    head.create_group("author").attrs["name"] = np.bytes_("minusgrad")
    creator = head.create_group("creator")
    creator.attrs["name"] = np.bytes_("minusgrad")
    creator.attrs["version"] = np.bytes_(version("minusgrad"))
    box = file.create_group(f"{FRAMES}/box")
    box.attrs["dimension"] = np.int32(dimension)
    box.attrs["boundary"] = np.array([b"none"] * dimension)


def _share_clock(file: h5py.File, owner: str, name: str) -> None:
    for leaf in ("step", "time"):
        file[f"{name}/{leaf}"] = file[f"{owner}/{leaf}"]


def _label(dataset: h5py.Dataset, unit: Unit | None) -> None:
    if unit is None:
        return
    symbol, size = unit
    dataset.attrs["unit_symbol"] = symbol
    dataset.attrs["unit_si"] = np.float64(size)
    if symbol in _MDANALYSIS:
        dataset.attrs.create("unit", symbol, dtype=h5py.string_dtype("ascii"))


def _unit_of(dataset: h5py.Dataset) -> Unit | None:
    if "unit_si" not in dataset.attrs:
        return None
    return str(dataset.attrs["unit_symbol"]), float(dataset.attrs["unit_si"])


def _short(name: str) -> str:
    """`potential/gravity` of `observables/potential/gravity`."""
    return name.removeprefix(FRAMES + "/").removeprefix(OBSERVABLES + "/")


def _names(file: h5py.File) -> list[str]:
    """The series of one file: every group that holds a `value`."""
    found: list[str] = []
    file.visit(lambda path: found.append(path.removesuffix("/value")) if path.endswith("/value") else None)
    return sorted(found)


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    """A segment on disk, for its shapes only."""
    try:
        file = h5py.File(path)
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be opened as a segment: {error}; copy it again or delete it"
        ) from error
    with file:
        yield file


@contextmanager
def _checked(path: Path) -> Iterator[h5py.File]:
    """A segment in memory, after its hash was checked."""
    with durable.opened(durable.verified(path)) as file:
        yield file
