"""Joining of segments, so that the master file refers to fewer than 200, however long the run.

    10 segments of one level become one of the next, oldest first, older than the kept checkpoints

Each row is copied once for each power of 10 in the number of saves, and there are at most 9 files of each
level, so that the master, which costs by the number of its sources, stays small. Sources are deleted after
the joined file is on disk and the master refers to it; a kill in between leaves both, and their names tell
which counts (`trajectory.spans`). No array is read into memory.

Decisions 0060, 0233.
"""

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from . import durable, h5md, trajectory
from .frames import upright_frames
from .frames.looks import ListLook
from .h5md import CONNECTIVITY, FRAMES
from .hdf5_layout import Stretch, laid_out, stretch
from .held import held_folders
from .trajectory import Column, Span

JOINED = 10
"""The number of segments that are joined into one."""


def compact(run: Path, sealed: int, until: int, interim: bool = False) -> None:
    """Join segments up to step `until`, as long as a level has enough of them.

    sealed: the step of the last scheduled checkpoint. interim: join interim segments, and no others. Raises
    CheckpointError for a damaged segment, RunFailedError if the disk refuses.
    """
    while group := _enough_to_join(
        [(s, path) for s, path in trajectory.spans(run, sealed) if s.last <= until and s.interim == interim]
    ):
        first, last = group[0][0], group[-1][0]
        _join_segments(
            run, [path for _, path in group], first._replace(last=last.last, level=first.level + 1)
        )


def columns(paths: Sequence[Path]) -> dict[str, Column]:
    """The series of several segments, joined in this order; their values are not read."""
    groups = []
    for path in paths:
        with trajectory.looked_at(path) as file:
            groups.append(_read_columns(file, path, None))
    return {
        name: trajectory.join_columns(parts)
        for name, parts in upright_frames.columns_together(groups).items()
    }


def cut_segments(run: Path, sealed: int) -> list[str]:
    """Shorten joined segments that extend beyond step `sealed`, where the run resumes; returns remarks."""
    remarks = []
    for s, path in trajectory.spans(run):
        if not s.level or s.interim or s.last <= sealed:
            continue
        if s.first <= sealed:
            _join_segments(run, [path], s._replace(last=sealed), sealed)
        durable.remove(path)
        remarks.append(f"traj/{path.name}: extends beyond step {sealed}; later steps are recomputed")
    return remarks


def superseded_segments(run: Path, sealed: int) -> list[Path]:
    """Segments up to step `sealed`, or interim, whose rows are contained in another one."""
    valid = {path for _, path in trajectory.spans(run, sealed)}
    files = held_folders.files(run / "traj", ".h5")
    found = [(s, p) for p in files if (s := trajectory.span(p)) is not None]
    return [p for s, p in found if p not in valid and (s.interim or s.last <= sealed)]


def _enough_to_join(segments: Sequence[tuple[Span, Path]]) -> list[tuple[Span, Path]]:
    """The oldest segments of one level, if there are enough of them."""
    for level in sorted({s.level for s, _ in segments}):
        if len(group := [one for one in segments if one[0].level == level]) >= JOINED:
            return group[:JOINED]
    return []


def _join_segments(run: Path, paths: Sequence[Path], span: Span, until: int | None = None) -> Path:
    """Write one segment of this name with the rows of all, in order, up to step `until`."""
    groups: list[dict[str, Column]] = []
    lists: dict[str, np.ndarray] = {}
    grids: dict[str, h5md.Raster] = {}
    constants: dict[str, np.ndarray] = {}
    looks: dict[str, ListLook] = {}
    periodic: tuple[bool, ...] = ()
    for path in paths:
        with trajectory.looked_at(path) as file:
            groups.append(_read_columns(file, path, until))
            for name in set(h5md.lists_in(file)) - lists.keys():
                lists[name] = file[CONNECTIVITY][name][...]
            looks = h5md.looks_in(file) | looks
            grids, periodic = h5md.grids_in(file) | grids, periodic or h5md.periodic_in(file)
            for label in set(h5md.constants_in(file)) - constants.keys():
                constants[label] = file[FRAMES][label][...]
    parts = upright_frames.columns_together(groups)
    joined = {name: trajectory.join_columns(found) for name, found in sorted(parts.items())}
    kept = {name: column for name, column in joined.items() if len(column.step)}
    lists, grids = dict(sorted(lists.items())), dict(sorted(grids.items()))
    image = laid_out(lambda draft: trajectory.fill(draft, kept, lists, grids, periodic, constants, looks))
    stem = f"{span.first:012d}-{span.last:012d}.{span.level}" + ".interim" * span.interim
    return durable.write_new(run / "traj", stem, image)


def _read_columns(file: h5py.File, path: Path, until: int | None) -> dict[str, Column]:
    """All series of one file, up to a step."""
    return {
        name: _read_column(file[name], path, until) for name in [*h5md.series_in(file), *h5md.copies_in(file)]
    }


def _read_column(group: h5py.Group, path: Path, until: int | None) -> Column:
    """One series of one file, up to a step; its values are not read."""
    step, time, value = (group[leaf] for leaf in h5md.LEAVES)
    steps = step[...]
    rows = len(steps) if until is None else int(np.searchsorted(steps, until, "right"))
    where = stretch(value, path)
    part = Stretch(path, where.start, where.length // max(len(steps), 1) * rows)
    shape = (rows, *value.shape[1:])
    return Column(
        steps[:rows], time[:rows], shape, value.dtype, [part], h5md.unit_of(value), h5md.unit_of(time)
    )
