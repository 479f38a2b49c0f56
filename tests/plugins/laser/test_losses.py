"""Losses of a deposition against NumPy, and against closed forms of edges and circles."""

import re
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.app.runs import build
from minusgrad_laser.losses import edge_placement, exposure_limits, path_costs
from minusgrad_laser.states import along_contour, following

SCENES = Path(__file__).parents[3] / "scenes"
BOTH = pytest.mark.parametrize(("precision", "error"), [("f32", 3e-6), ("f64", 1e-13)])


def _energy(energy, values: dict, precision: str = "f64", **options) -> Potential:
    fields = Fields(values, precision=precision)
    return Potential(fields, [bind(energy, fields, **options)])


# Limits of exposure -------------------------------------------------------------------------------------


@pytest.mark.exam
@BOTH
@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.5])
def test_hinges_count_doses_beyond_their_thresholds(precision, error, exponent):
    rng = np.random.default_rng(0)
    d, t = rng.uniform(0.0, 1.6, 400), (rng.random(400) > 0.5).astype(float)
    given = {"inside": 0.95, "outside": 0.9, "above": 1.0, "exponent": exponent, "weight": 2.0}
    values = {"dose": d, "target": t, "share": np.full(400, 1.0 / 400)}
    potential = _energy(exposure_limits.dose_hinge, values, precision, parameters=given)
    total = 0.0
    for dose, wanted in zip(d, t, strict=True):
        beyond = [0.95 - dose, dose - 1.0] if wanted else [dose - 0.9]
        total += sum(one**exponent for one in beyond if one > 0.0)
    assert potential.value() == pytest.approx(2.0 * total / 400, rel=error)
    between = np.where(t > 0.5, 0.97, 0.85)
    potential.fields["dose"].set(between)
    assert potential.value() == 0.0
    assert not potential.gradient("dose").any()


@pytest.mark.exam
@BOTH
def test_over_dose_is_the_mean_square_beyond_the_limit(precision, error):
    d = np.random.default_rng(1).uniform(0.0, 2.0, 300)
    values = {"dose": d, "share": np.full(300, 1.0 / 300)}
    potential = _energy(exposure_limits.over_dose, values, precision, parameters={"most": 1.2})
    assert potential.value() == pytest.approx((np.clip(d - 1.2, 0.0, None) ** 2).mean(), rel=error)


# Edge placement -----------------------------------------------------------------------------------------

ROWS, COLUMNS = np.mgrid[0:40, 0:50].astype(float)
PIXEL = 0.02


def _placed(dose: np.ndarray, target: np.ndarray, precision: str = "f64", **given) -> Potential:
    squares, data = along_contour(target, PIXEL)
    parameters = {"threshold": 0.5, "least_slope": 1.0, "weight": 3.0} | given
    options = {"tuples": squares, "data": data, "parameters": parameters}
    return _energy(edge_placement.edge_placement, {"dose": dose.ravel()}, precision, **options)


@pytest.mark.exam
@BOTH
@pytest.mark.parametrize("angle", [0.0, 0.6, 2.5])
@pytest.mark.parametrize("shift", [0.3, -2.0])
def test_an_edge_of_constant_slope_is_displaced_by_its_shift(precision, error, angle, shift):
    """D falls by 10 a unit of length; seen along the normals of the contour, which come from a blur."""
    distance = PIXEL * ((COLUMNS - 24.6) * np.cos(angle) + (ROWS - 19.3) * np.sin(angle))
    target = np.clip(0.5 - 0.25 * distance / PIXEL, 0.0, 1.0)
    potential = _placed(0.5 - 10.0 * (distance - shift * PIXEL), target, precision)
    data = along_contour(target, PIXEL)[1]
    aligned = PIXEL * data["normal"] @ [np.sin(angle), np.cos(angle)]
    assert aligned.min() > 0.96  # at the rim of the canvas; 0.9999 elsewhere
    assert np.median(aligned) > 0.9998
    squares = (10.0 * shift * PIXEL) ** 2 / ((10.0 * aligned) ** 2 + 1.0)
    assert potential.value() == pytest.approx(3.0 * data["piece"] @ squares, rel=10.0 * error)
    assert potential.value() == pytest.approx(3.0 * (shift * PIXEL) ** 2 / 1.01, rel=6e-3)


@pytest.mark.exam
def test_a_missing_stroke_counts_as_the_threshold_over_the_least_slope():
    target = (np.hypot(COLUMNS - 25.0, ROWS - 20.0) < 9.0).astype(float)
    potential = _placed(np.zeros_like(target), target, least_slope=5.0)
    assert potential.value() == pytest.approx(3.0 * (0.5 / 5.0) ** 2, rel=1e-12)
    assert potential.gradient("dose").max() <= 0.0  # more dose, closer
    assert potential.gradient("dose").min() < 0.0


@pytest.mark.exam
def test_a_grown_disc_is_displaced_by_its_growth():
    """A smooth disc of radius R + 0.5 pixels against one of R: first order in the curvature."""
    distance = PIXEL * (np.hypot(COLUMNS - 25.2, ROWS - 20.1) - 12.0)
    target = np.clip(0.5 - 0.25 * distance / PIXEL, 0.0, 1.0)
    potential = _placed(0.5 - 10.0 * (distance - 0.5 * PIXEL), target, least_slope=0.01)
    assert potential.value() == pytest.approx(3.0 * (0.5 * PIXEL) ** 2, rel=0.01)


