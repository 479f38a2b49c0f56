"""`check` and `source`: whether the derivatives of an energy are right, and the code that computes them."""

from __future__ import annotations

import argparse
import sys

from ...errors import UserError, printable
from ..streams import drawing
from .shared_options import common_options, fitted_option, out_option, path, print_json, warn_of_broken


def check_options(parser: argparse.ArgumentParser) -> None:
    text = "a scene, a file of Taichi kernels, or the name of an energy or a plugin"
    parser.add_argument("what", metavar="SCENE|FILE.py|ENERGY|PLUGIN", help=text)
    text = "change a key of the scene, e.g. stepper.dt=0.01"
    parser.add_argument("overrides", nargs="*", metavar="key.sub=value", help=text)
    text = "report a kernel as hanging after S seconds without an answer (default: 300)"
    parser.add_argument("--seconds", type=float, default=300.0, metavar="S", help=text)
    text = "a conformance report of the installed plugin PLUGIN, by all installed engines"
    parser.add_argument("--report", action="store_true", help=text)
    text = "write the report, too: FILE.md or FILE.json"
    out_option(parser, text, "FILE", former="--to")
    text = "a scene of the plugin, for the report (default: those in `scenes` beside its package)"
    parser.add_argument("--scene", type=path, action="append", metavar="SCENE.toml", help=text)
    fitted_option(parser)
    common_options(parser)


def source_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("energy", metavar="ENERGY", help="the name of an energy")
    text = "the kernel to print (default: gradient)"
    parser.add_argument("--of", choices=("value", "gradient", "product"), default="gradient", help=text)
    text = "dimension of space (default: 3)"
    parser.add_argument("--dimension", type=int, choices=(2, 3), default=3, help=text)
    common_options(parser)


def check(a: argparse.Namespace) -> int:
    if a.report or a.out or a.scene:
        return _report(a)
    from logging import getLogger

    getLogger("minusgrad").debug("checking %s ...", a.what)  # before what takes seconds to import
    from ...check.outcomes import exit_code
    from ..plugin_kit.check_process import findings
    from ..tables import print_findings

    found = findings([a.what], a.overrides, a.plugin, a.seconds, a.fitted)
    if a.json:
        everything = list(found)
        print_json([f.as_dict() for f in everything])
    else:
        everything = print_findings(found)
    return exit_code(everything)


def _report(a: argparse.Namespace) -> int:
    from ..plugin_kit import report
    from ..tables import print_table

    if not a.report:
        raise UserError("check: --out and --scene belong to a report, got no --report; add it")
    if a.overrides or a.plugin or a.fitted:
        raise UserError("check: a report is of an installed plugin as it is; leave out keys and files")
    if a.out is not None:
        report.refuse_file(a.out)
    rows = report.report(a.what, a.scene, _shown)
    _shown("")
    if a.out is not None:
        report.write(a.out, a.what, rows)
    if a.json:
        print_json([row.as_dict() for row in rows])
    else:
        print_table(report.HEAD, map(report.cells, rows))
        print(report.summary(rows))
    return 1 if any(row.result == "FAIL" for row in rows) else 0


def _shown(doing: str) -> None:
    """What is asked now, on one line of a terminal."""
    if sys.stderr.isatty():
        with drawing(sys.stderr):
            print(f"\r\033[K{printable(doing, 100)}", end="", file=sys.stderr, flush=True)


def source(a: argparse.Namespace) -> int:
    from ...assembly.registry import Registry
    from ...energies.constraint import Constraint
    from ...energies.magnetic_field import MagneticField
    from ...potential.listing import of_energy
    from ...steppers.magnetic.flow import flow_energy

    registry = Registry.load(None, a.plugin)
    energy = registry.energy(a.energy)
    if isinstance(energy, MagneticField):
        energy = flow_energy(energy, a.dimension, True, True)
    if isinstance(energy, Constraint):
        energy = energy.weighted_energy()
    found = of_energy(energy, a.dimension)
    if a.json:
        print_json(found.as_dict())
        return warn_of_broken(registry)
    counts = ", ".join(f"{what} {count}" for what, count in found.operations.items())
    print(f"# {found.energy} in {found.dimension}D, operations for each element: {counts}")
    print(f"# loops of the {a.of}:")
    print(found.source[a.of], end="")
    return warn_of_broken(registry)
