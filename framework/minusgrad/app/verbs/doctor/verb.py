"""`doctor`: what to paste into a report."""

from __future__ import annotations

import argparse
from logging import getLogger

from ..shared_options import json_option, print_json
from .trial import SECONDS

logger = getLogger("minusgrad")


def doctor_options(parser: argparse.ArgumentParser) -> None:
    text = f"report a kernel as hanging after S seconds (default: {SECONDS:g})"
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help=text)
    json_option(parser)


def doctor(a: argparse.Namespace) -> int:
    from .facts import facts

    found = []
    for fact in facts(a.seconds):
        found.append(fact)
        if not a.json:
            print(f"{fact.what:<14} {'WRONG: ' if fact.wrong else ''}{fact.found}", flush=True)
        if fact.what == "variables":
            logger.debug("compiling a kernel ...")
    if a.json:
        print_json([fact._asdict() for fact in found])
    return int(any(fact.wrong for fact in found))
