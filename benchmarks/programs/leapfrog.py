"""Leapfrog for gravity, kick - drift - kick, as a program: read a state, take the steps, save the last one.

    python -m benchmarks.programs.leapfrog FORM STATE.npz LAST.npy

STATE holds x, v (n, 3), m (n,), dt, eps, steps; x comes out. G = 1.
"""

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

State = dict[str, Any]
"""x, v, m in the precision of the run; dt, eps, steps."""

Program = Callable[[State], Callable[[], np.ndarray]]
"""From a state to what takes all the steps from it, and gives the last x."""


def in_c(state: State) -> Callable[[], np.ndarray]:
    """`reference/leapfrog.c`: registers by hand."""
    from ..harness.compiled import NUMBER, aligned, library, pointers, width
    from ..harness.session import threads

    dtype = state["x"].dtype
    precision = "f32" if dtype == np.float32 else "f64"
    run = library("leapfrog.c", precision).leapfrog
    more = -len(state["m"]) % (2 * width("leapfrog.c", precision))
    x0, v0 = (np.pad(state[name], ((0, more), (0, 0))).T for name in "xv")
    m = aligned(np.pad(state["m"], (0, more)), dtype)
    x, v, g = (aligned(values, dtype) for values in (x0, v0, 0 * x0))
    number = NUMBER[precision]

    def call() -> np.ndarray:
        x[...], v[...] = x0, v0
        sizes = (ctypes.c_int(n) for n in (len(m), threads(), int(state["steps"])))
        run(*sizes, *pointers([x, v, m, g]), number(state["eps"]), number(state["dt"]))
        return x.T[: len(state["m"])]

    return call


def in_taichi(state: State) -> Callable[[], np.ndarray]:
    """By hand: structure of arrays, one kernel for the forces and the kick, one for kick and drift."""
    from minusgrad import ti

    from ..gravity_by_hand import taichi_pull

    real = ti.f32 if state["x"].dtype == np.float32 else ti.f64
    pull = taichi_pull(real)
    h, eps = float(state["dt"]), float(state["eps"])

    @ti.kernel
    def kicked(
        x: ti.types.ndarray(dtype=real, ndim=2), v: ti.types.ndarray(dtype=real, ndim=2),
        m: ti.types.ndarray(dtype=real, ndim=1), c: real, eps: real,
    ):  # fmt: skip
        for i in range(m.shape[0]):
            gx, gy, gz = pull(x, m, i, eps)
            v[0, i] -= c * gx
            v[1, i] -= c * gy
            v[2, i] -= c * gz

    @ti.kernel
    def drifted(x: ti.types.ndarray(dtype=real, ndim=2), v: ti.types.ndarray(dtype=real, ndim=2), h: real):
        for k, i in ti.ndrange(3, x.shape[1]):
            x[k, i] += h * v[k, i]

    x, v, m = np.ascontiguousarray(state["x"].T), np.ascontiguousarray(state["v"].T), state["m"]

    def call() -> np.ndarray:
        x[...], v[...] = state["x"].T, state["v"].T
        steps = int(state["steps"])
        kicked(x, v, m, 0.5 * h, eps)
        for k in range(steps):
            drifted(x, v, h)
            kicked(x, v, m, h if k < steps - 1 else 0.5 * h, eps)
        ti.sync()
        return x.T

    return call


def in_numba(state: State) -> Callable[[], np.ndarray]:
    """The same with `fastmath`."""
    from ..gravity_by_hand import numba_pull
    from ..harness.peers import peer

    numba = peer("numba")
    real = state["x"].dtype.type
    pull = numba_pull(real, float(state["eps"]))

    @numba.njit(parallel=True, fastmath=True)
    def kicked(x: Any, y: Any, z: Any, v: Any, m: Any, c: Any) -> None:
        for i in numba.prange(len(m)):
            gx, gy, gz = pull(x, y, z, m, i)
            v[0, i] -= c * gx
            v[1, i] -= c * gy
            v[2, i] -= c * gz

    x, v = np.ascontiguousarray(state["x"].T), np.ascontiguousarray(state["v"].T)
    h = real(state["dt"])

    def call() -> np.ndarray:
        x[...], v[...] = state["x"].T, state["v"].T
        steps = int(state["steps"])
        for k in range(steps + 1):
            kicked(x[0], x[1], x[2], v, state["m"], h * real(1.0 if 0 < k < steps else 0.5))
            if k < steps:
                x[...] += h * v
        return x.T

    return call


