"""The ground under a wave in Taichi alone: heights over all steps, by `ti.ad.Tape`.

    h_{t+1} = 2 h_t - h_{t-1} + k laplace(h_t),   h_1 = h_0 + k laplace(h_0)  (at rest),   k = (c dt / s)^2
    seen    = ground at x + reach (h_north - h_south, h_east - h_west),  bilinear
    loss    = mean (seen - target)^2

Beyond an edge lies the height of the cell at the edge; places beyond the ground are moved to its rim.
"""

from collections.abc import Callable

import numpy as np

from minusgrad import ti

Result = tuple[float, np.ndarray, np.ndarray]


def program(
    n: int, steps: int, k: float, reach: float, precision: str = "f64"
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Result]:
    """A function of first height, ground and target, (n, n): the loss, its gradient, the picture seen."""
    real = getattr(ti, precision)
    h = ti.field(real, (steps + 1, n, n), needs_grad=True)
    seen = ti.field(real, (n, n), needs_grad=True)
    ground, target = (ti.field(real, (n, n)) for _ in range(2))
    loss = ti.field(real, (), needs_grad=True)

    @ti.func
    def at(t, i, j):
        return h[t, ti.min(ti.max(i, 0), n - 1), ti.min(ti.max(j, 0), n - 1)]

    @ti.func
    def laplace(t, i, j):
        return at(t, i + 1, j) + at(t, i - 1, j) + at(t, i, j + 1) + at(t, i, j - 1) - 4 * h[t, i, j]

    @ti.kernel
    def begin():
        for i, j in ti.ndrange(n, n):
            h[1, i, j] = h[0, i, j] + real(k) * laplace(0, i, j)

    @ti.kernel
    def step(t: ti.i32):
        for i, j in ti.ndrange(n, n):
            h[t, i, j] = 2 * h[t - 1, i, j] - h[t - 2, i, j] + real(k) * laplace(t - 1, i, j)

    @ti.kernel
    def render():
        for i, j in ti.ndrange(n, n):
            y = i + real(reach) * (at(steps, i + 1, j) - at(steps, i - 1, j))
            x = j + real(reach) * (at(steps, i, j + 1) - at(steps, i, j - 1))
            y = ti.min(ti.max(y, 0), n - 1)
            x = ti.min(ti.max(x, 0), n - 1)
            low, left = ti.min(ti.floor(y), n - 2), ti.min(ti.floor(x), n - 2)
            b, a = y - low, x - left
            p, q = ti.cast(low, ti.i32), ti.cast(left, ti.i32)
            below = (1 - a) * ground[p, q] + a * ground[p, q + 1]
            above = (1 - a) * ground[p + 1, q] + a * ground[p + 1, q + 1]
            seen[i, j] = (1 - b) * below + b * above

    @ti.kernel
    def compare():
        for i, j in target:
            loss[None] += real(1.0 / (n * n)) * (seen[i, j] - target[i, j]) ** 2

    @ti.kernel
    def place(first: ti.types.ndarray(), below: ti.types.ndarray(), picture: ti.types.ndarray()):
        for i, j in target:
            h[0, i, j] = first[i, j]
            ground[i, j] = below[i, j]
            target[i, j] = picture[i, j]

    def value_and_gradient(first: np.ndarray, below: np.ndarray, picture: np.ndarray) -> Result:
        place(first, below, picture)
        with ti.ad.Tape(loss):
            begin()
            for t in range(2, steps + 1):
                step(t)
            render()
            compare()
        return loss[None], h.grad.to_numpy()[0], seen.to_numpy()

    return value_and_gradient
