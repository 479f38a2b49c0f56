"""Fay's butterfly, the target of the forum post."""

from typing import Literal

import numpy as np

from minusgrad.plugin import StateContext

from .target import Target


class Butterfly(Target):
    """Fay's butterfly in the form of the forum post, filled.

        exp(sin t) - 2 cos 4t + sin^5((2t - pi) / 24) > r / 20000

    r is the squared distance from cell (rows // 2, columns // 2) and t the angle there, in cells of a canvas
    of 512 x 512; on others all lengths go with the shorter side. T. H. Fay (1989), Am. Math. Monthly 96, 442.
    """

    kind: Literal["butterfly"] = "butterfly"

    @property
    def source(self) -> str:
        return "the butterfly"

    def values(self, rows: int, columns: int, pixel: float, context: StateContext) -> np.ndarray:
        dy, dx = np.arange(rows)[:, None] - rows // 2, np.arange(columns)[None, :] - columns // 2
        r, t = dx**2 + dy**2, np.arctan2(dy, dx)
        rim = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24.0) ** 5
        return (rim > r / (20000 * (min(rows, columns) / 512) ** 2)).astype(float)
