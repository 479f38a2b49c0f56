"""Joining of segments, so that the master file refers to fewer than 200, however long the run.

    50 segments of one level become one of the next, oldest first, older than the kept checkpoints

Each row is copied once for each power of 50 in the number of saves, and there are at most 49 files of each
level. Sources are deleted after the joined file is on disk and the master refers to it; a kill in between
leaves both, and their names tell which counts (`trajectory.spans`). No array is read into memory.
"""

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from . import durable, h5md, trajectory
from .h5md import CONNECTIVITY
from .hdf5_layout import Stretch, laid_out, stretch
from .trajectory import Column, Span

JOINED = 50
"""The number of segments that are joined into one."""


def compact(run: Path, until: int) -> None:
    """Join segments up to step `until`, as long as a level has enough of them.

    Raises CheckpointError for a damaged segment, RunFailedError if the disk refuses.
    """
    while group := _enough([(s, path) for s, path in trajectory.spans(run) if s.last <= until]):
        _join(run, [path for _, path in group], group[0][0].first, group[-1][0].last, group[0][0].level + 1)


def cut(run: Path, sealed: int) -> list[str]:
    """Shorten joined segments that extend beyond step `sealed`, where the run resumes; returns remarks."""
    remarks = []
    for s, path in trajectory.spans(run):
        if not s.level or s.last <= sealed:
            continue
        if s.first <= sealed:
            _join(run, [path], s.first, sealed, s.level, sealed)
        durable.remove(path)
        remarks.append(f"traj/{path.name}: extends beyond step {sealed}; later steps are recomputed")
    return remarks


def superseded(run: Path) -> list[Path]:
    """Segments whose rows are contained in another one."""
    valid = set(trajectory.segments(run))
    return [p for p in (run / "traj").glob("*.h5") if trajectory.span(p) is not None and p not in valid]


def _enough(segments: Sequence[tuple[Span, Path]]) -> list[tuple[Span, Path]]:
    """The oldest segments of one level, if there are enough of them."""
    for level in sorted({s.level for s, _ in segments}):
        if len(group := [one for one in segments if one[0].level == level]) >= JOINED:
            return group[:JOINED]
    return []


def _join(
    run: Path, paths: Sequence[Path], first: int, last: int, level: int, until: int | None = None
) -> Path:
    """Write one segment with the rows of all, in order, up to step `until`."""
    columns: dict[str, list[Column]] = {}
    lists: dict[str, np.ndarray] = {}
    grids: dict[str, h5md.Raster] = {}
    for path in paths:
        with trajectory.looked_at(path) as file:
            for name in h5md.series_in(file):
                columns.setdefault(name, []).append(_column(file[name], path, until))
            for name in set(h5md.lists_in(file)) - lists.keys():
                lists[name] = file[CONNECTIVITY][name][...]
            grids = h5md.grids_in(file) | grids
    joined = {name: _joined(parts) for name, parts in sorted(columns.items())}
    kept = {name: column for name, column in joined.items() if len(column.step)}
    image = laid_out(
        lambda draft: trajectory.fill(draft, kept, dict(sorted(lists.items())), dict(sorted(grids.items())))
    )
    return durable.write_new(run / "traj", f"{first:012d}-{last:012d}.{level}", image)


def _column(group: h5py.Group, path: Path, until: int | None) -> Column:
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


def _joined(columns: Sequence[Column]) -> Column:
    first, parts = columns[0], [part for c in columns for part in c.parts]
    step, time = (np.concatenate([c[k] for c in columns]) for k in (0, 1))
    return first._replace(step=step, time=time, shape=(len(step), *first.shape[1:]), parts=parts)
