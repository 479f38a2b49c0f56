"""A step after a write from outside equals the step of a stepper that is built there, bit for bit.

Fields, parameters, data and the step size are written by the user, or by another stepper of the fields.
"""

import math
import re

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Hold, Loss, Motion, Node, Parameter, Potential, Rollout, bind, local_energy
from minusgrad.adjoint.run_objective import FitParameter, RunObjective
from minusgrad.errors import EnergyError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from minusgrad.steppers.minimisers.gauss_newton import GaussNewton
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.timed.heat_bath import Bath
from minusgrad_elastic.springs import spring
from tests.support.kepler import SHORT
from tests.support.laws import bits
from tests.support.modulated_trap import trap
from tests.support.systems import system_from

X = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1]])
V = np.array([[0.1, 0.2], [-0.3, 0.0], [0.0, 0.4]])
KINDS = pytest.mark.parametrize("kind", SHORT)


@local_energy("slowing", over="nodes", v=Node("m/s", ("d",)), c=Parameter("kg/s", default=0.3))
def slowing(v, c):
    """R = c |v|^2 / 2."""
    return 0.5 * c * v[0].dot(v[0])


def potential(x=X, v=V, k=2.0, rest=(0.9, 0.8), a=0.5, m=(1.0, 2.0, 0.5), precision="f64") -> Potential:
    """Three nodes, two springs, and a trap that changes in time."""
    fields = Fields({"x": x, "v": v, "m": m}, precision=precision)
    springs = bind(
        spring, fields, tuples=[[0, 1], [1, 2]], data={"rest": list(rest)}, parameters={"stiffness": k}
    )
    return Potential(fields, [springs, bind(trap, fields, parameters={"a": a})])


def moving(of: Potential, kind="leapfrog", dt=0.05, t0=0.0, holds=(), **more) -> Integrator:
    motions = [Motion("x", "v", "m")]
    held = Holds(of.fields, holds, motions) if holds else None
    return Integrator(system_from(more, of, motions, holds=held), SCHEMES[kind], dt, t0, **more)


def fields_of(stepper: Integrator) -> dict[str, bytes]:
    return {name: f.values.tobytes() for name, f in stepper.potential.fields.items()}


WRITES = {
    "position": lambda of: of.fields["x"].set(of.fields["x"].values + 0.3),
    "parameter": lambda of: of.set_parameter("spring.stiffness", 50.0),
    "parameter of a time": lambda of: of.set_parameter("trap.a", 0.9),
    "datum": lambda of: of.terms["spring"].set_datum("rest", [0.1, 2.0]),
}


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("write", WRITES)
@KINDS
def test_a_step_after_a_write_uses_the_new_force(kind, write, precision, launches):
    one = moving(potential(precision=precision), kind)
    one.advance(7)
    WRITES[write](one.potential)
    assert one.stale
    now = {n: f.values.copy() for n, f in one.potential.fields.items()}
    fresh = potential(now["x"], now["v"], precision=precision)
    for name in ("parameter", "parameter of a time", "datum"):
        if name == write:
            WRITES[name](fresh)
    other = moving(fresh, kind, t0=one.time)
    one.advance(3)
    other.advance(3)
    for name in "xv":
        values, expected = (s.potential.fields[name].values for s in (one, other))
        np.testing.assert_allclose(values, expected, rtol=2e-15 if precision == "f64" else 1e-6, atol=1e-14)


def test_unwritten_forces_are_not_computed_again(monkeypatch):
    one = moving(potential())
    one.advance(2)
    monkeypatch.setattr(one, "_evaluate", lambda t: pytest.fail("evaluated"))
    one.advance(2)
    one.gradient["x"], one.state()
    assert not one.stale


def test_the_gradient_and_the_state_are_those_of_the_present_fields(launches):
    one = moving(potential())
    one.advance(2)
    one.potential.fields["x"].set(X)
    expected = one.potential.gradient("x", one.time)
    np.testing.assert_allclose(one.state()["gradient/x"], expected, rtol=1e-14)
    one.potential.set_parameter("spring.stiffness", 7.0)
    np.testing.assert_allclose(one.gradient["x"], one.potential.gradient("x", one.time), rtol=1e-14)


