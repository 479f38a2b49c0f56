"""All-pairs gravity forces, dU/dx of the shipped energy: ns a pair, N^2 pairs, each from both sides.

    g_i = m_i sum_j m_j (x_i - x_j) (|x_i - x_j|^2 + eps^2)^(-3/2)          G = 1

N bodies of equal mass, normally distributed. C twice: a plain loop that the compiler makes vectors of, and
registers by hand with an estimate of the root and its correction, the best we know. What is right is a sum in
f64 for the first 64 bodies.
"""

import ctypes
from collections.abc import Iterator

import numpy as np

from minusgrad import Fields, Potential, bind, ti
from minusgrad.engine import runtime, storage
from minusgrad_gravity.gravity import gravity

from . import gravity_peers
from .gravity_by_hand import taichi_pull
from .harness import session
from .harness.cases import OURS, C, Call, Case, Column, Goal
from .harness.compiled import DTYPE, NUMBER, aligned, library, pointers, width

SOFTENING = 0.05
SHOWN = 64
SIZES, QUICK = (4096, 16384, 65536), (1024,)
TOLERANCE = {"f32": 3e-5, "f64": 1e-12}
REGISTERS = "C, registers"
GOALS = (Goal(C, 1.2, "quadrants"), Goal(C, 1.6, "taichi"), Goal(REGISTERS, 1.2))


def cases() -> Iterator[Case]:
    """For each size and precision."""
    for n in QUICK if session.quick() else SIZES:
        for precision in ("f32", "f64"):
            yield case(n, precision)


def case(n: int, precision: str, work: str = "gravity_forces", threads: int = 0) -> Case:
    """Of so many bodies."""
    x, m = bodies(n, precision)
    own = {
        C: Column(lambda: in_c(x, m, precision)),
        REGISTERS: Column(lambda: in_c(x, m, precision, registers=True)),
        OURS: Column(lambda: ours(x, m, precision), engine=True),
        "closed form by hand": Column(lambda: by_hand(x, m, precision), engine=True),
        "double loop, reverse mode": Column(lambda: double_loop(x, m, precision), engine=True, most=2**26),
    }
    return Case(
        work,
        f"{n}",
        precision,
        own | gravity_peers.columns(x, m, SOFTENING),
        expected=lambda: expected(x, m),
        tolerance=TOLERANCE[precision],
        count=n * n,
        unit="ns a pair",
        goals=GOALS,
        threads=threads,
        about={"N": n},
    )


def bodies(n: int, precision: str) -> tuple[np.ndarray, np.ndarray]:
    """x (n, 3), m (n,)"""
    x = np.random.default_rng(0).normal(size=(n, 3))
    return x.astype(DTYPE[precision]), np.full(n, 1.0 / n, DTYPE[precision])


def expected(x: np.ndarray, m: np.ndarray) -> np.ndarray:
    """dU/dx of the first bodies by NumPy in f64."""
    x, m = x.astype(np.float64), m.astype(np.float64)
    d = x[:SHOWN, None] - x[None]
    pull = m[:, None] * d * ((d * d).sum(-1) + SOFTENING**2)[..., None] ** -1.5
    return m[:SHOWN, None] * pull.sum(1)


def ours(x: np.ndarray, m: np.ndarray, precision: str) -> Call:
    """dU/dx of the shipped energy."""
    fields = Fields({"x": x, "m": m}, precision=precision)
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": SOFTENING})])
    out = storage.allocate(np.zeros_like(x))

    def call() -> np.ndarray:
        potential.gradient_into({"x": out})
        runtime.sync()
        return out

    return call


def in_c(x: np.ndarray, m: np.ndarray, precision: str, registers: bool = False) -> Call:
    """`gravity_forces.c`, or `gravity_lanes.c`, whose bodies are filled up with masses of zero."""
    function = library("gravity_lanes.c" if registers else "gravity_forces.c", precision).forces
    more = -len(x) % (4 * width("gravity_lanes.c", precision))
    columns = aligned(np.pad(x, ((0, more), (0, 0))).T, x.dtype)
    masses = aligned(np.pad(m, (0, more)), x.dtype)
    out = aligned(np.zeros_like(columns), x.dtype)
    sizes = ctypes.c_int(len(masses)), ctypes.c_int(session.threads())

    def call() -> np.ndarray:
        function(*sizes, *pointers([columns, masses, out]), NUMBER[precision](SOFTENING))
        return out.T

    return call


def by_hand(x: np.ndarray, m: np.ndarray, precision: str) -> Call:
    """The closed form, written by hand in Taichi: structure of arrays, target i reads all sources j."""
    real = getattr(ti, precision)
    pull = taichi_pull(real)

    @ti.kernel
    def forces(
        p: ti.types.ndarray(dtype=real, ndim=2), m: ti.types.ndarray(dtype=real, ndim=1),
        eps: real, g: ti.types.ndarray(dtype=real, ndim=2),
    ):  # fmt: skip
        for i in range(m.shape[0]):
            gx, gy, gz = pull(p, m, i, eps)
            g[i, 0] = m[i] * gx
            g[i, 1] = m[i] * gy
            g[i, 2] = m[i] * gz

    columns, out = np.ascontiguousarray(x.T), np.zeros_like(x)

    def call() -> np.ndarray:
        forces(columns, m, SOFTENING, out)
        ti.sync()
        return out

    return call


def double_loop(x: np.ndarray, m: np.ndarray, precision: str) -> Call:
    """The textbook double loop into one scalar, differentiated by the engine's reverse mode (halved)."""
    real = getattr(ti, precision)
    n = len(x)
    positions = ti.Vector.field(3, real, n, needs_grad=True)
    masses, energy = ti.field(real, n), ti.field(real, (), needs_grad=True)
    positions.from_numpy(x)
    masses.from_numpy(m)

    @ti.kernel
    def potential():
        for i, j in ti.ndrange(n, n):
            r = positions[i] - positions[j]
            energy[None] += -0.5 * masses[i] * masses[j] / ti.sqrt(r.dot(r) + SOFTENING**2)

    def call() -> np.ndarray:
        positions.grad.fill(0.0)
        energy.grad[None] = 1.0
        potential.grad()
        ti.sync()
        return positions.grad.to_numpy()

    return call
