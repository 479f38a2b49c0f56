"""One member of an ensemble as a run folder of its own, which `compare` finds equal to that of `--member`.

Rows and states are copied from the files of the ensemble; nothing is computed. It can be resumed as a member
that runs alone. Different from a run with `--member`: the journal, and of a member that failed the state at
its end, which an ensemble does not keep; series of which only statistics were recorded are missing.

Decisions 0390.
"""

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from ...files import checkpoint, durable, h5md, master_file, trajectory
from ...files.frames import upright_frames
from ...files.h5md import CONNECTIVITY, Raster
from ...files.hdf5_layout import laid_out
from ...files.held import held_folders
from ...files.run_folder import INPUTS, RunDir
from ...files.trajectory import Column
from .saved_ensemble import SavedEnsemble


def write_member(run: Path, number: int, out: Path) -> Path:
    """Write the run folder of one member into `out`, which must be new or empty; returns it.

    Raises `RunFolderError` for a run without members or an occupied folder, `UserError` for a number that no
    member has, `CheckpointError` if a file is damaged.
    """
    saved = SavedEnsemble(run)
    saved.row(number)
    given = (one for one in saved.folder.overrides if not one.startswith("ensemble.shard"))
    overrides = [*given, f"ensemble.member={number}"]
    with RunDir.create(out, saved.folder.scene, overrides, False) as folder:
        for file, _ in held_folders.walk(run / INPUTS):
            held_folders.make((target := out / file.relative_to(run)).parent)
            durable.replace(target, held_folders.read_file(file))
        folder.journal("exported", run=str(run), member=number)
        _Segments(saved, number).write(out / "traj")
        failed = saved.failures.get(number)
        for path in checkpoint.list_checkpoints(run / "ckpt"):
            if not checkpoint.is_scheduled(path) or (failed and checkpoint.step_of(path) > failed.step):
                continue
            moment = saved.snapshot_of(checkpoint.load(path), number)
            if not any(
                checkpoint.step_of(one) == moment.step for one in checkpoint.list_checkpoints(out / "ckpt")
            ):
                checkpoint.save(out / "ckpt", moment)
        master_file.write(out, trajectory.segments(out))
        if failed:
            folder.journal("failed", step=failed.step, error=failed.text)
        elif (state := saved.state(number)) != "running":
            folder.journal("finished", step=saved.steps(number), outcome=state)
    return out


class _Segments:
    """The segments of a run, with the rows of one member alone."""

    def __init__(self, saved: SavedEnsemble, number: int):
        self.saved, self.row = saved, saved.row(number)
        self.end = saved.steps(number)
        self.ended = number in saved.ends
        self._left: dict[str, list[Column]] = {}
        self._lists: dict[str, np.ndarray] = {}
        self._grids: dict[str, Raster] = {}
        self._periodic: Sequence[bool] = ()

    def write(self, folder: Path) -> None:
        """Write them; the rows of a member that ended by itself end with its last step."""
        for path in trajectory.segments(self.saved.path):
            span = trajectory.span(path)
            assert span is not None
            with trajectory.looked_at(path) as file:
                self._take_lists(file)
                for name in h5md.series_in(file):
                    self._take_rows(file[name], name)
            if not self.ended or span.last < self.end:
                self._flush(folder, durable.stem(path))
        self._flush(folder, f"{self.end:012d}")

    def _flush(self, folder: Path, stem: str) -> None:
        """Write the rows that are left as one segment, if there are any."""
        columns = {name: trajectory.join_columns(parts) for name, parts in sorted(self._left.items())}
        columns = dict(sorted((columns | upright_frames.copies(columns)).items()))
        self._left = {}
        if not columns:
            return
        lists, grids = dict(sorted(self._lists.items())), dict(sorted(self._grids.items()))
        mesh = any(h5md.FRAMES in name or h5md.list_of(name) for name in columns)
        kept = {h5md.grid_of(name) for name in columns}
        grids = {name: one for name, one in grids.items() if name in kept}
        image = laid_out(
            lambda draft: trajectory.fill(draft, columns, lists if mesh else {}, grids, self._periodic)
        )
        durable.write_new(folder, stem, image)

    def _take_lists(self, file: h5py.File) -> None:
        saved, row = self.saved, self.row
        for name in h5md.lists_in(file):
            self._lists[name] = saved.list_of_member(file[CONNECTIVITY][name][...], row)
        for name, raster in h5md.grids_in(file).items():
            self._grids[name] = saved.grid_of_member(raster)
        self._periodic = h5md.periodic_in(file)

    def _take_rows(self, group: h5py.Group, name: str) -> None:
        """Keep the member's rows of one series, unless it has statistics."""
        if (own := self.saved.own_name(name)) is None:
            return
        value = group["value"]
        rows = self.saved.of_member(name, value[...], self.row)
        units = h5md.unit_of(value), h5md.unit_of(group["time"])
        step, time = self._cut(own, group["step"][...]), group["time"][...]
        rows, keep = np.ascontiguousarray(rows[step >= 0]), step >= 0
        if keep.any():
            column = Column(step[keep], time[keep], rows.shape, rows.dtype, [rows], *units)
            self._left.setdefault(own, []).append(column)

    def _cut(self, name: str, step: np.ndarray) -> np.ndarray:
        """The steps up to the member's last one, and -1: the first behind it is the row of its end."""
        beyond = step > self.end
        found = np.where(beyond, -1, step)
        if self.ended and beyond.any() and self.end not in step and not self._has_end(name):
            found[int(np.argmax(beyond))] = self.end
        return found

    def _has_end(self, name: str) -> bool:
        return any(self.end in column.step for column in self._left.get(name, ()))
