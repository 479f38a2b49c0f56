"""Networks of springs, muscles, friction on the ground: against paper; and what a network's block refuses."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.app.runs import build
from minusgrad.check import term_check
from minusgrad.errors import EnergyError, SceneError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic import contacts, damping, loads, springs
from tests.support.laws import assert_order

# Muscles ------------------------------------------------------------------------------------------------

K, REST, A, W, PHI = 40.0, 0.8, 0.2, 3.0, 0.6
MUSCLE = {"stiffness": K, "frequency": W}


def muscles(x: np.ndarray, rows: list[list[int]], amplitude, phase=PHI, **more: np.ndarray) -> Potential:
    fields = Fields({"x": x} | more)
    given = MUSCLE | {"amplitude": amplitude, "phase": phase}
    return Potential(
        fields, [bind(springs.muscle, fields, tuples=rows, data={"rest": REST}, parameters=given)]
    )


@pytest.mark.parametrize("t", [0.0, 0.3, 1.7])
def test_a_muscles_length_at_rest_swings(t: float) -> None:
    """U = k s^2 / 2 with s = |x| - L (1 + a sin(w t + phi)); dU/dt = -k s L a w cos(w t + phi)."""
    one = muscles(np.array([[0.3, 0.0], [0.0, 0.4]]), [[0, 1]], A)
    s = 0.5 - REST * (1.0 + A * np.sin(W * t + PHI))
    cos, sin = np.cos(W * t + PHI), np.sin(W * t + PHI)
    assert one.value(t) == pytest.approx(0.5 * K * s**2, rel=1e-14)
    np.testing.assert_allclose(one.gradient("x", t)[0], K * s * np.array([0.6, -0.8]), rtol=1e-13)
    for name, slope in {
        "t": -K * s * REST * A * W * cos,
        "muscle.phase": -K * s * REST * A * cos,
        "muscle.frequency": -K * s * REST * A * t * cos,
        "muscle.amplitude": -K * s * REST * sin,
        "muscle.rest": -K * s * (1.0 + A * sin),
        "muscle.stiffness": 0.5 * s**2,
    }.items():
        assert one.gradient(name, t) == pytest.approx(slope, rel=1e-12, abs=1e-14), name


def test_each_muscle_has_its_own_amplitude_and_phase() -> None:
    """One of amplitude zero is a spring; derivatives come one for each."""
    x, rows, t = np.array([[0.0, 0.0], [0.9, 0.0], [0.9, 0.5]]), [[0, 1], [1, 2]], 0.4
    two = muscles(x, rows, np.array([A, 0.0]), np.array([0.1, 0.2]))
    stretch = np.array([0.9 - REST * (1.0 + A * np.sin(W * t + 0.1)), 0.5 - REST])
    np.testing.assert_allclose(two.by_element("muscle", t), 0.5 * K * stretch**2, rtol=1e-13)
    expected = -K * stretch * REST * np.sin(W * t + np.array([0.1, 0.2]))
    np.testing.assert_allclose(two.gradient("muscle.amplitude", t), expected, rtol=1e-12)
    assert two.gradient("muscle.phase", t)[1] == 0.0
    with pytest.raises(EnergyError, match=r"muscle.amplitude: .* is not within \[-1, 1\]; no length at rest"):
        muscles(x, rows, 1.01)


def pulled(steps: int, end: float = 2.3) -> Integrator:
    """Two masses at rest on a line, joined by a muscle that starts to swing."""
    x = np.array([[0.0, 0.0], [REST, 0.0]])
    one = muscles(x, [[0, 1]], A, 0.0, v=np.zeros((2, 2)), m=np.array([1.0, 3.0]))
    return Integrator(System(one, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], end / steps)


def test_two_masses_and_a_muscle_are_a_driven_oscillator() -> None:
    """mu u'' = -k (u - L a sin w t): u = L a w0^2 / (w0^2 - w^2) (sin w t - w/w0 sin w0 t), w0^2 = k / mu.

    Total energy less the muscle's work stays.
    """
    w0 = np.sqrt(K / 0.75)
    size, t = REST * A * w0**2 / (w0**2 - W**2), 2.3
    paper = size * (np.sin(W * t) - W / w0 * np.sin(w0 * t))

    def error(steps: int) -> float:
        stepper = pulled(steps)
        stepper.advance(steps)
        x = stepper.potential.fields["x"].values
        return abs(x[1, 0] - x[0, 0] - REST - paper)

    assert abs(paper) > 0.01
    assert_order(error, 2, (200, 400, 800))

    def leak(steps: int) -> float:
        stepper = pulled(steps)
        stepper.advance(steps)
        fields = stepper.potential.fields
        kinetic = 0.5 * (fields["m"].values[:, None] * fields["v"].values ** 2).sum()
        assert stepper.work > 0.01
        return abs(kinetic + stepper.potential.value(stepper.time) - stepper.work)

    assert_order(leak, 2, (200, 400, 800))


# Friction on the ground ---------------------------------------------------------------------------------

MU, CREEP, FLOOR, G = 0.6, 0.05, 1e4, 9.8
RUBS = {"coefficient": MU, "creep": CREEP, "stiffness": FLOOR}


def rubbing(x: list, v: list, **also: float) -> Potential:
    fields = Fields({"x": x, "v": v})
    return Potential(fields, [bind(damping.ground_friction, fields, parameters=RUBS | also)])


@pytest.mark.parametrize("d", [2, 3])
def test_friction_against_paper(d: int) -> None:
    """-dR/dv = -mu N u / sqrt(u^2 + c^2) along the floor, N = k delta^2; nothing upwards or above it."""
    v = np.random.default_rng(d).normal(size=(4, d)) * [[1.0], [1e-3], [10.0], [1.0]]
    x = np.zeros((4, d))
    x[:, -1] = 0.2 - np.array([0.01, 0.02, 0.03, -0.01])
    force = -rubbing(x.tolist(), v.tolist(), height=0.2).gradient("v")
    normal, u = FLOOR * np.array([0.01, 0.02, 0.03, 0.0]) ** 2, v[:, :-1]
    speed = np.linalg.norm(u, axis=1)
    expected = -(MU * normal / np.sqrt(speed**2 + CREEP**2))[:, None] * u
    np.testing.assert_allclose(force[:, :-1], expected, rtol=1e-12)
    assert not force[:, -1].any()
    assert not force[3].any()
    assert np.linalg.norm(force[2]) == pytest.approx(MU * normal[2], rel=1e-4), "fast: Coulomb's"
    np.testing.assert_allclose(force[1, :-1], -MU * normal[1] / CREEP * u[1], rtol=1e-3)  # slow: viscous


def test_friction_presses_as_the_floor_does() -> None:
    """At a speed far above the creep, friction is mu times what the floor bears, wherever the node is."""
    depth = np.array([-0.1, 0.0, 0.004, 0.05])
    x = [[float(k), 0.3 - deep] for k, deep in enumerate(depth)]
    fields = Fields({"x": x})
    bears = Potential(fields, [bind(contacts.floor, fields, parameters={"height": 0.3, "stiffness": FLOOR})])
    force = rubbing(x, [[1e5, 7.0]] * 4, height=0.3).gradient("v")
    np.testing.assert_allclose(force[:, 0], -MU * bears.gradient("x")[:, 1], rtol=1e-12)


def sliding(start: float, steps: int, end: float, slope: float = 0.0) -> Integrator:
    """A node of 2 kg on the floor, pressed by its weight, also pulled along by `slope` times that."""
    m = 2.0
    deep = np.sqrt(m * G / FLOOR)
    fields = Fields({"x": [[0.0, 0.0, -deep]], "v": [[0.6 * start, 0.8 * start, 0.0]], "m": [m]})
    weight = {"acceleration": G * np.array([0.6 * slope, 0.8 * slope, -1.0])}
    stands = [
        bind(contacts.floor, fields, parameters={"stiffness": FLOOR}),
        bind(loads.body_force, fields, parameters=weight),
    ]
    rubs = Potential(fields, [bind(damping.ground_friction, fields, parameters=RUBS)])
    motions = [Motion("x", "v", "m")]
    return Integrator(
        System(Potential(fields, stands), motions, dissipation=rubs), SCHEMES["leapfrog"], end / steps
    )


def test_a_block_slides_to_rest() -> None:
    """u' = -mu g u / q, q = sqrt(u^2 + c^2), so q - c artanh(c / q) falls as mu g t; it loses m u^2 / 2."""
    end, start = 0.12, 1.0

    def left(u: float) -> float:
        q = np.hypot(u, CREEP)
        return q - CREEP * np.arctanh(CREEP / q)

    paper = brentq(lambda u: left(u) - left(start) + MU * G * end, 1e-6, start, xtol=1e-15)
    assert 0.2 < paper < 0.35

    def error(steps: int) -> float:
        stepper = sliding(start, steps, end)
        stepper.advance(steps)
        v = stepper.potential.fields["v"].values[0]
        speed = np.linalg.norm(v[:2])
        np.testing.assert_allclose(v, speed * np.array([0.6, 0.8, 0.0]), atol=1e-13)
        assert stepper.dissipated == pytest.approx(start**2 - speed**2, rel=1e-12)
        return abs(speed - paper)

    assert_order(error, 2, (25, 50, 100))
    stepper = sliding(start, 500, 1.0)
    stepper.advance(500)
    assert np.linalg.norm(stepper.potential.fields["v"].values) < 1e-9
    way = np.linalg.norm(stepper.potential.fields["x"].values[0, :2])
    assert way == pytest.approx(start**2 / (2.0 * MU * G), rel=0.02), "the way of a sliding stone"


