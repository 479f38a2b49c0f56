"""Keplerian elements of relative motion: from elements to position and velocity, and back.

    mu = G (M + m);  a semi-major axis [length], negative of a hyperbola; e eccentricity; i inclination, node
    (the longitude of the ascending node), pericentre (its argument) and mean anomaly [rad]
    q = a (1 - e) the pericentre distance, by which a parabola is given
    e sin E = x.v / sqrt(mu a),   e cos E = 1 - r / a,   1 - e^2 = h^2 / (mu a)

Murray & Dermott 1999, Solar System Dynamics, 2.8; `keplers_equation`. In the plane i = 0 and node = 0. A
radial orbit has e = 1 and its pericentre in the central mass; its plane is i = 0, or contains the axis z.
"""

import math
from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError

from .keplers_equation import (
    eccentric_anomaly,
    elliptic_mean,
    hyperbolic_mean,
    reduced_angle,
    solved_ellipse,
    solved_from_apocentre,
    solved_hyperbola,
    solved_parabola,
)

__all__ = ["Elements", "eccentric_anomaly", "refuse_mismatch"]

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""A part of an angular momentum below this times its products is their rounding."""


@dataclass(frozen=True)
class Elements:
    """The elements of an orbit; angles in rad. A parabola has a pericentre distance and no axis."""

    semi_major_axis: float
    eccentricity: float
    inclination: float = 0.0
    node: float = 0.0
    pericentre: float = 0.0
    mean_anomaly: float = 0.0
    pericentre_distance: float | None = None

    def state(self, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Relative position and velocity (3,), in the units of mu and of the axis.

        Raises `UserError` if Kepler's equation has no solution within the range of double precision.
        """
        q, e, axes = self.pericentre_distance, self.eccentricity, self._orbit_axes()
        if q is not None and e == 1.0:
            place, speed = _on_parabola(q, self.mean_anomaly, mu)
        else:
            a = self.semi_major_axis if q is None else q / (1.0 - e)
            place, speed = (_on_ellipse if a > 0.0 else _on_hyperbola)(a, e, self.mean_anomaly, mu)
        return np.array(place) @ axes, np.array(speed) @ axes

    def _orbit_axes(self) -> np.ndarray:
        """The unit vectors towards pericentre and along its motion, (2, 3)."""
        cn, sn = np.cos(self.node), np.sin(self.node)
        cp, sp = np.cos(self.pericentre), np.sin(self.pericentre)
        ci, si = np.cos(self.inclination), np.sin(self.inclination)
        return np.array(
            [
                [cn * cp - sn * sp * ci, sn * cp + cn * sp * ci, sp * si],
                [-cn * sp - sn * cp * ci, -sn * sp + cn * cp * ci, cp * si],
            ]
        )

    @classmethod
    def of(cls, x: np.ndarray, v: np.ndarray, mu: float) -> "Elements":
        """The osculating elements at a relative position and velocity, (3,) or (2,); angles from 0 to 2 pi.

        Where an angle has no meaning, as the node in the plane, it is 0 and the next one counts from x. The
        axis of a parabola is infinite, and its mean anomaly that of Barker's equation. Raises `UserError` for
        bodies in one place.
        """
        x, v = (np.pad(np.asarray(part, np.float64), (0, 3 - len(part))) for part in (x, v))
        r, h = float(np.linalg.norm(x)), np.cross(x, v)
        if r == 0.0:
            raise UserError("orbital elements: two bodies in one place have no orbit; move one of them")
        size = float(np.linalg.norm(h))
        if size <= ROUNDING * r * float(np.linalg.norm(v)):
            return cls._radial_elements(x, v, r, mu)
        bound = float(2.0 / r - v @ v / mu)
        to_pericentre = np.cross(v, h) / mu - x / r
        e, tilt = float(np.linalg.norm(to_pericentre)), float(np.hypot(h[0], h[1]))
        up, flat = h / size, tilt <= ROUNDING * _product_sizes(x, v)
        line = np.array([1.0, 0.0, 0.0]) if flat else np.array([-h[1], h[0], 0.0]) / tilt
        across = np.cross(up, line)
        pericentre = math.atan2(to_pericentre @ across, to_pericentre @ line) if e > 1e-14 else 0.0
        less = size * size / mu * bound / (1.0 + e)
        if e > 0.5:
            mean = _mean_of_motion(r, float(x @ v), mu, bound, e, less, size)
        else:
            mean = _mean_of_angle(math.atan2(x @ across, x @ line) - pericentre, e)
        node = _angle_in_turn(math.atan2(line[1], line[0]))
        return cls(_semi_axis(bound), e, math.atan2(tilt, h[2]), node, _angle_in_turn(pericentre), mean)

    @classmethod
    def _radial_elements(cls, x: np.ndarray, v: np.ndarray, r: float, mu: float) -> "Elements":
        """The elements of a motion through the central mass."""
        p, bound = -x / r, float(2.0 / r - v @ v / mu)
        level = float(np.hypot(p[0], p[1]))
        mean = _mean_of_motion(r, float(x @ v), mu, bound, 1.0, 0.0, 0.0)
        around = _angle_in_turn(np.arctan2(p[1], p[0])) if level > 0.0 else 0.0
        if p[2] == 0.0:
            return cls(_semi_axis(bound), 1.0, 0.0, 0.0, around, mean)
        return cls(
            _semi_axis(bound), 1.0, 0.5 * math.pi, around, _angle_in_turn(np.arctan2(p[2], level)), mean
        )


