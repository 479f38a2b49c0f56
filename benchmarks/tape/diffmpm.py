"""A soft crawler in Taichi alone: the material point method over all steps, by `ti.ad.Tape`.

Particles are kept of every step; grids, which would not fit into memory, are recomputed on the way back. The
loss is minus the mean of x at the end.
"""

from collections.abc import Callable

import numpy as np

from minusgrad import ti


def program(
    places: np.ndarray,
    muscles: np.ndarray,
    steps: int,
    precision: str = "f64",
    cells: int = 128,
    dt: float = 1e-3,
    stiffness: float = 10.0,
    strength: float = 4.0,
    omega: float = 20.0,
    gravity: float = 3.8,
) -> Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray, np.ndarray]]:
    """A function of weights (muscles, waves) and biases (muscles,) that returns loss [m], dL/dw, dL/db.

    places: (n, 2) [m] in the unit square. muscles: (n,), the muscle of each particle, or -1.
    """
    real, n, driven, h = getattr(ti, precision), len(places), int(muscles.max()) + 1, 1.0 / cells
    waves, wall = 4, 3
    x, v = (ti.Vector.field(2, real, (steps + 1, n), needs_grad=True) for _ in range(2))
    C, F = (ti.Matrix.field(2, 2, real, (steps + 1, n), needs_grad=True) for _ in range(2))
    P, V = (ti.Vector.field(2, real, (cells, cells), needs_grad=True) for _ in range(2))
    M = ti.field(real, (cells, cells), needs_grad=True)
    w, b = ti.field(real, (driven, waves), needs_grad=True), ti.field(real, driven, needs_grad=True)
    pull = ti.field(real, (steps, driven), needs_grad=True)
    muscle = ti.field(ti.i32, n)
    loss = ti.field(real, (), needs_grad=True)
    muscle.from_numpy(muscles.astype(np.int32))

    @ti.kernel
    def clear():
        for i, j in M:
            P[i, j], M[i, j] = [0.0, 0.0], 0.0
            P.grad[i, j], M.grad[i, j], V.grad[i, j] = [0.0, 0.0], 0.0, [0.0, 0.0]

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
            new = (ti.Matrix.identity(real, 2) + dt * C[t, p]) @ F[t, p]
            F[t + 1, p] = new
            J = new.determinant()
            cofactor = ti.Matrix([[new[1, 1], -new[1, 0]], [-new[0, 1], new[0, 0]]])
            turned = (new + cofactor) / ti.sqrt((new * new).sum() + 2.0 * J)
            stress = 2.0 * stiffness * (new - turned) + stiffness * (J - 1.0) * cofactor
            if muscle[p] >= 0:
                active = strength * pull[t, ti.max(muscle[p], 0)]
                stress += active * ti.Matrix([[0.0, new[0, 1]], [0.0, new[1, 1]]])
            affine = C[t, p] - dt * 4.0 / h**2 * (stress @ new.transpose())
            base = ti.cast(x[t, p] / h - 0.5, ti.i32)
            fx = x[t, p] / h - ti.cast(base, real)
            share = weights(fx)
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    away = (ti.Vector([i, j]) - fx) * h
                    part = share[i][0] * share[j][1]
                    P[base + ti.Vector([i, j])] += part * (v[t, p] + affine @ away)
                    M[base + ti.Vector([i, j])] += part

    @ti.kernel
    def on_grid():
        for i, j in M:
            out = P[i, j] / (M[i, j] + 1e-10)
            out[1] -= dt * gravity
            if i < wall and out[0] < 0.0:
                out = ti.Vector([0.0, 0.0])
            if i > cells - wall and out[0] > 0.0:
                out = ti.Vector([0.0, 0.0])
            if j < wall and out[1] < 0.0:
                out = ti.Vector([0.0, 0.0])
            if j > cells - wall and out[1] > 0.0:
                out = ti.Vector([0.0, 0.0])
            V[i, j] = out

    @ti.kernel
    def gather(t: ti.i32):
        for p in range(n):
            base = ti.cast(x[t, p] / h - 0.5, ti.i32)
            fx = x[t, p] / h - ti.cast(base, real)
            share = weights(fx)
            new_v, new_C = ti.Vector.zero(real, 2), ti.Matrix.zero(real, 2, 2)
            for i in ti.static(range(3)):
                for j in ti.static(range(3)):
                    there = share[i][0] * share[j][1] * V[base + ti.Vector([i, j])]
                    new_v += there
                    new_C += 4.0 / h * there.outer_product(ti.Vector([i, j]) - fx)
            v[t + 1, p], C[t + 1, p] = new_v, new_C
            x[t + 1, p] = x[t, p] + dt * new_v

    @ti.kernel
    def judge():
        for p in range(n):
            loss[None] -= x[steps, p][0] / n

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
        for field, start in ((x, places), (F, np.tile(np.eye(2), (n, 1, 1)))):
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
