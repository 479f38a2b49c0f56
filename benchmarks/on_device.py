"""`minusgrad bench --arch cuda`: our own kernels on a device, beside its limits and the CPU of its machine.

    gravity      dU/dx of all pairs, f32; 20 operations a pair, in parts of the device's measured peak
    neo_hookean  dU/dx of tetrahedra, f32; each input and output once, in parts of its measured bandwidth
    laser        dose, loss and gradient, f32; beside the same on two threads of the CPU, in this run
    ensemble     a step of members of eight bodies, f64
    torch        `U(x=x).backward()` of 1,000 nodes, microseconds a call

Each answer is compared with NumPy in f64; each time is the minimum of several calls, after a first one apart,
with the device's work ended before the clock stops. The peak is that of multiply-adds in registers, the
bandwidth that of a copy, both measured here. On a software device the figures say that everything runs, and
nothing about speed. Peers on the device are not measured.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.fields import Grid
from minusgrad.engine import devices, runtime, storage
from minusgrad.engine.kernels import BoundKernel, Code
from minusgrad.errors import UserError
from minusgrad_laser.dose.spots import stencil_dose
from minusgrad_laser.losses.pixel_differences import dose_l2

from . import device_peers, ensembles, gravity_forces, neo_hookean, torch_call
from .harness import session
from .harness.cases import MissingColumnError, error, numbers
from .harness.process import ROOT, environment
from .harness.session import Settings
from .laser_post import Path4, Result, Scaled, Task, expected, task

RESULTS = ROOT / "benchmarks" / "results"
ROUNDS, SECONDS = 5, 20.0
"""Calls of which the fastest counts, as many as fit into so much time; one at least."""
SIZES = {
    "gravity": (65_536, 512),
    "neo_hookean": ((63, 63, 63), (6, 6, 6)),
    "laser": ((100_000, 2048), (500, 128)),
    "ensemble": (4096, 32),
    "torch": (1000, 100),
}
"""Of each work: as the goals ask, and with `--quick`."""
GOALS = {
    "gravity": "at least 0.40 of peak",
    "neo_hookean": "at least 0.50 of bandwidth",
    "laser": "10 times the CPU on 2 threads",
    "ensemble": "",
    "torch": "less than 100 microseconds",
}
PAIR = 20
"""Operations of a pair, as the literature counts them (Nyland, Harris, Prins 2007, GPU Gems 3, ch. 31)."""


@dataclass
class Figure:
    """A line of the table. of_limit: the figure beside its limit, in words of `against`."""

    work: str
    size: str
    seconds: float
    first: float
    error: float
    of_limit: float | None
    against: str
    goal: str


def run(asked: argparse.Namespace) -> int:
    """Measure on the device of `asked.arch` and write JSON and a table; 0."""
    engine, quick = (asked.engine or [None])[0], asked.quick
    if asked.engine and len(asked.engine) > 1:
        raise UserError("bench --arch: needs one engine a call, got " + ", ".join(asked.engine))
    session.expect(Settings(session.cores(), quick))
    runtime.start(runtime.Options(engine=engine, arch=asked.arch))
    limits = measured_limits(quick)
    figures = []
    for name, work in WORKS.items():
        if asked.works and name not in asked.works:
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures.append(work(SIZES[name][quick], limits))
        if name == "gravity":
            figures += beside_gravity(SIZES[name][quick], figures[-1])
    device = devices.device_in_use()
    document = {
        "device": asdict(device) if device else {"name": platform.processor()},
        "arch": runtime.arch(),
        "engine": runtime.engine_name(),
        "quick": quick,
        "limits": limits,
        "figures": [asdict(figure) for figure in figures],
        "not measured": "peers of works but gravity",
    }
    file = asked.out or RESULTS / f"{_slug(document)}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n")
    file.with_suffix(".md").write_text(table(document))
    print(table(document))
    print(file)
    return 0


def table(document: dict[str, Any]) -> str:
    """The document in Markdown."""
    device, limits = document["device"], document["limits"]
    lines = [
        f"# {device['name']}: {document['arch']}, {document['engine']}",
        "",
        f"Measured limits: {limits['flops'] / 1e9:.4g} GFLOP/s in f32, {limits['bandwidth'] / 1e9:.4g} GB/s.",
        "",
        "| work | size | ms | first call, s | error | beside its limit | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    for f in document["figures"]:
        beside = "" if f["of_limit"] is None else f"{f['of_limit']:.3g} {f['against']}"
        row = (f["work"], f["size"], f"{f['seconds'] * 1e3:.4g}", f"{f['first']:.3g}", f"{f['error']:.1e}")
        lines.append(f"| {' | '.join((*row, beside, f['goal']))} |")
    if device.get("software") or document["quick"]:
        lines += ["", "Goals are not judged: this is a software device, or the sizes are small."]
    return "\n".join([*lines, "", f"Not measured: {document['not measured']}.", ""])


def measured_limits(quick: bool) -> dict[str, float]:
    """Operations and bytes a second: multiply-adds in eight registers a thread, and a copy."""
    threads, turns = (1 << 12, 64) if quick else (1 << 20, 512)
    x = storage.allocate(np.full(threads, 1e-3, np.float32))
    names = [f"r{k}" for k in range(8)]
    lines = [f"{r} = x[i] + ti.f32({k}.0)" for k, r in enumerate(names)]
    lines += [f"for turn in range({turns}):"]
    lines += [f"    {r} = {r} * ti.f32(0.999) + ti.f32(0.001)" for r in names]
    lines += [f"x[i] = {' + '.join(names)}"]
    adds = BoundKernel(Code("for i in range(x.shape[0]):\n" + "".join(f"    {t}\n" for t in lines), {"x": x}))
    flops = 2.0 * 8 * turns * threads / fastest(lambda: (adds(), runtime.sync()))[1]
    count = (1 << 16) if quick else (1 << 26)
    y, z = (storage.allocate(np.zeros(count, np.float32)) for _ in range(2))
    copy = BoundKernel(Code("for i in range(y.shape[0]):\n    z[i] = y[i]\n", {"y": y, "z": z}))
    return {"flops": flops, "bandwidth": 8.0 * count / fastest(lambda: (copy(), runtime.sync()))[1]}


def fastest(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the first call, and of the fastest one after it."""
    began = time.perf_counter()
    call()
    first, best = time.perf_counter() - began, float("inf")
    ends = time.perf_counter() + SECONDS
    for _ in range(ROUNDS):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
        if time.perf_counter() > ends:
            break
    return first, best


