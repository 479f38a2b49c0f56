"""Peers of `on_device` on the same device: all-pairs gravity by torch.compile, JAX, Warp and a CUDA kernel.

They need CUDA. Beside another architecture they run on the CPU, of the CUDA kernel in numba's simulator
(NUMBA_ENABLE_CUDASIM=1), which shows that they run and are right, and nothing about speed. The kernel by hand
has tiles of bodies in shared memory (Nyland, Harris, Prins 2007, GPU Gems 3, ch. 31).
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import gravity_peers
from .harness.cases import Call, MissingColumnError
from .harness.peers import peer

TILE = 128
"""Bodies in shared memory, and threads of a block."""
cuda: Any = None
"""`numba.cuda`, once it is imported."""
Maker = Callable[[np.ndarray, np.ndarray, float], Call]


def gravity(arch: str) -> dict[str, Maker]:
    """By name; a maker raises `MissingColumnError` where the package, or its CUDA, is not installed."""
    return {
        "torch.compile": partial(_in_torch, arch),
        "JAX": partial(_in_jax, arch),
        "Warp": partial(_in_warp, arch),
        "CUDA by hand": partial(_in_cuda, arch),
    }


def _in_torch(arch: str, x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    if arch == "cuda" and not peer("torch").cuda.is_available():
        raise MissingColumnError("torch has no CUDA here")
    return gravity_peers.in_torch(x, m, eps, "cuda" if arch == "cuda" else "cpu")


def _in_jax(arch: str, x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    jax = peer("jax")
    try:
        device = jax.devices("cuda" if arch == "cuda" else "cpu")[0]
    except RuntimeError:
        raise MissingColumnError("jax has no CUDA here") from None
    with jax.default_device(device):
        return gravity_peers.in_jax(x, m, eps, TILE)


def _in_warp(arch: str, x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    if arch == "cuda" and not peer("warp").is_cuda_available():
        raise MissingColumnError("warp-lang finds no CUDA here")
    return gravity_peers.in_warp(x, m, eps, "cuda:0" if arch == "cuda" else "cpu")


def _in_cuda(arch: str, x: np.ndarray, m: np.ndarray, eps: float) -> Call:
    """A block of threads loads a tile of bodies, and each thread sums their pulls on its own body."""
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
    global cuda  # the simulator replaces it among the globals of a kernel
    peer("numba")
    from numba import cuda, float32

    if (arch == "cuda") == simulated or not cuda.is_available():
        raise MissingColumnError("numba has no CUDA here, and no simulator is asked for")
    square, one = np.float32(eps * eps), np.float32(1.0)

    @cuda.jit(fastmath=True)
    def forces(x: Any, y: Any, z: Any, m: Any, g: Any) -> None:
        near = cuda.shared.array((4, TILE), float32)
        lane, i = cuda.threadIdx.x, cuda.grid(1)
        mine = i < m.size
        a, b, c = (x[i], y[i], z[i]) if mine else (float32(0.0), float32(0.0), float32(0.0))
        gx = gy = gz = float32(0.0)
        for first in range(0, m.size, TILE):
            j = first + lane
            there = j < m.size
            near[0, lane] = x[j] if there else float32(0.0)
            near[1, lane] = y[j] if there else float32(0.0)
            near[2, lane] = z[j] if there else float32(0.0)
            near[3, lane] = m[j] if there else float32(0.0)
            cuda.syncthreads()
            for k in range(TILE):
                dx, dy, dz = a - near[0, k], b - near[1, k], c - near[2, k]
                s = dx * dx + dy * dy + dz * dz + square
                w = near[3, k] * (one / (s * s**0.5))
                gx += w * dx
                gy += w * dy
                gz += w * dz
            cuda.syncthreads()
        if mine:
            g[i, 0], g[i, 1], g[i, 2] = m[i] * gx, m[i] * gy, m[i] * gz

    parts = [cuda.to_device(np.ascontiguousarray(column)) for column in (*x.T, m)]
    out = cuda.device_array((len(m), 3), np.float32)
    blocks = -(-len(m) // TILE)

    def call() -> Any:
        forces[blocks, TILE](*parts, out)
        cuda.synchronize()
        return out

    return call
