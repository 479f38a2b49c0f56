"""Drifts along traced maps: order, bits, derivatives by all that a run begins with, refusals."""

import numpy as np
import pytest

from minusgrad import (
    Fields,
    Motion,
    Node,
    Output,
    Parameter,
    Potential,
    Time,
    TimeStep,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.adjoint.rollout import Rollout
from minusgrad.energies.fields import Hold
from minusgrad.engine.device_tasks import tasks
from minusgrad.engine.kernels import BoundKernel
from minusgrad.errors import EnergyError
from minusgrad.plugin import MapFlow, Slope
from minusgrad.potential.argument_values import set_argument_values
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity
from tests.support.laws import assert_order, assert_splits
from tests.support.rollouts import STENCIL, assert_transposed, drawn, moved

MOTION = Motion("x", "v", "m")
PLACE, SPEED = Output("m", ("d",)), Output("m s^-1", ("d",))
SPIN, STEPS = 0.7, 6


@local_map(
    "coriolis",
    over="nodes",
    gives={"x_next": PLACE, "v_next": SPEED},
    x=Node("m", ("d",)),
    v=Node("m s^-1", ("d",)),
    h=TimeStep(),
    spin=Parameter("s^-1"),
)
def coriolis(x, v, h, spin):
    """Free motion with the Coriolis force: an arc."""
    w, u = 2.0 * spin, v[0]
    s, c = ti.sin(w * h), ti.cos(w * h)
    place = ti.Vector([s * u[0] + (1.0 - c) * u[1], s * u[1] - (1.0 - c) * u[0]]) / w
    return x[0] + place, ti.Vector([c * u[0] + s * u[1], c * u[1] - s * u[0]])


@local_energy("centrifugal", over="nodes", x=Node("m", ("d",)), m=Node("kg"), rate=Parameter("s^-1"))
def centrifugal(x, m, rate):
    """U = -m (rate r)^2 / 2"""
    return -0.5 * m[0] * rate * rate * x[0].dot(x[0])


@local_map(
    "wind", gives="u", over="pairs", unit="m s^-1", shape=("d",), v=Node("m s^-1", ("d",)), m=Node("kg"),
    share=Parameter("kg^-1"),
)  # fmt: skip
def wind(v, m, share):
    """The velocities of all others, weighed by their masses."""
    return share * m[1] * v[1]


@local_map(
    "carried", over="nodes", gives={"x_next": PLACE, "v_next": SPEED}, x=Node("m", ("d",)),
    v=Node("m s^-1", ("d",)), u=Node("m s^-1", ("d",)), m=Node("kg"), h=TimeStep(),
)  # fmt: skip
def carried(x, v, u, m, h):
    """A drift with the wind, and a drag that masses resist."""
    slowed = ti.exp(-h / m[0]) * v[0]
    return x[0] + h * (v[0] + u[0]) / (1.0 + x[0].dot(x[0])), slowed


def fields(precision: str = "f64", n: int = 4) -> Fields:
    rng = np.random.default_rng(0)
    values = {"x": rng.normal(size=(n, 2)), "v": 0.3 * rng.normal(size=(n, 2)), "m": rng.uniform(0.5, 1.5, n)}
    return Fields(values, {"x": "m", "v": "m s^-1", "m": "kg"}, precision)


def energies(of: Fields) -> Potential:
    pull = bind(gravity, of, parameters={"G": 1.0, "softening": 0.3})
    return Potential(of, [pull, bind(centrifugal, of, parameters={"rate": SPIN})])


def rotating(dt: float, scheme: str = "leapfrog", precision: str = "f64") -> Integrator:
    of = fields(precision)
    arcs = bind(coriolis, of, parameters={"spin": SPIN})
    flow = MapFlow("rotating", of, [arcs], MOTION, {"x": "x_next", "v": "v_next"})
    return Integrator(System(energies(of), [MOTION]), SCHEMES[scheme], dt, part_flow=flow)


def windy(dt: float) -> Integrator:
    """Two maps, one of them a sum over pairs, with masses."""
    of = fields()
    maps = [bind(wind, of, parameters={"share": 0.2}), bind(carried, of)]
    flow = MapFlow("windy", of, maps, MOTION, {"x": "x_next", "v": "v_next"})
    return Integrator(System(energies(of), [MOTION]), SCHEMES["yoshida4"], dt, part_flow=flow)


def inertial(t: float) -> np.ndarray:
    """The places at a time, from a frame at rest and by small steps."""
    of = fields()
    turn = SPIN * np.array([[0.0, -1.0], [1.0, 0.0]])
    of["v"].set(of["v"].values + of["x"].values @ turn.T)
    pull = Potential(of, [bind(gravity, of, parameters={"G": 1.0, "softening": 0.3})])
    Integrator(System(pull, [MOTION]), SCHEMES["yoshida8"], t / 400).advance(400)
    c, s = np.cos(SPIN * t), np.sin(SPIN * t)
    return of["x"].values @ np.array([[c, -s], [s, c]])


@pytest.mark.parametrize(("scheme", "order"), [("leapfrog", 2), ("yoshida4", 4)])
def test_a_frame_that_rotates_is_that_at_rest(scheme: str, order: int) -> None:
    exact = inertial(1.0)

    def error(n: int) -> float:
        one = rotating(1.0 / n, scheme)
        one.advance(n)
        return float(np.abs(one.potential.fields["x"].values - exact).max())

    assert_order(error, order, [64, 128, 256])


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_do_not_depend_on_the_cuts(precision: str) -> None:
    assert_splits(lambda: rotating(0.05, precision=precision), 12)


def test_launches_have_the_bits_of_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    one = windy(0.05)
    monkeypatch.setattr("minusgrad.steppers.integrator.SMALL", -1)
    other = windy(0.05)
    assert one.fused
    assert not other.fused
    for each in (one, other):
        each.advance(7)
    for n in "xv":
        a, b = (each.potential.fields[n].values for each in (one, other))
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)


