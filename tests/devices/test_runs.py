"""Runs on the device beside the CPU: integrators, heat baths, minimisers, programs, members; resumed runs."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad import build
from tests.support import devices
from tests.support.command import SCENES, minusgrad

pytestmark = devices.needed
RUNS: dict[str, tuple[dict, float]] = {
    "two_body": ({"run.steps": 20}, 1e-11),
    "gravity_seed": ({"run.steps": 5}, 1e-5),
    "stretch": ({"run.steps": 6}, 1e-8),
    "wave": ({"run.steps": 4}, 1e-5),
    "mass_spring": ({"run.steps": 4}, 1e-4),
}
"""Scenes, what they change, and the largest difference in parts of the largest number of a field: rounding of
their precision, of minimisers and contacts many times that."""


def ended(scene: str, arch: str) -> dict[str, np.ndarray]:
    """The fields after some steps."""
    overrides, _ = RUNS[scene]
    simulation = build(SCENES / f"{scene}.toml", {**overrides, "runtime.arch": arch})
    simulation.stepper.advance(overrides["run.steps"])
    return {name: field.values.copy() for name, field in simulation.saved_fields.items()}


@pytest.fixture(scope="module")
def both() -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """The fields of all scenes on the CPU, on the device, and of two there again."""
    found = {}
    for arch in ("cpu", "vulkan"):
        with devices.on(arch):
            found[arch] = {scene: ended(scene, arch) for scene in RUNS}
            if arch == "vulkan":
                found["again"] = {scene: ended(scene, arch) for scene in ("two_body", "wave")}
    return found


@pytest.mark.parametrize("scene", RUNS)
def test_a_run_ends_where_it_does_on_the_cpu(both: dict, scene: str) -> None:
    for name, wanted in both["cpu"][scene].items():
        close = RUNS[scene][1] * max(np.abs(wanted).max(initial=0.0), 1e-12)
        np.testing.assert_allclose(both["vulkan"][scene][name], wanted, rtol=0.0, atol=close, err_msg=name)


def test_the_same_bits_in_every_run(both: dict) -> None:
    for scene, fields in both["again"].items():
        for name, values in fields.items():
            np.testing.assert_array_equal(values, both["vulkan"][scene][name], err_msg=f"{scene} {name}")


@pytest.mark.long
def test_a_run_that_was_cut_ends_with_the_same_files(tmp_path: Path) -> None:
    scene, on = SCENES / "two_body.toml", "runtime.arch=vulkan"
    for out, steps in (("whole", 40), ("cut", 25)):
        done = minusgrad("run", scene, on, f"run.steps={steps}", "--out", tmp_path / out)
        assert done.returncode == 0, done.stderr
    assert minusgrad("resume", tmp_path / "cut", "run.steps=40").returncode == 0
    compared = minusgrad("compare", tmp_path / "whole", tmp_path / "cut")
    assert (compared.returncode, compared.stdout[:4]) == (0, "the ")
