"""What programs by hand say of gravity: the pull of all bodies on body i, in each language; leapfrog.

pull_i = sum_j m_j (x_i - x_j) (|x_i - x_j|^2 + eps^2)^(-3/2)          G = 1, the body itself adds nothing
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .harness.peers import peer

Acceleration = Callable[[np.ndarray], np.ndarray]
"""From x (n, 3)."""


def taichi_pull(real: Any) -> Any:
    """A Taichi function of x (3, n), m (n,), i and eps: the three numbers of the pull."""
    from minusgrad import ti

    @ti.func
    def pull(x: ti.template(), m: ti.template(), i: ti.i32, eps: real):
        a = x[0, i]
        b = x[1, i]
        c = x[2, i]
        gx = real(0.0)
        gy = real(0.0)
        gz = real(0.0)
        for j in range(m.shape[0]):
            dx = a - x[0, j]
            dy = b - x[1, j]
            dz = c - x[2, j]
            inv = real(1.0) / ti.sqrt(dx * dx + dy * dy + dz * dz + eps * eps)
            w = m[j] * inv * inv * inv
            gx += w * dx
            gy += w * dy
            gz += w * dz
        return gx, gy, gz

    return pull


def numba_pull(real: Any, eps: float) -> Any:
    """The same for numba: of x, y, z, m and i."""
    numba = peer("numba")
    square, one, zero = real(eps * eps), real(1.0), real(0.0)

    @numba.njit(fastmath=True)
    def pull(x: Any, y: Any, z: Any, m: Any, i: Any) -> Any:
        a, b, c = x[i], y[i], z[i]
        gx = gy = gz = zero
        for j in range(len(m)):
            dx, dy, dz = a - x[j], b - y[j], c - z[j]
            inv = one / np.sqrt(dx * dx + dy * dy + dz * dz + square)
            w = m[j] * inv * inv * inv
            gx += w * dx
            gy += w * dy
            gz += w * dz
        return gx, gy, gz

    return pull


def warp_pull(real: Any, eps: float) -> tuple[Any, Any, Any]:
    """The same for Warp, of x, m and i; its number and its vector."""
    wp = peer("warp")
    number = wp.float32 if real == np.float32 else wp.float64
    vector, square = wp.types.vector(length=3, dtype=number), number(eps * eps)

    @wp.func
    def pull(x: wp.array(dtype=vector), m: wp.array(dtype=number), i: int):  # type: ignore[valid-type]
        a = x[i]
        total = vector()
        for j in range(m.shape[0]):
            d = a - x[j]
            inv = number(1.0) / wp.sqrt(wp.dot(d, d) + square)
            total += d * (m[j] * inv * inv * inv)
        return total

    return pull, number, vector


def leapfrog(state: dict[str, Any], acceleration: Acceleration, drift_first: bool = False) -> np.ndarray:
    """The last x by NumPy in f64: kick - drift - kick, or drift - kick - drift."""
    x, v, h = state["x"].astype(float), state["v"].astype(float), float(state["dt"])
    if drift_first:
        for _ in range(state["steps"]):
            x += 0.5 * h * v
            v += h * acceleration(x)
            x += 0.5 * h * v
        return x
    a = acceleration(x)
    for _ in range(state["steps"]):
        v += 0.5 * h * a
        x += h * v
        a = acceleration(x)
        v += 0.5 * h * a
    return x
