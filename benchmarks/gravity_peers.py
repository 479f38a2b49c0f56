"""All-pairs gravity forces by peers, each in the form that is best there."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .gravity_by_hand import numba_pull, warp_pull
from .harness.cases import Call, Column
from .harness.peers import peer

Maker = Callable[[np.ndarray, np.ndarray, float], Call]


def columns(x: np.ndarray, m: np.ndarray, eps: float) -> dict[str, Column]:
    """By name."""
    makers: dict[str, tuple[Maker, float]] = {
        "numba, by hand": (in_numba, np.inf),
        "torch.compile": (in_torch, np.inf),
        "JAX, blocked": (in_jax, np.inf),
        "JAX, gradient": (in_jax_by_gradient, 2**24),
        "Warp, by hand": (in_warp, 2**28),
        "REBOUND": (in_rebound, 2**28),
        "OpenMM": (in_openmm, 2**24),
    }
    return {
        name: Column(lambda make=make: make(x, m, eps), peer=True, most=most)
        for name, (make, most) in makers.items()
    }


def in_numba(x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    """Structure of arrays, target i reads all sources j, `fastmath`."""
    numba = peer("numba")
    pull = numba_pull(x.dtype.type, eps)

    @numba.njit(parallel=True, fastmath=True)
    def forces(x: Any, y: Any, z: Any, m: Any, g: Any) -> None:
        for i in numba.prange(len(m)):
            gx, gy, gz = pull(x, y, z, m, i)
            g[0, i], g[1, i], g[2, i] = m[i] * gx, m[i] * gy, m[i] * gz

    parts, out = [np.ascontiguousarray(c) for c in x.T], np.zeros((3, len(m)), x.dtype)

    def call() -> np.ndarray:
        forces(*parts, m, out)
        return out.T

    return call


def in_torch(x: np.ndarray, m: np.ndarray, eps: float, device: str = "cpu") -> Call:
    """The closed form; the compiler fuses it, so that no matrix of pairs is made."""
    torch = peer("torch")

    def forces(x: Any, y: Any, z: Any, m: Any) -> Any:
        dx, dy, dz = x[:, None] - x, y[:, None] - y, z[:, None] - z
        w = m * torch.rsqrt(dx * dx + dy * dy + dz * dz + eps * eps) ** 3
        return torch.stack([m * (w * dx).sum(1), m * (w * dy).sum(1), m * (w * dz).sum(1)])

    compiled = torch.compile(forces)
    parts = [torch.tensor(np.ascontiguousarray(c), device=device) for c in (*x.T, m)]

    def call() -> Any:
        with torch.no_grad():
            found = compiled(*parts).T
        if device != "cpu":
            torch.cuda.synchronize()
        return found

    return call


def in_jax(x: np.ndarray, m: np.ndarray, eps: float, block: int = 64) -> Call:
    """The closed form under `jit`, by blocks of targets: a whole matrix of pairs is slower."""
    jax = peer("jax")
    jnp = jax.numpy
    parts = tuple(jnp.asarray(c) for c in (*x.T, m))

    def of_block(targets: Any, sources: Any) -> Any:
        a, b, c, own = targets
        x, y, z, m = sources
        dx, dy, dz = a[:, None] - x, b[:, None] - y, c[:, None] - z
        w = m * jax.lax.rsqrt(dx * dx + dy * dy + dz * dz + jnp.asarray(eps * eps, x.dtype)) ** 3
        return jnp.stack([own * (w * d).sum(1) for d in (dx, dy, dz)], 1)

    @jax.jit
    def forces(parts: Any) -> Any:
        blocks = tuple(p.reshape(-1, block) for p in parts)
        return jax.lax.map(lambda targets: of_block(targets, parts), blocks).reshape(-1, 3)

    return lambda: jax.block_until_ready(forces(parts))


def in_jax_by_gradient(x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    """`jit(grad)` of the sum over all pairs, as the textbook has it."""
    jax = peer("jax")
    jnp = jax.numpy

    def energy(x: Any, m: Any) -> Any:
        d = x[:, None] - x
        inv = 1.0 / jnp.sqrt((d * d).sum(-1) + eps * eps)
        return -0.5 * (m[:, None] * m * inv).sum()

    gradient = jax.jit(jax.grad(energy))
    x, m = jnp.asarray(x), jnp.asarray(m)
    return lambda: jax.block_until_ready(gradient(x, m))


def in_warp(x: np.ndarray, m: np.ndarray, eps: float, device: str = "cpu") -> Call:
    """A kernel a target; Warp takes one thread on the CPU."""
    wp = peer("warp")
    pull, number, vector = warp_pull(x.dtype.type, eps)

    @wp.kernel
    def forces(x: wp.array(dtype=vector), m: wp.array(dtype=number), g: wp.array(dtype=vector)):  # type: ignore
        i = wp.tid()
        g[i] = pull(x, m, i) * m[i]

    given = [wp.array(x, dtype=vector, device=device), wp.array(m, dtype=number, device=device)]
    out = wp.zeros(len(x), dtype=vector, device=device)

    def call() -> Any:
        wp.launch(forces, dim=len(x), inputs=[*given, out], device=device)
        wp.synchronize_device(device)
        return out

    return call


def in_rebound(x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    """Its direct sum, f64; half of the step of a leapfrog that goes nowhere, so one evaluation a call."""
    rebound = peer("rebound")
    simulation = rebound.Simulation()
    simulation.G, simulation.softening = 1.0, eps
    simulation.integrator, simulation.gravity = "leapfrog", "basic"
    simulation.dt = 1e-30
    for place, mass in zip(x.astype(float), m.astype(float), strict=True):
        simulation.add(m=mass, x=place[0], y=place[1], z=place[2])
    out = np.zeros((len(m), 3))

    def call() -> np.ndarray:
        simulation.steps(1)
        for i, p in enumerate(simulation.particles[:64]):
            out[i] = -p.ax * p.m, -p.ay * p.m, -p.az * p.m
        return out

    return call


def in_openmm(x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    """A custom force between all pairs, on its CPU platform (single precision)."""
    openmm = peer("openmm")
    if x.dtype != np.float32:
        from .harness.cases import MissingColumnError

        raise MissingColumnError("OpenMM's CPU platform computes in f32")
    system = openmm.System()
    force = openmm.CustomNonbondedForce(f"-m1*m2/sqrt(r*r+{eps * eps!r})")
    force.addPerParticleParameter("m")
    for mass in m:
        system.addParticle(1.0)
        force.addParticle([float(mass)])
    system.addForce(force)
    from .harness.session import threads

    platform = openmm.Platform.getPlatformByName("CPU")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform, {"Threads": str(threads())})
    context.setPositions(x.astype(float))

    def call() -> np.ndarray:
        return -context.getState(getForces=True).getForces(asNumpy=True)._value

    return call
