"""Sensitivities of equilibria against differences of whole searches; warm starts; singular Hessians."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, build, local_energy, ti
from minusgrad.adjoint.checks.equilibrium_check import EquilibriumSubject
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.adjoint.losses import Loss
from minusgrad.errors import EnergyError, NonFiniteError, SingularSystemError
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.command import SCENES
from tests.support.tiers import sampled

POINTS = np.array([[0.0, 0.0], [1.0, 0.1], [2.1, 0.0], [0.4, 1.0], [1.6, 0.9], [1.0, 1.9]])
BARS = [[0, 1], [1, 2], [0, 3], [1, 3], [1, 4], [2, 4], [3, 4], [3, 5], [4, 5]]
HELD = np.zeros((6, 2), bool)
HELD[[0, 2]] = True
TIGHT = Tolerances(force=1e-13)
NAMES = ["bar.k", "bar.rest", "push.f", "x", "load"]


@local_energy("bar", over=2, x=Node("m", ("d",)), k=Parameter("N/m"), rest=Datum("m", differentiable=True))
def bar(x, k, rest):
    """A spring that hardens."""
    s = (x[0] - x[1]).norm() - rest
    return 0.5 * k * s * s * (1.0 + 0.3 * s * s)


@local_energy("push", over="nodes", x=Node("m", ("d",)), load=Node("N", ("d",)), f=Parameter())
def push(x, load, f):
    """A force of its own on every node, which grows along x."""
    return -f * load[0].dot(x[0]) * (1.0 + 0.1 * x[0][0])


@local_energy("look", over="nodes", x=Node("m", ("d",)), load=Node("N", ("d",)))
def look(x, load):
    """A loss of the places, and of the loads themselves."""
    return ti.sin(2.0 * x[0][0]) * x[0][1] + 0.2 * load[0].dot(load[0]) + 0.3 * x[0].dot(x[0])


def truss(
    precision: str = "f64",
    minimiser: type = Newton,
    tolerances: Tolerances = TIGHT,
    bars: Sequence[Sequence[int]] = BARS,
    held: np.ndarray = HELD,
    solver: str = "auto",
    points: np.ndarray = POINTS,
    **unknown: float,
) -> Equilibrium:
    rng = np.random.default_rng(3)
    start = {"x": points, "load": rng.normal(size=points.shape)}
    fields = Fields(start, {"x": "m", "load": "N"}, precision)
    stiff = rng.uniform(20.0, 40.0, len(bars))
    ends = points[np.array(bars)]
    rest = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) * rng.uniform(0.9, 1.1, len(bars))
    terms = [
        bind(bar, fields, tuples=bars, parameters={"k": stiff}, data={"rest": rest}),
        bind(push, fields, parameters={"f": 1.5}),
    ]
    search = minimiser(Potential(fields, terms), [Unknown("x", **unknown)], tolerances, free={"x": ~held})
    loss = Loss(Potential(fields, [bind(look, fields)]), (0,))
    return Equilibrium(search, [loss], 400, solver)


def put(one: Equilibrium, name: str, values: np.ndarray) -> None:
    if name in one.potential.fields:
        one.set_input(name, values)
    elif name == "bar.rest":
        one.potential.parts["bar"].set_datum("rest", values)
    else:
        one.potential.set_parameter(name, values)


def present(one: Equilibrium, name: str) -> np.ndarray:
    if name in one.potential.fields:
        return one.potential.fields[name].values.astype(np.float64)
    if name == "bar.rest":
        return np.array(one.potential.parts["bar"].data["rest"], np.float64)
    return np.asarray(one.potential.parameter(name), np.float64)


def slope(one: Equilibrium, name: str, way: np.ndarray, h: float, value: Callable[[], float]) -> float:
    """dL along a direction, by central differences of order 4."""
    here, found = present(one, name), {}
    for k in (-2, -1, 1, 2):
        put(one, name, here + k * h * way)
        found[k] = value()
    put(one, name, here)
    return (8.0 * (found[1] - found[-1]) - (found[2] - found[-2])) / (12.0 * h)


# Sensitivities --------------------------------------------------------------------------------------------


SEARCHES = [(Newton, "superlu"), (LBFGS, "block_jacobi")]
ROWS = {f"{name} {solver}": (name, kind, solver) for name in NAMES for kind, solver in SEARCHES}


@pytest.mark.parametrize("row", sampled(ROWS, [*ROWS][::3]))
def test_the_gradient_is_that_of_whole_searches(row: str) -> None:
    name, minimiser, solver = ROWS[row]
    tight = TIGHT if minimiser is Newton else Tolerances(force=1e-11)
    one = truss(minimiser=minimiser, tolerances=tight, solver=solver)
    _, found = one.evaluate(NAMES)
    way = np.random.default_rng(5).normal(size=present(one, name).shape)
    if name == "x":
        way = np.where(HELD, way, 0.0)
        np.testing.assert_array_equal(found["x"][~HELD], 0.0)
    expected = slope(one, name, way, 1e-3, one.value)
    assert np.sum(found[name] * way) == pytest.approx(expected, rel=1e-8 if minimiser is Newton else 1e-6)


def test_in_single_precision() -> None:
    exact = truss().evaluate(NAMES)[1]
    one = truss("f32", tolerances=Tolerances())
    for name, found in one.evaluate(NAMES)[1].items():
        np.testing.assert_allclose(found, exact[name], rtol=0.0, atol=2e-4 * np.abs(exact[name]).max())


def test_components_at_a_bound_do_not_move() -> None:
    """The foremost node leans on a bound: it stays there as everything else changes."""
    one = truss(upper=1.2)
    _, found = one.evaluate(["bar.k", "push.f"])
    x = one.potential.fields["x"].values
    assert (x[~HELD] == 1.2).any()
    for name in ("bar.k", "push.f"):
        way = np.random.default_rng(6).normal(size=present(one, name).shape)
        assert np.sum(found[name] * way) == pytest.approx(slope(one, name, way, 1e-4, one.value), rel=1e-6)


def test_tangents_are_differences_of_equilibria_and_transpose_the_adjoint() -> None:
    one = truss()
    one.find()
    rng = np.random.default_rng(8)
    way = {n: rng.normal(size=present(one, n).shape) for n in NAMES}
    way["x"] = np.where(HELD, way["x"], 0.0)
    moved = one.tangent(way)["x"]
    for component in ((5, 0), (3, 1), (0, 0)):

        def there(at: tuple[int, int] = component) -> float:
            one.find()
            return float(one.potential.fields["x"].values[at])

        parts = [slope(one, n, w, 1e-3, there) for n, w in way.items()]
        assert moved[component] == pytest.approx(sum(parts), rel=1e-7)
    assert EquilibriumSubject(one, rng).transpose(way).figure < 1e-13


def test_the_gauss_newton_matrix_has_the_tangents() -> None:
    one = truss()
    one.find()
    ways = [{"push.f": np.array(1.0)}, {"bar.k": np.ones(len(BARS))}, {"load": np.ones((6, 2))}]
    loss = one.losses[0].potential
    exact = np.zeros((3, 3))
    states = [dict(way) | one.tangent(way) for way in ways]
    for i, a in enumerate(states):
        for j, b in enumerate(states):
            seen = {n: w for n, w in b.items() if n in ("x", "load")}
            exact[i, j] = sum(np.sum(a[n] * loss.product(seen, n)) for n in ("x", "load") if n in a)
    np.testing.assert_allclose(one.curvature(ways), exact, rtol=1e-12)


def test_the_adjoint_costs_a_quarter_of_the_search() -> None:
    """Of a bent beam of 10,000 tetrahedra the issue asks for it; this one has 1,536."""
    simulation = build(SCENES / "cantilever.toml", BENT)
    one = Equilibrium(simulation.stepper, [], 50)
    slopes = {"x": np.ones(simulation.fields["x"].shape)}
    names = ["neo_hookean.youngs_modulus", "neo_hookean.poissons_ratio"]
    forward, back = [], []
    for _ in range(3):
        simulation.fields["x"].set(one._started()["x"])
        begun = time.process_time()
        assert one.find(from_start=True)
        forward.append(time.process_time() - begun)
        one._factored = None
        begun = time.process_time()
        one.pulled_back(slopes, names)
        back.append(time.process_time() - begun)
    assert simulation.stepper.step >= 4
    assert min(back) <= 0.25 * min(forward)


BENT = {
    "state": {"kind": "beam", "length": 0.4, "width": 0.05, "height": 0.1, "cells": [16, 2, 4]}
    | {"density": 1000.0},
    "energy.1": {"kind": "traction", "body": "right", "traction": [0.0, 0.0, -2000.0]},
    "hold": [{"body": "left"}],
    "stepper": {"kind": "newton", "tolerance": {"force": 1e-9}},
    "observe": [],
}


# Searches -------------------------------------------------------------------------------------------------


def test_an_equilibrium_does_not_depend_on_where_its_search_began() -> None:
    warm, cold = truss(), truss()
    warm.find()
    for f in (1.0, 0.3, 1.4):
        put(warm, "push.f", np.array(f))
        put(cold, "push.f", np.array(f))
        assert warm.find()
        steps = warm.search.step
        assert cold.find(from_start=True)
        assert steps <= cold.search.step
        np.testing.assert_allclose(*(e.potential.fields["x"].values for e in (warm, cold)), atol=1e-12)


def test_where_the_last_equilibrium_leads_nowhere_the_search_begins_at_the_start() -> None:
    one = truss()
    assert one.find()
    far = one.potential.fields["x"].values.copy()
    far[5] = 1e200
    one.potential.fields["x"].set(far)
    assert one.find()
    assert np.abs(one.potential.fields["x"].values).max() < 10.0


def test_an_equilibrium_that_is_not_found_is_named_and_the_last_one_kept() -> None:
    one = truss()
    assert one.find()
    good = one.potential.fields["x"].values.copy()
    one.iterations = 1
    put(one, "push.f", np.array(0.2))
    assert not one.find()
    assert one.trouble.startswith("not converged: gradient ")
    assert one.trouble.endswith("asked 1e-13 (step 1)")
    np.testing.assert_array_equal(one.potential.fields["x"].values, good)
    value, found = one.evaluate(["push.f"])
    assert np.isnan(value)
    assert np.isnan(found["push.f"])
    with pytest.raises(NonFiniteError, match="the equilibrium of the loss: not converged"):
        one.curvature([{"push.f": np.array(1.0)}])


# Singular Hessians ----------------------------------------------------------------------------------------


def free_of_loads(one: Equilibrium) -> Equilibrium:
    one.potential.fields["load"].set(np.zeros(one.potential.fields["load"].shape))
    return one


def test_rigid_motions_of_a_free_body_are_named() -> None:
    one = free_of_loads(truss(held=np.zeros((6, 2), bool), tolerances=Tolerances(1e-10)))
    with pytest.raises(SingularSystemError) as message:
        one.evaluate(["bar.k"])
    assert str(message.value) == (
        "the Hessian is singular: nothing resists a translation along x, a translation along y, a rotation;"
        " hold a part of the body"
    )


def test_a_part_that_nothing_holds_is_named_by_a_node() -> None:
    """A triangle beside the truss that is held."""
    points = np.concatenate([POINTS, [[5.0, 0.0], [6.0, 0.0], [5.5, 1.0]]])
    held = np.concatenate([HELD, np.zeros((3, 2), bool)])
    held[6, 0] = held[7, 0] = True
    bars = [*BARS, [6, 7], [7, 8], [6, 8]]
    one = free_of_loads(truss(bars=bars, held=held, points=points, tolerances=Tolerances(1e-9)))
    with pytest.raises(SingularSystemError) as message:
        one.evaluate(["bar.k"])
    text = str(message.value)
    assert text.startswith("the Hessian is singular: nothing resists a translation along y of 3 nodes, node ")
    assert text.endswith(" of 'x' among them; hold a part of the body")


def test_a_mechanism_is_named_by_the_node_that_it_moves_most() -> None:
    """A node on one bar swings round its end."""
    bars = [b for b in BARS if b != [4, 5]]
    one = free_of_loads(truss(bars=bars, tolerances=Tolerances(1e-9)))
    with pytest.raises(SingularSystemError) as message:
        one.evaluate(["bar.k"])
    assert str(message.value) == (
        "the Hessian is singular: it has a mode that nothing resists, largest at node 5 of 'x'; hold this"
        " node, or give it an energy that resists"
    )


# Refused --------------------------------------------------------------------------------------------------


def test_refused() -> None:
    with pytest.raises(EnergyError, match="an equilibrium has no derivative with respect to 'v'"):
        truss().evaluate(["v"])
    free = truss(held=np.zeros((6, 2), bool))
    with pytest.raises(EnergyError, match="'x': an equilibrium does not depend on the start of its search"):
        free.evaluate(["x"])
