"""Keplerian elements to states and back, against mpmath at 40 digits: every eccentricity, every anomaly."""

import warnings
from typing import Any

import mpmath
import numpy as np
import pytest

import minusgrad as mg

SMALL = 1e-300
"""A mass that moves nothing."""
NEAR_ONE = [1.0 + s * 10.0**k for k in (-15, -12, -8, -5, -2) for s in (-1, 1)] + [
    1.0 - 2.0**-53,
    1.0 + 2.0**-52,
]
ECCENTRICITIES = [0.0, 1e-9, 0.3, 0.9, *NEAR_ONE, 1.5, 30.0, 1e6]
ANOMALIES = [0.0, 1e-20, -1e-9, 1e-3, 0.7, -2.5, 3.1415926, 40.0, -1e4, 1e8]


def simulation(bodies: list[dict[str, Any]], observe: list[dict[str, Any]] | None = None) -> mg.Simulation:
    named = [{"name": str(k), "mass": SMALL} | body for k, body in enumerate(bodies)]
    return mg.Simulation(
        state={"kind": "orbits", "G": 1.0, "central": {"name": "sun", "mass": 1.0}, "bodies": named},
        energies=[mg.energy("gravity", G=1.0)],
        stepper=mg.Leapfrog(dt=1e-9),
        units="dimensionless",
        plugins=["gravity"],
        observe=observe or [],
    )


def relative(bodies: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    fields = simulation(bodies).fields
    x, v = fields["x"].values, fields["v"].values
    return x[1:] - x[0], v[1:] - v[0]


def reference(e: float, mean: float, q: float | None = None) -> tuple[list[Any], list[Any]]:
    """Position and velocity in the plane for mu = 1; |a| = 1, or the pericentre distance q."""
    with mpmath.workdps(50):
        e, M = mpmath.mpf(e), mpmath.mpf(mean)
        if e == 1:
            q, M = mpmath.mpf(q), abs(M)
            D = root(lambda D: D + D**3 / 3 - M, M + 1) * mpmath.sign(mean)
            u = mpmath.sqrt(2 / q) / (1 + D * D)
            return [q * (1 - D * D), 2 * q * D], [-u * D, u]
        a = mpmath.mpf(1) if q is None else mpmath.mpf(q) / abs(1 - e)
        if e < 1:
            turned = M - 2 * mpmath.pi * mpmath.nint(M / (2 * mpmath.pi))
            E = root(lambda E: E - e * mpmath.sin(E) - abs(turned), mpmath.pi) * mpmath.sign(turned)
            c, s, b, rate = mpmath.cos(E), mpmath.sin(E), mpmath.sqrt(1 - e * e), mpmath.sqrt(1 / a)
            rate /= 1 - e * c
            return [a * (c - e), a * b * s], [-rate * s, rate * b * c]
        H = root(lambda H: e * mpmath.sinh(H) - H - abs(M), mpmath.mpf(60)) * mpmath.sign(M)
        c, s, b, rate = mpmath.cosh(H), mpmath.sinh(H), mpmath.sqrt(e * e - 1), mpmath.sqrt(1 / a)
        rate /= e * c - 1
        return [a * (e - c), a * b * s], [-rate * s, rate * b * c]


def root(f: Any, high: Any) -> Any:
    """By halving, of a growing function."""
    low = mpmath.mpf(0)
    for _ in range(175):
        middle = (low + high) / 2
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    return (low + high) / 2


def off(found: np.ndarray, wanted: list[Any]) -> float:
    """The relative error of a vector."""
    with mpmath.workdps(50):
        lost = [mpmath.mpf(float(a)) - b for a, b in zip(found, [*wanted, 0], strict=True)]
        return float(mpmath.norm(lost) / mpmath.norm(wanted))


def test_states_of_every_eccentricity():
    grid = [(e, M) for e in ECCENTRICITIES for M in ANOMALIES]
    bodies = [
        {"semi_major_axis": 1.0 if e < 1.0 else -1.0, "eccentricity": e, "mean_anomaly": M} for e, M in grid
    ]
    x, v = relative(bodies)
    for k, (e, M) in enumerate(grid):
        place, speed = reference(e, M)
        # the distance from the central mass changes by 1e-16 as its centre of mass is put to 0
        assert off(x[k], place) < 5e-15, (e, M)
        assert off(v[k], speed) < 5e-15, (e, M)


def test_a_parabola_and_its_neighbours_by_pericentre_distance():
    grid = [
        (e, M) for e in (0.0, 0.5, 1.0, 1.0 - 2.0**-53, 1.0 + 1e-9, 3.0) for M in (0.0, 1e-20, 0.3, -50.0)
    ]
    x, v = relative([{"pericentre_distance": 0.7, "eccentricity": e, "mean_anomaly": M} for e, M in grid])
    for k, (e, M) in enumerate(grid):
        place, speed = reference(e, M, 0.7)
        assert off(x[k], place) < 5e-15, (e, M)
        assert off(v[k], speed) < 5e-15, (e, M)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"semi_major_axis": 1.0, "eccentricity": 1.0}, "a parabola has no semi-major axis"),
        ({"semi_major_axis": 1.0, "eccentricity": 2.0}, "negative above"),
        ({"eccentricity": 0.5}, "needs one of `semi_major_axis` and `pericentre_distance`, got neither"),
        ({"semi_major_axis": 1.0, "pericentre_distance": 1.0}, "got both"),
        ({"pericentre_distance": 0.0, "eccentricity": 1.0}, "needs a quantity above 0"),
    ],
)
def test_orbits_that_cannot_be(body, said):
    with pytest.raises(mg.UserError, match=said):
        simulation([body])


