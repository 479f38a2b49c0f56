"""The box around what is drawn, on the page and beside it: by views ever closer to each of its sides.

A view of `WIDE` x `WIDE` pixels finds a side to one pixel; strips of `THIN` pixels across it then divide the
rest by `THIN` / 3, twice. A side that is known to `CLOSE` of the box is taken for the roundest number there.

It runs in a child process within limits.
"""

from collections.abc import Mapping, Sequence
from math import ceil, log10
from typing import Any

import numpy as np

from .document import write_document
from .drawing import make_renderer
from .rendering import Renderer, View

WIDE, THIN = 1024, 96
REACHES = (512.0, 64.0, 8.0, 1.0)
"""Widths of the views, in pages: what lies up to 256 pages away is found."""
VIEWS = 8
"""Views of what is drawn that follow one another at most; each is closer."""
CLOSE = 4e-6
Interval = tuple[float, float]


def boxed(file: str, data: bytes, dpi: float, size: list[float], fonts: Mapping[str, str]) -> Any:
    """x, y, width, height [px] of the box; None where nothing is drawn."""
    renderer = make_renderer(file, write_document(file, data, dpi), size, dpi, fonts)
    renderer.has_ground = False
    found = [box for reach in REACHES if (box := _box_within(renderer, _page_window(size, reach)))]
    if not found:
        return None
    close = [(min(box[axis][0] for box in found), max(box[axis][1] for box in found)) for axis in range(2)]
    for _ in range(VIEWS):
        around, inner = close, _box_within(renderer, close)
        if inner is None:
            return None
        close = inner
        if all(_extent(close, axis) > 0.9 * _extent(around, axis) for axis in range(2)):
            break
    sides = [[_close_in(renderer, close, axis, end) for end in range(2)] for axis in range(2)]
    (left, right), (top, bottom) = sides
    return [float(one) for one in (left, top, right - left, bottom - top)]


def _rounded(value: float, precision: float) -> float:
    """The number with the fewest decimals nearby."""
    return round(float(value), max(0, ceil(-log10(precision))))


def _extent(box: list[Interval], axis: int) -> float:
    return box[axis][1] - box[axis][0]


def _page_window(size: list[float], reach: float) -> list[Interval]:
    return [(0.5 * side * (1.0 - reach), 0.5 * side * (1.0 + reach)) for side in size]


def _box_within(renderer: Renderer, window: list[Interval]) -> list[Interval] | None:
    """The pixels that are not empty, and one around them, along x and y; None where all are."""
    opaque = _opaque_pixels(renderer, window, (WIDE, WIDE))
    if not opaque.any():
        return None
    return [_around(np.flatnonzero(opaque.any(axis=axis)), window[axis], WIDE) for axis in range(2)]


def _around(places: np.ndarray, interval: Interval, count: int) -> Interval:
    step = (interval[1] - interval[0]) / count
    return interval[0] + (places[0] - 1) * step, interval[0] + (places[-1] + 2) * step


def _close_in(renderer: Renderer, box: list[Interval], axis: int, end: int) -> float:
    """A side of the box: the lower end along an axis, or the upper one."""
    extent = _extent(box, axis)
    inner = box[axis][0] + 4.0 * extent / WIDE if end == 0 else box[axis][1] - 4.0 * extent / WIDE
    window, shape = list(box), [WIDE, WIDE]
    window[axis] = (box[axis][0], inner) if end == 0 else (inner, box[axis][1])
    shape[axis] = THIN
    while window[axis][1] - window[axis][0] > CLOSE * extent:
        opaque = _opaque_pixels(renderer, window, shape)
        lines = np.flatnonzero(opaque.any(axis=axis))
        if not len(lines):
            break
        last = lines[:1] if end == 0 else lines[-1:]
        beside = np.flatnonzero(opaque.take(last[0], axis=1 - axis))
        window[axis] = _around(last, window[axis], THIN)
        window[1 - axis] = _around(beside, window[1 - axis], WIDE)
    return _rounded(0.5 * sum(window[axis]), 0.5 * CLOSE * extent)


def _opaque_pixels(renderer: Renderer, window: list[Interval], shape: Sequence[int]) -> np.ndarray:
    """True (rows, columns) where something is drawn; shape: columns and rows."""
    (left, right), (top, bottom) = window
    scale = shape[0] / (right - left), shape[1] / (bottom - top)
    return renderer.pixels(View(shape[1], shape[0], scale, left, top))[..., 3] > 0
