"""What a run has shown, in immutable segments: a recorder that writes them, and functions that read them.

    traj/000000000600.<16 hex>.h5    sealed when the checkpoint of the same step is saved; layout: `h5md`

Frames, observables, cells and fields over grids keep their own rhythms; those recorded together share step
and time by hard links.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from . import durable, h5md
from .errors import RunFailedError, UserError
from .h5md import CELLS, CONNECTIVITY, FRAMES, GRIDS, LEAVES, OBSERVABLES, POSITION, Raster, Unit

MOST_SEGMENTS = 500  # a reader at 1024 open files sees fill values, without an error, beyond about 1018


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
    connectivity: lists of node tuples (E, k) by name, the same all along the run. A segment with frames or
    cells carries the lists in `shown`, and those that any `record_cells` spoke of; the others nobody asked
    for. grids: where the cells of each lie; a segment carries those that something in it is over. Raises
    RunFailedError for a list or a grid that is none, or a name in `shown` that is no list's.
    """

    def __init__(
        self,
        units: dict[str, Unit],
        time_unit: Unit,
        connectivity: Mapping[str, np.ndarray] | None = None,
        shown: Sequence[str] = (),
        grids: Mapping[str, Raster] | None = None,
    ):
        self._units, self._time_unit = dict(units), time_unit
        self._lists = {name: _tuples(name, rows) for name, rows in (connectivity or {}).items()}
        self._shown = frozenset(shown)
        for name in shown:
            self._list(name)
        self._grids = {name: _raster(name, raster) for name, raster in (grids or {}).items()}
        self._series: dict[str, _Rows] = {}

    def unit(self, label: str, symbol: str, size: float) -> None:
        """Say in what unit, of this size in SI, all series of this label stand.

        Raises RunFailedError where another was said before.
        """
        if self._units.setdefault(label, (symbol, size)) != (symbol, size):
            raise RunFailedError(
                f"series '{label}' stands in {self._units[label][0]} and shall stand in {symbol}; "
                "two observers record one name: rename one"
            )

    def record_frame(self, step: int, time: float, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy arrays (N, ...) of one moment, by label.

        Raises RunFailedError for a changed shape or a repeated step.
        """
        for label, array in arrays.items():
            self._record(f"{FRAMES}/{label}", step, time, np.asarray(array))

    def record_cells(self, step: int, time: float, tuples: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy arrays (E, ...) over the tuples of one list at one moment, by label.

        Raises RunFailedError like `record_frame`, for an unknown list and for another length than the list's.
        """
        length = len(self._list(tuples))
        for label, array in arrays.items():
            name, value = f"{CELLS}/{tuples}/{label}", np.asarray(array)
            if value.shape[:1] != (length,):
                raise RunFailedError(
                    f"step {step}: series '{name}' has shape {value.shape}; "
                    f"list '{tuples}' has {length} tuples: give one value for each"
                )
            self._record(name, step, time, value)

    def record_grid(self, step: int, time: float, grid: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy arrays over the cells of one grid at one moment, by label: flat (cells,) or of its shape.

        Raises RunFailedError like `record_frame`, for an unknown grid and for another shape than these two.
        """
        raster = self._grid(grid)
        for label, array in arrays.items():
            name, value = f"{GRIDS}/{grid}/{label}", np.asarray(array)
            if value.shape not in ((raster.cells,), raster.shape):
                raise RunFailedError(
                    f"step {step}: series '{name}' has shape {value.shape}; grid '{grid}' has shape "
                    f"{raster.shape}: give one number for each of its {raster.cells} cells"
                )
            self._record(name, step, time, value.reshape(raster.shape))

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
        """Take back what `state` gave: what is sealed from then on has the same bytes.

        Lists and grids are those of the constructor. Raises RunFailedError for series of one that it lacks.
        """
        self._series = {}
        for key in state:
            name, leaf = key.rsplit("/", 1)
            if leaf == "value":
                step, time, value = (state[f"{name}/{part}"] for part in LEAVES)
                rows = _Rows(value.shape[1:], value.dtype, step.tolist(), time.tolist(), list(value.copy()))
                self._series[name] = rows
        self._asked()
        self._filled(self._series)

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

    def _list(self, name: str) -> np.ndarray:
        if name not in self._lists:
            there = ", ".join(self._lists) or "none"
            raise RunFailedError(f"no list of tuples is named '{name}' (there are: {there})")
        return self._lists[name]

    def _asked(self) -> dict[str, np.ndarray]:
        """The lists that segments carry, in the order of their names."""
        names = self._shown | {h5md.list_of(name) for name in self._series if h5md.list_of(name)}
        return {name: self._list(name) for name in sorted(names)}

    def _grid(self, name: str) -> Raster:
        if name not in self._grids:
            there = ", ".join(self._grids) or "none"
            raise RunFailedError(f"no grid is named '{name}' (there are: {there})")
        return self._grids[name]

    def _filled(self, names: Iterable[str]) -> dict[str, Raster]:
        """The grids that these series are over, in the order of their names."""
        grids = {h5md.grid_of(name) for name in names} - {""}
        return {name: self._grid(name) for name in sorted(grids)}

    def _record(self, name: str, step: int, time: float, value: np.ndarray) -> None:
        if not h5md.is_free(name):
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
        h5md.write_head(file, position.value.shape[-1] if position else 3)
        if any(name.startswith((f"{FRAMES}/", f"{CELLS}/")) for name in filled):
            for name, tuples in self._asked().items():
                h5md.refer(file, file.create_dataset(f"{CONNECTIVITY}/{name}", data=tuples))
        for name, raster in self._filled(filled).items():
            h5md.write_raster(file, name, raster)
        clocks: dict[bytes, str] = {}
        for name, series in filled.items():
            value = file.create_dataset(f"{name}/value", data=series.value)
            h5md.write_unit(value, self._units.get(h5md.label(name)))
            clock = clocks.setdefault(series.step.tobytes() + series.time.tobytes(), name)
            if clock == name:
                file[f"{name}/step"] = series.step
                h5md.write_unit(file.create_dataset(f"{name}/time", data=series.time), self._time_unit)
            else:
                h5md.share_clock(file, clock, name)


def _tuples(name: str, rows: np.ndarray) -> np.ndarray:
    """A list as it is written: int32 (E, k)."""
    rows = np.asarray(rows)
    if "/" in name or not h5md.is_free(name):
        raise RunFailedError(
            f"'{name}' cannot name a list of tuples: slashes, dots, step, time and value are taken"
        )
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise RunFailedError(
            f"list '{name}' is {rows.dtype}{list(rows.shape)}; needed: numbers of nodes (E, k), a row a tuple"
        )
    return np.ascontiguousarray(rows, np.int32)


def _raster(name: str, raster: Raster) -> Raster:
    """A grid as it is written, in Python's own numbers."""
    if "/" in name or not h5md.is_free(name):
        raise RunFailedError(f"'{name}' cannot name a grid: slashes, dots, step, time and value are taken")
    shape, spacing = tuple(map(int, raster.shape)), float(raster.spacing)
    if not shape or min(shape) < 1 or not 0 < spacing < np.inf:
        raise RunFailedError(
            f"grid '{name}' has shape {shape} and spacing {spacing}; "
            "needed: cells along each axis, and a length"
        )
    return Raster(shape, spacing, raster.unit)


def segments(run: Path) -> list[Path]:
    """The segments of a run folder in the order of their steps, judged by name alone."""
    return sorted(path for path in (run / "traj").glob("*.h5") if durable.stem(path).isdigit())


def names(run: Path) -> list[str]:
    """The series of a run, e.g. `observables/total`, `cells/beam/energy_density`, `grids/canvas/dose`.

    Raises CheckpointError if damaged.
    """
    found: set[str] = set()
    for path in segments(run):
        with _checked(path) as file:
            found.update(h5md.series_in(file))
    return sorted(found)


def pieces(run: Path, name: str) -> Iterator[Series]:
    """One series, segment by segment, each checked against its hash; see `series`."""
    found = False
    for path in segments(run):
        with _checked(path) as file:
            if f"{name}/value" in file:
                found = True
                yield Series(*(file[name][leaf][...] for leaf in LEAVES))
    if not found:
        raise _unknown(run, name)


def series(run: Path, name: str) -> Series:
    """All of one series: step (T,), time (T,), value (T, ...), from the segments, hashes checked.

    Raises UserError if nobody recorded it, CheckpointError if a segment is damaged.
    """
    return Series(*map(np.concatenate, zip(*pieces(run, name), strict=True)))


def last(run: Path, name: str) -> Series:
    """The last row of one series, T = 1, from the newest segment that has it; raises like `series`."""
    for path in reversed(segments(run)):
        with _checked(path) as file:
            if f"{name}/value" in file:
                return Series(*(file[name][leaf][-1:] for leaf in LEAVES))
    raise _unknown(run, name)


def symbols(run: Path, name: str) -> tuple[str, str]:
    """The unit symbols of a series' value and time; empty where none was given."""
    for path in segments(run):
        with _checked(path) as file:
            if f"{name}/value" in file:
                value, time = (file[name][leaf].attrs.get("unit_symbol", "") for leaf in ("value", "time"))
                return str(value), str(time)
    return "", ""


def connectivity(run: Path) -> dict[str, np.ndarray]:
    """The lists of node tuples that were recorded, int32 (E, k) by name.

    Raises CheckpointError if damaged.
    """
    found: dict[str, np.ndarray] = {}
    for path in segments(run):
        with _checked(path) as file:
            for name in set(h5md.lists_in(file)) - found.keys():
                found[name] = file[CONNECTIVITY][name][...]
    return dict(sorted(found.items()))


def grids(run: Path) -> dict[str, Raster]:
    """Where the cells of the grids lie of which something was recorded, by name.

    Raises CheckpointError if damaged.
    """
    found: dict[str, Raster] = {}
    for path in segments(run):
        with _checked(path) as file:
            found = h5md.grids_in(file) | found
    return dict(sorted(found.items()))


def _unknown(run: Path, name: str) -> UserError:
    there = ", ".join(names(run)) or "none"
    return UserError(f"{run}: no series '{name}' was recorded (there are: {there})")


@contextmanager
def _checked(path: Path) -> Iterator[h5py.File]:
    """A segment in memory, after its hash was checked."""
    with durable.opened(durable.verified(path)) as file:
        yield file