@pytest.fixture(params=["fused", "launched"])
def launches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "launched":
        monkeypatch.setattr("minusgrad.steppers.integrator.SMALL", -1)


OF = {"rotating": rotating, "windy": windy}
OWN = {"rotating": "coriolis.spin", "windy": "wind.share"}


@pytest.mark.usefixtures("launches")
@pytest.mark.parametrize("of", OF)
def test_tangents_are_those_of_differences(of: str) -> None:
    one = OF[of](0.1)
    direction = drawn(one)
    assert {"x", "v", "m", "gravity.G", "centrifugal.rate", OWN[of]} <= set(direction)
    found = Rollout(one, [], STEPS).end_tangents(direction)
    start = {n: one.potential.fields[n].values.copy() for n in "xv"}
    total, h = {n: np.zeros_like(start[n]) for n in "xv"}, 3e-4
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


@pytest.mark.usefixtures("launches")
@pytest.mark.parametrize("of", OF)
def test_adjoints_are_tangents_transposed(of: str) -> None:
    assert_transposed(OF[of](0.1), (0, 2, STEPS), STEPS)


def test_single_precision_has_the_derivatives_of_double() -> None:
    slopes = []
    for precision in ("f64", "f32"):
        one = rotating(0.05, precision=precision)
        direction = {"x": np.ones((4, 2)), "coriolis.spin": np.array(1.0), "m": np.ones(4)}
        slopes.append(Rollout(one, [], STEPS).end_tangents(direction))
    for n in "xv":
        np.testing.assert_allclose(slopes[1][n], slopes[0][n], rtol=0, atol=1e-5 * np.abs(slopes[0][n]).max())


# Refusals -----------------------------------------------------------------------------------------------


@local_map(
    "gust", over="nodes", gives={"x_next": PLACE, "v_next": SPEED}, x=Node("m", ("d",)),
    v=Node("m s^-1", ("d",)), t=Time(),
)  # fmt: skip
def gust(x, v, t):
    """A wind that changes with time."""
    return x[0] * ti.cos(t), v[0]


