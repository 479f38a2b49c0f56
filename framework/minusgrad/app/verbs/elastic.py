"""`elastic`: stress and elastic constants of a saved crystal, as a table."""

from __future__ import annotations

import argparse

from .shared_options import common_options, print_json, run_argument, with_run


def elastic_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser, "folder of a run")
    parser.add_argument("--at", type=int, metavar="STEP", help="a saved step (default: the last one)")
    common_options(parser)


def elastic(a: argparse.Namespace) -> int:
    from ..elastic import elastic
    from ..tables import print_table

    with_run(a)
    found = elastic(a.folder, a.at, a.plugin)
    if a.json:
        print_json(found.as_dict())
        return 0
    print(f"{found.folder}: step {found.step}")
    print_table(found.head, found.rows())
    for remark in found.remarks():
        print(remark)
    return 0
