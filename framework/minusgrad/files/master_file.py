"""The master file of a run, `trajectory.h5`: virtual datasets over all segments, by relative paths.

    trajectory.h5    the layout of `h5md`; each list and grid as in the first segment that has it
      /VTKHDF        the same data for VTK (`vtkhdf`)

Lists are virtual, too: a copy would be rewritten at every save, and is useless without the segments.
"""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from ..errors import RunFailedError
from . import durable, h5md, trajectory, vtkhdf
from .h5md import CONNECTIVITY, LEAVES, OBSERVABLES, POSITION, Raster
from .virtual_datasets import Source, stacked

NAME = "trajectory.h5"


def write(run: Path, segments: list[Path]) -> Path | None:
    """Write `run/trajectory.h5` over segments in `run/traj`, in the order given.

    Returns None and deletes the file if there are no segments. There are fewer than 200 (`compaction`): a
    reader limited to 1,024 open files silently sees fill values beyond about 1,018. Raises RunFailedError
    if a series or a list changes its shape between segments, CheckpointError if a segment cannot be opened.
    """
    master = run / NAME
    if not segments:
        durable.remove(master)
        return None
    durable.replace(master, image(segments))
    return master


def image(segments: list[Path]) -> bytes:
    """The bytes of a master file over these segments, reproducible. Raises as `write` does."""
    series: dict[str, list[_Series]] = {}
    lists: dict[str, list[Source]] = {}
    grids: dict[str, Raster] = {}
    for path in segments:
        stamp = path.stat()
        contents = _contents(path, stamp.st_size, stamp.st_mtime_ns)
        for name, part in contents.series.items():
            series.setdefault(name, []).append(part)
        for name, rows in contents.lists.items():
            lists.setdefault(name, []).append(rows)
        grids = contents.grids | grids
    return durable.image(lambda file: _fill(file, series, lists, grids))


def sources(file: h5py.File) -> set[str]:
    """The segments that a master file refers to, relative to the run folder."""
    found: set[str] = set()

    def note(name: str, item: h5py.Dataset | h5py.Group) -> None:
        if isinstance(item, h5py.Dataset) and item.is_virtual:
            found.update(source.file_name for source in item.virtual_sources())

    file.visititems(note)
    return found - {"."}


class _Series(NamedTuple):
    """One series in one segment; series of a segment with equal `clock` share step and time."""

    clock: tuple[str, int]
    leaves: dict[str, Source]
    when: tuple[np.ndarray, np.ndarray] | None
    """Steps and times of series that VTK can show."""


class _Contents(NamedTuple):
    series: dict[str, _Series]
    lists: dict[str, Source]
    grids: dict[str, Raster]


@lru_cache(maxsize=512)
def _contents(path: Path, size: int, modified: int) -> _Contents:
    """The contents of a segment; cached until the file changes."""
    name = f"{path.parent.name}/{path.name}"
    with trajectory.looked_at(path) as file:
        series = {series: _series(file[series], name) for series in h5md.series_in(file)}
        places = {tuples: f"{CONNECTIVITY}/{tuples}" for tuples in h5md.lists_in(file)}
        lists = {tuples: Source.of(file[place], place, name) for tuples, place in places.items()}
        return _Contents(series, lists, h5md.grids_in(file))


def _series(group: h5py.Group, file: str) -> _Series:
    leaves = {leaf: Source.of(group[leaf], f"{group.name[1:]}/{leaf}", file) for leaf in LEAVES}
    seen = not group.name.startswith(f"/{OBSERVABLES}/")
    when = (group["step"][...], group["time"][...]) if seen else None
    return _Series((file, h5py.h5o.get_info(group["step"].id).addr), leaves, when)


def _fill(
    file: h5py.File,
    series: dict[str, list[_Series]],
    lists: dict[str, list[Source]],
    grids: dict[str, Raster],
) -> None:
    position = series.get(POSITION)
    h5md.write_head(file, position[0].leaves["value"].shape[-1] if position else 3)
    for name, rows in sorted(lists.items()):
        _refuse_change(f"list '{name}'", rows, [part.shape for part in rows])
        h5md.refer(file, stacked(file, f"{CONNECTIVITY}/{name}", rows[:1]))
    for name, raster in sorted(grids.items()):
        h5md.write_raster(file, name, raster)
    clocks: dict[tuple, str] = {}
    for name, parts in sorted(series.items()):
        values = [part.leaves["value"] for part in parts]
        _refuse_change(f"series '{name}'", values, [part.shape[1:] for part in values])
        stacked(file, f"{name}/value", values)
        clock = clocks.setdefault(tuple(part.clock for part in parts), name)
        if clock == name:
            for leaf in ("step", "time"):
                stacked(file, f"{name}/{leaf}", [part.leaves[leaf] for part in parts])
        else:
            h5md.share_clock(file, clock, name)

    tracks = {name: track for name, parts in sorted(series.items()) if (track := _track(parts)) is not None}
    vtkhdf.write(file, tracks, {name: rows[0] for name, rows in lists.items()}, grids)


def _track(parts: list[_Series]) -> vtkhdf.Track | None:
    """A series in the form that VTK can show; None if it has no steps for VTK."""
    moments = [part.when for part in parts if part.when is not None]
    if not moments:
        return None
    step, time = (np.concatenate([moment[k] for moment in moments]) for k in (0, 1))
    return vtkhdf.Track(step, time, [part.leaves["value"] for part in parts])


def _refuse_change(what: str, parts: list[Source], shapes: list[tuple[int, ...]]) -> None:
    first = parts[0]
    for part, shape in zip(parts, shapes, strict=True):
        if (shape, part.dtype) != (shapes[0], first.dtype):
            raise RunFailedError(
                f"{what}: must have one shape along a run, got {part.dtype}{list(shape)} in {part.file} and "
                f"{first.dtype}{list(shapes[0])} in {first.file}; give the new one another name"
            )
