"""Leads a sweep: knows the row of every point, and keeps the table of them complete on disk."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from ..errors import InterruptedRunError
from ..files import durable
from ..files.held import held_folders
from ..plot.movies.progress_display import Progress
from . import sensitivity
from .folder import SweepFolder
from .point_run import Order, order
from .rows import FAILED, FINISHED, RUNNING, WAITING, Row, observables
from .table import PointTable

BETWEEN = 1.0
"""Seconds from one writing of the table to the next, at least; else 20 times as long as it takes."""
GRACE = 60.0
"""Seconds that workers have to save their runs once the time is over."""
INDICES = "sensitivity.json"


class Dispatcher(Protocol):
    """Runs points: gives rows as they come, and None from time to time. points: those that it works on."""

    @property
    def points(self) -> set[int]: ...

    def __iter__(self) -> Iterator[Row | None]: ...

    def close(self) -> None:
        """Begin no more points; those that are running end."""

    def stop(self) -> None:
        """End the iteration at once."""


class Lead:
    """The rows of all points of a folder; `waiting` are those that have yet to be run.

    again: run failed points, too. until: the time (s, Unix) at which runs are saved and stopped.
    """

    def __init__(self, folder: SweepFolder, again: bool = False, until: float | None = None):
        self.folder, self.again, self.until = folder, again, until
        self.rows = [self._prune_row(self._with_asked(row)) for row in folder.rows()]
        self.waiting = [r.point for r in self.rows if not r.over or (again and r.state == FAILED)]
        self._next = 0.0
        for point in self.waiting:
            self.rows[point] = Row(point, WAITING)

    def orders(self, threads: int, versions: dict[str, str]) -> dict[int, Order]:
        """The orders of the points that have yet to be run. threads: of the engine of each worker."""
        return {
            point: replace(
                order(self.folder, point, threads), until=self.until, again=self.again,
                versions=tuple(versions.items()),
            )
            for point in self.waiting
        }  # fmt: skip

    def follow(self, dispatcher: Dispatcher, asked: Callable[[], bool], progress: Progress) -> None:
        """Take rows in until all points have ended, a signal arrives or the time is over."""
        total = len(self.rows)
        with progress(total - len(self.waiting), total) as tell:
            for row in dispatcher:
                if row is not None:
                    self.rows[row.point] = self._prune_row(row)
                    tell(sum(one.ended for one in self.rows))
                if time.monotonic() >= self._next:
                    self.write(dispatcher.points)
                if asked() or (self.until is not None and time.time() > self.until + GRACE):
                    dispatcher.stop()
                elif self.until is not None and time.time() > self.until:
                    dispatcher.close()

    def write(self, points: set[int] = frozenset()) -> PointTable:  # type: ignore[assignment]
        """Replace the table on disk. points: those that may be running by now."""
        began = time.monotonic()
        for point in points:
            if not self.rows[point].ended:
                self.rows[point] = Row(point, RUNNING if self.folder.is_running(point) else WAITING)
        table = self.folder.table(self.rows)
        with self.folder.writing():
            table.save()
        now = time.monotonic()
        self._next = now + max(BETWEEN, 20.0 * (now - began))
        return table

    def finish(self) -> PointTable:
        """The table at the end, on disk, with the indices that are asked for.

        Raises `InterruptedRunError` if points have not ended.
        """
        for row in self.rows:
            if not row.ended:  # as their folders say, now that the workers have gone
                self.rows[row.point] = self.folder.row(row.point)
        table = self.write()
        self.folder.journal("ended", **table.counts)
        ended = sum(row.ended for row in self.rows)
        if ended < len(table):
            raise InterruptedRunError(
                f"{self.folder.path}: interrupted: {ended} of {len(table)} points have ended;"
                " give the same line again"
            )
        self._add_indices(table)
        return table

    def _add_indices(self, table: PointTable) -> None:
        """Compute and write sensitivity indices, if they are asked for and all points are finished."""
        plan = self.folder.plan
        if plan.sweeping.tables.sweep.sensitivity is None or not table.is_finished:
            return
        table.indices = sensitivity.indices(list(plan.columns), table.numbers(), plan.seed)
        text = json.dumps(table.indices, indent=1) + "\n"
        durable.replace(self.folder.path / INDICES, text.encode())

    def _with_asked(self, row: Row) -> Row:
        """The row with large observables that an earlier call did not ask for, where its run is kept."""
        asked = self.folder.plan.sweeping.tables.sweep.observe
        if row.state != FINISHED or {*asked} <= row.observables.keys():
            return row
        there = observables(self.folder.run(row.point), asked)
        return replace(row, observables=row.observables | there)

    def _prune_row(self, row: Row) -> Row:
        if row.over and not held_folders.is_file(self.folder.row_file(row.point)):
            row.save(self.folder.row_file(row.point))
        self.folder.prune(row)
        return row
