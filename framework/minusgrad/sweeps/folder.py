"""The folder of a sweep: the truth about it, from which any call of the same line goes on.

sweep.json              the scene, the sweep file and all points, as at the start
journal.jsonl           events of the sweep, and its lock
points/0017/            the run of point 17, with a lock of its own
points/0017.json        its row, once it is over
table.h5  table.csv     the rows of all points, replaced as a whole at every change
sensitivity.json        the indices, if they are asked for

Decisions 0099.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..app.run_options import writable
from ..errors import RunFolderError
from ..files import durable
from ..files.held import held_folders, journals, system_calls
from ..files.held.given_folder import GivenFolder
from ..files.held.json_text import parse_json
from .plan import SweepPlan
from .rows import FAILED, FINISHED, JOURNAL, RUNNING, Row, row_of, state_of
from .table import PointTable

IDENTITY = "sweep.json"
POINTS = "points"
FORMAT = 1
AGE = 60.0
"""Seconds after which a row that is being written has been given up; another process may work beside."""


class SweepFolder:
    """The folder of a sweep of `plan`; `hold` or `join` it before anything is written."""

    def __init__(self, path: Path, plan: SweepPlan):
        self._folder, self.plan = GivenFolder(path), plan
        held_folders.own_folder(path)
        self._digits = max(4, len(str(len(plan) - 1)))

    @property
    def path(self) -> Path:
        """The folder, as it was given; its absolute path once the working folder is another one."""
        return self._folder.path

    def run(self, point: int) -> Path:
        """The run folder of a point."""
        return self.path / POINTS / f"{point:0{self._digits}d}"

    def row_file(self, point: int) -> Path:
        """The file of the row of a point that is over."""
        return self.path / POINTS / f"{point:0{self._digits}d}.json"

    def row(self, point: int) -> Row:
        """The row of a point as the folder says it."""
        if (found := Row.load(self.row_file(point))) is not None:
            return found
        state = state_of(self.run(point))
        if state in (FINISHED, FAILED):  # its worker died before it wrote the row
            return row_of(point, self.run(point), self.plan.sweeping.tables.sweep.observe)
        return Row(point, state)

    def rows(self) -> list[Row]:
        """The rows of all points, in their order."""
        return [self.row(point) for point in range(len(self.plan))]

    def table(self, rows: Sequence[Row]) -> PointTable:
        """The table of these rows of all points."""
        plan = self.plan
        return PointTable(self.path, rows, plan.columns, plan.sweeping.tables.sweep.observe)

    def is_running(self, point: int) -> bool:
        """True if a process works on a point."""
        journal = self.run(point) / JOURNAL
        return held_folders.is_file(journal) and journals.is_locked(journal)

    def journal(self, event: str, **facts: Any) -> None:
        """Add one line to the journal of the sweep."""
        journals.append(self.path / JOURNAL, event, **facts)

    @contextmanager
    def hold(self, force: bool = False) -> Iterator[None]:
        """Be the only one who leads this sweep; begin it, or go on with it.

        force: delete an earlier sweep of something else. Raises `RunFolderError` if another process leads
        it, and for a folder that holds something else, with the difference.
        """
        writable(self.path)
        lock = self._lock_sweep(force)
        try:
            self._begin_identity(force)
            self._tidy_leftovers()
            yield
        finally:
            os.close(lock)

    def join(self) -> None:
        """Begin the sweep unless it has begun; others may work on it. Raises as `hold` does."""
        writable(self.path)
        if not held_folders.is_file(self.path / IDENTITY):
            with suppress(RunFolderError):  # another one begins it
                lock = self._lock_sweep(False)
                try:
                    self._begin_identity(False)
                finally:
                    os.close(lock)
        self._begin_identity(False)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one who writes the table."""
        descriptor = held_folders.open_file(self.path / ".table.lock", os.O_RDWR | os.O_CREAT)
        try:
            system_calls.wait_for_lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def prune(self, row: Row) -> None:
        """Delete of a finished point what [keep] does not name; one that failed is kept."""
        keep, run = self.plan.sweeping.tables.keep, self.run(row.point)
        if row.state != FINISHED:
            return
        if not keep.folder:
            held_folders.remove_tree(run)
            return
        if not keep.checkpoints:
            held_folders.remove_tree(run / "ckpt")
        if not keep.trajectory:
            held_folders.remove_tree(run / "traj")
            durable.remove(run / "trajectory.h5")

    def _lock_sweep(self, force: bool) -> int:
        """Lock the journal, in a folder that holds a sweep or nothing."""
        there = {name for name in held_folders.names(self.path) if not name.startswith(".")}
        begins = {JOURNAL} <= there <= {JOURNAL, POINTS} and not held_folders.names(self.path / POINTS)
        if there and IDENTITY not in there and not begins:  # one killed at its beginning is ours, too
            raise RunFolderError(f"{self.path}: not empty, and not a sweep; use another --out")
        return journals.lock_journal(self.path / JOURNAL)

    def _begin_identity(self, force: bool) -> None:
        """Write the identity of a new sweep; compare that of an earlier one."""
        mine = _sweep_identity(self.plan)
        file = self.path / IDENTITY
        if held_folders.is_file(file) and (difference := _identity_difference(_read_identity(file), mine)):
            if not force:
                raise RunFolderError(
                    f"{self.path}: is the folder of another sweep: {difference}; use another --out,"
                    " or --force to delete it"
                )
            self._clear_sweep()
        if not held_folders.is_file(file):
            durable.make_folder(self.path / POINTS)
            self.journal("started", pid=os.getpid(), points=len(self.plan))
            durable.replace(file, json.dumps(mine).encode() + b"\n")

    def _tidy_leftovers(self) -> None:
        """Delete what killed processes left of tables and rows; only whoever writes these holds the lock."""
        with self.writing():
            durable.sweep(self.path)
        for stray in held_folders.names(self.path / POINTS):
            if stray.startswith(durable.TEMPORARY):
                found = held_folders.status(self.path / POINTS / stray)
                if found is not None and time.time() - found.st_mtime > AGE:
                    durable.remove(self.path / POINTS / stray)

    def _clear_sweep(self) -> None:
        """Delete an earlier sweep, its identity last."""
        for name in held_folders.names(self.path / POINTS):
            point = self.path / POINTS / name
            if held_folders.is_folder(point) and state_of(point) == RUNNING:
                raise RunFolderError(f"{point}: is in use by another process; wait for it")
        held_folders.remove_tree(self.path / POINTS)
        for name in ("table.h5", "table.csv", "sensitivity.json", IDENTITY):
            durable.remove(self.path / name)
        durable.empty_file(self.path / JOURNAL)


