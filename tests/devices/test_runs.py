"""Runs on the device beside the CPU: integrators, heat baths, minimisers, programs, members; resumed runs."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad import build
from minusgrad.app import cli
from tests.support import devices
from tests.support.command import SCENES
from tests.support.ensembles import ensemble, unlike, written

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
    for arch in ("cpu", devices.ARCH):
        with devices.on(arch):
            found[arch] = {scene: ended(scene, arch) for scene in RUNS}
            if arch == devices.ARCH:
                found["again"] = {scene: ended(scene, arch) for scene in ("two_body", "wave")}
    return found


@pytest.mark.parametrize("scene", RUNS)
def test_a_run_ends_where_it_does_on_the_cpu(both: dict, scene: str) -> None:
    for name, wanted in both["cpu"][scene].items():
        close = RUNS[scene][1] * max(np.abs(wanted).max(initial=0.0), 1e-12)
        np.testing.assert_allclose(
            both[devices.ARCH][scene][name], wanted, rtol=0.0, atol=close, err_msg=name
        )


def test_the_same_bits_in_every_run(both: dict) -> None:
    for scene, fields in both["again"].items():
        for name, values in fields.items():
            np.testing.assert_array_equal(values, both[devices.ARCH][scene][name], err_msg=f"{scene} {name}")


def test_a_resumed_run_has_the_bits_of_a_whole_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = [SCENES / "two_body.toml", f"runtime.arch={devices.ARCH}", "run.steps=40", "--out"]
    with devices.on():
        assert cli.main(_words("run", *scene, tmp_path / "whole")) == 0
        stopped = _words("run", *scene, tmp_path / "cut", "--max-hours", "1e-9")
        assert cli.main(stopped) == 4
        assert cli.main(_words("resume", tmp_path / "cut")) == 0
        assert "bit for bit" not in capsys.readouterr().err
    assert cli.main(_words("compare", tmp_path / "whole", tmp_path / "cut")) == 0


def test_on_another_device_a_resumed_run_is_not_bit_for_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = [
        SCENES / "two_body.toml",
        "run.steps=40",
        f"runtime.arch={devices.ARCH}",
        "--out",
        tmp_path / "cut",
    ]
    with devices.on():
        assert cli.main(_words("run", *scene, "--max-hours", "1e-9")) == 4
        capsys.readouterr()
        assert cli.main(_words("resume", tmp_path / "cut", "--arch", "cpu")) == 0
    said = capsys.readouterr().err
    assert "perhaps not bit for bit the same" in said
    assert f'device.arch: "{devices.ARCH}" then, "cpu" now' in said


def _words(*arguments: object) -> list[str]:
    return [*map(str, arguments)]


def test_a_member_has_the_same_bits_alone_and_among_others(tmp_path: Path) -> None:
    """On a device each member has a thread of its own."""
    scene = written(tmp_path)
    with devices.on():
        three = ensemble(scene, tmp_path / "three", "ensemble.members=3")
        alone = ensemble(scene, tmp_path / "alone", "ensemble.member=2")
    assert unlike(alone.folder, three.folder, 3, 2) == []
    assert unlike(alone.folder, three.folder, 3, 1) != []
