"""The forum post's random curve, which wanders around the middle of the canvas."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import Record, StateContext, UserError, memory, quantities

from ..canvas import Canvas, Length
from .curve import POINT_BYTES, Curve


class Wander(Record):
    """The forum post's random curve: a spiral whose radius wanders.

        r = cumsum(randint(-5, 5)),  theta = cumsum(rand) 5 deg,  x = r cos theta,  y = r sin theta

    each axis scaled to `extent`, and its mean put at half of rows (or columns) times pixel. The draws are of
    NumPy's legacy `RandomState(seed)`, whose stream is promised never to change, with the scene's seed.
    """

    kind: Literal["wander"] = "wander"
    points: Annotated[int, Field(ge=2), memory.fits(POINT_BYTES)]
    """Number of points of the path."""
    extent: Length
    """Size of the curve along x and y."""

    def curve(self, canvas: Canvas, target: np.ndarray, context: StateContext) -> Curve:
        extent, n = quantities(self, context.units)["extent"], self.points
        low, high = context.seed % 2**32, context.seed // 2**32
        legacy = np.random.RandomState([low, high] if high else low)
        r = np.cumsum(legacy.randint(-5, 5, size=n))
        theta = np.cumsum(legacy.rand(n)) * 5 / 180.0 * np.pi
        points = r[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
        if not np.ptp(points, axis=0).all():
            raise UserError("path: the curve does not leave its line, or its point; take more points")
        points = points / np.ptp(points, axis=0) * extent
        middle = np.array([canvas.columns, canvas.rows]) / 2.0 * canvas.pixel
        return Curve(points - np.mean(points, axis=0) + middle)
