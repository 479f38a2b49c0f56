"""Programs in time by JAX: `jax.lax.scan` over blocks of steps, each of which is recomputed on the way back.

Blocks of sqrt(steps) steps keep the memory at 2 sqrt(steps) states (Griewank 1992, Optim. Methods Softw. 1,
35), as `jax.checkpoint` around the inner scan does.
"""

import math
from collections.abc import Callable
from typing import Any

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
        return gradient.block_until_ready().ravel()

    return call
