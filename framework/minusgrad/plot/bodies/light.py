"""Many points as light: a pixel is the brighter the more points it holds."""

import numpy as np
from scipy.ndimage import gaussian_filter

BLUR = 0.8
"""Width of a point in pixels."""
FAINT = 0.15
"""Points in a pixel from which on brightness grows as the logarithm."""
BRIGHTEST = 99.9
"""This percentile of the pixels with points, in the first picture, has full brightness."""


class Light:
    """Pictures of points between two corners, (2,) each, on black, with one exposure for all.

    width: of the longer side, in pixels; both sides are even.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, width: int):
        self.low, self.high = low, high
        columns, rows = np.maximum(np.round((high - low) / (high - low).max() * width / 2), 1).astype(int) * 2
        self.shape = (int(rows), int(columns))
        self._full = 0.0

    def picture(self, points: np.ndarray, rgb: np.ndarray) -> np.ndarray:
        """The picture (rows, columns, 3), upwards, of points (n, 2) with the colours rgb (n, 3)."""
        place = ((points - self.low) / (self.high - self.low) * self.shape[::-1]).astype(np.int64)
        seen = ((points >= self.low) & (points < self.high)).all(axis=1)
        column, row = place[seen].T
        pixel = row * self.shape[1] + column
        light = np.stack([self._spread(pixel, channel) for channel in rgb[seen].T], axis=-1)
        density = self._spread(pixel, np.ones(len(pixel)))
        if not self._full:
            held = density[density > FAINT / 10]
            self._full = np.log1p(np.percentile(held, BRIGHTEST) / FAINT) if len(held) else 1.0
        bright = np.minimum(np.log1p(density / FAINT) / self._full, 1.0)[..., None]
        colour = light / np.maximum(density, 1e-12)[..., None]
        return np.clip(bright * (colour + (1.0 - colour) * 0.8 * bright**4), 0.0, 1.0)

    def _spread(self, pixel: np.ndarray, weight: np.ndarray) -> np.ndarray:
        rows, columns = self.shape
        counted = np.bincount(pixel, weight, rows * columns).reshape(rows, columns)
        return gaussian_filter(counted, BLUR, mode="constant")
