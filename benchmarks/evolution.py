"""Programs in time: value and gradient of a whole run, against the same program by `ti.ad.Tape` and by JAX.

Ours is the shipped scene: the loss of its `[fit]`, and the gradient by fields and parameters of the start.
The others are `tape` (fields over all steps, differentiated by Taichi) and `evolution_in_jax` (a scan with
checkpoints). Right is the Tape's gradient in f64, computed in a process of its own.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.adjoint.rollout import Rollout
from minusgrad.app.runs import build

from . import evolution_in_jax
from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.compiled import DTYPE
from .harness.process import ROOT, environment

TAPE, JAX = "Taichi's Tape", "JAX"
Maker = Callable[[int, str], Call]  # of the number of steps and the precision


@dataclass(frozen=True)
class Program:
    """A shipped scene and its counterparts, which return the gradient as one row of numbers.

    sought: what the gradient is by, fields and parameters of the start. steps, quick: of a run, and of one
    that only shows that it works. ratio: the goal against the Tape. tolerance: of f32, in parts of the
    largest number.
    """

    sought: Sequence[str]
    steps: int
    quick: int
    ratio: float
    tolerance: float
    by_tape: Maker
    in_jax: Maker | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


def _start(name: str, precision: str, changes: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The fields of a scene at its start."""
    fields = build(ROOT / f"scenes/{name}.toml", dict(changes)).fields
    return {n: f.values.astype(DTYPE[precision]) for n, f in fields.items() if n not in fields.derived}


def _billiards_by_tape(steps: int, precision: str) -> Call:
    from .tape import billiards

    start = _start("billiards", precision, {})
    program = billiards.program(len(start["x"]), steps, precision)

    def call() -> np.ndarray:
        return np.concatenate([gradient.ravel() for gradient in program(start["x"], start["v"])[1:]])

    return call


FLAT = {"state.fields.height": {"kind": "constant", "unit": "m"}}


def _wave_by_tape(steps: int, precision: str) -> Call:
    from .tape import wave

    target = _picture(precision)
    program = wave.program(len(target), steps, 0.25, precision)
    return lambda: program(np.zeros_like(target), target)[1].ravel()


def _wave_in_jax(steps: int, precision: str) -> Call:
    target = _picture(precision)
    return evolution_in_jax.wave(np.zeros_like(target), target, 0.25, steps)


def _picture(precision: str) -> np.ndarray:
    return _start("wave", precision, FLAT)["target"].reshape(256, 256)


PROGRAMS = {
    "billiards": Program(("x", "v"), 1023, 64, 0.5, 2e-3, _billiards_by_tape),
    "wave": Program(("height",), 256, 16, 0.5, 1e-4, _wave_by_tape, _wave_in_jax, FLAT),
}


def cases() -> Iterator[Case]:
    """One for each program, in f32."""
    for name in PROGRAMS:
        yield case(name, "f32")


def case(name: str, precision: str) -> Case:
    """A program in this precision."""
    program = PROGRAMS[name]
    steps = program.quick if session.quick() else program.steps
    columns = {
        TAPE: Column(partial(program.by_tape, steps, precision), engine=True),
        OURS: Column(partial(_ours, name, steps, precision), engine=True),
    }
    goals = [Goal(TAPE, program.ratio)]
    if program.in_jax:
        columns[JAX] = Column(partial(program.in_jax, steps, precision), peer=True)
        goals.append(Goal(JAX, 1.0))
    return Case(
        "evolution",
        name,
        precision,
        columns,
        expected=partial(_expected, name, steps),
        tolerance=program.tolerance,
        count=steps,
        unit="ms a step",
        base=TAPE,
        goals=tuple(goals),
        about={"steps": steps},
    )


def _ours(name: str, steps: int, precision: str) -> Call:
    """The rollout of the scene's fit, as `minusgrad fit` calls it; it is built by the first call."""
    from minusgrad.app.run_options import RunOptions
    from minusgrad.assembly.fits.fit import ParameterFit

    program = PROGRAMS[name]
    changes = {"run.steps": steps, "runtime.precision": precision, "runtime.threads": session.threads()}
    options = RunOptions(ROOT / f"scenes/{name}.toml", {**changes, **program.changes})

    @cache
    def rollout() -> Rollout:
        return ParameterFit(options.validated()).rollout

    def call() -> np.ndarray:
        _, found = rollout().evaluate(list(program.sought))
        return np.concatenate([np.ravel(found[one]) for one in program.sought])

    return call


@cache
def _expected(name: str, steps: int) -> np.ndarray:
    """The Tape's gradient in f64."""
    with tempfile.TemporaryDirectory(prefix="minusgrad-bench-") as folder:
        file = Path(folder) / "gradient.npy"
        command = [sys.executable, "-m", "benchmarks.programs.tape_gradient", name, str(steps), str(file)]
        subprocess.run(command, cwd=ROOT, env=environment(), check=True, capture_output=True)
        return np.load(file)
