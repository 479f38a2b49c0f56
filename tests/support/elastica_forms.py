"""Euler's nine elastic curves (1744) by elliptic integrals, and rods that start on them.

The angle of the curve with the line of the thrust is that of a pendulum, theta'' + omega^2 sin theta = 0
(Kirchhoff), with the parameter m = k^2:

    m <= 1    sin(theta/2) = k sn(omega s),  x = 2 E(am)/omega - s,  z = -2 k cn / omega        omega = 2 K
    m  > 1    theta/2 = am(p s | 1/m),       x = s - 2 (p s - E(am)) m / p,  z = -2 m dn / p   p^2 = m omega^2

Euler's first species is the straight rod, the second to sixth have inflections, where the hinges of the
rod are, the seventh (m = 1) ends in its asymptote, the eighth has none, and the ninth is the circle. A rod of
1 m starts on the curve with its ends held there, by hinges or by clamps. It is a strip, 100 times stiffer
across the plane and in twist, which a round rod would leave. In the plane all are stable so but the
sixth: once the ends have passed each other, hinges let the rod turn about them, one direction down.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ellipj, ellipk, elliprd, elliprf

import minusgrad as mg
from tests.support.rods import rod_scene

STRIP = {"kind": "given", "area": 1e-4, "second_moments": [1e-11, 1e-9], "torsion": 1e-9}


def second_integral(u: np.ndarray, m: float) -> np.ndarray:
    """E(am u | m) for |u| <= K, by Carlson's forms; SciPy's `ellipeinc` jumps at m = 0.93."""
    sn, cn, dn, _ = ellipj(u, m)
    return sn * elliprf(cn**2, dn**2, 1.0) - m / 3.0 * sn**3 * elliprd(cn**2, dn**2, 1.0)


@dataclass(frozen=True)
class Form:
    """A curve: its parameter m (0: the circle), omega or p, and whether its ends are clamped."""

    m: float
    rate: float
    clamped: bool = False

    def angle(self, s: Any) -> np.ndarray:
        """theta [rad] at s from -1/2 to 1/2."""
        s = np.asarray(s, float)
        if self.m > 1.0:
            sn, cn, _, _ = ellipj(self.rate * s, 1.0 / self.m)
            return 2.0 * np.arctan2(sn, cn)
        if not self.m:
            return self.rate * s
        return 2.0 * np.arcsin(np.sqrt(self.m) * ellipj(self.rate * s, self.m)[0])

    def places(self, s: Any) -> np.ndarray:
        """x, 0, z [m] of the curve, (n, 3)."""
        s, rate, m = np.asarray(s, float), self.rate, self.m
        if not m:
            x, z = np.sin(rate * s) / rate, -np.cos(rate * s) / rate
        elif m > 1.0:
            _, _, dn, _ = ellipj(rate * s, 1.0 / m)
            x, z = s - 2.0 * m * (s - second_integral(rate * s, 1.0 / m) / rate), -2.0 * m * dn / rate
        else:
            _, cn, _, _ = ellipj(rate * s, m)
            x, z = 2.0 * second_integral(rate * s, m) / rate - s, -2.0 * np.sqrt(m) * cn / rate
        return np.stack([x, 0.0 * x, z], axis=1)


def with_inflections(degrees: float, half_waves: int = 1) -> Form:
    """From hinge to hinge, by the angle at the inflection."""
    m = np.sin(np.radians(degrees) / 2.0) ** 2
    return Form(m, 2.0 * half_waves * ellipk(m))


LEMNOID = 130.7099
"""The angle at which both ends meet in a figure of eight, 2 E = K."""
FORMS = {
    "second, below a right angle": with_inflections(60.0),
    "third, the rectangular elastica": with_inflections(90.0),
    "fourth, above a right angle": with_inflections(110.0),
    "fifth, the figure of eight": with_inflections(LEMNOID),
    "sixth, whose ends have passed each other": with_inflections(150.0),
    "seventh, the separatrix": Form(1.0, 7.0, clamped=True),
    "eighth, without inflections": Form(1.25, 2.0 * ellipk(0.8), clamped=True),
    "ninth, the circle": Form(0.0, 2.0 * np.pi, clamped=True),
}


def rod_on_the_curve(form: Form, n: int, folder: Path) -> mg.Simulation:
    """A straight strip, bent to the curve, its ends held; not yet at rest."""
    held = [{"body": "first", "field": "x"}, {"body": "last", "field": "x"}]
    points = form.places(np.linspace(-0.5, 0.5, n + 1))
    file = f"curve_{n}.csv"
    (folder / file).write_text(
        "x, y, z\n" + "".join(", ".join(f"{c:.17g}" for c in row) + "\n" for row in points)
    )
    state = {"kind": "rod_points", "file": file, "length": "m", "section": STRIP, "normal": [0, 1, 0]}
    clamps = ["first", "last"] if form.clamped else []
    return mg.load(rod_scene(state | {"natural": "straight"}, {"clamps": clamps}, hold=held))
