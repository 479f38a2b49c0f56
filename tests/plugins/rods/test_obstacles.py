"""Contact, friction, drag and loads of rods against closed forms and integrals along the edges."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

import minusgrad as mg
from tests.support.rods import AREA, DENSITY, EI, RADIUS, YOUNG, network_scene, places, rod_scene, solved

STIFF = 1e7
SIZE = 0.1


def scene(energy: Any = (), dissipation: Any = (), state: Any = None, **more: Any) -> mg.Simulation:
    """A free rod of 4 elements with energies and dissipations, of rods over its edges."""
    energy, dissipation = (
        [{"tuples": "edges"} | one if one["kind"].startswith("rod_") else one for one in given]
        for given in (energy, dissipation)
    )
    blocks = {"energy": list(energy), "hold": [], "stepper": {"kind": "leapfrog", "dt": 1e-4}}
    if dissipation:
        blocks["dissipation"] = list(dissipation)
    return mg.load(rod_scene({"elements": 4} | dict(state or {}), {"clamps": []}, **(blocks | more)))


OBSTACLES: dict[str, dict[str, Any]] = {
    "rod_wall": {"normal": [0.0, 0.0, 2.0], "offset": 0.1},
    "rod_ball": {"centre": [0.4, 0.0, 0.0], "size": SIZE},
    "rod_cylinder": {"point": [0.4, 9.0, 0.0], "axis": [0.0, 3.0, 0.0], "size": SIZE},
}


def depth_of(kind: str, x: np.ndarray) -> np.ndarray:
    """Depth of the rod's surface at places (n, 3), in plain NumPy."""
    if kind == "rod_wall":
        return 0.1 + RADIUS - x[:, 2]
    r = x - [0.4, 0.0, 0.0]
    if kind == "rod_cylinder":
        r = r * [1.0, 0.0, 1.0]
    whole = SIZE + RADIUS
    return (whole**2 - (r**2).sum(axis=1)) / (2.0 * whole)


@pytest.mark.parametrize("kind", OBSTACLES)
def test_penalty_is_the_integral_along_the_rod(kind):
    """k/3 depth^3 along a rod that lies 2 mm deep at most, over the same points of Gauss and Legendre."""
    made = scene([{"kind": kind, "stiffness": STIFF} | OBSTACLES[kind]])
    x = places(made).copy()
    x[:, 2] = [0.122, 0.118, 0.1185, 0.119, 0.1195]
    made.fields["x"].set(x)
    s, w = (0.5 * (a + b) for a, b in zip(np.polynomial.legendre.leggauss(4), (1.0, 0.0), strict=True))
    edges = [a + s[:, None] * (b - a) for a, b in pairwise(x)]
    parts = [(w * np.maximum(depth_of(kind, at), 0.0) ** 3).sum() for at in edges]
    exact = 0.25 * STIFF / 3.0 * np.sum(parts)
    assert exact > 0.0
    assert abs(made.potential.by_term()[kind] / exact - 1.0) < 1e-12
    made.fields["x"].set(x + np.array([0.0, 0.0, 0.01]))
    assert made.potential.by_term()[kind] == 0.0


@pytest.mark.parametrize("kind", OBSTACLES)
def test_nothing_slips_through_between_nodes(kind):
    """Edges of 25 cm meet a ball of 4 cm wherever it is under them, nodes or not."""
    if kind == "rod_wall":
        return
    made = scene([{"kind": kind, "stiffness": STIFF} | OBSTACLES[kind] | {"size": 0.03}])
    for at in np.linspace(0.3, 0.7, 40):
        x = np.linspace(0.0, 1.0, 5)[:, None] * [1.0, 0.0, 0.0] + [0.4 - at, 0.0, 0.0]
        made.fields["x"].set(x)
        assert made.potential.by_term()[kind] > 0.0, at


def test_rod_on_the_floor():
    """It sinks by sqrt(rho A g / k) under its weight, the same everywhere."""
    energy = [
        {"kind": "rod_wall", "stiffness": STIFF, "normal": [0, 0, 1]},
        {"kind": "body_force", "acceleration": [0, 0, -9.81]},
    ]
    deep = np.sqrt(DENSITY * AREA * 9.81 / STIFF)
    made = scene(energy)
    made.fields["x"].set(places(made) + np.array([0.0, 0.0, RADIUS - deep]))
    assert np.abs(made.potential.gradient("x")).max() < 1e-12 * DENSITY * AREA * 9.81


