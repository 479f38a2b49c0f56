"""Steppers against paper: Kepler's equation, reversibility, momentum, work; and the same bits however cut."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.errors import CheckpointError, EnergyError, NonFiniteError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES, composed, mirrored
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity
from tests.support.kepler import error, two_bodies
from tests.support.laws import (
    assert_clock,
    assert_momentum,
    assert_order,
    assert_reversible,
    assert_splits,
    bits,
    energy_error,
    kept,
)
from tests.support.modulated_trap import trap, trapped, well

STEPS = {
    "symplectic_euler": (200, 400, 800),
    "leapfrog": (50, 100, 200),
    "yoshida4": (50, 100, 200),
    "yoshida6": (25, 50, 100),
}
"""Where the fitted order is taken: in the asymptotic range, and above rounding."""

LONG = {
    "yoshida8": (40, 60, 80),
    "mclachlan8": (12, 18, 24),
    "kahan_li8": (10, 15, 20),
    "blanes_moan4": (25, 50, 100),
    "blanes_moan6": (10, 20, 40),
    "blanes_moan_rkn4": (100, 200, 400),
    "blanes_moan_rkn6": (10, 20, 40),
}
"""The same for rows of six forces and more, whose kernels are those of the short ones."""

KINDS = pytest.mark.parametrize("kind", STEPS)


def test_both_ways_are_taken(launches):
    assert two_bodies("leapfrog", 0.1).fused == (launches == "fused")


# Paper --------------------------------------------------------------------------------------------------


def test_orders_are_those_on_paper():
    assert {kind: s.order for kind, s in SCHEMES.items()} == dict(
        zip([*STEPS, *LONG], (1, 2, 4, 6, 8, 8, 8, 4, 6, 4, 6), strict=True)
    )


@KINDS
def test_order_against_kepler(kind, launches):
    assert_order(lambda n: error(kind, n, t=2.0), SCHEMES[kind].order, STEPS[kind])


@pytest.mark.parametrize("kind", LONG)
def test_order_of_long_rows(kind):
    assert_order(lambda n: error(kind, n, t=2.0), SCHEMES[kind].order, LONG[kind])
    assert_reversible(two_bodies(kind, 0.05), 10)


@pytest.mark.parametrize("kind", ["kahan_li8", "blanes_moan6", "blanes_moan_rkn4"])
def test_work_of_long_rows(kind):
    assert_order(lambda n: energy_error(trapped(kind, 2.0 / n), n), SCHEMES[kind].order, LONG[kind])


def test_compositions_of_leapfrogs_are_known():
    """By the rows: which of them keep their order where a part of a step has no exact flow."""
    others = {"symplectic_euler", *(k for k in SCHEMES if k.startswith("blanes_moan"))}
    assert {k for k, s in SCHEMES.items() if not s.of_leapfrogs} == others


def test_constraints_need_compositions():
    """By its flag: both parts of a row that is no composition of leapfrogs must be exact."""
    two = two_bodies("leapfrog", 0.1)
    rods: Any = SimpleNamespace(terms={"rod": None}, uses_time=False)
    with pytest.raises(EnergyError) as caught:
        Integrator(System(two.potential, two.motions, constraints=rods), SCHEMES["blanes_moan6"], 0.1)
    assert str(caught.value) == (
        "integrator: a scheme of order 6 that is no composition of leapfrogs has no rule for constraints, got"
        " both; use yoshida6 or kahan_li8"
    )


@pytest.mark.parametrize("kind", [k for k in STEPS if k != "symplectic_euler"])
def test_reversible(kind, launches):
    assert_reversible(two_bodies(kind, 0.05), 40)


def test_symplectic_euler_is_not_reversible():
    with pytest.raises(AssertionError):
        assert_reversible(two_bodies("symplectic_euler", 0.05), 40)


@KINDS
def test_momentum(kind, launches):
    assert_momentum(two_bodies(kind, 0.02), 200)


@KINDS
def test_energy_of_two_bodies(kind, launches):
    """At a time where the orbit is not the start's mirror image, the error of the energy shows the order."""
    assert_order(lambda n: energy_error(two_bodies(kind, 2.0 / n), n), SCHEMES[kind].order, STEPS[kind])


def test_euler_kicks_first():
    """From rest, one step moves the bodies already; drifting first would not."""
    stepper = trapped("symplectic_euler", 0.1)
    x, v = (stepper.potential.fields[n] for n in "xv")
    v.set(np.zeros((3, 2)))
    before = x.values.copy()
    stepper.advance(1)
    assert (x.values != before).all()


