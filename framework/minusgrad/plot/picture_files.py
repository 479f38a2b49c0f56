"""Picture files: Matplotlib as it is needed, and figures as PNG, SVG or PDF."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError, pip_line
from ..files import durable
from .style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FORMS = ("png", "svg", "pdf")
_NOTHING: dict[str, Any] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata by which files of equal pictures would differ."""


def matplotlib() -> Any:
    """The package. Raises `UserError` where it is not installed."""
    try:
        import matplotlib
        import matplotlib.backends.backend_agg
        import matplotlib.figure
    except ImportError as error:
        raise UserError(f"pictures need matplotlib: {pip_line('plot')}") from error
    return matplotlib


def drawn(path: Path, draw: "Callable[[Figure], None]", title: str) -> Path:
    """Write a figure in the format that the path's suffix names, one of `FORMS`; returns its path."""
    shown = figure()
    draw(shown)
    if title:
        shown.suptitle(title, color=INK if shown.get_facecolor()[0] else "white")
    made, form = io.BytesIO(), path.suffix[1:]
    shown.savefig(made, format=form, metadata=_NOTHING[form])
    durable.replace(path, made.getvalue())
    return path


def figure() -> "Figure":
    """An empty figure that no window shows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure()
    FigureCanvasAgg(made)
    return made
