"""Drifts along Kepler orbits: against Kepler's equation, Gauss-Radau steps, and differences of whole runs."""

import numpy as np
import pytest

from minusgrad import Fields, Hold, Motion, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.adjoint.rollout import Rollout
from minusgrad.errors import EnergyError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.gauss_radau.gauss_radau import GaussRadau
from minusgrad_gravity.gravity import gravity
from minusgrad_gravity.kepler_drifts.central_mass import COORDINATES
from minusgrad_gravity.kepler_drifts.kepler_splitting import KeplerSplitting
from minusgrad_gravity.kepler_drifts.near_integrable import NEAR_INTEGRABLE
from tests.support.kepler import eccentric_anomaly
from tests.support.laws import assert_order, assert_reversible, assert_splits, energy_error, fitted_order
from tests.support.rollouts import STENCIL, assert_transposed, drawn, moved

MOTIONS = [Motion("x", "v", "m")]
G = 1.3


@local_energy("breeze", over="nodes", x=Node("m", ("d",)), m=Node("kg"), k=Parameter("s^-2"))
def breeze(x, m, k):
    """Another energy of the scene: a weak, uneven pull."""
    return k * m[0] * (ti.sin(x[0][0]) + 0.3 * x[0][1] * x[0][1])


either = pytest.mark.parametrize("coordinates", COORDINATES)


def system(
    dt: float,
    kind: str = "leapfrog",
    size: float = 1e-3,
    precision: str = "f64",
    coordinates: str = "jacobi",
) -> Integrator:
    """A mass that is not the first node, with three others: two on ellipses, one on a hyperbola."""
    x = np.array([[1.0, 0.1, 0.02], [0.05, 0.0, 0.01], [-1.9, 0.6, 0.1], [3.0, -2.5, 0.3]])
    v = np.array([[-0.1, 1.2, 0.05], [0.01, -0.02, 0.0], [-0.2, -0.75, 0.1], [-1.2, 0.9, 0.0]])
    m = np.array([2.0 * size, 1.1, 3.0 * size, 1.5 * size])
    fields = Fields({"x": x, "v": v, "m": m}, precision=precision)
    terms = [
        bind(gravity, fields, parameters={"G": G, "softening": 0.0}),
        bind(breeze, fields, parameters={"k": 10.0 * size}),
    ]
    potential = Potential(fields, terms)
    kepler = COORDINATES[coordinates](potential, MOTIONS[0], 1, "gravity", "G")
    return Integrator(System(potential, MOTIONS), SCHEMES[kind], dt, part_flow=kepler)


def end(one: Integrator, steps: int) -> np.ndarray:
    one.advance(steps)
    return np.concatenate([one.potential.fields[n].values.ravel() for n in "xv"])


# Paper --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.0, 0.3, 0.9, 0.999])
def test_two_bodies_are_exact_at_any_step(e, launches):
    """After 1.7 periods in two steps: 1e-12 from Kepler's equation, 1e-10 at e = 0.999."""
    masses, a = np.array([0.75, 0.25]), 1.0
    shares, b = np.array([[-0.25], [0.75]]), np.sqrt(1.0 - e * e)

    def place(t: float) -> tuple[np.ndarray, np.ndarray]:
        anomaly = eccentric_anomaly(t, e)
        rate = 1.0 / (1.0 - e * np.cos(anomaly))
        q = np.array([np.cos(anomaly) - e, b * np.sin(anomaly)])
        return shares * a * q, shares * rate * np.array([-np.sin(anomaly), b * np.cos(anomaly)])

    x, v = place(2.0)
    fields = Fields({"x": x, "v": v, "m": masses})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0})])
    kepler = KeplerSplitting(potential, MOTIONS[0], 0, "gravity", "G")
    one = Integrator(System(potential, MOTIONS), SCHEMES["leapfrog"], 5.3, part_flow=kepler)
    one.advance(2)
    x, v = place(12.6)
    bound = 1e-12 if e < 0.99 else 1e-10
    assert np.abs(fields["x"].values - x).max() < bound
    assert np.abs(fields["v"].values - v).max() < 10.0 * bound


def test_a_hyperbola_comes_back():
    """Out to 1,000 radii and back in one step each."""
    x, v = np.array([[0.0, 0.0], [1.0, 0.3]]), np.array([[0.0, 0.0], [0.4, 1.9]])
    fields = Fields({"x": x, "v": v, "m": np.array([1.0, 1e-9])})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0})])
    kepler = KeplerSplitting(potential, MOTIONS[0], 0, "gravity", "G")
    one = Integrator(System(potential, MOTIONS), SCHEMES["leapfrog"], 1000.0, part_flow=kepler)
    one.advance(1)
    r, u = fields["x"].values[1] - fields["x"].values[0], fields["v"].values[1] - fields["v"].values[0]
    assert np.linalg.norm(r) > 1000.0
    assert 0.5 * u @ u - 1.0 / np.linalg.norm(r) == pytest.approx(
        0.5 * v[1] @ v[1] - 1.0 / np.linalg.norm(x[1]), rel=1e-8
    )
    one.dt = -1000.0
    one.advance(1)
    np.testing.assert_allclose(fields["x"].values, x, atol=1e-11)


