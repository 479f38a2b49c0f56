"""Programs in time: steps against NumPy, updates all at once, clock, holds, non-finite numbers, refusals."""

import re

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, local_map
from minusgrad.energies.fields import Hold, Motion
from minusgrad.errors import CheckpointError, EnergyError, NonFiniteError, TermError
from minusgrad.plugin import Evolution, Holds, Integrator, Slope
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.programs import DT, chain, drift, fields, program, steps_in_numpy


@pytest.mark.parametrize(("precision", "room"), [("f64", 1e-13), ("f32", 3e-5)])
def test_steps_are_those_of_numpy(precision: str, room: float) -> None:
    of = fields(precision)
    start = of["x"].values.copy(), of["v"].values.copy()
    one = program(of)
    one.advance(40)
    x, v = steps_in_numpy(*start, 40)
    np.testing.assert_allclose(of["x"].values, x, atol=room)
    np.testing.assert_allclose(of["v"].values, v, atol=room)
    assert (one.step, one.time) == (40, pytest.approx(40 * DT))


def test_the_bits_do_not_depend_on_the_batches() -> None:
    found = []
    for batches in ([40], [1] * 40, [7, 13, 20]):
        one = program(fields())
        for n in batches:
            one.advance(n)
        found.append([f.values.tobytes() for f in one.moving])
    assert found[0] == found[1] == found[2]


@local_map("turned", gives="c", over="nodes", a=Node(), b=Node())
def turned(a, b):
    """Neither of the two."""
    return a[0] - 2.0 * b[0]


def test_fields_are_updated_all_at_once() -> None:
    """Each of three becomes another; one of them what the map made of the old ones."""
    of = Fields({"a": [1.0, 2.0], "b": [3.0, 5.0], "d": [7.0, 11.0]})
    one = Evolution(System(Potential(of, [], [bind(turned, of)])), {"a": "b", "b": "d", "d": "c"})
    one.advance(1)
    assert [of[n].values.tolist() for n in "abd"] == [[3.0, 5.0], [7.0, 11.0], [-5.0, -8.0]]
    one.advance(1)
    assert [of[n].values.tolist() for n in "abd"] == [[7.0, 11.0], [-5.0, -8.0], [-11.0, -17.0]]


def test_a_swap_needs_no_map() -> None:
    of = Fields({"a": [1.0, 2.0], "b": [3.0, 5.0]})
    one = Evolution(System(Potential(of, [], [bind(turned, of)])), {"a": "b", "b": "a"})
    one.advance(3)
    assert [of[n].values.tolist() for n in "ab"] == [[3.0, 5.0], [1.0, 2.0]]


def test_a_new_dt_starts_the_clock_again() -> None:
    of = fields()
    one = program(of)
    one.advance(10)
    x, v, t = of["x"].values.copy(), of["v"].values.copy(), one.time
    one.dt = 0.01
    assert one.time == t
    one.advance(1)
    other = fields()
    again = program(other, 0.01, t0=t)
    other["x"].set(x)
    other["v"].set(v)
    again.advance(1)
    np.testing.assert_array_equal(of["x"].values, other["x"].values)
    np.testing.assert_array_equal(of["v"].values, other["v"].values)
    assert one.time == pytest.approx(t + 0.01)


def test_a_saved_state_goes_on_with_the_same_bits() -> None:
    first, second = (program(fields()) for _ in range(2))
    first.advance(5)
    first.dt = 0.02
    first.advance(3)
    saved, values = first.state(), [f.values.copy() for f in first.moving]
    second.restore(saved)
    for field, kept in zip(second.moving, values, strict=True):
        field.set(kept)
    first.advance(6)
    second.advance(6)
    assert [f.values.tobytes() for f in first.moving] == [f.values.tobytes() for f in second.moving]
    assert (first.step, first.time, first.dt) == (second.step, second.time, second.dt)
    with pytest.raises(CheckpointError, match=r"^the checkpoint's 'stepper/step' is missing"):
        second.restore({"t0": np.array(0.0), "dt": np.array(0.1)})


def test_held_components_are_placed_after_each_step() -> None:
    of = fields()
    holds = Holds(of, [Hold("pin", "x", np.array([0]), velocity=(0.5,))], [Motion("x", "v")])
    start = of["x"].values[0]
    one = program(of, holds=holds)
    one.advance(8)
    assert of["x"].values[0] == pytest.approx(start + 0.5 * 8 * DT, rel=1e-14)
    assert of["v"].values[0] == 0.5


@local_map("grown", gives="x_next", over="nodes", x=Node("m"), unit="m", rate=Parameter())
def grown(x, rate):
    """Overflows after some steps."""
    return rate * x[0] * x[0]


def test_a_step_that_is_not_finite_is_named_and_the_state_before_it_restored() -> None:
    of = Fields({"x": [1.0, 1e20, 2.0]}, {"x": "m"})
    one = Evolution(System(Potential(of, [], [bind(grown, of, parameters={"rate": 1.0})])), {"x": "x_next"})
    with pytest.raises(NonFiniteError, match=r"^step 4: map 'grown', output 'x_next', node 1 is not finite$"):
        one.advance(10)
    assert one.step == 3
    np.testing.assert_allclose(of["x"].values, [1.0, 1e160, 256.0])


