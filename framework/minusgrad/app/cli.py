"""The command line: `minusgrad VERB ...`.

Exit codes: 0 done, 1 findings, 2 the user's mistake, 3 the run failed, 4 interrupted and resumable.
Nothing is imported before it is needed: help, `scenes` and `plugins` answer without Taichi.
"""

from __future__ import annotations

import argparse
import os
import sys

from .. import __version__
from ..errors import MinusgradError, SceneError, UserError

TYPE_CHECKING = False  # `typing` itself would take longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

EPILOG = "exit codes: 0 done, 1 findings, 2 your mistake, 3 the run failed, 4 interrupted and resumable"


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, do, and turn our errors into messages and an exit code."""
    arguments = _parsed(sys.argv[1:] if argv is None else argv)
    try:
        code = arguments.do(arguments)
        sys.stdout.flush()
        return code
    except MinusgradError as error:
        _complain(error, *getattr(error, "__notes__", []))
        return error.exit_code
    except KeyboardInterrupt:
        _complain("stopped; nothing was saved")
        return 130
    except BrokenPipeError:  # nobody reads on; and Python shall not try again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        import traceback

        traceback.print_exc()
        _complain("this is a mistake of minusgrad's, not yours: please report what stands above")
        return MinusgradError.exit_code


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments; argparse itself gives up on overrides that stand behind an option."""
    parser = _parser(argv)
    arguments, rest = parser.parse_known_args(argv)
    if hasattr(arguments, "overrides") and not any(word.startswith("-") for word in rest):
        arguments.overrides += rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments


def _complain(*messages: object) -> None:
    """One line for each message; mistakes in a scene begin with the file, so that editors can jump there."""
    for message in messages:
        prefix = "" if isinstance(message, SceneError) else "minusgrad: "
        print(f"{prefix}{message}", file=sys.stderr)


def _print_json(data: object) -> None:
    import json

    print(json.dumps(data, indent=1))


