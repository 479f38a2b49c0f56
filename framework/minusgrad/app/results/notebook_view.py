"""A run as a notebook shows it: one picture, and a table of how it ended and what it recorded."""

import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

from ...assembly.blocks.html_tables import table
from ...engine import memory
from ...errors import MinusgradError
from ...files import trajectory
from ...files.frames import series_names
from ...files.h5md import OBSERVABLES
from ...scene.units import pretty
from ..info import info
from .pictures import shown

BALANCE = ("total", "drift", "work", "dissipated", "damped", "heat", "loss", "residual")
"""Observables whose last values the table has."""

SIDE_BY_SIDE = "display: flex; flex-wrap: wrap; gap: 24px; align-items: center"


def of_run(folder: Path, outcome: str) -> str:
    """The HTML of a run that ended so; one without a picture has the table alone."""
    facts = table(("", ""), _facts(folder, outcome))
    picture = _picture(folder)
    return f'<div style="{SIDE_BY_SIDE}">{picture}\n<div style="flex: 1; min-width: 20em">{facts}</div></div>'


def _facts(folder: Path, outcome: str) -> Iterator[tuple[str, str]]:
    found = info(folder)
    if title := found.get("title"):
        yield "scene", title
    yield "folder", str(folder)
    yield "state", found["state"] if outcome == found["state"] else f"{found['state']}: {outcome}"
    if "step" in found:
        of = f" of {found['last']:,}" if found.get("last") is not None else ""
        yield "iteration" if found.get("kind") == "fit" else "step", f"{found['step']:,}{of}"
        yield "time", f"{found['time']:.8g} {pretty(found['time_unit'])}".rstrip()
    if "members" in found:
        yield "members", f"{found['members']:,}, {found['failed_members']:,} failed"
    rows = {series["name"]: series for series in found["series"]}
    for name in BALANCE:
        path = f"{OBSERVABLES}/{name}"
        if path in rows and not rows[path]["shape"]:
            value, unit = trajectory.last_row(folder, path).value[0], pretty(rows[path]["unit"])
            yield f"{name}, last", f"{value:.6g} {unit}".rstrip()
    yield "recorded", ", ".join(series_names.shortest_names(list(rows))) or "nothing"
    yield "files", f"{found['files']:,}, {memory.size(found['bytes'])}"


def _picture(run: Path) -> str:
    """The first picture as HTML, drawn outside the folder; empty where nothing can be drawn."""
    from ...plot.pictures import plot

    try:
        with tempfile.TemporaryDirectory() as folder:
            return shown(plot(run, Path(folder), most=1)[0], "24em")
    except MinusgradError as error:
        return f"<!-- no picture: {escape(str(error))} -->"
