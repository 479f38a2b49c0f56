"""Programs in time: value and gradient of a whole run, against the same program by `ti.ad.Tape` and by JAX.

Ours is the shipped scene: the loss of its `[fit]`, and the gradient by fields and parameters of the start.
The others are `tape` (fields over all steps, differentiated by Taichi) and `evolution_in_jax` (a scan with
checkpoints). Right is the Tape's gradient in f64, computed in a process of its own.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from minusgrad.adjoint.rollout import Rollout

from .evolution_programs import PROGRAMS, fit_of
from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.process import ROOT, environment

TAPE, JAX = "Taichi's Tape", "JAX"


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
        expected=None if program.tolerance is None else partial(_expected, name, steps),
        tolerance=program.tolerance or 0.0,
        count=steps,
        unit="ms a step",
        base=TAPE,
        goals=tuple(goals),
        about={"steps": steps},
    )


def _ours(name: str, steps: int, precision: str) -> Call:
    """The rollout of the scene's fit, as `minusgrad fit` calls it; it is built by the first call."""
    program = PROGRAMS[name]

    @cache
    def rollout() -> Rollout:
        return fit_of(name, steps, precision).function

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
