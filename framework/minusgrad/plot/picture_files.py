"""Picture files: Matplotlib as it is needed, and figures as PNG, SVG or PDF, for a screen, paper or a talk.

A file says what is written in its picture: `Title` and `Description` are in the metadata of PNG, so that
programs (and tests of pictures that are in the tree) can read its labels and units.

The door of all text into pictures: what users wrote is shown as they wrote it. Matplotlib reads text between
two `$` as mathematics, and a mistake in it ends the picture; here only the numbers of axes are mathematics.
Control characters, which no SVG file may have, are shown as a replacement.

Windows and macOS ignore capitals in names of files, and Windows keeps some names (Microsoft, Naming Files,
Paths,
and Namespaces): `distinct_stems`.

Decisions 0095, 0124, 0140.
"""

import io
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnitError, UserError, pip_line, unknown
from ..files import durable
from ..scene import units
from . import style
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

RESERVED = frozenset({"aux", "con", "nul", "prn", *(f"{p}{n}" for p in ("com", "lpt") for n in range(1, 10))})
"""Names of devices on Windows, whatever follows a dot."""


def distinct_stems(stems: Iterable[str]) -> list[str]:
    """The names in their order, with `_` behind a device's and one that differs by capitals alone."""
    taken: set[str] = {*RESERVED}
    found = []
    for stem in stems:
        while stem.partition(".")[0].lower() in RESERVED or stem.lower() in taken:
            head, dot, rest = stem.partition(".")
            stem = f"{head}_{dot}{rest}"
        taken.add(stem.lower())
        found.append(stem)
    return found


def matplotlib() -> Any:
    """The package. Raises `UserError` where it is not installed."""
    try:
        import matplotlib
        import matplotlib.backends.backend_agg
        import matplotlib.figure
    except ImportError as error:
        raise UserError(f"pictures need matplotlib: {pip_line('plot')}") from error
    return matplotlib


FONTS = {
    "sans": {},
    "serif": {"font.family": ["STIXGeneral", "DejaVu Sans"], "mathtext.fontset": "stix"},
}
"""Families of text by name; that of journals comes with Matplotlib."""
INCH = 0.0254
NARROW = 12e-2 / INCH
"""Pictures narrower than this have the small text of a column."""
WIDTHS = (3e-2 / INCH, 60e-2 / INCH)
RESOLUTIONS = (30, 1200)


@dataclass(frozen=True)
class Paper:
    """What a picture is drawn on.

    dark: light on dark, for a slide or a page. width: of the picture [inch], None for the usual one. dpi:
    dots an inch of PNG (default 150). font: "sans", "serif", or the name of a font that is installed.
    """

    dark: bool = False
    width: float | None = None
    dpi: int | None = None
    font: str = "sans"

    @classmethod
    def of(cls, dark: bool = False, width: str = "", dpi: int | None = None, font: str = "sans") -> "Paper":
        """From what a user writes: width as "8.5 cm". Raises `UserError` for what no picture can have."""
        inches = _inches(width) if width else None
        if dpi is not None and not RESOLUTIONS[0] <= dpi <= RESOLUTIONS[1]:
            least, most = RESOLUTIONS
            raise UserError(
                f"plot: dpi must be from {least} to {most}, got {dpi}; journals ask for 300 to 600"
            )
        if font not in FONTS:
            _installed(font)
        return cls(dark, inches, dpi, font)

    def rc(self) -> AbstractContextManager[None]:
        """Matplotlib's settings of the style, within a context."""
        small = {"font.size": 8, "axes.titlesize": 8, "figure.titlesize": 9}
        font = FONTS.get(self.font, {"font.family": [self.font, "DejaVu Sans"]})
        narrow = small if self.width is not None and self.width < NARROW else {}
        narrow = narrow if self.dpi is None else narrow | {"savefig.dpi": self.dpi}
        return matplotlib().rc_context(style.RC | narrow | font)

    def lay(self, shown: "Figure") -> None:
        """Give a drawn figure its width, heights in proportion, and its colours."""
        if self.width is not None:
            wide, high = shown.get_size_inches()
            share = self.width / wide
            to_scale = any(axes.get_aspect() != "auto" for axes in shown.axes)
            below = _legend_below(shown) if self.width < NARROW else 0.0
            high *= share if to_scale else share**0.65
            shown.set_size_inches(self.width, high + (below + 0.3 if below and to_scale else 0.0))
        if self.dark:
            from .dark import darken

            darken(shown)


