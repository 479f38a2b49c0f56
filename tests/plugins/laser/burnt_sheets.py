"""Photos of burnt sheets by a model that shares nothing with the tool: stamps of a spot, a camera, noise.

The spot is stamped along each stroke, each time that it moved by an eighth of its smaller diameter; what has
more than the threshold is dark, with a soft edge; a camera looks at it from aside.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from math import cos, erf, pi, sin
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

RIM = 1e-3
"""Around the places of a job, on the cells that are computed [m]."""


@dataclass(frozen=True)
class Hidden:
    """What a photo hides: waists [m], threshold [J/m^2] at `reference` [W/m^2], exponent, latency [s]."""

    waists: tuple[float, float] = (30e-6, 75e-6)
    threshold: float = 1.1e5
    exponent: float = 1.0
    latency: float = 1.5e-4
    reference: float = 1e9
    softness: float = 0.08
    """Of the edge, in logarithms of the dose."""


def stamped_dose(
    strokes: Iterable[Any], hidden: Hidden, cell: float, size: tuple[float, float], rough: float = 0.0
) -> np.ndarray:
    """Dose over the threshold (rows, columns), cell (0, 0) at (-RIM, -RIM) of the job, row 0 at the bottom.

    rough: deviation of its logarithm, as grain of a material has it, over about 25 um.
    """
    dose = np.zeros((int((size[1] + 2 * RIM) / cell) + 1, int((size[0] + 2 * RIM) / cell) + 1), np.float32)
    a, b = hidden.waists
    n = hidden.exponent
    reach = [int(2.6 * w / np.sqrt(n) / cell) + 1 for w in hidden.waists]
    for stroke in strokes:
        (x0, y0), (x1, y1) = stroke.start, stroke.end
        length = np.hypot(x1 - x0, y1 - y0)
        count = max(1, int(np.ceil(length / (0.25 * min(a, b)))))
        rate = hidden.reference * (2.0 * stroke.power / (pi * a * b) / hidden.reference) ** n
        each = rate * length / count / stroke.speed / hidden.threshold
        late = stroke.speed * hidden.latency / length
        for k in range(count):
            part = (k + 0.5) / count + late
            x, y = x0 + part * (x1 - x0) + RIM, y0 + part * (y1 - y0) + RIM
            column, row = round(x / cell), round(y / cell)
            columns = np.arange(column - reach[0], column + reach[0] + 1)
            rows = np.arange(row - reach[1], row + reach[1] + 1)
            ex = np.exp(-2.0 * n * (columns * cell - x) ** 2 / a**2)
            ey = each * np.exp(-2.0 * n * (rows * cell - y) ** 2 / b**2)
            dose[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] += np.outer(ey, ex).astype(np.float32)
    if rough:
        grain = ndimage.gaussian_filter(
            np.random.default_rng(7).standard_normal(dose.shape, np.float32), 25e-6 / cell
        )
        dose *= np.exp(rough / grain.std() * grain)
    return dose


def darkness(log_dose: np.ndarray, softness: float) -> np.ndarray:
    """Burnt part where the logarithm of the dose over the threshold is given: one half at 0."""
    steps = np.linspace(-4.0, 4.0, 4001)
    table = np.array([0.5 + 0.5 * erf(z) for z in steps])
    return np.interp(log_dose / softness, steps, table)


@dataclass(frozen=True)
class Camera:
    """Where a camera stands: pixels (rows, columns), pixels a metre, angles [rad], a tilt, blur [pixels]."""

    shape: tuple[int, int] = (2200, 3300)
    scale: float = 7.2e4
    turn: float = 0.05
    tilt: tuple[float, float] = (0.08, -0.05)
    """Change of the scale over the width and the height of the picture."""
    blur: float = 1.0
    noise: float = 0.01
    bend: float = 0.0
    """What its lens adds to distances from the middle at half of the width, in parts of them."""
    shade: float = 0.25
    """How much darker one corner is than the other."""
    paper: float = 0.85
    ink: float = 0.15

    def photo(
        self,
        dose: np.ndarray,
        softness: float,
        cell: float,
        middle: tuple[float, float],
        seed: int = 0,
        fine: int = 4,
    ) -> np.ndarray:
        """Light (rows, columns) in 0 to 1, row 0 at the top, of a dose; `middle` is what it looks at.

        A pixel is the mean of fine x fine points, at which the logarithm of the dose is interpolated.
        """
        logs = np.log(np.maximum(dose, 1e-4)).astype(np.float32)
        seen = np.zeros(self.shape)
        offsets = (np.arange(fine) + 0.5) / fine - 0.5
        for up in offsets:
            for right in offsets:
                places = self._places(up, right, middle)
                at = ndimage.map_coordinates(logs, (places + RIM) / cell, order=1, mode="constant", cval=-9.0)
                seen += darkness(at, softness) / fine**2
        seen = ndimage.gaussian_filter(seen, self.blur)
        light = self.paper + (self.ink - self.paper) * seen
        rows, columns = np.indices(self.shape) / np.array(self.shape)[:, None, None]
        light *= 1.0 - self.shade * (columns + 1.0 - rows) / 2.0
        return light + np.random.default_rng(seed).normal(0.0, self.noise, self.shape)

    def _places(self, up: float, right: float, middle: tuple[float, float]) -> np.ndarray:
        """y and x [m] that each pixel sees, at a place within it."""
        rows, columns = np.indices(self.shape, dtype=np.float32)
        v, u = (self.shape[0] - 1) / 2.0 - rows + up, columns - (self.shape[1] - 1) / 2.0 + right
        bent = 1.0 + self.bend * (u**2 + v**2) / (0.5 * self.shape[1]) ** 2
        u, v = bent * u, bent * v
        depth = 1.0 + self.tilt[0] * u / self.shape[1] + self.tilt[1] * v / self.shape[0]
        p, q = u / depth / self.scale, v / depth / self.scale
        x = middle[0] + cos(self.turn) * p - sin(self.turn) * q
        y = middle[1] + sin(self.turn) * p + cos(self.turn) * q
        return np.stack([y, x])


def encoded(light: np.ndarray, kind: str = "JPEG") -> bytes:
    """The bytes of a picture file."""
    out = BytesIO()
    picture = Image.fromarray(np.clip(np.rint(255.0 * light), 0, 255).astype(np.uint8))
    picture.save(out, kind, **({"quality": 92} if kind == "JPEG" else {}))
    return out.getvalue()
