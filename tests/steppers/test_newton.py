"""Newton's method: parabolas in one step, digits that double, ways round indefinite and singular Hessians."""

from itertools import pairwise

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import EnergyError, RunFailedError
from minusgrad.solvers import linear_solver
from minusgrad.steppers.minimisers import newton
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.optima import bowl, chain, cluster, found, q, single, stretched, valley


@local_energy("double_well", over="nodes", q=Node(), k=Parameter(default=1.0))
def double_well(q, k):
    """Minima at -1 and 1; curvature is negative between -0.577 and 0.577."""
    return 0.25 * k * (q[0] * q[0] - 1.0) ** 2


@local_energy("spring", over=2, x=Node("1", ("d",)), k=Parameter(default=1.0))
def spring(x, k):
    """Of length 1 at rest."""
    return 0.5 * k * ((x[0] - x[1]).norm() - 1.0) ** 2


@local_energy("pull", over="nodes", x=Node("1", ("d",)), f=Parameter(default=0.0))
def pull(x, f):
    """A force along the first axis."""
    return -f * x[0][0]


def test_a_parabola_takes_one_step() -> None:
    potential, free = chain(12)
    search = Newton(potential, q(), Tolerances(1e-12), free=free)
    search.advance(50)
    assert (search.outcome, search.step) == ("converged", 1)
    np.testing.assert_allclose(found(search), np.linspace(0.0, 1.0, 14), atol=1e-14)


@pytest.mark.parametrize("solver", ["superlu", "block_jacobi", "multigrid"])
def test_digits_double(solver: str) -> None:
    """|p| after a step is at most a multiple of its square before it; to the accuracy of the solver."""
    fields = Fields({"x": np.array([[0.0, 0.0], [1.3, 0.1], [0.2, 1.1], [1.1, 1.4]])})
    held = np.zeros((4, 2), bool)
    held[1, 1] = held[2] = held[3] = True
    held[1] = True
    ends = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    potential = Potential(fields, [bind(spring, fields, tuples=ends)])
    search = Newton(potential, [Unknown("x")], solver=solver, free={"x": held})
    residuals = []
    for _ in range(12):
        residuals.append(search.residual)
        search.advance(1)
    assert residuals[-1] < 1e-14
    near = [(a, b) for a, b in pairwise(residuals) if 1e-6 < a < 1e-1]
    assert len(near) >= 2
    assert all(b < max(10.0 * a * a, 2e-8 * a) for a, b in near)


@pytest.mark.parametrize("start", [0.1, 0.5, -0.3, 1.7])
def test_where_the_curvature_is_negative_the_projected_hessian_leads_downhill(start: float) -> None:
    search = Newton(single([double_well], [start, 0.9]), q(), Tolerances(1e-12))
    search.advance(50)
    assert search.outcome == "converged", search.verdict
    np.testing.assert_allclose(found(search), [np.sign(start), 1.0], atol=1e-12)


def test_hessians_are_projected_only_where_they_do_not_lead_downhill(monkeypatch) -> None:
    """Always projected, the way to thirteen atoms takes more steps."""
    asked: list[str | None] = []
    potential = cluster(13, disorder=0.05)
    real = potential.hessian
    monkeypatch.setattr(potential, "hessian", lambda w, t, p=None: (asked.append(p), real(w, t, p))[1])
    search = Newton(potential, [Unknown("x")], Tolerances(1e-9))
    search.advance(200)
    assert search.energy == pytest.approx(-44.326801, abs=1e-6)
    assert asked.count(None) >= search.step
    assert asked.count("clamp") < search.step
    assert asked[-1] is None


def test_bounds_are_kept_and_left_again() -> None:
    middles = np.array([-3.0, 0.5, 0.2, 7.0, 0.9])
    potential = single([bowl], [0.5, 0.1, 0.3, 0.7, 0.0], bowl={"c": middles, "k": [1.0, 3.0, 0.5, 1.0, 2.0]})
    search = Newton(potential, q(lower=0.0, upper=0.8), Tolerances(1e-12))
    search.advance(20)
    assert search.outcome == "converged"
    np.testing.assert_allclose(found(search), [0.0, 0.5, 0.2, 0.8, 0.8], atol=1e-12)
    assert search.step <= 3


