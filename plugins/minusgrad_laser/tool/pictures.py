"""Panels as pictures: vector drawings for a page in light and dark, and all in one PNG."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from minusgrad.plugin import UserError, pip_line

from .evidence import Evidence
from .panels import Panel, of

INK = "#7d7d01"
"""The colour of text and lines in drawings that take the colour of the page's text in its place."""
WIDTH = 4.4
"""Of a panel [inch]."""
DPI = 170
STYLE = {
    "svg.fonttype": "none",
    "font.size": 8.0,
    "axes.linewidth": 0.6,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "savefig.dpi": DPI,
}
INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")


def require() -> None:
    """Raise `UserError` if Matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError(f"laser: the report needs Matplotlib: {pip_line('plot')}") from None


@contextmanager
def _style(ink: str, name: str = "report") -> Iterator[None]:
    import matplotlib

    matplotlib.use("agg")
    with matplotlib.rc_context(STYLE | dict.fromkeys(INKED, ink) | {"svg.hashsalt": name}):
        yield


def aspect(evidence: Evidence) -> float:
    """Height over width of the field."""
    rows, columns = evidence.dose.shape
    return rows / columns


def svg(panel: Panel, evidence: Evidence) -> str:
    """A panel as an `<svg>` whose text and axes have the colour of the page's text."""
    from matplotlib.figure import Figure

    wide = is_wide(panel, evidence)
    width = 2.1 * WIDTH if wide else WIDTH
    height = 0.76 * width * aspect(evidence) + 0.5 if panel.is_map else 0.42 * width
    with _style(INK, panel.name):
        figure = Figure(figsize=(width, max(height, 1.4)))
        axes = figure.add_axes((0.13, 0.14, 0.68, 0.8)) if panel.is_map else figure.add_subplot()
        panel.draw(axes, evidence)
        axes.patch.set_alpha(0.0)
        data = BytesIO()
        figure.savefig(
            data, format="svg", transparent=True, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.03
        )
    text = data.getvalue().decode()
    return text[text.index("<svg") :].replace(INK, "currentColor").replace(INK.upper(), "currentColor")


def is_wide(panel: Panel, evidence: Evidence) -> bool:
    """A panel that takes the whole width of the page."""
    return aspect(evidence) < 0.4 if panel.is_map else panel.name == "motion"


def png(evidence: Evidence, baseline: Evidence | None = None) -> bytes:
    """All panels and the table in one picture, on white."""
    from matplotlib.figure import Figure

    panels = of(evidence)
    columns = 3 if aspect(evidence) >= 0.4 else 2
    lines = -(-(len(panels) + 1) // columns)
    each = min(max(WIDTH * aspect(evidence), 1.9), 1.4 * WIDTH)
    with _style("#202020"):
        figure = Figure(figsize=(columns * WIDTH, lines * (each + 0.35) + 0.6), layout="constrained")
        figure.suptitle(evidence.title, x=0.01, ha="left", weight="bold", size=12)
        places = figure.subplots(lines, columns, squeeze=False).ravel()
        for panel, axes in zip(panels, places, strict=False):
            panel.draw(axes, evidence)
            axes.set_title(panel.title)
        _table(places[len(panels)], evidence, baseline)
        for axes in places[len(panels) + 1 :]:
            axes.set_axis_off()
        data = BytesIO()
        figure.savefig(data, format="png", dpi=DPI, metadata={"Software": None})
    return data.getvalue()


def _table(axes: Any, evidence: Evidence, baseline: Evidence | None) -> None:
    axes.set_axis_off()
    beside = dict(baseline.rows()) if baseline else {}
    rows = [[name, text, *([beside.get(name, "")] if baseline else [])] for name, text in evidence.rows()]
    head = ["", "this job", "raster"] if baseline else None
    table = axes.table(rows, colLabels=head, loc="center", cellLoc="left", edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(8.0)
    table.scale(1.0, 1.3)
