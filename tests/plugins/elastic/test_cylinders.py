"""Cylinders as obstacles and their friction: forces on paper, a rope on a capstan."""

import numpy as np
import pytest

from minusgrad import Body, Fields, Motion, Potential, bind
from minusgrad.check import term_check
from minusgrad.plugin import SCHEMES, Integrator, System
from minusgrad_elastic import contacts, damping, loads, springs

K, R, MU, CREEP = 1e4, 0.5, 0.6, 0.05
CENTRE, AXIS = np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, -2.0])
SHAPE = {"centre": CENTRE, "axis": AXIS, "radius": R, "stiffness": K}
RUBS = SHAPE | {"coefficient": MU, "creep": CREEP}


def places(distances: list[float], seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Places (n, 3) at distances from the axis, and the unit vectors (n, 3) from it to them."""
    rng, n = np.random.default_rng(seed), AXIS / 3.0
    away = rng.normal(size=(len(distances), 3))
    away -= (away @ n)[:, None] * n
    away /= np.linalg.norm(away, axis=1)[:, None]
    return CENTRE + rng.normal(size=(len(distances), 1)) * n + np.array(distances)[:, None] * away, away


def test_a_cylinder_pushes_across_its_axis() -> None:
    """-dU/dx = k delta^2 |r| / R outwards, delta = (R^2 - r^2) / 2 R; nothing outside; any axis."""
    distances = np.array([0.1, 0.4, 0.49, 0.51])
    x, away = places(distances.tolist())
    fields = Fields({"x": x})
    delta = np.maximum(0.0, (R**2 - distances**2) / (2.0 * R))
    for scale in (1.0, -0.3):
        pushes = Potential(
            fields, [bind(contacts.cylinder, fields, parameters=SHAPE | {"axis": scale * AXIS})]
        )
        assert pushes.value() == pytest.approx(K / 3.0 * (delta**3).sum(), rel=1e-12)
        expected = (K * delta**2 * distances / R)[:, None] * away
        np.testing.assert_allclose(-pushes.gradient("x"), expected, atol=1e-9)


def test_friction_on_a_cylinder() -> None:
    """-dR/dv = -mu N u / sqrt(u^2 + c^2) in the surface, N what the cylinder bears, also along its axis."""
    distances = [0.45, 0.48, 0.49, 0.51]
    x, away = places(distances)
    v = np.random.default_rng(2).normal(size=(4, 3)) * [[1.0], [1e-3], [10.0], [1.0]]
    fields = Fields({"x": x, "v": v})
    bears = Potential(fields, [bind(contacts.cylinder, fields, parameters=SHAPE)])
    rubs = Potential(fields, [bind(damping.cylinder_friction, fields, parameters=RUBS)])
    normal = np.linalg.norm(bears.gradient("x"), axis=1)
    u = v - np.sum(v * away, axis=1, keepdims=True) * away
    speed = np.linalg.norm(u, axis=1)
    expected = (MU * normal / np.sqrt(speed**2 + CREEP**2))[:, None] * u
    np.testing.assert_allclose(rubs.gradient("v"), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("energy", [contacts.cylinder, damping.cylinder_friction], ids=lambda e: e.name)
def test_check_finds_nothing(energy) -> None:
    findings = list(term_check.of_energy(energy))
    assert len(findings) > 4
    assert [f for f in findings if not f.passed] == []


SLOW = 0.01


def pulled_string(ratio: float, n: int = 41) -> float:
    """The speed of a string over half of a bar, pulled by forces of this ratio at its ends, after 0.6 s.

    Nodes of 10 g on stiff springs; the bar bears them at the mean depth of 1 % of its radius.
    """
    radius, pull, m = 0.1, 1.0, 0.01
    a = np.pi * np.arange(n) / (n - 1)
    chord = 2.0 * radius * np.sin(0.5 * a[1])
    deep = 0.01 * radius
    stiffness = pull * a[1] / deep**2
    shape = {
        "centre": np.zeros(3),
        "axis": np.array([0.0, 1.0, 0.0]),
        "radius": radius,
        "stiffness": stiffness,
    }
    x = (radius - deep) * np.stack([-np.cos(a), 0.0 * a, np.sin(a)], axis=1)
    fields = Fields({"x": x, "v": np.zeros((n, 3)), "m": np.full(n, m)})
    rows = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    ends = {0: np.array([0.0, 0.0, -pull]), n - 1: np.array([0.0, 0.0, -ratio * pull])}
    terms = [
        bind(
            springs.spring,
            fields,
            tuples=rows,
            data={"rest": np.full(n - 1, chord)},
            parameters={"stiffness": 1e4},
        ),
        bind(contacts.cylinder, fields, parameters=shape),
        *(
            bind(
                loads.load,
                fields,
                name=f"pull_{k}",
                bodies=[Body("end", [node])],
                parameters={"force": force},
            )
            for k, (node, force) in enumerate(ends.items())
        ),
    ]
    friction = bind(damping.cylinder_friction, fields, parameters=shape | {"coefficient": MU, "creep": SLOW})
    slows = bind(damping.mass_damping, fields, parameters={"rate": 20.0})
    system = System(
        Potential(fields, terms), [Motion("x", "v", "m")], dissipation=Potential(fields, [friction, slows])
    )
    stepper = Integrator(system, SCHEMES["leapfrog"], 2e-4)
    stepper.advance(3000)
    return float(np.abs(fields["v"].values).max())


def test_a_rope_on_a_capstan() -> None:
    """Euler and Eytelwein: it holds up to the ratio e^(mu pi) of the pulls, 6.6, and creeps; above it runs.

    Then the pull beyond that ratio is borne by the mass damping alone: 0.12 m/s.
    """
    most = np.exp(MU * np.pi)
    assert pulled_string(0.85 * most) < 2.5 * SLOW
    assert pulled_string(1.15 * most) == pytest.approx(0.15 * most / (0.41 * 20.0), rel=0.25)
