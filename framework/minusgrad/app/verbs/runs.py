"""`run`, `fit`, `resume`, `repeat`: scenes into run folders, and the summary that is printed at the end."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager, suppress

from ...errors import MinusgradError, UserError
from .shared_options import (
    common_options,
    complain,
    fitted_option,
    out_option,
    path,
    print_json,
    scene_argument,
    warn_of_broken,
    with_scene_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any


def _scene_options(parser: argparse.ArgumentParser, example: str, out: str) -> None:
    scene_argument(parser)
    parser.add_argument(
        "overrides", nargs="*", metavar="key.sub=value", help=f"change a key of the scene, e.g. {example}"
    )
    out_option(parser, out)
    parser.add_argument("--force", action="store_true", help="delete an earlier run in that folder")
    text = "start with the last saved state of another run ([initial] run)"
    parser.add_argument("--from", type=path, dest="start", metavar="RUN", help=text)
    fitted_option(parser)
    _hours_option(parser)
    common_options(parser)


def run_options(parser: argparse.ArgumentParser) -> None:
    _scene_options(parser, 'gravity.G=1.1 or stepper.dt="2 fs"', "folder of the run (default: runs/NAME)")
    _member_option(parser, "run this member of the scene's [ensemble] alone, with the same bits")
    _page_options(parser)


def fit_options(parser: argparse.ArgumentParser) -> None:
    _scene_options(parser, "fit.iterations=50", "folder of the fit (default: runs/NAME-fit)")
    _member_option(parser, "fit this member of the scene's [ensemble] alone")


def _member_option(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--member", type=int, metavar="K", help=text)


def _overrides(a: argparse.Namespace) -> list[str]:
    """The overrides on the command line, those that options stand for among them."""
    member = [] if a.member is None else [f"ensemble.member={a.member}"]
    if a.start is None:
        return [*a.overrides, *member]
    import json

    start = os.path.relpath(a.start, a.scene.parent)  # a run's files do not depend on where it lies
    return [*a.overrides, *member, f"initial.run={json.dumps(start, ensure_ascii=False)}"]


def resume_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=path, help="folder of a run or a fit")
    text = "continue although the scene, a plugin or the engine has changed"
    parser.add_argument("--allow-changed", action="store_true", help=text)
    text = "continue on cpu, cuda, vulkan or metal; not bit for bit, if the run was on another device"
    parser.add_argument("--arch", choices=("cpu", "cuda", "vulkan", "metal"), metavar="ARCH", help=text)
    _page_options(parser)
    _hours_option(parser)
    common_options(parser)


def _page_options(parser: argparse.ArgumentParser) -> None:
    text = "serve a page of the run while it goes on, and of its end until Ctrl-C; see `minusgrad view`"
    parser.add_argument("--view", action="store_true", help=text)
    parser.add_argument("--port", type=int, metavar="N", help="with --view: the port of the page")
    parser.add_argument("--host", metavar="H", help="with --view: the address to listen at")
    parser.add_argument("--behind", default="", metavar="URL", help="with --view: the address of a proxy")


@contextmanager
def _page(a: argparse.Namespace) -> Iterator[Any]:
    """The page that is asked for, which stays open when the block ends, until Ctrl-C; None for none."""
    if not a.view:
        if given := [f"--{name}" for name in ("port", "host", "behind") if getattr(a, name)]:
            raise UserError(f"run: {given[0]} is of a page, got no --view; give it, too")
        yield None
        return
    from ..jobs.watching import WatchedRun

    beside = sys.stderr if a.json else sys.stdout

    def opened(page: Any) -> None:
        complain(*page.remarks)
        print(f"{page.address} shows the run; Ctrl-C ends it", file=beside, flush=True)

    watched = WatchedRun(a.host, a.port, a.behind, opened)
    try:
        yield watched
        if watched.page is not None:
            print("the page stays until Ctrl-C", file=beside, flush=True)
            with suppress(KeyboardInterrupt):
                watched.page.wait()
    finally:
        watched.close()


def repeat_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=path, metavar="RUN", help="folder of a run or a fit that is over")
    out_option(parser, "folder of the new run (default: RUN-2, or the next free one)")
    parser.add_argument("--force", action="store_true", help="delete an earlier run in that folder")
    _hours_option(parser)
    common_options(parser)


def _hours_option(parser: argparse.ArgumentParser) -> None:
    text = "save and stop after H hours (exit code 4); resume continues"
    parser.add_argument("--max-hours", type=hours, metavar="H", help=text)


def hours(text: str) -> float:
    """A number of hours above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"needs a number of hours above 0, like 11.5, got '{text}'")
    return number


def run(a: argparse.Namespace) -> int:
    from ..progress import progress
    from ..run_options import RunOptions
    from ..runs import run_with

    with_scene_file(a)
    say = Aloud()
    with _divergence_in_json(a.json):
        options = (a.scene, _overrides(a), a.out, a.plugin, a.force, progress, a.max_hours, say)
        with _page(a) as watched:
            done = run_with(RunOptions(*options, fitted=a.fitted, watched=watched))
            code = report_run(done, a.json, say.said)
    return code