def in_jax(state: State) -> Callable[[], np.ndarray]:
    """Under `jit`, steps by `fori_loop`."""
    from ..harness.peers import peer

    jax = peer("jax")
    jnp = jax.numpy
    m = jnp.asarray(state["m"])
    h, square = (jnp.asarray(state[k] if k == "dt" else state["eps"] ** 2, m.dtype) for k in ("dt", "eps"))

    def acceleration(x: Any) -> Any:
        dx, dy, dz = (x[k][:, None] - x[k] for k in range(3))
        w = m * jax.lax.rsqrt(dx * dx + dy * dy + dz * dz + square) ** 3
        return jnp.stack([-(w * d).sum(1) for d in (dx, dy, dz)])

    @jax.jit
    def run(x: Any, v: Any) -> Any:
        def step(_: int, state: Any) -> Any:
            x, v = state
            x = x + h * v
            return x, v + h * acceleration(x)

        v = v + 0.5 * h * acceleration(x)  # the last kick is whole here: x does not feel it
        return jax.lax.fori_loop(0, int(state["steps"]), step, (x, v))[0]

    x, v = jnp.asarray(state["x"].T), jnp.asarray(state["v"].T)
    return lambda: np.asarray(jax.block_until_ready(run(x, v))).T


def in_torch(state: State) -> Callable[[], np.ndarray]:
    """Forces by `torch.compile`, steps in Python."""
    from ..harness.peers import peer

    torch = peer("torch")
    m = torch.tensor(state["m"])
    h, square = float(state["dt"]), float(state["eps"]) ** 2

    @torch.compile
    def stepped(x: Any, v: Any, c: float, h: float) -> Any:
        dx, dy, dz = (x[k][:, None] - x[k] for k in range(3))
        w = m * torch.rsqrt(dx * dx + dy * dy + dz * dz + square) ** 3
        v = v - c * torch.stack([(w * d).sum(1) for d in (dx, dy, dz)])
        return x + h * v, v

    def call() -> np.ndarray:
        with torch.no_grad():
            x, v = torch.tensor(state["x"].T.copy()), torch.tensor(state["v"].T.copy())
            for k in range(int(state["steps"])):
                x, v = stepped(x, v, 0.5 * h if k == 0 else h, h)
            return x.numpy().T

    return call


def in_warp(state: State) -> Callable[[], np.ndarray]:
    """A thread a body; Warp takes one on the CPU."""
    from ..gravity_by_hand import warp_pull
    from ..harness.peers import peer

    wp = peer("warp")
    pull, real, vector = warp_pull(state["x"].dtype.type, float(state["eps"]))

    @wp.kernel
    def kicked(x: wp.array(dtype=vector), v: wp.array(dtype=vector), m: wp.array(dtype=real), c: real):  # type: ignore
        i = wp.tid()
        v[i] = v[i] - pull(x, m, i) * c

    @wp.kernel
    def drifted(x: wp.array(dtype=vector), v: wp.array(dtype=vector), h: real):  # type: ignore
        i = wp.tid()
        x[i] = x[i] + v[i] * h

    n, steps, h = len(state["m"]), int(state["steps"]), float(state["dt"])
    m = wp.array(state["m"], dtype=real, device="cpu")

    def call() -> np.ndarray:
        x, v = (wp.array(state[name], dtype=vector, device="cpu") for name in "xv")
        for k in range(steps + 1):
            c = h if 0 < k < steps else 0.5 * h
            wp.launch(kicked, dim=n, inputs=[x, v, m, c], device="cpu")
            if k < steps:
                wp.launch(drifted, dim=n, inputs=[x, v, h], device="cpu")
        return x.numpy()

    return call


def in_rebound(state: State) -> Callable[[], np.ndarray]:
    """Its leapfrog (drift - kick - drift, f64, one thread)."""
    from ..harness.peers import peer

    rebound = peer("rebound")
    x0, v0, m = (np.asarray(state[name], float) for name in "xvm")
    simulation = rebound.Simulation()
    simulation.G, simulation.softening, simulation.dt = 1.0, float(state["eps"]), float(state["dt"])
    simulation.integrator = "leapfrog"
    for place, velocity, mass in zip(x0, v0, m, strict=True):
        simulation.add(
            m=mass, x=place[0], y=place[1], z=place[2], vx=velocity[0], vy=velocity[1], vz=velocity[2]
        )

    def call() -> np.ndarray:
        simulation.set_serialized_particle_data(xyz=x0, vxvyvz=v0)
        simulation.steps(int(state["steps"]))
        simulation.synchronize()
        out = np.zeros_like(x0)
        simulation.serialize_particle_data(xyz=out)
        return out

    return call


FORMS: dict[str, Program] = {
    "C": in_c,
    "taichi": in_taichi,
    "numba": in_numba,
    "jax": in_jax,
    "torch": in_torch,
    "warp": in_warp,
    "rebound": in_rebound,
}
"""By the word that the command takes."""


def main(form: str, state: str, last: str) -> None:
    """Read, run, save."""
    if form == "taichi":
        from minusgrad.engine import runtime

        runtime.start()
    with np.load(state) as found:
        np.save(last, FORMS[form]({name: found[name] for name in found.files})())


if __name__ == "__main__":
    main(*sys.argv[1:])
