"""Minima under constraints: chains, beads and trusses against statics on paper, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest

from minusgrad import Body, Fields, Node, Parameter, Potential, Time, bind, constraint, local_energy, ti
from minusgrad.errors import EnergyError, RunFailedError, TermError
from minusgrad.plugin import Constraints
from minusgrad.steppers.minimisers.constrained_newton import ConstrainedNewton
from minusgrad.steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.systems.system import System
from tests.support.hanging_chains import LENGTH, catenary_sag, chain, on_paper, rod, tie


@constraint("wire", over="nodes", x=Node("m", (2,)), bend=Parameter("m^-1"))
def wire(x, bend):
    """A parabola."""
    return x[0][1] - bend * x[0][0] * x[0][0]


@local_energy("pull", over="nodes", x=Node("m", (2,)), k=Parameter("N/m"), c=Parameter("m"), f=Parameter("N"))
def pull(x, k, c, f):
    """A spring along the first axis to c, and a force f along the second."""
    return 0.5 * k * (x[0][0] - c) ** 2 - f * x[0][1]


def bead(x: float, **values: float) -> Minimiser:
    fields = Fields({"x": [[x, 0.5 * x * x]]})
    terms = [bind(pull, fields, parameters={"k": 3.0, "c": 2.0, "f": -1.5} | values)]
    kept = Constraints(fields, [bind(wire, fields, parameters={"bend": 0.5})])
    return ConstrainedNewton(
        System(Potential(fields, terms), constraints=kept), [Unknown("x")], Tolerances(1e-12)
    )


def test_a_bead_on_a_wire() -> None:
    """k (x - c) - 2 f a x = 0 on y = a x^2, and the multiplier is f."""
    search = bead(0.3)
    search.advance(20)
    assert search.outcome == "converged"
    x = 3.0 * 2.0 / (3.0 + 2.0 * 1.5 * 0.5)
    np.testing.assert_allclose(search.potential.fields["x"].values, [[x, 0.5 * x * x]], rtol=1e-13)
    np.testing.assert_allclose(search.multipliers, [-1.5], rtol=1e-12)


def test_a_chain_by_its_own_equations() -> None:
    for sag in (0.7, -0.7):
        search = chain(21, sag=sag)
        search.advance(40)
        nodes, tension = on_paper(21)
        assert search.outcome == "converged"
        np.testing.assert_allclose(search.potential.fields["x"].values, nodes, atol=1e-12)
        np.testing.assert_allclose(2.0 * search.multipliers * LENGTH / 21, tension, rtol=1e-11)
        assert search.manifold is not None
        assert search.manifold.violation < 1e-14


def test_the_catenary_by_refinement() -> None:
    errors = []
    for rods in (8, 16, 32, 64):
        search = chain(rods, mass=1.0 / rods)
        search.advance(40)
        errors.append(-search.potential.fields["x"].values[:, 1].min() - catenary_sag())
    orders = [np.log2(a / b) for a, b in pairwise(errors)]
    np.testing.assert_allclose(orders[1:], 2.0, atol=0.02)


def test_a_truss_of_rods_that_cannot_stretch() -> None:
    """Statically determinate: no component is left free, and the multipliers are the forces by hand."""
    x = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    fields = Fields({"x": x})
    pairs = [[0, 1], [1, 2], [0, 2]]
    length = np.linalg.norm(x[[0, 1, 0]] - x[[1, 2, 2]], axis=1)
    terms = [bind(pull, fields, bodies=[Body("top", [2])], parameters={"k": 0.0, "c": 0.0, "f": -6.0})]
    kept = Constraints(fields, [bind(rod, fields, tuples=pairs, data={"length": length})])
    free = np.array([[False, False], [True, False], [True, True]])
    search = ConstrainedNewton(
        System(Potential(fields, terms), constraints=kept),
        [Unknown("x")],
        Tolerances(force=1e-12),
        free={"x": free},
    )
    side = -6.0 / 2.0 / (3.0 / np.sqrt(13.0))
    np.testing.assert_allclose(2.0 * search.multipliers * length, [2.0, side, side], rtol=1e-13)
    search.advance(3)
    assert search.outcome == "converged"
    np.testing.assert_array_equal(fields["x"].values, x)
    support = search.constraint_gradient()["x"]
    np.testing.assert_allclose(-support[:2, 1], [-3.0, -3.0], rtol=1e-12)


def residuals(search: Minimiser, most: int = 20) -> list[float]:
    found = []
    for _ in range(most):
        found.append(search.residual)
        if search.outcome:
            break
        search.advance(1)
    return found


def test_digits_double() -> None:
    found = residuals(chain(21, sag=-0.7, tolerances=Tolerances(1e-13)))
    near = [(a, b) for a, b in pairwise(found) if 1e-6 < a < 0.3]
    assert len(near) >= 2
    assert all(b < max(10.0 * a * a, 1e-13) for a, b in near)


def test_curvature_is_judged_along_the_constraints(monkeypatch) -> None:
    """U curves downwards across the wire, which does not matter; no Hessian is projected."""
    asked = []
    search = bead(0.3, f=-4.0, k=1.0)
    real = search.lagrangian_hessian
    monkeypatch.setattr(search, "lagrangian_hessian", lambda p=None: (asked.append(p), real(p))[1])
    search.advance(20)
    assert search.outcome == "converged"
    assert {*asked} == {None}


@constraint("waves", over="nodes", x=Node("m", (2,)))
def waves(x):
    return x[0][1] - ti.cos(x[0][0])


def test_a_maximum_along_the_constraints_is_left() -> None:
    """One bead is near the top of a wave, where Newton's own step leads; another one rolls down meanwhile."""
    x = np.array([0.3, 2.0])
    fields = Fields({"x": np.stack([x, np.cos(x)], axis=1)})
    terms = [bind(pull, fields, parameters={"k": 0.0, "c": 0.0, "f": -4.0})]
    kept = Constraints(fields, [bind(waves, fields)])
    search = ConstrainedNewton(
        System(Potential(fields, terms), constraints=kept), [Unknown("x")], Tolerances(1e-12)
    )
    search.advance(1)
    assert (fields["x"].values[:, 0] > x).all()
    search.advance(30)
    assert search.outcome == "converged"
    np.testing.assert_allclose(np.abs(fields["x"].values), [[np.pi, 1.0]] * 2, rtol=1e-12)


