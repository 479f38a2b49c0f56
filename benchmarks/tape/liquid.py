"""A soft walker under falling water in Taichi alone: the material point method in space, by `ti.ad.Tape`.

Particles are kept of every step; grids are recomputed on the way back. The loss is minus the mean of x of the
solid at the end.
"""

from collections.abc import Callable

import numpy as np

from minusgrad import ti


def program(
    places: np.ndarray,
    muscles: np.ndarray,
    water: np.ndarray,
    steps: int,
    precision: str = "f64",
    cells: int = 64,
    dt: float = 2e-3,
    stiffness: float = 10.0,
    strength: float = 5.0,
    omega: float = 40.0,
    gravity: float = 10.0,
) -> Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray, np.ndarray]]:
    """A function of weights (muscles, waves) and biases (muscles,) that returns loss [m], dL/dw, dL/db.

    places: (n, 3) [m] in the unit cube. muscles: (n,), the muscle of each particle, or -1. water: (n,), True
    for particles of the fluid, whose mass is 4; that of the others is 1.
    """
    real, n, driven, h = getattr(ti, precision), len(places), int(muscles.max()) + 1, 1.0 / cells
    waves, wall, solid = 4, 3, int((~water).sum())
    x, v = (ti.Vector.field(3, real, (steps + 1, n), needs_grad=True) for _ in range(2))
    C, F = (ti.Matrix.field(3, 3, real, (steps + 1, n), needs_grad=True) for _ in range(2))
    P, V = (ti.Vector.field(3, real, (cells,) * 3, needs_grad=True) for _ in range(2))
    M = ti.field(real, (cells,) * 3, needs_grad=True)
    w, b = ti.field(real, (driven, waves), needs_grad=True), ti.field(real, driven, needs_grad=True)
    pull = ti.field(real, (steps, driven), needs_grad=True)
    muscle, wet = ti.field(ti.i32, n), ti.field(ti.i32, n)
    loss = ti.field(real, (), needs_grad=True)
    muscle.from_numpy(muscles.astype(np.int32))
    wet.from_numpy(water.astype(np.int32))

    @ti.kernel
    def clear():
        for at in ti.grouped(M):
            P[at], M[at] = ti.Vector.zero(real, 3), 0.0
            P.grad[at], M.grad[at], V.grad[at] = ti.Vector.zero(real, 3), 0.0, ti.Vector.zero(real, 3)

    @ti.kernel
    def contract(t: ti.i32):
        for k in range(driven):
            total = b[k]
            for s in ti.static(range(waves)):
                total += w[k, s] * ti.sin(omega * t * dt + 2.0 * np.pi / waves * s)
            pull[t, k] = ti.tanh(total)

    @ti.func
    def weights(fx):
        return [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]

    @ti.kernel
    def scatter(t: ti.i32):
        for p in range(n):
            new = (ti.Matrix.identity(real, 3) + dt * C[t, p]) @ F[t, p]
            J = new.determinant()
            stress, mass = ti.Matrix.zero(real, 3, 3), 1.0
            if wet[p] == 1:
                new = J ** (1.0 / 3.0) * ti.Matrix.identity(real, 3)
                stress, mass = stiffness * (J - 1.0) * ti.Matrix.identity(real, 3), 4.0
            else:
                stress = stiffness * (new @ new.transpose())
                stress += stiffness * (ti.log(J) - 1.0) * ti.Matrix.identity(real, 3)
            if muscle[p] >= 0:
                along = ti.Vector([new[0, 2], new[1, 2], new[2, 2]])
                stress += strength * pull[t, ti.max(muscle[p], 0)] * along.outer_product(along)
            F[t + 1, p] = new
            affine = mass * C[t, p] - dt * 4.0 / h**2 * stress
            base = ti.cast(x[t, p] / h - 0.5, ti.i32)
            fx = x[t, p] / h - ti.cast(base, real)
            share = weights(fx)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                away = (ti.Vector([i, j, k]) - fx) * h
                part = share[i][0] * share[j][1] * share[k][2]
                P[base + ti.Vector([i, j, k])] += part * (mass * v[t, p] + affine @ away)
                M[base + ti.Vector([i, j, k])] += part * mass

    @ti.kernel
    def on_grid():
        for at in ti.grouped(M):
            out = P[at] / (M[at] + 1e-10)
            out[1] -= dt * gravity
            for a in ti.static(range(3)):
                if (at[a] < wall and out[a] < 0.0) or (at[a] > cells - wall and out[a] > 0.0):
                    out = ti.Vector.zero(real, 3)
            V[at] = out

    @ti.kernel
    def gather(t: ti.i32):
        for p in range(n):
            base = ti.cast(x[t, p] / h - 0.5, ti.i32)
            fx = x[t, p] / h - ti.cast(base, real)
            share = weights(fx)
            new_v, new_C = ti.Vector.zero(real, 3), ti.Matrix.zero(real, 3, 3)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                there = share[i][0] * share[j][1] * share[k][2] * V[base + ti.Vector([i, j, k])]
                new_v += there
                new_C += 4.0 / h * there.outer_product(ti.Vector([i, j, k]) - fx)
            v[t + 1, p], C[t + 1, p] = new_v, new_C
            x[t + 1, p] = x[t, p] + dt * new_v

    @ti.kernel
    def judge():
        for p in range(n):
            if wet[p] == 0:
                loss[None] -= x[steps, p][0] / solid

    @ti.ad.grad_replaced
    def advance(t):
        clear()
        contract(t)
        scatter(t)
        on_grid()
        gather(t)

    @ti.ad.grad_for(advance)
    def back(t):
        clear()
        scatter(t)
        on_grid()
        gather.grad(t)
        on_grid.grad()
        scatter.grad(t)
        contract.grad(t)

    def evaluate(w0: np.ndarray, b0: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        for field, start in ((x, places), (F, np.tile(np.eye(3), (n, 1, 1)))):
            values = np.zeros((steps + 1, *start.shape))
            values[0] = start
            field.from_numpy(values)
        w.from_numpy(w0)
        b.from_numpy(b0)
        with ti.ad.Tape(loss):
            for t in range(steps):
                advance(t)
            judge()
        return float(loss[None]), w.grad.to_numpy(), b.grad.to_numpy()

    return evaluate
