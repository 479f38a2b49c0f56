"""g, its Jacobian and second derivatives, against differences of a NumPy function of higher order."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Body, Datum, Fields, Node, Parameter, Potential, Time, UserError, bind, constraint, ti
from minusgrad.energies.term import Term
from minusgrad.plugin import Constraints

EDGES = np.array([[0, 1], [1, 2], [4, 2], [3, 5]])
SQUARES = np.array([0.49, 0.25, 1.0, 0.3])
TURNED = [2, 3]


@constraint("rod", over=2, x=Node("m", ("d",)), length=Datum("m"))
def rod(x, length):
    r = x[0] - x[1]
    return r.dot(r) - length * length


@constraint("crank", over="nodes", x=Node("m", ("d",)), q=Node("m"), t=Time(), rate=Parameter("s^-1"))
def crank(x, q, t, rate):
    return x[0][1] * ti.cos(rate * t) - x[0][0] * ti.sin(rate * t) + q[0] * q[0] * x[0][2]


def equations(x: np.ndarray, q: np.ndarray, t: float) -> np.ndarray:
    """g in NumPy."""
    r, at = x[EDGES[:, 0]] - x[EDGES[:, 1]], x[TURNED]
    turned = at[:, 1] * np.cos(2.0 * t) - at[:, 0] * np.sin(2.0 * t) + q[TURNED] ** 2 * at[:, 2]
    return np.concatenate([(r * r).sum(axis=1) - SQUARES, turned])


def slope(f: Callable[[float], np.ndarray], h: float = 1e-2) -> np.ndarray:
    """df/ds at 0, of order 6."""
    weights = {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    return sum(w * (f(k * h) - f(-k * h)) for k, w in weights.items()) / h


def made(precision: str = "f64") -> tuple[Constraints, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x, q = rng.normal(size=(6, 3)), rng.normal(size=6)
    fields = Fields({"x": x, "q": q}, precision=precision)
    terms: list[Term] = [
        bind(rod, fields, tuples=EDGES, data={"length": np.sqrt(SQUARES)}),
        bind(crank, fields, bodies=[Body("turned", TURNED)], parameters={"rate": 2.0}),
    ]
    return Constraints(fields, terms), x, q


def test_values_and_rates() -> None:
    constraints, x, q = made()
    system = constraints.equations(["x", "q"])
    system.load(0.3)
    np.testing.assert_allclose(system.values(), equations(x, q, 0.3), atol=1e-15)
    np.testing.assert_allclose(system.rates(), slope(lambda s: equations(x, q, 0.3 + s)), atol=1e-11)
    assert (constraints.count, system.count, system.size) == (6, 6, 24)
    assert constraints.uses_time


def test_the_jacobian() -> None:
    constraints, x, q = made()
    rng = np.random.default_rng(4)
    v, w = rng.normal(size=(6, 3)), rng.normal(size=6)
    system = constraints.equations(["x", "q"])
    system.load(0.3)
    found = system.jacobian() @ np.concatenate([v.ravel(), w])
    expected = slope(lambda s: equations(x + s * v, q + s * w, 0.3))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    alone = constraints.equations(["x"])
    alone.load(0.3)
    np.testing.assert_array_equal(alone.jacobian().toarray(), system.jacobian().toarray()[:, :18])


def test_second_derivatives_along_a_motion() -> None:
    """g along x + s v, t + s; the Hessian of lambda g times a vector, by the matrix and by products."""
    constraints, x, q = made()
    rng = np.random.default_rng(5)
    v, w, weights = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=6)
    along = np.concatenate([v.ravel(), w])
    system = constraints.equations(["x", "q"])
    system.load(0.3)
    expected = slope(lambda r: slope(lambda s: equations(x + (r + s) * v, q + (r + s) * w, 0.3 + r + s)))
    np.testing.assert_allclose(system.bend(along), expected, atol=1e-9)
    second = system.hessian(weights)
    assert abs(second - second.T).max() == 0.0

    def pulled(s: float) -> np.ndarray:
        constraints.fields["x"].set(x + s * v)
        constraints.fields["q"].set(q + s * w)
        return np.concatenate([f.ravel() for f in constraints.forces(weights, ["x", "q"], 0.3).values()])

    np.testing.assert_allclose(second @ along, slope(pulled), atol=1e-9)
    pulled(0.0)
    changed = constraints.product({"x": v, "q": w}, weights, ["x", "q"], 0.3)
    np.testing.assert_allclose(
        second @ along, np.concatenate([f.ravel() for f in changed.values()]), rtol=1e-13
    )


def test_the_transposed_jacobian_is_the_gradient_of_the_weighted_energy() -> None:
    constraints, _, _ = made()
    weights = np.random.default_rng(6).normal(size=6)
    system = constraints.equations(["x", "q"])
    system.load(0.3)
    forces = constraints.forces(weights, ["x", "q"], 0.3)
    transposed = system.by_field(system.jacobian().T @ weights)
    for name in ("x", "q"):
        np.testing.assert_allclose(forces[name], transposed[name], atol=1e-14)
    np.testing.assert_array_equal(constraints.multipliers, weights)
    found = constraints.potential.gradient("rod.multiplier", 0.3)
    np.testing.assert_allclose(found, system.values()[:4], atol=1e-15)


def test_parameters_are_shared_by_all_evaluations() -> None:
    constraints, x, q = made()
    constraints.potential.set_parameter("crank.rate", 0.0)
    system = constraints.equations(["x"])
    system.load(0.3)
    np.testing.assert_allclose(system.values()[4:], equations(x, q, 0.0)[4:], atol=1e-15)


def test_single_precision() -> None:
    constraints, x, q = made("f32")
    system = constraints.equations(["x", "q"])
    system.load(0.3)
    np.testing.assert_allclose(system.values(), equations(x, q, 0.3), atol=3e-6)


def test_rows_are_named() -> None:
    constraints, _, _ = made()
    system = constraints.equations(["x"])
    assert str(system.row(2)) == "constraint 'rod', element 2 (nodes 4, 2)"
    assert str(system.row(5)) == "constraint 'crank', element 1 (node 3)"


def test_a_node_that_occurs_twice_in_an_element() -> None:
    """Its columns are added: |x_0 - x_0|^2 has the gradient zero."""
    fields = Fields({"x": np.ones((2, 2))})
    constraints = Constraints(fields, [bind(rod, fields, tuples=[[0, 0]], data={"length": 1.0})])
    system = constraints.equations(["x"])
    system.load(0.0)
    assert system.jacobian().toarray().tolist() == [[0.0] * 4]


def test_what_is_refused() -> None:
    fields = Fields({"x": np.ones((2, 2)), "y": np.ones(2)})
    term = bind(rod, fields, tuples=[[0, 1]], data={"length": 1.0})
    with pytest.raises(
        UserError, match="'rod': is a constraint, got it among energies; give it to Constraints"
    ):
        Potential(fields, [term])
    with pytest.raises(UserError, match="constraint 'rod': reads none of the fields that change, got y"):
        Constraints(fields, [term]).equations(["y"])
    with pytest.raises(UserError, match="two terms have one name: rod, rod"):
        Constraints(fields, [term, term])
