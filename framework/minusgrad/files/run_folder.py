"""Run folders: the files of one run on disk. A kill at any moment loses nothing that was reported as saved.

    scene.toml  overrides.json    the scene and overrides of the start, byte for byte
    journal.jsonl                 one line per event, fsynced; the only wall-clock times; the lock file
    ckpt/  traj/                  immutable checkpoints and trajectory segments
    trajectory.h5                 the master over the segments
    fit.json  fit.csv             the estimates of a completed fit; its data beside the model

A scheduled save writes the segment, then the checkpoint; prunes old checkpoints, and appends to the journal.
The checkpoint is the commit: a segment newer than the newest checkpoint is ignored, and rewritten by the
resumed run. Every few seconds, and at the end, old segments are joined and the master file is rewritten;
segments that the master names are deleted only after that.

An unscheduled save (an interruption, or one by the clock) writes an interim segment with the rows since the
save before, then an unscheduled checkpoint. The next scheduled save copies all these rows into its own
segment and deletes the interim files. So the folders of a resumed and an uninterrupted run end equal, file
for file, except for the journal, whatever the clock did.

Decisions 0099, 0234, 0235, 0239.
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import CheckpointError, MinusgradError, RunFolderError, printable
from . import checkpoint, compaction, durable, master_file, trajectory, wall_clock
from .checkpoint import Snapshot
from .held import held_folders, journals
from .held.given_folder import GivenFolder
from .held.held_folders import FolderHold
from .held.json_text import TooDeepError, parse_json
from .held.run_listing import JOURNAL, refuse_no_run
from .trajectory import Recorder

INPUTS = "inputs"
"""The folder in a run folder for the files that its scene reads."""
RECORDER = "recorder"  # the folder of the unsealed rows among a checkpoint's arrays
RENEWAL = 5.0
"""Seconds from one rewriting of the master file to the next, if saves are more frequent."""


class RunDir:
    """The folder of one run, from `create` or `open`; closed by `close` or at the end of a `with` block."""

    def __init__(self, path: Path, lock: int | None, hold: FolderHold | None = None):
        self._folder = GivenFolder(path)
        self._lock, self._hold = lock, hold
        self._sealed = -1  # step of the last scheduled checkpoint of this run
        self._interims: list[Path] = []  # interim segments since then
        self._strays: list[Path] = []  # segments of a killed attempt, beyond its checkpoint
        self._renewed = -inf  # when the master was last rewritten
        self._due: tuple[int, int] | None = None  # keep and keep_every, if it is to be rewritten

    @property
    def path(self) -> Path:
        """The folder, as it was given; its absolute path once the working folder is another one."""
        return self._folder.path

    @classmethod
    def create(cls, path: Path, scene: bytes, overrides: Sequence[str], force: bool = False) -> Self:
        """Start a run in an empty or new folder; with `force`, delete an earlier run in it.

        The caller saves a checkpoint of step 0 next; from then on the run can be resumed.
        Raises RunFolderError if the folder is in use, or not empty (with `force`: not empty and not a run).
        """
        path = without_dots(path)
        refuse_occupied(path, force)
        durable.make_folder(path)
        run = cls._lock_run(path)
        try:
            refuse_occupied(path, force)  # again: with the lock, no other process can fill it
            run._clear_run()
            run.journal("started", pid=os.getpid())
            durable.make_folder(run._checkpoint_folder)
            durable.make_folder(run._segment_folder)
            durable.replace(path / "overrides.json", json.dumps(list(overrides), indent=1).encode() + b"\n")
            durable.replace(path / "scene.toml", scene)
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def open(cls, path: Path, read_only: bool = False) -> Self:
        """Open an existing run: to continue it, or `read_only` (without lock and without a journal line).

        Raises RunFolderError if the folder is not a run, or another process writes to it.
        """
        path = without_dots(path)
        refuse_no_run(path)
        held_folders.examine(path)
        if read_only:
            return cls(path, None)
        run = cls._lock_run(path)
        try:
            run.journal("resumed", pid=os.getpid())
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def _lock_run(cls, path: Path) -> Self:
        """The run in a folder, held and locked. Raises RunFolderError if another process writes to it."""
        hold = _hold_folder(path)
        try:
            return cls(path, journals.lock_journal(path / JOURNAL), hold)
        except BaseException:
            hold.close()
            raise

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._hold is not None:
            self._hold.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.finish()
            elif isinstance(error, Exception):
                with suppress(MinusgradError):  # the error at hand is reported
                    self.finish()
        finally:
            self.close()

    def finish(self) -> list[str]:
        """Rewrite the master file, if saves since its last rewriting left it to be done. Returns remarks."""
        return [] if self._due is None else self.tidy(*self._due)

    @property
    def scene(self) -> bytes:
        """The text of the scene, as at the start of the run."""
        return held_folders.read_file(self.path / "scene.toml")

    @property
    def overrides(self) -> list[str]:
        """The overrides of the command line, in their order."""
        try:
            return parse_json(held_folders.read_file(path := self.path / "overrides.json"))
        except TooDeepError as error:
            raise RunFolderError(f"{path}: {error}; restore the original file") from None

    def journal(self, event: str, **facts: Any) -> None:
        """Add one line of JSON-able facts, with the wall-clock time (UTC); returns when it is on disk."""
        self._must_write()
        journals.append(self._journal_path, event, **facts)

    def is_running(self) -> bool:
        """Whether another process writes to the run."""
        return journals.is_locked(self._journal_path)

    def events(self) -> list[dict[str, Any]]:
        """The journal's events; a line torn by a power cut is skipped."""
        return list(journals.events(self._journal_path))

    def segments(self) -> list[Path]:
        """The trajectory's segments in the order of their steps."""
        return trajectory.segments(self.path)

    def save(
        self,
        snapshot: Snapshot,
        recorder: Recorder | None,
        keep: int,
        seal: bool = True,
        keep_every: int = 0,
        kind: str = checkpoint.INTERRUPTED,
    ) -> list[str]:
        """Save a state of the run, and return once it is safe on disk. Returns remarks for the user.

        seal: True for a scheduled save, else it is an unscheduled one of this `kind`. The checkpoint's meta
        has the step of the last seal as `sealed`, and names the interim segments since then as `interim`. The
        newest `keep` checkpoints are kept, and those at multiples of `keep_every`; of unscheduled ones the
        newest two. Raises RunFailedError if writing fails.
        """
        self._must_write()
        with durable.named_failure(self.path):
            return self._save_all(snapshot, recorder, keep, seal, keep_every, kind)

    def _save_all(
        self, snapshot: Snapshot, recorder: Recorder | None, keep: int, seal: bool, keep_every: int, kind: str
    ) -> list[str]:
        remarks, segment = self._record_rows(snapshot.step, recorder, seal)
        new = self._commit_checkpoint(snapshot, recorder, "" if seal else kind)
        others = [path for path in checkpoint.list_checkpoints(self._checkpoint_folder) if path != new]
        facts: dict[str, Any] = {"checkpoint": new.name, "segment": segment.name if segment else None}
        if seal:
            remarks += self._supersede_attempt(
                snapshot.step, [p for p in others if checkpoint.step_of(p) > self._sealed]
            )
            self._sealed, self._interims = snapshot.step, []
            if wall_clock.now() - self._renewed >= RENEWAL:
                remarks += self._renew_master(keep, facts)
            else:
                self._due = keep, keep_every
            self._prune_checkpoints(keep, keep_every)
        else:
            facts["by"] = "clock" if kind == checkpoint.INTERIM else "interruption"
            earlier = [p for p in others if not checkpoint.is_scheduled(p)]
            kept = [p for p in earlier if checkpoint.step_of(p) <= snapshot.step][-1:]
            _drop_files(path for path in earlier if path not in kept)
            remarks += self._renew_master(keep, facts)
        self.journal("saved", step=snapshot.step, scheduled=seal, **facts)
        return remarks

    def _record_rows(self, step: int, recorder: Recorder | None, seal: bool) -> tuple[list[str], Path | None]:
        """Write the rows of a save: of an unscheduled one as an interim segment."""
        if not seal:
            segment = (
                recorder.seal(self._segment_folder, step, interim=True) if recorder is not None else None
            )
            self._interims += [segment] if segment is not None and segment not in self._interims else []
            return [], segment
        segment = None
        if recorder is not None:
            segment = recorder.seal(self._segment_folder, step, compaction.columns(self._interims))
        stale = [p for p in self._strays if trajectory.last_step(p) <= step]
        self._strays = [p for p in self._strays if p not in stale]
        return self._supersede_attempt(step, [p for p in stale if p != segment]), segment

    def _commit_checkpoint(self, snapshot: Snapshot, recorder: Recorder | None, kind: str) -> Path:
        """Write the checkpoint of a save."""
        rows = recorder.state() if recorder is not None else {}
        arrays = snapshot.arrays | {f"{RECORDER}/{name}": array for name, array in rows.items()}
        meta = snapshot.meta | {"sealed": self._sealed if kind else snapshot.step}
        if kind:
            meta["interim"] = [path.name for path in self._interims]
        return checkpoint.save(self._checkpoint_folder, replace(snapshot, arrays=arrays, meta=meta), kind)

    def restore(self) -> tuple[Snapshot, list[str]]:
        """Load the newest undamaged checkpoint; also returns a remark about each one that was skipped.

        Deletes temporary files of a killed process. Raises RunFolderError if no checkpoint can be used,
        CheckpointError if the newest undamaged one has another format.
        """
        self._must_write()
        for folder in (self.path, self._checkpoint_folder, self._segment_folder):
            durable.sweep(folder)
        path, snapshot, remarks = self._newest_checkpoint()
        self._sealed = snapshot.meta.get("sealed", snapshot.step)
        interims = [(s, p) for s, p in trajectory.spans(self.path, self._sealed) if s.interim]
        _drop_files(p for s, p in interims if s.last > snapshot.step)
        self._interims = [p for s, p in interims if s.last <= snapshot.step]
        remarks += compaction.cut_segments(self.path, self._sealed)
        found = [(trajectory.span(path), path) for path in held_folders.files(self._segment_folder, ".h5")]
        self._strays = [p for s, p in found if s and not s.interim and s.last > self._sealed]
        self.journal("restored", step=snapshot.step, checkpoint=path.name, remarks=remarks)
        return snapshot, remarks

    def _newest_checkpoint(self) -> tuple[Path, Snapshot, list[str]]:
        """The newest checkpoint that is undamaged and whose interim segments are."""
        remarks: list[str] = []
        for path in checkpoint.undamaged_checkpoints(self._checkpoint_folder, remarks):
            snapshot = checkpoint.load(path)
            try:
                self._check_interims(snapshot)
            except CheckpointError as error:
                remarks.append(f"skipped: {path}: rows since the last scheduled save: {error}")
            else:
                return path, snapshot, remarks
        empty = f"{self.path}: has no usable checkpoint; start the run again: `minusgrad run` with --force"
        raise RunFolderError("\n".join([empty, *remarks]))

    def _check_interims(self, snapshot: Snapshot) -> None:
        """Raise CheckpointError if an interim segment that the checkpoint names is missing or damaged."""
        there = trajectory.spans(self.path, snapshot.meta.get("sealed", snapshot.step))
        for name in snapshot.meta.get("interim", []):
            wanted = trajectory.span(path := self._segment_folder / str(name))
            if wanted is None or path.name != name:
                shown = printable(str(name), 60)
                raise CheckpointError(f"'{shown}' names no segment; it was not written by minusgrad")
            joined = [p for s, p in there if s.covers(wanted)]
            durable.check(joined[0] if joined else path)

    def tidy(self, keep: int, keep_every: int = 0) -> list[str]:
        """Join old segments, rewrite the master file, and delete old checkpoints.

        `save` does it every few seconds; after `restore` it completes a save that was killed. Returns
        remarks.
        """
        self._must_write()
        with durable.named_failure(self.path):
            remarks = self._renew_master(keep, {})
            self._prune_checkpoints(keep, keep_every)
        return remarks

    def _renew_master(self, keep: int, facts: dict[str, Any]) -> list[str]:
        """Join old segments and rewrite the master file; `facts` get its hash."""
        remarks = []
        try:
            self._compact_segments(keep)
            use = trajectory.spans(self.path, self._sealed)
            facts["master"] = master_file.write(self.path, [path for _, path in use])
            self._interims = [path for s, path in use if s.interim]
        except CheckpointError as error:
            remarks.append(f"{master_file.NAME}: not updated: {error}")
        else:
            _drop_files(compaction.superseded_segments(self.path, self._sealed))
        self._renewed, self._due = wall_clock.now(), None
        return remarks

    def _compact_segments(self, keep: int) -> None:
        """Join segments behind the checkpoints that are kept, so that one ends at each of them."""
        checkpoints = checkpoint.list_checkpoints(self._checkpoint_folder)
        if kept := list(filter(checkpoint.is_scheduled, checkpoints))[-keep:]:
            compaction.compact(self.path, self._sealed, min(checkpoint.step_of(kept[0]), self._sealed))
        unscheduled = [p for p in checkpoints if not checkpoint.is_scheduled(p)]
        if len(self._interims) > 1 and unscheduled:
            oldest = min(map(checkpoint.step_of, unscheduled))
            compaction.compact(self.path, self._sealed, oldest, interim=True)

    def _prune_checkpoints(self, keep: int, keep_every: int) -> None:
        """Delete old checkpoints, and unscheduled ones up to the last seal."""
        _drop_files(
            path
            for path in checkpoint.list_checkpoints(self._checkpoint_folder)
            if not checkpoint.is_scheduled(path) and checkpoint.step_of(path) <= self._sealed
        )
        checkpoint.prune(self._checkpoint_folder, keep, keep_every)

    def _clear_run(self) -> None:
        """Delete an earlier run's files; the journal, which marks the folder as a run, last."""
        for folder in (self._checkpoint_folder, self._segment_folder, self.path / "pictures"):
            held_folders.remove_tree(folder)
        for name in (master_file.NAME, "scene.toml", "overrides.json", "fit.json", "fit.csv"):
            durable.remove(self.path / name)
        durable.empty_file(self._journal_path)

    def _supersede_attempt(self, step: int, stale: list[Path]) -> list[str]:
        """Delete the files of a killed attempt; report those that this attempt wrote with other bytes."""
        _drop_files(stale)
        for folder in sorted({path.parent for path in stale}):
            durable.settle(folder)  # else they could reappear after a power cut, beside their replacements
        remarks = [
            f"{path.parent.name}/{path.name}: not deterministic: differs after recomputation"
            for path in stale
            if durable.stem(path) == f"{step:012d}"
        ]
        for remark in remarks:
            self.journal("not deterministic", step=step, remark=remark)
        return remarks

    def _must_write(self) -> None:
        if self._lock is None:
            raise RunFolderError(f"{self.path}: is closed, or opened read-only; open it again to write")

    @property
    def _checkpoint_folder(self) -> Path:
        return self.path / "ckpt"

    @property
    def _segment_folder(self) -> Path:
        return self.path / "traj"

    @property
    def _journal_path(self) -> Path:
        return self.path / JOURNAL


