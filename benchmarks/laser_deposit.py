"""One iteration of laser deposition: ours beside C, torch, JAX and the seed's scatter kernels.

    python benchmarks/laser_deposit.py [POINTS ...]          (default 5000)

One iteration is the dose, its mean squared error and the gradient with respect to x, y, power and speed of
every point, on the forum post's data: the 512 x 512 butterfly, its random curve made from seed 0 (power 0.02,
speed 1), its 15 x 15 stencil Ai((r/5)^2) with the maximum made 1. The model is the same in all columns: point
i >= 1 deposits power_i |p_i - p_(i-1)| / speed_i times the stencil, bilinear at its sub-pixel offset. One
column is not of this model and says so: "seed's form, cast" rounds the place to a pixel, as the post did, so
that x and y have no gradient but that of the segments' lengths; its reference rounds too.

Every column is measured in one run, on the same cores: first call apart, then the columns in turn, round
after round. In its turn a column makes one call that is not timed (the threads of the one before go to sleep)
and then some that are; what it started has finished before the clock stops. The table gives the minimum and
the median of the rounds in ms, and the ratios of the minima to C and to ours. `errors` are against NumPy in
f64, in parts of the largest value: dose, loss, and the worst of the four gradients; the run stops at a column
that misses by more than TOLERANCE. torch and JAX are no dependencies of the project; without them, or without
gcc, their columns are missing by name (`pip install torch jax` into another environment, beside an installed
minusgrad).
"""

import ctypes
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import airy

from minusgrad import Fields, Potential, bind, runtime, ti
from minusgrad.fields import Grid
from minusgrad_laser.losses import dose_l2
from minusgrad_laser.spots import stencil_dose

THREADS = 2
ROUNDS = 9
CALLS = 3  # timed, in each round
SIZE = 512
MARGIN = 16  # a canvas with a margin needs no clipping
TOLERANCE = {"float32": 2e-4, "float64": 1e-11}
REFERENCE = Path(__file__).parent / "reference" / "laser_deposit.c"
CFLAGS = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fopenmp", "-shared", "-fPIC"]


class Path4(NamedTuple):
    """The fields of the points, (N,) each."""

    x: np.ndarray
    y: np.ndarray
    power: np.ndarray
    speed: np.ndarray


class Task(NamedTuple):
    """What all columns are given, in the precision of the run."""

    path: Path4
    stencil: np.ndarray
    target: np.ndarray


class Result(NamedTuple):
    """What all columns return: dose (512, 512), loss, gradient (4, N)."""

    dose: Any
    loss: Any
    gradient: Any


Call = Callable[[], Result]


class MissingColumnError(Exception):
    """Why a column cannot be measured here."""


# The post's data ------------------------------------------------------------------------------------


