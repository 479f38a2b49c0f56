"""`bench`: the benchmarks of a checkout."""

from __future__ import annotations

import argparse
import sys

from ...errors import UserError
from .shared_options import out_option, path


def bench_options(parser: argparse.ArgumentParser) -> None:
    text = "a benchmark, or the beginning of the name of one of its cases (default: all)"
    parser.add_argument("works", nargs="*", metavar="WORK", help=text)
    parser.add_argument("--list", action="store_true", help="list the cases and measure nothing")
    text = "an engine to measure (default: all installed)"
    parser.add_argument("--engine", action="append", metavar="NAME", help=text)
    text = "only columns with WORD in their name, and those that ratios refer to"
    parser.add_argument("--columns", action="append", metavar="WORD", help=text)
    text = "measure our kernels on a device, beside its limits: cuda, vulkan or metal"
    parser.add_argument("--arch", choices=("cuda", "vulkan", "metal"), metavar="ARCH", help=text)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see whether everything runs")
    parser.add_argument("--threads", type=int, default=0, help="threads of every column (default: all cores)")
    out_option(parser, "file to write (default: in runs/bench)", "FILE", former="--json")


def bench(a: argparse.Namespace) -> int:
    root = path(__file__).parents[4]
    if not (root / "benchmarks" / "scoreboard.py").is_file():
        raise UserError(
            "bench: the benchmarks, and the C that they compare with, are not part of a wheel; clone the"
            " repository and run pip install --editable '.[bench]' there"
        )
    from importlib import import_module

    sys.path.insert(0, str(root))
    return import_module("benchmarks.on_device" if a.arch else "benchmarks.scoreboard").run(a)