def gravity(n: int, limits: dict[str, float]) -> Figure:
    """All pairs."""
    x, m = gravity_forces.bodies(n, "f32")
    call = gravity_forces.ours(x, m, "f32")
    first, seconds = fastest(call)
    off = error(numbers(call())[: gravity_forces.SHOWN], gravity_forces.expected(x, m))
    part = PAIR * n * n / seconds / limits["flops"]
    return _figure("gravity", f"{n:,} bodies", seconds, first, off, part, "of peak")


def beside_gravity(n: int, own: Figure) -> list[Figure]:
    """The same forces by peers, as multiples of our time; a line says why one was not measured."""
    x, m = gravity_forces.bodies(n, "f32")
    found = []
    for name, make in device_peers.gravity(runtime.arch()).items():
        work = f"gravity, {name}"
        try:
            call = make(x, m, gravity_forces.SOFTENING)
        except MissingColumnError as reason:
            found.append(Figure(work, f"not measured: {reason}", 0.0, 0.0, 0.0, None, "", ""))
            continue
        first, seconds = fastest(call)
        off = error(numbers(call())[: gravity_forces.SHOWN], gravity_forces.expected(x, m))
        where = "" if runtime.arch() == "cuda" else ", on the CPU"
        times = seconds / own.seconds
        found.append(Figure(work, f"{n:,} bodies{where}", seconds, first, off, times, "times ours", ""))
    return found


def tetrahedra(parts: tuple[int, int, int], limits: dict[str, float]) -> Figure:
    """Positions, nodes, shape gradients and volumes are read, forces are written: each once."""
    solid = neo_hookean.box(parts, "f32")
    call = neo_hookean.our_gradient(solid, "f32")
    first, seconds = fastest(call)
    off = error(numbers(call()), solid.gradient())
    count = 4 * (2 * solid.x.size + solid.cells.size + 9 * len(solid.cells) + len(solid.cells))
    part = count / seconds / limits["bandwidth"]
    size = f"{len(solid.cells):,} tetrahedra"
    return _figure("neo_hookean", size, seconds, first, off, part, "of bandwidth")


