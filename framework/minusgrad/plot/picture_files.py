"""Picture files: Matplotlib as it is needed, and figures as PNG, SVG or PDF.

The door of all text into pictures: what users wrote is shown as they wrote it. Matplotlib reads text between
two `$` as mathematics, and a mistake in it ends the picture; here only the numbers of axes are mathematics.
Control characters, which no SVG file may have, are shown as a replacement.

Decisions 0095.
"""

import io
import re
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
_UNPRINTABLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


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
    form = path.suffix[1:]
    durable.replace(path, figure_bytes(shown, form, metadata=_NOTHING[form]))
    return path


def figure_bytes(shown: "Figure", form: str, **more: Any) -> bytes:
    """The bytes of a figure in a format, its text taken literally. more: as for Matplotlib's `savefig`."""
    take_literally(shown)
    made = io.BytesIO()
    shown.savefig(made, format=form, **more)
    return made.getvalue()


def draw(shown: "Figure") -> None:
    """Draw a figure into its canvas, its text taken literally."""
    take_literally(shown)
    shown.canvas.draw()


def figure() -> "Figure":
    """An empty figure that no window shows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure()
    FigureCanvasAgg(made)
    return made


def printable(text: str) -> str:
    """The text with a replacement for each control character but the end of a line."""
    return _UNPRINTABLE.sub("\ufffd", text)


def take_literally(figure: "Figure") -> None:
    """Let no text of a figure be read as mathematics, except the numbers of its axes."""
    from matplotlib.text import Text

    numbers = {
        id(label) for axes in figure.axes for axis in axes._axis_map.values() for label in _numbers(axis)
    }
    for text in figure.findobj(Text):
        if id(text) not in numbers:
            text.set_parse_math(False)
            if (shown := printable(text.get_text())) != text.get_text():
                text.set_text(shown)


def _numbers(axis: Any) -> list[Any]:
    """The labels of an axis that Matplotlib writes; none of one whose labels are given."""
    from matplotlib.ticker import LogFormatter, ScalarFormatter

    written = [axis.offsetText]
    for formatter, ticks in (
        (axis.get_major_formatter(), axis.majorTicks),
        (axis.get_minor_formatter(), axis.minorTicks),
    ):
        if isinstance(formatter, (LogFormatter, ScalarFormatter)):
            written += [label for tick in ticks for label in (tick.label1, tick.label2)]
    return written
