"""Spot, threshold, exponent, latency and kerf from photos of burnt grids: `minusgrad laser --fit`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

from minusgrad.plugin import UserError, images
from minusgrad_laser.calibration.corner_marks import find_marks
from minusgrad_laser.calibration.photo_fit import PhotoFit, fit_photo
from minusgrad_laser.calibration.sheet import Sheet
from minusgrad_laser.calibration.sheet_design import Ranges, design_sheet
from minusgrad_laser.calibration.spot_fit import LineData, fit_spot, line_doses, predicted_widths
from minusgrad_laser.calibration.strokes import placed_grid, sheet_strokes
from minusgrad_laser.machine.profile import Profile
from tests.plugins.laser.burnt_sheets import Camera, Hidden, encoded, stamped_dose

CELL = 6e-6
NEAR = Camera(shape=(1500, 2150), scale=5.1e4)
"""Of a grid of 3 x 3: pixels of 20 um."""
HALF = np.sqrt(0.5)


@dataclass(frozen=True)
class Burnt:
    """A sheet, what it hides, and its dose."""

    sheet: Sheet
    hidden: Hidden
    dose: np.ndarray

    def photo(self, camera: Camera, fine: int = 2) -> np.ndarray:
        """Light as the reader has it, row 0 at the bottom."""
        middle = tuple(np.mean(self.sheet.marks, axis=0).tolist())
        return camera.photo(self.dose, self.hidden.softness, CELL, middle, fine=fine)

    def read_photo(self, camera: Camera, fine: int = 2) -> np.ndarray:
        return images.read("photo.jpg", encoded(self.photo(camera, fine)))[0]


def burnt(counts: tuple[int, int], rough: float = 0.0, **hidden: Any) -> Burnt:
    machine = Profile.load("grbl_diode")
    sheet = placed_grid(design_sheet(machine, Ranges(1.25e5, count=counts)), machine).sheet
    secret = Hidden(reference=sheet.reference, **hidden)
    size = sheet.marks[2][0] + 3e-3, sheet.marks[2][1] + 3e-3
    return Burnt(sheet, secret, stamped_dose(sheet_strokes(sheet), secret, CELL, size, rough))


@pytest.fixture(scope="module")
def small() -> Burnt:
    """A grid of 3 x 3 powers and speeds, by a spot of 60 x 150 um."""
    return burnt((3, 3))


@pytest.fixture(scope="module")
def coarse(small: Burnt) -> np.ndarray:
    """A quick photo of it, with ragged edges."""
    return small.read_photo(NEAR, fine=1)


@pytest.fixture(scope="module")
def found(small: Burnt) -> PhotoFit:
    return fit_photo("photo.jpg", small.read_photo(NEAR), small.sheet, 25e-6)


def truth(hidden: Hidden, data: LineData) -> dict[str, float]:
    """What the estimates should be."""
    values = np.array([*hidden.waists, hidden.threshold, hidden.exponent, 0.0])
    power, speed = data.kerf_at
    kerf = [2.0 * width_by_quadrature(hidden, normal, power, speed) for normal in ((1.0, 0.0), (0.0, 1.0))]
    return {
        "waist x": values[0], "waist y": values[1], "threshold": values[2], "exponent": values[3],
        "edge": 0.0, "latency": hidden.latency, "play x": 0.0, "play y": 0.0,
        "kerf x": kerf[0], "kerf y": kerf[1],
    }  # fmt: skip


def width_by_quadrature(hidden: Hidden, normal: tuple[float, float], power: float, speed: float) -> float:
    """Where the integral of I^n over time falls to the threshold: half the width of a long line [m]."""
    a, b = hidden.waists
    reach = 8.0 * max(a, b)

    def over(d: float) -> float:
        def rate(s: float) -> float:
            x, y = d * normal[0] - s * normal[1], d * normal[1] + s * normal[0]
            spot = 2.0 * power / (pi * a * b) * np.exp(-2.0 * (x / a) ** 2 - 2.0 * (y / b) ** 2)
            return (spot / hidden.reference) ** hidden.exponent * hidden.reference

        whole = integrate.quad(rate, -reach, reach, points=[0.0], epsabs=0.0, epsrel=1e-11, limit=400)[0]
        return whole / speed / hidden.threshold - 1.0

    return optimize.brentq(over, 0.0, reach, xtol=1e-14)


# The model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normal", [(1.0, 0.0), (0.0, 1.0), (HALF, HALF), (-0.6, 0.8)])
@pytest.mark.parametrize("exponent", [1.0, 1.4, 2.0])
def test_a_line_is_as_wide_as_its_dose_exceeds_the_threshold(
    normal: tuple[float, float], exponent: float
) -> None:
    hidden = Hidden(exponent=exponent)
    data = lines([normal], [3.0], [0.03])
    width = predicted_widths(data, np.array([*hidden.waists, hidden.threshold, exponent, 0.0]))
    assert width[0] == pytest.approx(2.0 * width_by_quadrature(hidden, normal, 3.0, 0.03), rel=1e-8)


def test_the_dose_of_a_line_is_that_of_the_formula() -> None:
    """sqrt(2 / pi) P / (w v) of a round spot."""
    dose = line_doses(lines([(1.0, 0.0)], [3.0], [0.03]), (4e-5, 4e-5), 1.0)
    assert dose[0] == pytest.approx(np.sqrt(2.0 / pi) * 3.0 / (4e-5 * 0.03), rel=1e-12)


def lines(normal: Any, power: Any, speed: Any) -> LineData:
    none = np.zeros(0)
    return LineData(
        np.array(normal, float), np.array(power, float), np.array(speed, float), np.zeros(len(power)),
        np.zeros((0, 2)), none, none, 1e9, (3.0, 0.03),
    )  # fmt: skip


def drawn(data: LineData, hidden: Hidden, noise: tuple[float, float], seed: int) -> LineData:
    """Data with the widths and shifts of hidden values, and noise."""
    random = np.random.default_rng(seed)
    width = predicted_widths(data, np.array([*hidden.waists, hidden.threshold, hidden.exponent, 0.0]))
    shift = hidden.latency * data.pair_speed
    return replace(
        data,
        width=width + noise[0] * random.standard_normal(len(width)),
        shift=shift + noise[1] * random.standard_normal(len(shift)),
    )


def test_without_noise_all_is_found_to_rounding(found: PhotoFit, small: Burnt) -> None:
    fitted = fit_spot(replace(drawn(found.data, small.hidden, (0.0, 0.0), 0), floor=0.0))
    for name, value in truth(small.hidden, found.data).items():
        assert fitted.estimates[name].value == pytest.approx(value, rel=1e-7, abs=1e-12), name


def test_errors_are_those_of_scipy(found: PhotoFit, small: Burnt) -> None:
    """The least misfit by SciPy's trust region and differences, and the covariance of its Jacobian."""
    data = replace(drawn(found.data, small.hidden, (1e-6, 1e-6), 3), floor=0.0)
    fitted = fit_spot(data)
    scale = np.array([3e-5, 7.5e-5, 1e5, 1.0, 1e-5])

    def misses(z: np.ndarray) -> np.ndarray:
        return 1e6 * (data.width - predicted_widths(data, z * scale))[fitted.used]

    with_edge = optimize.least_squares(misses, [1.0, 1.0, 1.0, 1.0, 0.1], xtol=1e-12, ftol=1e-12, gtol=1e-12)
    freedom = fitted.used.sum() - 5
    covariance = np.linalg.inv(with_edge.jac.T @ with_edge.jac) * 2.0 * with_edge.cost / freedom
    assert fitted.widths.values == pytest.approx(with_edge.x * scale, rel=1e-4)
    errors = np.sqrt(np.diag(fitted.widths.covariance))
    assert errors == pytest.approx(
        np.sqrt(np.diag(covariance)) * scale, rel=0.03
    )  # its Hessian has no curvature