Plane = tuple[list[float], list[float]]
"""Position and velocity along the axes of the orbit: towards pericentre, and along its motion."""


def _on_ellipse(a: float, e: float, mean: float, mu: float) -> Plane:
    less = 1.0 - e
    if math.cos(mean) < 0.0:
        D = solved_from_apocentre(math.atan2(math.sin(mean), -math.cos(mean)), e)
        sin, cos = math.sin(D), -math.cos(D)
        along, r = cos - e, 1.0 - e * cos
    else:
        E = solved_ellipse(reduced_angle(mean), e)
        sin, cos, half = math.sin(E), math.cos(E), math.sin(0.5 * E) ** 2
        along, r = less - 2.0 * half, less + 2.0 * e * half
    b, speed = math.sqrt(less * (1.0 + e)), math.sqrt(mu / a) / r
    return [a * along, a * b * sin], [-speed * sin, speed * b * cos]


def _on_hyperbola(a: float, e: float, mean: float, mu: float) -> Plane:
    H, more = solved_hyperbola(mean, e), e - 1.0
    sin, cos, half = math.sinh(H), math.cosh(H), math.sinh(0.5 * H) ** 2
    b, speed = math.sqrt(more * (1.0 + e)), math.sqrt(mu / -a) / (more + 2.0 * e * half)
    return [a * (2.0 * half - more), -a * b * sin], [-speed * sin, speed * b * cos]


def _on_parabola(q: float, mean: float, mu: float) -> Plane:
    D = solved_parabola(mean)
    speed = math.sqrt(2.0 * mu / q) / (1.0 + D * D)
    return [q * (1.0 - D) * (1.0 + D), 2.0 * q * D], [-speed * D, speed]


def _mean_of_motion(
    r: float, along: float, mu: float, bound: float, e: float, less: float, h: float
) -> float:
    """The mean anomaly by x.v; bound: 1 / a; less: 1 - e; h: the angular momentum."""
    if bound > 0.0:
        E = math.atan2(along * math.sqrt(bound / mu), 1.0 - r * bound)
        return _angle_in_turn(elliptic_mean(E, e, less))
    if bound < 0.0:
        return hyperbolic_mean(math.asinh(along * math.sqrt(-bound / mu) / e), e, -less)
    if h == 0.0:
        return math.copysign(math.inf, along)
    return along / h + (along / h) ** 3 / 3.0


def _mean_of_angle(true: float, e: float) -> float:
    """The mean anomaly of an ellipse by the true one, which has a meaning in sum with the pericentre."""
    half = math.tan(0.5 * math.atan2(math.sin(true), math.cos(true)))
    E = 2.0 * math.atan(math.sqrt((1.0 - e) / (1.0 + e)) * half)
    return _angle_in_turn(elliptic_mean(E, e, 1.0 - e))


def _product_sizes(x: np.ndarray, v: np.ndarray) -> float:
    """The size of the products whose differences are the components of x cross v in the plane."""
    x, v = np.abs(x), np.abs(v)
    return float(np.hypot(x[1] * v[2] + x[2] * v[1], x[2] * v[0] + x[0] * v[2]))


def _semi_axis(bound: float) -> float:
    return 1.0 / bound if bound else math.inf


def _angle_in_turn(angle: float) -> float:
    """An angle from 0 to 2 pi."""
    return float(angle % (2.0 * math.pi))


def refuse_mismatch(name: str, elements: Elements) -> None:
    """Raise `UserError` for an ellipse with a negative axis, or a hyperbola with a positive one."""
    a, e = elements.semi_major_axis, elements.eccentricity
    if elements.pericentre_distance is not None:
        return
    if e == 1.0:
        raise UserError(
            f"body '{name}': a parabola has no semi-major axis, got eccentricity 1; give"
            " `pericentre_distance` in its place"
        )
    if a == 0.0 or (a > 0.0) != (e < 1.0):
        raise UserError(
            f"body '{name}': the semi-major axis is positive for eccentricities below 1 and negative above,"
            f" got {a:g} and {e:g}; change one of them"
        )
