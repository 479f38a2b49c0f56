"""Smoke in a periodic square of n x n cells in Taichi alone: fields over all steps, by `ti.ad.Tape`.

    u = v at x - dt v;  d = div u;  p by Jacobi's sweeps of laplace(p) = d;  v' = u - grad p
    q' = q at x - dt v'
    loss = mean (q_T - target)^2

Cells have the side 1 and steps the length 1; between cells fields are bilinear. Velocities have components
along columns and along rows.
"""

from collections.abc import Callable

import numpy as np

from minusgrad import ti


def program(
    n: int, steps: int, sweeps: int = 10, precision: str = "f64"
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]:
    """A function of first velocity (n, n, 2), smoke and target, (n, n): the loss, and dL/dv (n, n, 2)."""
    real = getattr(ti, precision)
    v, u = (ti.Vector.field(2, real, (steps + 1, n, n), needs_grad=True) for _ in range(2))
    q, d = (ti.field(real, (steps + 1, n, n), needs_grad=True) for _ in range(2))
    p = ti.field(real, (steps + 1, sweeps + 1, n, n), needs_grad=True)
    target, loss = ti.field(real, (n, n)), ti.field(real, (), needs_grad=True)

    @ti.kernel
    def advect(values: ti.template(), moved: ti.template(), wind: ti.template(), t: ti.i32, at: ti.i32):
        for i, j in ti.ndrange(n, n):
            y, x = i - wind[at, i, j][1], j - wind[at, i, j][0]
            low, left = ti.floor(y), ti.floor(x)
            b, a = y - low, x - left
            k, m = ti.cast(low, ti.i32) % n, ti.cast(left, ti.i32) % n
            below = (1 - a) * values[t - 1, k, m] + a * values[t - 1, k, (m + 1) % n]
            above = (1 - a) * values[t - 1, (k + 1) % n, m] + a * values[t - 1, (k + 1) % n, (m + 1) % n]
            moved[t, i, j] = (1 - b) * below + b * above

    @ti.kernel
    def diverge(t: ti.i32):
        for i, j in ti.ndrange(n, n):
            rows = u[t, (i + 1) % n, j][1] - u[t, (i + n - 1) % n, j][1]
            columns = u[t, i, (j + 1) % n][0] - u[t, i, (j + n - 1) % n][0]
            d[t, i, j] = (rows + columns) / 2

    @ti.kernel
    def sweep(t: ti.i32, k: ti.i32):
        for i, j in ti.ndrange(n, n):
            rows = p[t, k, (i + 1) % n, j] + p[t, k, (i + n - 1) % n, j]
            columns = p[t, k, i, (j + 1) % n] + p[t, k, i, (j + n - 1) % n]
            p[t, k + 1, i, j] = (rows + columns - d[t, i, j]) / 4

    @ti.kernel
    def project(t: ti.i32):
        for i, j in ti.ndrange(n, n):
            rows = p[t, sweeps, (i + 1) % n, j] - p[t, sweeps, (i + n - 1) % n, j]
            columns = p[t, sweeps, i, (j + 1) % n] - p[t, sweeps, i, (j + n - 1) % n]
            v[t, i, j] = u[t, i, j] - ti.Vector([columns, rows]) / 2

    @ti.kernel
    def compare():
        for i, j in target:
            loss[None] += real(1.0 / (n * n)) * (q[steps, i, j] - target[i, j]) ** 2

    @ti.kernel
    def place(first: ti.types.ndarray(), smoke: ti.types.ndarray(), picture: ti.types.ndarray()):
        for i, j in target:
            v[0, i, j] = ti.Vector([first[i, j, 0], first[i, j, 1]])
            q[0, i, j] = smoke[i, j]
            target[i, j] = picture[i, j]

    def value_and_gradient(
        first: np.ndarray, smoke: np.ndarray, picture: np.ndarray
    ) -> tuple[float, np.ndarray]:
        place(first, smoke, picture)
        with ti.ad.Tape(loss):
            for t in range(1, steps + 1):
                advect(v, u, v, t, t - 1)
                diverge(t)
                for k in range(sweeps):
                    sweep(t, k)
                project(t)
                advect(q, q, v, t, t)
            compare()
        return loss[None], v.grad.to_numpy()[0]

    return value_and_gradient
