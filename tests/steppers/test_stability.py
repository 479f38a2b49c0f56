"""The stability limit of every scheme, the fastest vibration, the energy balance: against paper and NumPy."""

import math
import re

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Hold, Motion, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import DivergedError, NonFiniteError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.schemes import SCHEMES, Scheme
from minusgrad.steppers.stability.energy_balance import EnergyWatch
from minusgrad.steppers.stability.linear_stability import friction_limit, propagation, stability_limit
from minusgrad.steppers.stability.step_size import WORTH, StepSize, step_size
from minusgrad.steppers.stability.vibrations import Vibrations, vibrations
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.heat_bath import Bath
from minusgrad_elastic.springs import spring
from tests.support.command import SCENES
from tests.support.kepler import SHORT
from tests.support.laws import bits
from tests.support.modulated_trap import well

KINDS = pytest.mark.parametrize("kind", SHORT)


@local_energy("bowl", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def bowl(x, k):
    """A harmonic bowl."""
    return 0.5 * k * x[0].dot(x[0])


@local_energy("drag", over="nodes", v=Node("m/s", ("d",)), c=Parameter("kg/s"))
def drag(v, c):
    """R = c |v|^2 / 2."""
    return 0.5 * c * v[0].dot(v[0])


def oscillator(
    kind="leapfrog", dt=0.1, k=4.0, c=0.0, gamma=None, precision="f64", m=(1.0, 4.0)
) -> Integrator:
    """Two masses in a bowl, of frequencies sqrt(k / m)."""
    fields = Fields({"x": [[1.0, 0.5], [0.3, -0.2]], "v": np.zeros((2, 2)), "m": m}, precision=precision)
    friction = Potential(fields, [bind(drag, fields, parameters={"c": c})]) if c else None
    bath = Bath(gamma, 0.0, 1) if gamma is not None else None
    potential = Potential(fields, [bind(bowl, fields, parameters={"k": k})])
    return Integrator(
        System(potential, [Motion("x", "v", "m")], dissipation=friction, bath=bath), SCHEMES[kind], dt
    )


def chain(n=40, hold=False, precision="f64") -> tuple[Integrator, np.ndarray]:
    """A loose chain of springs at rest, and M^-1/2 H M^-1/2 of its free components."""
    rng = np.random.default_rng(3)
    x, m = np.stack([np.arange(n), 0.1 * rng.normal(size=n)], axis=1), rng.uniform(0.5, 2.0, n)
    fields = Fields({"x": x, "v": np.zeros((n, 2)), "m": m}, precision=precision)
    pairs, motions = [[i, i + 1] for i in range(n - 1)], [Motion("x", "v", "m")]
    stiff = bind(spring, fields, tuples=pairs, data={"rest": 0.7}, parameters={"stiffness": 3.0})
    potential = Potential(fields, [stiff])
    holds = Holds(fields, [Hold("wall", "x", np.array([0, 1, 2]))] if hold else [], motions)
    free = holds.free("x").ravel()
    root = np.repeat(1.0 / np.sqrt(m), 2)[free]
    matrix = root[:, None] * potential.hessian("x").toarray()[np.ix_(free, free)] * root
    return Integrator(System(potential, motions, holds=holds), SCHEMES["leapfrog"], 0.01), matrix


# Schemes ----------------------------------------------------------------------------------------------------


def test_leapfrog_and_symplectic_euler_on_paper():
    assert stability_limit(SCHEMES["leapfrog"]) == pytest.approx(2.0, rel=1e-8)
    assert stability_limit(SCHEMES["symplectic_euler"]) == pytest.approx(2.0, rel=1e-8)


def test_yoshida4_on_paper():
    """The trace of three leapfrogs leaves [-2, 2] at omega dt = 1.5734 (McLachlan & Gray 1997)."""
    assert stability_limit(SCHEMES["yoshida4"]) == pytest.approx(1.5734, abs=1e-4)


@KINDS
def test_no_window_of_instability_is_stepped_over(kind):
    """A hundred times finer than the search: the trace as a polynomial, by matrices of two rows."""
    limit = stability_limit(SCHEMES[kind])
    a = propagation(SCHEMES[kind], np.linspace(0.0, limit, 300_001))
    assert np.abs(a[:, 0, 0] + a[:, 1, 1]).max() <= 2.0 + 1e-7
    beyond = propagation(SCHEMES[kind], np.array([limit * 1.001]))[0]
    assert abs(np.trace(beyond)) > 2.0


@pytest.mark.parametrize("kind", sorted({*SCHEMES} - {*SHORT}))
def test_windows_of_instability_that_are_stepped_over_grow_slowly(kind):
    """Where two eigenvalues meet, a narrow window may open: an e-fold takes more than 1,000 steps in it."""
    a = propagation(SCHEMES[kind], np.linspace(0.0, stability_limit(SCHEMES[kind]), 100_001))
    assert np.abs(a[:, 0, 0] + a[:, 1, 1]).max() <= 2.0 + 1e-6


@pytest.mark.parametrize("gamma", [0.1, 1.0, 30.0])
def test_a_bath_does_not_change_the_limit_of_leapfrog(gamma):
    """BAOAB is stable up to omega dt = 2 at any friction (Leimkuhler & Matthews 2013)."""
    assert stability_limit(SCHEMES["leapfrog"].in_bath(), bath=gamma) == pytest.approx(2.0, rel=1e-7)


def test_friction_alone():
    """|1 - g + g^2/2| <= 1 for g = gamma dt / 2."""
    assert friction_limit(SCHEMES["leapfrog"]) == pytest.approx(4.0, rel=1e-6)


@KINDS
@pytest.mark.parametrize("friction", [0.0, 3.0])
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_limit_is_where_runs_begin_to_grow(kind, friction, precision, launches):
    """Just below it an oscillator stays, just above it explodes: of frequency 2 and friction 3."""
    limit = stability_limit(SCHEMES[kind], friction / 2.0) / 2.0

    def largest(part: float) -> float:
        one = oscillator(kind, part * limit, c=friction, precision=precision, m=(1.0, 1.0))
        try:
            one.advance(600)
        except NonFiniteError:
            return math.inf
        return float(np.abs(one.potential.fields["x"].values).max())

    assert largest(0.99) < 20.0
    assert largest(1.02) > 100.0


def test_a_new_row_needs_nothing():
    assert stability_limit(Scheme(2, (0.25, 0.5, 0.25), (0.5, 0.5))) == pytest.approx(4.0, rel=1e-7)


# Vibrations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("hold", [False, True])
def test_the_fastest_vibration_of_a_chain(hold, precision):
    one, matrix = chain(hold=hold, precision=precision)
    true = np.linalg.eigvalsh(matrix)
    found = vibrations(one)
    assert 0.97 * true[-1] < found.largest < (1.0 + 1e-5) * true[-1]
    assert found.omega == pytest.approx(math.sqrt(found.largest))


def test_a_chain_under_pressure_is_not_convex():
    one, _ = chain(30)
    one.potential.terms["spring"].set_datum("rest", 1.5)
    matrix = one.potential.hessian("x").toarray()
    root = np.repeat(1.0 / np.sqrt(one.potential.fields["m"].values), 2)
    true = np.linalg.eigvalsh(root[:, None] * matrix * root)
    assert true[0] < -0.1
    assert vibrations(one).growth == pytest.approx(math.sqrt(-true[0]), rel=0.05)


def test_rounding_is_no_growth():
    assert Vibrations(1.0, -1e-9).growth == 0.0
    assert Vibrations(1.0, -1e-3).growth > 0.0


@pytest.mark.parametrize("scale", [1e-26, 1.0, 1e20])
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_units_do_not_matter(scale, precision):
    """Masses and stiffnesses of atoms in SI fit into single precision; so must the products."""
    one = oscillator(k=4.0 * scale, m=(scale, 4.0 * scale), precision=precision)
    assert vibrations(one).omega == pytest.approx(2.0, rel=1e-5)


# The step size ----------------------------------------------------------------------------------------------


def test_the_step_size_in_words():
    found = step_size(oscillator(dt=0.31), WORTH)
    assert found.text("fs") == "dt = 0.31 fs is 31 % of the stability limit, 1 fs"
    assert not found.unstable
    assert found.as_dict() == {
        "dt": 0.31,
        "limit": pytest.approx(1.0, rel=1e-7),
        "omega_max": pytest.approx(2.0, rel=1e-12),
        "growth_rate": 0.0,
    }


def test_too_large_a_step_is_said_loudly():
    found = step_size(oscillator(dt=1.5), WORTH)
    assert found.unstable
    assert found.text("1") == (
        "dt = 1.5 is 150 % of the stability limit, 1; the fastest motion grows without bound:"
        " use a smaller dt"
    )


def test_friction_shortens_the_step():
    found = step_size(oscillator(c=50.0, m=(1.0, 1.0)), WORTH)
    assert found.rate == pytest.approx(50.0)
    assert found.limit == pytest.approx(4.0 / 50.0, rel=1e-2)
    assert found.as_dict()["friction_rate"] == pytest.approx(50.0)


def test_a_bath_is_taken_into_account():
    assert step_size(oscillator(gamma=30.0), WORTH).limit == pytest.approx(1.0, rel=1e-6)


def test_a_hill_has_no_limit():
    found = step_size(oscillator(k=-4.0), WORTH)
    assert found.text("s") == "dt = 0.1 s has no stability limit: nothing vibrates at the start"
    assert found.as_dict()["growth_rate"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("dt", "said"),
    [(0.0042, "0.4 %"), (0.042, "4.2 %"), (0.111, "11 %"), (0.997, "99.7 %"), (1.003, "100 %")],
)
def test_a_share_of_the_limit_has_the_digits_that_matter(dt, said):
    assert f" is {said} of the stability limit, 1 s" in StepSize(dt, 1.0, 2.0, 0.0).text("s")


def test_short_runs_and_searches_are_not_estimated():
    one = oscillator()
    assert step_size(one, WORTH - 1) is None
    assert step_size(LBFGS(one.potential, [Unknown("x")]), 10_000) is None


def test_an_estimate_does_not_disturb_the_run(launches):
    one, other = chain()[0], chain()[0]
    for stepper in (one, other):
        stepper.advance(20)
    step_size(one, WORTH)
    watch = EnergyWatch(one, 1000, lambda text: None)
    watch.begin()
    watch.observe()
    for stepper in (one, other):
        stepper.advance(20)
    assert bits(one) == bits(other)


SCENES_IN_TIME = {
    "cantilever_damped": 0.54,
    "elastic_seed": 0.22,
    "figure_eight": 0.0118,
    "gravity_seed": 8.2e-05,
    "outer_solar_system": 0.0049,
    "spring_stiffness": 0.1,
    "two_body": 0.0043,
    "walker": 0.27,
    "warm_crystal": 0.11,
}


@pytest.mark.parametrize("scene", SCENES_IN_TIME)
def test_the_steps_of_shipped_scenes_are_stable(scene):
    found = step_size(minusgrad.build(SCENES / f"{scene}.toml").stepper, WORTH)
    assert found.dt / found.limit == pytest.approx(SCENES_IN_TIME[scene], rel=0.05)


# The energy watch -------------------------------------------------------------------------------------------


def watched(one: Integrator) -> tuple[EnergyWatch, list[str]]:
    said: list[str] = []
    watch = EnergyWatch(one, 1000, said.append)
    watch.begin()
    return watch, said


def test_a_good_run_is_not_watched_aloud(launches):
    one = oscillator()
    watch, said = watched(one)
    for _ in range(20):
        one.advance(7)
        watch.observe()
    assert said == []


def test_drift_is_said_once_and_early():
    one = oscillator("symplectic_euler", dt=0.2, m=(1.0, 1.0))
    watch, said = watched(one)
    for _ in range(9):
        one.advance(1)
        watch.observe()
    (text,) = said
    assert re.fullmatch(
        r"step [1-9]: the total energy is off by 1\d% of the largest energy in the run;"
        " a smaller dt is more accurate",
        text,
    )


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_run_that_has_diverged_ends(precision):
    one = oscillator(dt=1.2, precision=precision)
    watch, _ = watched(one)
    one.advance(20)
    says = (
        r"^step 20: the run has diverged: the total energy is off by \d+% of the largest energy in the run$"
    )
    with pytest.raises(DivergedError, match=says):
        watch.observe()


def test_an_energy_that_overflows_has_diverged():
    one = oscillator()
    watch, _ = watched(one)
    one.potential.fields["v"].set(np.full((2, 2), 1e200))
    with pytest.raises(DivergedError, match=r"^step 0: the run has diverged: the total energy overflows$"):
        watch.observe()


def test_flows_of_energy_are_no_error(launches):
    """A damped oscillator loses all its energy; a support drives another one far beyond its start."""
    lost = oscillator(c=2.0, dt=0.02)
    fields = Fields({"x": [[0.0], [1.0]], "v": [[0.0], [0.0]], "m": [1.0, 1.0]})
    pull = bind(spring, fields, tuples=[[0, 1]], data={"rest": 1.0}, parameters={"stiffness": 9.0})
    motions = [Motion("x", "v", "m")]
    hand = Holds(fields, [Hold("hand", "x", np.array([0]), displacement=(30.0,), duration=3.0)], motions)
    driven = Integrator(System(Potential(fields, [pull]), motions, holds=hand), SCHEMES["leapfrog"], 0.01)
    for one in (lost, driven):
        watch, said = watched(one)
        for _ in range(40):
            one.advance(10)
            watch.observe()
        assert said == []


def test_a_bath_that_warms_is_no_error():
    fields = Fields({"x": np.zeros((50, 2)), "v": np.zeros((50, 2)), "m": np.ones(50)})
    potential = Potential(fields, [bind(bowl, fields, parameters={"k": 1.0}), bind(well, fields)])
    one = Integrator(
        System(potential, [Motion("x", "v", "m")], bath=Bath(1.0, 2.0, 3)), SCHEMES["leapfrog"], 0.05
    )
    watch, said = watched(one)
    for _ in range(40):
        one.advance(10)
        watch.observe()
    assert said == []


def test_the_rhythm_of_the_watch():
    one = oscillator()
    assert [EnergyWatch(one, n, print).trigger.n for n in (10, 5000, 20_000, 10**6)] == [50, 50, 200, 10_000]
