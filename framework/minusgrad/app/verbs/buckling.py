"""`buckling`: the loads at which a saved state buckles, as a table, a picture and an animation."""

from __future__ import annotations

import argparse

from ...errors import UserError
from .shared_options import common_options, path, print_json


def buckling_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=path, metavar="RUN", help="folder of a run, in equilibrium under load")
    parser.add_argument("--at", type=int, metavar="STEP", help="a saved step (default: the last one)")
    parser.add_argument("--count", type=int, default=6, metavar="N", help="the N lowest modes (default: 6)")
    text = "an energy that grows with the factor (repeat; default: those that are linear in the positions)"
    parser.add_argument("--load", action="append", default=[], metavar="NAME", help=text)
    text = "animate this mode of the table, as a GIF"
    parser.add_argument("--mode", type=int, metavar="K", help=text)
    parser.add_argument("--out", type=path, help="folder for pictures (default: pictures/ in the run)")
    common_options(parser)


def buckling(a: argparse.Namespace) -> int:
    from ...plot.mode_pictures import draw_modes
    from ..buckling import buckling
    from ..run_options import writable
    from ..tables import print_table

    found = buckling(a.folder, a.at, a.count, a.load, a.plugin)
    if a.mode is not None and not 1 <= a.mode <= len(found.factors):
        raise UserError(
            f"--mode: must be from 1 to {len(found.factors)}, got {a.mode}; --count shows more modes"
        )
    if a.json:
        print_json(found.as_dict(a.mode))
    else:
        print(f"{found.folder}: step {found.step}")
        if len(found.factors):
            print_table(found.head, found.rows())
        for remark in found.remarks():
            print(remark)
    if shapes := found.drawn():
        title = str(found.simulation.scene.title or "")
        out = writable(a.out) if a.out else a.folder / "pictures"
        for file in draw_modes(shapes, out, title, a.mode, "buckling_mode"):
            if not a.json:
                print(file)
    return 0
