"""A robot of rigid boxes in Taichi alone: its controller, springs, joints and impacts, by `ti.ad.Tape`.

Fields over all steps, of bodies, neurons and struts. The weights are those of a scene, by name; the loss is
the distance of the first box from the goal at the last step.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minusgrad import ti

Values = Mapping[str, np.ndarray]


def program(
    robot: Mapping[str, Any],
    steps: int,
    precision: str = "f64",
    hidden: int = 32,
    dt: float = 1e-3,
    goal: tuple[float, float] = (0.9, 0.15),
    ground: float = 0.1,
    gravity: float = 9.8,
    damping: float = 10.0,
    lifting: float = 1e4,
    friction: float = 1.0,
    swing: float = 0.03,
    scale: float = 20.0,
    pace: float = 30.0,
) -> Callable[[Values], tuple[float, dict[str, np.ndarray]]]:
    """A function of the weights by name that returns the loss [m] and its gradient by each of them.

    robot: NumPy arrays `x` (n, 2), `half` (n, 2), `m` (n,), `inertia` (n,); `struts` (S, 2) pairs of boxes
    with `strut_points` (S, 2, 2), `rest` (S,), and `joints` (J, 2) with `joint_points` (J, 2, 2); `k`, the
    stiffness of struts and joints; `phases` of the sines.
    """
    real = getattr(ti, precision)
    n, struts, joints, waves = (
        len(robot["x"]),
        len(robot["struts"]),
        len(robot["joints"]),
        len(robot["phases"]),
    )

    def over_time(count: int, of: int = 0) -> Any:
        if of:
            return ti.Vector.field(of, real, (steps + 1, count), needs_grad=True)
        return ti.field(real, (steps + 1, count), needs_grad=True)

    x, v, push, delay = (over_time(n, 2) for _ in range(4))
    angle, omega, spin, turn_delay = (over_time(n) for _ in range(4))
    new_v, new_omega = over_time(n, 2), over_time(n)
    neuron, act = over_time(hidden), over_time(struts)
    kept = {
        name: ti.field(real, np.shape(robot[name])) for name in ("half", "m", "inertia", "rest", "phases")
    }
    kept |= {name: ti.field(real, np.shape(robot[name])) for name in ("strut_points", "joint_points")}
    for name, field in kept.items():
        field.from_numpy(np.asarray(robot[name], float))
    half, m, inertia, rest, phases = (kept[k] for k in ("half", "m", "inertia", "rest", "phases"))
    strut_points, joint_points = kept["strut_points"], kept["joint_points"]
    k, pairs, hinged = float(robot["k"]), robot["struts"].tolist(), robot["joints"].tolist()
    shapes = {
        "from_sines.w": (hidden, waves), "from_offsets.w": (hidden, n, 2),
        "from_velocities.w": (hidden, n, 2), "from_angles.w": (hidden, n, 2), "from_goal.w": (hidden, 1, 2),
        "hidden.b": (hidden,), "to_struts.w": (struts, hidden), "muscle.b": (struts,),
    }  # fmt: skip
    weights = {name: ti.field(real, shape, needs_grad=True) for name, shape in shapes.items()}
    ws, wx, wv, wa, wg, b1, w2, b2 = weights.values()
    loss = ti.field(real, (), needs_grad=True)

    @ti.func
    def world(t, i, px, py):
        c, s = ti.cos(angle[t, i]), ti.sin(angle[t, i])
        return ti.Vector([c * px - s * py, s * px + c * py])

    @ti.func
    def cross(a, b):
        return a[0] * b[1] - a[1] * b[0]

    @ti.func
    def velocity_before(t, i, r):
        return v[t, i] + omega[t, i] * ti.Vector([-r[1], r[0]])

    @ti.func
    def velocity(t, i, r):
        return new_v[t, i] + new_omega[t, i] * ti.Vector([-r[1], r[0]])

    @ti.kernel
    def think(t: ti.i32):
        for i in range(hidden):
            total = b1[i]
            for j in ti.static(range(waves)):
                total += ws[i, j] * ti.sin(pace * t * dt + phases[j])
            for j in ti.static(range(n)):
                for q in ti.static(range(2)):
                    total += wx[i, j, q] * (x[t, j][q] - x[t, 0][q]) / scale
                    total += wv[i, j, q] * v[t, j][q] / scale
                total += (wa[i, j, 0] * angle[t, j] + wa[i, j, 1] * omega[t, j]) / scale
            for q in ti.static(range(2)):
                total += wg[i, 0, q] * (goal[q] - x[t, 0][q])
            neuron[t, i] = ti.tanh(total)

    @ti.kernel
    def contract(t: ti.i32):
        for i in range(struts):
            total = b2[i]
            for j in ti.static(range(hidden)):
                total += w2[i, j] * neuron[t, j]
            act[t, i] = ti.tanh(total)

    @ti.kernel
    def fall(t: ti.i32):
        for i in range(n):
            new_v[t, i] += ti.exp(-damping * dt) * v[t, i] - dt * ti.Vector([0.0, gravity])
            new_omega[t, i] += ti.exp(-damping * dt) * omega[t, i]

    @ti.func
    def pull(t, i, r, impulse):
        new_v[t, i] += impulse / m[i]
        new_omega[t, i] += cross(r, impulse) / inertia[i]

    @ti.kernel
    def springs(t: ti.i32):
        for s in ti.static(range(struts)):
            i, j = pairs[s]
            ri = world(t, i, strut_points[s, 0, 0], strut_points[s, 0, 1])
            rj = world(t, j, strut_points[s, 1, 0], strut_points[s, 1, 1])
            apart = x[t, i] + ri - x[t, j] - rj
            length = apart.norm()
            pulled = dt * k * (length - rest[s] * (1.0 + swing * act[t, s])) / length * apart
            pull(t, i, ri, -pulled)
            pull(t, j, rj, pulled)
        for s in ti.static(range(joints)):
            i, j = hinged[s]
            ri = world(t, i, joint_points[s, 0, 0], joint_points[s, 0, 1])
            rj = world(t, j, joint_points[s, 1, 0], joint_points[s, 1, 1])
            pulled = dt * k * (x[t, i] + ri - x[t, j] - rj)
            pull(t, i, ri, -pulled)
            pull(t, j, rj, pulled)

    @ti.func
    def kick(t, i, r, impulse, wait):
        push[t, i] += impulse / m[i]
        spin[t, i] += cross(r, impulse) / inertia[i]
        delay[t, i] += wait * impulse / m[i]
        turn_delay[t, i] += wait * cross(r, impulse) / inertia[i]

    @ti.kernel
    def hold_together(t: ti.i32):
        for s in ti.static(range(joints)):
            i, j = hinged[s]
            ri = world(t, i, joint_points[s, 0, 0], joint_points[s, 0, 1])
            rj = world(t, j, joint_points[s, 1, 0], joint_points[s, 1, 1])
            mobility = ti.Matrix([[1 / m[i] + 1 / m[j], 0.0], [0.0, 1 / m[i] + 1 / m[j]]])
            for r, body in ti.static(((ri, i), (rj, j))):
                arm = ti.Vector([-r[1], r[0]])
                mobility += arm.outer_product(arm) / inertia[body]
            impulse = mobility.inverse() @ (velocity_before(t, j, rj) - velocity_before(t, i, ri))
            kick(t, i, ri, impulse, 0.0)
            kick(t, j, rj, -impulse, 0.0)

    @ti.kernel
    def land(t: ti.i32):
        for i in range(n):
            for side in ti.static((-1.0, 1.0)):
                for end in ti.static((-1.0, 1.0)):
                    r = world(t, i, side * half[i, 0], end * half[i, 1])
                    speed, above = velocity(t, i, r), x[t, i][1] + r[1] - ground
                    then = above + dt * speed[1]
                    if then < 0:
                        normal = 1 / m[i] + r[0] ** 2 / inertia[i]
                        kick(t, i, r, ti.Vector([0.0, -dt * lifting * then / normal]), 0.0)
                        if speed[1] < 0:
                            up = -speed[1] / normal
                            along = -speed[0] / (1 / m[i] + r[1] ** 2 / inertia[i])
                            along = ti.min(friction * up, ti.max(-friction * up, along))
                            wait = 0.0
                            if above > 0:
                                wait = -above / speed[1]
                            kick(t, i, r, ti.Vector([along, up]), wait)

    @ti.kernel
    def advance(t: ti.i32):
        for i in range(n):
            v[t + 1, i] = new_v[t, i] + push[t, i]
            omega[t + 1, i] = new_omega[t, i] + spin[t, i]
            x[t + 1, i] = x[t, i] + dt * (new_v[t, i] + push[t, i]) - delay[t, i]
            angle[t + 1, i] = angle[t, i] + dt * (new_omega[t, i] + spin[t, i]) - turn_delay[t, i]

    @ti.kernel
    def judge():
        loss[None] = ti.sqrt((x[steps, 0][0] - goal[0]) ** 2 + (x[steps, 0][1] - goal[1]) ** 2)

    def evaluate(values: Values) -> tuple[float, dict[str, np.ndarray]]:
        for name, field in weights.items():
            field.from_numpy(np.reshape(values[name], shapes[name]).astype(float))
        for field in (push, delay, spin, turn_delay, new_v, new_omega):
            field.fill(0)
        start = np.zeros((steps + 1, n, 2))
        start[0] = robot["x"]
        x.from_numpy(start)
        with ti.ad.Tape(loss):
            for t in range(steps):
                think(t)
                contract(t)
                fall(t)
                springs(t)
                hold_together(t)
                land(t)
                advance(t)
            judge()
        return float(loss[None]), {name: field.grad.to_numpy() for name, field in weights.items()}

    return evaluate