def _sweep_identity(plan: SweepPlan) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "scene": plan.source.decode(),
        "overrides": list(plan.overrides),
        "sweep": plan.sweeping.text,
        "points": [list(point) for point in plan.points],
    }


def _read_identity(file: Path) -> dict[str, Any]:
    """The identity of a sweep. Raises `RunFolderError` for a file that is none."""
    try:
        found = parse_json(held_folders.read_file(file))
        if found["format"] == FORMAT and isinstance(found["points"], list):
            return found
        reason: object = f"format {found['format']}"
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error
    raise RunFolderError(f"{file}: is no identity of a sweep ({reason}); use another --out")


def _identity_difference(theirs: dict[str, Any], mine: dict[str, Any]) -> str:
    """The first difference of two sweeps, the earlier first; empty if scene and points are the same."""
    if theirs["scene"] != mine["scene"]:
        return _unlike_lists("the scene", theirs["scene"].splitlines(), mine["scene"].splitlines(), "line", 1)
    if theirs["overrides"] != mine["overrides"]:
        earlier, present = _overrides_text(theirs["overrides"]), _overrides_text(mine["overrides"])
        return f"overrides {earlier} there, {present} here"
    if theirs["points"] != mine["points"]:
        here, there = ([_overrides_text(point) for point in one["points"]] for one in (mine, theirs))
        return _unlike_lists("the points", there, here, "point", 0)
    return ""


def _unlike_lists(what: str, there: Sequence[str], here: Sequence[str], one: str, first: int) -> str:
    for k, (a, b) in enumerate(zip(there, here, strict=False), first):
        if a != b:
            return f"{what}, {one} {k}: '{a}' there, '{b}' here"
    return f"{what}: {len(there)} {one}s there, {len(here)} here"


def _overrides_text(overrides: Sequence[str]) -> str:
    return " ".join(overrides) or "none"
