"""The scenes of a cold collapse and of two galaxies that meet, beside their claims."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad

SCENES = Path(__file__).parents[3] / "scenes"
FREE_FALL = 0.5 * np.pi * np.sqrt(0.5)
FEW: dict[str, Any] = {
    f"state.{one}.{part}.n": n
    for one in ("first", "second")
    for part, n in (("disc", 400), ("spheres.halo", 500), ("spheres.bulge", 100))
} | {"energy.0.softening": "0.5 kpc"}


def collapsed(n, tmp_path):
    run = minusgrad.run(SCENES / "cold_collapse.toml", n, tmp_path / "run")
    potential = run.series("observables/potential/gravity")
    return run, potential.time[potential.value.argmin()] / FREE_FALL


@pytest.mark.long
def test_cold_collapse(tmp_path):
    run, bounce = collapsed({}, tmp_path)
    assert 1.0 < bounce < 1.05
    ratio = run.series("observables/virial_ratio").value
    assert ratio[0] == 0.0
    assert ratio.max() > 2.0


def test_a_small_cold_collapse(tmp_path):
    """1,000 stars, coarse steps, until after the bounce."""
    few = {"state.n": 1000, "stepper.dt": 0.005, "run.steps": 260, "energy.0.softening": 0.04}
    run, bounce = collapsed(few, tmp_path)
    assert 1.0 < bounce < 1.05
    radius = run.series("observables/lagrangian_radius/0.5").value
    assert radius.min() < 0.2 * radius[0]


def passing(run):
    """Times and distances of the bulges' medians, and their places."""
    x = run.series("particles/all/position")
    bodies = {body.name: body.nodes for body in run.simulation.state.bodies}
    places = [np.median(x.value[:, bodies[f"{one}_bulge"]], axis=1) for one in ("first", "second")]
    return x.time, np.linalg.norm(places[0] - places[1], axis=1), places


@pytest.mark.long
def test_galaxy_collision(tmp_path):
    """2,000 of the 100,000 bodies; the claim of all was seen in one run."""
    run = minusgrad.run(SCENES / "galaxy_collision.toml", FEW, tmp_path / "run")
    time, apart, places = passing(run)
    assert time[apart.argmin()] == pytest.approx(186.0, rel=0.1)
    assert apart.min() == pytest.approx(12.0, abs=1.0)
    assert np.abs(run.series("observables/drift").value).max() < 5e-4
    x = run.series("particles/all/position").value
    for one, place in zip(("first", "second"), places, strict=True):
        disc = next(body.nodes for body in run.simulation.state.bodies if body.name == f"{one}_disc")
        edge = np.percentile(np.linalg.norm(x[:, disc] - place[:, None], axis=2), 99, axis=1)
        assert edge[-1] > 2.0 * edge[0]


def test_a_small_galaxy_collision(tmp_path):
    """Until after the pericentre, in coarse steps."""
    short = FEW | {"stepper.dt": "2 Myr", "run.steps": 110}
    run = minusgrad.run(SCENES / "galaxy_collision.toml", short, tmp_path / "run")
    time, apart, _ = passing(run)
    assert time[apart.argmin()] == pytest.approx(186.0, rel=0.1)
    assert apart.min() == pytest.approx(12.0, abs=1.0)