@pytest.mark.parametrize("slope", [0.1, 0.4, 0.55])
def test_on_a_slope_it_creeps(slope: float) -> None:
    """Steady where mu u / sqrt(u^2 + c^2) = slope: u = c r / sqrt(1 - r^2), r = slope / mu, r < 1."""
    stepper = sliding(0.0, 4000, 4.0, slope)
    stepper.advance(4000)
    r = slope / MU
    speed = np.linalg.norm(stepper.potential.fields["v"].values[0, :2])
    assert speed == pytest.approx(CREEP * r / np.sqrt(1.0 - r * r), rel=1e-3)


def test_on_a_steeper_slope_it_slides() -> None:
    stepper = sliding(1.0, 1000, 1.0, 0.9)
    stepper.advance(1000)
    speed = np.linalg.norm(stepper.potential.fields["v"].values[0, :2])
    assert speed == pytest.approx(1.0 + (0.9 - MU) * G, rel=1e-3)


def test_creep_is_above_zero() -> None:
    with pytest.raises(EnergyError, match=r"creep: 0.0 is not within \(0, inf\); at rest friction has no"):
        rubbing([[0.0, 0.0]], [[0.0, 0.0]], creep=0.0)


@pytest.mark.parametrize("energy", [springs.muscle, damping.ground_friction], ids=lambda e: e.name)
def test_check_finds_nothing(energy) -> None:
    findings = list(term_check.of_energy(energy))
    assert len(findings) > 4
    assert [f for f in findings if not f.passed] == []