@pytest.mark.parametrize("kind", [LBFGS, GradientDescent, FIRE, Adam], ids=lambda kind: kind.__name__)
def test_other_minimisers_move_along_constraints(kind: type[Minimiser]) -> None:
    search = chain(6, kind, tolerances=Tolerances(force=1e-9))
    search.advance(3000)
    assert search.outcome == "converged"
    np.testing.assert_allclose(search.potential.fields["x"].values, on_paper(6)[0], atol=1e-8)
    assert search.manifold is not None
    assert search.manifold.violation < 1e-14


@pytest.mark.parametrize("kind", [ConstrainedNewton, LBFGS, FIRE], ids=lambda kind: kind.__name__)
def test_single_precision(kind: type[Minimiser]) -> None:
    search = chain(6, kind, precision="f32")
    search.advance(500)
    assert search.outcome == "converged"
    np.testing.assert_allclose(search.potential.fields["x"].values, on_paper(6)[0], atol=1e-4)
    assert search.manifold is not None
    assert search.manifold.violation < 64 * np.finfo(np.float32).eps


@pytest.mark.parametrize("kind", [ConstrainedNewton, LBFGS, FIRE], ids=lambda kind: kind.__name__)
def test_a_restored_search_goes_on_bit_for_bit(kind: type[Minimiser]) -> None:
    whole, cut = chain(6, kind), chain(6, kind)
    cut.advance(3)
    state, x = cut.state(), cut.potential.fields["x"].values.copy()
    assert state["multipliers"].shape == (6,)
    other = chain(6, kind, sag=0.8)
    other.potential.fields["x"].set(x)
    other.restore(state)
    whole.advance(6)
    other.advance(3)
    np.testing.assert_array_equal(whole.potential.fields["x"].values, other.potential.fields["x"].values)
    np.testing.assert_array_equal(whole.multipliers, other.multipliers)


@pytest.mark.long
def test_a_search_that_begins_with_rods_too_long() -> None:
    """By a sixth of the line's length: no step of Newton's method alone leads onto the rods."""
    search = chain(64, lengths=np.full(64, 2.3 / 64))
    assert search.manifold is not None
    assert search.manifold.violation < 1e-15


def test_other_lengths_between_two_steps() -> None:
    search = chain(6)
    search.advance(40)
    assert search.constraints is not None
    search.constraints.potential.parts["rod"].set_datum("length", np.full(6, 2.9 / 6))
    search.advance(40)
    assert search.outcome == "converged"
    np.testing.assert_allclose(search.potential.fields["x"].values, on_paper(6, length=2.9)[0], atol=1e-11)


@constraint("crank", over="nodes", x=Node("m", (2,)), t=Time())
def crank(x, t):
    return x[0][1] * ti.cos(t) - x[0][0] * ti.sin(t)


