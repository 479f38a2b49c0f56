"""The picture of an SVG file from the parent's side: page, box and cells, which a child process reads.

Decisions 0172.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, pip_line

from ..targets.placement import Placement
from . import box, drawing
from .fonts import font_files

LIBRARIES = {"resvg_py": "resvg-py", "PIL": "Pillow", "fontTools": "fonttools"}
LOADS = ("resvg_py", "PIL.PngImagePlugin")
SECONDS, SECONDS_A_SHAPE, SECONDS_A_PIXEL, SECONDS_OF_FILTERS = 3.0, 2e-3, 1e-6, 20.0
"""Computing time [s] of a picture beyond that of any file of its size."""
SPACE, SPACE_A_CELL = 1 << 30, 64
"""Address space [bytes] of a picture beyond that of any file of its size: pixels of parts drawn apart."""
ABORTED = "was ended by SIGABRT"
"""Of resvg where there is no memory."""
NOMINAL = 100.0
"""Width and height [px] of a page without, for its percentages."""
PRECISION, MOST_OFF = 2.0**-23, 0.1
"""Of coordinates in resvg, relative, and cells by which they may be off."""
PARTS = 25
"""Tiles that a part drawn apart may reach over."""
Window = tuple[float, float, float, float]
"""x, y, width and height of a part of a page [px]."""


@dataclass(frozen=True, eq=False)
class Picture:
    """An SVG file with the fonts of its text, by name; px are 1/dpi inch. facts: `drawing.examined`."""

    file: str
    data: bytes
    dpi: float
    fonts: Mapping[str, bytes]
    facts: Mapping[str, Any]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the page [px], `NOMINAL` where the file has none."""
        width, height = (NOMINAL if side is None else side for side in self.facts["size"])
        return width, height

    def with_page(self) -> "Picture":
        """With a page that ends where the shapes do, where the file has no size.

        Raises `UserError` where nothing is drawn right of the origin and below it.
        """
        if None not in self.facts["size"]:
            return self
        left, top, width, height = self.find_box()
        ends = left + width, top + height
        size = [of if side is None else side for side, of in zip(self.facts["size"], ends, strict=True)]
        if min(size) <= 0.0:
            raise UserError(f"'{self.file}': nothing is on its page, which has no size; give it a viewBox")
        return replace(self, facts={**self.facts, "size": size})

    def find_box(self) -> Window:
        """The box around what is drawn. Raises `UserError` where nothing is."""
        found = self._read(box.boxed, 10_000_000, 0)
        if found is None:
            raise UserError(f"'{self.file}': there is nothing to draw: no shape has a fill or a stroke")
        return found[0], found[1], found[2], found[3]

    def draw_cells(self, window: Window, scale: float, place: Placement) -> tuple[np.ndarray, list[str]]:
        """Darkness (rows, columns), bottom row first, of a window in its place, and remarks.

        scale: cells to a px. Raises `UserError` for what cannot be drawn as it is meant.
        """
        if (off := self.facts["far"] * max(self.size) * scale * PRECISION) > MOST_OFF:
            raise UserError(
                f"'{self.file}': its viewBox is so far from 0 that coordinates are off by {off:.2g} cells;"
                " move the drawing to 0, or give larger cells"
            )
        cells = [place.rows, place.columns]
        kinds = [self.facts[one] for one in ("is_layered", "is_patterned", "is_filtered")]
        fine, side = drawing.tile_sides(self.file, cells, *kinds)
        parts = PARTS if self.facts["is_layered"] and fine * max(cells) > side else 1
        above = place.rows - place.below - place.height
        found = self._read(
            drawing.drawn,
            place.rows * place.columns * fine**2 * parts,
            place.rows * place.columns,
            cells=cells,
            scale=scale,
            corner=[window[0] - place.left / scale, window[1] - above / scale],
            window=list(window),
        )
        remarks: list[str] = found["remarks"]
        if remarks and not found["dark"].any():
            raise UserError(f"'{self.file}': there is nothing to draw: {'; '.join(remarks)}")
        return found["dark"][::-1].astype(float), remarks

    def _read(self, reader: Callable[..., Any], pixels: int, count: int, **options: Any) -> Any:
        """What a reader returns that draws so many pixels, and returns `count` cells."""
        seconds = SECONDS + SECONDS_A_SHAPE * self.facts["shapes"] + SECONDS_A_PIXEL * pixels
        if self.facts["is_filtered"]:
            seconds += SECONDS_OF_FILTERS
        with self._font_paths() as fonts, _with_cure(self.file):
            return bounded_read(
                reader,
                self.file,
                self.data,
                LOADS,
                seconds,
                SPACE + SPACE_A_CELL * count,
                dpi=self.dpi,
                size=list(self.size),
                fonts=fonts,
                **options,
            )

    @contextmanager
    def _font_paths(self) -> Iterator[dict[str, str]]:
        with font_files(self.fonts) as paths:
            yield dict(zip(self.fonts, paths, strict=True))


@contextmanager
def _with_cure(file: str) -> Iterator[None]:
    """What a bounded reading says of a damaged file, in words about a drawing."""
    try:
        yield
    except UserError as error:
        why, mark, _ = str(error).partition("; the file is damaged")
        if not mark:
            raise
        if ABORTED in why:
            why = f"'{file}': takes more memory than a drawing may"
        raise UserError(f"{why}; simplify the drawing, or give larger cells") from None


def examine_picture(file: str, data: bytes, dpi: float, fonts: Mapping[str, bytes]) -> Picture:
    """The picture of a file. Raises `UserError` without its libraries, and for what cannot be drawn."""
    for module, name in LIBRARIES.items():
        if find_spec(module) is None:
            raise UserError(f"'{file}': needs {name}: {pip_line('svg')}")
    facts = bounded_read(drawing.examined, file, data, LOADS, dpi=dpi)
    return Picture(file, data, dpi, fonts, facts)
