"""Given fields of gravity from their centre to far outside, against mpmath: value, force and Hessian."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import minusgrad as mg

RADII = np.array([1e-20, 1e-15, 1e-9, 1e-8, 1e-6, 1e-5, 1e-3, 0.1, 0.5, 0.99, 1.01, 3.0, 1e3, 1e8])
DIRECTION = np.array([2.0, -3.0, 6.0]) / 7.0
GM = {"G": 1.0, "mass": 1.0, "scale": 1.0, "centre": [0.0, 0.0, 0.0]}
DISC = (0.7, 1.0)


def square(x: Any, y: Any, z: Any) -> Any:
    return x * x + y * y + z * z


def disc(x: Any, y: Any, z: Any) -> Any:
    a, b = (mpmath.mpf(one) for one in DISC)
    return -1 / mpmath.sqrt(x * x + y * y + (a + mpmath.sqrt(z * z + b * b)) ** 2)


FIELDS: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {
    "plummer_field": (GM, lambda *x: -1 / mpmath.sqrt(square(*x) + 1)),
    "hernquist_field": (GM, lambda *x: -1 / (mpmath.sqrt(square(*x)) + 1)),
    "nfw_field": (GM, lambda *x: -mpmath.log1p(mpmath.sqrt(square(*x))) / mpmath.sqrt(square(*x))),
    "logarithmic_field": (
        {"speed": 1.0, "scale": 1.0, "centre": [0.0, 0.0, 0.0]},
        lambda *x: mpmath.log1p(square(*x)) / 2,
    ),
    "disc_field": (GM | {"scale": DISC[0], "height": DISC[1]}, disc),
}
PRECISIONS = {"f64": (3e-15, np.float64), "f32": (2e-6, np.float32)}


def simulation(kind: str, parameters: dict[str, Any], x: np.ndarray, precision: str) -> mg.Simulation:
    return mg.Simulation(
        fields={"x": x, "v": np.zeros_like(x), "m": np.ones(len(x))},
        energies=[mg.energy(kind, **parameters)],
        stepper=mg.Leapfrog(dt=1e-3),
        units="dimensionless",
        plugins=["gravity"],
        runtime={"precision": precision},
    )


def derivatives(u: Callable[..., Any], x: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """U, its gradient and its Hessian at a place, with all digits."""
    with mpmath.workdps(120):
        at = [mpmath.mpf(float(one)) for one in x]
        step = mpmath.norm(at) * mpmath.mpf(10) ** -25

        def moved(*by: int) -> Any:
            return u(*(a + k * step for a, k in zip(at, by, strict=True)))

        unit = np.eye(3, dtype=int)
        g = [(moved(*e) - moved(*-e)) / (2 * step) for e in unit]
        h = [
            [
                (moved(*(e + f)) - moved(*(e - f)) - moved(*(f - e)) + moved(*-(e + f))) / (4 * step**2)
                for f in unit
            ]
            for e in unit
        ]
        return u(*at), np.array(g, float), np.array(h, float)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", FIELDS)
def test_fields_from_the_centre_to_far_outside(kind, precision):
    parameters, u = FIELDS[kind]
    close, dtype = PRECISIONS[precision]
    x = (RADII[:, None] * DIRECTION).astype(dtype).astype(float)
    sim = simulation(kind, parameters, x, precision)
    values, gradient = sim.potential.by_element(kind), sim.potential.gradient("x")
    hessian = sim.potential.hessian("x").toarray()
    for k, r in enumerate(RADII):
        value, g, h = derivatives(u, x[k])
        assert values[k] == pytest.approx(float(value), rel=close, abs=1e-37), r
        assert np.linalg.norm(gradient[k] - g) <= close * np.linalg.norm(g), r
        found = hessian[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]
        # slopes of the potential far outside are differences of numbers of the size of force / r
        assert np.abs(found - h).max() <= 5.0 * close * np.abs(h).max(), r


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", FIELDS)
def test_the_centre_itself_is_finite_and_has_no_force(kind, precision):
    parameters, u = FIELDS[kind]
    sim = simulation(kind, parameters, np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]]), precision)
    right = float(u(0, 0, 0)) if kind != "nfw_field" else -1.0
    assert sim.potential.by_element(kind)[0] == pytest.approx(right, rel=1e-6)
    assert (sim.potential.gradient("x")[0] == 0.0).all()
    found = sim.potential.hessian("x").toarray()[:3, :3]
    assert np.isfinite(found).all()
    if kind not in ("nfw_field", "hernquist_field"):
        step = 1e-5 * np.eye(3)
        sim.fields["x"].set(np.array([step[0], [1.0, 2.0, 0.5]]))
        np.testing.assert_allclose(found[0], sim.potential.gradient("x")[0] / 1e-5, rtol=1e-4, atol=1e-6)