# The state ----------------------------------------------------------------------------------------------

HEAD = 'plugins = ["elastic"]\n[units]\nlength = "cm"\nmass = "g"\ntime = "s"\n[state]\nkind = "network"\n'
NODES = 'nodes = [[0.0, 0.0], ["30 mm", 0.0], [3.0, 4.0]]\n'
SPRINGS = "springs = [[0, 1], [2, 1], [0, 2]]\n"
MASS = 'mass = "2 g"\n'
TAIL = '[[energy]]\nkind = "spring"\nstiffness = "1 N/m"\n[stepper]\nkind = "leapfrog"\ndt = 0.001\n'
TAIL += "[run]\nsteps = 2\n"


@pytest.fixture
def scene(tmp_path: Path) -> Callable[[str], Path]:
    def write(state: str) -> Path:
        path = tmp_path / "scene.toml"
        path.write_text(HEAD + state + TAIL)
        return path

    return write


def test_a_network(scene) -> None:
    more = 'bodies = { base = [1, 0], tip = [2] }\norigin = [1.0, "1 m"]\nvelocity = [0.0, "-1 m/s"]\n'
    simulation = build(scene(NODES + SPRINGS + MASS + more))
    state = simulation.state
    assert state.fields["x"].tolist() == [[1.0, 100.0], [4.0, 100.0], [4.0, 104.0]]
    assert state.fields["v"].tolist() == [[0.0, -100.0]] * 3
    assert state.fields["m"].tolist() == [2.0] * 3
    assert state.tuples["edges"].tolist() == [[0, 1], [2, 1], [0, 2]]
    assert state.data["edges"]["rest"].tolist() == [3.0, 4.0, 5.0]
    assert {b.name: b.nodes.tolist() for b in state.bodies} == {"base": [0, 1], "tip": [2]}
    assert simulation.potential.value() == 0.0
    assert simulation.potential.terms["spring"].elements.nodes.tolist() == state.tuples["edges"].tolist()
    simulation.stepper.advance(2)
    assert simulation.fields["x"].values[0, 1] == pytest.approx(99.8, rel=1e-12)


