"""`init` and `demo`: files to start from, and a demonstration."""

from __future__ import annotations

import argparse

from ...errors import pip_line
from .shared_options import json_option, out_option, path, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def init_options(parser: argparse.ArgumentParser) -> None:
    text = "tutorial (the default), or a scene that `minusgrad scenes` lists"
    parser.add_argument("name", nargs="?", default="tutorial", metavar="tutorial|NAME", help=text)
    text = "folder to write into (default: the working folder)"
    out_option(parser, text)
    json_option(parser)


def demo_options(parser: argparse.ArgumentParser) -> None:
    text = "folder of the runs (default: runs/demo); earlier ones of the demonstration are deleted there"
    out_option(parser, text)


def init(a: argparse.Namespace) -> int:
    from .shipped.starting_files import NAME, write_starting_files

    folder = a.out or path(".")
    files = write_starting_files(a.name, folder)
    if a.json:
        print_json([str(file) for file in files])
        return 0
    for file in files:
        print(file)
    if a.name == NAME:
        print(f"next: follow {folder / 'tutorial.md'}; its first command: {_check(folder)}")
    else:
        print(f"next: {_run(files)}")
    return 0


def _check(folder: Path) -> str:
    return f"minusgrad check magnets --plugin {folder / 'magnets.py'}"


def _run(files: list[Path]) -> str:
    """The command that runs the scene, which is the first file."""
    beside = files[0].with_suffix(".py")
    return f"minusgrad run {files[0]}" + (f" --plugin {beside}" if beside in files else "")


def demo(a: argparse.Namespace) -> int:
    from ..progress import progress
    from .runs import Aloud, report_run
    from .shipped.demo import FOLDER, can_draw, demo

    say, out = Aloud(), a.out or FOLDER
    for run in demo(out, progress, say):
        report_run(run, False, say.said)
    pictures = out / "*" / "pictures" / "*.png"
    drawn = f"pictures: {pictures}" if can_draw() else f"pictures need Matplotlib: {pip_line('plot')}"
    print(f"results: {out / '*' / 'trajectory.h5'} (H5MD)   {drawn}")
    return 0
