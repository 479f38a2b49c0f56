"""Gradient flows: decay factors of a step in closed form, orders, bits, resuming; and what is refused.

A sine between walls of temperature zero decays by 1 / (1 + z) a step of implicit Euler, and by (1 - z / 2) /
(1 + z / 2) of Crank-Nicolson, z = alpha k_h^2 h with k_h^2 = (2 - 2 cos(k dx)) / dx^2 on equal cells. BDF2:
the recurrence (3/2 + z) a_n = 2 a_(n-1) - a_(n-2) / 2.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from minusgrad import Fields, Hold, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.errors import CheckpointError, EnergyError, NonFiniteError, RunFailedError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.implicit.gradient_flow import FLOW_SCHEMES, GradientFlow
from minusgrad.steppers.systems.system import System
from minusgrad_elastic import generators
from minusgrad_heat.conduction import conduction
from tests.support.laws import assert_clock, assert_splits, bits, fitted_order

K, CAPACITY, LENGTH, CELLS = 1.7, 2.3e3, 0.3, 8


@local_energy("quartic", over="nodes", T=Node("K"), rate=Parameter("W K^-4"))
def quartic(T, rate):
    return 0.25 * rate * T[0] ** 4


@local_energy("roof", over="nodes", T=Node("K"), rate=Parameter("W"))
def roof(T, rate):
    """Its slope jumps, and no temperature between is in equilibrium with a small step."""
    return -rate * ti.sqrt(T[0])


def slab(precision: str = "f64", held: bool = True, **options: Any) -> GradientFlow:
    """A sine along x between two walls at zero."""
    mesh = generators.rectangle((LENGTH, 0.1), (CELLS, 2))
    wave = np.sin(np.pi * mesh.points[:, 0] / LENGTH)
    of = Fields({"T": wave, "C": CAPACITY * mesh.lumped_masses(1.0)}, precision=precision)
    data = {"gradients": mesh.gradients(), "volume": mesh.volumes()}
    term = bind(conduction, of, tuples=mesh.cells, data=data, parameters={"conductivity": K})
    walls = np.union1d(mesh.bodies["left"], mesh.bodies["right"])
    holds = Holds(of, (Hold("walls", "T", walls),)) if held else None
    return GradientFlow(System(Potential(of, [term]), holds=holds), {"T": "C"}, **{"dt": 0.5, **options})


def decay(scheme: str, z: float, steps: int) -> float:
    if scheme == "implicit_euler":
        return (1.0 + z) ** -steps
    if scheme == "crank_nicolson":
        return ((1.0 - 0.5 * z) / (1.0 + 0.5 * z)) ** steps
    a = [1.0, 1.0 / (1.0 + z)]
    for _ in range(steps - 1):
        a.append((2.0 * a[-1] - 0.5 * a[-2]) / (1.5 + z))
    return a[steps]


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("dt", [0.5, 8.0])
@pytest.mark.parametrize("scheme", FLOW_SCHEMES)
def test_a_sine_decays_by_a_closed_form(scheme: str, dt: float, precision: str) -> None:
    stepper = slab(precision, scheme=scheme, dt=dt)
    start, dx = stepper.potential.fields["T"].values.copy(), LENGTH / CELLS
    z = K / CAPACITY * (2.0 - 2.0 * np.cos(np.pi * dx / LENGTH)) / dx**2 * dt
    stepper.advance(7)
    expected = decay(scheme, z, 7) * start.astype(np.float64)
    assert stepper.potential.fields["T"].values == pytest.approx(
        expected, abs=1e-12 if precision == "f64" else 1e-5
    )


def smooth() -> np.ndarray:
    x = np.arange(CELLS + 1.0).repeat(3) / CELLS
    return np.cos(np.pi * x) + 0.5 * np.cos(2.0 * np.pi * x)


@pytest.mark.parametrize(("scheme", "order"), [("implicit_euler", 1), ("crank_nicolson", 2), ("bdf2", 2)])
def test_order_in_time(scheme: str, order: int) -> None:
    """Against the exponential of the matrix."""
    steps, errors = (20, 40, 80), []
    for n in steps:
        stepper = slab(held=False, scheme=scheme, dt=20.0 / n)
        field, capacity = stepper.potential.fields["T"], stepper.potential.fields["C"].values
        rate = stepper.potential.hessian("T").toarray() / capacity[:, None]
        exact = expm(-20.0 * rate) @ smooth()
        field.set(smooth())
        stepper.advance(n)
        errors.append(np.abs(field.values - exact).max())
    assert fitted_order(errors, steps) == pytest.approx(order, abs=0.1)


def test_heat_is_conserved() -> None:
    """Without walls or sources sum C T stays, and U falls."""
    stepper = slab(held=False, dt=20.0)
    fields, before = stepper.potential.fields, stepper.potential.value()
    heat = fields["C"].values @ fields["T"].values
    stepper.advance(30)
    assert fields["C"].values @ fields["T"].values == pytest.approx(heat, rel=1e-12)
    assert stepper.potential.value() < 0.5 * before


def test_a_potential_that_is_not_quadratic() -> None:
    """C dT/dt = -r T^3: each step of implicit Euler solves C (T - T_0) / h + r T^3 = 0."""
    of = Fields({"T": np.array([3.0, 1.0, 2.0])})
    stepper = GradientFlow(
        System(Potential(of, [bind(quartic, of, parameters={"rate": 5.0})])), {"T": 2.0}, dt=0.7
    )
    expected = of["T"].values.copy()
    for _ in range(4):
        roots = [np.roots([5.0, 0.0, 2.0 / 0.7, -2.0 / 0.7 * t]) for t in expected]
        expected = np.array([r[np.abs(r.imag) < 1e-9].real[0] for r in roots])
        stepper.advance(1)
        assert of["T"].values == pytest.approx(expected, rel=1e-12)


def test_a_wall_that_warms_up() -> None:
    """Held values are those of the end of the step."""
    mesh = generators.rectangle((LENGTH, 0.1), (CELLS, 2))
    of = Fields({"T": np.zeros(len(mesh.points)), "C": CAPACITY * mesh.lumped_masses(1.0)})
    data = {"gradients": mesh.gradients(), "volume": mesh.volumes()}
    term = bind(conduction, of, tuples=mesh.cells, data=data, parameters={"conductivity": K})
    holds = Holds(of, (Hold("wall", "T", mesh.bodies["left"], velocity=(2.0,)),))
    stepper = GradientFlow(System(Potential(of, [term]), holds=holds), {"T": "C"}, dt=3.0)
    stepper.advance(4)
    assert of["T"].values[mesh.bodies["left"]] == pytest.approx(24.0)
    assert 0.0 < of["T"].values[mesh.bodies["right"]].max() < 24.0


@pytest.mark.parametrize("scheme", FLOW_SCHEMES)
def test_bits_do_not_depend_on_how_a_run_is_cut(scheme: str) -> None:
    assert_splits(lambda: slab(scheme=scheme), 30)
    assert_clock(slab(scheme=scheme), 5)


@pytest.mark.parametrize("scheme", FLOW_SCHEMES)
def test_a_restored_stepper_goes_on_bit_for_bit(scheme: str) -> None:
    one, other = slab(scheme=scheme), slab(scheme=scheme)
    one.advance(5)
    saved = {n: a.copy() for n, a in one.state().items()}
    other.potential.fields["T"].set(one.potential.fields["T"].values)
    other.restore(saved)
    for stepper in (one, other):
        stepper.advance(5)
    assert bits(one) == bits(other)
    for name in saved:
        with pytest.raises(CheckpointError):
            other.restore({n: a for n, a in saved.items() if n != name} if name != "since" else {})


def test_written_temperatures_are_noticed() -> None:
    """BDF2 then begins again."""
    one, other = slab(scheme="bdf2"), slab(scheme="bdf2")
    one.advance(4)
    warmer = 2.0 * one.potential.fields["T"].values
    for stepper in (one, other):
        stepper.potential.fields["T"].set(warmer)
        stepper.advance(3)
    assert (one.potential.fields["T"].values == other.potential.fields["T"].values).all()


def test_a_step_that_leaves_the_domain_is_undone() -> None:
    of = Fields({"T": np.array([4.0, 0.5])})
    flow = GradientFlow(
        System(Potential(of, [bind(roof, of, parameters={"rate": -9.0})])), {"T": 1.0}, dt=1.0
    )
    with pytest.raises((NonFiniteError, EnergyError)) as error:
        flow.advance(3)
    assert "step 1" in str(error.value)
    assert of["T"].values.tolist() == [4.0, 0.5]
    assert flow.step == 0


def test_after_a_step_that_fails_bdf2_goes_on_with_the_values_before_it(monkeypatch) -> None:
    """The next step is that of a run without the one that failed."""
    one, other = slab(scheme="bdf2"), slab(scheme="bdf2")
    for flow in (one, other):
        flow.advance(3)

    def unsolved(*_: Any) -> None:
        raise RunFailedError("not solved")

    with monkeypatch.context() as patch:
        patch.setattr(one, "_solve", unsolved)
        with pytest.raises(RunFailedError, match="not solved"):
            one.advance(1)
    for flow in (one, other):
        flow.advance(1)
    np.testing.assert_array_equal(*(flow.potential.fields["T"].values for flow in (one, other)))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            lambda of, u: GradientFlow(System(u), {}, dt=1.0),
            "gradient_flow: no field flows; give one with its capacity: { T = 'C' }",
        ),
        (
            lambda of, u: GradientFlow(System(u), {"T": 1.0}, dt=-1.0),
            "dt: must be above 0, got -1: 'GradientFlow' goes forward in time alone; give a positive one",
        ),
        (
            lambda of, u: GradientFlow(
                System(u, holds=Holds(of, (Hold("all", "T", range(2)),))), {"T": 1.0}, 1.0
            ),
            "gradient_flow: every component is held; leave some free",
        ),
        (
            lambda of, u: GradientFlow(System(u), {"T": "C"}, dt=1.0),
            "gradient_flow: the capacity of 'T' must be positive, got 0 at node 1; correct it",
        ),
        (
            lambda of, u: GradientFlow(System(u), {"T": -2.0}, dt=1.0),
            "gradient_flow: the capacity of 'T' must be positive, got -2 at node 0; correct it",
        ),
        (
            lambda of, u: GradientFlow(System(u), {"T": "three"}, dt=1.0),
            "gradient_flow: the capacity 'three' has shape [3]; 'T' needs [2]",
        ),
    ],
)
def test_mistakes(asked: Callable, text: str) -> None:
    of = Fields({"T": np.array([3.0, 1.0]), "C": np.array([1.0, 0.0]), "three": np.ones(3)})
    potential = Potential(of, [bind(quartic, of, parameters={"rate": 5.0})])
    with pytest.raises(EnergyError) as error:
        asked(of, potential)
    assert str(error.value) == text
