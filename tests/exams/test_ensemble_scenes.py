"""The scenes of many members: planetary systems and double pendulums, by the values of a grid."""

import numpy as np

from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.ensembles.ensemble import Ensemble
from minusgrad.plot.curves import maps
from minusgrad.plot.pictures import plot
from tests.support.command import SCENES
from tests.support.ensembles import ensemble

G = 39.47692642137302  # AU^3 / Msun / yr^2
MU = 1e-4
CHAOS = 4.0
"""MEGNO above this is taken for chaos; that of regular orbits tends to 2."""


def semi_major_axes(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Of the last bodies about the first (M,), from x and v (M, 3, 3); the mass at the centre is 1."""
    r, u = x[:, 2] - x[:, 0], v[:, 2] - v[:, 0]
    return -G / ((u * u).sum(axis=1) - 2.0 * G / np.linalg.norm(r, axis=1))


def test_stability_map(tmp_path):
    """Resonance overlap and Hill stability at e = 0, islands and chaos at e = 0.15; the picture."""
    a, e = np.linspace(1.03, 1.33, 120), [0.0, 0.15]
    vary = (
        '{"state.bodies.1.semi_major_axis" = {range = {from = "1.03 AU", to = "1.33 AU", count = 120}},'
        ' "state.bodies.1.eccentricity" = {grid = [0.0, 0.15]}}'
    )
    run = ensemble(SCENES / "stability_map.toml", tmp_path / "run", f"ensemble.vary={vary}")
    assert not run.failures
    chaotic = run.series("observables/megno").value[-1].reshape(120, 2).T > CHAOS
    ends = semi_major_axes(run.ensemble.values("x"), run.ensemble.values("v")).reshape(120, 2).T
    hill = (MU / 3.0) ** (1.0 / 3.0)  # of orbits whose mean is 1, the sum of their axes by 2
    separate = 2.0 * np.sqrt(3.0) * hill / (1.0 - np.sqrt(3.0) * hill)
    near, far = a < 1.0 + 1.3 * MU ** (2.0 / 7.0), a > 1.0 + separate
    assert chaotic[0, near].mean() > 0.9
    assert chaotic[0, far].mean() < 0.1
    assert (ends[0, far] > 1.05).all()
    scattered = (ends[0, near] < 1.0) | (ends[0, near] > 1.5)
    assert scattered.mean() > 0.5
    assert chaotic[1, (a > 1.235) & (a < 1.285)].mean() > 0.9
    assert not chaotic[1, (a > 1.303) & (a < 1.315)].any()
    axes = maps.varied(run.folder)
    assert list(axes) == ["semi major axis [AU]", "eccentricity"]
    assert all(np.array_equal(*pair) for pair in zip(axes.values(), (a, e), strict=True))
    assert "map" in [path.stem for path in plot(run.folder)]


def test_double_pendulums():
    """None below the energy turns over; energies are kept, rods keep their lengths."""
    how = {"range": {"from": "-3.1 rad", "to": "3.1 rad", "count": 16}}
    given = {"ensemble.vary": {f"state.angles.{k}": how for k in range(2)}}
    scene = SCENES / "double_pendulums.toml"
    members = Ensemble(RunOptions(scene, given, None, (), False, None, None, None, None).validated())
    first, second = (members.drawn[f"state.angles.{k}"] for k in range(2))
    angles, turned = np.stack([first, second]), np.full(256, np.inf)
    found = []
    for k in range(1000):
        state = members.stepper.own_state()
        x, v = state["fields/x"], state["fields/v"]
        rods = np.diff(x, axis=1).transpose(1, 0, 2)
        now = np.arctan2(rods[..., 0], -rods[..., 1])
        angles += (now - angles + np.pi) % (2.0 * np.pi) - np.pi
        turned = np.where((np.abs(angles) > np.pi).any(axis=0), np.minimum(turned, k * 0.02), turned)
        stretch = np.linalg.norm(rods, axis=2) - 1.0
        kinetic = 0.5 * (v * v).sum(axis=(1, 2))
        whole = kinetic + 9.80665 * x[:, 1:, 1].sum(axis=1) + 1e5 * (stretch**2).sum(axis=0)
        found.append([kinetic, whole, np.abs(stretch).max(axis=0)])
        members.stepper.advance(40)
    kinetic, whole, stretch = np.array(found).transpose(1, 0, 2)
    able = 2.0 * np.cos(first) + np.cos(second) < 1.0
    assert 60 < (~able).sum() < 100
    assert np.isinf(turned[~able]).all()
    assert np.median(turned[able]) < 4.0
    assert np.abs(whole - whole[0]).max() < 1e-4 * kinetic.max()
    assert stretch.max() < 3e-3