@pytest.mark.parametrize(
    ("kind", "steps", "coordinates"),
    [
        ("leapfrog", (64, 128, 256), "jacobi"),
        ("blanes_moan6", (128, 256), "jacobi"),
        ("leapfrog", (64, 128, 256), "democratic_heliocentric"),
        ("yoshida4", (128, 256), "democratic_heliocentric"),
    ],
)
def test_order_with_other_energies(kind, steps, coordinates):
    """Against Gauss-Radau steps of the whole energy, one body on a hyperbola."""
    one = system(1.0)
    other = GaussRadau(System(one.potential, MOTIONS), 2.0)
    exact = end(other, 1)

    def error(n: int) -> float:
        return float(np.abs(end(system(2.0 / n, kind, coordinates=coordinates), n) - exact).max())

    assert_order(error, SCHEMES[kind].order, steps)


@pytest.mark.parametrize(("kind", "order"), [("aba_8_6_4", 6.9), ("aba_10_6_4", 8.2)])
def test_order_beside_a_small_rest(kind, order):
    """Masses of 1e-5 of the central one: beyond the order 6 of any scheme without that knowledge."""
    exact = end(GaussRadau(System(system(1.0, size=1e-5).potential, MOTIONS), 2.0), 1)

    def error(n: int) -> float:
        one, dt = system(1.0, size=1e-5), 2.0 / n
        stepper = Integrator(
            System(one.potential, MOTIONS), NEAR_INTEGRABLE[kind], dt, part_flow=one.part_flow
        )
        return float(np.abs(end(stepper, n) - exact).max())

    steps = (32, 48) if kind == "aba_8_6_4" else (16, 32)
    assert abs(fitted_order([error(n) for n in steps], steps) - order) < 0.4


@pytest.mark.parametrize("kind", NEAR_INTEGRABLE)
def test_rows_sum_to_one(kind):
    scheme = NEAR_INTEGRABLE[kind]
    assert sum(scheme.kicks) == pytest.approx(1.0, abs=1e-15)
    assert sum(scheme.drifts) == pytest.approx(1.0, abs=1e-15)
    assert scheme.kicks == scheme.kicks[::-1]
    assert scheme.drifts == scheme.drifts[::-1]


def test_the_error_is_of_the_size_of_the_rest():
    """A tenth of the masses beside the central one: a tenth of the energy's error of leapfrog in parts."""
    small, large = (energy_error(system(0.05, size=s), 40) for s in (1e-4, 1e-3))
    assert 5.0 < large / small < 20.0


@either
def test_reversible(launches, coordinates):
    assert_reversible(system(0.05, coordinates=coordinates), 20)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_do_not_depend_on_the_cuts(precision):
    assert_splits(lambda: system(0.05, precision=precision), 12)


def test_bits_do_not_depend_on_the_cuts_in_heliocentric_coordinates():
    assert_splits(lambda: system(0.05, coordinates="democratic_heliocentric"), 12)


def test_both_ways_are_taken(launches):
    assert system(0.1).fused == (launches == "fused")


# Derivatives --------------------------------------------------------------------------------------------

STEPS = 6


def heavy(coordinates: str) -> Integrator:
    """Masses so large that every part of the derivatives counts."""
    return system(0.15, size=0.1, coordinates=coordinates)


@either
def test_tangents_are_those_of_differences(launches, coordinates):
    """Of the state after six steps, along starts, masses, G, and the parameter of another energy."""
    one = heavy(coordinates)
    direction = drawn(one)
    assert {"x", "v", "m", "gravity.G", "breeze.k"} <= set(direction)
    direction["gravity.softening"] = np.zeros(())  # U is even in it
    found = Rollout(one, [], STEPS).end_tangents(direction)
    start = {n: one.potential.fields[n].values.copy() for n in "xv"}
    total = {n: np.zeros_like(start[n]) for n in "xv"}
    h = 3e-4
    for k, weight in STENCIL.items():
        for sign in (1.0, -1.0):
            with moved(one, direction, sign * k * h):
                one.evaluate()
                one.advance(STEPS)
                for n in "xv":
                    total[n] += sign * weight / h * one.potential.fields[n].values
            for n in "xv":
                one.potential.fields[n].set(start[n])
    for n in "xv":
        np.testing.assert_allclose(found[n], total[n], rtol=0, atol=1e-10 * np.abs(total[n]).max())


@either
def test_adjoints_are_tangents_transposed(launches, coordinates):
    assert_transposed(heavy(coordinates), (0, 2, STEPS), STEPS)


# Refusals -----------------------------------------------------------------------------------------------


def test_holds_are_refused():
    one = system(0.1)
    holds = Holds(one.potential.fields, [Hold("wall", "x", np.array([0]))], MOTIONS)
    with pytest.raises(EnergyError) as caught:
        Integrator(
            System(one.potential, MOTIONS, holds=holds), SCHEMES["leapfrog"], 0.1, part_flow=one.part_flow
        )
    assert (
        str(caught.value) == "wisdom_holman: has no rule for held nodes, got 'wall'; use leapfrog or yoshida6"
    )
