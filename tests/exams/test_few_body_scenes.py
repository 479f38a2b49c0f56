"""The scenes of few bodies: the figure eight, the perihelion of Mercury."""

import numpy as np
import pytest

import minusgrad
from minusgrad.app.results.run import Run
from minusgrad.app.runs import build
from tests.support.command import SCENES

ARCSEC = 3600.0 * 180.0 / np.pi
CENTURY = 36525.0
PERIOD, EIGHT = 300, SCENES / "figure_eight.toml"
"""Steps of a period."""


def test_figure_eight(tmp_path):
    run = minusgrad.run(EIGHT, out=tmp_path / "run")
    x = run.series("particles/all/position")
    places = dict(zip(x.step, x.value, strict=True))
    assert x.time[-1] == pytest.approx(100 * 6.32591398, rel=1e-14)
    assert np.abs(places[PERIOD] - places[0]).max() < 1e-12
    assert np.abs(places[100 * PERIOD] - places[0]).max() < 1e-9
    assert np.abs(places[PERIOD // 3] - places[0][[2, 0, 1]]).max() < 1e-12
    assert np.abs(run.series("observables/drift").value).max() < 1e-12
    assert np.abs(run.series("observables/angular_momentum").value).max() < 1e-12


def test_figure_eight_by_leapfrog():
    """In as many steps, as the claim says, leapfrog is 0.1 off after 100 periods."""
    one = build(EIGHT, {"stepper.kind": "leapfrog"})
    start = one.fields["x"].values.copy()
    one.step(100 * PERIOD)
    assert 0.05 < np.abs(one.fields["x"].values - start).max() < 0.5


def _advance(run: Run) -> float:
    """The slope of the recorded angle of the perihelion [arcsec a century]."""
    elements = run.series("observables/orbit/mercury")
    angle = np.unwrap(elements.value[:, 4])
    return float(np.polyfit(elements.time, angle, 1)[0] * CENTURY * ARCSEC)


def test_mercury(tmp_path):
    """42.98 arcsec a century of the perihelion, and a mean motion that is not that of relativity."""
    run = minusgrad.run(SCENES / "mercury.toml", out=tmp_path / "run")
    assert _advance(run) == pytest.approx(42.98, rel=0.01)


def test_mercury_of_newton(tmp_path):
    """Without the energy the perihelion rests."""
    scene = (SCENES / "mercury.toml").read_text()
    first, rest = scene.split('[[energy]]\nkind = "post_newtonian"')
    (tmp_path / "mercury.toml").write_text(first + rest[rest.index("[stepper]") :])
    run = minusgrad.run(tmp_path / "mercury.toml", out=tmp_path / "run")
    assert abs(_advance(run)) < 1e-3