def butterfly(size: int = SIZE) -> np.ndarray:
    """The target, (row, column), 1 inside and 0 outside."""
    column, row = np.meshgrid(np.arange(size) - size // 2, np.arange(size) - size // 2)
    t = np.arctan2(row, column)
    curve = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5
    return (curve > (row**2 + column**2) / 20000).astype(float)


def airy_stencil(size: int = 15) -> np.ndarray:
    """Ai((r/5)^2), maximum 1; r from half a pixel beside the middle sample, as in the post."""
    column, row = np.meshgrid(np.arange(size) - size / 2, np.arange(size) - size / 2)
    stencil = airy((row**2 + column**2) / 25)[0]
    return stencil / stencil.max()


def random_path(points: int = 5000, size: int = SIZE) -> Path4:
    """The post's random curve, from seed 0."""
    draw = np.random.RandomState(0)
    r = np.cumsum(draw.randint(-5, 5, size=points))
    theta = np.cumsum(draw.rand(points)) * 5 / 180 * np.pi
    x, y = r * np.cos(theta), r * np.sin(theta)
    x, y = x / np.ptp(x) * 400, y / np.ptp(y) * 400
    x, y = x - x.mean() + size / 2, y - y.mean() + size / 2
    return Path4(x, y, np.full(points, 0.02), np.ones(points))


def task(points: int, dtype: type) -> Task:
    """The benchmark's problem with so many points, in one precision."""
    path = Path4(*(a.astype(dtype) for a in random_path(points)))
    return Task(path, airy_stencil().astype(dtype), butterfly().astype(dtype))


def corners(stencil: np.ndarray) -> np.ndarray:
    """(4, 16, 16): what the offsets (0, 0), (1, 0), (0, 1), (1, 1) leave in the cells that a spot touches."""
    return np.stack([np.pad(stencil, ((b, 1 - b), (a, 1 - a))) for b in (0, 1) for a in (0, 1)])


# Columns --------------------------------------------------------------------------------------------


def ours(given: Task) -> Call:
    """The shipped map and energy: value and gradient in one pass."""
    points, shape = len(given.path.x), given.target.shape
    cells = {"target": given.target.ravel(), "share": np.full(given.target.size, 1 / given.target.size)}
    precision = {"float32": "f32", "float64": "f64"}[given.target.dtype.name]
    fields = Fields(given.path._asdict() | cells, precision=precision)
    segments = np.stack([np.arange(points - 1), np.arange(1, points)], axis=1)
    spots = bind(stencil_dose, fields, tuples=segments, tables={"stencil": given.stencil}, grid=Grid(shape))
    potential = Potential(fields, [bind(dose_l2, fields)], [spots])
    gradient = np.zeros((4, points), given.target.dtype)
    targets = dict(zip(Path4._fields, gradient, strict=True))

    def call() -> Result:
        loss = potential.evaluate_into(targets)
        ti.sync()
        return Result(fields["dose"].values.reshape(shape), loss, gradient)

    return call


def in_c(given: Task) -> Call:
    """The C reference, compiled here."""
    if shutil.which("gcc") is None:
        raise MissingColumnError("no gcc on the PATH")
    dtype = given.target.dtype
    single = dtype == np.float32
    library = Path(tempfile.mkdtemp()) / "deposit.so"
    real = ["float", "sqrtf", "floorf"] if single else ["double", "sqrt", "floor"]
    names = [f"-D{name}={c}" for name, c in zip(("REAL", "SQRT", "FLOOR"), real, strict=True)]
    subprocess.run(["gcc", *CFLAGS, *names, str(REFERENCE), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).iterate
    function.restype = ctypes.c_double
    (rows, cols), points = given.target.shape, len(given.path.x)
    canvas = np.zeros((rows + 2 * MARGIN, cols + 2 * MARGIN), dtype)
    residual, gradient = np.zeros_like(canvas), np.zeros((4, points), dtype)
    work = np.zeros(6 * points, dtype)
    arrays = (*given.path, given.stencil, given.target, canvas, residual, gradient, work)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    numbers = [ctypes.c_int(n) for n in (points, THREADS, rows, cols)]

    def call() -> Result:
        loss = function(*numbers, *pointers)
        return Result(canvas[MARGIN:-MARGIN, MARGIN:-MARGIN], loss, gradient)

    call.keep = arrays  # type: ignore[attr-defined]  # the pointers do not
    return call


class SeedsForm:
    """The post's program in Taichi: scatter kernels with atomics, differentiated by a Tape.

    Three kernels as in the post (clear, deposit, loss). Two things differ from it: a cell outside the canvas
    is dropped, and the length of a zero segment is guarded, because its gradient would be NaN.
    """

    def __init__(self, given: Task):
        real = {"float32": ti.f32, "float64": ti.f64}[given.target.dtype.name]
        points, (rows, cols) = len(given.path.x), given.target.shape
        path = ti.field(real, (4, points), needs_grad=True)
        dose, loss = ti.field(real, (rows, cols), needs_grad=True), ti.field(real, (), needs_grad=True)
        stencil, target = ti.field(real, given.stencil.shape), ti.field(real, (rows, cols))
        for field, values in ((path, np.stack(given.path)), (stencil, given.stencil), (target, given.target)):
            field.from_numpy(values)
        size = len(given.stencil)

        @ti.func
        def amount(i):
            d = ti.Vector([path[0, i] - path[0, i - 1], path[1, i] - path[1, i - 1]])
            square = d.dot(d)
            length = ti.select(square > 0, ti.sqrt(ti.select(square > 0, square, real(1.0))), real(0.0))
            return path[2, i] * length / path[3, i]

        @ti.func
        def sample(row, col):
            value = real(0.0)
            if 0 <= row < size and 0 <= col < size:
                value = stencil[row, col]
            return value

        @ti.kernel
        def clear():
            for p in ti.grouped(dose):
                dose[p] = 0.0

        @ti.kernel
        def deposit_cast():
            for i in range(1, points):
                for m, n in ti.ndrange(size, size):
                    r = ti.cast(ti.floor(path[1, i]), ti.i32) + m - size // 2
                    c = ti.cast(ti.floor(path[0, i]), ti.i32) + n - size // 2
                    if 0 <= r < rows and 0 <= c < cols:
                        dose[r, c] += stencil[m, n] * amount(i)

        @ti.kernel
        def deposit_bilinear():
            for i in range(1, points):
                for m, n in ti.ndrange(size + 1, size + 1):
                    fx, fy = ti.floor(path[0, i]), ti.floor(path[1, i])
                    a, b = path[0, i] - fx, path[1, i] - fy
                    r = ti.cast(fy, ti.i32) + m - size // 2
                    c = ti.cast(fx, ti.i32) + n - size // 2
                    if 0 <= r < rows and 0 <= c < cols:
                        upper = (1 - a) * sample(m, n) + a * sample(m, n - 1)
                        lower = (1 - a) * sample(m - 1, n) + a * sample(m - 1, n - 1)
                        dose[r, c] += ((1 - b) * upper + b * lower) * amount(i)

        @ti.kernel
        def compare():
            for p in ti.grouped(dose):
                loss[None] += (dose[p] - target[p]) ** 2 / (rows * cols)

        def form(deposit: Callable) -> Call:
            def call() -> Result:
                clear()
                with ti.ad.Tape(loss):
                    deposit()
                    compare()
                ti.sync()
                return Result(dose, loss, path.grad)

            return call

        self.cast, self.bilinear = form(deposit_cast), form(deposit_bilinear)


def in_torch(compiled: bool = False, by_fft: bool = False) -> Callable[[Task], Call]:
    """torch: a matrix product gives every point its 256 cells, `scatter_add` sums them, and a backward pass
    of ours takes them (autograd's own `gather` is slower). By FFT: the weights of every point are summed on
    the pixels, and the stencil is convolved; all by autograd."""

    def make(given: Task) -> Call:
        torch = peer("torch")
        torch.set_num_threads(THREADS)
        rows, cols = given.target.shape
        width, height = cols + 2 * MARGIN, rows + 2 * MARGIN
        path = [torch.tensor(a, requires_grad=True) for a in given.path]
        target = torch.tensor(given.target)
        table = torch.tensor(corners(given.stencil).reshape(4, 256))
        cells = (torch.arange(16)[:, None] * width + torch.arange(16)).reshape(256)
        four = torch.tensor([0, 1, width, width + 1])
        kernel = np.zeros((height, width), given.target.dtype)
        kernel[:15, :15] = given.stencil
        spectrum = torch.fft.rfft2(torch.tensor(kernel))

        class Added(torch.autograd.Function):
            @staticmethod
            def forward(ctx, weights, first):
                where = (first[:, None] + cells).reshape(-1)
                ctx.save_for_backward(where)
                canvas = torch.zeros(height * width, dtype=weights.dtype)
                return canvas.scatter_add(0, where, (weights @ table).reshape(-1))

            @staticmethod
            def backward(ctx, residual):
                return residual.take(ctx.saved_tensors[0]).reshape(-1, 256) @ table.T, None

        def convolved(weights, first):
            where = (first[:, None] + four).reshape(-1)
            pixels = torch.zeros(height * width, dtype=weights.dtype).index_add(0, where, weights.reshape(-1))
            product = torch.fft.rfft2(pixels.reshape(height, width)) * spectrum
            return torch.fft.irfft2(product, s=(height, width))

        added = convolved if by_fft else Added.apply

        def iterate(x, y, power, speed):
            dx, dy = x[1:] - x[:-1], y[1:] - y[:-1]
            square = dx * dx + dy * dy
            length = torch.where(square > 0, torch.sqrt(torch.where(square > 0, square, 1.0)), 0.0)
            amount = power[1:] * length / speed[1:]
            fx, fy = torch.floor(x[1:]).detach(), torch.floor(y[1:]).detach()
            a, b = x[1:] - fx, y[1:] - fy
            weights = torch.stack([(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b], 1)
            first = (fy.clamp(-9, rows + 7).long() + 9) * width + fx.clamp(-9, cols + 7).long() + 9
            canvas = added(amount[:, None] * weights, first)
            dose = canvas.reshape(height, width)[MARGIN:-MARGIN, MARGIN:-MARGIN]
            return dose, ((dose - target) ** 2).mean()

        function = torch.compile(iterate) if compiled else iterate

        def call() -> Result:
            dose, loss = function(*path)
            return Result(dose, loss, torch.autograd.grad(loss, path))

        return call

    return make


def in_jax(by_hand: bool) -> Callable[[Task], Call]:
    """JAX under `jit`: a matrix product gives every point its 16 x 16 cells, and `scatter_add` sums them as
    windows (three times as fast as cell by cell). Gradient by `value_and_grad`, or by a custom vjp that reads
    the windows of the residual."""

    def make(given: Task) -> Call:
        jax = peer("jax")
        jax.config.update("jax_enable_x64", True)
        jnp, lax = jax.numpy, jax.lax
        dtype, (rows, cols) = given.target.dtype, given.target.shape
        shape = (rows + 2 * MARGIN, cols + 2 * MARGIN)
        path = [jnp.asarray(a) for a in given.path]
        target, table = jnp.asarray(given.target), jnp.asarray(corners(given.stencil).reshape(4, 256))
        to_windows = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
        of_windows = lax.GatherDimensionNumbers((1, 2), (), (0, 1))

        def added(weights, first):
            spots = (weights @ table).reshape(-1, 16, 16)
            canvas = jnp.zeros(shape, dtype)
            return lax.scatter_add(canvas, first, spots, to_windows, mode="promise_in_bounds")

        def backward(first, residual):
            windows = lax.gather(residual, first, of_windows, (16, 16), mode="promise_in_bounds")
            return windows.reshape(-1, 256) @ table.T, None

        if by_hand:
            plainly, added = added, jax.custom_vjp(added)
            added.defvjp(lambda weights, first: (plainly(weights, first), first), backward)

        def iterate(x, y, power, speed):
            dx, dy = x[1:] - x[:-1], y[1:] - y[:-1]
            square = dx * dx + dy * dy
            length = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
            amount = power[1:] * length / speed[1:]
            fx, fy = lax.stop_gradient(jnp.floor(x[1:])), lax.stop_gradient(jnp.floor(y[1:]))
            a, b = x[1:] - fx, y[1:] - fy
            weights = jnp.stack([(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b], 1)
            first = jnp.stack([jnp.clip(fy, -9, rows + 7), jnp.clip(fx, -9, cols + 7)], 1)
            canvas = added(amount[:, None] * weights, first.astype(jnp.int32) + 9)
            dose = canvas[MARGIN:-MARGIN, MARGIN:-MARGIN]
            return jnp.mean((dose - target) ** 2), dose

        function = jax.jit(jax.value_and_grad(iterate, argnums=(0, 1, 2, 3), has_aux=True))

        def call() -> Result:
            (loss, dose), gradient = jax.block_until_ready(function(*path))
            return Result(dose, loss, gradient)

        return call

    return make


def peer(name: str) -> Any:
    """A package that the project does not need."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingColumnError(f"{name} is not installed") from None


def columns(given: Task) -> Iterator[tuple[str, Callable[[], Call]]]:
    """Every column by name, and what makes its call."""
    seeds = SeedsForm(given)
    yield "C", lambda: in_c(given)
    yield "minusgrad", lambda: ours(given)
    yield "torch eager", lambda: in_torch()(given)
    yield "torch by FFT", lambda: in_torch(by_fft=True)(given)
    yield "torch.compile", lambda: in_torch(compiled=True)(given)
    yield "JAX", lambda: in_jax(False)(given)
    yield "JAX, vjp by hand", lambda: in_jax(True)(given)
    yield "seed's form", lambda: seeds.bilinear
    yield "seed's form, cast", lambda: seeds.cast


# What is right --------------------------------------------------------------------------------------


def expected(given: Task, cast: bool = False) -> Result:
    """The iteration in f64 by NumPy, cell by cell and point by point; `cast`: with the place rounded."""
    x, y, power, speed = (a.astype(float) for a in given.path)
    stencil, target = given.stencil.astype(float), given.target.astype(float)
    (rows, cols), points = target.shape, len(x)
    length = np.hypot(np.diff(x, prepend=x[0]), np.diff(y, prepend=y[0]))
    amount = power * length / speed
    fx, fy = np.floor(x), np.floor(y)
    a, b = (0 * x, 0 * y) if cast else (x - fx, y - fy)
    row = fy.astype(int)[:, None, None] - 7 + np.arange(16)[:, None]
    col = fx.astype(int)[:, None, None] - 7 + np.arange(16)
    inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
    row, col = row.clip(0, rows - 1), col.clip(0, cols - 1)
    c = corners(stencil)

    def mixed(*four: np.ndarray) -> np.ndarray:
        return np.where(inside, np.einsum("in,ikl->nkl", four, c), 0)

    spot = mixed((1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b)
    dose = np.zeros_like(target)
    np.add.at(dose, (row, col), amount[:, None, None] * spot)
    felt = (2 * (dose - target) / target.size)[row, col]

    def against(values: np.ndarray) -> np.ndarray:
        return np.einsum("nkl,nkl->n", felt, values)

    of_amount = against(spot)
    gx, gy = (amount * against(mixed(*four)) for four in ((b - 1, 1 - b, -b, b), (a - 1, -a, 1 - a, a)))
    if cast:
        gx, gy = 0 * gx, 0 * gy
    slope = np.divide(of_amount * power / speed, length, out=np.zeros(points), where=length > 0)
    for g, d in ((gx, slope * np.diff(x, prepend=x[0])), (gy, slope * np.diff(y, prepend=y[0]))):
        g += d
        g[:-1] -= d[1:]
    gradient = np.stack([gx, gy, of_amount * length / speed, -of_amount * amount / speed])
    return Result(dose, ((dose - target) ** 2).mean(), gradient)


def errors(found: Result, right: Result) -> dict[str, float]:
    """The largest error of dose, loss and gradient (the worst of the four), in parts of the largest value."""
    gradient = found.gradient if hasattr(found.gradient, "shape") else [plain(g) for g in found.gradient]
    parts = [missed(f, r) for f, r in zip(plain(gradient), right.gradient, strict=True)]
    return {
        "dose": missed(plain(found.dose), right.dose),
        "loss": missed(plain(found.loss), right.loss),
        "gradient": max(parts),
    }


def missed(found: np.ndarray, right: np.ndarray) -> float:
    """The largest difference, in parts of the largest value."""
    return float(np.abs(found - right).max() / np.abs(right).max())


def plain(array: Any) -> np.ndarray:
    """The numbers of anybody's array, in f64."""
    if hasattr(array, "detach"):
        array = array.detach()
    return np.asarray(array.to_numpy() if hasattr(array, "to_numpy") else array, dtype=float)


# Measurement ----------------------------------------------------------------------------------------


def measure(points: int, dtype: type) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """First call, minimum and median of the rounds in ms, and errors of every column; and what is missing."""
    given = task(points, dtype)
    right = {False: expected(given), True: expected(given, cast=True)}
    calls: dict[str, Call] = {}
    rows: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for name, make in columns(given):
        try:
            call = make()
        except MissingColumnError as reason:
            missing[name] = str(reason)
            continue
        began = time.perf_counter()
        out = call()
        rows[name] = {"first_s": time.perf_counter() - began}
        rows[name]["errors"] = errors(out, right[name.endswith("cast")])
        if max(rows[name]["errors"].values()) > TOLERANCE[given.target.dtype.name]:
            raise SystemExit(f"{name} computes something else: {rows[name]['errors']}")
        calls[name] = call
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()
            for _ in range(CALLS):
                began = time.perf_counter()
                call()
                times[name].append((time.perf_counter() - began) * 1e3)
    for name, series in times.items():
        rows[name] |= {"min_ms": min(series), "median_ms": statistics.median(series)}
    return rows, missing


def ratio(rows: dict[str, dict[str, Any]], name: str, to: str) -> float | None:
    """How many times as long as another column; None where there is no other."""
    return rows[name]["min_ms"] / rows[to]["min_ms"] if to in rows else None


def main(sizes: list[int]) -> None:
    if hasattr(os, "sched_setaffinity"):  # JAX takes as many threads as there are cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    runtime.start(runtime.Options(threads=THREADS))
    warnings.filterwarnings("ignore", module="torch|jax")
    results, missing = [], {}
    for dtype in (np.float32, np.float64):
        for points in sizes:
            rows, missing = measure(points, dtype)
            for name, row in rows.items():
                ratios = {"to_c": ratio(rows, name, "C"), "to_ours": ratio(rows, name, "minusgrad")}
                results.append({"points": points, "precision": dtype.__name__, "column": name} | ratios | row)
    print(
        f"{'points':>6} {'precision':9} {'':18} {'ms: min':>8} {'median':>8} {'to C':>7} {'to ours':>8}"
        f" {'first call':>11} {'errors: dose':>13} {'loss':>8} {'gradient':>9}"
    )
    for r in results:
        c, us = (f"{r[key]:.3g}" if r[key] else "-" for key in ("to_c", "to_ours"))
        e = r["errors"]
        print(
            f"{r['points']:6d} {r['precision']:9} {r['column']:18} {r['min_ms']:8.3f} {r['median_ms']:8.3f}"
            f" {c:>7} {us:>8} {r['first_s']:9.2f} s {e['dose']:13.1e} {e['loss']:8.1e} {e['gradient']:9.1e}"
        )
    for name, reason in missing.items():
        print(f"missing: {name} ({reason})")
    machine = {
        "processor": platform.processor() or platform.machine(),
        "threads": THREADS,
        "python": platform.python_version(),
    }
    print(json.dumps({"machine": machine, "versions": versions(), "results": results, "missing": missing}))


def versions() -> dict[str, str]:
    """Of what was measured."""
    found = {name: version(name) for name in ("taichi", "numpy")}
    for name in ("torch", "jax"):
        if name in sys.modules:
            found[name] = sys.modules[name].__version__
    if shutil.which("gcc"):
        found["gcc"] = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True).stdout.strip()
    return found


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [5000])
