"""`minusgrad validate`: its options, the progress of its rows, and the table at the end."""

from __future__ import annotations

import argparse
import sys

from ..app.verbs.shared_options import complain, out_option, path, plugin_option, warn_of_broken
from ..errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .outcome import Outcome
    from .published_value import PublishedValue

STOPPED = 130
"""The exit code of a table that was stopped by Ctrl-C."""


def validate_options(parser: argparse.ArgumentParser) -> None:
    text = "the rows of a few seconds each, two minutes in all once kernels are in the cache"
    parser.add_argument("--quick", action="store_true", help=text)
    text = "rows and areas whose names begin so, e.g. celestial nafems 'LJ13 minimum'"
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help=text)
    text = "a folder with public files that are not ours to ship; rows that need one say so"
    parser.add_argument("--data", type=path, metavar="FOLDER", help=text)
    parser.add_argument("--list", action="store_true", help="list the rows with sources and compute nothing")
    text = "write the table, versions and processor as JSON, after every row"
    out_option(parser, text, "FILE", former="--json")
    plugin_option(parser)


def validate(a: argparse.Namespace) -> int:
    from ..app.tables import print_table
    from ..assembly.registry import Registry
    from . import report, rows
    from .outcome import FAIL

    if a.data is not None and not a.data.is_dir():
        raise UserError(f"--data: needs a folder, got {a.data}; see the page of published values")
    if a.list and a.out is not None:
        raise UserError(f"--list: computes nothing to write, got a file {a.out}; leave one of them out")
    registry = Registry.load(None, a.plugin)
    every = rows.of_all(registry)
    broken = warn_of_broken(registry)  # their rows are missing
    found = rows.chosen(every, a.only, a.quick)
    if a.list:
        print_table(report.LIST_HEAD, map(report.list_cells, found))
        return broken
    if a.out is not None:
        report.write(a.out, [], len(found))  # before an hour of work
    done, stopped = _computed(found, a)
    print_table(report.HEAD, map(report.cells, done))
    _print_end(done, len(found), stopped)
    failed = any(one.answer == FAIL for one in done)
    return STOPPED if stopped else int(failed or broken)


def _computed(rows: Sequence[PublishedValue], a: argparse.Namespace) -> tuple[list[Outcome], bool]:
    """The outcomes, in the order of the rows, and whether Ctrl-C ended them; the JSON has them already."""
    from . import report
    from .measuring import outcomes

    order = {row.name: number for number, row in enumerate(rows)}
    done: list[Outcome] = []

    def say(text: str) -> None:
        if not a.quiet:
            print(f"{len(done) + 1}/{len(rows)} {text}", file=sys.stderr, flush=True)

    try:
        for one in outcomes(rows, a.data, lambda row: say(f"{row.name} ..."), a.plugin):
            say(f"{one.row.name}: {one.answer}{f', {one.seconds:.1f} s' if one.seconds else ''}")
            done.append(one)
            done.sort(key=lambda outcome: order[outcome.row.name])
            if a.out is not None:
                report.write(a.out, done, len(rows))
    except KeyboardInterrupt:
        return done, True
    return done, False


def _print_end(done: Sequence[Outcome], asked: int, stopped: bool) -> None:
    from .outcome import summary

    print(summary(done))
    if stopped:
        complain(f"stopped after {len(done)} of {asked} rows")
