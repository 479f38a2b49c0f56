"""A disc and a heart of the same area, white on black: python heart.py writes disc.png and heart.png.

    disc    x^2 + y^2 < r^2
    heart   (x^2 + y^2 - a^2)^3 < 2.2 a x^2 y^3

Their edges are smooth: the light is averaged over 8 x 8 points of a pixel, and over neighbouring pixels.
"""

from pathlib import Path

import numpy as np
from PIL import Image

SIZE, FINE = 128, 8
RADIUS = 0.22
"""Of the disc, in widths of the picture."""


def heart(x: np.ndarray, y: np.ndarray, a: float) -> np.ndarray:
    """True within; y points up."""
    return (x**2 + y**2 - a**2) ** 3 < 2.2 * a * x**2 * y**3


def smooth(inside: np.ndarray) -> np.ndarray:
    """Light (SIZE, SIZE) of points (SIZE FINE, SIZE FINE): means over pixels, then binomial weights."""
    light = inside.reshape(SIZE, FINE, SIZE, FINE).mean(axis=(1, 3))
    for axis in (0, 1):
        for _ in range(8):
            light = 0.5 * light + 0.25 * (np.roll(light, 1, axis) + np.roll(light, -1, axis))
    return light


def pictures() -> dict[str, np.ndarray]:
    """Light of both, (SIZE, SIZE) in [0, 1], the top row first."""
    places = (np.arange(SIZE * FINE) + 0.5) / (SIZE * FINE) - 0.5
    x, y = places[None, :], -places[:, None]
    area = np.pi * RADIUS**2
    low, high = 0.1, 0.4
    for _ in range(60):
        a = 0.5 * (low + high)
        low, high = (a, high) if heart(x, y + 0.03, a).mean() < area else (low, a)
    return {"disc": smooth(x**2 + y**2 < RADIUS**2), "heart": smooth(heart(x, y + 0.03, high))}


if __name__ == "__main__":
    for name, light in pictures().items():
        grey = np.round(255.0 * light).astype(np.uint8)
        Image.fromarray(grey).save(Path(__file__).with_name(f"{name}.png"), optimize=True)