def test_sliding_on_the_floor():
    """Coulomb's friction slows a rod by mu g, along its way."""
    weight = {"kind": "body_force", "acceleration": [0, 0, -9.81]}
    wall = {"stiffness": STIFF, "normal": [0.0, 0.0, 1.0]}
    rub = {"kind": "rod_wall_friction", "coefficient": 0.3, "creep": 1e-3} | wall
    deep = np.sqrt(DENSITY * AREA * 9.81 / STIFF)
    state = {"origin": [0.0, 0.0, RADIUS - deep], "velocity": [0.6, 0.8, 0.0]}
    made = scene([{"kind": "rod_wall"} | wall, weight], [rub], state)
    made.step(1000)
    speed = made.fields["v"].values
    np.testing.assert_allclose(
        speed, np.tile((1.0 - 0.3 * 9.81 * 0.1) * np.array([0.6, 0.8, 0.0]), (5, 1)), atol=1e-5
    )


@pytest.mark.parametrize("kind", ["rod_ball", "rod_cylinder"])
def test_friction_on_round_obstacles(kind):
    """The force is mu times the pressure per length, against the part of the velocity along the surface."""
    keys = OBSTACLES[kind] | {"stiffness": STIFF}
    made = scene(
        [{"kind": kind} | keys], [{"kind": f"{kind}_friction", "coefficient": 0.4, "creep": 1e-9} | keys]
    )
    x = (
        np.array([[0.4, 0.1 * k, 0.1185] for k in range(5)])
        if kind == "rod_cylinder"
        else places(made).copy()
    )
    x[:, 2] = 0.1185
    made.fields["x"].set(x)
    made.fields["v"].set(np.tile([0.0, 0.0, -1.0], (5, 1)))
    assert made.dissipation is not None
    if kind == "rod_cylinder":
        assert made.dissipation.value() < 1e-6
        made.fields["v"].set(np.tile([0.3, 0.4, -1.0], (5, 1)))
        normal = -made.potential.gradient("x") + made.potential.gradient("x") * [1, 1, 0]
        drag = made.dissipation.gradient("v").sum(axis=0)
        pressed = 0.25 * 4 * STIFF * depth_of(kind, x[:1])[0] ** 2
        np.testing.assert_allclose(drag, 0.4 * pressed * np.array([0.6, 0.8, 0.0]), rtol=1e-6, atol=1e-9)
        assert normal[:, 2].sum() > 0.0
    else:
        assert made.dissipation.value() > 0.0


def coefficients(slenderness: float, viscosity: float) -> tuple[float, float]:
    scale = np.log(2.0 * slenderness)
    return 2.0 * np.pi * viscosity / (scale - 0.5), 4.0 * np.pi * viscosity / (scale + 0.5)


def test_drag_along_and_across():
    """A rigid rod falls at rho A g / z along and across itself; the ratio of z is 2 in the limit."""
    drag = {"kind": "rod_drag", "viscosity": 2.0, "slenderness": 25.0}
    weight = [{"kind": "body_force", "acceleration": [0, 0, -9.81]}]
    for direction, which in (([0, 0, 1], 0), ([1, 0, 0], 1)):
        fall = DENSITY * AREA * 9.81 / coefficients(25.0, 2.0)[which]
        start = {"direction": direction, "velocity": [0.0, 0.0, -fall]}
        made = scene(weight, [drag], start)
        made.step(200)
        np.testing.assert_allclose(
            made.fields["v"].values, np.tile([0, 0, -fall], (5, 1)), rtol=1e-9, atol=1e-9
        )
    along, across = coefficients(1e300, 1.0)
    assert abs(across / along - 2.0) < 3e-3


def test_drag_of_a_slender_ellipsoid():
    """Cox 1970, half axes a, b: 4 pi mu a / (ln(2a/b) - 1/2) along, 8 pi mu a / (ln(2a/b) + 1/2) across."""
    made = scene((), [{"kind": "rod_drag", "viscosity": 3.0, "slenderness": 0.5 / RADIUS, "flow_z": 0.2}])
    made.fields["v"].set(np.tile([1.0, 0.0, 0.0], (5, 1)))
    assert made.dissipation is not None
    force = made.dissipation.gradient("v").sum(axis=0)
    log = np.log(2.0 * 0.5 / RADIUS)
    exact = [4.0 * np.pi * 3.0 * 0.5 / (log - 0.5), 0.0, -0.2 * 8.0 * np.pi * 3.0 * 0.5 / (log + 0.5)]
    np.testing.assert_allclose(force, exact, rtol=1e-12, atol=1e-12)


