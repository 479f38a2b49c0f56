"""The darkness of the cells under a page, from pixels in tiles.

    dark = alpha (1 - (0.299 R + 0.587 G + 0.114 B))

A cell is 12 x 12 to 4 x 4 pixels, each of which resvg samples at 4 x 4 places. Filters work on pixels,
and patterns have whole ones, so with them a cell is one pixel; with filters the picture is one tile.

The functions run in a child process within limits.

Decisions 0172.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

from .document import Written, write_document
from .fonts import NONE, read_families
from .rendering import Renderer, View
from .verdicts import judge_warnings, shorten_remarks

FINE, PIXELS = (12, 8, 4), 4_000_000
"""Pixels along each side of a cell: the first with which a picture has at most so many, else the last."""
TILE, PART_OF_LAYERED, FILTERED = 2048, 1024, 4096
"""Pixels along a side of a tile; of a part of a larger picture with layers, each on up to 25 tiles; with
filters, which are drawn in one piece.
"""


def examined(file: str, data: bytes, dpi: float) -> dict[str, Any]:
    """The page of a document [px], its `shapes`, and what it takes to draw it."""
    document = write_document(file, data, dpi)
    page = document.page
    return {
        "size": [page.width, page.height],
        "is_sized": page.is_sized,
        "far": page.far,
        "shapes": document.shapes,
        "is_layered": document.is_layered,
        "is_patterned": document.is_patterned,
        "is_filtered": document.is_filtered,
    }


def drawn(
    file: str,
    data: bytes,
    dpi: float,
    size: Sequence[float],
    cells: Sequence[int],
    scale: float,
    corner: Sequence[float],
    window: Sequence[float],
    fonts: Mapping[str, str],
) -> dict[str, Any]:
    """`dark` (rows, columns), row 0 at the top, and `remarks`.

    size: of the page [px]. cells: rows and columns. scale: cells to a px. corner: x and y of
    the corner of the canvas on the page [px]. window: x, y, width and height of what is drawn [px]. fonts:
    names and paths. Raises `UserError` for what resvg cannot draw as it is meant.
    """
    document = write_document(file, data, dpi)
    renderer = make_renderer(file, document, size, dpi, fonts)
    fine, side = tile_sides(file, cells, document.is_layered, document.is_patterned, document.is_filtered)
    rows, columns = cells
    view = View(rows * fine, columns * fine, (scale * fine, scale * fine), corner[0], corner[1])
    dark = np.zeros((rows, columns), np.float32)
    for row, column, tile in view.tiles(side):
        mean = _mean_darkness(renderer.pixels(tile), tile, window, fine)
        dark[row // fine : row // fine + len(mean), column // fine : column // fine + mean.shape[1]] = mean
    if missing := renderer.families.missing(list(renderer.warnings)):
        raise missing_font(file, document, missing[0], renderer.families.names)
    remarks = shorten_remarks(file, document.remarks) + judge_warnings(file, data, renderer.warnings)
    return {"dark": dark, "remarks": remarks}


def tile_sides(
    file: str, cells: Sequence[int], is_layered: bool, is_patterned: bool, is_filtered: bool
) -> tuple[int, int]:
    """Pixels along each side of a cell and of a tile, for so many rows and columns of cells.

    Raises `UserError` for filters on a larger picture than a tile.
    """
    if is_filtered:
        if max(cells) > FILTERED:
            raise UserError(
                f"'{file}': filters work on cells, {FILTERED} x {FILTERED} at most, got {cells[1]} x"
                f" {cells[0]}; give larger cells, or remove the filters"
            )
        return 1, FILTERED
    if is_layered or is_patterned:
        fine = 1 if is_patterned else FINE[-1]
        return fine, TILE if fine * max(cells) <= TILE or not is_layered else PART_OF_LAYERED
    fine = next((one for one in FINE if one**2 * cells[0] * cells[1] <= PIXELS), FINE[-1])
    return fine, TILE - TILE % fine


def make_renderer(
    file: str, document: Written, size: Sequence[float], dpi: float, fonts: Mapping[str, str]
) -> Renderer:
    """The renderer of a page. Raises `UserError` for text whose font is not given."""
    width, height = size
    page = Renderer(file, document, (width, height), dpi)
    if not document.text or not fonts:
        return page
    families, paths = read_families(list(fonts), list(fonts.values())), list(fonts.values())
    probe = Renderer(file, document, (width, height), dpi, paths, families.without_serif())
    probe.pixels(View(1, 1, (1.0 / width, 1.0 / height), 0.0, 0.0))
    if missing := families.missing(list(probe.warnings)):
        raise missing_font(file, document, missing[0], families.names)
    return Renderer(file, document, (width, height), dpi, paths, families)


def missing_font(file: str, document: Written, wanted: str, names: Sequence[str]) -> UserError:
    """Of text whose font is not among those given; wanted: its family, as the file names it."""
    family = "" if wanted.strip('"') == NONE else f" of the family {wanted}"
    given = ", ".join(f"'{name}'" for name in names) or "none"
    return UserError(
        f"'{file}':{document.text}: element <text>: needs a font{family}, got {given}; give its file by fonts"
        " (--font), or convert text to paths"
    )


def _mean_darkness(pixels: np.ndarray, view: View, window: Sequence[float], fine: int) -> np.ndarray:
    """The darkness of cells of fine x fine pixels, as far as they lie within the window."""
    found = np.zeros((view.rows // fine, view.columns // fine), np.float32)
    part = _window_part(view.columns, view.x, view.scale[0], window[0], window[2])
    parts = _window_part(view.rows, view.y, view.scale[1], window[1], window[3])
    step = 64 * fine
    for row in range(0, view.rows, step):
        some = pixels[row : row + step].astype(np.float32)
        alpha = some[..., 3] / 255.0
        dark = alpha * (1.0 - some[..., :3] @ np.array([0.299, 0.587, 0.114], np.float32) / 255.0)
        within = parts[row : row + step, None] * part
        if within.min() < 1.0:  # a pixel at the rim covers no more of itself than lies within
            dark *= np.where(alpha > within, within / np.maximum(alpha, 1e-9), 1.0)
        cells = dark.reshape(-1, fine, view.columns // fine, fine).mean(axis=(1, 3))
        found[row // fine : row // fine + len(cells)] = cells
    return found


def _window_part(count: int, first: float, scale: float, low: float, extent: float) -> np.ndarray:
    """The part of each of `count` pixels, the first at `first`, that lies in low .. low + extent."""
    edges = first + np.arange(count + 1) / scale
    inside = np.clip(edges, low, low + extent)
    return np.clip((np.diff(inside) * scale), 0.0, 1.0).astype(np.float32)
