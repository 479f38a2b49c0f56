"""`modes`: normal modes of a saved state, as a table, a picture and an animation."""

from __future__ import annotations

import argparse

from ...errors import UserError
from .shared_options import common_options, path, print_json


def modes_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=path, metavar="RUN", help="folder of a run")
    parser.add_argument("--at", type=int, metavar="STEP", help="a saved step (default: the last one)")
    parser.add_argument("--count", type=int, default=30, metavar="N", help="the N lowest modes (default: 30)")
    text = "animate this mode of the table, as a GIF"
    parser.add_argument("--mode", type=int, metavar="K", help=text)
    parser.add_argument("--out", type=path, help="folder for pictures (default: pictures/ in the run)")
    common_options(parser)


def modes(a: argparse.Namespace) -> int:
    from ...plot.mode_pictures import draw_modes
    from ..modes import modes
    from ..run_options import writable
    from ..tables import print_table

    found = modes(a.folder, a.at, a.count, a.plugin)
    if a.mode is not None and not 1 <= a.mode <= len(found.found):
        raise UserError(
            f"--mode: must be from 1 to {len(found.found)}, got {a.mode}; --count shows more modes"
        )
    if a.json:
        print_json(found.as_dict(a.mode))
    else:
        print(f"{found.folder}: step {found.step}")
        print_table(found.head, found.rows())
        for remark in found.remarks():
            print(remark)
    title = str(found.simulation.scene.title or "")
    out = writable(a.out) if a.out else a.folder / "pictures"
    for file in draw_modes(found.shapes(), out, title, a.mode):
        if not a.json:
            print(file)
    return 0
