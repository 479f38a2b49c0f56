"""Derivatives of a Kepler orbit in the plane by its start and by mu = G (m1 + m2), in closed form.

    s(t) = R(w) (a (cos E - e), a b sin E,  -a n sin E / (1 - e cos E), a n b cos E / (1 - e cos E))
    E - e sin E = M + n t,   n = sqrt(mu / a^3),   b = sqrt(1 - e^2)

s = (x, v) is a function F of the elements (a, e, w, M), of mu and t, with dE/dM = 1 / (1 - e cos E) and
dE/de = sin E / (1 - e cos E), so that

    ds(t)/ds(0) = F_el(t) F_el(0)^-1        ds(t)/dmu = F_mu(t) - F_el(t) F_el(0)^-1 F_mu(0)
"""

import numpy as np

from tests.support.kepler import eccentric_anomaly

ELEMENTS = 4


def of_elements(t: float, e: float, mean: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """s (4,) and its derivatives (4, 5) by a, e, w, M and mu, at a = 1, w = 0, mu = 1 and time t."""
    angle = mean + t
    anomaly, b = eccentric_anomaly(angle, e), np.sqrt(1.0 - e * e)
    c, s = np.cos(anomaly), np.sin(anomaly)
    d = 1.0 - e * c
    x, v = np.array([c - e, b * s]), np.array([-s, b * c]) / d
    x_of_anomaly, v_of_anomaly = np.array([-s, b * c]), np.array([-c, -b * s]) / d - v * e * s / d
    by_mean = np.concatenate([x_of_anomaly, v_of_anomaly]) / d
    by_n = np.concatenate([[0.0, 0.0], v]) + by_mean * t
    x_of_e = np.array([-1.0, -e / b * s])
    v_of_e = np.array([0.0, -e / b * c]) / d + v * c / d
    by_e = np.concatenate([x_of_e, v_of_e]) + by_mean * s  # dE/de = s dE/dM
    by_a = np.concatenate([x, v]) - 1.5 * by_n
    by_w = np.concatenate([[-x[1], x[0]], [-v[1], v[0]]])
    return np.concatenate([x, v]), np.stack([by_a, by_e, by_w, by_mean, 0.5 * by_n], axis=1)


def by_start(t: float, e: float, mean: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """ds(t)/ds(0) (4, 4) and ds(t)/dmu (4,) at a given start."""
    (_, before), (_, after) = of_elements(0.0, e, mean), of_elements(t, e, mean)
    moved = after[:, :ELEMENTS] @ np.linalg.inv(before[:, :ELEMENTS])
    return moved, after[:, ELEMENTS] - moved @ before[:, ELEMENTS]
