"""One point of a sweep: begin its run, or go on with it, and write its row once it is over.

Whoever calls this works on the folder alone, so that a point whose worker has died goes on elsewhere, bit for
bit. A mistake of the scene, or a run that fails, is a row like any other.
"""

import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path

from ..app.jobs.job_runs import resume
from ..app.runs import run
from ..assembly.registry import PluginSource
from ..engine import runtime
from ..errors import InterruptedRunError, MinusgradError, RunFolderError, UserError
from ..files import checkpoint
from ..files.held import held_folders
from ..plot.movies.progress_display import Progress, quiet
from .folder import SweepFolder
from .rows import FAILED, FINISHED, INTERRUPTED, KILLED, REFUSED, RUNNING, Row, row_of, state_of


@dataclass(frozen=True)
class Order:
    """All that a worker needs to know of a point; picklable, and small.

    overrides: of the scene and of the point. asked: observables of any size that the row is to have. until:
    the time (s, Unix) at which the run is saved and stopped. again: go on with a run that failed. versions:
    those of the process that leads, which must be those of the worker.
    """

    point: int
    scene: str
    overrides: tuple[str, ...]
    run: str
    row: str
    plugins: tuple[PluginSource, ...] = ()
    asked: tuple[str, ...] = ()
    until: float | None = None
    again: bool = False
    versions: tuple[tuple[str, str], ...] = ()


def order(folder: SweepFolder, point: int, threads: int = 0) -> Order:
    """The order to run a point. threads: of the engine, where the scene leaves it open; 0: all cores."""
    plan = folder.plan
    given = (f"runtime.threads={threads}",) if threads and not plan.threads else ()
    plugins = tuple(p.absolute() if isinstance(p, Path) else p for p in plan.plugins)
    return Order(
        point, str(plan.scene.absolute()), (*plan.overrides, *given, *plan.points[point]),
        str(folder.run(point).absolute()), str(folder.row_file(point).absolute()), plugins,
        plan.sweeping.tables.sweep.observe,
    )  # fmt: skip


def run_point(order: Order, progress: Progress = quiet) -> Row:
    """Run a point to its end; returns its row, which is on disk if the point is over.

    The state of the row is "running" if another process works on it, "interrupted" after a signal or
    `max_hours`.
    """
    with runtime.ENGINE:  # a worker with several threads
        return _run_point(order, progress)


def _run_point(order: Order, progress: Progress) -> Row:
    path = Path(order.run)
    held_folders.own_folder(path.parent.parent)  # the folder of the sweep
    done = Row.load(Path(order.row))
    found = state_of(path)
    if done is not None and done.over and not (order.again and done.state == FAILED):
        return done
    try:
        if found == RUNNING:
            return Row(order.point, RUNNING)
        if order.until is not None and time.time() >= order.until:
            return Row(order.point, found)
        if found in (INTERRUPTED, KILLED) or (order.again and found == FAILED):
            _go_on(order, path, progress)
        elif found not in (FINISHED, FAILED):
            _begin_run(order, path, progress)
    except InterruptedRunError:
        return Row(order.point, INTERRUPTED)
    except RunFolderError as error:
        if state_of(path) == RUNNING:
            return Row(order.point, RUNNING)
        return _keep_row(order, _unrun_row(order, path, error))
    except MinusgradError as error:
        return _keep_row(order, _unrun_row(order, path, error))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"internal error in minusgrad: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        return _keep_row(order, Row(order.point, FAILED, error=text))
    return _keep_row(order, row_of(order.point, path, order.asked))


def _begin_run(order: Order, path: Path, progress: Progress) -> None:
    held_folders.remove_tree(path)  # of a process that was killed before its first checkpoint
    hours = _hours_left(order)
    run(order.scene, order.overrides, path, order.plugins, False, progress, hours, _keep_silent)


def _go_on(order: Order, path: Path, progress: Progress) -> None:
    if checkpoint.newest(path / "ckpt")[0] is None:
        _begin_run(order, path, progress)
    else:
        resume(path, order.plugins, False, progress, _hours_left(order), _keep_silent)


def _keep_silent(text: str) -> None:
    """Nothing: what a point remarks stands in its folder, and many points would warn of the same."""


def _hours_left(order: Order) -> float | None:
    """The time that is left, in hours."""
    return None if order.until is None else max(order.until - time.time(), 1e-3) / 3600.0


def _unrun_row(order: Order, path: Path, error: MinusgradError) -> Row:
    """The row of a point whose run failed, or was refused."""
    if isinstance(error, UserError) and error.exit_code == UserError.exit_code:
        return Row(order.point, REFUSED, error=str(error))
    there = (
        row_of(order.point, path, order.asked) if held_folders.is_folder(path) else Row(order.point, FAILED)
    )
    return replace(there, state=FAILED, outcome="", error=str(error))


def _keep_row(order: Order, row: Row) -> Row:
    row.save(Path(order.row))
    return row
