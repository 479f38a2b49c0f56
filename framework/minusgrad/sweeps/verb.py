"""`minusgrad sweep`: its options, and the summary that is printed at the end."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ..app.verbs.runs import hours
from ..app.verbs.shared_options import (
    common_options,
    complain,
    out_option,
    print_json,
    scene_argument,
    with_scene_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .folder import SweepFolder
    from .table import PointTable

SHOWN = 10
"""Points with errors that are printed; the table has all."""


def sweep_options(parser: argparse.ArgumentParser) -> None:
    scene_argument(parser)
    text = "points of a SWEEP.toml (default: members of [ensemble]), and changed keys of the scene"
    parser.add_argument("overrides", nargs="*", metavar="SWEEP.toml key.sub=value", help=text)
    out_option(parser, "folder of the sweep (default: sweeps/NAME)")
    where = parser.add_mutually_exclusive_group()
    text = "processes on this machine (default 2; 0: run the points in this one)"
    where.add_argument("--workers", type=_parse_count, metavar="N", help=text)
    where.add_argument("--cluster", metavar="tcp://HOST:PORT", help="use the workers of a scheduler of Dask")
    where.add_argument("--slurm", action="store_true", help="print an array job of SLURM for the points")
    text = "run these points alone, in this process, e.g. 17 or 0-9,17"
    where.add_argument("--point", type=points_of, metavar="K", help=text)
    parser.add_argument("--submit", action="store_true", help="with --slurm: submit the job")
    text = "serve the pages of Dask on this machine, to all of its users"
    parser.add_argument("--dashboard", action="store_true", help=text)
    text = "save and stop after H hours (exit code 4); the same line goes on"
    parser.add_argument("--max-hours", type=hours, metavar="H", help=text)
    text = "delete a sweep of something else in that folder"
    parser.add_argument("--force", action="store_true", help=text)
    text = "go on with points that failed"
    parser.add_argument("--retry-failed", action="store_true", help=text)
    common_options(parser)


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise argparse.ArgumentTypeError(f"needs a number of processes of at least 0, got '{text}'")
    return int(text)


def points_of(text: str) -> list[int]:
    """The points of `0-9,17`."""
    from .slurm import numbers

    try:
        return numbers(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"needs points like 17 or 0-9,17, got '{text}'") from None


def sweep(a: argparse.Namespace) -> int:
    from ..app.progress import progress
    from ..app.verbs.shipped.places import sweep_file
    from ..errors import UserError
    from .run_sweep import open_sweep, sweep

    with_scene_file(a)
    if a.submit and not a.slurm:
        raise UserError("--submit: belongs to --slurm; give both")
    files = [word for word in a.overrides if "=" not in word]
    if len(files) > 1:
        raise UserError(f"needs one SWEEP.toml, got {' and '.join(files)}; an override is key=value")
    points = sweep_file(files[0]) if files else None
    overrides = [word for word in a.overrides if "=" in word]
    if a.slurm or a.point is not None:
        folder = open_sweep(a.scene, points, overrides, a.out, a.plugin)
        return _print_job(a, folder, points, overrides) if a.slurm else _run_points(a, folder)
    table = sweep(
        a.scene, points, overrides, a.out, a.plugin, a.force, partial(progress, counted="point"),
        a.max_hours, complain, workers=2 if a.workers is None else a.workers, cluster=a.cluster,
        retry_failed=a.retry_failed, dashboard=a.dashboard,
    )  # fmt: skip
    return _report_table(table, a.json)


def _print_job(a: argparse.Namespace, folder: SweepFolder, points: str | None, overrides: list[str]) -> int:
    """Print the array job of all points that are not over, or submit it."""
    from .slurm import ArrayJob

    folder.join()
    plugins = [word for plugin in a.plugin for word in ("--plugin", str(plugin))]
    line = ["minusgrad", "sweep", str(a.scene), *([points] if points else []), *overrides]
    line += ["--out", str(folder.path), *plugins]
    waiting = [row.point for row in folder.rows() if not row.over]
    if not waiting:
        print(f"{folder.path}: all {len(folder.plan)} points are over; the line without --slurm prints them")
        return 0
    job = ArrayJob(line, waiting, a.max_hours or 4.0, folder.path)
    print(job.submit() if a.submit else job.script(), end="\n" if a.submit else "")
    return 0


def _run_points(a: argparse.Namespace, folder: SweepFolder) -> int:
    """Run points in this process. Returns the exit code of the first that does not end well."""
    import time

    from ..app.progress import progress
    from ..errors import UserError
    from .run_sweep import run_one

    if max(a.point) >= len(folder.plan):
        raise UserError(
            f"--point: needs a number from 0 to {len(folder.plan) - 1}, got {max(a.point)}; there are"
            f" {len(folder.plan)} points"
        )
    until = None if a.max_hours is None else time.time() + 3600.0 * a.max_hours
    worst = 0
    for point in a.point:
        row = run_one(folder, point, progress, until, a.retry_failed)
        print(f"{folder.run(point)}: {row.state}{': ' if row.error else ''}{row.error}")
        code = {"finished": 0, "failed": 3, "refused": 2}.get(row.state, 4)
        if code == 4:
            return code
        worst = max(worst, code)
    return worst


def _report_table(table: PointTable, as_json: bool) -> int:
    """Print how many points are in which state, errors and indices. Returns the exit code."""
    from .rows import FINISHED

    wrong = [row for row in table.rows if row.state != FINISHED]
    if as_json:
        print_json({"states": table.counts, "indices": table.indices, "table": str(table.path)})
    else:
        counts = ", ".join(f"{n} {state}" for state, n in table.counts.items())
        print(f"{table.path}: {len(table)} points: {counts}")
        for row in wrong[:SHOWN]:
            print(f"  point {row.point}: {row.state}: {row.error}")
        if len(wrong) > SHOWN:
            print(f"  ... and {len(wrong) - SHOWN} more, in the table")
        _print_indices(table.indices)
    sys.stdout.flush()
    return 3 if wrong else 0


def _print_indices(indices: dict[str, dict[str, dict[str, float]]]) -> None:
    from ..app.tables import print_table

    rows = [
        (name, key, f"{s['S1']:.3f} +- {s['S1_conf']:.3f}", f"{s['ST']:.3f} +- {s['ST_conf']:.3f}")
        for name, of_keys in indices.items()
        for key, s in of_keys.items()
    ]
    if rows:
        print_table(("observable", "key", "S1", "ST"), rows)
