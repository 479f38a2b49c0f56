"""Cubic splines as LAMMPS makes them of a table of values at equal distances.

    y(s) = ((c3 s + c2) s + c1) s + c0,        s = (r - r_k) / h,   0 <= s <= 1,   k = 0 ... n - 2

    c0 = y_k,   c1 = m_k,   c2 = 3 (y_{k+1} - y_k) - 2 m_k - m_{k+1},   c3 = m_k + m_{k+1} - 2 (y_{k+1} - y_k)
    m_k = [ y_{k-2} - y_{k+2} + 8 (y_{k+1} - y_{k-1}) ] / 12

h is the distance of the places r_k = k h, y_k the values and m_k their slopes, times h. Slopes at the first
and the last value are one-sided differences, those at their neighbours centred ones of two values. The curve
has one continuous derivative; the second one jumps at the places. Source: the pair style `eam` of LAMMPS 22
Jul 2025; written anew.

Decisions 0148.
"""

import numpy as np

FEWEST = 5
"""Values that a table has at least: the slopes in the middle are of five."""


def spline_slopes(y: np.ndarray) -> np.ndarray:
    """h times the slopes at all values of a table (..., n)."""
    m = np.empty_like(y)
    m[..., 2:-2] = (y[..., :-4] - y[..., 4:] + 8.0 * (y[..., 3:-1] - y[..., 1:-3])) / 12.0
    m[..., 1], m[..., -2] = (y[..., 2] - y[..., 0]) / 2.0, (y[..., -1] - y[..., -3]) / 2.0
    m[..., 0], m[..., -1] = y[..., 1] - y[..., 0], y[..., -1] - y[..., -2]
    return m


def spline_coefficients(y: np.ndarray) -> np.ndarray:
    """c0, c1, c2, c3 of the n - 1 intervals of a table (..., n): shape (..., n - 1, 4)."""
    m, rise = spline_slopes(y), np.diff(y)
    low, high = m[..., :-1], m[..., 1:]
    return np.stack([y[..., :-1], low, 3.0 * rise - 2.0 * low - high, low + high - 2.0 * rise], axis=-1)


def lagrange_values(y: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The cubic through the four values (n,) around each place, which counts in intervals from the first
    value.

    Beyond the last value it stays as it is there.
    """
    k = np.clip(places.astype(int), 1, len(y) - 3)
    p = np.minimum(places - k, 2.0)
    before, here, after, far = (y[k + step] for step in (-1, 0, 1, 2))
    return (
        -p * (p - 1.0) * (p - 2.0) / 6.0 * before
        + (p * p - 1.0) * (p - 2.0) / 2.0 * here
        - p * (p + 1.0) * (p - 2.0) / 2.0 * after
        + p * (p * p - 1.0) / 6.0 * far
    )