def test_two_steppers_of_the_same_fields():
    """Fields that another stepper has moved are written, too."""
    of = potential(a=0.0)
    one, search = moving(of, dt=1e-3), LBFGS(of, [Unknown("x")], Tolerances(1e-10))
    search.advance(100)
    assert search.outcome == "converged"
    of.fields["v"].set(np.zeros((3, 2)))
    one.advance(1)
    assert np.abs(of.fields["v"].values).max() < 1e-10
    of.fields["v"].set(V)
    one.advance(10)
    assert search.outcome is None
    assert search.energy == of.value()
    one.advance(10)  # now from forces that are not stale
    assert search.energy == of.value()


def test_a_written_support_is_put_back(launches):
    clamp = [Hold("wall", "x", np.array([0]))]
    one = moving(potential(a=0.0), holds=clamp)
    one.advance(2)
    other = moving(
        potential(one.potential.fields["x"].values, one.potential.fields["v"].values, a=0.0), holds=clamp
    )
    one.potential.fields["x"].set(one.potential.fields["x"].values + np.array([[5.0, 5.0], [0, 0], [0, 0]]))
    one.advance(2)
    other.advance(2)
    assert fields_of(one) == fields_of(other)


# Minimisers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [GradientDescent, Adam, FIRE, LBFGS])
@pytest.mark.parametrize("write", ["position", "parameter", "datum"])
def test_a_search_after_a_write_goes_on_in_the_new_landscape(method, write):
    of = potential(a=0.0)
    search = method(of, [Unknown("x")], Tolerances(1e-3, None))
    search.advance(20000)
    assert search.outcome == "converged"
    WRITES[write](of)
    assert search.outcome is None
    assert search.energy == pytest.approx(of.value(), rel=1e-14)
    slope = np.abs(of.gradient("x")).max()
    assert search.residual == pytest.approx(slope, rel=1e-14)
    assert search.status.change == math.inf
    search.advance(20000)
    assert search.outcome == "converged"
    assert np.abs(of.gradient("x")).max() <= 1e-3


@pytest.mark.parametrize("method", [GradientDescent, FIRE, LBFGS])
def test_a_search_after_a_write_steps_like_a_new_one(method):
    of = potential(a=0.0)
    search = method(of, [Unknown("x")])
    search.advance(8)
    WRITES["parameter"](of)
    x = of.fields["x"].values.copy()
    search.advance(4)
    then = of.fields["x"].values.copy()
    of.fields["x"].set(x)
    method(of, [Unknown("x")]).advance(4)
    np.testing.assert_array_equal(of.fields["x"].values, then)


def test_a_search_at_another_time():
    of = potential()
    search = LBFGS(of, [Unknown("x")])
    search.advance(3)
    search.t = 0.7
    assert search.energy == pytest.approx(of.value(0.7), rel=1e-14)


def test_a_written_start_beyond_the_bounds_is_moved_onto_them():
    of = potential(a=0.0)
    search = LBFGS(of, [Unknown("x", lower=-2.0, upper=2.0)])
    of.fields["x"].set(X + np.array([1.5, 0.0]))
    with pytest.warns(UserWarning, match="^field 'x': 1 of 3 nodes began outside its bounds, -2 to 2, and"):
        search.update()
    assert of.fields["x"].values.max() == 2.0


def test_the_memory_of_lbfgs_is_that_of_its_pairs():
    search = LBFGS(potential(), [Unknown("x")], memory=3)
    assert search.memory == 3
    with pytest.raises(AttributeError):
        search.memory = 5


# Objectives of runs ---------------------------------------------------------------------------------------


def swing() -> tuple[Integrator, RunObjective]:
    """The stretch of a third spring after 20 steps, as a function of the stiffness of the others."""
    one = moving(potential(a=0.0))
    near = bind(
        spring,
        one.potential.fields,
        tuples=[[0, 2]],
        data={"rest": 1.0},
        name="near",
        parameters={"stiffness": 1.0},
    )
    rollout = Rollout(one, [Loss(Potential(one.potential.fields, [near]), steps=(20,))], steps=20)

    def put(values: np.ndarray) -> None:
        one.potential.set_parameter("spring.stiffness", values)

    return one, RunObjective(rollout, [FitParameter("spring.stiffness", np.array(2.0), put)])


OF_A_RUN = {
    "start": lambda one: one.potential.fields["x"].set(X + 0.2 * V),
    "mass": lambda one: one.potential.fields["m"].set([3.0, 1.0, 1.0]),
    "parameter": lambda one: one.potential.set_parameter("trap.k", 3.0),
    "datum": lambda one: one.potential.terms["spring"].set_datum("rest", 0.1),
    "dt": lambda one: setattr(one, "dt", 0.04),
}


