"""Billiards in Taichi alone: balls that meet at their times of impact, over all steps, by `ti.ad.Tape`.

Two balls that approach each other touch when their distance is 2 R; what remains of the step they go on with
the velocities after the impact. The loss is the squared distance of the last ball from a goal at the end.
"""

from collections.abc import Callable, Sequence

import numpy as np

from minusgrad import ti


def program(
    n: int,
    steps: int,
    precision: str = "f64",
    radius: float = 0.03,
    restitution: float = 0.8,
    dt: float = 0.003,
    goal: Sequence[float] = (0.9, 0.75),
) -> Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray, np.ndarray]]:
    """A function of x (n, 2) [m] and v (n, 2) [m/s] at the start that returns loss [m^2], dL/dx, dL/dv."""
    real = getattr(ti, precision)
    x, v, shift, push = (ti.Vector.field(2, real, (steps + 1, n), needs_grad=True) for _ in range(4))
    loss = ti.field(real, (), needs_grad=True)

    @ti.func
    def meet(t, i, j):
        apart, velocity = x[t, i] - x[t, j], v[t, i] - v[t, j]
        along, speed = apart.dot(velocity), velocity.dot(velocity)
        outside = apart.dot(apart) - 4 * radius**2
        if along < 0:
            inside = along**2 - outside * speed
            if inside > 0:
                root = ti.sqrt(inside)
                when = outside / (root - along)
                if when < dt:
                    normal = (apart + when * velocity) / (2 * radius)
                    jump = (1 + restitution) / 2 * root / (2 * radius) * normal
                    push[t, i] += jump
                    shift[t, i] += (dt - when) * jump

    @ti.kernel
    def collide(t: ti.i32):
        for i in range(n):
            for j in range(n):
                if i != j:
                    meet(t, i, j)

    @ti.kernel
    def advance(t: ti.i32):
        for i in range(n):
            v[t + 1, i] = v[t, i] + push[t, i]
            x[t + 1, i] = x[t, i] + dt * v[t, i] + shift[t, i]

    @ti.kernel
    def judge():
        for k in ti.static(range(2)):
            loss[None] += (x[steps, n - 1][k] - goal[k]) ** 2

    def evaluate(x0: np.ndarray, v0: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        for field, start in ((x, x0), (v, v0)):
            values = np.zeros((steps + 1, n, 2))
            values[0] = start
            field.from_numpy(values)
        shift.fill(0)
        push.fill(0)
        with ti.ad.Tape(loss):
            for t in range(steps):
                collide(t)
                advance(t)
            judge()
        return float(loss[None]), x.grad.to_numpy()[0], v.grad.to_numpy()[0]

    return evaluate
