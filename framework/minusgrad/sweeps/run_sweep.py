"""Sweeps from Python; the command line calls the same functions.

table = minusgrad.sweep(SCENE, {"vary": {"stepper.dt": {"grid": [1e-3, 2e-3]}}}, out="sweeps/dt")
table.column("stepper.dt"), table.column("drift")
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..app.run_options import Overrides, Plugins, Say, ShowsProgress, chosen, unsaid
from ..app.signals import stop_requests
from ..plot.movies.progress_display import Progress, quiet
from .dispatch import InThisProcess, OnWorkers
from .folder import SweepFolder
from .lead import Dispatcher, Lead
from .plan import plan_points
from .point_run import order, run_point
from .rows import Row
from .sweep_file import read_sweep
from .table import PointTable
from .workers import cluster_workers, dashboard_of, local_workers, versions

Points = Path | str | Mapping[str, Any] | None


def sweep(
    scene: Path | str,
    points: Points = None,
    overrides: Overrides = (),
    out: Path | str | None = None,
    plugins: Plugins = (),
    force: bool = False,
    progress: ShowsProgress = None,
    max_hours: float | None = None,
    say: Say = unsaid,
    *,
    workers: int = 2,
    cluster: str | None = None,
    retry_failed: bool = False,
    dashboard: bool = False,
) -> PointTable:
    """Run a scene at many points, each in a folder of its own; a second call goes on where the first ended.

    scene, overrides, plugins: as for `run`. points: the path of a SWEEP.toml, or its data, such as
    {"vary": {"stepper.dt": {"grid": [0.01, 0.02]}}}; None for the members of the scene's [ensemble]. out: the
    folder (default: sweeps/NAME). force: delete an earlier sweep of something else in it. progress: as for
    `run`, of points that have ended. max_hours: save and stop after this time. say:
    called with remarks. workers: processes on this machine; 0: run the points in this one, one after another.
    cluster: the address of a scheduler of Dask, whose workers are used in their place. retry_failed: go on
    with points that failed. dashboard: serve the pages of Dask, which every user of this machine can read.

    Returns the `PointTable`, where a point that failed, or that the scene cannot have, is a row like others.
    Raises `SceneError` with the mistakes of the scene or of points before anything runs, `RunFolderError` for
    the folder of another sweep, `UserError` for a cluster that is not there or has other versions,
    `MissingPackageError` without Dask or cryptography, and `InterruptedRunError` after a signal or
    `max_hours`; the same call then goes on.
    """
    folder = open_sweep(scene, points, overrides, out, plugins)
    until = None if max_hours is None else time.time() + 3600.0 * max_hours
    with folder.hold(force), stop_requests() as asked:
        lead = Lead(folder, retry_failed, until)
        if lead.waiting:
            lead.write()
            with _make_dispatcher(lead, workers, cluster, dashboard, say) as dispatcher:
                lead.follow(dispatcher, asked, chosen(progress, "point"))
        return lead.finish()


@contextmanager
def _make_dispatcher(
    lead: Lead, workers: int, cluster: str | None, shown: bool, say: Say
) -> Iterator[Dispatcher]:
    """The workers that are asked for, with all points that have yet to be run."""
    if cluster is None and workers == 0:
        yield InThisProcess(lead.orders(0, {}))
        return
    plan, retries = lead.folder.plan, lead.folder.plan.sweeping.tables.sweep.retries
    if cluster is None:
        count = min(workers, len(lead.waiting))
        threads = max(1, (os.cpu_count() or 1) // count)
        made = local_workers(count, retries, plan.engine, shown)
    else:
        threads = 0
        made = cluster_workers(cluster, retries, plan.engine)
    with made as found:
        if address := dashboard_of(found.client) if shown or cluster else "":
            say(f"dashboard: {address}{'' if cluster else ' (every user of this machine can read it)'}")
        yield OnWorkers(found, lead.orders(threads, versions()), retries)


def open_sweep(
    scene: Path | str,
    points: Points = None,
    overrides: Overrides = (),
    out: Path | str | None = None,
    plugins: Plugins = (),
) -> SweepFolder:
    """The folder of a sweep, after all points have been drawn and judged; nothing is written yet."""
    plan = plan_points(scene, overrides, plugins, read_sweep(points))
    return SweepFolder(Path(out) if out is not None else Path("sweeps") / plan.scene.stem, plan)


def run_one(
    folder: SweepFolder,
    point: int,
    progress: Progress = quiet,
    until: float | None = None,
    again: bool = False,
) -> Row:
    """Run one point of a sweep in this process, beside others that do the same, and replace the table.

    until: the time (s, Unix) at which it is saved and stopped. again: go on if it failed. Raises
    `RunFolderError` for the folder of another sweep.
    """
    folder.join()
    row = run_point(replace(order(folder, point), until=until, again=again), progress)
    folder.prune(row)
    with folder.writing():
        folder.table(folder.rows()).save()
    return row
