"""What must not happen before it is needed: imports before help, kernels before a step, looks at arrays."""

import subprocess
import sys

import numpy as np
import pytest

from minusgrad import Fields
from minusgrad.app.runs import build
from minusgrad.engine import kernels
from minusgrad.engine.kernels import BoundKernel, Code
from tests.support.command import SCENES
from tests.support.engine import restarted
from tests.support.kepler import two_bodies

HEAVY = ("taichi", "quadrants", "numpy", "scipy", "h5py", "pydantic", "pluggy", "rich")
SLOW = ("typing", "dataclasses", "inspect", "json", "difflib", "shutil", "traceback")
"""Of the standard library: each takes longer to import than the command line does."""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["check"]])
def test_the_command_line_imports_nothing_to_explain_itself(arguments):
    code = (
        "import sys, argparse; before = set(sys.modules)\n"
        "from minusgrad.app.cli import main\n"
        "try: main(sys.argv[1:])\n"
        f"except SystemExit: print(sorted({{*{HEAVY}, *{SLOW}}} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_importing_the_package_imports_nothing_else():
    """It takes 2 ms; NumPy alone would take 100."""
    code = "import sys; before = set(sys.modules)\nimport minusgrad; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'minusgrad'}\n"


def test_a_small_system_needs_a_kernel_of_steps_and_one_that_verifies_its_forces():
    restarted()  # which forgets the kernels of other tests
    before = kernels.compiled_count()
    simulation = two_bodies("leapfrog", 0.01)
    assert kernels.compiled_count() - before == 2
    simulation.advance(3)
    assert kernels.compiled_count() - before == 2


def test_the_forces_at_the_start_are_those_of_the_potential():
    """A step of no length leaves them behind, and nothing else."""
    simulation = build(SCENES / "two_body.toml")
    stepper, fields = simulation.stepper, simulation.fields
    before = {f.name: f.values.copy() for f in fields.values()}, stepper.state()
    for array in stepper.gradient.values():
        array.fill(np.nan)
    stepper.evaluate()
    np.testing.assert_allclose(stepper.gradient["x"], simulation.potential.gradient("x"), rtol=1e-14)
    assert all(np.array_equal(fields[n].values, values) for n, values in before[0].items())
    assert all(np.array_equal(stepper.state()[n], values) for n, values in before[1].items())


def doubling(array) -> BoundKernel:
    line = "for n in range(x.shape[0]):\n    x[n] = ti.f64(2.0) * x[n] + ti.f64(at) + t\n"
    return BoundKernel(Code(line, {"x": array}), "t", "at")


def test_a_launch_goes_on_when_the_engine_starts_anew():
    x = np.arange(4.0)
    launch = doubling(x)
    launch(0.5, 3)
    restarted()
    launch(0.5, 3)
    np.testing.assert_array_equal(x, 4.0 * np.arange(4.0) + 10.5)


def test_arrays_that_may_move_are_looked_at_at_each_launch(monkeypatch):
    """Of the engine's own memory, or strided: the same numbers."""
    fields = Fields({"x": np.arange(4.0)})
    stays = doubling(fields["x"].array)
    stays(1.0, 1)
    monkeypatch.setattr(kernels, "_memory_stays", lambda array: False)
    moves = doubling(y := np.arange(4.0))
    moves(1.0, 1)
    np.testing.assert_array_equal(fields["x"].values, y)