def covered(found: PhotoFit, hidden: Hidden, seeds: range) -> dict[str, int]:
    """How often each interval of 95 % holds what is hidden."""
    noise = found.fitted.width_noise, found.fitted.shift_noise
    aims = truth(hidden, found.data)
    count = dict.fromkeys(aims, 0)
    for seed in seeds:
        for name, one in fit_spot(drawn(found.data, hidden, noise, seed)).estimates.items():
            count[name] += one.interval[0] <= aims[name] <= one.interval[1]
    return count


def test_intervals_cover_in_95_per_cent_of_40(found: PhotoFit, small: Burnt) -> None:
    """At 95 %, fewer than 33 of 40 have a chance of one in a thousand."""
    count = covered(found, small.hidden, range(40))
    assert all(one >= 33 for one in count.values()), count
    assert 40 * len(count) - sum(count.values()) >= 6  # nor are they too wide


# Photos ---------------------------------------------------------------------------------------------


def refuse_missed(found: PhotoFit, hidden: Hidden) -> None:
    """Fail where an interval misses what is hidden."""
    for name, value in truth(hidden, found.data).items():
        if name.startswith(("edge", "play")):
            continue  # of the photo
        low, high = found.fitted.estimates[name].interval
        assert low <= value <= high, (name, found.fitted.estimates[name])