def test_a_run_through_a_slope_that_is_not_finite_names_the_slope() -> None:
    of = fields()
    one = program(of)
    of["x"].set(np.array([0.0, 1e200, 2.0, 3.0, 4.0, 5.0]))
    with pytest.raises(NonFiniteError, match=r"^step 1: slope 'force', output 'f', node 0 is not finite$"):
        one.advance(1)


def test_a_program_has_neither_forces_nor_a_balance() -> None:
    one = program(fields())
    assert dict(one.gradient) == {}
    assert one.balance == {}
    assert not one.conserves
    assert repr(one) == "Evolution(step 0, dt = 0.05)"


def test_a_program_without_maps_exchanges_its_fields() -> None:
    """There is nothing to compute, and nothing to verify."""
    of = Fields({"a": np.arange(3.0), "b": np.ones(3)})
    one = Evolution(System(Potential(of, [])), {"a": "b", "b": "a"}, 0.1)
    one.advance(3)
    np.testing.assert_array_equal(of["a"].values, np.ones(3))
    np.testing.assert_array_equal(of["b"].values, np.arange(3.0))


# Refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({}, "next: updates no field; give at least one, such as { x = 'x_next' }"),
        ({"x": "x_new"}, "next.x: there is no field 'x_new'; did you mean 'x_next'?"),
        ({"y": "x_next"}, "next: 'y' is no field of the state (there are: x, v, w)"),
        ({"x_next": "x"}, "next: 'x_next' is no field of the state (there are: x, v, w)"),
        (
            {"w": "x_next"},
            "next.w: 'w' has shape [2], got 'x_next' of shape [6]; a field becomes",
        ),
        ({"x": "v_next"}, "next.x: 'x' is in m, got 'v_next' in m s^-1; correct the unit of the map"),
    ],
)
def test_updates_that_do_not_fit(updates: dict[str, str], message: str) -> None:
    of = fields(w=np.zeros(2))
    with pytest.raises(EnergyError) as error:
        Evolution(System(chain(of)), updates, DT)
    assert str(error.value).startswith(message)


def test_an_output_of_another_potential_is_refused() -> None:
    of = fields()
    chain(of)
    with pytest.raises(
        EnergyError, match=r"^next\.x: no map or slope of this potential gives 'x_next'; add it$"
    ):
        Evolution(System(Potential(of, [], frozen=True)), {"x": "x_next"})


def test_a_hold_of_a_field_that_is_not_updated_is_refused() -> None:
    of = fields(w=np.zeros(6))
    holds = Holds(of, [Hold("pin", "w", np.array([0]))])
    with pytest.raises(EnergyError, match=r"^hold: field 'w' is not updated; hold one of x, v$"):
        program(of, holds=holds)


def test_dt_must_be_finite() -> None:
    with pytest.raises(EnergyError, match=r"^dt: must be between .* in size, got nan; choose another dt"):
        program(fields(), np.nan)


def test_attributes_for_which_kernels_were_compiled_cannot_be_set() -> None:
    one = program(fields())
    with pytest.raises(EnergyError, match=r"`updates` cannot be changed, its kernels are compiled for it"):
        one.updates = {"x": "v"}


@local_energy("read", over="nodes", x_next=Node("m"))
def read(x_next):
    """An energy of a map that has a time step."""
    return 0.5 * x_next[0] * x_next[0]


def test_only_a_program_has_time_steps() -> None:
    of = fields(w=np.zeros(6))
    move = bind(drift, of)
    u = Potential(of, [bind(read, of)], [move])
    assert np.isnan(u.value())
    message = (
        "drift.dt: is the time step of a program, got a stepper that is none; use [stepper] kind ="
        ' "evolution", or make it a Parameter'
    )
    with pytest.raises(TermError, match=re.escape(message)):
        Integrator(System(u, [Motion("x", "w")]), SCHEMES["leapfrog"], 0.1)


def test_forces_through_a_slope_that_reads_velocities_are_refused() -> None:
    """The way from a velocity to a force may lead through slopes."""
    of = fields()

    @local_energy("rub", over="nodes", v=Node("m s^-1"), x=Node("m"))
    def rub(v, x):
        """Depends on the velocity."""
        return v[0] * v[0] * x[0]

    @local_energy("felt", over="nodes", g=Node())
    def felt(g):
        """Reads the slope."""
        return g[0]

    slope = Slope("slope", Potential(of, [bind(rub, of)], frozen=True), {"x": "g"}, unit="1")
    u = Potential(of, [bind(felt, of)], [slope])
    with pytest.raises(TermError, match=r"^energy 'felt': reads the velocity 'v' through the map 'slope'"):
        Integrator(System(u, [Motion("x", "v")]), SCHEMES["leapfrog"], 0.1)
