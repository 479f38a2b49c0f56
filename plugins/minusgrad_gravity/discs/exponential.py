"""Exponential disc of stars in the potential of disc and spheres.

    rho(R, z) = S(R) / (2 h) sech^2(z / h),   S = M / (2 pi a^2) exp(-R / a)
    v_c^2 = 2 (G M / a) y^2 (I0 K0 - I1 K1) + sum of G M_s(R) / R,   y = R / (2 a)
    K^2 = (d v_c^2 / d ln R + 2 v_c^2) / R^2,   W^2 = v_c^2 / R^2
    s_R = s_0 exp(-R / (2 a)),   Q = s_R K / (3.36 G S) >= toomre_q,   s_f^2 = s_R^2 K^2 / (4 W^2)
    <v_f>^2 = v_c^2 + s_R^2 (1 - K^2 / (4 W^2) - 2 R / a)
    s_z^2 = pi G S h + pi^2 h^2 G M_s / (12 R^3)

R, z, f (the angle) are cylindrical; a the scale length, h the scale height, M the mass of the disc; I and K
Bessel functions at y of the thin disc (Freeman 1970, ApJ 160, 811); M_s the mass of the spheres within; K the
epicyclic frequency. Q is Toomre's (1964, ApJ 139, 1217), its least value over R as asked for. Moments as in
Hernquist 1993, ApJS 86, 389; s_z^2 is that of the mean over z with the spheres' pull.

Where <v_f>^2 < 0 the dispersion alone exceeds the gravity, and the disc is not in equilibrium. Such stars do
not rotate on average; they may be a small part of the mass.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError

from ..draws import Draws
from ..spheres.profiles import CuspedSphere

TAIL = 1e-3
"""The outermost fraction of the mass, beyond 9.2 scale lengths, that is left out."""
JUDGED = np.geomspace(0.01, 9.0, 300)
"""Radii in scale lengths at which the least Q and <v_f>^2 < 0 are sought."""
UNSUPPORTED = 0.05
"""The largest fraction of the mass where <v_f>^2 < 0."""


@dataclass(frozen=True)
class ExponentialDisc:
    """A disc of mass M, scale length and scale height, for G = 1."""

    mass: float
    length: float
    height: float
    toomre_q: float

    @property
    def reach(self) -> float:
        """Beyond it there is less than 1e-14 of the mass."""
        return 40.0 * self.length

    def enclosed(self, r: np.ndarray) -> np.ndarray:
        """The mass within R = r, which spheres feel as if it were spread over shells."""
        y = r / self.length
        return self.mass * (-np.expm1(-y) - y * np.exp(-y))

    def shell(self, r: np.ndarray) -> np.ndarray:
        """d enclosed / d ln r."""
        y = r / self.length
        return self.mass * y**2 * np.exp(-y)

    def surface_density(self, R: np.ndarray) -> np.ndarray:
        """S(R)."""
        return self.mass / (2.0 * np.pi * self.length**2) * np.exp(-R / self.length)

    def rotation(self, R: np.ndarray, spheres: Sequence[CuspedSphere]) -> tuple[np.ndarray, np.ndarray]:
        """v_c^2 and K^2 at R (n,), for G = 1."""
        from scipy.special import i0e, i1e, k0e, k1e

        y, unit = 0.5 * R / self.length, 2.0 * self.mass / self.length
        i0, i1, k0, k1 = (bessel(y) for bessel in (i0e, i1e, k0e, k1e))
        square = unit * y**2 * (i0 * k0 - i1 * k1)
        rise = unit * 2.0 * y**2 * (i0 * k0 + y * (i1 * k0 - i0 * k1))
        for sphere in spheres:
            square = square + sphere.enclosed(R) / R
            rise = rise + (sphere.shell(R) - sphere.enclosed(R)) / R
        return square, (rise + 2.0 * square) / R**2

    def radial_dispersion(self, R: np.ndarray, spheres: Sequence[CuspedSphere]) -> np.ndarray:
        """s_R (n,), for G = 1."""
        judged = JUDGED * self.length
        _, epicyclic = self.rotation(judged, spheres)
        unit = np.sqrt(epicyclic) * np.exp(-0.5 * JUDGED) / (3.36 * self.surface_density(judged))
        return self.toomre_q / unit.min() * np.exp(-0.5 * R / self.length)

    def azimuthal_moments(
        self, R: np.ndarray, spheres: Sequence[CuspedSphere]
    ) -> tuple[np.ndarray, np.ndarray]:
        """<v_f>^2 and s_f^2 (n,), for G = 1."""
        square, epicyclic = self.rotation(R, spheres)
        wide = self.radial_dispersion(R, spheres) ** 2
        ratio = epicyclic * R**2 / (4.0 * square)
        return square + wide * (1.0 - ratio - 2.0 * R / self.length), ratio * wide

    def refuse_too_hot(self, spheres: Sequence[CuspedSphere], name: str) -> None:
        """Raises `UserError`, which names the disc, if <v_f>^2 < 0 for more than 5 % of the mass."""
        R = JUDGED * self.length
        hot = self.azimuthal_moments(R, spheres)[0] < 0.0
        weights = self.shell(R)
        if (share := weights[hot].sum() / weights.sum()) > UNSUPPORTED:
            raise UserError(
                f"{name}: toomre_q: too hot for the gravity from R = {R[hot].min():.3g} to"
                f" {R[hot].max():.3g}, where {100.0 * share:.0f} % of the disc cannot rotate, got"
                f" {self.toomre_q:g}; give a smaller one, or heavier spheres"
            )

    def draw(self, draws: Draws, spheres: Sequence[CuspedSphere], G: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (n, 3): the disc lies in the plane of x and y and turns from x to y."""
        from scipy.special import lambertw

        u = (1.0 - TAIL) * draws.uniform(0)
        R = -self.length * (1.0 + lambertw((u - 1.0) / math.e, k=-1).real)
        angle = 2.0 * np.pi * draws.uniform(1)
        z = self.height * np.arctanh(2.0 * draws.uniform(2) - 1.0)
        square, spread = self.azimuthal_moments(R, spheres)
        pull = sum((sphere.enclosed(R) / (R**2 + self.height**2) ** 1.5 for sphere in spheres), 0.0 * R)
        thick = np.pi * self.surface_density(R) * self.height + (np.pi * self.height) ** 2 * pull / 12.0
        out = self.radial_dispersion(R, spheres) * draws.normal(3)
        across = np.sqrt(np.maximum(square, 0.0)) + np.sqrt(spread) * draws.normal(4)
        cos, sin, up = np.cos(angle), np.sin(angle), np.sqrt(thick) * draws.normal(5)
        x = np.stack([R * cos, R * sin, z], axis=1)
        v = np.stack([out * cos - across * sin, out * sin + across * cos, up], axis=1)
        return x, np.sqrt(G) * v
