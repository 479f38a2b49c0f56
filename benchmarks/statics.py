"""The static bend of a neo-Hookean beam by Newton's method, in ms of CPU time; f64, one thread.

bend         10,080 tetrahedra, from rest to equilibrium; everybody ends at the sag of NumPy, to 6 digits.
             Ours with factors of SuperLU, by multigrid, and with its compilation: a new process, counted from
             where the engine has started and all is imported, with the engine's cache on disk
newton_step  100,800 tetrahedra: one step of Newton's method from rest by either solver, and one step of
             implicit Euler, for its peak memory

scikit-fem and TinyAD (with Eigen's SimplicialLDLT) have Newton's method by hand, with the Hessian as it is;
TinyAD projects it where the factors fail or the direction does not descend. TinyAD and Eigen are found as for
`projected_hessian`.
"""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from .beam import Beam
from .beam_peers import by_scikit_fem, by_tinyad
from .harness import session
from .harness.cases import OURS, BenchError, Call, Case, Clocked, Column, Goal
from .harness.peers import require
from .harness.process import ROOT, environment
from .harness.worker import peak_memory

BEND, STEP = (40, 6, 7), (80, 14, 15)
QUICK = (12, 2, 2)
DT = 0.3
"""The time step; a wave crosses the beam in about 1."""
SIX_DIGITS = 5e-7
TINYAD, SCIKIT_FEM = "TinyAD, Eigen", "scikit-fem"
MULTIGRID, SUPERLU = "minusgrad, multigrid", "minusgrad, SuperLU"
COMPILED, IMPLICIT = "minusgrad, with compilation", "minusgrad, implicit Euler"


def cases() -> Iterator[Case]:
    """The equilibrium, and a step of many cells."""
    yield bend(QUICK if session.quick() else BEND)
    yield step(QUICK if session.quick() else STEP)


def bend(parts: tuple[int, int, int]) -> Case:
    """A beam of so many parts, to equilibrium."""
    columns = {
        TINYAD: Column(lambda: clocked(by_tinyad(of(parts))), peer=True),
        SCIKIT_FEM: Column(lambda: clocked(by_scikit_fem(of(parts))), peer=True),
        OURS: Column(lambda: clocked(equilibrium(of(parts), "superlu")), engine=True),
        MULTIGRID: Column(lambda: clocked(equilibrium(of(parts), "multigrid")), engine=True),
        COMPILED: Column(lambda: cold(parts), engine=True),
    }
    return Case(
        "statics",
        "bend",
        "f64",
        columns,
        expected=lambda: np.array(of(parts).sag(of(parts).minimum())),
        tolerance=SIX_DIGITS,
        base=TINYAD,
        goals=(Goal(TINYAD, 0.5), Goal(SCIKIT_FEM, 0.4), Goal(TINYAD, 1.0, column=COMPILED)),
        threads=1,
        about={"tetrahedra": 6 * int(np.prod(parts))},
    )


def step(parts: tuple[int, int, int]) -> Case:
    """A beam of so many parts, one step of Newton's method, and one in time."""
    columns = {
        SUPERLU: Column(lambda: clocked(newton_step(of(parts), "superlu")), engine=True),
        OURS: Column(lambda: clocked(newton_step(of(parts), "multigrid")), engine=True),
        IMPLICIT: Column(
            lambda: clocked(implicit_step(of(parts))), engine=True, expected=lambda: moved_in_time(of(parts))
        ),
    }
    return Case(
        "statics",
        "newton_step",
        "f64",
        columns,
        expected=lambda: along(of(parts), of(parts).minimum(steps=1)),
        tolerance=1e-5,
        base=SUPERLU,
        goals=(Goal(SUPERLU, 0.15),),
        threads=1,
        about={"tetrahedra": 6 * int(np.prod(parts))},
    )


@cache
def of(parts: tuple[int, int, int]) -> Beam:
    """The beam of so many parts."""
    return Beam.of(parts)


def clocked(call: Call) -> Call:
    """The call by the CPU clock of its process."""

    def by_cpu() -> Clocked:
        gc.collect()  # a stepper of the call before is in a cycle, and has factors of 1.5 GB
        began = time.process_time()
        answer = call()
        return Clocked(time.process_time() - began, answer, peak_memory(False))

    return by_cpu


def equilibrium(beam: Beam, solver: str) -> Callable[[], float]:
    """The sag, by the minimiser of `[stepper] kind = "newton"`."""
    _require(solver)
    potential = beam.potential()

    def call() -> float:
        newton = beam.newton(potential, solver)
        newton.advance(60)
        if newton.outcome != "converged":
            raise BenchError(newton.verdict)
        return beam.sag(potential.fields["x"].values)

    return call


def newton_step(beam: Beam, solver: str) -> Call:
    """The direction of the first step."""
    _require(solver)
    potential = beam.potential()

    def call() -> np.ndarray:
        beam.newton(potential, solver).advance(1)
        return along(beam, potential.fields["x"].values)

    return call


def along(beam: Beam, x: np.ndarray) -> np.ndarray:
    """Displacements in parts of the largest: the line search of each may choose another length."""
    moved = x - beam.solid.x
    return moved / np.abs(moved).max()


def implicit_step(beam: Beam) -> Call:
    """Displacements after a step in time, by the stepper of `kind = "implicit_euler"`."""
    _require("multigrid")
    potential = beam.potential()

    def call() -> np.ndarray:
        beam.implicit_euler(potential, DT).advance(1)
        return potential.fields["x"].values - beam.solid.x

    return call


def moved_in_time(beam: Beam) -> np.ndarray:
    """The same by NumPy: implicit Euler from rest minimises U + m |x - X|^2 / 2 h^2."""
    return beam.minimum(inertia=1.0 / DT**2) - beam.solid.x


def cold(parts: tuple[int, int, int]) -> Call:
    """A new process each time, which prints its CPU seconds and its sag."""
    command = [sys.executable, "-m", "benchmarks.programs.bend", json.dumps(parts)]

    def call() -> Clocked:
        done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
        if done.returncode:
            raise BenchError(done.stderr.strip().splitlines()[-1])
        return Clocked(*json.loads(done.stdout.splitlines()[-1]))

    return call


def _require(solver: str) -> None:
    if solver == "multigrid":
        require("pyamg")
