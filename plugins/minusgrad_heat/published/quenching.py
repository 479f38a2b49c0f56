"""Published values of heat flow in time: a bar that is quenched."""

from typing import Any

import numpy as np
from scipy.optimize import brentq

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value


def _slab(biot: float, fourier: float, x: float) -> float:
    """(T - T_e) / (T_0 - T_e) at x / L of a slab, insulated at x = 0: a series of roots of z tan z = Bi."""
    found = 0.0
    for k in range(40):
        z = brentq(lambda z: z * np.sin(z) - biot * np.cos(z), k * np.pi + 1e-12, (k + 0.5) * np.pi)
        found += 4.0 * np.sin(z) / (2.0 * z + np.sin(2.0 * z)) * np.exp(-z * z * fourier) * np.cos(z * x)
    return found


def _newman(x: float, y: float, t: float) -> float:
    """The temperature [K] of the bar at these parts of its half sides, after t seconds."""
    conductivity, coefficient, sides = 40.0, 400.0, (0.05, 0.03)
    diffusivity = conductivity / (7800.0 * 500.0)
    parts = [
        _slab(coefficient * side / conductivity, diffusivity * t / side**2, at)
        for side, at in zip(sides, (x, y), strict=True)
    ]
    return float(300.0 + 800.0 * parts[0] * parts[1])


@published_value(
    "quenched bar",
    area="heat",
    value=[_newman(0.0, 0.0, 300.0), _newman(1.0, 1.0, 300.0)],
    tolerance=0.1,
    why="cells of the scene: the error falls as h^2, and is 0.06 K of 800 K at these",
    source="Newman 1936, Ind. Eng. Chem. 28, 545: the product of the series of two slabs",
    unit="K",
    quick=True,
)
def temperatures_of_the_bar(place: Workplace) -> list[float]:
    """Temperatures of the axis and of an edge of a steel bar after 300 s in oil."""
    one: Any = minusgrad.build(place.scene("quenched_bar"))
    one.step(one.last)
    x, T = one.fields["x"].values, one.fields["T"].values
    return [float(T[np.argmin(x.sum(axis=1))]), float(T[np.argmax(x.sum(axis=1))])]


ROWS: list[PublishedValue] = [temperatures_of_the_bar]