class _Help(argparse.HelpFormatter):
    """As wide as the terminal; argparse would ask `shutil`, which takes a while to import."""

    def __init__(self, prog: str):
        try:
            columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size().columns
        except (ValueError, OSError):
            columns = 80
        super().__init__(prog, width=columns - 2)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Knows all verbs, and the arguments of those that stand in `argv`."""
    parser = argparse.ArgumentParser(
        "minusgrad", description="Write U once; the rest is derived.", epilog=EPILOG, formatter_class=_Help
    )
    parser.add_argument("--version", action="version", version=f"minusgrad {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for name, (do, arguments, text) in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=text, epilog=EPILOG, formatter_class=_Help)
        verb.set_defaults(do=do)
        if name in argv:
            arguments(verb)
    return parser


# Arguments ------------------------------------------------------------------------------------------


def _scene_arguments(verb: argparse.ArgumentParser, example: str, out: str) -> None:
    verb.add_argument("scene", type=_path)
    verb.add_argument(
        "overrides", nargs="*", metavar="key.sub=value", help=f"change the scene, e.g. {example}"
    )
    verb.add_argument("--out", type=_path, help=out)
    verb.add_argument("--force", action="store_true", help="throw away an earlier run in that folder")
    _hours_option(verb)
    _common_arguments(verb)


def _run_arguments(verb: argparse.ArgumentParser) -> None:
    _scene_arguments(verb, "stepper.dt=0.01", "the run's folder (default: runs/NAME)")


def _fit_arguments(verb: argparse.ArgumentParser) -> None:
    _scene_arguments(verb, "fit.iterations=50", "the fit's folder (default: runs/NAME-fit)")


def _resume_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", type=_path)
    verb.add_argument(
        "--allow-changed", action="store_true", help="even if the scene or a plugin has changed"
    )
    _hours_option(verb)
    _common_arguments(verb)


def _check_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("what", metavar="SCENE|FILE.py|ENERGY|PLUGIN")
    verb.add_argument("overrides", nargs="*", metavar="key.sub=value")
    seconds = "silence after which a kernel is taken not to return (default: 300)"
    verb.add_argument("--seconds", type=float, default=300.0, help=seconds)
    _common_arguments(verb)


def _info_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", type=_path)
    _json_option(verb)


def _compare_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("one", type=_path, metavar="A", help="a run's folder, or a checkpoint")
    verb.add_argument("other", type=_path, metavar="B", help="another")
    _json_option(verb)


def _export_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", type=_path)
    what = "what was recorded, like total or position (default: all observables)"
    verb.add_argument("series", nargs="*", metavar="SERIES", help=what)
    verb.add_argument("--out", type=_path, metavar="FILE.csv", help="where to (default: the terminal)")


def _plot_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", type=_path)
    verb.add_argument("--out", type=_path, help="where to (default: pictures/ in the run)")


def _scenes_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", type=_path, nargs="?", default="scenes")
    _json_option(verb)


def _source_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("energy", metavar="ENERGY")
    verb.add_argument("--of", choices=("value", "gradient", "product"), default="gradient", help="of what")
    verb.add_argument("--dimension", type=int, choices=(2, 3), default=3, help="of space (default: 3)")
    _common_arguments(verb)


def _bench_arguments(verb: argparse.ArgumentParser) -> None:
    what = "a work, or the beginning of one of its cases (default: everything)"
    verb.add_argument("works", nargs="*", metavar="WORK", help=what)
    verb.add_argument("--list", action="store_true", help="what there is, and measure nothing")
    verb.add_argument("--engine", action="append", metavar="NAME", help="on which (default: all installed)")
    only = "only those with WORD in their name, and what ratios are to"
    verb.add_argument("--columns", action="append", metavar="WORD", help=only)
    verb.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    verb.add_argument("--threads", type=int, default=0, help="for every column (default: all cores)")
    verb.add_argument("--json", type=_path, metavar="FILE", help="where to (default: in runs/bench)")


def _common_arguments(verb: argparse.ArgumentParser) -> None:
    _plugin_option(verb)
    _json_option(verb)


def _plugin_option(verb: argparse.ArgumentParser) -> None:
    text = "a file with energies of your own"
    verb.add_argument("--plugin", type=_path, action="append", default=[], metavar="FILE.py", help=text)


def _hours_option(verb: argparse.ArgumentParser) -> None:
    text = "save and stop after so many hours (exit code 4), to be resumed"
    verb.add_argument("--max-hours", type=_hours, metavar="H", help=text)


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not hours > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time to run; give hours, like 11.5")
    return hours


def _json_option(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--json", action="store_true", help="for programs")


def _path(text: str) -> Any:
    from pathlib import Path

    return Path(text)


# Verbs ----------------------------------------------------------------------------------------------


def _run(a: argparse.Namespace) -> int:
    from .progress import progress
    from .runs import run

    return _told(run(a.scene, a.overrides, a.out, a.plugin, a.force, progress, a.max_hours), a.json)


def _fit(a: argparse.Namespace) -> int:
    from .progress import progress
    from .runs import fit

    def told(job: Any) -> None:
        if not a.json:
            print(job.plan, flush=True)

    done = fit(a.scene, a.overrides, a.out, a.plugin, a.force, progress, told, a.max_hours)
    return _found(done, a.json)


def _resume(a: argparse.Namespace) -> int:
    from .progress import progress
    from .runs import Fit, resume

    done = resume(a.folder, a.plugin, a.allow_changed, progress, a.max_hours)
    return _found(done, a.json) if isinstance(done, Fit) else _told(done, a.json)


def _found(fit: Any, for_programs: bool) -> int:
    """Say what was found, how well it is determined, and where it lies."""
    from .tables import found

    _complain(*fit.remarks)
    _warned(fit.simulation.registry)
    failed = int(fit.parameter_fit.search.failed)
    if for_programs:
        _print_json({"folder": str(fit.folder)} | fit.estimates.as_dict())
        return failed
    print(f"{fit.folder}: {fit.estimates.iterations} iterations")
    found(fit.estimates)
    print(f"  pictures: minusgrad plot {fit.folder}")
    return failed


def _told(run: Any, for_programs: bool) -> int:
    """Say where the results lie, and what there is to remark."""
    from ..files import trajectory

    _complain(*run.remarks)
    _warned(run.simulation.registry)
    stepper, unit = run.simulation.stepper, run.simulation.units.symbol("s")
    recorded = trajectory.names(run.folder)
    known = [n for n in ("drift", "work", "dissipated", "heat") if f"observables/{n}" in recorded]
    last = {name: float(run.series(f"observables/{name}").value[-1]) for name in known}
    if abs(last.get("drift", 0.0)) > 1.0:
        _complain("the total energy changed by more than itself: a smaller dt is needed")
    if for_programs:
        facts = {"folder": str(run.folder), "outcome": run.outcome, "step": stepper.step}
        facts |= {"time": stepper.time, "time_unit": unit}
        _print_json(facts | last)
        return int(stepper.failed)
    clock = f"steps, t = {stepper.time:.10g}{'' if unit == '1' else ' ' + unit}"
    print(f"{run.folder}: {stepper.step} {clock if stepper.residual is None else 'iterations'}")
    if stepper.verdict:
        print(f"  {stepper.verdict}")
    for name, value in last.items():
        print(f"  energy {name}: {value:.3g}")
    if recorded:
        print(f"  pictures: minusgrad plot {run.folder}")
    return int(stepper.failed)


def _check(a: argparse.Namespace) -> int:
    from .check_process import findings
    from .tables import answers

    found = findings([a.what], a.overrides, a.plugin, a.seconds)
    if a.json:
        everything = list(found)
        _print_json([f.as_dict() for f in everything])
    else:
        everything = answers(found)
    return 0 if all(f.passed for f in everything) else 1


def _info(a: argparse.Namespace) -> int:
    from .info import info
    from .tables import run_facts

    found = info(a.folder)
    _print_json(found) if a.json else run_facts(found)
    return 0


def _verify(a: argparse.Namespace) -> int:
    from .tables import verdict
    from .verify import strays, verify

    answers = list(verify(a.folder))
    if a.json:
        _print_json([answer.as_dict() for answer in answers])
    else:
        verdict(answers, strays(a.folder))
    return 0 if all(answer.passed for answer in answers) else 1


def _compare(a: argparse.Namespace) -> int:
    from .compare import compare
    from .tables import differences

    found = compare(a.one, a.other)
    _print_json(found.as_dict()) if a.json else differences(found)
    return 1 if found.differences else 0


def _export(a: argparse.Namespace) -> int:
    from .export import export

    if a.out is None:
        export(a.folder, a.series, sys.stdout)
        return 0
    from ..files.durable import rewritten

    if a.out.is_dir() or not a.out.parent.is_dir():
        why = "is a folder" if a.out.is_dir() else f"there is no folder {a.out.parent}"
        raise UserError(f"{a.out}: cannot be written: {why}; give a file with --out")
    with rewritten(a.out) as file:
        rows = export(a.folder, a.series, file)
    print(f"{a.out}: {rows} rows")
    return 0


def _plot(a: argparse.Namespace) -> int:
    from ..plot.pictures import plot
    from .runs import writable

    for path in plot(a.folder, a.out and writable(a.out)):
        print(path)
    return 0


def _scenes(a: argparse.Namespace) -> int:
    from ..scene.document import claim
    from .tables import table

    files = sorted(a.folder.glob("*.toml"))
    if not files:
        raise UserError(f"no scenes in {a.folder}; name another folder")
    rows = [(str(f), claim(f)) for f in files]
    if a.json:
        _print_json([{"scene": f, "claim": c} for f, c in rows])
    else:
        table(("scene", "what is true of it"), rows)
    return 0


def _energies(a: argparse.Namespace) -> int:
    from ..assembly.registry import ENERGIES, Registry
    from .tables import described, table

    registry = Registry.load(None, a.plugin)
    entries = {section: registry.tables[section].values() for section in ENERGIES}
    if a.json:
        _print_json([described(e, s) for s, some in entries.items() for e in some])
    else:
        for section, some in entries.items():
            if some:
                head = (section, "plugin", "over", "arguments", "what it is")
                table(head, [_energy_row(e, section) for e in some])
    return _warned(registry)


def _source(a: argparse.Namespace) -> int:
    from ..assembly.registry import Registry
    from ..potential.listing import of_energy

    registry = Registry.load(None, a.plugin)
    found = of_energy(registry.energy(a.energy), a.dimension)
    if a.json:
        _print_json(found.as_dict())
        return _warned(registry)
    counts = ", ".join(f"{what} {count}" for what, count in found.operations.items())
    print(f"# {found.energy} in {found.dimension}D, operations an element: {counts}")
    print(f"# the loops of its {a.of}:")
    print(found.source[a.of], end="")
    return _warned(registry)


def _energy_row(entry: Any, section: str) -> tuple[str, ...]:
    from .tables import described

    d = described(entry, section)
    arguments = "\n".join(f"{a['name']}: {a['role']} [{a['unit']}]" for a in d["arguments"])
    name = f"{d['name']} -> {d['gives']}" if d["gives"] else d["name"]
    return name, d["plugin"], str(d["over"]), arguments, d["claim"]


def _warned(registry: Any) -> int:
    """Name the plugins that are installed and broken, which is a finding."""
    _complain(*(f"not needed here, but broken: {error}" for error in registry.broken.values()))
    return 1 if registry.broken else 0


def _plugins(a: argparse.Namespace) -> int:
    from ..assembly.installed_plugins import listed
    from .tables import table

    rows = [(p.name, p.distribution, p.version, p.target) for p in listed()]
    if a.json:
        keys = ("name", "distribution", "version", "module")
        _print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        table(("plugin", "distribution", "version", "module"), rows)
    return 0


def _schema(a: argparse.Namespace) -> int:
    from ..assembly.registry import Registry
    from ..scene.json_schema import schema_of

    registry = Registry.load(None, a.plugin)
    _print_json(schema_of(registry.models()))
    return _warned(registry)


def _bench(a: argparse.Namespace) -> int:
    root = _path(__file__).parents[3]
    if not (root / "benchmarks" / "scoreboard.py").is_file():
        raise UserError(
            "the benchmarks, and the C that they compare with, are in no wheel: take a checkout and"
            " pip install --editable '.[bench]' there"
        )
    from importlib import import_module

    sys.path.insert(0, str(root))
    return import_module("benchmarks.scoreboard").run(a)


VERBS = {
    "run": (_run, _run_arguments, "run a scene into a new folder"),
    "fit": (_fit, _fit_arguments, "find the parameters of a scene's [fit], into a new folder"),
    "resume": (_resume, _resume_arguments, "go on with a run or a fit, bit for bit"),
    "info": (_info, _info_arguments, "what a run holds, and how it stands"),
    "verify": (_verify, _info_arguments, "is a run whole: every hash, every file, every step?"),
    "compare": (_compare, _compare_arguments, "are two runs the same, bit for bit, or where do they part?"),
    "export": (_export, _export_arguments, "what a run recorded, as CSV"),
    "check": (
        _check,
        _check_arguments,
        "is every gradient true: of a scene, an energy, a file of kernels?",
    ),
    "plot": (_plot, _plot_arguments, "pictures of a run"),
    "scenes": (_scenes, _scenes_arguments, "the scenes in a folder, with their claims"),
    "energies": (_energies, _common_arguments, "the energies that scenes may name"),
    "source": (_source, _source_arguments, "what the engine makes of an energy: its graph, and the Taichi"),
    "plugins": (_plugins, _json_option, "the plugins that are installed"),
    "schema": (_schema, _plugin_option, "the JSON schema of scene files, for editors"),
    "bench": (_bench, _bench_arguments, "what it costs, beside C and its peers"),
}
"""By its name what a verb does, what arguments it takes, and a word about it."""