def _legend_below(shown: "Figure") -> float:
    """Put the one legend beside the axes of a figure below them; returns the height that it needs there."""
    legends = [found for axes in shown.axes if (found := axes.get_legend()) is not None]
    if len(legends) != 1 or legends[0].get_bbox_to_anchor().width:
        return 0.0
    (legend,) = legends
    labels = [text.get_text() for text in legend.get_texts()]
    title = legend.get_title().get_text() or None
    handles: Any = legend.legend_handles
    legend.remove()
    columns = min(len(labels), 3)
    pen: dict[str, Any] = {"handlelength": 1.5, "columnspacing": 1.2, "title": title, "ncols": columns}
    shown.legend(handles, labels, loc="outside lower center", **pen)
    return 0.17 * (-(-len(labels) // columns) + bool(title)) + 0.1


def _inches(width: str) -> float:
    try:
        number, unit = units.parse_quantity(width)
        if unit.dimension != units.parse_unit("m").dimension:
            raise UnitError("no length")
    except UnitError:
        raise UserError(f"plot: width is no length, got {width!r}; give one like '8.5 cm'") from None
    inches = number * unit.factor / INCH
    if not WIDTHS[0] <= inches <= WIDTHS[1]:
        raise UserError(
            f"plot: width must be from 3 cm to 60 cm, got {width!r}; a column is about 8.5 cm wide"
        )
    return inches


def _installed(font: str) -> None:
    matplotlib()
    from matplotlib import font_manager

    names = sorted({found.name for found in font_manager.fontManager.ttflist})
    if font not in names:
        raise UserError(f"plot: {unknown('font', font, [*FONTS, *names])}")


def drawn(path: Path, draw: "Callable[[Figure], None]", title: str, paper: Paper | None = None) -> Path:
    """Write a figure in the format that the path's suffix names, one of `FORMS`; returns its path."""
    paper = paper or Paper()
    shown = figure()
    draw(shown)
    if title:
        shown.suptitle(title, color=INK if shown.get_facecolor()[0] else "white")
    paper.lay(shown)
    form = path.suffix[1:]
    more = {} if paper.dpi is None else {"dpi": paper.dpi}
    durable.replace(path, figure_bytes(shown, form, metadata=_facts(shown, form, title), **more))
    return path


def png(shown: "Figure", title: str, heading: bool = False) -> bytes:
    """A figure as PNG with its title and words in its metadata; heading: the title is drawn above it."""
    if heading and title:
        shown.suptitle(title, color=INK if shown.get_facecolor()[0] else "white")
    return figure_bytes(shown, "png", metadata=_facts(shown, "png", title))


def _facts(shown: "Figure", form: str, title: str) -> dict[str, Any]:
    """The metadata of a picture: of PNG its title and all that is written in it, a line each."""
    if form != "png":
        return _NOTHING[form]
    take_literally(shown)
    return _NOTHING[form] | {"Title": printable(title), "Description": "\n".join(words(shown))}


def words(shown: "Figure") -> list[str]:
    """Titles, labels, names and legends of a figure in the order of drawing, without the numbers of axes."""
    from matplotlib.text import Text

    texts = shown.findobj(Text)
    numbers = {id(label) for axes in shown.axes for axis in axes._axis_map.values() for label in _ticks(axis)}
    written = [text.get_text().replace("\n", " ") for text in texts if id(text) not in numbers]
    return list(dict.fromkeys(text for text in written if text.strip()))


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

    texts = figure.findobj(Text)  # which makes the ticks
    numbers = {
        id(label) for axes in figure.axes for axis in axes._axis_map.values() for label in _numbers(axis)
    }
    for text in texts:
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


def _ticks(axis: Any) -> list[Any]:
    """All labels of the ticks of an axis."""
    ticks = [*axis.majorTicks, *axis.minorTicks]
    return [axis.offsetText, *(label for tick in ticks for label in (tick.label1, tick.label2))]