def loose(force: float, scale: float = 1.0) -> Newton:
    """A triangle of springs in the plane that nothing holds, stretched and pulled at."""
    fields = Fields({"x": np.array([[0.0, 0.0], [1.3, 0.0], [0.4, 1.2]])})
    terms = [bind(spring, fields, tuples=[[0, 1], [1, 2], [2, 0]])]
    if force:
        terms.append(bind(pull, fields, parameters={"f": force}))
    return Newton(Potential(fields, terms), [Unknown("x", scale)], Tolerances(1e-12))


def test_what_nothing_holds_is_named() -> None:
    with pytest.raises(RunFailedError) as message:
        loose(0.1).advance(10)
    assert str(message.value) == (
        "step 1: the Hessian is singular: nothing resists a translation along x, and U falls along it;"
        " hold a part of the body"
    )


def test_a_free_part_beside_a_held_one_costs_few_steps() -> None:
    """Its translation makes the Hessian singular; with slopes alone it takes hundreds of steps."""
    x = [[0.0, 0.0], [1.3, 0.0], [0.4, 1.2], [5.0, 0.0], [6.2, 0.1], [5.5, 1.4]]
    fields = Fields({"x": np.array(x)})
    triangles = [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]
    free = np.ones((6, 2), bool)
    free[:2] = False
    search = Newton(
        Potential(fields, [bind(spring, fields, tuples=triangles)]),
        [Unknown("x")],
        Tolerances(force=1e-9, step=1e-6),
        free={"x": free},
    )
    search.advance(60)
    assert search.outcome == "converged", search.verdict
    assert search.step < 20


def test_a_free_body_without_forces_from_outside_relaxes() -> None:
    search = loose(0.0)
    search.advance(60)
    assert search.outcome == "converged", search.verdict
    x = found(search, "x")
    np.testing.assert_allclose([np.linalg.norm(x[a] - x[b]) for a, b in ((0, 1), (1, 2), (2, 0))], 1.0)


@pytest.mark.parametrize("solver", ["superlu", "block_jacobi", "multigrid"])
def test_resumed_with_each_solver_it_has_the_same_bits(solver: str) -> None:
    def made() -> Newton:
        potential, free, _ = stretched(20, 0.3)
        return Newton(potential, q(), Tolerances(1e-13), solver=solver, free=free)

    whole, later = made(), made()
    whole.advance(2)
    later.potential.fields["q"].set(found(whole))
    later.restore(whole.state())
    for search in (whole, later):
        search.advance(5)
    assert found(whole).tobytes() == found(later).tobytes()
    assert whole.verdict == later.verdict


def test_fields_of_different_units_are_one_system() -> None:
    """The step does not depend on the scales: a parabola of two fields takes one."""
    steps = set()
    for scale in (1.0, 1e-3, 1e4):
        potential = single([valley], [0.99, 0.98])
        search = Newton(potential, q(scale=scale), Tolerances(1e-13 * scale))
        search.advance(30)
        assert search.outcome == "converged"
        steps.add(search.step)
    assert len(steps) == 1


def test_refused(monkeypatch) -> None:
    class Loss:
        """An objective without second derivatives."""

        def __init__(self, potential: Potential):
            self._potential = potential

        def __getattr__(self, name: str):
            if name == "hessian":
                raise AttributeError(name)
            return getattr(self._potential, name)

    with pytest.raises(EnergyError, match="newton: needs second derivatives, which a loss has not"):
        Newton(Loss(single([bowl], [1.0])), q())  # type: ignore[arg-type]
    with pytest.raises(EnergyError, match="no solver named 'lu'"):
        Newton(single([bowl], [1.0]), q(), solver="lu")


def test_the_search_is_the_shared_one() -> None:
    from minusgrad.steppers.minimisers import line_search

    assert newton.search is line_search.search
    assert newton.LinearSolver is linear_solver.LinearSolver