@pytest.mark.parametrize("write", OF_A_RUN)
def test_the_loss_of_a_run_is_computed_again(write):
    one, objective = swing()
    fit = GaussNewton(objective, [Unknown("spring.stiffness")], Tolerances(None, 1e-10))
    before = objective.value()
    assert fit.energy == before
    count = objective.writes
    assert objective.writes == count
    OF_A_RUN[write](one)
    other, expected = swing()
    OF_A_RUN[write](other)
    assert objective.value() == expected.value() != before
    assert fit.energy == expected.value()


def test_a_rollout_leaves_the_forces_as_they_should_be(launches):
    one, objective = swing()
    one.advance(3)
    one.potential.set_parameter("spring.stiffness", 9.0)
    slopes = np.zeros(1)
    objective.evaluate_into({"spring.stiffness": slopes})
    np.testing.assert_allclose(one.gradient["x"], one.potential.gradient("x", one.time), rtol=1e-14)


# Views ----------------------------------------------------------------------------------------------------


def test_nothing_can_be_written_past_the_setters():
    of = potential()
    term = of.terms["spring"]
    for array in (term.data["rest"], term.parameters["stiffness"].rows):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1.0
    with pytest.raises(EnergyError, match=r"^field 'x': its values are read-only"):
        of.fields["x"].values[...] = 1.0
    term.set_datum("rest", 3.0)
    assert term.data["rest"].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        term.data["rest"][0] = 1.0


# The clock ------------------------------------------------------------------------------------------------


def trapped(dt: float, kind="leapfrog", **more) -> Integrator:
    return moving(potential(), kind, dt, **more)


@pytest.mark.parametrize("kind", ["leapfrog", "yoshida4"])
def test_time_goes_on_where_it_is_with_another_dt(kind, launches):
    one = trapped(0.03, kind, t0=0.25)
    one.advance(11)
    then = one.time
    assert then == 0.25 + 11 * 0.03
    one.dt = 0.02
    assert one.time == then
    one.advance(9)
    assert one.time == then + 9 * 0.02
    other = trapped(0.03, kind, t0=0.25)
    other.advance(11)
    again = moving(potential(*(other.potential.fields[n].values for n in "xv")), kind, 0.02, t0=then)
    again.advance(9)
    for name in "xv":
        assert one.potential.fields[name].values.tobytes() == again.potential.fields[name].values.tobytes()


def test_energy_minus_work_is_kept_through_another_dt(launches):
    """Explicit time, a support that moves, and friction: a jump of the clock would show."""
    support = [Hold("hand", "x", np.array([0]), displacement=(0.5, -0.2), duration=1.0)]

    def drift(dt: float) -> float:
        of = potential()
        friction = Potential(of.fields, [bind(slowing, of.fields)])
        one = moving(of, dt=dt, holds=support, dissipation=friction)
        start = energy(one)
        one.advance(round(0.5 / dt))
        one.dt = dt / 2
        one.advance(round(1.0 / dt))
        assert one.time == pytest.approx(1.0, rel=1e-12)
        return abs(energy(one) - start)

    errors = [drift(dt) for dt in (0.05, 0.025)]
    assert errors[0] < 3e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def energy(one: Integrator) -> float:
    f, balance = one.potential.fields, one.balance
    kinetic = float((0.5 * f["m"].values[:, None] * f["v"].values ** 2).sum())
    flows = balance.get("dissipated", 0.0) - balance.get("work", 0.0)
    return kinetic + one.potential.value(one.time) + flows


def test_another_dt_is_saved_and_resumed_bit_for_bit(launches):
    one = trapped(0.03)
    assert "since" not in one.state()
    one.advance(5)
    one.dt = 0.02
    one.advance(5)
    state, now = one.state(), {n: f.values.copy() for n, f in one.potential.fields.items()}
    one.advance(10)
    other = trapped(0.03)
    for name, values in now.items():
        other.potential.fields[name].set(values)
    other.restore(state)
    assert (other.dt, other.since, other.step) == (0.02, 5, 10)
    other.advance(10)
    assert bits(other) == bits(one)


def test_another_dt_at_the_start_is_saved_too():
    one = trapped(0.03)
    one.dt = 0.02
    other = trapped(0.03)
    other.restore(one.state())
    assert (other.dt, other.time) == (0.02, 0.0)


