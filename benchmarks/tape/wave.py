"""A wave on n x n cells in Taichi alone: heights over all steps, by `ti.ad.Tape`.

    h_{t+1} = 2 h_t - h_{t-1} + k laplace(h_t),   h_1 = h_0 + k laplace(h_0)  (at rest),   k = (c dt / s)^2
    loss = mean (h_T - target)^2

Beyond an edge lies the height of the cell at the edge.
"""

from collections.abc import Callable

import numpy as np

from minusgrad import ti


def program(
    n: int, steps: int, k: float, precision: str = "f64"
) -> Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]:
    """A function of first height and target, (n, n) each, that returns the loss and its gradient (n, n)."""
    real = getattr(ti, precision)
    h, target = ti.field(real, (steps + 1, n, n), needs_grad=True), ti.field(real, (n, n))
    loss = ti.field(real, (), needs_grad=True)

    @ti.func
    def laplace(t, i, j):
        rows = h[t, ti.min(i + 1, n - 1), j] + h[t, ti.max(i - 1, 0), j]
        columns = h[t, i, ti.min(j + 1, n - 1)] + h[t, i, ti.max(j - 1, 0)]
        return rows + columns - 4 * h[t, i, j]

    @ti.kernel
    def begin():
        for i, j in ti.ndrange(n, n):
            h[1, i, j] = h[0, i, j] + real(k) * laplace(0, i, j)

    @ti.kernel
    def step(t: ti.i32):
        for i, j in ti.ndrange(n, n):
            h[t, i, j] = 2 * h[t - 1, i, j] - h[t - 2, i, j] + real(k) * laplace(t - 1, i, j)

    @ti.kernel
    def compare():
        for i, j in target:
            loss[None] += real(1.0 / (n * n)) * (h[steps, i, j] - target[i, j]) ** 2

    @ti.kernel
    def place(first: ti.types.ndarray(), picture: ti.types.ndarray()):
        for i, j in target:
            h[0, i, j] = first[i, j]
            target[i, j] = picture[i, j]

    def value_and_gradient(first: np.ndarray, picture: np.ndarray) -> tuple[float, np.ndarray]:
        place(first, picture)
        with ti.ad.Tape(loss):
            begin()
            for t in range(2, steps + 1):
                step(t)
            compare()
        return loss[None], h.grad.to_numpy()[0]

    return value_and_gradient