def test_a_hidden_spot_is_found_in_a_tilted_photo(found: PhotoFit, small: Burnt) -> None:
    refuse_missed(found, small.hidden)
    errors = {name: one.error / abs(one.value) for name, one in found.fitted.estimates.items()}
    assert max(errors[name] for name in ("waist x", "waist y", "threshold", "exponent")) < 0.04
    assert errors["latency"] < 0.08
    assert found.tone == "straight"
    assert found.measured.pixel == pytest.approx(1.0 / NEAR.scale, rel=0.05)


def test_squares_are_dark_above_the_threshold(found: PhotoFit, small: Burnt) -> None:
    over = np.array([one.fluence for one in small.sheet.squares]) / small.hidden.threshold
    dark = found.measured.darkness
    assert np.all(dark[over > 1.3] > 0.97)
    assert np.all(np.abs(dark[over < 0.75]) < 0.03)


@pytest.mark.parametrize(("camera", "tone"), [
    (replace(NEAR, turn=pi + 0.1, noise=0.03, bend=-0.02), "straight"),
    (replace(NEAR, turn=0.5 * pi, shape=(2150, 1500), blur=1.6), "sRGB"),
], ids=["upside down by a bad lens with noise", "on its side, as a camera writes it"])  # fmt: skip
def test_other_photos(small: Burnt, camera: Camera, tone: str) -> None:
    light = np.clip(small.photo(camera), 0.0, 1.0)
    if tone == "sRGB":
        light = np.where(light < 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    fit = fit_photo("photo.jpg", images.read("photo.jpg", encoded(light))[0], small.sheet, 25e-6)
    refuse_missed(fit, small.hidden)
    assert fit.tone == tone


def test_light_marks_on_dark_are_found_too(small: Burnt, coarse: np.ndarray) -> None:
    fit = fit_photo("photo.png", 1.0 - coarse, small.sheet, 25e-6)
    assert 2.0 * fit.fitted.estimates["waist y"].value == pytest.approx(150e-6, rel=0.03)


@pytest.mark.long
def test_intervals_of_a_photo_of_a_whole_grid_cover() -> None:
    """A photo with tilt, shade, grain, noise; then 182 to 197 of 200 draws of its noise, of each number."""
    whole = burnt((4, 4), rough=0.04)
    light = whole.read_photo(Camera(noise=0.02), fine=4)
    fit = fit_photo("photo.jpg", light, whole.sheet, 25e-6)
    refuse_missed(fit, whole.hidden)
    count = covered(fit, whole.hidden, range(200))
    print(count)
    assert all(182 <= one <= 197 for one in count.values()), count


@pytest.mark.long
@pytest.mark.parametrize("hidden", [
    {"waists": (75e-6, 30e-6), "exponent": 1.3, "threshold": 8e4, "latency": -1e-4},
    {"waists": (50e-6, 50e-6), "exponent": 0.9, "threshold": 3e5, "latency": 3e-4},
])  # fmt: skip
def test_other_machines(hidden: dict[str, Any]) -> None:
    whole = burnt((4, 4), **hidden)
    fit = fit_photo(
        "photo.jpg", whole.read_photo(Camera(shape=(1900, 2800), scale=6.1e4)), whole.sheet, 25e-6
    )
    refuse_missed(fit, whole.hidden)


# What is refused ------------------------------------------------------------------------------------


def refused(action: Callable[[], Any]) -> str:
    with pytest.raises(UserError) as caught:
        action()
    return str(caught.value)


def test_a_photo_without_marks() -> None:
    paper = np.random.default_rng(0).normal(0.8, 0.02, (400, 600))
    assert find_marks(paper) == []
    sheet = design_sheet(Profile.load("grbl_diode"), Ranges(1.25e5))
    said = refused(lambda: fit_photo("a.png", paper, sheet, 5e-5))
    assert said.startswith(
        "a.png: no corner mark is found (a disc in a ring at each corner); take the whole sheet"
    )


def test_a_photo_with_three_marks(small: Burnt, coarse: np.ndarray) -> None:
    light = coarse.copy()
    marks = sorted(find_marks(light), key=lambda one: one.place)
    assert len(marks) == 4
    x, y = (int(z) for z in marks[0].place)
    light[max(0, y - 120) : y + 120, max(0, x - 120) : x + 120] = 0.7
    assert "a.png: 3 of the four corner marks are found" in refused(
        lambda: fit_photo("a.png", light, small.sheet, 5e-5)
    )


def test_a_photo_of_another_grid(small: Burnt, coarse: np.ndarray) -> None:
    line = small.sheet.lines[0]
    other = replace(small.sheet, lines=(replace(line, power=1.01 * line.power), *small.sheet.lines[1:]))
    said = refused(lambda: fit_photo("a.png", coarse, other, 2e-5))
    assert said.startswith(f"a.png: its code is not that of this sheet, {other.number}, got ")


def test_a_photo_with_too_few_pixels(small: Burnt) -> None:
    light = small.read_photo(replace(NEAR, shape=(760, 1100), scale=2.6e4))
    said = refused(lambda: fit_photo("a.png", light, small.sheet, 25e-6))
    assert "a.png: a pixel is 39" in said
    assert "um of the sheet, more than half of the spot of 50 um" in said
    said = refused(lambda: fit_photo("a.png", light, small.sheet, 50e-6))  # a profile that says too much
    assert "more than half of the spot of" in said


def painted(coarse: np.ndarray, lines: float, ground: float) -> np.ndarray:
    """A photo whose lines have this light, and what lies between them, too."""
    light = coarse.copy()
    marks = np.array([one.place for one in find_marks(light)])
    low, high = marks.min(axis=0) + 150, marks.max(axis=0) - 150
    part = light[int(low[1]) : int(high[1]), int(low[0]) : int(high[0])]
    light[int(low[1]) : int(high[1]), int(low[0]) : int(high[0])] = np.where(part < 0.4, lines, ground)
    return light


def test_a_sheet_whose_lines_are_not_burnt(small: Burnt, coarse: np.ndarray) -> None:
    said = refused(lambda: fit_photo("a.png", painted(coarse, 0.7, 0.7), small.sheet, 2.5e-5))
    assert said.startswith("a.png: ")
    assert "lines are burnt as dark as its marks" in said


def test_a_sheet_that_is_burnt_through(small: Burnt, coarse: np.ndarray) -> None:
    said = refused(lambda: fit_photo("a.png", painted(coarse, 0.12, 0.12), small.sheet, 2.5e-5))
    assert said.startswith("a.png: is burnt between its lines, too")


def test_lines_that_do_not_determine_the_spot() -> None:
    """One power and one speed: neither threshold nor exponent follows."""
    data = lines([(1.0, 0.0)] * 4 + [(0.0, 1.0)] * 4, [3.0] * 8, [0.03] * 8)
    data = replace(data, width=predicted_widths(data, np.array([3e-5, 7.5e-5, 1.1e5, 1.0, 0.0])))
    assert "--fit: the measured lines do not determine" in refused(lambda: fit_spot(data))


def test_a_scratch_changes_nothing(found: PhotoFit, small: Burnt) -> None:
    data = drawn(found.data, small.hidden, (5e-7, 5e-7), 1)
    width, shift = data.width.copy(), data.shift.copy()
    width[[3, 17]] += 40e-6
    shift[5] -= 60e-6
    clean, dirty = fit_spot(data), fit_spot(replace(data, width=width, shift=shift))
    for name, one in clean.estimates.items():
        assert abs(dirty.estimates[name].value - one.value) < 2.0 * one.error, name
    assert dirty.used.sum() == clean.used.sum() - 2