def test_drag_of_turning():
    """The torque per length is 4 pi mu a^2 omega; turns across the rod have none of it."""
    made = scene((), [{"kind": "rod_spin_drag", "tuples": "rod_frames", "viscosity": 3.0}])
    q, omega = made.fields["q"].values, 2.0
    for axis, part in (([1.0, 0.0, 0.0], 1.0), ([0.0, 1.0, 0.0], 0.0)):
        turn = (
            0.5
            * omega
            * np.stack([-q[:, 1:] @ axis, *(q[:, :1] * axis + np.cross(axis, q[:, 1:])).T], axis=1)
        )
        made.fields["q_rate"].set(turn)
        assert made.dissipation is not None
        exact = 0.5 * 4.0 * np.pi * 3.0 * RADIUS**2 * omega**2 * part
        assert abs(made.dissipation.value() - exact) < 1e-12


def filament_rate(n: int) -> float:
    """The slowest decay of bending of a free filament without inertia: H u = rate D u, frames at rest."""
    drag = {"kind": "rod_drag", "viscosity": 2.0, "slenderness": 25.0}
    made = scene((), [drag], {"elements": n})
    H = made.potential.hessian(["x", "q"]).toarray()
    assert made.dissipation is not None
    D = made.dissipation.hessian("v").toarray()
    m = 3 * (n + 1)
    back = np.linalg.lstsq(H[m:, m:], H[m:, :m], rcond=1e-12)[0]
    stiff = H[:m, :m] - H[:m, m:] @ back
    rates = eigh(0.5 * (stiff + stiff.T), D, eigvals_only=True)
    return float(rates[rates > 1e-3 * EI / coefficients(25.0, 2.0)[1]][0])


def test_decay_of_a_bent_filament():
    """EI (4.730 / L)^4 / z_2, the first mode with free ends, of second order."""
    exact = EI * 4.730040745**4 / coefficients(25.0, 2.0)[1]
    errors = [abs(filament_rate(n) / exact - 1.0) for n in (10, 20)]
    assert errors[1] < 0.02
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.2


def test_couple_bends_to_half_a_circle():
    """A moment pi EI / L about a fixed axis: every joint turns by its part, exactly.

    A rod that twists as easily as it bends leaves the plane before, near 2.4 EI / L with G = E/3.
    """
    n = 10
    couple = {"end": "last", "moment": np.pi * EI, "axis": [0, -1, 0]}
    stepper = {"load_steps": 6, "loads": ["rod_last_couple.moment"]}
    rod = {"couples": [couple], "shear_modulus": 20.0 * YOUNG}
    scene_of = rod_scene({"elements": n}, rod, stepper, run={"steps": 6})
    x = places(solved(scene_of, 6))
    angles = np.pi * (np.arange(n) + 0.5) / n
    exact = np.sum([np.cos(angles), np.sin(angles)], axis=1) / n
    np.testing.assert_allclose(x[-1, [0, 2]], exact, atol=1e-8)


def test_line_load_of_a_cantilever():
    """w L^4 / 8 EI, of second order."""
    errors = []
    for n in (10, 20):
        load = {"kind": "rod_load", "tuples": "edges", "force": [0.0, 0.0, -1e-6]}
        x = places(solved(rod_scene({"elements": n}, energy=[load])))
        errors.append(abs(-x[-1, 2] / (1e-6 / (8.0 * EI)) - 1.0))
    assert errors[1] < 5e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1


def test_obstacles_take_networks():
    """The lists of a network have radii, too."""
    wall = {"kind": "rod_wall", "tuples": "edges", "stiffness": STIFF, "normal": [0, 0, 1]}
    made = mg.load(network_scene({"a": [0, 0, 0.5], "b": [1, 0, 0.0]}, [["a", "b"]], energy=[wall]))
    assert made.potential.by_term()["rod_wall"] > 0.0
