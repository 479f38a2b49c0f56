"""Panels as pictures: vector drawings for a page in light and dark, and all in one PNG."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minusgrad.plugin import UserError, figure_bytes, pip_line

from .evidence import Evidence
from .panels import Panel, of

INK = "#7d7d01"
"""The colour of text and lines in drawings that take the colour of the page's text in its place."""
WIDTH, COLUMNS = 4.5, 3
"""Of a panel [inch]; panels beside each other."""
LEFT, RIGHT, BOTTOM, TOP, HEAD = 0.66, 0.88, 0.42, 0.1, 0.25
"""Room for axes, colour bar and title [inch]."""
DPI = 170
STYLE: dict[Any, Any] = {
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
def picture_style(ink: str, name: str = "report") -> Iterator[None]:
    import matplotlib

    matplotlib.use("agg")
    with matplotlib.rc_context(STYLE | dict.fromkeys(INKED, ink) | {"svg.hashsalt": name}):
        yield


def aspect(evidence: Evidence) -> float:
    """Height over width of the field."""
    rows, columns = evidence.dose.shape
    return rows / columns


def is_wide(panel: Panel, evidence: Evidence) -> bool:
    """A panel that takes the whole width of the page."""
    return aspect(evidence) < 0.4 if panel.is_map else panel.name == "motion"


def size(panel: Panel, evidence: Evidence) -> tuple[float, float]:
    """Width and height of a panel [inch]."""
    width = COLUMNS * WIDTH if is_wide(panel, evidence) else WIDTH
    if panel.is_map:
        inner = (width - LEFT - RIGHT) * aspect(evidence)
        return width, min(inner, 1.5 * WIDTH) + BOTTOM + TOP
    return width, 2.6 if is_wide(panel, evidence) else min(max(0.8 * WIDTH * aspect(evidence), 2.2), 3.2)


def place(figure: Any, panel: Panel, evidence: Evidence, x: float, y: float) -> Any:
    """Axes for a panel whose lower left corner is at x, y [inch]; the panel is drawn into them."""
    whole_width, whole_height = figure.get_size_inches()
    width, height = size(panel, evidence)
    right = RIGHT if panel.is_map or panel.name == "motion" else 0.15
    box = (x + LEFT, y + BOTTOM, width - LEFT - right, height - BOTTOM - TOP)
    axes = figure.add_axes(
        (box[0] / whole_width, box[1] / whole_height, box[2] / whole_width, box[3] / whole_height)
    )
    panel.draw(axes, evidence)
    return axes


def svg(panel: Panel, evidence: Evidence) -> str:
    """A panel as an `<svg>` whose text and axes have the colour of the page's text."""
    from matplotlib.figure import Figure

    with picture_style(INK, panel.name):
        figure = Figure(figsize=size(panel, evidence))
        place(figure, panel, evidence, 0.0, 0.0).patch.set_alpha(0.0)
        text = figure_bytes(figure, "svg", transparent=True, metadata={"Date": None}).decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return text.replace(INK, "currentColor")


def png(evidence: Evidence, baseline: Evidence | None = None) -> bytes:
    """All panels and the table in one picture, on white."""
    from matplotlib.figure import Figure

    rows = _panel_rows(evidence)
    heights = [max(size(panel, evidence)[1] for panel in row) + HEAD for row in rows]
    table = 0.26 * (len(evidence.rows) + 2)
    whole = COLUMNS * WIDTH, sum(heights) + table + 0.5
    with picture_style("#202020"):
        figure = Figure(figsize=whole)
        figure.text(LEFT / whole[0], 1.0 - 0.32 / whole[1], evidence.title, weight="bold", size=13)
        top = whole[1] - 0.5
        for row, height in zip(rows, heights, strict=True):
            for k, panel in enumerate(row):
                y = top - HEAD - size(panel, evidence)[1]
                place(figure, panel, evidence, k * WIDTH, y).set_title(panel.title)
            top -= height
        axes = figure.add_axes((LEFT / whole[0], 0.0, 0.62, table / whole[1]))
        _draw_table(axes, evidence, baseline)
        return figure_bytes(figure, "png", dpi=DPI, metadata={"Software": None})


def _panel_rows(evidence: Evidence) -> list[list[Panel]]:
    """The panels, three in a row, or one that is wide."""
    rows: list[list[Panel]] = []
    for panel in of(evidence):
        if is_wide(panel, evidence) or not rows or len(rows[-1]) == COLUMNS or is_wide(rows[-1][0], evidence):
            rows.append([])
        rows[-1].append(panel)
    return rows


def _draw_table(axes: Any, evidence: Evidence, baseline: Evidence | None) -> None:
    axes.set_axis_off()
    beside = dict(baseline.rows) if baseline else {}
    rows = [[name, text, *([beside.get(name, "")] if baseline else [])] for name, text in evidence.rows]
    head = ["", "this job", "raster"] if baseline else None
    widths = [0.22, 0.78] if evidence.layers else None
    style: dict[str, Any] = {"loc": "center", "cellLoc": "left", "edges": "horizontal", "colWidths": widths}
    table = axes.table(rows, colLabels=head, **style)
    table.auto_set_font_size(False)
    table.set_fontsize(8.5)
    table.scale(1.0, 1.25)
    for cell in table.get_celld().values():
        cell.set_linewidth(0.4)
        cell.set_edgecolor("#c0c0c0")