def laser(size: tuple[int, int], limits: dict[str, float]) -> Figure:
    """One iteration, beside the CPU in a process of its own."""
    given = task(size[0], np.float32, size[1])
    call, result = iteration(given)
    first, seconds = fastest(call)
    right = Scaled.by(expected(given, False))
    off = error(numbers(right.of(result())), numbers(right.right))
    words = [sys.executable, "-m", "benchmarks.on_device", *map(str, size)]
    on_cpu = environment(MINUSGRAD_ARCH="cpu", MINUSGRAD_ENGINE=runtime.engine_name())
    done = subprocess.run(words, cwd=ROOT, env=on_cpu, check=True, capture_output=True, text=True)
    named = f"{size[0]:,} points, {size[1]:,} x {size[1]:,} cells"
    return _figure("laser", named, seconds, first, off, float(done.stdout) / seconds, "times the CPU")


def iteration(given: Task) -> tuple[Callable[[], Any], Callable[[], Result]]:
    """An iteration whose gradients stay where kernels compute, and its result."""
    points, shape = len(given.path.x), given.target.shape
    cells = {"target": given.target.ravel(), "share": np.full(given.target.size, 1 / given.target.size)}
    fields = Fields(given.path._asdict() | cells, precision="f32")
    segments = np.stack([np.arange(points - 1), np.arange(1, points)], axis=1)
    spots = bind(stencil_dose, fields, tuples=segments, tables={"stencil": given.stencil}, grid=Grid(shape))
    potential = Potential(fields, [bind(dose_l2, fields)], [spots])
    targets = {name: storage.allocate(np.zeros(points, np.float32)) for name in Path4._fields}
    loss: list[float] = []

    def call() -> None:
        loss[:] = [potential.evaluate_into(targets)]
        runtime.sync()

    def result() -> Result:
        gradient = np.stack([storage.host(targets[name]) for name in Path4._fields])
        return Result(fields["dose"].values.reshape(shape), loss[0], gradient)

    return call, result


def members(count: int, limits: dict[str, float]) -> Figure:
    """A hundred steps of members of eight bodies; ms are those of one step of all."""
    ensembles.MEMBERS = count
    ensembles.starts.cache_clear()
    steps = 100
    call = ensembles.in_lanes(steps, "f64")
    first, seconds = fastest(call)
    off = error(call()[:4], ensembles.by_numpy(steps)[:4])
    return _figure("ensemble", f"{count:,} members", seconds / steps, first, off, None, "")


def torch(calls: int, limits: dict[str, float]) -> Figure:
    """Tensors on the device where PyTorch has it, else on the CPU."""
    x = np.random.default_rng(0).normal(size=(torch_call.N, 3))
    try:
        call = torch_call.on(x, calls, "cuda" if runtime.arch() == "cuda" else "cpu")
        first, seconds = fastest(call)
    except UserError as reason:
        return _figure("torch", f"not measured: {reason}", 0.0, 0.0, 0.0, None, "")
    gradient = (1.0 + (x * x).sum(-1))[:, None] * x
    micro = seconds / calls * 1e6
    off = error(numbers(call()), gradient)
    return _figure("torch", f"{len(x):,} nodes", seconds / calls, first, off, micro, "microseconds")


WORKS: dict[str, Callable[[Any, dict[str, float]], Figure]] = {
    "gravity": gravity,
    "neo_hookean": tetrahedra,
    "laser": laser,
    "ensemble": members,
    "torch": torch,
}


def _figure(
    work: str, size: str, seconds: float, first: float, off: float, part: float | None, against: str
) -> Figure:
    return Figure(work, size, seconds, first, off, part, against, GOALS[work])


def _slug(document: dict[str, Any]) -> str:
    words = f"{document['arch']}-{document['device']['name']}-{document['engine']}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


if __name__ == "__main__":  # seconds of an iteration on the CPU, two threads
    os.environ.setdefault("MINUSGRAD_ARCH", "cpu")
    runtime.start(runtime.Options(threads=2))
    print(fastest(iteration(task(int(sys.argv[1]), np.float32, int(sys.argv[2])))[0])[1])
