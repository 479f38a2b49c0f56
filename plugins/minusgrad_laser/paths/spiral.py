"""Archimedes' spiral, from the middle of the field outwards."""

from typing import Literal

import numpy as np

from minusgrad.plugin import Record, StateContext, memory, quantities

from ..canvas import Canvas, Length
from .curve import COARSER, POINT_BYTES, Curve, Margin, drawn_within, room


class Spiral(Record):
    """Archimedes' spiral from the middle of the field outwards: r = pitch phi / (2 pi), up to `radius`.

    Points are `spacing` (default: the pitch) apart along the curve, whose length to phi is
    s = pitch / (4 pi) (phi sqrt(1 + phi^2) + asinh phi). Without a radius: as far as the field less `margin`
    allows.
    """

    kind: Literal["spiral"] = "spiral"
    pitch: Length
    """Distance of the turns."""
    spacing: Length | None = None
    """Distance of points along the curve (default: the pitch)."""
    radius: Length | None = None
    """Radius of the spiral (default: as far as the field less the margin allows)."""
    margin: Margin = 0.0
    """Margin of the field that is left free, where no radius is given."""

    gaps: bool = False
    """Travel, with the laser off, where the target is at most 1/2; false: draw all along."""

    def curve(self, canvas: Canvas, target: np.ndarray, context: StateContext) -> Curve:
        own = quantities(self, context.units)
        spacing = own["spacing"] or own["pitch"]
        reach = np.hypot if self.gaps else min  # of the field's sides: to its corners, or to the nearest side
        radius, a = own["radius"] or reach(*room(canvas, own["margin"])) / 2.0, own["pitch"] / (2.0 * np.pi)
        count = int(_spiral_length(radius / a) * a / spacing + 1e-9) + 1
        memory.require(POINT_BYTES * count, f"path: {count} points", COARSER)
        phi = _spiral_angle(np.arange(count) * spacing / a)
        middle = canvas.size / 2.0
        points = middle + a * phi[:, None] * np.stack([np.cos(phi), np.sin(phi)], axis=1)
        return drawn_within(points, target, canvas.pixel) if self.gaps else Curve(points)


def _spiral_length(phi: np.ndarray) -> np.ndarray:
    """Of the spiral r = phi, from 0 to phi."""
    return 0.5 * (phi * np.sqrt(1.0 + phi * phi) + np.arcsinh(phi))


def _spiral_angle(length: np.ndarray) -> np.ndarray:
    """Where the spiral r = phi has come so far: by Newton's method from above, where it cannot overshoot."""
    phi = np.sqrt(2.0 * length)
    for _ in range(20):
        phi = phi - (_spiral_length(phi) - length) / np.sqrt(1.0 + phi * phi)
    return phi