def test_noise_goes_on_with_new_numbers(launches):
    """A step of the bath has numbers of its own, also after dt was set."""

    def bathed() -> Integrator:
        return moving(potential(a=0.0), bath=Bath(1.0, 0.1, 5))

    one, other = bathed(), bathed()
    one.advance(4)
    one.dt = 0.04
    one.dt = 0.05
    one.advance(4)
    other.advance(8)
    for name in "xv":
        values, expected = (s.potential.fields[name].values for s in (one, other))
        np.testing.assert_array_equal(values, expected)


def test_a_simulation_is_saved_with_another_dt():
    one = minusgrad.build("scenes/two_body.toml")
    one.stepper.advance(10)
    one.stepper.dt = 0.004
    one.stepper.advance(10)
    saved = one.snapshot()
    one.stepper.advance(10)
    other = minusgrad.build("scenes/two_body.toml")
    other.restore(saved)
    other.stepper.advance(10)
    assert bits(other.stepper) == bits(one.stepper)
    one.restore(saved)
    one.stepper.advance(10)
    assert bits(other.stepper) == bits(one.stepper)


def test_a_rollout_begins_at_the_start_of_the_clock():
    one, objective = swing()
    expected = objective.rollout.value()
    one.dt = 0.1
    one.dt = 0.05
    assert objective.rollout.value() == expected
    x = one.potential.fields["x"].values.copy()
    one.advance(3)
    one.dt = 0.1
    one.dt = 0.05
    assert (one.since, one.time) == (3, pytest.approx(0.15))
    one.potential.fields["x"].set(x)
    one.potential.fields["v"].set(V)
    assert objective.rollout.value() == expected
    assert (one.since, one.step) == (3, 3)


def test_a_written_start_of_the_clock_is_that_of_rollouts(launches):
    """Forces depend on the time, so that they are stale; and a run begins where the clock was set to."""
    one, other = trapped(0.05), moving(potential(), t0=0.8)
    one.t0 = 0.8
    assert one.stale
    near = Loss(Potential(one.potential.fields, [bind(trap, one.potential.fields, name="near")]), steps=(9,))
    found = Rollout(one, [near], steps=9).value()
    near = Loss(
        Potential(other.potential.fields, [bind(trap, other.potential.fields, name="near")]), steps=(9,)
    )
    assert found == Rollout(other, [near], steps=9).value()
    one.advance(3)
    other.advance(3)
    assert fields_of(one) == fields_of(other)


SUBNORMAL = np.int64(2024).view(np.float64).item()
"""1e-320, by its bits: once an engine has started, the text is read as zero."""


@pytest.mark.parametrize(
    ("dt", "precision", "says"),
    [
        (SUBNORMAL, "f64", "2.23e-308 and 1.8e+308 in size, got less"),
        (1e-40, "f32", "1.18e-38 and 3.4e+38 in size, got 1e-40"),
        (0.0, "f64", "got 0"),
        (math.nan, "f64", "got nan"),
        (math.inf, "f64", "got inf"),
    ],
)
def test_a_dt_that_moves_nothing_is_refused(dt, precision, says):
    message = f"^dt: must be between .*{re.escape(says)}; choose another dt, or another unit of time$"
    with pytest.raises(EnergyError, match=message):
        moving(potential(precision=precision), dt=dt)
    one = moving(potential(precision=precision))
    with pytest.raises(EnergyError, match=message):
        one.dt = dt


def test_a_dt_that_the_clock_loses_is_refused():
    message = "^dt: is lost in the rounding of the time 1000000000, got 1e-09; give a larger dt$"
    with pytest.raises(EnergyError, match=message):
        moving(potential(), dt=1e-9, t0=1e9)


# What cannot be set ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scheme", "potential", "motions", "holds", "bath", "gradient"])
def test_what_kernels_are_compiled_for_cannot_be_changed(name):
    one = moving(potential())
    says = f"`{name}` cannot be changed, its kernels are compiled for it; make another stepper"
    with pytest.raises(EnergyError, match=f"^stepper 'Integrator': {says}$"):
        setattr(one, name, SCHEMES["yoshida4"])


def test_a_parameter_without_its_term():
    of = potential()
    says = "^'stiffness': needs the name of its term in front, got none; write 'spring.stiffness'$"
    with pytest.raises(EnergyError, match=says):
        of.set_parameter("stiffness", 1.0)
    with pytest.raises(EnergyError, match=r"^no term named 'stiff' \(there are: spring, trap\)"):
        of.set_parameter("stiff", 1.0)