def test_a_network_in_space_with_masses_of_its_own(scene) -> None:
    nodes = "nodes = [[0, 0.0, 0.0], [1.0, 2.0, 2.0], [1.0, 0.0, 0.0]]\n"
    state = build(scene(nodes + "springs = [[0, 1]]\n" + 'mass = [1.0, "1 kg", 3]\n')).state
    assert state.fields["m"].tolist() == [1.0, 1000.0, 3.0]
    assert state.fields["x"].dtype == state.fields["v"].dtype == np.float64
    assert state.fields["v"].shape == (3, 3)
    assert state.data["edges"]["rest"].tolist() == [3.0]


REFUSED = {
    "a node in space among others in the plane": (
        NODES.replace("4.0]", "4.0, 5.0]") + SPRINGS + MASS,
        "8:9: state.nodes: node 2 has 3 numbers; give 2 for each, or 3 for each",
    ),
    "nodes on a line": (
        "nodes = [[0.0], [1.0]]\nsprings = [[0, 1]]\n" + MASS,
        "8:9: state.nodes: node 0 has 1 numbers; give 2 for each, or 3 for each",
    ),
    "no nodes": (
        "nodes = []\n" + SPRINGS + MASS,
        "8:9: state.nodes: needs at least 1 element, not 0",
    ),
    "a place in seconds": (
        NODES.replace("mm", "s") + SPRINGS + MASS,
        "8:23: state.nodes.1.0: '30 s' is a time, but 'm' (length) is needed",
    ),
    "a node that there is not": (
        NODES + SPRINGS.replace("[2, 1]", "[3, 1]") + MASS,
        "6:2: state: springs.1: no node 3; there are 3, counted from 0",
    ),
    "a spring with three ends": (
        NODES + SPRINGS.replace("[2, 1]", "[2, 1, 0]") + MASS,
        "9:20: state.springs.1: needs at most 2 elements, not 3",
    ),
    "a node before the first": (
        NODES + SPRINGS.replace("[2, 1]", "[2, -1]") + MASS,
        "9:24: state.springs.1.1: needs a number of at least 0, not -1",
    ),
    "a spring from a node to itself": (
        NODES + SPRINGS.replace("[2, 1]", "[1, 1]") + MASS,
        "9:11: state.springs: spring 1 joins node 1 with itself",
    ),
    "a spring twice": (
        NODES + SPRINGS.replace("[2, 1]", "[1, 0]") + MASS,
        "9:11: state.springs: springs 0 and 1 both join the nodes 1 and 0; name one",
    ),
    "two nodes at one place": (
        NODES.replace("[3.0, 4.0]", "[3.0, 0.0]") + SPRINGS + MASS,
        "6:2: state: springs.1: nodes 2 and 1 are at one place, and a spring has a length",
    ),
    "too few masses": (
        NODES + SPRINGS + "mass = [1.0, 2.0]\n",
        "10:8: state: mass: 2 numbers for 3 nodes",
    ),
    "a mass of nothing": (
        NODES + SPRINGS + "mass = [1.0, 2.0, 0.0]\n",
        "10:19: state.mass.2: needs a quantity above 0, not 0.0",
    ),
    "no mass at all": (
        NODES + SPRINGS + "mass = 0\n",
        "10:8: state.mass: needs a quantity above 0, not 0",
    ),
    "a body with a node that there is not": (
        NODES + SPRINGS + MASS + "bodies = { tip = [2, 7] }\n",
        "6:2: state: bodies.tip: no node 7; there are 3, counted from 0",
    ),
    "a body with a node twice": (
        NODES + SPRINGS + MASS + "bodies = { tip = [2, 2] }\n",
        "6:2: state: bodies.tip: names a node twice",
    ),
    "a body of nothing": (
        NODES + SPRINGS + MASS + "bodies = { tip = [] }\n",
        "11:18: state.bodies.tip: needs at least 1 element, not 0",
    ),
    "a velocity in space": (
        NODES + SPRINGS + MASS + "velocity = [0.0, 0.0, 0.0]\n",
        "11:12: state: velocity: 3 numbers for 2 axes",
    ),
    "an origin on a line": (
        NODES + SPRINGS + MASS + "origin = [0.0]\n",
        "11:10: state: origin: 1 numbers for 2 axes",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_refused_with_place_and_cure(scene, case: str) -> None:
    state, message = REFUSED[case]
    path = scene(state)
    with pytest.raises(SceneError) as refused:
        build(path)
    assert str(refused.value) == f"{path}:{message}"
