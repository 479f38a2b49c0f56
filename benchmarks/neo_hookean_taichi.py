"""The neo-Hookean gradient as a user writes it in Taichi, without minusgrad."""

import numpy as np

from minusgrad import ti

from .harness.cases import Call
from .solid import Solid


def by_hand(solid: Solid, precision: str) -> Call:
    """The closed form, and atomic sums into the nodes: columns of F and cross products, no matrix library."""
    real = getattr(ti, precision)
    vector = ti.types.vector(3, real)
    x, g = ti.ndarray(vector, len(solid.x)), ti.ndarray(vector, len(solid.x))
    cells, weights, volumes = given(solid, precision)
    x.from_numpy(solid.x.astype(weights.dtype))
    mu, lam = solid.lame

    @ti.kernel
    def forces(
        x: ti.types.ndarray(dtype=vector, ndim=1), cells: ti.types.ndarray(dtype=ti.i32, ndim=2),
        weights: ti.types.ndarray(dtype=real, ndim=3), volumes: ti.types.ndarray(dtype=real, ndim=1),
        mu: real, lam: real, g: ti.types.ndarray(dtype=vector, ndim=1),
    ):  # fmt: skip
        for e in volumes:
            first = x[cells[e, 0]]
            a, b, c = x[cells[e, 1]] - first, x[cells[e, 2]] - first, x[cells[e, 3]] - first
            f0 = a * weights[e, 1, 0] + b * weights[e, 2, 0] + c * weights[e, 3, 0]
            f1 = a * weights[e, 1, 1] + b * weights[e, 2, 1] + c * weights[e, 3, 1]
            f2 = a * weights[e, 1, 2] + b * weights[e, 2, 2] + c * weights[e, 3, 2]
            c0, c1, c2 = f1.cross(f2), f2.cross(f0), f0.cross(f1)
            J = f0.dot(c0)
            k = (lam * ti.log(J) - mu) / J
            p0, p1, p2 = mu * f0 + k * c0, mu * f1 + k * c1, mu * f2 + k * c2
            total = vector(0.0)
            for q in ti.static(range(1, 4)):
                force = volumes[e] * (p0 * weights[e, q, 0] + p1 * weights[e, q, 1] + p2 * weights[e, q, 2])
                total += force
                g[cells[e, q]] += force
            g[cells[e, 0]] -= total

    def call() -> np.ndarray:
        g.fill(0.0)
        forces(x, cells, weights, volumes, mu, lam, g)
        ti.sync()
        return g

    return call


def by_reverse_mode(solid: Solid, precision: str) -> Call:
    """The energy with `Matrix` code, summed into one scalar and differentiated by the engine."""
    real = getattr(ti, precision)
    x = ti.Vector.field(3, real, len(solid.x), needs_grad=True)
    U = ti.field(real, (), needs_grad=True)
    x.from_numpy(solid.x.astype(np.float32 if precision == "f32" else np.float64))
    energy = reverse_mode_kernel(x, U, real, *solid.lame)
    arrays = given(solid, precision)

    def call() -> np.ndarray:
        x.grad.fill(0.0)
        U.grad[None] = 1.0
        energy.grad(*arrays)
        ti.sync()
        return x.grad

    return call


def reverse_mode_kernel(x, U, real, mu: float, lam: float):  # type: ignore[no-untyped-def]
    """U[None] += the energy of all tetrahedra."""

    @ti.kernel
    def energy(
        cells: ti.types.ndarray(dtype=ti.i32, ndim=2), weights: ti.types.ndarray(dtype=real, ndim=3),
        volumes: ti.types.ndarray(dtype=real, ndim=1),
    ):  # fmt: skip
        for e in range(volumes.shape[0]):
            first = x[cells[e, 0]]
            D = ti.Matrix.cols([x[cells[e, 1]] - first, x[cells[e, 2]] - first, x[cells[e, 3]] - first])
            B = ti.Matrix([[weights[e, a, k] for k in range(3)] for a in range(1, 4)])
            F = D @ B
            log_J = ti.log(F.determinant())
            density = 0.5 * mu * ((F.transpose() @ F).trace() - 3.0) - mu * log_J + 0.5 * lam * log_J * log_J
            U[None] += volumes[e] * density

    return energy


def given(solid: Solid, precision: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells, weights (E, 4, 3) and volumes."""
    dtype = np.float32 if precision == "f32" else np.float64
    return solid.cells, np.ascontiguousarray(solid.gradients, dtype), solid.volumes.astype(dtype)
