"""`modes`: normal modes of a saved state, as a table, a picture and an animation."""

from __future__ import annotations

import argparse

from .mode_reports import count_options, picture_options, report
from .shared_options import run_argument, with_run


def modes_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser, "folder of a run")
    count_options(parser, 30)
    picture_options(parser)


def modes(a: argparse.Namespace) -> int:
    from ..modes import modes

    with_run(a)
    return report(a, modes(a.folder, a.at, a.count, a.plugin))
