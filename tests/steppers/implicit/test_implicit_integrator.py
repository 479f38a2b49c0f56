"""Implicit integrators against paper: amplitude and phase a step, orders, conservation, substeps, bits."""

import re
from itertools import pairwise
from unittest.mock import Mock

import numpy as np
import pytest

from minusgrad import Fields, Hold, Motion, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.errors import EnergyError, NonFiniteError, UnsolvedStepError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.implicit.implicit_integrator import ImplicitIntegrator
from minusgrad.steppers.implicit.stage import IMPLICIT_SCHEMES, newmark
from minusgrad.steppers.implicit.step_solver import StepSolver
from minusgrad.steppers.systems.system import System
from tests.support.implicit_runs import KINDS, MASSES, ORDERS, ended, exact, swing
from tests.support.laws import fitted_order
from tests.support.systems import system_from
from tests.support.tiers import sampled

END = 0.9
"""No symmetry point of the motion."""


@local_energy("well", over="nodes", x=Node(), k=Parameter())
def well(x, k):
    """k x^2 / 2."""
    return 0.5 * k * x[0] * x[0]


@local_energy("drag", over="nodes", v=Node(), c=Parameter())
def drag(v, c):
    """c v^2 / 2."""
    return 0.5 * c * v[0] * v[0]


def oscillator(scheme, h: float, w: float, c: float = 0.0, precision: str = "f64") -> ImplicitIntegrator:
    fields = Fields({"x": [1.0], "v": [0.4], "m": [2.0]}, precision=precision)
    potential = Potential(fields, [bind(well, fields, parameters={"k": 2.0 * w * w})])
    lost = Potential(fields, [bind(drag, fields, parameters={"c": 2.0 * c})]) if c else None
    return ImplicitIntegrator(System(potential, [Motion("x", "v", "m")], dissipation=lost), scheme, h)


def states(one: ImplicitIntegrator, steps: int) -> np.ndarray:
    """x and v at each step, (steps + 1, 2)."""
    found = [one.potential.fields[n].values[0] for n in "xv"]
    rows = [found]
    for _ in range(steps):
        one.advance(1)
        rows.append([one.potential.fields[n].values[0] for n in "xv"])
    return np.array(rows)


def newmark_matrix(h: float, w: float, beta: float, gamma: float) -> np.ndarray:
    """(x, v) after a step from (x, v), with a = -w^2 x (Hughes, The Finite Element Method, 9.1.2)."""
    left = np.array([[1.0 + beta * (w * h) ** 2, 0.0], [gamma * h * w * w, 1.0]])
    right = np.array([[1.0 - (0.5 - beta) * (w * h) ** 2, h], [-(1.0 - gamma) * h * w * w, 1.0]])
    return np.linalg.solve(left, right)


@pytest.mark.parametrize("wh", [0.05, 0.7, 3.0, 40.0])
@pytest.mark.parametrize("kind", KINDS)
def test_amplitude_and_phase_a_step_are_the_closed_form(kind: str, wh: float) -> None:
    """z = v / w + i x obeys z' = -i w z; of BDF2 the second root, at most a third, has faded."""
    w, i = 1.7, 1j * wh
    expected = {
        "implicit_euler": 1.0 / (1.0 - i),
        "implicit_midpoint": (1.0 + 0.5 * i) / (1.0 - 0.5 * i),
        "bdf2": (2.0 + np.sqrt(1.0 + 2.0 * i)) / (3.0 - 2.0 * i),
        "newmark": (1.0 + 0.5 * i) / (1.0 - 0.5 * i),
    }[kind]
    one = oscillator(IMPLICIT_SCHEMES[kind], wh / w, w)
    count = 36 if kind == "bdf2" and wh < 1.0 else 6
    x, v = states(one, count).T
    z = v / w + 1j * x
    if kind == "bdf2" and wh > 1.0:
        both = expected, (2.0 - np.sqrt(1.0 + 2.0 * i)) / (3.0 - 2.0 * i)
        assert z[1] / z[0] == pytest.approx(1.0 / (1.0 - i), rel=1e-10)
        for a, b, c in zip(z[:-2], z[1:-1], z[2:], strict=True):
            assert abs(c - (sum(both) * b - both[0] * both[1] * a)) < 1e-10 * abs(a)
    else:
        assert abs(z[-1] / z[-2] - expected) < 1e-10
    if kind == "implicit_euler":
        assert abs(abs(z[-1] / z[-2]) - (1.0 + wh**2) ** -0.5) < 1e-10
    if kind in ("implicit_midpoint", "newmark"):
        assert abs(abs(z[-1]) / abs(z[0]) - 1.0) < 1e-12


