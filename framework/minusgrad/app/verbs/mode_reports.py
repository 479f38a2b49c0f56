"""Modes of a saved state as a table, a picture and an animation: options and output of several verbs."""

from __future__ import annotations

import argparse

from ...errors import UserError
from .shared_options import common_options, out_option, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..buckling import RunBuckling
    from ..modes import RunModes


def count_options(parser: argparse.ArgumentParser, most: int) -> None:
    """Which saved step, and how many modes; `most` by default."""
    parser.add_argument("--at", type=int, metavar="STEP", help="a saved step (default: the last one)")
    text = f"the N lowest modes (default: {most})"
    parser.add_argument("--count", type=int, default=most, metavar="N", help=text)


def picture_options(parser: argparse.ArgumentParser) -> None:
    """Which mode is animated, where pictures go, plugins and JSON."""
    text = "animate this mode of the table, as a GIF"
    parser.add_argument("--mode", type=int, metavar="K", help=text)
    out_option(parser, "folder for pictures (default: pictures/ in the run)")
    common_options(parser)


def report(a: argparse.Namespace, found: RunModes | RunBuckling, name: str = "mode") -> int:
    """Print the table and draw the modes; name: of the files. Raises `UserError` for a mode not in it."""
    from ...plot.modes.mode_pictures import draw_modes
    from ..run_options import writable
    from ..tables import print_table

    rows = found.rows()
    if a.mode is not None and not 1 <= a.mode <= len(rows):
        raise UserError(f"--mode: must be from 1 to {len(rows)}, got {a.mode}; --count shows more modes")
    if a.json:
        print_json(found.as_dict(a.mode))
    else:
        print(f"{found.folder}: step {found.step}")
        if rows:
            print_table(found.head, rows)
        for remark in found.remarks():
            print(remark)
    if shapes := found.drawn():
        title = str(found.simulation.scene.title or "")
        out = writable(a.out) if a.out else a.folder / "pictures"
        for file in draw_modes(shapes, out, title, a.mode, name):
            if not a.json:
                print(file)
    return 0
