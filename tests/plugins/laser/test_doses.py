"""Doses of maps against SciPy's quadrature of the spot along the path, segment by segment."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import RegularGridInterpolator

from minusgrad import Fields, Node, Potential, bind, bind_staged, local_energy
from minusgrad.energies.fields import Grid
from minusgrad_laser.dose.gaussian_beam import gaussian_beam_dose
from minusgrad_laser.dose.spots import gaussian_dose, stencil_dose
from minusgrad_laser.dose.stencil_lines import drawn_line, stencil_convolution
from tests.support.energies import readout


@local_energy("total", over="nodes", dose=Node())
def total(dose):
    """The sum of all cells."""
    return dose[0]


PIXEL, SHAPE = 0.75, (9, 11)
X = np.array([1.25, 4.875, 4.875, 2.25, 2.25 + 2.0**-13, 6.25])
Y = np.array([1.125, 2.0, 2.0, 5.125, 5.125 + 2.0**-13, 3.375])
"""A path with a segment of length zero, and one much shorter than the spot; exact in single precision."""
POWER = np.array([9.0, 1.3, 0.7, 0.0, 2.1, 1.7])
SPEED = np.array([9.0, 0.8, 1.1, 0.9, 0.0002, 1.4])


def dose(made: Any, precision: str = "f64", shape: tuple[int, int] = SHAPE, **options: Any) -> np.ndarray:
    """Of the path over the canvas, in rows and columns."""
    fields = Fields({"x": X, "y": Y, "power": POWER, "speed": SPEED}, precision=precision)
    segments = np.stack([np.arange(len(X) - 1), np.arange(1, len(X))], axis=1)
    bound = bind(made, fields, tuples=segments, grid=Grid(shape, PIXEL), **options)
    Potential(fields, [], [bound]).refresh()
    return fields["dose"].values.reshape(shape).astype(float)


def by_quadrature(rate: Callable[[float, float, float], float]) -> np.ndarray:
    """The integral over time of rate(P, x offset, y offset), by SciPy, at each cell."""
    found = np.zeros(SHAPE)
    for (row, column), _ in np.ndenumerate(found):
        for k in range(1, len(X)):
            dx, dy = X[k] - X[k - 1], Y[k] - Y[k - 1]

            def integrand(
                s: float, k: int = k, dx: float = dx, dy: float = dy, at: Any = (row, column)
            ) -> float:
                return rate(POWER[k], at[1] * PIXEL - X[k - 1] - s * dx, at[0] * PIXEL - Y[k - 1] - s * dy)

            time = np.hypot(dx, dy) / SPEED[k]
            found[row, column] += time * quad(integrand, 0.0, 1.0, epsabs=1e-13, epsrel=1e-12)[0]
    return found


BEAM = {"waists": [0.9, 1.6], "angle": 0.7, "defocus": 1.2, "rayleigh": 2.0, "reference": 0.3, "full": 1.7}


def beam_rate(n: float) -> Callable[[float, float, float], float]:
    """(P k)^n / (full I_0^(n-1)), written in the frame of the ellipse as a complex number."""
    a, b = np.array(BEAM["waists"]) * np.hypot(1.0, BEAM["defocus"] / BEAM["rayleigh"])

    def rate(power: float, x: float, y: float) -> float:
        u = (x + 1j * y) * np.exp(-1j * BEAM["angle"])
        intensity = power * 2.0 / (np.pi * a * b) * np.exp(-2.0 * ((u.real / a) ** 2 + (u.imag / b) ** 2))
        return intensity**n / (BEAM["full"] * BEAM["reference"] ** (n - 1.0))

    return rate


@pytest.mark.parametrize("n", [1.0, 2.0, 3.5])
def test_the_dose_of_a_gaussian_beam_against_quadrature(n: float):
    expected = by_quadrature(beam_rate(n))
    found = dose(gaussian_beam_dose, parameters={**BEAM, "exponent": n})
    assert found == pytest.approx(expected, abs=2e-8 * expected.max())
    single = dose(gaussian_beam_dose, "f32", parameters={**BEAM, "exponent": n})
    assert single == pytest.approx(expected, abs=5e-6 * expected.max())


@pytest.mark.parametrize(("waist", "aspect"), [(0.9, 2.5), (1.7, 0.4)])
def test_the_dose_of_an_elliptical_spot_against_quadrature(waist: float, aspect: float):
    """Along segments of any direction; 2 / (pi w_x w_y) has the area of the ellipse."""

    def rate(power: float, x: float, y: float) -> float:
        square = (x / waist) ** 2 + (y / (waist * aspect)) ** 2
        return power * 2.0 / (np.pi * waist * waist * aspect) * np.exp(-2.0 * square) / 0.4

    expected = by_quadrature(rate)
    spot = {"waist": waist, "aspect": aspect, "full": 0.4}
    assert dose(gaussian_dose, parameters=spot) == pytest.approx(expected, abs=2e-8 * expected.max())
    beam = {"waists": [waist, waist * aspect], "rayleigh": 5.0, "full": 0.4, "exponent": 1.0}
    assert dose(gaussian_beam_dose, parameters=beam) == pytest.approx(expected, abs=2e-8 * expected.max())


def test_a_round_beam_in_focus_of_exponent_one_is_the_gaussian_spot():
    same = dose(gaussian_dose, parameters={"waist": 1.3, "full": 0.4})
    plain = {"waists": [1.3, 1.3], "rayleigh": 5.0, "full": 0.4, "exponent": 1.0}
    assert dose(gaussian_beam_dose, parameters=plain) == pytest.approx(same, rel=1e-12, abs=1e-9 * same.max())
    for more in ({"angle": 0.4}, {"reference": 7.0}):
        found = dose(gaussian_beam_dose, parameters=plain | more)
        assert found == pytest.approx(same, rel=1e-12, abs=1e-7 * same.max())


def test_a_segment_without_power_may_be_written_again_by_exponent_one_alone():
    """dD/dP at P = 0, by the engine: that of the linear map, and zero for two photons."""

    def slope(n: float) -> float:
        fields = Fields({"x": X, "y": Y, "power": 0.0 * POWER, "speed": SPEED})
        segments = np.stack([np.arange(len(X) - 1), np.arange(1, len(X))], axis=1)
        grid = Grid(SHAPE, PIXEL)
        bound = bind(
            gaussian_beam_dose, fields, tuples=segments, grid=grid, parameters=BEAM | {"exponent": n}
        )
        potential = Potential(fields, [bind(total, fields)], [bound])
        gradient = potential.gradient("power")
        assert np.isfinite(gradient).all()
        return float(gradient[1])

    assert slope(1.0) > 0.01
    assert slope(2.0) == pytest.approx(0.0, abs=1e-25)


# Samples along segments --------------------------------------------------------------------------------

SAMPLES = np.random.default_rng(7).uniform(0.1, 1.0, (5, 4))
"""The middle sample is [2, 2]."""


def line_of_samples(
    n: float, precision: str = "f64", samples: np.ndarray = SAMPLES, **path: np.ndarray
) -> Potential:
    """U = sum of D^2 / 2 of the two maps."""
    given = {"x": X, "y": Y, "power": POWER, "speed": SPEED} | path
    fields = Fields(given | {"lean": np.zeros(SHAPE[0] * SHAPE[1])}, precision=precision)
    count = len(given["x"])
    segments = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    options = {"parameters": {"exponent": n, "reference": 1.4}, "tuples": segments}
    line = bind(drawn_line, fields, grid=Grid(SHAPE, PIXEL), **options)
    data = {"stencil": samples, "canvas_cells": SHAPE}
    parameters = {"exponent": n, "peak": 0.8, "full": 1.7}
    spread = bind_staged(stencil_convolution, fields, data=data, parameters=parameters)
    read = bind(readout, fields, renamed={"y": "dose"})
    potential = Potential(fields, [read], [line, spread])
    potential.refresh()
    return potential


@pytest.mark.parametrize("n", [1.0, 2.5])
def test_samples_along_segments_against_quadrature(n: float):
    """The bilinear spot by SciPy's interpolation, zero beyond its samples, at 4,000 places a segment."""
    padded = np.pad(SAMPLES**n, 1)
    offsets = [(np.arange(m + 2) - 1 - m // 2) * PIXEL for m in SAMPLES.shape]
    spot = RegularGridInterpolator(offsets, padded, bounds_error=False, fill_value=0.0)
    rows, columns = np.indices(SHAPE) * PIXEL
    expected = np.zeros(SHAPE)
    s = (np.arange(4000) + 0.5) / 4000
    for k in range(1, len(X)):
        length = np.hypot(X[k] - X[k - 1], Y[k] - Y[k - 1])
        rate = POWER[k] ** n / 1.4 ** (n - 1.0) * length / SPEED[k] * 0.8 / 1.7
        x, y = X[k - 1] + s * (X[k] - X[k - 1]), Y[k - 1] + s * (Y[k] - Y[k - 1])
        places = np.stack([rows[..., None] - y, columns[..., None] - x], axis=-1)
        expected += rate * spot(places).mean(axis=-1)
    for precision, near in (("f64", 2e-7), ("f32", 2e-6)):
        found = line_of_samples(n, precision).fields["dose"].values.reshape(SHAPE)
        assert found == pytest.approx(expected, abs=near * expected.max())


def test_samples_along_a_short_segment_are_those_at_its_end():
    end = {"x": np.array([3.3, 3.3 + 1e-7]), "y": np.array([2.6, 2.6]), "power": np.array([1.0, 2.0])}
    end |= {"speed": np.array([1.0, 1e-7])}
    drawn = line_of_samples(1.0, **end).fields["dose"].values
    fields = Fields(end)
    bound = bind(
        stencil_dose,
        fields,
        tuples=[[0, 1]],
        grid=Grid(SHAPE, PIXEL),
        tables={"stencil": SAMPLES},
        parameters={"peak": 0.8, "full": 1.7},
    )
    Potential(fields, [], [bound]).refresh()
    assert drawn == pytest.approx(fields["dose"].values, rel=1e-6, abs=1e-12)
    assert drawn.max() > 0.5


def test_all_ink_stays_on_the_canvas():
    """Along lines of cells' centres, and across: the hats of all cells sum to one."""
    flat = {"x": np.array([0.0, 6.0, 6.0, 0.75, 0.0]), "y": np.array([0.0, 0.0, 4.5, 4.5, 0.0])}
    flat |= {"power": np.ones(5), "speed": np.ones(5)}
    ink = line_of_samples(1.0, **flat).fields["ink"].values
    way = np.hypot(np.diff(flat["x"]), np.diff(flat["y"])).sum()
    assert ink.sum() == pytest.approx(way, rel=1e-13)
    assert ink.min() >= 0.0


def test_derivatives_of_samples_along_segments():
    """Beside cells' centres, where a point of ink has a kink."""
    rng, h, n = np.random.default_rng(5), 1e-5, 1.8
    x = X + 0.1
    potential = line_of_samples(n, x=x)
    for name, start in {"x": x, "y": Y, "power": POWER, "speed": SPEED}.items():
        way = np.where(np.isin(np.arange(6), (1, 2, 3, 4)), 0.0, rng.normal(size=6))  # not the kinks
        way[1:5] += (name in "xy") * np.array([0.3, 0.3, -0.2, -0.2])
        ahead, behind = (
            line_of_samples(n, **{"x": x, name: start + s * h * way}).value() for s in (1.0, -1.0)
        )
        slope = (ahead - behind) / (2.0 * h)
        assert potential.gradient(name) @ way == pytest.approx(slope, rel=1e-6, abs=1e-9), name
    for name in ("peak", "full", "exponent"):
        name, values = f"stencil_convolution.{name}", []
        start = float(potential.parameter(name))
        slope = float(potential.gradient(name))
        for s in (1.0, -1.0):
            potential.set_parameter(name, start + s * h)
            values.append(potential.value())
        potential.set_parameter(name, start)
        assert slope == pytest.approx((values[0] - values[1]) / (2.0 * h), rel=1e-6), name
