"""One small file that reads like all segments of a run: virtual datasets over them, by relative paths.

    trajectory.h5    the layout of `h5md`; a list or a grid is that of the first segment which has it

The lists are virtual too: a copy would be read from a segment and written anew at every save of the run, to
stand beside values that are useless without the segments anyway.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from . import durable, h5md
from .errors import CheckpointError, RunFailedError
from .h5md import CONNECTIVITY, LEAVES, POSITION, Raster, Unit
from .trajectory import MOST_SEGMENTS

NAME = "trajectory.h5"


def write(run: Path, segments: list[Path]) -> Path | None:
    """Write `run/trajectory.h5` over segments in `run/traj`, in the order given; same segments, same bytes.

    None, and no master at all, without segments or with more than 500 of them, which a reader may not be
    able to open at once (`trajectory.series` reads any number). Raises RunFailedError if a series or a list
    changes its shape between segments, CheckpointError if a segment cannot be opened.
    """
    master = run / NAME
    if not 0 < len(segments) <= MOST_SEGMENTS:
        durable.remove(master)
        return None
    series: dict[str, list[_Series]] = {}
    lists: dict[str, list[_Dataset]] = {}
    grids: dict[str, Raster] = {}
    for path in segments:
        stamp = path.stat()
        contents = _contents(path, stamp.st_size, stamp.st_mtime_ns)
        for name, part in contents.series.items():
            series.setdefault(name, []).append(part)
        for name, rows in contents.lists.items():
            lists.setdefault(name, []).append(rows)
        grids = contents.grids | grids
    durable.replace(master, durable.image(lambda file: _fill(file, series, lists, grids)))
    return master


class _Dataset(NamedTuple):
    """What is known of one dataset without reading it; file is relative to the run's folder."""

    file: str
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype
    unit: Unit | None

    @classmethod
    def of(cls, dataset: h5py.Dataset, path: str, file: str) -> "_Dataset":
        return cls(file, path, dataset.shape, dataset.dtype, h5md.unit_of(dataset))


class _Series(NamedTuple):
    """What one segment holds of one series; two of one segment with the same clock share step and time."""

    clock: tuple[str, int]
    leaves: dict[str, _Dataset]


class _Contents(NamedTuple):
    series: dict[str, _Series]
    lists: dict[str, _Dataset]
    grids: dict[str, Raster]


@lru_cache(maxsize=2 * MOST_SEGMENTS)
def _contents(path: Path, size: int, modified: int) -> _Contents:
    """What a segment holds; remembered as long as nobody touches the file."""
    try:
        opened = h5py.File(path)
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be opened as a segment: {error}; copy it again or delete it"
        ) from error
    name = f"{path.parent.name}/{path.name}"
    with opened as file:
        series = {series: _series(file[series], name) for series in h5md.series_in(file)}
        places = {tuples: f"{CONNECTIVITY}/{tuples}" for tuples in h5md.lists_in(file)}
        lists = {tuples: _Dataset.of(file[place], place, name) for tuples, place in places.items()}
        return _Contents(series, lists, h5md.grids_in(file))


def _series(group: h5py.Group, file: str) -> _Series:
    leaves = {leaf: _Dataset.of(group[leaf], f"{group.name[1:]}/{leaf}", file) for leaf in LEAVES}
    return _Series((file, h5py.h5o.get_info(group["step"].id).addr), leaves)


def _fill(
    file: h5py.File,
    series: dict[str, list[_Series]],
    lists: dict[str, list[_Dataset]],
    grids: dict[str, Raster],
) -> None:
    position = series.get(POSITION)
    h5md.write_head(file, position[0].leaves["value"].shape[-1] if position else 3)
    for name, rows in sorted(lists.items()):
        _refuse_change(f"list '{name}'", rows, [part.shape for part in rows])
        h5md.refer(file, _write_virtual(file, rows[:1]))
    for name, raster in sorted(grids.items()):
        h5md.write_raster(file, name, raster)
    clocks: dict[tuple, str] = {}
    for name, parts in sorted(series.items()):
        values = [part.leaves["value"] for part in parts]
        _refuse_change(f"series '{name}'", values, [part.shape[1:] for part in values])
        _write_virtual(file, values)
        clock = clocks.setdefault(tuple(part.clock for part in parts), name)
        if clock == name:
            for leaf in ("step", "time"):
                _write_virtual(file, [part.leaves[leaf] for part in parts])
        else:
            h5md.share_clock(file, clock, name)


def _refuse_change(what: str, parts: list[_Dataset], shapes: list[tuple[int, ...]]) -> None:
    first = parts[0]
    for part, shape in zip(parts, shapes, strict=True):
        if (shape, part.dtype) != (shapes[0], first.dtype):
            raise RunFailedError(
                f"{what} is {part.dtype}{list(shape)} in {part.file} and was "
                f"{first.dtype}{list(shapes[0])} in {first.file}; it keeps its shape along a run"
            )


def _write_virtual(file: h5py.File, parts: Sequence[_Dataset]) -> h5py.Dataset:
    """One virtual dataset over the same dataset of several segments.

    A missing segment reads as NaN, -1 or 0.
    """
    first = parts[0]
    total = (sum(part.shape[0] for part in parts), *first.shape[1:])
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)  # h5py.VirtualLayout would write the time of day into the file
    plan.set_fill_value(np.array({"f": np.nan, "i": -1}.get(first.dtype.kind, 0), first.dtype))
    start = 0
    for part in parts:
        here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(part.shape)
        here.select_hyperslab((start,) + (0,) * len(part.shape[1:]), part.shape)
        plan.set_virtual(here, part.file.encode(), part.path.encode(), there)
        start += part.shape[0]
    kind, space = h5py.h5t.py_create(first.dtype, logical=True), h5py.h5s.create_simple(total)
    folder, name = first.path.rsplit("/", 1)
    group = file.require_group(folder)
    dataset = h5py.Dataset(h5py.h5d.create(group.id, name.encode(), kind, space, plan))
    h5md.write_unit(dataset, first.unit)
    return dataset