BOTH = {"x": "x_next", "v": "v_next"}


def made(of: Fields, *maps, updates=BOTH) -> MapFlow:
    return MapFlow("own", of, maps, MOTION, updates)


def arcs(of: Fields, **more):
    return bind(coriolis, of, parameters={"spin": SPIN}, **more)


REFUSED = {
    "drifts along maps without time, got some": lambda of: made(of, bind(gust, of)),
    "moves 'x' and 'v', got updates of 'x'": lambda of: made(of, arcs(of), updates={"x": "x_next"}),
    "no map gives 'v_nxt'; did you mean 'v_next'?": lambda of: made(
        of, arcs(of), updates={"x": "x_next", "v": "v_nxt"}
    ),
    "drifts along traced maps, got the slope 'pull'": lambda of: made(
        of, Slope("pull", Potential(of, energies(of).terms.values(), frozen=True), {"x": "x_next"})
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_refusals(said: str) -> None:
    with pytest.raises(EnergyError) as caught:
        REFUSED[said](fields())
    assert str(caught.value).startswith(f"own: {said}")


def test_a_map_with_the_name_of_an_energy_is_refused() -> None:
    of = fields()
    flow = made(of, arcs(of, name="gravity"))
    with pytest.raises(
        EnergyError, match=r"^own: its map 'gravity' has the name of an energy; give it another$"
    ):
        Integrator(System(energies(of), [MOTION]), SCHEMES["leapfrog"], 0.1, part_flow=flow)


def test_supports_are_refused_by_name() -> None:
    of = fields()
    system = System(energies(of), [MOTION], holds=Holds(of, [Hold("wall", "x", np.array([0]))], [MOTION]))
    with pytest.raises(EnergyError, match=r"^own: has no rule for held nodes, got 'wall'; leave it out$"):
        Integrator(system, SCHEMES["leapfrog"], 0.1, part_flow=made(of, arcs(of)))


def test_motions_beside_that_of_the_drifts_are_refused() -> None:
    """They would be kicked, and stay where they are."""
    rng = np.random.default_rng(1)
    values = {n: rng.normal(size=(4, 2)) for n in ("x", "v", "y", "w")} | {"m": np.ones(4)}
    of = Fields(values, {"x": "m", "v": "m s^-1", "y": "m", "w": "m s^-1", "m": "kg"})
    system = System(energies(of), [MOTION, Motion("y", "w", "m")])
    said = r"^own: its drifts move 'x' alone, got motions of 'x', 'y'; give one$"
    with pytest.raises(EnergyError, match=said):
        Integrator(system, SCHEMES["leapfrog"], 0.1, part_flow=made(of, arcs(of)))


# Seams --------------------------------------------------------------------------------------------------


def test_the_loops_of_a_step_are_tasks_of_a_device() -> None:
    """The length of a drift, which maps read, is a task of its own: a device has no statements between."""
    one, other = rotating(0.05), rotating(0.05)
    step = BoundKernel(tasks(other.moves.step(other.scheme)), "first", "t0", "dt")
    for k in range(5):
        step(float(k), 0.0, 0.05)
    one.advance(5)
    for n in "xv":
        a, b = (each.potential.fields[n].values for each in (one, other))
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)


def test_a_write_to_a_parameter_of_the_maps_is_noticed() -> None:
    one = rotating(0.05)
    before = one.writes
    (flow,) = one.system.of_stepper
    set_argument_values(flow, "coriolis.spin", np.array(0.2))
    assert one.writes > before
    assert one.stale


@pytest.mark.parametrize("conserves", [True, False])
def test_drifts_that_do_work_are_not_watched(conserves: bool) -> None:
    of = fields()
    flow = MapFlow("driven", of, [arcs(of)], MOTION, BOTH, conserves=conserves)
    one = Integrator(System(energies(of), [MOTION]), SCHEMES["leapfrog"], 0.1, part_flow=flow)
    assert one.conserves == conserves
