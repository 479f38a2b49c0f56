"""`buckling`: the loads at which a saved state buckles, as a table, a picture and an animation."""

from __future__ import annotations

import argparse

from .mode_reports import count_options, picture_options, report
from .shared_options import run_argument, with_run


def buckling_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser, "folder of a run, in equilibrium under load")
    count_options(parser, 6)
    text = "an energy that grows with the factor (repeat; default: those that are linear in the positions)"
    parser.add_argument("--load", action="append", default=[], metavar="NAME", help=text)
    text = "differentiate the critical factor by a parameter, TERM.ARGUMENT, or a field (repeat)"
    parser.add_argument("--gradient", action="append", default=[], metavar="NAME", help=text)
    picture_options(parser)


def buckling(a: argparse.Namespace) -> int:
    from ..buckling import buckling

    with_run(a)
    return report(a, buckling(a.folder, a.at, a.count, a.load, a.plugin, a.gradient), "buckling_mode")
