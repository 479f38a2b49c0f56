"""Runs of a slide with contact and friction: members, both engines, derivatives in PyTorch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.app.jobs.job_runs import resume
from tests.plugins.elastic.test_contact_friction import MU, on_a_slope
from tests.support.both_engines import assert_engines_agree
from tests.support.cubes import EULER
from tests.support.short_scenes import cut

SAVED = '\n[[observe]]\nkind = "frames"\nevery = 2\n[checkpoint]\nevery = 2\n'
VARIED = '[ensemble]\nmembers = 2\n[ensemble.vary]\n"contact.coefficient" = { list = [0.1, 0.3] }\n'


def slide(folder: Path, more: str = "") -> Path:
    """A box that slips down a slope, ten steps."""
    on_a_slope(folder, 1.5 * MU, EULER)
    scene = folder / "scene.toml"
    scene.write_text(scene.read_text() + SAVED + more)
    return scene


def test_members_with_their_own_friction_are_cut_and_are_what_they_are_alone(tmp_path: Path) -> None:
    """Bit for bit; and less friction is a longer way."""
    scene = slide(tmp_path, VARIED)
    whole = mg.run(scene, out=tmp_path / "whole")["position"]
    resume(cut(tmp_path / "part", scene, {}, 5))
    np.testing.assert_array_equal(mg.open(tmp_path / "part")["position"], whole)
    alone = mg.run(scene, {"ensemble.member": 1}, out=tmp_path / "alone")["position"][-1]
    np.testing.assert_array_equal(whole[-1][1], alone)
    assert whole[-1][0][:, 0].sum() > alone[:, 0].sum() + 1e-4


@pytest.mark.long
def test_both_engines_slide_as_far(tmp_path: Path) -> None:
    assert_engines_agree(slide(tmp_path), tmp_path)


@pytest.mark.long
def test_a_slide_in_pytorch_has_the_slope_by_its_friction(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    run = minusgrad.torch.rollout(mg.load(slide(tmp_path)))
    mu = run.start("contact.coefficient").requires_grad_()

    def way(value: Any) -> Any:
        return run({"contact.coefficient": value})["x"][:, 0].sum()

    way(mu).backward()
    with torch.no_grad():
        steps = {k: float(way(mu + k * 1e-3)) for k in (-2, -1, 1, 2)}
    slope = (8.0 * (steps[1] - steps[-1]) - (steps[2] - steps[-2])) / 12e-3
    assert float(mu.grad) == pytest.approx(slope, rel=1e-7)
    assert slope < -1e-3