@KINDS
def test_one_step_by_hand(kind):
    """A harmonic trap, the row of coefficients, and NumPy."""
    stepper = trapped(kind, 0.1)
    m, h, t = np.array([[1.0], [2.0], [0.5]]), stepper.dt, stepper.t0
    x, v = (stepper.potential.fields[n].values.copy() for n in "xv")
    scheme = SCHEMES[kind]
    for kick, drift in zip(scheme.kicks, (*scheme.drifts, 0.0), strict=True):
        v -= kick * h * (1.0 + 0.5 * np.sin(1.7 * t)) * x / m
        x += drift * h * v
        t += drift * h
    stepper.advance(1)
    np.testing.assert_allclose(stepper.potential.fields["x"].values, x, rtol=1e-14)
    np.testing.assert_allclose(stepper.potential.fields["v"].values, v, rtol=1e-14)


@pytest.mark.parametrize("kind", SCHEMES)
def test_rows_sum_to_one(kind):
    scheme = SCHEMES[kind]
    assert sum(scheme.kicks) == pytest.approx(1.0, abs=1e-15)
    assert sum(scheme.drifts) == pytest.approx(1.0, abs=1e-15)
    assert len(scheme.kicks) == len(scheme.drifts) + 1


def test_composed_and_mirrored():
    assert mirrored(0.3, 0.1) == [0.3, 0.1, pytest.approx(0.2), 0.1, 0.3]
    scheme = composed(2, mirrored(0.3))
    assert scheme.drifts == pytest.approx((0.3, 0.4, 0.3))
    assert scheme.kicks == pytest.approx((0.15, 0.35, 0.35, 0.15))


# Time and work ------------------------------------------------------------------------------------------


def test_clock(launches):
    assert_clock(trapped("yoshida4", 0.1), 50)


@KINDS
def test_work_accounts_for_an_explicit_time(kind, launches):
    assert_order(lambda n: energy_error(trapped(kind, 2.0 / n), n), SCHEMES[kind].order, STEPS[kind])


def test_the_trap_does_work():
    stepper = trapped("yoshida6", 0.02)
    assert energy_error(stepper, 100) < 1e-10
    assert abs(stepper.work) > 0.1


def test_no_time_no_work(launches):
    stepper = two_bodies("leapfrog", 0.1)
    stepper.advance(10)
    assert stepper.work == 0.0


# Bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("kind", ["symplectic_euler", "yoshida4"])
@pytest.mark.parametrize("system", [two_bodies, trapped])
def test_bits_do_not_depend_on_the_cuts(system, kind, precision, launches):
    steps = 1000 if launches == "fused" else 100
    assert_splits(lambda: system(kind, 0.013, precision=precision), steps)


def test_precisions_differ():
    one, two = (kept(two_bodies("leapfrog", 0.01, precision=p), [5])["x"] for p in ("f64", "f32"))
    assert len(one) == 2 * len(two)


def _resumed(state: dict[str, np.ndarray], fields: dict[str, np.ndarray], steps: int) -> Integrator:
    """A fresh stepper that takes up a saved moment."""
    stepper = trapped("yoshida4", 0.05)
    for name, values in fields.items():
        stepper.potential.fields[name].set(values)
    stepper.restore(state)
    stepper.advance(steps)
    return stepper


@pytest.fixture
def saved(launches):
    """A moment in the middle, and the bits of the end."""
    stepper = trapped("yoshida4", 0.05)
    stepper.advance(20)
    state = stepper.state()
    fields = {name: f.values.copy() for name, f in stepper.potential.fields.items()}
    stepper.advance(20)
    return state, fields, bits(stepper)


def test_restored_goes_on_bit_for_bit(saved):
    state, fields, end = saved
    assert bits(_resumed(state, fields, 20)) == end


SAVED = ["gradient/x", "work", "step", "t0", "dt"]


@pytest.mark.parametrize("name", SAVED)
def test_all_that_is_saved_matters(name, saved):
    state, fields, end = saved
    assert set(state) == set(SAVED)
    changed = state[name] + 1
    assert bits(_resumed({**state, name: changed}, fields, 20)) != end
    without = {n: a for n, a in state.items() if n != name}
    with pytest.raises(CheckpointError, match=f"'stepper/{name}' is missing"):
        trapped("yoshida4", 0.05).restore(without)
    with pytest.raises(CheckpointError, match="does not fit"):
        trapped("yoshida4", 0.05).restore({**state, name: np.zeros((7, 7))})