def test_driven_constraints_are_those_of_the_time() -> None:
    fields = Fields({"x": [[1.0, 1.0]]})
    terms = [bind(pull, fields, parameters={"k": 1.0, "c": 2.0, "f": 0.0})]
    kept = Constraints(fields, [bind(crank, fields)], {"crank"})
    search = ConstrainedNewton(
        System(Potential(fields, terms), constraints=kept), [Unknown("x")], Tolerances(1e-12), t=0.5
    )
    search.advance(5)
    np.testing.assert_allclose(fields["x"].values, [[2.0, 2.0 * np.tan(0.5)]], rtol=1e-13)
    search.evaluate(0.7)
    search.advance(5)
    np.testing.assert_allclose(fields["x"].values, [[2.0, 2.0 * np.tan(0.7)]], rtol=1e-13)


def test_the_tolerance_of_constraints() -> None:
    search = chain(6, tolerances=Tolerances(force=1e-9, constraint=1e-5))
    search.advance(40)
    assert search.outcome == "converged"
    assert 1e-14 < search.status.violation <= 1e-5
    assert "constraints violated by" in search.verdict
    with pytest.raises(EnergyError, match="below the rounding of positions, got 1e-16; give at least"):
        chain(6, tolerances=Tolerances(constraint=1e-16))


def test_a_chain_that_nothing_holds() -> None:
    free = np.ones((7, 2), bool)
    with pytest.raises(RunFailedError, match="nothing resists a translation along y, and U falls along it"):
        chain(6, free=free, more=[tie]).advance(40)


def test_what_is_refused() -> None:
    with pytest.raises(TermError, match=r"element 3 \(nodes 3, 4\): is violated at the start, got g = "):
        chain(6, projected=False)
    twice = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [2, 1]]
    each = np.full(7, LENGTH / 6)
    with pytest.raises(TermError, match=r"6 \(nodes 2, 1\): .* \(constraint 'rod', element 1 .*redundant"):
        chain(6, pairs=twice, lengths=each)
    each[-1] = 0.3
    with pytest.raises(TermError, match=r"element 6 \(nodes 2, 1\): .* they contradict each other"):
        chain(6, pairs=twice, lengths=each)
    with pytest.raises(TermError, match=r"element 0 \(nodes 0, 6\): all that it binds is held"):
        chain(6, pairs=[[0, 6]], lengths=[2.0])
    with pytest.raises(TermError, match=r"no projection reaches it, got g = .* the constraints contradict"):
        chain(6, lengths=np.full(6, 0.2))
    with pytest.raises(EnergyError, match="solver 'multigrid' does not solve for the multipliers"):
        chain(6, solver="multigrid")
    fields = Fields({"x": [[1.0, 1.0]]})
    potential = Potential(fields, [bind(pull, fields, parameters={"k": 1.0, "c": 2.0, "f": 0.0})])
    with pytest.raises(EnergyError, match="tolerance `constraint`: there are no constraints, got one"):
        LBFGS(potential, [Unknown("x")], Tolerances(constraint=1e-9))


def test_bounds_beside_constraints_are_refused() -> None:
    fields = Fields({"x": [[1.0, 0.5]]})
    terms = [bind(pull, fields, parameters={"k": 1.0, "c": 2.0, "f": 0.0})]
    kept = Constraints(fields, [bind(wire, fields, parameters={"bend": 0.5})])
    with pytest.raises(EnergyError, match="'x': has bounds beside constraints, got both"):
        LBFGS(System(Potential(fields, terms), constraints=kept), [Unknown("x", lower=0.0)])


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_rod_too_many(precision: str) -> None:
    """A quadrilateral with both diagonals: no row of the Jacobian is a multiple of another one."""
    x = np.random.default_rng(4).normal(size=(4, 2))
    fields = Fields({"x": x}, precision=precision)
    x = fields["x"].values.astype(np.float64)
    pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])
    length = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    terms = [bind(pull, fields, parameters={"k": 1.0, "c": 2.0, "f": 1.0})]
    kept = Constraints(fields, [bind(rod, fields, tuples=pairs, data={"length": length})])
    with pytest.raises(TermError, match=r"of those of others \(.*; and 1 more\): it is redundant"):
        LBFGS(System(Potential(fields, terms), constraints=kept), [Unknown("x")])


def test_rods_in_line_are_a_singular_start() -> None:
    fields = Fields({"x": np.stack([np.linspace(0.0, 1.0, 4), np.zeros(4)], axis=1)})
    free = np.ones((4, 2), bool)
    free[[0, 3]] = False
    terms = [bind(pull, fields, parameters={"k": 1.0, "c": 2.0, "f": 1.0})]
    pairs = [[0, 1], [1, 2], [2, 3]]
    kept = Constraints(fields, [bind(rod, fields, tuples=pairs, data={"length": np.full(3, 1.0 / 3.0)})])
    with pytest.raises(TermError, match="at the start, which is a singular configuration, as of rods"):
        LBFGS(System(Potential(fields, terms), constraints=kept), [Unknown("x")], free={"x": free})
