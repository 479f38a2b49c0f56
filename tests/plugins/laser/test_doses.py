"""Doses of maps against SciPy's quadrature of the spot along the path, segment by segment."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.energies.fields import Grid
from minusgrad_laser.dose.gaussian_beam import gaussian_beam_dose
from minusgrad_laser.dose.spots import gaussian_dose


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