def _drop_files(paths: Iterable[Path]) -> None:
    for path in paths:
        durable.remove(path)


def without_dots(path: Path) -> Path:
    """The place that the user's own '..' lead to; those of names that a run contains are refused."""
    return path.resolve() if ".." in path.parts else path


def _hold_folder(path: Path) -> FolderHold:
    try:
        return FolderHold(path)
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be written: {error.strerror}; use another --out") from error


def refuse_occupied(path: Path, force: bool) -> None:
    """Raise `RunFolderError` for a folder that is not empty; with `force` for one that is no run either."""
    journal = path / JOURNAL
    try:
        entries = os.listdir(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunFolderError(f"{path}: cannot hold a run: {error.strerror}; use another --out") from error
    try:
        if not entries or (entries == [JOURNAL] and not held_folders.read_file(journal)):
            return
        begun = next(journals.events(journal), {}).get("event")
        is_run = begun == "started" or (JOURNAL in entries and not held_folders.read_file(journal))
    except OSError as error:
        raise RunFolderError(f"{journal}: cannot be written: {error.strerror}; use another --out") from error
    if not is_run:
        raise RunFolderError(f"{path}: not empty, and not a run; use another --out")
    if not force:
        raise RunFolderError(
            f"{path}: contains a run already; use another --out, or `minusgrad resume {path}`, "
            f"or --force to overwrite it; in Python out=..., minusgrad.resume('{path}'), force=True"
        )