# Costs of a path ----------------------------------------------------------------------------------------


def _path(x: np.ndarray, y: np.ndarray, lit: np.ndarray | None = None) -> dict[str, np.ndarray]:
    return {"x": x, "y": y, "lit": np.ones(len(x)) if lit is None else lit}


def _bending(values: dict[str, np.ndarray], precision: str = "f64") -> Potential:
    bends = following(len(values["x"]), 3)
    return _energy(path_costs.curvature, values, precision, tuples=bends, parameters={"weight": 2.0})


@pytest.mark.exam
@pytest.mark.parametrize(("points", "precision"), [(100, "f64"), (400, "f64"), (1600, "f64"), (400, "f32")])
def test_a_circle_has_the_bending_energy_two_pi_over_its_radius(points, precision):
    """Exactly n (2 sin(pi / n))^2 / l with l = 2 R sin(pi / n), n points, whatever their number is."""
    radius, phi = 3.0, 2.0 * np.pi * np.arange(points + 2) / points
    found = _bending(_path(radius * np.cos(phi), radius * np.sin(phi)), precision).value()
    exact = 2.0 * points * 2.0 * np.sin(np.pi / points) / radius
    assert found == pytest.approx(exact, rel=1e-10 if precision == "f64" else 2e-3)
    assert exact == pytest.approx(2.0 * 2.0 * np.pi / radius, rel=1e-3)


@pytest.mark.exam
def test_bending_energy_tends_to_that_of_the_curve_for_any_spacing():
    """Of a parabola y = x^2 / 2 within +-1, with points at random: integral of (1 + x^2)^(-5/2) dx."""
    x = np.linspace(-1.0, 1.0, 4001) ** 3 * 0.5 + np.linspace(-1.0, 1.0, 4001) * 0.5
    exact = 2.0 * (
        1.0 / (3.0 * 2.0**1.5) + 2.0 / (3.0 * 2.0**0.5)
    )  # x / (3 s^3) + 2 x / (3 s), s^2 = 1 + x^2
    assert _bending(_path(x, 0.5 * x * x)).value() == pytest.approx(2.0 * exact, rel=1e-3)


@pytest.mark.exam
def test_travels_and_points_that_coincide_have_no_bend():
    x, y = np.array([0.0, 1.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    turn = 2.0 * 2.0 / 1.0  # weight |t' - t|^2 / h at the corner (1, 0)
    potential = _bending(_path(x, y))
    assert potential.value() == pytest.approx(turn, rel=1e-12)
    assert np.isfinite(potential.gradient("x")).all()
    assert _bending(_path(x, y, np.array([1.0, 1.0, 0.0, 1.0, 1.0]))).value() == 0.0


@pytest.mark.exam
@BOTH
def test_travels_cost_their_length_and_moves_their_time(precision, error):
    rng = np.random.default_rng(2)
    x, y, lit = rng.normal(size=50), rng.normal(size=50), (rng.random(50) > 0.4).astype(float)
    options = {"tuples": following(50, 2), "parameters": {"weight": 0.5}}
    potential = _energy(path_costs.travel_length, _path(x, y, lit), precision, **options)
    off = sum(np.hypot(x[i] - x[i - 1], y[i] - y[i - 1]) for i in range(1, 50) if not lit[i])
    assert potential.value() == pytest.approx(0.5 * off, rel=error)
    duration = rng.random(50)
    timed = _energy(path_costs.job_time, {"duration": duration}, precision, parameters={"weight": 4.0})
    assert timed.value() == pytest.approx(4.0 * duration.sum(), rel=error)


# In a scene ---------------------------------------------------------------------------------------------


LOSSES = """
[[map]]
kind = "overlap"
fields = { developed = "dose" }
sizes = { picture = 1 }

[[energy]]
kind = "soft_overlap"

[[energy]]
kind = "dose_hinge"

[[energy]]
kind = "over_dose"

[[energy]]
kind = "edge_placement"
least_slope = 0.2

[[energy]]
kind = "curvature"
weight = 1e-6

[[energy]]
kind = "travel_length"
weight = 1e-3
"""


@pytest.mark.exam
def test_a_scene_finds_the_lists_of_each_loss(tmp_path):
    """By their lengths and data: the scene names none."""
    text = (SCENES / "laser_butterfly.toml").read_text()
    (tmp_path / "scene.toml").write_text(text.replace('[[energy]]\nkind = "dose_l2"\n', LOSSES))
    path = {"kind": "wander", "points": 90, "extent": 30.0}
    small = {"state.canvas.size": [48, 48], "state.path": path}
    simulation = build(tmp_path / "scene.toml", small)
    begin = simulation.stepper.energy
    assert set(simulation.potential.terms) == set(re.findall(r'energy]]\nkind = "(\w+)"', LOSSES))
    simulation.stepper.advance(60)
    assert simulation.stepper.energy < 0.6 * begin
