"""Pixels of a view of a page by resvg, and what it warns of.

The document stands in an outer <svg>, the view, so percentages, masks and gradients are those of the whole
page. resvg prints warnings, which are read from the descriptor of stdout: it runs in a child
process.

Decisions 0172.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from xml.sax.saxutils import quoteattr

import numpy as np

from minusgrad.plugin import UserError, printable

from .document import SVG, XLINK, Written
from .fonts import NOTHING, Families

MOST_LINES = 1000
"""Of warnings, that are read."""
_GROUND = re.compile(r"\bbackground(?:-color)?\s*:\s*([^;]+)")
_WARNING = re.compile(r"(?:Warning|Error) \(in [^)]*\): (.*)")


@dataclass(frozen=True)
class View:
    """Of a page: pixels (rows, columns) of side 1/scale [px], whose upper left corner is at x, y [px]."""

    rows: int
    columns: int
    scale: tuple[float, float]
    x: float
    y: float

    def tiles(self, side: int) -> Iterator[tuple[int, int, "View"]]:
        """First row, first column and view of parts with at most side x side pixels."""
        for row in range(0, self.rows, side):
            for column in range(0, self.columns, side):
                rows, columns = min(side, self.rows - row), min(side, self.columns - column)
                x, y = self.x + column / self.scale[0], self.y + row / self.scale[1]
                yield row, column, View(rows, columns, self.scale, x, y)


@dataclass
class Renderer:
    """The document of a file on a page of some size [px]; `warnings` are collected, each once.

    families: of the fonts in files; dpi: px to an inch. has_ground: with the page's background.
    """

    file: str
    document: Written
    size: tuple[float, float]
    dpi: float
    fonts: Sequence[str] = ()
    families: Families = NOTHING
    warnings: dict[str, None] = field(default_factory=dict)
    has_ground: bool = True

    def pixels(self, view: View) -> np.ndarray:
        """Colour and opacity (rows, columns, 4) as bytes; row 0 at the top."""
        import resvg_py
        from PIL import Image

        with _printed_lines() as lines:
            try:
                data = resvg_py.svg_to_bytes(
                    self._text(view),
                    dpi=self.dpi,
                    font_files=list(self.fonts),
                    font_size=12.0,
                    languages=["en"],
                    log_information=True,
                    skip_system_fonts=True,
                    **self.families.options(),
                )
            except BaseException as error:  # a panic of Rust is no Exception
                if not (isinstance(error, ValueError) or type(error).__name__ == "PanicException"):
                    raise
                words = printable(" ".join(str(error).split()), 200)
                raise UserError(
                    f"'{self.file}': resvg cannot draw it: {words}; simplify the drawing"
                ) from None
            finally:
                self.warnings.update(dict.fromkeys(lines()))
        return np.asarray(Image.open(BytesIO(data), formats=("PNG",)).convert("RGBA"))

    def _text(self, view: View) -> str:
        """The document below the view, whose units are pixels where these are square.

        An empty <text> makes resvg load fonts for embedded files, too.
        """
        x, y = view.scale if view.scale[0] == view.scale[1] else (1.0, 1.0)
        box: tuple[float, ...] = 0.0, 0.0, view.columns, view.rows
        if view.scale[0] != view.scale[1]:
            box = view.x, view.y, view.columns / view.scale[0], view.rows / view.scale[1]
        own = {"overflow": "visible", "viewBox": _numbers(0.0, 0.0, *self.size)} | self.document.attributes
        own |= {"width": _numbers(self.size[0] * x), "height": _numbers(self.size[1] * y)}
        own |= {"x": _numbers((box[0] - view.x) * x), "y": _numbers((box[1] - view.y) * y)}
        ending = "<text/></svg>" if self.document.text else "</svg>"
        return (
            f'<svg xmlns="{SVG}" xmlns:xlink="{XLINK}" width="{view.columns}" height="{view.rows}"'
            f' viewBox="{_numbers(*box)}" preserveAspectRatio="none"{self._ground()}>'
            f"{self.document.whole_text(own)}{ending}"
        )

    def _ground(self) -> str:
        """The background of the page as an attribute of the outer <svg>, where resvg draws it."""
        found = _GROUND.search(self.document.attributes.get("style", ""))
        if self.has_ground and found is None:
            return ""
        colour = found[1].strip() if found is not None and self.has_ground else "none"
        return f" style={quoteattr(f'background-color:{colour}')}"


def _numbers(*values: float) -> str:
    return " ".join(f"{value:.9g}" for value in values)


@contextmanager
def _printed_lines() -> Iterator[Callable[[], list[str]]]:
    """Where what is printed to descriptor 1 goes meanwhile; called, it gives the warnings in it."""

    def lines() -> list[str]:
        printed.seek(0)
        texts = (line.decode("utf-8", "replace").rstrip() for line in islice(printed, MOST_LINES))
        return [found[1] if (found := _WARNING.match(text)) else text for text in texts]

    sys.stdout.flush()
    with tempfile.TemporaryFile() as printed:
        kept = os.dup(1)
        os.dup2(printed.fileno(), 1)
        try:
            yield lines
        finally:
            os.dup2(kept, 1)
            os.close(kept)
