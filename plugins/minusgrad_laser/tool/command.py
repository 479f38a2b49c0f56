"""Laser toolpaths: from an image to a job file, or the replay of a job file on a virtual machine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SAVES = True


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("image", nargs="?", metavar="IMAGE", help="PNG, TIFF or SVG; dark is drawn")


def run(a: argparse.Namespace) -> int:
    from minusgrad.plugin import UserError

    raise UserError("laser: no job can be made yet")
