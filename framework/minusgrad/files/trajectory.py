"""Recorded series of a run in immutable segment files: a recorder that writes them, and readers.

    traj/000000000600.<16 hex>.h5    sealed when the checkpoint of the same step is saved; layout: `h5md`
    traj/000000000100-000000005000.1.<16 hex>.h5    many in one (`compaction`): first and last step, level
    traj/000000000642.interim.<16 hex>.h5    rows up to an unscheduled save; deleted after the next seal

Frames, observables, cells and fields over grids are recorded at steps of their own; series recorded at the
same steps share step and time by hard links.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import h5py
import numpy as np

from ..errors import CheckpointError, RunFailedError, UserError, unknown
from . import durable, h5md, hdf5_trust
from .frames import upright_frames
from .frames.looks import ListLook
from .h5md import CELLS, CONNECTIVITY, FRAMES, GRIDS, LEAVES, OBSERVABLES, POSITION, Raster, Unit
from .hashes import vouched_files
from .hdf5_layout import Draft, Part, laid_out
from .held import held_folders

_SEGMENT = re.compile(r"(?:(?P<first>\d{12,})-)?(?P<last>\d{12,})(?:\.(?P<level>\d))?(?P<interim>\.interim)?")
_SMALL = 1 << 16
"""Bytes: smaller rows are copied and written together, larger ones in place."""


Result = TypeVar("Result")


class Series(NamedTuple):
    """One recorded series: step (T,), time (T,) in the run's unit of time, value (T, ...)."""

    step: np.ndarray
    time: np.ndarray
    value: np.ndarray

    def __repr__(self) -> str:
        """`Series(41 moments, steps 0 to 40, times 0 to 0.4, value (41, 3))`."""
        if not len(self.step):
            return f"Series(no moments, value {self.value.shape})"
        (first, last), (begin, end) = self.step[[0, -1]], self.time[[0, -1]]
        return (
            f"Series({len(self.step)} moments, steps {first} to {last}, times {begin:.6g} to {end:.6g},"
            f" value {self.value.shape})"
        )


@dataclass
class _Rows:
    """Rows of one series since the last seal; shape and dtype of a row are the same for the whole run."""

    shape: tuple[int, ...]
    dtype: np.dtype
    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    def arrays(self) -> Series:
        values = np.array(self.values, self.dtype).reshape(len(self.values), *self.shape)
        return Series(np.array(self.steps, np.int64), np.array(self.times, np.float64), values)

    def column(self, unit: Unit | None, time_unit: Unit | None) -> "Column":
        """The rows as written to a file; only small ones are copied."""
        steps, times = np.array(self.steps, np.int64), np.array(self.times, np.float64)
        large = self.values[0].nbytes >= _SMALL
        parts: list[Part] = [*map(np.ascontiguousarray, self.values)] if large else [self.arrays().value]
        return Column(steps, times, (len(steps), *self.shape), self.dtype, parts, unit, time_unit)


class Column(NamedTuple):
    """One series as written to a file: shape, dtype and parts are those of its values."""

    step: np.ndarray
    time: np.ndarray
    shape: tuple[int, ...]
    dtype: np.dtype
    parts: list[Part]
    unit: Unit | None
    time_unit: Unit | None


