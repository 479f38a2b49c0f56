"""Programs in time by JAX: `jax.lax.scan` over blocks of steps, each of which is recomputed on the way back.

Blocks of sqrt(steps) steps keep the memory at 2 sqrt(steps) states (Griewank 1992, Optim. Methods Softw. 1,
35), as `jax.checkpoint` around the inner scan does.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .harness.cases import Call
from .harness.peers import peer

Step = Callable[[Any], Any]


def wave(height: np.ndarray, target: np.ndarray, k: float, steps: int) -> Call:
    """The wave equation on n x n cells with level edges, at rest at first: d(mean square)/d(height)."""
    jax = peer("jax")
    jnp = jax.numpy
    picture = jnp.asarray(target)

    def step(state: Any) -> Any:
        before, h = state
        wide = jnp.pad(h, 1, mode="edge")
        around = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2] - 4 * h
        return h, 2 * h - before + k * around

    def loss(first: Any) -> Any:
        _, last = evolved(jax, step, (first, first), steps)
        return jnp.mean((last - picture) ** 2)

    return _gradient(jax, loss, jnp.asarray(height))


class Crawler(NamedTuple):
    """The numbers of scenes/diffmpm.toml, in its notation. muscle (n,): of each particle, or -1."""

    x: np.ndarray
    v: np.ndarray
    C: np.ndarray
    F: np.ndarray
    m: np.ndarray
    volume: np.ndarray
    wall: np.ndarray
    muscle: np.ndarray
    w: np.ndarray
    b: np.ndarray
    cells: int
    h: float
    dt: float = 1e-3
    omega: float = 20.0
    mu: float = 10.0
    lam: float = 10.0
    strength: float = 4.0
    gravity: float = -3.8
    tiny: float = 1e-10


def crawler(given: Crawler, steps: int) -> Call:
    """The soft crawler in the plane: d(minus the mean of x)/d(weights and biases of its muscles).

    The stress is written by hand; scatter and gather are sums over the nine cells around each particle.
    """
    jax = peer("jax")
    jnp = jax.numpy
    n, h, dt = given.cells, given.h, given.dt
    m, volume, wall = (jnp.asarray(a) for a in (given.m, given.volume, given.wall.reshape(n, n, 2)))
    owner, driven = jnp.asarray(np.maximum(given.muscle, 0)), jnp.asarray(given.muscle >= 0, given.x.dtype)
    places = jnp.asarray([(i, j) for i in range(3) for j in range(3)])
    quarters = jnp.arange(4) * (math.pi / 2)

    def weights(x: Any) -> tuple[Any, Any, Any]:
        """The cell of each particle's corner, and weights and offsets of its nine cells."""
        base = jnp.floor(x / h - 0.5).astype(jnp.int32)
        f = x / h - base
        w = jnp.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2])
        return base, w[places[:, 0], :, 0] * w[places[:, 1], :, 1], (places[:, None] - f) * h

    def stress(F: Any, act: Any) -> Any:
        J = F[:, 0, 0] * F[:, 1, 1] - F[:, 0, 1] * F[:, 1, 0]
        cof = jnp.stack([jnp.stack([F[:, 1, 1], -F[:, 1, 0]], 1), jnp.stack([-F[:, 0, 1], F[:, 0, 0]], 1)], 1)
        root = jnp.sqrt((F * F).sum((1, 2)) + 2.0 * J)[:, None, None]
        solid = given.mu * 2.0 * (F - (F + cof) / root) + given.lam * (J - 1.0)[:, None, None] * cof
        muscle = jnp.zeros_like(F).at[:, :, 1].set(given.strength * act[:, None] * F[:, :, 1])
        return volume[:, None, None] * (solid + muscle)

    def on_walls(V: Any) -> Any:
        return jnp.where((wall * V < 0.0).any(-1, keepdims=True), 0.0, V)

    def loss(weights_and_biases: tuple[Any, Any]) -> Any:
        w, b = weights_and_biases

        def step(state: Any) -> Any:
            x, v, C, F, now = state
            act = jnp.tanh(w @ jnp.sin(given.omega * now + quarters) + b)[owner] * driven
            F = F + dt * C @ F
            A = m[:, None, None] * C - dt * 4.0 / h**2 * stress(F, act) @ F.swapaxes(1, 2)
            base, share, d = weights(x)
            row, column = (base[None, :, 1] + places[:, 1:]), (base[None, :, 0] + places[:, :1])
            momentum = share[..., None] * ((m[:, None] * v)[None] + jnp.einsum("nij,knj->kni", A, d))
            p = jnp.zeros((n, n, 2), x.dtype).at[row, column].add(momentum)
            mass = jnp.zeros((n, n), x.dtype).at[row, column].add(share * m)
            V = on_walls(p / (mass + given.tiny)[..., None] + dt * jnp.array([0.0, given.gravity], x.dtype))
            seen = share[..., None] * V[row, column]
            v = seen.sum(0)
            return x + dt * v, v, 4.0 / h**2 * jnp.einsum("kni,knj->nij", seen, d), F, now + dt

        start = (*(jnp.asarray(a) for a in given[:4]), jnp.zeros((), given.x.dtype))
        return -evolved(jax, step, start, steps)[0][:, 0].mean()

    return _gradient(jax, loss, (jnp.asarray(given.w), jnp.asarray(given.b)))


def evolved(jax: Any, step: Step, state: Any, steps: int) -> Any:
    """The state after so many steps; on the way back each block is run again."""

    def one(state: Any, _: None) -> Any:
        return step(state), None

    def block(state: Any, _: None) -> Any:
        return jax.lax.scan(one, state, None, length=inner)

    inner = math.isqrt(steps)
    state, _ = jax.lax.scan(jax.checkpoint(block), state, None, length=steps // inner)
    return jax.lax.scan(one, state, None, length=steps % inner)[0]


def _gradient(jax: Any, loss: Callable[[Any], Any], start: Any) -> Call:
    both = jax.jit(jax.value_and_grad(loss))

    def call() -> Any:
        _, gradient = both(start)
        return jax.numpy.concatenate([one.ravel() for one in jax.tree.leaves(gradient)]).block_until_ready()

    return call