def test_time_goes_on_where_it_was_with_another_dt(saved):
    state, _, _ = saved
    stepper = trapped("yoshida4", 0.02)
    stepper.restore(state)
    assert stepper.step == 20
    assert stepper.time == pytest.approx(0.3 + 20 * 0.05, rel=1e-15)
    stepper.advance(5)
    assert stepper.time == pytest.approx(0.3 + 20 * 0.05 + 5 * 0.02, rel=1e-15)


def test_state_is_a_copy():
    stepper = trapped("leapfrog", 0.1)
    state = stepper.state()
    stepper.advance(3)
    assert state["step"] == 0
    assert state["work"] == 0.0
    assert (state["gradient/x"] != stepper.state()["gradient/x"]).any()


# Trouble ------------------------------------------------------------------------------------------------


def _fields(stepper: Integrator) -> dict[str, np.ndarray]:
    return {f.name: f.values.copy() for f in stepper.moving}


def test_coinciding_bodies_are_named(launches):
    x = np.array([[0.0, 1.0], [2.0, 0.0], [0.5, 0.5], [2.0, 0.0]])
    fields = Fields({"x": x, "v": np.zeros((4, 2)), "m": np.ones(4)})
    potential = Potential(fields, [bind(well, fields), bind(gravity, fields, parameters={"G": 1.0})])
    stepper = Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.1)
    with pytest.raises(
        NonFiniteError, match=r"^step 1: term 'gravity', node 1: its force on 'x' is not finite"
    ):
        stepper.advance(5)
    assert stepper.step == 0
    np.testing.assert_array_equal(fields["x"].values, x)
    assert not fields["v"].values.any()


def _explosion(stepper: Integrator, batches: list[int]) -> tuple[str, dict[str, np.ndarray]]:
    """What the error says, and the fields before the batch in which it came."""
    for n in batches:
        before = _fields(stepper)
        try:
            stepper.advance(n)
        except NonFiniteError as error:
            return str(error), before
    raise AssertionError("nothing exploded")


@pytest.mark.parametrize("kind", ["symplectic_euler", "leapfrog", "yoshida4"])
def test_an_explosion_is_named_and_the_last_finite_state_stands(kind, launches):
    """Three nodes in a quartic well with a step far too long: the numbers grow as a tower of cubes."""
    single, batch = (trapped(kind, 2.0, (trap, well)) for _ in range(2))
    message, last = _explosion(single, [1] * 50)
    message_at_once, _ = _explosion(batch, [50])
    assert message_at_once == message
    assert message.startswith(f"step {batch.step + 1}: term 'well', node ")
    assert 0 < batch.step == single.step < 49
    for name, values in _fields(batch).items():
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(values, last[name])


def test_an_explosion_names_term_and_node():
    """Only node 2 is outside; the well breaks, not the trap."""
    stepper = trapped("leapfrog", 0.1, (trap, well))
    x = stepper.potential.fields["x"]
    x.set(np.where([[False], [False], [True]], 1e150, x.values))
    stepper = Integrator(System(stepper.potential, stepper.motions), stepper.scheme, stepper.dt)
    with pytest.raises(
        NonFiniteError, match=r"^step 1: term 'well', node 2: its force on 'x' is not finite;"
    ):
        stepper.advance(1)


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        ("m", r"'x' moves with inertia 0 at node 1: it has no acceleration .* give it a positive one"),
        (0.0, r"'x' moves with inertia 0 at node 0"),
        (-1.0, r"'x' moves with inertia -1 at node 0"),
        ("v", r"inertia 'v' has shape \[3, 2\]; 'x' needs \[3\]"),
    ],
)
def test_inertia_that_moves_nothing_is_refused(inertia, message):
    stepper = trapped("leapfrog", 0.1)
    stepper.potential.fields["m"].set([1.0, 0.0, 2.0])
    with pytest.raises(EnergyError, match=message):
        Integrator(System(stepper.potential, [Motion("x", "v", inertia)]), SCHEMES["leapfrog"], 0.1)


def test_what_cannot_move_is_refused():
    potential = trapped("leapfrog", 0.1).potential
    with pytest.raises(EnergyError, match=r'^integrator: has no motions, .*Motion\("x", "v", "m"\)\]'):
        Integrator(System(potential, []), SCHEMES["leapfrog"], 0.1)
    with pytest.raises(EnergyError, match=r"'x' has shape \[3, 2\], its velocity 'm' \[3\]"):
        Integrator(System(potential, [Motion("x", "m", 1.0)]), SCHEMES["leapfrog"], 0.1)
