"""Soft intersection over union: two sums over all cells, and an energy of them, against NumPy."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad_laser.losses.overlap import overlap, soft_overlap


def _potential(cells: int, precision: str = "f64", weight: float = 3.0) -> Potential:
    rng = np.random.default_rng(0)
    target = (rng.random(cells) > 0.6).astype(float)
    values = {"developed": rng.random(cells), "target": target, "share": np.full(cells, 1.0 / cells)}
    fields = Fields(values, precision=precision)
    sums = bind(overlap, fields, sizes={"picture": 1})
    return Potential(fields, [bind(soft_overlap, fields, parameters={"weight": weight})], [sums])


def _expected(potential: Potential, weight: float = 3.0) -> tuple[float, np.ndarray]:
    """U and dU/dZ, by hand."""
    z, t = (potential.fields[name].values.astype(float) for name in ("developed", "target"))
    both, either = (z * t).mean(), (z + t - z * t).mean()
    slope = -(t / either - both * (1.0 - t) / either**2) / len(z)
    return weight * (1.0 - both / either), weight * slope


@pytest.mark.exam
@pytest.mark.parametrize(("precision", "error"), [("f32", 2e-6), ("f64", 1e-13)])
@pytest.mark.parametrize("cells", [1, 7, 5000, 20_011])
def test_overlap_is_that_of_two_sums(cells, precision, error):
    potential = _potential(cells, precision)
    value, slope = _expected(potential)
    assert potential.value() == pytest.approx(value, rel=error)
    np.testing.assert_allclose(
        potential.gradient("developed"), slope, rtol=0.0, atol=error * abs(slope).max()
    )


@pytest.mark.exam
def test_second_derivatives_of_the_overlap_are_those_of_the_gradient():
    """Along w: H w = d/ds grad U(Z + s w), by central differences of the gradient written by hand."""
    potential, step = _potential(20_011), 1e-5
    w = np.random.default_rng(1).normal(size=20_011)
    z = potential.fields["developed"].values.copy()
    product = potential.product({"developed": w}, "developed")
    ends = []
    for side in (1.0, -1.0):
        potential.fields["developed"].set(z + side * step * w)
        ends.append(_expected(potential)[1])
    by_differences = (ends[0] - ends[1]) / (2.0 * step)
    np.testing.assert_allclose(product, by_differences, rtol=0.0, atol=1e-6 * abs(by_differences).max())


@pytest.mark.exam
def test_equal_maps_of_zeros_and_ones_have_no_loss():
    potential = _potential(5000)
    potential.fields["developed"].set(potential.fields["target"].values)
    assert potential.value() == pytest.approx(0.0, abs=1e-14)