class Recorder:
    """Rows recorded since the last seal, by series; a series is named by its path in the file.

    units: label or observable -> (symbol, size in SI); series without an entry are written without a unit.
    connectivity: lists of node tuples (E, k) by name, constant along the run. A segment with frames or cells
    contains the lists in `shown`, and those used in `record_cells`. grids: the cells of each grid; a segment
    contains the grids of its series. periodic: whether the box repeats along each axis. constants: arrays
    (N,) over the nodes of frames that a segment with frames contains, by label. looks: of tuples, by list, in
    segments with that list. Raises RunFailedError
    for an invalid list or grid, or a name in `shown` without a list.
    """

    def __repr__(self) -> str:
        return f"Recorder({', '.join(self._series) or 'no rows yet'})"

    def __init__(
        self,
        units: dict[str, Unit],
        time_unit: Unit,
        connectivity: Mapping[str, np.ndarray] | None = None,
        shown: Sequence[str] = (),
        grids: Mapping[str, Raster] | None = None,
        periodic: Sequence[bool] = (),
        constants: Mapping[str, np.ndarray] | None = None,
        looks: Mapping[str, ListLook] | None = None,
    ):
        self.periodic = tuple(map(bool, periodic))
        self._units, self.time_unit = dict(units), time_unit
        self._constants, self.looks = dict(constants or {}), dict(looks or {})
        self._lists = {name: _tuples_as_written(name, rows) for name, rows in (connectivity or {}).items()}
        self._shown = frozenset(shown)
        for name in shown:
            self._list_rows(name)
        self._grids = {name: _raster_as_written(name, raster) for name, raster in (grids or {}).items()}
        self._series: dict[str, _Rows] = {}
        self.heard: Callable[[str, int, float, np.ndarray], None] | None = None
        """Called with each row as it is recorded: series, step, time, value."""

    def unit(self, label: str, symbol: str, size: float) -> None:
        """Set the unit, of this size in SI, of all series with this label.

        Raises RunFailedError if the label has another unit already.
        """
        if self._units.setdefault(label, (symbol, size)) != (symbol, size):
            raise RunFailedError(
                f"series '{label}' is already recorded in {self._units[label][0]}, got {symbol}; "
                "two observers use the same name: rename one"
            )

    def grid(self, name: str, shape: tuple[int, ...], spacing: float, unit: Unit | None) -> None:
        """Add a grid of an observer's own, such as the points of a line, before anything is recorded on it.

        Raises RunFailedError if there is another grid of this name.
        """
        raster = _raster_as_written(name, Raster(shape, spacing, unit))
        if name in self._grids:
            raise RunFailedError(f"grid '{name}': there is one already, got another; give it another name")
        self._grids[name] = raster

    def record_frame(self, step: int, time: float, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy arrays (N, ...) of one moment, by label.

        Raises RunFailedError for a changed shape or a repeated step.
        """
        for label, array in arrays.items():
            self._record_row(f"{FRAMES}/{label}", step, time, np.asarray(array))

    def record_cells(self, step: int, time: float, tuples: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy arrays (E, ...) over the tuples of one list at one moment, by label.

        Raises RunFailedError like `record_frame`, and for an unknown list or another length than its own.
        """
        length = len(self._list_rows(tuples))
        for label, array in arrays.items():
            name, value = f"{CELLS}/{tuples}/{label}", np.asarray(array)
            if value.shape[:1] != (length,):
                raise RunFailedError(
                    f"step {step}: series '{name}' has shape {value.shape}; "
                    f"list '{tuples}' has {length} tuples: give one value for each"
                )
            self._record_row(name, step, time, value)

    def record_grid(
        self,
        step: int,
        time: float,
        grid: str,
        arrays: Mapping[str, np.ndarray],
        of_one: tuple[int, ...] = (),
    ) -> None:
        """Copy arrays over the cells of one grid at one moment, by label: flat (cells,) or of its shape.

        `of_one`: the shape of the value of one cell, which follows these axes. Raises RunFailedError like
        `record_frame`, for an unknown grid and for any other shape.
        """
        raster = self._grid_raster(grid)
        for label, array in arrays.items():
            name, value = f"{GRIDS}/{grid}/{label}", np.asarray(array)
            if value.shape not in ((raster.cells, *of_one), (*raster.shape, *of_one)):
                one = f"a value of shape {of_one}" if of_one else "one number"
                raise RunFailedError(
                    f"step {step}: series '{name}' has shape {value.shape}; grid '{grid}' has shape "
                    f"{raster.shape}: give {one} for each of its {raster.cells} cells"
                )
            self._record_row(name, step, time, value.reshape(*raster.shape, *of_one))

    def record_box(self, step: int, time: float, edges: np.ndarray) -> None:
        """Copy the edge vectors of the box at one moment, in rows (d, d), beside the frame of that moment.

        Raises RunFailedError like `record_frame`.
        """
        self._record_row(h5md.EDGES, step, time, np.asarray(edges))

    def record_observables(self, step: int, time: float, values: Mapping[str, float | np.ndarray]) -> None:
        """Copy scalars or small vectors of one moment, as float64.

        Raises RunFailedError like `record_frame`.
        """
        for name, value in values.items():
            self._record_row(f"{OBSERVABLES}/{name}", step, time, np.asarray(value, np.float64))

    def state(self) -> dict[str, np.ndarray]:
        """The unsealed rows as arrays, for a checkpoint: `<series>/step`, `/time`, `/value`, T >= 0 rows."""
        return {
            f"{name}/{leaf}": array
            for name, rows in self._series.items()
            for leaf, array in rows.arrays()._asdict().items()
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the rows of `state`: segments sealed afterwards have the same bytes.

        Lists and grids are those of the constructor. Raises RunFailedError for a series over an unknown list
        or grid, CheckpointError for a series whose parts are incomplete or differ in length.
        """
        self._series = {}
        for name in sorted({key.rsplit("/", 1)[0] for key in state}):
            parts = [state[f"{name}/{leaf}"] for leaf in LEAVES if f"{name}/{leaf}" in state]
            if len(parts) < len(LEAVES) or len(set(map(len, parts))) > 1:
                raise CheckpointError(
                    f"the checkpoint's rows of '{name}' are incomplete; use another checkpoint"
                )
            step, time, value = parts
            rows = _Rows(value.shape[1:], value.dtype, step.tolist(), time.tolist(), list(value.copy()))
            self._series[name] = rows
        self._lists_in_order()
        self._grids_of_series(self._series)

    def drop(self, step: int) -> None:
        """Forget the rows of a step, the last one that was recorded."""
        for rows in self._series.values():
            if rows.steps and rows.steps[-1] == step:
                for part in (rows.steps, rows.times, rows.values):
                    part.pop()

    def taken_row(self) -> dict[str, np.ndarray]:
        """The values of the last row by series, and forget all rows: for what stacks rows of its own."""
        taken = {name: rows.values[-1] for name, rows in self._series.items() if rows.steps}
        if taken:
            self.take()
        return taken

    def record_series(self, step: int, time: float, rows: Mapping[str, np.ndarray]) -> None:
        """Copy rows of one moment, by the names of their series in the file.

        Raises RunFailedError like `record_frame`, and for an unknown list or grid.
        """
        for name, value in rows.items():
            if tuples := h5md.list_of(name):
                self._list_rows(tuples)
            if grid := h5md.grid_of(name):
                self._grid_raster(grid)
            self._record_row(name, step, time, value)

    def take_units(self, other: "Recorder") -> None:
        """Know the units that another recorder knows. Raises RunFailedError like `unit`."""
        if len(other._units) > len(self._units):
            for label, (symbol, size) in other._units.items():
                self.unit(label, symbol, size)

    @property
    def units(self) -> dict[str, Unit]:
        """Symbol and size in SI of what is recorded, by label."""
        return dict(self._units)

    @property
    def lists(self) -> dict[str, np.ndarray]:
        """The lists of node tuples (E, k), by name."""
        return dict(self._lists)

    @property
    def grids(self) -> dict[str, Raster]:
        """The grids, by name."""
        return dict(self._grids)

    def take(self) -> "Recorder":
        """Move the rows recorded since the last seal into a new recorder; this one is then empty."""
        taken, self._series = copy(self), {n: _Rows(r.shape, r.dtype) for n, r in self._series.items()}
        return taken

    @property
    def held(self) -> int:
        """The number of bytes of the rows that are not sealed."""
        return sum(len(rows.steps) * rows.values[0].nbytes for rows in self._series.values() if rows.steps)

    def seal(
        self, folder: Path, step: int, earlier: Mapping[str, "Column"] | None = None, interim: bool = False
    ) -> Path | None:
        """Write the segment of this step into `folder` (the run's `traj`), and clear the rows.

        earlier: series of interim segments, whose rows come first. interim: write an interim segment. Returns
        its path, None without rows. Raises RunFailedError if writing fails; the rows are then kept.
        """
        own = {
            name: rows.column(self._units.get(h5md.label(name)), self.time_unit)
            for name, rows in self._series.items()
            if rows.steps
        }
        parts = upright_frames.columns_together([earlier or {}, own | upright_frames.copies(own)])
        columns = {name: join_columns(found) for name, found in sorted(parts.items())}
        if not columns:
            return None
        mesh = any(name.startswith((f"{FRAMES}/", f"{CELLS}/")) for name in columns)
        lists, grids = self._lists_in_order() if mesh else {}, self._grids_of_series(columns)
        constants = self._constants if mesh else {}
        looks = {name: look for name, look in self.looks.items() if name in lists}
        image = laid_out(lambda draft: fill(draft, columns, lists, grids, self.periodic, constants, looks))
        path = durable.write_new(folder, f"{step:012d}" + ".interim" * interim, image)
        self.take()
        return path

    def _list_rows(self, name: str) -> np.ndarray:
        if name not in self._lists:
            raise RunFailedError(unknown("list of tuples", name, self._lists))
        return self._lists[name]

    def _lists_in_order(self) -> dict[str, np.ndarray]:
        """The lists that segments contain, in the order of their names."""
        names = self._shown | {h5md.list_of(name) for name in self._series if h5md.list_of(name)}
        return {name: self._list_rows(name) for name in sorted(names)}

    def _grid_raster(self, name: str) -> Raster:
        if name not in self._grids:
            raise RunFailedError(unknown("grid", name, self._grids))
        return self._grids[name]

    def _grids_of_series(self, names: Iterable[str]) -> dict[str, Raster]:
        """The grids that these series are over, in the order of their names."""
        grids = {h5md.grid_of(name) for name in names} - {""}
        return {name: self._grid_raster(name) for name in sorted(grids)}

    def _record_row(self, name: str, step: int, time: float, value: np.ndarray) -> None:
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
                "two observers use the same name: rename one"
            )
        rows.steps.append(step)
        rows.times.append(time)
        rows.values.append(value.copy())
        if self.heard is not None:
            self.heard(name, step, time, rows.values[-1])


def join_columns(columns: Sequence[Column]) -> Column:
    """The rows of several columns of one series, in this order."""
    first, parts = columns[0], [part for c in columns for part in c.parts]
    step, time = (np.concatenate([c[k] for c in columns]) for k in (0, 1))
    return first._replace(step=step, time=time, shape=(len(step), *first.shape[1:]), parts=parts)


def fill(
    draft: Draft,
    columns: Mapping[str, Column],
    lists: Mapping[str, np.ndarray],
    grids: Mapping[str, Raster],
    periodic: Sequence[bool] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    looks: Mapping[str, ListLook] | None = None,
) -> None:
    """Write the layout of a segment: series sorted by name, lists of tuples, grids, constants, looks."""
    file, position = draft.file, columns.get(POSITION)
    h5md.write_head(file, position.shape[-1] if position else 3, periodic)
    for name, array in (constants or {}).items():
        file[f"{FRAMES}/{name}"] = array
    for name, tuples in lists.items():
        h5md.refer(file, file.create_dataset(f"{CONNECTIVITY}/{name}", data=tuples))
    for name, look in (looks or {}).items():
        h5md.write_look(file, name, look)
    for name, raster in grids.items():
        h5md.write_raster(file, name, raster)
    clocks: dict[bytes, str] = {}
    for name, column in columns.items():
        value = draft.array(f"{name}/value", column.parts, column.shape, column.dtype)
        h5md.write_unit(value, column.unit)
        clock = clocks.setdefault(column.step.tobytes() + column.time.tobytes(), name)
        if clock == name:
            file[f"{name}/step"] = column.step
            h5md.write_unit(file.create_dataset(f"{name}/time", data=column.time), column.time_unit)
        else:
            h5md.share_clock(file, clock, name)


def _tuples_as_written(name: str, rows: np.ndarray) -> np.ndarray:
    """A list as written to files: int32 (E, k)."""
    rows = np.asarray(rows)
    if "/" in name or not h5md.is_free(name):
        raise RunFailedError(
            f"'{name}' cannot name a list of tuples: slashes, dots, step, time and value are taken"
        )
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise RunFailedError(
            f"list '{name}': needs integers (E, k), the nodes of one tuple in each row,"
            f" got {rows.dtype}{list(rows.shape)}"
        )
    if rows.size and int(rows.max()) >= 2**31:
        raise RunFailedError(f"list '{name}': needs nodes below 2^31, got {rows.max()}; count from 0")
    return np.ascontiguousarray(rows, np.int32)


def _raster_as_written(name: str, raster: Raster) -> Raster:
    """A grid as written to files, in Python numbers."""
    if "/" in name or not h5md.is_free(name):
        raise RunFailedError(f"'{name}' cannot name a grid: slashes, dots, step, time and value are taken")
    shape, spacing = tuple(map(int, raster.shape)), float(raster.spacing)
    if not shape or min(shape) < 1 or not 0 < spacing < np.inf:
        raise RunFailedError(
            f"grid '{name}': needs a number of cells along each axis and a positive spacing,"
            f" got {shape} and {spacing}"
        )
    return Raster(shape, spacing, raster.unit)


class Span(NamedTuple):
    """A segment's name: its first and last step, its level (the number of times it was joined), its kind."""

    first: int
    last: int
    level: int
    interim: bool = False

    def covers(self, other: "Span") -> bool:
        """True if the rows of another segment are contained in this one, or in one sealed with it."""
        if other.interim and not self.interim:
            return other.last <= self.last
        within = self.first <= other.first and other.last <= self.last
        return self.interim == other.interim and self.level > other.level and within


def span(path: Path) -> Span | None:
    """First step, last step and level from a segment's name; None for another file."""
    name = _SEGMENT.fullmatch(durable.stem(path))
    if name is None or (name["first"] is None) != (name["level"] is None):
        return None
    last = int(name["last"])
    return Span(int(name["first"] or last), last, int(name["level"] or 0), bool(name["interim"]))


def last_step(path: Path) -> int:
    """The step at which a segment was sealed."""
    found = span(path)
    assert found is not None, path
    return found.last


def spans(run: Path, sealed: int | None = None) -> list[tuple[Span, Path]]:
    """The segments of a run folder in the order of their steps, judged by name alone.

    Segments whose rows are contained in another one are left out; they are about to be deleted. sealed: the
    step of the last scheduled checkpoint; sealed segments beyond it are left out, too.
    """
    held_folders.own_folder(run)
    found = [(s, path) for path in held_folders.files(run / "traj", ".h5") if (s := span(path)) is not None]
    if sealed is not None:
        found = [(s, path) for s, path in found if s.interim or s.last <= sealed]
    whole = [s for s, _ in found if s.level]
    ends = [s for s, _ in found if not s.interim]
    if ends:
        whole.append(max(ends, key=lambda s: s.last))
    return sorted((s, path) for s, path in found if not any(j.covers(s) for j in whole))


def segments(run: Path) -> list[Path]:
    """The segments of a run folder in the order of their steps; see `spans`."""
    return [path for _, path in spans(run)]


def read_each_segment(
    run: Path,
    read: Callable[[h5py.File, int], Result],
    damaged: list[str] | None = None,
    after: int = -1,
) -> Iterator[Result]:
    """The results of `read` for each segment in the order of steps, and the last step that was read before.

    after: segments up to this step are left out, as if they had been read before.

    A running run joins segments and deletes their sources: then the folder is listed again, and rows up to
    that step are to be skipped. Raises CheckpointError if a segment is damaged, unless a list is given for
    the messages.
    """
    covered, todo = after, [one for one in spans(run) if one[0].last > after]
    while todo:
        (here, path), *todo = todo
        try:
            with looked_at(path) as file:
                result = read(file, covered)
        except CheckpointError as error:
            if held_folders.status(path) is None:
                todo = [one for one in spans(run) if one[0].last > covered]
            elif damaged is None:
                raise
            else:
                damaged.append(str(error))
        else:
            covered = max(covered, here.last)
            yield result


def names(run: Path) -> list[str]:
    """The series of a run, e.g. `observables/total`, `cells/beam/energy_density`, `grids/canvas/dose`.

    Raises CheckpointError if damaged.
    """
    found: set[str] = set()
    for some in read_each_segment(run, lambda file, _: h5md.series_in(file)):
        found.update(some)
    return sorted(found)


def pieces(run: Path, name: str, after: int = -1) -> Iterator[Series]:
    """One series, segment by segment, each checked against its hash; see `series`.

    after: rows up to this step are left out; a series without a row since then gives nothing.
    """

    def read(file: h5py.File, covered: int) -> Series | None:
        if f"{name}/value" not in file:
            return None
        begin = int(np.searchsorted(file[name]["step"][...], covered, "right"))
        return Series(*(file[name][leaf][begin:] for leaf in LEAVES))

    found = False
    for piece in read_each_segment(run, read, after=after):
        if piece is not None:
            found = True
            if len(piece.step):
                yield piece
    if not found and after < 0:
        raise _unknown_series(run, name)


def steps(run: Path, name: str) -> np.ndarray:
    """The recorded steps (T,) of a series, without its values; see `series`."""

    def read(file: h5py.File, covered: int) -> np.ndarray | None:
        if f"{name}/value" not in file:
            return None
        recorded = file[name]["step"][...]
        return recorded[int(np.searchsorted(recorded, covered, "right")) :]

    found = [some for some in read_each_segment(run, read) if some is not None]
    if not found:
        raise _unknown_series(run, name)
    return np.concatenate(found)


def contents(segment: Path, covered: int = -1) -> Iterator[tuple[str, Series]]:
    """Each series of one segment after step `covered`, by name. Raises CheckpointError if it is damaged."""
    with looked_at(segment) as file:
        for name in h5md.series_in(file):
            begin = int(np.searchsorted(file[name]["step"][...], covered, "right"))
            yield name, Series(*(file[name][leaf][begin:] for leaf in LEAVES))


class Head(NamedTuple):
    """Summary of a series in one segment: number of rows, first and last step, shape and dtype of a row."""

    rows: int
    first: int
    last: int
    shape: tuple[int, ...]
    dtype: np.dtype
    unit: Unit | None


def heads(file: h5py.File, covered: int = -1) -> Iterator[tuple[str, Head]]:
    """Summaries of the series in one open segment (`read_each_segment`), of the rows after step `covered`."""
    for name in h5md.series_in(file):
        value, steps = file[name]["value"], file[name]["step"][...]
        if len(steps := steps[steps > covered]):
            ends = int(steps[0]), int(steps[-1])
            yield name, Head(len(steps), *ends, value.shape[1:], value.dtype, h5md.unit_of(value))


def series(run: Path, name: str) -> Series:
    """All of one series: step (T,), time (T,), value (T, ...), from the segments, hashes checked.

    Raises UserError if it was not recorded, CheckpointError if a segment is damaged.
    """
    return Series(*map(np.concatenate, zip(*pieces(run, name), strict=True)))


def last_row(run: Path, name: str) -> Series:
    """The last row of one series, T = 1, from the newest segment that has it; raises like `series`."""
    todo = spans(run)
    while todo:
        *todo, (_, path) = todo
        try:
            with looked_at(path) as file:
                if f"{name}/value" in file:
                    return Series(*(file[name][leaf][-1:] for leaf in LEAVES))
        except CheckpointError:
            if held_folders.status(path) is not None:
                raise
            todo = spans(run)
    raise _unknown_series(run, name)


def symbols(run: Path, name: str) -> tuple[str, str]:
    """The unit symbols of a series' value and time; empty if there are none."""

    def read(file: h5py.File, covered: int) -> tuple[str, str] | None:
        if f"{name}/value" not in file:
            return None
        value, time = (file[name][leaf].attrs.get("unit_symbol", "") for leaf in ("value", "time"))
        return str(value), str(time)

    return next((found for found in read_each_segment(run, read) if found is not None), ("", ""))


def units(run: Path, name: str) -> tuple[Unit | None, Unit | None]:
    """The units of a series' value and time, with their sizes in SI; None where there are none."""

    def read(file: h5py.File, covered: int) -> tuple[Unit | None, Unit | None] | None:
        if f"{name}/value" not in file:
            return None
        return h5md.unit_of(file[name]["value"]), h5md.unit_of(file[name]["time"])

    return next((found for found in read_each_segment(run, read) if found is not None), (None, None))


def connectivity(run: Path) -> dict[str, np.ndarray]:
    """The lists of node tuples that were recorded, int32 (E, k) by name.

    Raises CheckpointError if damaged.
    """
    found: dict[str, np.ndarray] = {}

    def read(file: h5py.File, covered: int) -> None:
        for name in set(h5md.lists_in(file)) - found.keys():
            found[name] = file[CONNECTIVITY][name][...]

    for _ in read_each_segment(run, read):
        pass
    return dict(sorted(found.items()))


def looks(run: Path) -> dict[str, ListLook]:
    """What the tuples of lists look like, by list. Raises CheckpointError if damaged."""
    found: dict[str, ListLook] = {}
    for some in read_each_segment(run, lambda file, _: h5md.looks_in(file)):
        found = some | found
    return dict(sorted(found.items()))


def grids(run: Path) -> dict[str, Raster]:
    """The recorded grids, by name.

    Raises CheckpointError if damaged.
    """
    found: dict[str, Raster] = {}
    for some in read_each_segment(run, lambda file, _: h5md.grids_in(file)):
        found = some | found
    return dict(sorted(found.items()))


def _unknown_series(run: Path, name: str) -> UserError:
    return UserError(f"{run}: {unknown('series', name, names(run))}")


@contextmanager
def looked_at(path: Path) -> Iterator[h5py.File]:
    """A segment opened on disk, after its hash and contents were checked.

    Raises CheckpointError if it is damaged, or was not written by a recorder.
    """
    with (
        vouched_files.open_vouched(path) as found,
        _named_error(path),
        hdf5_trust.opened_stream(found.stream, found.known) as file,
    ):
        if not found.known:
            _refuse_strange(file, found.stamp.size)
            found.note_examined()
        yield file


@contextmanager
def _named_error(path: Path) -> Iterator[None]:
    """Raise every error about a segment as a CheckpointError with its path."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except (OSError, LookupError, AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path}: cannot be opened as a segment: {error}") from error


def _refuse_strange(file: h5py.File, size: int) -> None:
    """Raise CheckpointError for contents that no recorder writes; no data is read."""
    arrays = hdf5_trust.arrays(file, size, "a segment", shared=True)
    for name in {CONNECTIVITY, GRIDS} & set(file):
        if name in arrays:
            raise CheckpointError(f"'{name}' is an array; it was not written by minusgrad")
    for name in h5md.series_in(file):
        shapes = [arrays[leaf].shape if leaf in arrays else () for leaf in (f"{name}/{x}" for x in LEAVES)]
        if not shapes[0] == shapes[1] == shapes[2][:1] != ():
            raise CheckpointError(
                f"series '{name}' needs one step and one time for each row; it was not written by minusgrad"
            )