@pytest.mark.parametrize(("beta", "gamma"), [(0.3025, 0.6), (0.25, 0.5), (0.5, 0.7)])
def test_newmark_with_other_numbers(beta: float, gamma: float) -> None:
    w, h = 1.7, 0.9
    found, step = states(oscillator(newmark(beta, gamma), h, w), 8), newmark_matrix(h, w, beta, gamma)
    for a, b in pairwise(found):
        np.testing.assert_allclose(b, step @ a, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_friction_acts_once(kind: str) -> None:
    """Without a spring: v' + c v = 0, whose steps are those of the same formulas of order 1, 2."""
    c, h = 0.9, 0.5
    factor = {
        "implicit_euler": 1.0 / (1.0 + c * h),
        "implicit_midpoint": (1.0 - 0.5 * c * h) / (1.0 + 0.5 * c * h),
        "newmark": (1.0 - 0.5 * c * h) / (1.0 + 0.5 * c * h),
        "bdf2": (2.0 + np.sqrt(1.0 - 2.0 * c * h)) / (3.0 + 2.0 * c * h),
    }[kind]
    v = states(oscillator(IMPLICIT_SCHEMES[kind], h, 1e-12, c), 40)[:, 1]
    if kind == "bdf2":  # two real roots: the recurrence itself
        for a, b, d in zip(v[:-2], v[1:-1], v[2:], strict=True):
            assert abs((3.0 + 2.0 * c * h) * d - 4.0 * b + a) < 1e-12
    else:
        np.testing.assert_allclose(v[1:] / v[:-1], factor, rtol=1e-10)


@pytest.mark.parametrize(("kind", "damped"), [*((kind, True) for kind in KINDS), ("newmark", False)])
def test_order_with_friction_between_moving_supports(kind: str, damped: bool) -> None:
    """Of the state, the work and the energy that friction takes.

    Kinetic energy of supports is part of their work; they begin with the speed that they have at t = 0.
    """
    counts, found = ((40, 80) if ORDERS[kind] == 1 else (30, 60)), []
    for n in counts:
        one = swing(kind, END / n, damped=damped)
        x, v = (one.potential.fields[name].values for name in "xv")
        begun = MASSES[2:, None] * v[2:] ** 2
        one.advance(n)
        held = 0.5 * float((MASSES[2:, None] * v[2:] ** 2 - begun).sum())
        balance = {"dissipated": 0.0, **one.balance}
        found.append([*x[:2].ravel(), *v[:2].ravel(), balance["work"] - held, balance["dissipated"]])
    errors = np.abs(np.array(found) - exact(END, damped))
    groups = [errors[:, :8].max(axis=1), errors[:, 8]] + ([errors[:, 9]] if damped else [])
    for group in groups:
        assert fitted_order(group, counts) == pytest.approx(ORDERS[kind], abs=0.15), errors
    assert errors[-1].max() < (0.02 if ORDERS[kind] == 1 else 1e-3)


@local_energy("pair", over="pairs", x=Node("1", ("d",)), k=Parameter())
def pair(x, k):
    """Attraction without a centre in space."""
    d = x[0] - x[1]
    return k * ti.log(1.0 + d.dot(d))


def cloud(kind: str, h: float, d: int) -> ImplicitIntegrator:
    rng = np.random.default_rng(3)
    x, v = rng.normal(size=(3, d)), 0.5 * rng.normal(size=(3, d))
    fields = Fields({"x": x, "v": v, "m": [1.0, 2.0, 0.5]})
    potential = Potential(fields, [bind(pair, fields, parameters={"k": 1.3})])
    return ImplicitIntegrator(System(potential, [Motion("x", "v", "m")]), IMPLICIT_SCHEMES[kind], h)


def spin(one: ImplicitIntegrator) -> np.ndarray:
    x, v, m = (one.potential.fields[n].values for n in "xvm")
    return np.cross(x, m[:, None] * v).sum(axis=0)


def test_the_midpoint_keeps_angular_momentum_and_newmark_does_not() -> None:
    off = {}
    for kind in ("implicit_midpoint", "newmark"):
        one = cloud(kind, 0.4, 3)
        before = spin(one)
        one.advance(50)
        off[kind] = np.abs(spin(one) - before).max()
    assert off["implicit_midpoint"] < 1e-12
    assert off["newmark"] > 1e-4


def test_the_step_of_the_midpoint_is_symplectic() -> None:
    """J' W J = W for the Jacobian J of a step in (x, p), by differences; implicit Euler shrinks volumes."""
    for kind, determinant in (("implicit_midpoint", 1.0), ("implicit_euler", None)):
        jacobian = _jacobian(cloud(kind, 0.4, 2))
        n = len(jacobian) // 2
        w = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
        off = np.abs(jacobian.T @ w @ jacobian - w).max()
        if determinant:
            assert off < 1e-9
            assert np.linalg.det(jacobian) == pytest.approx(1.0, abs=1e-9)
        else:
            assert off > 1e-2
            assert np.linalg.det(jacobian) < 0.9


def _jacobian(one: ImplicitIntegrator) -> np.ndarray:
    fields = one.potential.fields
    m = np.repeat(fields["m"].values, 2)
    start = np.concatenate([fields["x"].values.ravel(), m * fields["v"].values.ravel()])

    def after(z: np.ndarray) -> np.ndarray:
        fields["x"].set(z[:6].reshape(3, 2))
        fields["v"].set((z[6:] / m).reshape(3, 2))
        one.advance(1)
        return np.concatenate([fields["x"].values.ravel(), m * fields["v"].values.ravel()])

    h, columns = 1e-2, []
    for e in np.eye(12):
        one_sided = [after(start + k * h * e) for k in (-3, -2, -1, 1, 2, 3)]
        columns.append(np.array([-1, 9, -45, 45, -9, 1]) @ one_sided / (60 * h))
    return np.array(columns).T


# Substeps -----------------------------------------------------------------------------------------------


@local_energy("wall", over="nodes", x=Node(), f=Parameter())
def wall(x, f):
    """A force towards zero, below which U has no value."""
    return f * x[0] - 0.01 * ti.log(x[0])


@local_energy("bar", over=2, x=Node(), k=Parameter())
def bar(x, k):
    """A bar that cannot be shorter than nothing: (s - 1)^2 / 2 - log s."""
    s = x[1] - x[0]
    return k * (0.5 * (s - 1.0) ** 2 - 0.5 * ti.log(s))


def pushed(kind: str, dt: float = 0.5, speed: float = 4.0, **options) -> ImplicitIntegrator:
    """Three nodes in a row: the first is pushed at the others, and would overtake the second in a step."""
    fields = Fields({"x": [0.0, 1.0, 2.0], "v": [speed, 0.0, 0.0], "m": [1.0, 1.0, 2.0]})
    potential = Potential(fields, [bind(bar, fields, tuples=[[0, 1], [1, 2]], parameters={"k": 30.0})])
    motions = [Motion("x", "v", "m")]
    holds = Holds(fields, [Hold("pusher", "x", np.array([0]), velocity=(speed,))], motions)
    return ImplicitIntegrator(
        system_from(options, potential, motions, holds=holds), IMPLICIT_SCHEMES[kind], dt, **options
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_without_solution_is_taken_in_substeps(kind: str) -> None:
    """The same numbers as a run with the smaller dt, and times stay t0 + step dt."""
    one = pushed(kind)
    one.advance(1)
    ((event,),) = ([e["steps"] for e in one.events()],)
    ((step, parts),) = event
    assert (step, one.step, one.time) == (1, 1, 0.5)
    assert parts in (2, 4, 8)
    assert one.events() == []
    small = pushed(kind, 0.5 / parts)
    small.advance(parts)
    for name in "xv":
        np.testing.assert_allclose(
            one.potential.fields[name].values, small.potential.fields[name].values, rtol=1e-13
        )


def test_bdf2_goes_on_from_substeps_with_steps_of_another_length() -> None:
    """Order 2 on a smooth motion where every third step is divided."""
    expected, errors, counts = exact(END)[:8], [], (18, 36)
    for n in counts:
        one = swing("bdf2", END / n)
        parts = iter([1, 1, 4] * n)
        one._divisions = lambda parts=parts: [next(parts)]  # type: ignore[method-assign]
        one.advance(n)
        x, v = (one.potential.fields[name].values[:2] for name in "xv")
        errors.append(np.abs(np.concatenate([x.ravel(), v.ravel()]) - expected).max())
    assert fitted_order(errors, counts) == pytest.approx(2.0, abs=0.15), errors


def test_a_step_that_fails_in_its_smallest_substeps_keeps_the_state_before_it() -> None:
    one = pushed("implicit_euler", substeps=2, speed=9.0)
    before = {n: f.values.copy() for n, f in one.potential.fields.items()} | one.state()
    with pytest.raises(UnsolvedStepError) as message:
        one.advance(1)
    assert re.fullmatch(
        r"step 1: is not solved in 2 substeps of 0\.25: no start is within the domain of U: .*;"
        r" a smaller dt, slower supports or more `substeps` may cure it",
        str(message.value),
    )
    after = {n: f.values for n, f in one.potential.fields.items()} | one.state()
    assert all(np.array_equal(after[n], a) for n, a in before.items())
    assert one.step == 0


# Bits, precision, refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_forces_rule_out_last_corrections_without_a_change_of_bits(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a correction for each iteration a step has the same bits, and solves once more at least."""
    found, solutions, steps = [], [], 6
    for _ in range(2):
        one = swing(kind, 0.1)
        solve = Mock(wraps=one.solver.solver.solve)
        monkeypatch.setattr(one.solver.solver, "solve", solve)
        one.advance(steps)
        found.append([one.potential.fields[name].values.tobytes() for name in "xv"])
        solutions.append(solve.call_count)
        monkeypatch.setattr(StepSolver, "_is_beyond", lambda *_: False)
    assert found[0] == found[1]
    assert solutions[0] + steps <= solutions[1]


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_how_a_run_is_cut(kind: str) -> None:
    whole, parts = swing(kind, 0.1), swing(kind, 0.1)
    whole.advance(9)
    for n in (1, 5, 3):
        parts.advance(n)
        state = parts.state()
        fresh = swing(kind, 0.1)
        for name in "xv":
            fresh.potential.fields[name].set(parts.potential.fields[name].values)
        fresh.restore(state)
        parts = fresh
    for name in "xv":
        assert np.array_equal(whole.potential.fields[name].values, parts.potential.fields[name].values)
    assert whole.balance == parts.balance


@pytest.mark.parametrize("kind", sampled(KINDS, ["bdf2"]))
def test_single_precision_is_near_double(kind: str) -> None:
    single, double = (ended(kind, 18, END, precision=p) for p in ("f32", "f64"))
    assert 0.0 < np.abs(single - double).max() < 3e-5


def test_a_written_field_begins_bdf2_again() -> None:
    """The step after it is that of a new run."""
    one, new = oscillator(IMPLICIT_SCHEMES["bdf2"], 0.3, 1.7), oscillator(IMPLICIT_SCHEMES["bdf2"], 0.3, 1.7)
    one.advance(5)
    for name, value in (("x", 0.7), ("v", -0.2)):
        one.potential.fields[name].set([value])
        new.potential.fields[name].set([value])
    one.advance(3)
    new.advance(3)
    assert one.potential.fields["x"].values == new.potential.fields["x"].values


@pytest.mark.parametrize(("beta", "gamma"), [(0.25, 0.4), (0.2, 0.5), (np.nan, 0.5), (0.25, 0.6)])
def test_newmarks_numbers_are_judged(beta: float, gamma: float) -> None:
    with pytest.raises(
        EnergyError, match=r"^newmark: is stable for every dt where 2 beta >= gamma >= 1/2, got"
    ):
        newmark(beta, gamma)


def test_what_has_no_rule_is_refused() -> None:
    with pytest.raises(
        EnergyError, match=r"^substeps: must be a power of 2, got 3; use 1 to never divide a step"
    ):
        pushed("implicit_euler", substeps=3)
    for dt in (0.0, np.inf, 1e-200):
        with pytest.raises(EnergyError, match=r"^dt: must be between 1e-100 and 1e\+100 in size, got"):
            pushed("implicit_euler", dt)
    fields = Fields({"x": [0.0], "v": [0.0], "m": [1.0]})
    with pytest.raises(EnergyError, match=r'^implicit_euler: has no motions.*Motion\("x", "v", "m"\)\]'):
        ImplicitIntegrator(System(Potential(fields, []), []), IMPLICIT_SCHEMES["implicit_euler"], 0.1)


def test_a_start_outside_the_domain_is_named() -> None:
    fields = Fields({"x": [-1.0], "v": [0.0], "m": [1.0]})
    potential = Potential(fields, [bind(wall, fields, parameters={"f": 1.0})])
    with pytest.raises(NonFiniteError, match=r"^step 0: the energy of term 'wall' is nan"):
        ImplicitIntegrator(System(potential, [Motion("x", "v", "m")]), IMPLICIT_SCHEMES["newmark"], 0.1)


def test_a_free_particle_flies_on() -> None:
    """A field that no energy reads, and one that is held in part."""
    fields = Fields({"x": [[0.0, 1.0]], "v": [[2.0, 3.0]], "m": [1.0]})
    for kind in KINDS:
        fields["x"].set([[0.0, 1.0]])
        one = ImplicitIntegrator(
            System(Potential(fields, []), [Motion("x", "v", "m")]), IMPLICIT_SCHEMES[kind], 0.5
        )
        one.advance(4)
        np.testing.assert_allclose(fields["x"].values, [[4.0, 7.0]], rtol=1e-14)
