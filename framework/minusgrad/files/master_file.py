"""The master file of a run, `trajectory.h5`: virtual datasets over all segments, by relative paths.

    trajectory.h5    the layout of `h5md`; each list and grid as in the first segment that has it
      /minusgrad     attrs layout, dimension; series that MDAnalysis would misread, below their usual names
      /VTKHDF        the same data for VTK (`vtkhdf`)

MDAnalysis 2.11 reads row k of each observable, and of velocities and forces, as that of frame k, refuses
observables that are three names deep, and reads vectors in space alone. So series that were recorded at other
steps than the frames, or named so, are below /minusgrad, and positions, velocities and forces of a plane or a
line are padded with zeros to three components. The edges of a box in the plane are below /minusgrad, too.
Where the box is not upright, the frames that it reads are rotated copies (`upright_frames`); the frames as
they are and the rotations are below /minusgrad. Segments have none of this.

Lists are virtual, too: a copy would be rewritten at every save, and is useless without the segments.

Decisions 0060, 0234, 0237.
"""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from ..errors import CheckpointError, RunFailedError
from . import durable, h5md, trajectory, vtkhdf
from .frames import upright_frames
from .frames.looks import ListLook
from .h5md import CONNECTIVITY, EDGES, FRAMES, LEAVES, OBSERVABLES, POSITION, Raster
from .held import held_folders
from .virtual_datasets import Source, in_space, stack_parts

NAME = "trajectory.h5"
LAYOUT = 2
"""The arrangement of series below /minusgrad; masters of layout 1 have no such group."""
OWN = "minusgrad"
_VECTORS = (POSITION, f"{FRAMES}/velocity", f"{FRAMES}/force")
"""The arrays that MDAnalysis reads, in the order in which it looks for the steps of frames."""


def write(run: Path, segments: list[Path]) -> str | None:
    """Write `run/trajectory.h5` over segments in `run/traj`, in the order given; returns its SHA-256.

    Returns None and deletes the file if there are no segments. There are fewer than 200 (`compaction`): a
    reader limited to 1,024 open files silently sees fill values beyond about 1,018. Raises RunFailedError
    if a series or a list changes its shape between segments, CheckpointError if a segment cannot be opened.
    """
    master = run / NAME
    if not segments:
        durable.remove(master)
        return None
    data = image(segments)
    durable.replace(master, data)
    return hashlib.sha256(data).hexdigest()


def image(segments: list[Path]) -> bytes:
    """The bytes of a master file over these segments, reproducible. Raises as `write` does."""
    series: dict[str, list[_Series]] = {}
    lists: dict[str, list[Source]] = {}
    grids: dict[str, Raster] = {}
    constants: dict[str, Source] = {}
    periodic: tuple[bool, ...] = ()
    looks: dict[str, ListLook] = {}
    for path in segments:
        if (stamp := held_folders.status(path)) is None:
            raise CheckpointError(f"{path}: is missing; copy it again")
        contents = _segment_contents(path, stamp.st_size, stamp.st_mtime_ns)
        for name, part in contents.series.items():
            series.setdefault(name, []).append(part)
        for name, rows in contents.lists.items():
            lists.setdefault(name, []).append(rows)
        grids, periodic = contents.grids | grids, periodic or contents.periodic
        constants, looks = contents.constants | constants, contents.looks | looks
    return durable.image(lambda file: _fill_master(file, series, lists, grids, periodic, constants, looks))


def layout(file: h5py.File) -> int:
    """The arrangement of series in a master file: `LAYOUT`, or an earlier one."""
    return int(file[OWN].attrs["layout"]) if OWN in file else 1


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
    copy: Source | None = None
    """The values with the box upright, where it is not so itself (`upright_frames`)."""


class _Contents(NamedTuple):
    series: dict[str, _Series]
    lists: dict[str, Source]
    grids: dict[str, Raster]
    periodic: tuple[bool, ...]
    constants: dict[str, Source]
    looks: dict[str, ListLook]


@lru_cache(maxsize=512)
def _segment_contents(path: Path, size: int, modified: int) -> _Contents:
    """The contents of a segment; cached until the file changes."""
    name = f"{path.parent.name}/{path.name}"
    with trajectory.looked_at(path) as file:
        series = {series: _read_series(file[series], name) for series in h5md.series_in(file)}
        for copied, copy in upright_frames.COPIES.items():
            if copy in file:
                value = Source.of(file[copy]["value"], f"{copy}/value", name)
                series[copied] = series[copied]._replace(copy=value)
        if upright_frames.ROTATION in file:
            series[upright_frames.ROTATION] = _read_series(file[upright_frames.ROTATION], name)
        places = {tuples: f"{CONNECTIVITY}/{tuples}" for tuples in h5md.lists_in(file)}
        lists = {tuples: Source.of(file[place], place, name) for tuples, place in places.items()}
        fixed = {label: f"{FRAMES}/{label}" for label in h5md.constants_in(file)}
        constants = {label: Source.of(file[place], place, name) for label, place in fixed.items()}
        looks = h5md.looks_in(file)
        return _Contents(series, lists, h5md.grids_in(file), h5md.periodic_in(file), constants, looks)


