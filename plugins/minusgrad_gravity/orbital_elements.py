"""Keplerian elements of relative motion: from elements to position and velocity, and back.

    mu = G (M + m);  a semi-major axis [length], negative of a hyperbola; e eccentricity; i inclination, node
    (the longitude of the ascending node), pericentre (its argument) and mean anomaly [rad]
    E - e sin E = mean anomaly (ellipse),  e sinh H - H = mean anomaly (hyperbola)

Murray & Dermott 1999, Solar System Dynamics, 2.8. In the plane i = 0 and node = 0.
"""

from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError


@dataclass(frozen=True)
class Elements:
    """The elements of an orbit; angles in rad."""

    semi_major_axis: float
    eccentricity: float
    inclination: float = 0.0
    node: float = 0.0
    pericentre: float = 0.0
    mean_anomaly: float = 0.0

    def state(self, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Relative position and velocity (3,), in the units of mu and the semi-major axis."""
        a, e = self.semi_major_axis, self.eccentricity
        if e < 1.0:
            anomaly = eccentric_anomaly(self.mean_anomaly, e)
            cos, sin, b = np.cos(anomaly), np.sin(anomaly), np.sqrt(1.0 - e * e)
            rate = np.sqrt(mu / a**3) / (1.0 - e * cos)
            q, u = np.array([a * (cos - e), a * b * sin]), rate * a * np.array([-sin, b * cos])
        else:
            anomaly = _hyperbolic_anomaly(self.mean_anomaly, e)
            cos, sin, b = np.cosh(anomaly), np.sinh(anomaly), np.sqrt(e * e - 1.0)
            rate = np.sqrt(mu / -(a**3)) / (e * cos - 1.0)
            q, u = np.array([a * (cos - e), -a * b * sin]), rate * a * np.array([sin, -b * cos])
        axes = self._axes()
        return q @ axes, u @ axes

    def _axes(self) -> np.ndarray:
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

        Where an angle has no meaning, as the node in the plane, it is 0 and the next one counts from x.
        """
        x, v = (np.pad(np.asarray(part, np.float64), (0, 3 - len(part))) for part in (x, v))
        r, h = np.linalg.norm(x), np.cross(x, v)
        a = 1.0 / (2.0 / r - v @ v / mu)
        to_pericentre = np.cross(v, h) / mu - x / r
        e, size = float(np.linalg.norm(to_pericentre)), float(np.linalg.norm(h))
        up = h / size
        line = np.array([-h[1], h[0], 0.0])
        flat = np.hypot(h[0], h[1]) <= 1e-14 * size
        line = np.array([1.0, 0.0, 0.0]) if flat else line / np.linalg.norm(line)
        across = np.cross(up, line)
        pericentre = np.arctan2(to_pericentre @ across, to_pericentre @ line) if e > 1e-14 else 0.0
        true = np.arctan2(x @ across, x @ line) - pericentre
        half = np.tan(0.5 * np.arctan2(np.sin(true), np.cos(true)))
        if e < 1.0:
            anomaly = 2.0 * np.arctan(np.sqrt((1.0 - e) / (1.0 + e)) * half)
            mean = (anomaly - e * np.sin(anomaly)) % (2.0 * np.pi)
        else:
            anomaly = 2.0 * np.arctanh(np.sqrt((e - 1.0) / (e + 1.0)) * half)
            mean = e * np.sinh(anomaly) - anomaly
        angles = (np.arctan2(line[1], line[0]), pericentre)
        node, pericentre = (float(angle % (2.0 * np.pi)) for angle in angles)
        return cls(float(a), e, float(np.arccos(np.clip(up[2], -1.0, 1.0))), node, pericentre, float(mean))


def eccentric_anomaly(mean: float, e: float) -> float:
    """E - e sin E = mean, by Newton's method within a bracket."""
    turns = 2.0 * np.pi * np.round(mean / (2.0 * np.pi))
    wanted = mean - turns
    low, high = wanted - e, wanted + e
    anomaly = wanted
    for _ in range(100):
        off = anomaly - e * np.sin(anomaly) - wanted
        low, high = (low, anomaly) if off > 0.0 else (anomaly, high)
        newer = anomaly - off / (1.0 - e * np.cos(anomaly))
        newer = newer if low <= newer <= high else 0.5 * (low + high)
        if abs(newer - anomaly) <= 1e-16 * max(1.0, abs(anomaly)):
            break
        anomaly = newer
    return float(anomaly + turns)


def _hyperbolic_anomaly(mean: float, e: float) -> float:
    """e sinh H - H = mean, by Newton's method from outside."""
    anomaly = np.arcsinh(mean / e) if abs(mean) < e else np.sign(mean) * np.log(2.0 * abs(mean) / e + 1.8)
    for _ in range(100):
        newer = anomaly - (e * np.sinh(anomaly) - anomaly - mean) / (e * np.cosh(anomaly) - 1.0)
        if abs(newer - anomaly) <= 1e-16 * max(1.0, abs(anomaly)):
            break
        anomaly = newer
    return float(anomaly)


def refuse_mismatch(name: str, elements: Elements) -> None:
    """Raise `UserError` for an ellipse with a negative axis, or a hyperbola with a positive one."""
    a, e = elements.semi_major_axis, elements.eccentricity
    if e == 1.0 or a == 0.0 or (a > 0.0) != (e < 1.0):
        raise UserError(
            f"body '{name}': the semi-major axis is positive for eccentricities below 1 and negative above,"
            f" got {a:g} and {e:g}; change one of them"
        )
