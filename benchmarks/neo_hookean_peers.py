"""The neo-Hookean solid by peers, each in the form that is best there."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .harness.cases import Call
from .harness.peers import peer
from .solid import Solid

Maker = Callable[[Solid, str], Call]


class _Arrays:
    """Positions, direction, cells, weights (E, 3, 3) of nodes 1 to 3, volumes, as a library wants them."""

    def __init__(self, solid: Solid, precision: str, array: Callable[[np.ndarray], Any]):
        dtype = np.float32 if precision == "f32" else np.float64
        self.x, self.along = array(solid.x.astype(dtype)), array(solid.along.astype(dtype))
        self.cells = array(solid.cells.astype(np.int64))
        self.weights, self.volumes = (
            array(solid.gradients[:, 1:].astype(dtype)),
            array(solid.volumes.astype(dtype)),
        )
        self.lame, self.count = solid.lame, len(solid.x)
        # the cells at each node, padded with a cell beyond the last: an ordered gather
        order = np.argsort(solid.cells.reshape(-1), kind="stable")
        node = solid.cells.reshape(-1)[order]
        begins = np.searchsorted(node, np.arange(self.count))
        place = np.arange(len(order)) - begins[node]
        lists = np.full((self.count, place.max() + 1), solid.cells.size)
        lists[node, place] = order
        self.lists = array(lists)


def _closed_form(d: tuple, w: list[list[Any]], volume: Any, lame: tuple[float, float], log: Any) -> list[Any]:
    """Forces of the four nodes, from nine differences and nine weights, number by number."""
    mu, lam = lame
    F = [[d[0][i] * w[0][A] + d[1][i] * w[1][A] + d[2][i] * w[2][A] for A in range(3)] for i in range(3)]
    C = _cofactor(F)
    J = F[0][0] * C[0][0] + F[0][1] * C[0][1] + F[0][2] * C[0][2]
    k = volume * (lam * log(J) - mu) / J
    P = [[volume * mu * F[i][A] + k * C[i][A] for A in range(3)] for i in range(3)]
    return _forces(P, w)


def _closed_product(
    d: tuple, e: tuple, w: list[list[Any]], volume: Any, lame: tuple[float, float], log: Any
) -> list[Any]:
    """The change of the forces along the differences e."""
    mu, lam = lame
    F = [[d[0][i] * w[0][A] + d[1][i] * w[1][A] + d[2][i] * w[2][A] for A in range(3)] for i in range(3)]
    D = [[e[0][i] * w[0][A] + e[1][i] * w[1][A] + e[2][i] * w[2][A] for A in range(3)] for i in range(3)]
    C = _cofactor(F)
    J = F[0][0] * C[0][0] + F[0][1] * C[0][1] + F[0][2] * C[0][2]
    k = (lam * log(J) - mu) / J
    along = sum(C[i][A] * D[i][A] for i in range(3) for A in range(3))
    change = (lam / J - k) / J * along
    P = [[None] * 3 for _ in range(3)]
    for i in range(3):
        for A in range(3):
            j, h, B, G = (i + 1) % 3, (i + 2) % 3, (A + 1) % 3, (A + 2) % 3
            dC = D[j][B] * F[h][G] + F[j][B] * D[h][G] - D[j][G] * F[h][B] - F[j][G] * D[h][B]
            P[i][A] = volume * (mu * D[i][A] + k * dC + change * C[i][A])
    return _forces(P, w)


def _cofactor(F: list[list[Any]]) -> list[list[Any]]:
    def of(i: int, A: int) -> Any:
        j, k, B, D = (i + 1) % 3, (i + 2) % 3, (A + 1) % 3, (A + 2) % 3
        return F[j][B] * F[k][D] - F[j][D] * F[k][B]

    return [[of(i, A) for A in range(3)] for i in range(3)]


def _forces(P: list[list[Any]], w: list[list[Any]]) -> list[Any]:
    f = [[P[i][0] * w[a][0] + P[i][1] * w[a][1] + P[i][2] * w[a][2] for i in range(3)] for a in range(3)]
    return [*(-(f[0][i] + f[1][i] + f[2][i]) for i in range(3)), *(c for row in f for c in row)]


# torch ----------------------------------------------------------------------------------------------


def torch_compiled(solid: Solid, precision: str, product: bool = False) -> Call:
    """The closed form, element by element, and an ordered gather: two loops when compiled."""
    torch = peer("torch")
    a = _Arrays(solid, precision, torch.as_tensor)
    weights = [[a.weights[:, q, A].contiguous() for A in range(3)] for q in range(3)]
    corners = [a.cells[:, q].contiguous() for q in range(4)]

    def differences(x: Any) -> tuple:
        c = [[x[corner, i] for i in range(3)] for corner in corners]
        return tuple([c[q][i] - c[0][i] for i in range(3)] for q in (1, 2, 3))

    def forces(x: Any, along: Any, volumes: Any) -> Any:
        if product:
            found = _closed_product(differences(x), differences(along), weights, volumes, a.lame, torch.log)
        else:
            found = _closed_form(differences(x), weights, volumes, a.lame, torch.log)
        slots = torch.stack(found, 1).reshape(-1, 3)
        return torch.cat([slots, slots.new_zeros(1, 3)])[a.lists].sum(1)

    compiled = torch.compile(forces)

    def call() -> Any:
        with torch.no_grad():
            return compiled(a.x, a.along, a.volumes)

    return call


def torch_autograd(solid: Solid, precision: str, product: bool = False) -> Call:
    """The energy with matrices, eager; the product by `torch.func.jvp` of its gradient."""
    torch = peer("torch")
    a = _Arrays(solid, precision, torch.as_tensor)
    mu, lam = a.lame

    def energy(x: Any) -> Any:
        corner = x[a.cells]
        F = (corner[:, 1:] - corner[:, :1]).transpose(1, 2) @ a.weights
        log_J = torch.log(torch.linalg.det(F))
        density = 0.5 * mu * ((F * F).sum((1, 2)) - 3) - mu * log_J + 0.5 * lam * log_J**2
        return (a.volumes * density).sum()

    gradient = torch.func.grad(energy)
    if product:
        return lambda: torch.func.jvp(gradient, (a.x,), (a.along,))[1]
    return lambda: gradient(a.x)


# JAX ------------------------------------------------------------------------------------------------


def in_jax(solid: Solid, precision: str, product: bool = False) -> Call:
    """`jit(grad)` of the energy, forces of elements by `vmap`; the product by `jvp` of it."""
    jax = peer("jax")
    jnp = jax.numpy
    a = _Arrays(solid, precision, jnp.asarray)
    density = _density(jnp, a.lame)

    def energy(x: Any) -> Any:
        return jax.vmap(density)(x[a.cells], a.weights, a.volumes).sum()

    if product:
        function = jax.jit(lambda x, w: jax.jvp(jax.grad(energy), (x,), (w,))[1])
        return lambda: jax.block_until_ready(function(a.x, a.along))
    gradient = jax.jit(jax.grad(energy))
    return lambda: jax.block_until_ready(gradient(a.x))


def jax_hessians(solid: Solid, precision: str) -> Call:
    """`jit(vmap(hessian))`"""
    jax = peer("jax")
    jnp = jax.numpy
    a = _Arrays(solid, precision, jnp.asarray)
    function = jax.jit(jax.vmap(jax.hessian(_density(jnp, a.lame))))
    low, high = np.tril_indices(12)

    def call() -> Any:
        found = jax.block_until_ready(function(a.x[a.cells], a.weights, a.volumes))
        return found[:4096].reshape(-1, 12, 12)[:, low, high]

    return call


def _density(jnp: Any, lame: tuple[float, float]) -> Callable[..., Any]:
    mu, lam = lame

    def of(x: Any, weights: Any, volume: Any) -> Any:
        F = [
            [sum((x[q + 1, i] - x[0, i]) * weights[q, A] for q in range(3)) for A in range(3)]
            for i in range(3)
        ]
        C = _cofactor(F)
        log_J = jnp.log(F[0][0] * C[0][0] + F[0][1] * C[0][1] + F[0][2] * C[0][2])
        square = sum(F[i][A] * F[i][A] for i in range(3) for A in range(3))
        return volume * (0.5 * mu * (square - 3) - mu * log_J + 0.5 * lam * log_J * log_J)

    return of


# Warp -----------------------------------------------------------------------------------------------


def in_warp(solid: Solid, precision: str) -> Call:
    """The energy with matrices, by its tape; on the CPU with one thread."""
    wp = peer("warp")
    real = wp.float32 if precision == "f32" else wp.float64
    dtype = np.float32 if precision == "f32" else np.float64
    vector, matrix = wp.types.vector(3, real), wp.types.matrix((3, 3), real)
    mu, lam = (real(value) for value in solid.lame)
    half, three = real(0.5), real(3.0)

    @wp.kernel
    def energy(
        x: wp.array(dtype=vector), cells: wp.array2d(dtype=wp.int32), weights: wp.array(dtype=matrix),
        volumes: wp.array(dtype=real), U: wp.array(dtype=real),
    ):  # type: ignore  # fmt: skip
        e = wp.tid()
        first = x[cells[e, 0]]
        d = wp.matrix_from_cols(x[cells[e, 1]] - first, x[cells[e, 2]] - first, x[cells[e, 3]] - first)
        F = d * weights[e]
        log_J = wp.log(wp.determinant(F))
        density = half * mu * (wp.ddot(F, F) - three) - mu * log_J + half * lam * log_J * log_J
        wp.atomic_add(U, 0, volumes[e] * density)

    x = wp.array(solid.x.astype(dtype), dtype=vector, device="cpu", requires_grad=True)
    given = [
        wp.array(solid.cells.astype(np.int32), dtype=wp.int32, device="cpu"),
        wp.array(np.ascontiguousarray(solid.gradients[:, 1:].astype(dtype)), dtype=matrix, device="cpu"),
        wp.array(solid.volumes.astype(dtype), dtype=real, device="cpu"),
    ]
    U = wp.zeros(1, dtype=real, device="cpu", requires_grad=True)

    def call() -> Any:
        tape = wp.Tape()
        with tape:
            wp.launch(energy, dim=len(solid.cells), inputs=[x, *given, U], device="cpu")
        x.grad.zero_()
        tape.backward(U)
        return x.grad

    return call


# numba ----------------------------------------------------------------------------------------------


def in_numba(solid: Solid, precision: str) -> Call:
    """The closed form into a buffer, then an ordered gather: our scheme, by hand."""
    numba = peer("numba")
    dtype = np.float32 if precision == "f32" else np.float64
    real = dtype
    mu, lam = (dtype(value) for value in solid.lame)

    @numba.njit(parallel=True, fastmath=True)
    def forces(x: Any, cells: Any, weights: Any, volumes: Any, slots: Any) -> None:
        for e in numba.prange(len(cells)):
            d = np.empty((3, 3), real)
            F = np.empty((3, 3), real)
            for q in range(3):
                for i in range(3):
                    d[q, i] = x[cells[e, q + 1], i] - x[cells[e, 0], i]
            for i in range(3):
                for A in range(3):
                    F[i, A] = (
                        d[0, i] * weights[e, 0, A] + d[1, i] * weights[e, 1, A] + d[2, i] * weights[e, 2, A]
                    )
            C = np.empty((3, 3), real)
            for i in range(3):
                for A in range(3):
                    j, k, B, D = (i + 1) % 3, (i + 2) % 3, (A + 1) % 3, (A + 2) % 3
                    C[i, A] = F[j, B] * F[k, D] - F[j, D] * F[k, B]
            J = F[0, 0] * C[0, 0] + F[0, 1] * C[0, 1] + F[0, 2] * C[0, 2]
            m, k = volumes[e] * mu, volumes[e] * (lam * np.log(J) - mu) / J
            for i in range(3):
                total = real(0.0)
                for q in range(3):
                    force = real(0.0)
                    for A in range(3):
                        force += (m * F[i, A] + k * C[i, A]) * weights[e, q, A]
                    slots[e, q + 1, i] = force
                    total += force
                slots[e, 0, i] = -total

    @numba.njit(parallel=True, fastmath=True)
    def gather(start: Any, order: Any, slots: Any, g: Any) -> None:
        for n in numba.prange(len(g)):
            a = b = c = real(0.0)
            for q in range(start[n], start[n + 1]):
                a += slots[order[q], 0]
                b += slots[order[q], 1]
                c += slots[order[q], 2]
            g[n, 0], g[n, 1], g[n, 2] = a, b, c

    order = np.argsort(solid.cells.reshape(-1), kind="stable")
    start = np.searchsorted(solid.cells.reshape(-1)[order], np.arange(len(solid.x) + 1))
    x, weights = solid.x.astype(dtype), np.ascontiguousarray(solid.gradients[:, 1:].astype(dtype))
    volumes = solid.volumes.astype(dtype)
    slots, g = np.zeros((len(volumes), 4, 3), dtype), np.zeros_like(x)

    def call() -> np.ndarray:
        forces(x, solid.cells, weights, volumes, slots)
        gather(start, order, slots.reshape(-1, 3), g)
        return g

    return call


OF: dict[str, dict[str, Maker]] = {
    "gradient": {
        "torch.compile": torch_compiled,
        "torch, autograd": torch_autograd,
        "JAX": in_jax,
        "numba, by hand": in_numba,
        "Warp": in_warp,
    },
    "product": {
        "torch.compile": lambda s, p: torch_compiled(s, p, product=True),
        "torch, jvp": lambda s, p: torch_autograd(s, p, product=True),
        "JAX": lambda s, p: in_jax(s, p, product=True),
    },
    "hessians": {"JAX": jax_hessians},
}
"""By what is asked."""