def _read_series(group: h5py.Group, file: str) -> _Series:
    leaves = {leaf: Source.of(group[leaf], f"{group.name[1:]}/{leaf}", file) for leaf in LEAVES}
    seen = not group.name.startswith((f"/{OBSERVABLES}/", f"/{h5md.UPRIGHT}/"))
    when = (group["step"][...], group["time"][...]) if seen else None
    return _Series((file, h5py.h5o.get_info(group["step"].id).addr), leaves, when)


def _fill_master(
    file: h5py.File,
    series: dict[str, list[_Series]],
    lists: dict[str, list[Source]],
    grids: dict[str, Raster],
    periodic: tuple[bool, ...],
    constants: dict[str, Source],
    looks: dict[str, ListLook],
) -> None:
    position = series.get(POSITION)
    h5md.write_head(file, max(3, position[0].leaves["value"].shape[-1] if position else 3), periodic)
    own = file.create_group(OWN)
    own.attrs["layout"] = np.int32(LAYOUT)
    own.attrs["dimension"] = np.int32(position[0].leaves["value"].shape[-1] if position else 3)
    for name, rows in sorted(lists.items()):
        _refuse_change(f"list '{name}'", rows, [part.shape for part in rows])
        h5md.refer(file, stack_parts(file, f"{CONNECTIVITY}/{name}", rows[:1]))
    for name, raster in sorted(grids.items()):
        h5md.write_raster(file, name, raster)
    for name, array in sorted(constants.items()):
        stack_parts(file, f"{FRAMES}/{name}", [array])
    clocks: dict[tuple, str] = {}
    misread = _misread_series(series)
    for name, parts in sorted(series.items()):
        values = [part.leaves["value"] for part in parts]
        _refuse_change(f"series '{name}'", values, [part.shape[1:] for part in values])
        place = f"{OWN}/{name}" if name in misread else name
        copied = [part.copy or part.leaves["value"] for part in parts]
        _write_values(file, place, copied if place == name else values)
        clock = clocks.setdefault(_clock_key(parts), place)
        if clock == place:
            for leaf in ("step", "time"):
                stack_parts(file, f"{place}/{leaf}", [part.leaves[leaf] for part in parts])
        else:
            h5md.share_clock(file, clock, place)
        if place == name and copied != values:
            stack_parts(file, f"{OWN}/{name}/value", values)
            h5md.share_clock(file, clock, f"{OWN}/{name}")

    tracks = {
        name: track for name, parts in sorted(series.items()) if (track := _vtk_track(parts)) is not None
    }
    for name, look in sorted(looks.items()):
        h5md.write_look(file, name, look)
    vtkhdf.write(file, tracks, {name: rows[0] for name, rows in lists.items()}, grids, looks)


def _write_values(file: h5py.File, place: str, values: list[Source]) -> None:
    """Write the values of a series; vectors that MDAnalysis reads have three components, and its units."""
    first = values[0]
    if place not in _VECTORS or len(first.shape) != 3:
        stack_parts(file, f"{place}/value", values)
        return
    _, nodes, width = first.shape
    if 0 < width < 3:
        rows = sum(part.shape[0] for part in values)
        zeros = file.create_dataset(  # never written, so they take no room
            f"{OWN}/zeros/{h5md.label(place)}", (rows, nodes, 3 - width), first.dtype
        )
        dataset = in_space(file, f"{place}/value", values, zeros)
    else:
        dataset = stack_parts(file, f"{place}/value", values)
    h5md.write_notation(dataset, h5md.label(place), first.unit)


def _misread_series(series: dict[str, list[_Series]]) -> set[str]:
    """The series that MDAnalysis would read at wrong steps, or fail at; none without frames."""
    frames = next((name for name in _VECTORS if name in series), None)
    if frames is None:
        return set()
    clock, shape = _clock_key(series[frames]), series[frames][0].leaves["value"].shape[1:]
    vectors = set(_VECTORS) & series.keys()
    other = {name for name in vectors if series[name][0].leaves["value"].shape[1:] != shape}
    read = vectors | {name for name in series if name.startswith(f"{OBSERVABLES}/")}
    deep = {name for name in read if h5md.label(name).count("/") > 1}
    box = {EDGES} & series.keys()
    flat = {name for name in box if series[name][0].leaves["value"].shape[-1] != 3}
    turns = {upright_frames.ROTATION} & series.keys()
    return other | deep | flat | turns | {name for name in read | box if _clock_key(series[name]) != clock}


def _clock_key(parts: list[_Series]) -> tuple[tuple[str, int], ...]:
    """Equal for series that were recorded at the same steps."""
    return tuple(part.clock for part in parts)


def _vtk_track(parts: list[_Series]) -> vtkhdf.Track | None:
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
