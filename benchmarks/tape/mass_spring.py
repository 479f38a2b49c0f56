"""A robot of springs above a ground, driven by a network of two layers: fields over time and `ti.ad.Tape`.

The physics is that of `mass_spring` in DiffTaichi (Hu et al. 2020, ICLR): springs whose length at rest the
network sets, exact damping, a sticky ground with times of impact, and a loss that is -x of the head.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, pi

import numpy as np

from minusgrad import ti

WAVES = 10


@dataclass(frozen=True)
class Robot:
    """Places (n, 2), springs as pairs of masses (K, 2), their lengths and largest relative changes."""

    x: np.ndarray
    pairs: np.ndarray
    rest: np.ndarray
    swing: np.ndarray
    head: int = 0


@dataclass(frozen=True)
class World:
    """What acts on the robot, and what its controller knows."""

    dt: float = 0.004
    stiffness: float = 3e4
    damping: float = 15.0
    gravity: float = -4.8
    ground: float = 0.1
    slowest: float = 1e-4
    omega: float = 10.0
    gain: float = 0.05
    goal: tuple[float, float] = (0.9, 0.2)


class MassSpring:
    """The program for so many steps; `evaluate` returns -x of the head at the end, and its gradients.

    weights: `w1` (H, 10 + 4 n + 2) with inputs in the order sines, then dx, dy, vx, vy of each mass, then
    the way to the goal; `b1` (H,), `w2` (K, H), `b2` (K,). The gradients have the same names and shapes.
    """

    def __init__(self, robot: Robot, hidden: int, steps: int, precision: str = "f64"):
        of = World()
        real = {"f32": ti.f32, "f64": ti.f64}[precision]
        n, k = len(robot.x), len(robot.pairs)
        inputs = WAVES + 4 * n + 2
        x, v, push = (ti.Vector.field(2, real, (steps + 1, n), needs_grad=True) for _ in range(3))
        centre = ti.Vector.field(2, real, steps, needs_grad=True)
        h = ti.field(real, (steps, hidden), needs_grad=True)
        act = ti.field(real, (steps, k), needs_grad=True)
        loss = ti.field(real, (), needs_grad=True)
        shapes = {"w1": (hidden, inputs), "b1": hidden, "w2": (k, hidden), "b2": k}
        weights = {name: ti.field(real, shape, needs_grad=True) for name, shape in shapes.items()}
        w1, b1, w2, b2 = weights.values()
        pairs, rest, swing = ti.field(ti.i32, (k, 2)), ti.field(real, k), ti.field(real, k)
        for field, values in ((pairs, robot.pairs), (rest, robot.rest), (swing, robot.swing)):
            field.from_numpy(np.asarray(values))
        start = ti.Vector.field(2, real, n)
        start.from_numpy(np.asarray(robot.x))
        dt, decay, head = of.dt, exp(-of.damping * of.dt), robot.head

        @ti.kernel
        def begin():
            for t, i in push:
                push[t, i] = ti.Vector([real(0.0), real(0.0)])
            for i in start:
                x[0, i] = start[i]
                v[0, i] = ti.Vector([real(0.0), real(0.0)])

        @ti.kernel
        def centres(t: ti.i32):
            for _ in range(1):
                c = ti.Vector([real(0.0), real(0.0)])
                for i in ti.static(range(n)):
                    c += x[t, i]
                centre[t] = real(1.0 / n) * c

        @ti.kernel
        def first_layer(t: ti.i32, time: real):
            for i in range(hidden):
                z = b1[i]
                for j in ti.static(range(WAVES)):
                    z += w1[i, j] * ti.sin(real(of.omega) * time + real(2.0 * pi / WAVES * j))
                for j in ti.static(range(n)):
                    r = x[t, j] - centre[t]
                    z += real(of.gain) * w1[i, WAVES + 4 * j] * r[0]
                    z += real(of.gain) * w1[i, WAVES + 4 * j + 1] * r[1]
                    z += real(of.gain) * w1[i, WAVES + 4 * j + 2] * v[t, j][0]
                    z += real(of.gain) * w1[i, WAVES + 4 * j + 3] * v[t, j][1]
                z += w1[i, inputs - 2] * (real(of.goal[0]) - centre[t][0])
                z += w1[i, inputs - 1] * (real(of.goal[1]) - centre[t][1])
                h[t, i] = ti.tanh(z)

        @ti.kernel
        def second_layer(t: ti.i32):
            for i in range(k):
                z = b2[i]
                for j in ti.static(range(hidden)):
                    z += w2[i, j] * h[t, j]
                act[t, i] = ti.tanh(z)

        @ti.kernel
        def pull(t: ti.i32):
            for i in range(k):
                a, b = pairs[i, 0], pairs[i, 1]
                r = x[t, a] - x[t, b]
                length = r.norm()
                stretch = length - rest[i] * (real(1.0) + swing[i] * act[t, i])
                impulse = real(dt * of.stiffness) * stretch / length * r
                ti.atomic_add(push[t + 1, a], -impulse)
                ti.atomic_add(push[t + 1, b], impulse)

        @ti.kernel
        def move(t: ti.i32):
            for i in range(n):
                free = real(decay) * v[t, i] + push[t + 1, i] + ti.Vector([real(0.0), real(dt * of.gravity)])
                flight, kept = real(dt), real(1.0)
                if x[t, i][1] + real(dt) * free[1] < real(of.ground) and free[1] < real(-of.slowest):
                    flight = (real(of.ground) - x[t, i][1]) / free[1]
                    kept = real(0.0)
                x[t + 1, i] = x[t, i] + flight * free
                v[t + 1, i] = kept * free

        @ti.kernel
        def judge():
            loss[None] = -x[steps, head][0]

        def forward():
            for t in range(steps):
                centres(t)
                first_layer(t, t * dt)
                second_layer(t)
                pull(t)
                move(t)
            judge()

        self.x, self._weights, self._loss, self._begin, self._forward = x, weights, loss, begin, forward

    def value(self, weights: Mapping[str, np.ndarray]) -> float:
        """The loss."""
        self._put(weights)
        self._forward()
        return float(self._loss[None])

    def evaluate(self, weights: Mapping[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        """The loss and its gradients by all weights."""
        self._put(weights)
        with ti.ad.Tape(self._loss):
            self._forward()
        return float(self._loss[None]), {name: field.grad.to_numpy() for name, field in self._weights.items()}

    def train(self, weights: Mapping[str, np.ndarray], iterations: int, length: float = 0.2) -> list[float]:
        """The losses before and after steps of this length against the gradient, as DiffTaichi trains."""
        at, losses = dict(weights), []
        for _ in range(iterations):
            found, gradients = self.evaluate(at)
            losses.append(found)
            norm = np.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
            at = {name: w - length / (norm + 1e-6) * gradients[name] for name, w in at.items()}
        return [*losses, self.value(at)]

    def _put(self, weights: Mapping[str, np.ndarray]) -> None:
        for name, field in self._weights.items():
            field.from_numpy(np.asarray(weights[name]))
        self._begin()


def loss_and_gradients(
    robot: Robot, weights: Mapping[str, np.ndarray], steps: int, precision: str = "f64"
) -> tuple[float, dict[str, np.ndarray]]:
    """-x of the head after so many steps, and its gradients by the weights."""
    return MassSpring(robot, len(weights["b1"]), steps, precision).evaluate(weights)