def elements(tmp_path, bodies: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, np.ndarray]:
    """What the observer records at the start, as a, e, i, node, pericentre, mean anomaly."""
    observe = [{"kind": "orbital_elements", "every": 1, "G": 1.0}]
    if bodies is None:
        sim = mg.Simulation(
            fields=fields,
            energies=[mg.energy("gravity", G=1.0)],
            stepper=mg.Leapfrog(dt=1e-9),
            units="dimensionless",
            plugins=["gravity"],
            observe=observe,
        )
    else:
        sim = simulation(bodies, observe)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        run = sim.run(steps=1, out=tmp_path / "run")
    return {name: run[name][0] for name in run if name.startswith("orbit/")}


def test_small_inclinations_keep_their_digits(tmp_path):
    tilts = [1e-15, 3e-8, 1e-5, 1.0, np.pi - 1e-7]
    bodies = [
        {"semi_major_axis": 1.0, "eccentricity": 0.2, "inclination": i, "node": 1.0, "pericentre": 0.5}
        for i in tilts
    ]
    found = elements(tmp_path, [b | {"mean_anomaly": 2.0} for b in bodies])
    for k, i in enumerate(tilts):
        assert found[f"orbit/{k}"] == pytest.approx([1.0, 0.2, i, 1.0, 0.5, 2.0], rel=1e-13, abs=0.0)


def test_elements_near_a_parabola(tmp_path):
    """The mean anomaly, which is small there, keeps the digits that positions and velocities have."""
    grid = [(s, M) for s in (-1e-4, 1e-4, -1e-7, 1e-7) for M in (1e-9, 1e-3, 1.0)]
    bodies = [
        {"semi_major_axis": -1.0 if s > 0 else 1.0, "eccentricity": 1.0 + s, "mean_anomaly": M}
        for s, M in grid
    ]
    found = elements(tmp_path, bodies)
    for k, (s, M) in enumerate(grid):
        r = float(mpmath.norm(reference(1.0 + s, M)[0]))
        a, e, *_, mean = found[f"orbit/{k}"]
        lost = 1e-15 * max(1.0, 1.0 / r)
        assert abs(a) == pytest.approx(1.0, rel=4.0 * lost)
        assert e == pytest.approx(1.0 + s, rel=4e-15)
        assert mean == pytest.approx(M, rel=30.0 * lost, abs=1e-15)


def test_radial_orbits_have_elements(tmp_path):
    """From rest a body falls from its apocentre: e = 1, a = r / 2, M = pi; outwards above escape: a < 0."""
    x = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, -3.0]])
    v = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.1]])
    found = elements(tmp_path, x=x, v=v, m=np.array([1.0, SMALL, SMALL, SMALL]))
    pi = np.pi
    assert found["orbit/1"] == pytest.approx([1.0, 1.0, 0.0, 0.0, pi, pi])
    r, w = np.sqrt(2.0), np.sqrt(8.0)
    a = 1.0 / (2.0 / r - w * w)
    H = np.arcsinh(r * w / np.sqrt(-a))
    assert found["orbit/2"] == pytest.approx([a, 1.0, pi / 2, 3 * pi / 2, 7 * pi / 4, np.sinh(H) - H])
    a = 1.0 / (2.0 / 3.0 - 0.01)
    E = np.arctan2(-0.3 / np.sqrt(a), 1.0 - 3.0 / a)
    assert found["orbit/3"] == pytest.approx([a, 1.0, pi / 2, 0.0, pi / 2, (E - np.sin(E)) % (2 * pi)])