def fit(a: argparse.Namespace) -> int:
    from ..progress import progress
    from ..runs import fit

    def print_plan(job: Any) -> None:
        if not a.json and not a.quiet:
            print(job.plan, flush=True)

    with_scene_file(a)
    say = Aloud()
    with _divergence_in_json(a.json):
        options = (a.scene, _overrides(a), a.out, a.plugin, a.force, progress, print_plan, a.max_hours, say)
        done = fit(*options, fitted=a.fitted)
    return _report_fit(done, a.json, say.said)


def resume(a: argparse.Namespace) -> int:
    from ..jobs.job_runs import resume
    from ..progress import progress
    from ..results.fit import Fit

    say = Aloud()
    with _divergence_in_json(a.json):
        options = (a.folder, a.plugin, a.allow_changed, progress, a.max_hours, say)
        with _page(a) as watched:
            done = resume(*options, arch=a.arch, watched=watched)
            report = _report_fit if isinstance(done, Fit) else report_run
            code = report(done, a.json, say.said)
    return code


def repeat(a: argparse.Namespace) -> int:
    from ..jobs.job_runs import repeat
    from ..progress import progress
    from ..results.fit import Fit

    say = Aloud()
    with _divergence_in_json(a.json):
        done = repeat(a.folder, a.out, a.plugin, a.force, progress, a.max_hours, say)
    report = _report_fit if isinstance(done, Fit) else report_run
    return report(done, a.json, say.said)


class Aloud:
    """Prints remarks as they arise, and keeps them, so that the end of a run does not repeat them."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __call__(self, text: str) -> None:
        self.said.append(text)
        complain(text)


@contextmanager
def _divergence_in_json(as_json: bool) -> Iterator[None]:
    """Print the outcome of a run that diverged; its message goes to the terminal as that of any error."""
    try:
        yield
    except MinusgradError as error:
        if as_json and error.facts is not None:
            print_json(dict(error.facts))
        raise


def _report_fit(fit: Any, as_json: bool, said: Collection[str]) -> int:
    """Print the estimates, their errors, and the folder of a fit. Returns the exit code."""
    from ...assembly.fits.starts import FitStarts
    from ..tables import print_estimates, print_starts

    complain(*(remark for remark in fit.remarks if remark not in said))
    warn_of_broken(fit.simulation.registry)
    failed = int(fit.parameter_fit.search.failed)
    has_many = isinstance(fit.parameter_fit, FitStarts)
    if as_json:
        found = fit.parameter_fit.as_dict() if has_many else fit.estimates.as_dict()
        print_json({"folder": str(fit.folder), "remarks": list(fit.remarks)} | found)
        return failed
    print(f"{fit.folder}: {fit.estimates.iterations} iterations")
    if has_many:
        print_starts(fit.parameter_fit)
    print_estimates(fit.estimates)
    print(f"  pictures: minusgrad plot {fit.folder}")
    return failed


def report_run(run: Any, as_json: bool, said: Collection[str]) -> int:
    """Print the folder, the last step and the energy balance of a run. Returns the exit code."""
    from ...files import trajectory
    from ...scene import units
    from ..results.ensemble_run import EnsembleRun
    from .ensemble_reports import report

    complain(*(remark for remark in run.remarks if remark not in said))
    warn_of_broken(run.simulation.registry)
    if isinstance(run, EnsembleRun) and not run.ensemble.alone:
        return report(run, as_json)
    stepper, unit = run.simulation.stepper, run.simulation.units.symbol("s")
    recorded = trajectory.names(run.folder)
    known = [
        n for n in ("drift", "work", "dissipated", "damped", "heat", "cell") if f"observables/{n}" in recorded
    ]
    last = {name: float(run.series(f"observables/{name}").value[-1]) for name in known}
    if abs(last.get("drift", 0.0)) > 1.0:
        complain("the total energy changed by more than its own size; use a smaller dt")
    if as_json:
        facts = {"folder": str(run.folder), "outcome": run.outcome, "step": stepper.step}
        facts |= {"time": stepper.time, "time_unit": unit, "remarks": list(run.remarks)}
        if run.step_size is not None:
            facts["step_size"] = run.step_size.as_dict()
        if (violation := stepper.violation()) is not None:
            facts["violation"] = violation
        if findings := run.findings:
            facts["findings"] = findings
        print_json(facts | last)
        return int(stepper.failed)
    clock = f"steps, t = {stepper.time:.10g}{'' if unit == '1' else ' ' + unit}"
    print(f"{run.folder}: {stepper.step} {clock if stepper.residual is None else 'iterations'}")
    if stepper.verdict:
        print(f"  {stepper.verdict}")
    if stepper.solver_used:
        print(f"  solver: {stepper.solver_used}")
    for name, value in last.items():
        unit = trajectory.symbols(run.folder, f"observables/{name}")[0]
        print(f"  energy {name}: {units.number_with_unit(value, unit, digits=3)}")
    if (violation := stepper.violation()) is not None:
        print(f"  constraints hold to {violation:.2g} of the largest coordinate")
    for line in run.findings:
        print(f"  {line}")
    if recorded:
        print(f"  pictures: minusgrad plot {run.folder}")
    return int(stepper.failed)
