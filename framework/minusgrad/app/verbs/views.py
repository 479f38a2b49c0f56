"""`view`: a run in a browser."""

from __future__ import annotations

import argparse
from functools import partial

from ...errors import UserError, printable
from .folders import body_option
from .shared_options import complain, out_option, run_argument, with_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def view_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser, "folder of a run, which may be going on")
    text = "write one HTML file that opens without a network, in place of serving a page"
    out_option(parser, text, "FILE.html", former="--save")
    text = "port of the page (default: the first free one from 8080 on)"
    parser.add_argument("--port", type=int, metavar="N", help=text)
    text = "address to listen at (default: 127.0.0.1, which only this machine reaches)"
    parser.add_argument("--host", metavar="H", help=text)
    text = "address at which a proxy shows the port, such as https://HUB/user/NAME/proxy/{port}/"
    parser.add_argument("--behind", default="", metavar="URL", help=text)
    text = "field that gives the colour: speed, the name of a recorded series, or none"
    parser.add_argument("--field", default="", metavar="NAME", help=text)
    body_option(parser)
    text = "take every K-th recorded frame (default: at most 240 frames)"
    parser.add_argument("--every", type=int, metavar="K", help=text)
    text = "with --out: the largest file in megabytes; frames, then points are left out (default: 50)"
    parser.add_argument("--max-mb", type=float, metavar="MB", help=text)


def view(a: argparse.Namespace) -> int:
    with_run(a)
    shown: dict[str, Any] = {"field": a.field, "bodies": a.body, "every": a.every}
    if a.out is not None:
        return _saved(a, shown)
    if a.max_mb is not None:
        raise UserError(f"view: --max-mb is for a saved page, got {a.max_mb:g}; give --out FILE.html, too")
    from ...view.page import show
    from ...view.server import HOST

    with show(a.folder, host=a.host or HOST, port=a.port, behind=a.behind, **shown) as page:
        complain(*page.remarks)
        try:
            print(f"{page.address} shows {a.folder}; Ctrl-C ends it", flush=True)
            page.wait()
        except KeyboardInterrupt:
            print()
    return 0


def _saved(a: argparse.Namespace, shown: dict[str, Any]) -> int:
    from ...view.saved import MEGABYTES, save
    from ..progress import progress

    if a.port is not None or a.host is not None or a.behind:
        raise UserError(
            f"view: a saved page has no server, got --host {a.host}, --port {a.port} and --behind"
            f" '{printable(a.behind, 200)}'; leave them out"
        )
    counted = partial(progress, counted="frame")
    saved = save(
        a.folder, a.out, **shown, max_mb=MEGABYTES if a.max_mb is None else a.max_mb, progress=counted
    )
    complain(*saved.remarks)
    print(saved.path)
    return 0
