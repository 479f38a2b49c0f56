"""The claims of the scenes with constraints: chains, a tennis racket, a slider-crank."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipk

import minusgrad
from minusgrad.app.results.run import Run
from tests.support.command import SCENES
from tests.support.hanging_chains import catenary_sag, on_paper


def observed(run: Run, name: str) -> np.ndarray:
    return run.series(f"observables/{name}").value


def test_chain_of_rods(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "chain_of_rods.toml", out=tmp_path / "run")
    assert observed(run, "violation").max() < 1e-14
    drift, kinetic = observed(run, "drift"), observed(run, "kinetic")
    assert 1e-5 < np.abs(drift).max() < 1e-3
    assert kinetic.max() > 3.0
    speeds = np.linalg.norm(run.series("particles/all/velocity").value[:, -1], axis=1)
    assert speeds.max() > 15.0
    x = run.series("particles/all/position").value
    lengths = np.linalg.norm(np.diff(x, axis=1), axis=2)
    np.testing.assert_allclose(lengths, 0.05, atol=2e-14)


def test_tennis_racket(tmp_path: Path) -> None:
    """It turns over whenever its middle axis crosses the plane across the angular momentum."""
    run = minusgrad.run(SCENES / "tennis_racket.toml", out=tmp_path / "run")
    momentum, spin = observed(run, "momentum"), observed(run, "angular_momentum")
    assert np.abs(momentum - momentum[0]).max() < 1e-12
    assert np.abs(spin - spin[0]).max() < 1e-12
    assert observed(run, "violation").max() < 1e-14
    series = run.series("particles/all/position")
    r = series.value[0] - series.value[0].mean(axis=0)
    inertia = np.diag([(r**2).sum() - (r[:, k] ** 2).sum() for k in range(3)])
    np.testing.assert_allclose(np.diag(inertia), [1.08, 2.36, 2.72])
    along = (series.value[:, 2] - series.value[:, 3]) @ spin[0]
    before = np.flatnonzero(along[1:] * along[:-1] < 0.0)
    times = 0.005 * series.step
    step = times[1] - times[0]
    turns = times[before] + step * along[before] / (along[before] - along[before + 1])
    assert len(turns) == 2
    assert turns[1] - turns[0] == pytest.approx(turning_over(np.diag(inertia), spin[0]), abs=1e-3)


def turning_over(moments: np.ndarray, spin: np.ndarray) -> float:
    """Half of the period of Euler's equations (Landau and Lifshitz, Mechanics, section 37)."""
    (a, b, c), energy = moments, (spin**2 / moments).sum()
    squared = (spin**2).sum()
    if squared < energy * b:
        a, c = c, a
    rate = np.sqrt((c - b) * (squared - energy * a) / (a * b * c))
    return 2.0 * ellipk((b - a) * (energy * c - squared) / ((c - b) * (squared - energy * a))) / rate


def test_slider_crank(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "slider_crank.toml", out=tmp_path / "run")
    series = run.series("particles/all/position")
    angle = 4.0 * 0.002 * series.step
    place = 0.1 * np.cos(angle) + np.sqrt(0.25**2 - (0.1 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(series.value[:, 2, 0], place, atol=1e-14)
    assert np.abs(observed(run, "drift")).max() < 1e-5
    assert observed(run, "work").max() == pytest.approx(1.55, abs=0.01)
    bob = series.value[:, 3] - series.value[:, 2]
    assert np.abs(bob[:, 0]).max() > 0.05


def test_catenary(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "catenary.toml", out=tmp_path / "run")
    nodes, tension = on_paper(24, length=2.64)
    np.testing.assert_allclose(run.series("particles/all/position").value[-1], nodes, atol=1e-8)
    forces = 2.0 * 0.11 * observed(run, "multiplier/rod")[-1]
    np.testing.assert_allclose(forces, tension, rtol=1e-8)
    assert tension[0] == pytest.approx(13.13232, abs=1e-5)
    assert nodes[:, 1].min() == pytest.approx(-0.766888, abs=1e-6)
    assert catenary_sag(2.64) == pytest.approx(0.7661, abs=1e-4)
    assert observed(run, "violation").max() < 1e-14
    weight = 25 * 0.1 * 9.81
    np.testing.assert_allclose(observed(run, "reaction/nails")[-1], [0.0, weight], atol=1e-8 * weight)
    shown = run.series("particles/all/reaction").value[-1]
    np.testing.assert_allclose(np.linalg.norm(shown[0] - [0.0, 0.981]), tension[0], rtol=1e-8)
    exerted = run.series("particles/all/constraint_force").value[-1]
    np.testing.assert_allclose(exerted[1:-1], np.tile([0.0, 0.981], (23, 1)), atol=1e-9)
