"""1,000 steps of leapfrog for 1,024 bodies in f32: as a whole program, and as a call in a warm process.

    program    from the start of the interpreter to its end, caches warm: imports, kernels, steps, files
    call       `minusgrad.run` again in the same process: the scene judged, built, run and saved

Ours is the command line with a scene; it leaves a run folder with its journal and the checkpoint of the last
step. The others (`programs.leapfrog`) read a state and save the last positions. What is right is the same
scheme by NumPy in f64; REBOUND's is drift - kick - drift, and is compared with that.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.files import checkpoint

from .gravity_by_hand import leapfrog
from .harness import session
from .harness.cases import OURS, C, Call, Case, Clocked, Column, Goal, MissingColumnError
from .harness.compiled import DTYPE
from .harness.process import ROOT, environment
from .programs.leapfrog import FORMS

DT, EPS = 1e-4, 0.05
BY_HAND = "Taichi by hand"
NAMES = {C: "C", BY_HAND: "taichi", "numba": "numba", "JAX": "jax", "torch.compile": "torch", "Warp": "warp"}
NAMES |= {"REBOUND": "rebound"}
SCENE = """[units]
system = "dimensionless"
[runtime]
precision = "{precision}"
threads = {threads}
[state]
kind = "from_csv"
file = "bodies.csv"
[[energy]]
kind = "gravity"
G = 1.0
softening = {eps}
[stepper]
kind = "leapfrog"
dt = {dt}
[run]
steps = {steps}
"""


def cases() -> Iterator[Case]:
    """As a program and as a call."""
    n, steps = (256, 100) if session.quick() else (1024, 1000)
    for name in ("program", "call"):
        yield case(name, n, steps, "f32")


def case(name: str, n: int, steps: int, precision: str) -> Case:
    """So many bodies and steps."""
    make = _program if name == "program" else _call
    columns = {
        shown: Column(
            lambda form=form: make(form, n, steps, precision),
            engine=form == "taichi",
            peer=form not in ("C", "taichi"),
            expected=(lambda: expected(n, steps, precision, drift_first=True)) if form == "rebound" else None,
        )
        for shown, form in NAMES.items()
    }
    ours = Column(
        lambda: (_our_program if name == "program" else _our_call)(n, steps, precision), engine=True
    )
    return Case(
        "leapfrog",
        name,
        precision,
        {C: columns.pop(C), OURS: ours} | columns,
        expected=lambda: expected(n, steps, precision),
        tolerance=1e-4,
        unit="ms",
        goals=(Goal(BY_HAND, 1.4),),
        about={"N": n, "steps": steps},
    )


@cache
def state(n: int, steps: int, precision: str) -> dict[str, Any]:
    """A ball of bodies that begins to fall together."""
    rng = np.random.default_rng(0)
    dtype = DTYPE[precision]
    x, v = rng.normal(size=(n, 3)).astype(dtype), (0.1 * rng.normal(size=(n, 3))).astype(dtype)
    return {"x": x, "v": v, "m": np.full(n, 1.0 / n, dtype), "dt": DT, "eps": EPS, "steps": steps}


def expected(n: int, steps: int, precision: str, drift_first: bool = False) -> np.ndarray:
    """The last x by NumPy in f64. |x_i - x_j|^2 and the sums over j are matrix products."""
    given = state(n, steps, precision)
    m = given["m"].astype(float)

    def acceleration(x: np.ndarray) -> np.ndarray:
        square = (x * x).sum(1)
        r2 = square[:, None] + square - 2.0 * x @ x.T + EPS**2
        w = m / (r2 * np.sqrt(r2))
        return w @ x - w.sum(1)[:, None] * x

    return leapfrog(given, acceleration, drift_first)


# Columns --------------------------------------------------------------------------------------------


def _call(form: str, n: int, steps: int, precision: str) -> Call:
    """All steps, in this process."""
    return FORMS[form](state(n, steps, precision))


def _program(form: str, n: int, steps: int, precision: str) -> Call:
    """All steps, in a process of its own."""
    if form not in ("C", "taichi"):
        FORMS[form](state(4, 1, precision))  # is it installed?
    folder = _folder()
    np.savez(folder / "state.npz", **state(n, steps, precision))
    command = [
        "-m",
        "benchmarks.programs.leapfrog",
        form,
        str(folder / "state.npz"),
        str(folder / "last.npy"),
    ]
    return _timed([sys.executable, *command], lambda: np.load(folder / "last.npy"))


def _our_program(n: int, steps: int, precision: str) -> Call:
    """`minusgrad run SCENE --out FOLDER --force`"""
    scene, out = _scene(n, steps, precision)
    code = "import sys; from minusgrad.app.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "run", str(scene), "--out", str(out), "--force"]
    return _timed(command, lambda: _last(out))


def _our_call(n: int, steps: int, precision: str) -> Call:
    """`minusgrad.run(SCENE, out=FOLDER, force=True)`"""
    import minusgrad

    scene, out = _scene(n, steps, precision)

    def call() -> np.ndarray:
        minusgrad.run(scene, out=out, force=True)
        return _last(out)

    return call


def _last(out: Path) -> np.ndarray:
    """x in the newest checkpoint."""
    newest, _ = checkpoint.newest(out / "ckpt")
    if newest is None:
        raise MissingColumnError(f"no checkpoint in {out}")
    return checkpoint.load(newest).arrays_under("fields")["x"]


def _scene(n: int, steps: int, precision: str) -> tuple[Path, Path]:
    folder, given = _folder(), state(n, steps, precision)
    rows = np.column_stack([given["m"], given["x"], given["v"]]).astype(float)
    np.savetxt(folder / "bodies.csv", rows, "%.17g", ",", header="m,x,y,z,vx,vy,vz", comments="")
    text = SCENE.format(precision=precision, threads=session.threads(), eps=EPS, dt=DT, steps=steps)
    (folder / "scene.toml").write_text(text)
    return folder / "scene.toml", folder / "run"


def _folder() -> Path:
    import atexit

    folder = Path(tempfile.mkdtemp(prefix="minusgrad-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _timed(command: list[str], read: Callable[[], np.ndarray]) -> Call:
    """Seconds from the start of a process to its end."""

    def call() -> Clocked:
        began = time.perf_counter()
        subprocess.run(command, cwd=ROOT, env=environment(), check=True, capture_output=True)
        return Clocked(time.perf_counter() - began, read())

    return call
