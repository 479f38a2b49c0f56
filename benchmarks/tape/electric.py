"""Charges steered by electrodes towards moving goals: fields over time and `ti.ad.Tape`.

The physics is that of `electric` in DiffTaichi (Hu et al. 2020, ICLR): electrodes whose charges a network of
two layers sets, Coulomb's force outside of a radius and a linear one inside, exact damping, and a running
cost. The network reads the state at the start of a step; that of the original reads the iteration before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from minusgrad import ti

INPUTS = 8


@dataclass(frozen=True)
class World:
    """What acts on a charge, and the scales in which its controller reads places and velocities."""

    electrodes: Sequence[Sequence[float]]
    dt: float = 0.03
    damping: float = 0.2
    strength: float = 1e-3
    radius: float = 0.1
    interval: float = 7.68
    middle: float = 0.5
    length: float = 0.2
    near: float = 0.1
    speed: float = 0.1


class Electric:
    """The program for so many charges, neurons and steps; `evaluate` returns the mean cost and its gradients.

    ways (n, w, 2): the way points of each goal. weights: `w1` (H, 8) with inputs in the order place,
    velocity, offset from the goal, and its velocity; `b1` (H,), `w2` (E, H), `b2` (E,). The
    gradients are by these names and by `x` and `v`, the places and velocities at the start (n, 2).
    """

    def __init__(self, of: World, ways: np.ndarray, hidden: int, steps: int, precision: str = "f64"):
        real = {"f32": ti.f32, "f64": ti.f64}[precision]
        n, knots, _ = ways.shape
        count = len(of.electrodes)
        x, v, goal, goal_v = (ti.Vector.field(2, real, (steps + 1, n), needs_grad=True) for _ in range(4))
        h = ti.field(real, (steps, n, hidden), needs_grad=True)
        q = ti.field(real, (steps, n, count), needs_grad=True)
        loss = ti.field(real, (), needs_grad=True)
        shapes = {"w1": (hidden, INPUTS), "b1": hidden, "w2": (count, hidden), "b2": count}
        weights = {name: ti.field(real, shape, needs_grad=True) for name, shape in shapes.items()}
        w1, b1, w2, b2 = weights.values()
        points = ti.Vector.field(2, real, (n, knots))
        points.from_numpy(np.asarray(ways))
        at = ti.Vector.field(2, real, count)
        at.from_numpy(np.asarray(of.electrodes, float))
        dt, decay = of.dt, exp(-of.damping * of.dt)

        @ti.kernel
        def lead():
            for t, i in ti.ndrange(steps, n):
                time = real(dt) * t / real(of.interval)
                k = ti.min(ti.cast(ti.floor(time), ti.i32), knots - 2)
                a, b = points[i, k], points[i, k + 1]
                goal[t, i] = a + (time - k) * (b - a)
                goal_v[t, i] = (b - a) / real(of.interval)

        @ti.kernel
        def first_layer(t: ti.i32):
            for i, j in ti.ndrange(n, hidden):
                z = b1[j]
                for k in ti.static(range(2)):
                    z += w1[j, k] * (x[t, i][k] - real(of.middle)) / real(of.length)
                    z += w1[j, 2 + k] * v[t, i][k] / real(of.speed)
                    z += w1[j, 4 + k] * (x[t, i][k] - goal[t, i][k]) / real(of.near)
                    z += w1[j, 6 + k] * goal_v[t, i][k] / real(of.speed)
                h[t, i, j] = ti.tanh(z)

        @ti.kernel
        def second_layer(t: ti.i32):
            for i, e in ti.ndrange(n, count):
                z = b2[e]
                for j in ti.static(range(hidden)):
                    z += w2[e, j] * h[t, i, j]
                q[t, i, e] = ti.tanh(z)

        @ti.kernel
        def move(t: ti.i32):
            for i in range(n):
                force = ti.Vector([real(0.0), real(0.0)])
                for e in ti.static(range(count)):
                    d = x[t, i] - at[e]
                    r = ti.max(d.norm(), real(of.radius))
                    force += real(of.strength) * q[t, i, e] / (r * r * r) * d
                v[t + 1, i] = real(decay) * v[t, i] + real(dt) * force
                x[t + 1, i] = x[t, i] + real(dt) * v[t + 1, i]

        @ti.kernel
        def judge(t: ti.i32):
            for i in range(n):
                loss[None] += real(dt / n) * (x[t, i] - goal[t, i]).norm_sqr()

        def forward():
            for t in range(steps):
                first_layer(t)
                second_layer(t)
                move(t)
                judge(t)

        lead()
        self._state, self._weights, self._loss, self._forward = {"x": x, "v": v}, weights, loss, forward

    def evaluate(self, given: Mapping[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        """The mean cost, and its gradients by the weights, `x` and `v`."""
        for name, field in self._weights.items():
            field.from_numpy(np.asarray(given[name]))
        for name, field in self._state.items():
            values = np.zeros((*field.shape, 2))
            values[0] = given[name]
            field.from_numpy(values)
        with ti.ad.Tape(self._loss):
            self._forward()
        found = {name: field.grad.to_numpy() for name, field in self._weights.items()}
        found |= {name: field.grad.to_numpy()[0] for name, field in self._state.items()}
        return float(self._loss[None]), found
