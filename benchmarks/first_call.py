"""The cold first call: neo-Hookean value, gradient and Hessian product in a new process, in ms.

The clock starts when the engine has started, and stops when all three are there: tracing, deriving, compiling
and running. Taichi's own reverse mode gives value and gradient alone (it has no second derivatives), of the
energy with `Matrix` code. The engine's cache on disk is off; so are torch's and JAX's.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np

from .harness.cases import OURS, BenchError, Call, Case, Clocked, Column, Goal
from .harness.peers import peer
from .harness.process import ROOT, environment
from .neo_hookean import box
from .programs.first_call import PARTS

REVERSE = "Matrix code, reverse mode"
NAMES = {OURS: "minusgrad", REVERSE: "reverse", "torch.compile": "torch", "JAX": "jax"}


def cases() -> Iterator[Case]:
    """In each precision."""
    for precision in ("f32", "f64"):
        columns = {
            name: Column(
                lambda form=form, precision=precision: cold(form, precision),  # type: ignore[misc]
                engine=form in ("minusgrad", "reverse"),
                peer=form in ("torch", "jax"),
            )
            for name, form in NAMES.items()
        }
        yield Case(
            "first_call",
            "value_gradient_product",
            precision,
            {REVERSE: columns[REVERSE]} | columns,
            expected=lambda precision=precision: box(PARTS, precision).gradient(),  # type: ignore[misc]
            tolerance=2e-5 if precision == "f32" else 1e-12,
            base=REVERSE,
            goals=(Goal(REVERSE, 0.7),),
        )


def cold(form: str, precision: str) -> Call:
    """A new process each time, which tells its seconds."""
    if form in ("torch", "jax"):
        peer(form)
    folder = tempfile.TemporaryDirectory(prefix="minusgrad-bench-")
    answer = f"{folder.name}/gradient.npy"
    command = [sys.executable, "-m", "benchmarks.programs.first_call", form, precision, answer]

    def call() -> Clocked:
        with tempfile.TemporaryDirectory() as empty:
            caches = {"TORCHINDUCTOR_CACHE_DIR": empty, "TI_OFFLINE_CACHE": "0", "QD_OFFLINE_CACHE": "0"}
            done = subprocess.run(
                command, cwd=ROOT, env=environment(**caches), capture_output=True, text=True
            )
        if done.returncode:
            raise BenchError(done.stderr.strip().splitlines()[-1])
        return Clocked(json.loads(done.stdout.splitlines()[-1]), np.load(answer))

    call.keep = folder  # type: ignore[attr-defined]
    return call
