"""All-pairs gravity forces: ours beside C, hand-written Taichi, and the seed's double loop by reverse mode.

    python benchmarks/gravity_forces.py [N ...]          (default 4096 8192 16384)

Every column is measured in one run, on the same threads: first call apart, then the columns in turn, round
after round, minimum and median of the rounds; `ti.sync()` before the clock stops. The table gives ns a pair
(N^2 pairs, each from both sides) and the ratio to C. C needs gcc on the PATH; without it, its column is
missing by name. `error` is against a sum in f64 by NumPy.
"""

import ctypes
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from minusgrad import Fields, Potential, bind, runtime, ti
from minusgrad_gravity.gravity import gravity

THREADS = 2
SOFTENING = 0.05
ROUNDS = 7
REFERENCE = Path(__file__).parent / "reference" / "gravity_forces.c"
CFLAGS = ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC"]


def ours(x: np.ndarray, m: np.ndarray) -> Callable[[], np.ndarray]:
    """dU/dx of the shipped energy."""
    precision = {"float32": "f32", "float64": "f64"}[x.dtype.name]
    fields = Fields({"x": x, "m": m}, precision=precision)
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": SOFTENING})])
    out = np.zeros_like(x)

    def call() -> np.ndarray:
        potential.gradient_into({"x": out})
        ti.sync()
        return out

    return call


def by_hand(x: np.ndarray, m: np.ndarray) -> Callable[[], np.ndarray]:
    """The closed form, written by hand in Taichi: structure of arrays, target i reads all sources j."""
    real = getattr(ti, {"float32": "f32", "float64": "f64"}[x.dtype.name])

    @ti.kernel
    def forces(
        p: ti.types.ndarray(dtype=real, ndim=2), m: ti.types.ndarray(dtype=real, ndim=1),
        eps: real, g: ti.types.ndarray(dtype=real, ndim=2),
    ):  # fmt: skip
        for i in range(m.shape[0]):
            a = p[0, i]
            b = p[1, i]
            c = p[2, i]
            gx = real(0.0)
            gy = real(0.0)
            gz = real(0.0)
            for j in range(m.shape[0]):
                dx = a - p[0, j]
                dy = b - p[1, j]
                dz = c - p[2, j]
                inv = real(1.0) / ti.sqrt(dx * dx + dy * dy + dz * dz + eps * eps)
                w = m[j] * inv * inv * inv
                gx += w * dx
                gy += w * dy
                gz += w * dz
            g[i, 0] = m[i] * gx
            g[i, 1] = m[i] * gy
            g[i, 2] = m[i] * gz

    columns, out = np.ascontiguousarray(x.T), np.zeros_like(x)

    def call() -> np.ndarray:
        forces(columns, m, SOFTENING, out)
        ti.sync()
        return out

    return call


def seeds_form(x: np.ndarray, m: np.ndarray) -> Callable[[], np.ndarray]:
    """The seed's double loop into one scalar, differentiated by Taichi's reverse mode (halved)."""
    real = getattr(ti, {"float32": "f32", "float64": "f64"}[x.dtype.name])
    n = len(x)
    positions = ti.Vector.field(3, real, n, needs_grad=True)
    masses, energy = ti.field(real, n), ti.field(real, (), needs_grad=True)
    positions.from_numpy(x)
    masses.from_numpy(m)

    @ti.kernel
    def potential():
        for i, j in ti.ndrange(n, n):
            r = positions[i] - positions[j]
            energy[None] += -0.5 * masses[i] * masses[j] / r.norm(SOFTENING**2)

    def call() -> np.ndarray:
        positions.grad.fill(0.0)
        energy.grad[None] = 1.0
        potential.grad()
        ti.sync()
        return positions.grad

    return call


def in_c(x: np.ndarray, m: np.ndarray) -> Callable[[], np.ndarray] | None:
    """The C reference, compiled here; None without gcc."""
    if shutil.which("gcc") is None:
        return None
    single = x.dtype == np.float32
    library = Path(tempfile.mkdtemp()) / "forces.so"
    real = ["-DREAL=float", "-DSQRT=sqrtf"] if single else ["-DREAL=double", "-DSQRT=sqrt"]
    subprocess.run(["gcc", *CFLAGS, *real, str(REFERENCE), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).forces
    columns, out = np.ascontiguousarray(x.T), np.zeros((3, len(x)), x.dtype)
    number = (ctypes.c_float if single else ctypes.c_double)(SOFTENING)

    def call() -> np.ndarray:
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (columns, m, out)]
        function(ctypes.c_int(len(x)), ctypes.c_int(THREADS), *pointers, number)
        return out.T

    return call


def expected(x: np.ndarray, m: np.ndarray, some: int = 64) -> np.ndarray:
    """dU/dx of the first bodies in f64."""
    x, m = x.astype(np.float64), m.astype(np.float64)
    d = x[:some, None] - x[None]
    return m[:some, None] * (m[None, :, None] * d * ((d * d).sum(-1) + SOFTENING**2)[..., None] ** -1.5).sum(
        1
    )


def measure(n: int, dtype: type) -> dict[str, dict[str, float]]:
    """First call, minimum and median of the rounds in ns a pair, and error, for every column."""
    rng = np.random.default_rng(0)
    x, m = rng.normal(size=(n, 3)).astype(dtype), np.full(n, 1.0 / n, dtype)
    makers = {"C": in_c, "minusgrad": ours, "Taichi by hand": by_hand, "seed's form": seeds_form}
    calls = {name: call for name, make in makers.items() if (call := make(x, m)) is not None}
    reference = expected(x, m)
    rows: dict[str, dict[str, float]] = {}
    for name, call in calls.items():
        began = time.perf_counter()
        out = call()
        first = time.perf_counter() - began
        out = out if isinstance(out, np.ndarray) else out.to_numpy()
        error = float(np.abs(out[: len(reference)] - reference).max() / np.abs(reference).max())
        rows[name] = {"first_s": first, "error": error}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - began) / n**2 * 1e9)
    for name, series in times.items():
        rows[name] |= {"min_ns": min(series), "median_ns": statistics.median(series)}
    return rows


def main(sizes: list[int]) -> None:
    runtime.start(runtime.Options(threads=THREADS))
    results = []
    for dtype in (np.float32, np.float64):
        for n in sizes:
            rows = measure(n, dtype)
            base = rows.get("C", rows["minusgrad"])["min_ns"]
            for name, row in rows.items():
                results.append(
                    {"n": n, "precision": dtype.__name__, "column": name, "ratio": row["min_ns"] / base} | row
                )
    print(
        f"{'N':>6} {'precision':9} {'':15} {'ns a pair: min':>14} {'median':>8} {'ratio':>7}"
        f" {'first call':>11} {'error':>8}"
    )
    for r in results:
        print(
            f"{r['n']:6d} {r['precision']:9} {r['column']:15} {r['min_ns']:14.3f} {r['median_ns']:8.3f}"
            f" {r['ratio']:7.2f} {r['first_s']:9.2f} s {r['error']:8.1e}"
        )
    machine = {
        "processor": platform.processor() or platform.machine(),
        "threads": THREADS,
        "python": platform.python_version(),
    }
    print(json.dumps({"machine": machine, "results": results}))


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [4096, 8192, 16384])
