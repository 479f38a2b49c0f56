"""A smooth function is one row of the table of operations: here cosh, which energies do not have."""

import math
from dataclasses import replace

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.check.term_check import of_energy
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.codegen.tracing import of_term
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.engine import runtime
from minusgrad.symbolic.differentiation import gradient, tangent
from minusgrad.symbolic.numpy_values import numbers
from minusgrad.symbolic.operation import Operation
from minusgrad.symbolic.operations import OPERATIONS

runtime.start()
COSH = Operation(
    "cosh",
    python=math.cosh,
    numpy=np.cosh,
    text="{T}(0.5) * (ti.exp({0}) + ti.exp(-({0})))",
    derivative=lambda y, a: (y - a.graph.apply("exp", -1.0 * a),),
    function=True,
)


@pytest.fixture
def catenary(monkeypatch: pytest.MonkeyPatch) -> LocalEnergy:
    """U = k cosh |x_i - x_j|^2 over springs, with the row in the table."""
    monkeypatch.setitem(OPERATIONS, "cosh", COSH)

    @local_energy("catenary", over=2, x=Node("1", (2,)), k=Parameter(default=1.5))
    def energy(x, k):
        return k * ti.cosh((x[0] - x[1]).norm_sqr()) + ti.cosh(0.0) - 1.0

    return energy


def potential(energy: LocalEnergy, precision: str = "f64", n: int = 37) -> Potential:
    rng = np.random.default_rng(5)
    fields = Fields({"x": rng.uniform(-0.6, 0.6, (n, 2))}, precision=precision)
    pairs = np.array([[i, (i + 1) % n] for i in range(n)])
    return Potential(fields, [bind(energy, fields, tuples=pairs)])


def legs(made: Potential) -> np.ndarray:
    x = made.fields["x"].values.astype(float)
    return x - np.roll(x, -1, axis=0)


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_row_gives_values_gradients_and_products(
    catenary: LocalEnergy, precision: str, lanes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LEAST_TUPLES", "LEAST_TARGETS"):
        monkeypatch.setattr(lane_loops, name, 1 if lanes else np.inf)
    made = potential(catenary, precision)
    eps = float(np.finfo(made.fields["x"].values.dtype).eps)
    leg = legs(made)
    q = (leg**2).sum(1)
    assert made.value() == pytest.approx(1.5 * np.cosh(q).sum(), rel=50 * eps)
    pull = 3.0 * np.sinh(q)[:, None] * leg
    expected = pull - np.roll(pull, 1, axis=0)
    assert np.abs(made.gradient("x") - expected).max() <= 100 * eps * np.abs(expected).max()
    along = np.random.default_rng(6).normal(size=leg.shape).astype(made.fields["x"].values.dtype)
    change = along - np.roll(along, -1, axis=0)
    stretch = (leg * change).sum(1)
    turned = 3.0 * (np.sinh(q)[:, None] * change + (2.0 * np.cosh(q) * stretch)[:, None] * leg)
    expected = turned - np.roll(turned, 1, axis=0)
    found = made.product({"x": along}, "x")
    assert np.abs(found - expected).max() <= 200 * eps * np.abs(expected).max()


def test_its_graph_has_values_in_numpy_and_python(catenary: LocalEnergy) -> None:
    made = potential(catenary, n=2)
    (term,) = made.terms.values()
    traced = of_term(term)
    assert "cosh" in {node.op for node in traced.graph}
    leaves = [leaf for slot in traced.inputs["x"] for leaf in slot]
    first = gradient(traced.value, leaves)
    second = tangent(first, {leaves[0].serial: traced.graph.constant(1.0)})
    known = {leaf.serial: np.array([v]) for leaf, v in zip(leaves, (0.3, -0.2, 0.1, 0.4), strict=True)}
    known[traced.inputs["k"][0][0].serial] = np.array([1.5])
    value, dx, dxx = (float(v[0]) for v in numbers([traced.value, first[0], second[0]], known, {}))
    q, leg = 0.04 + 0.36, 0.2
    assert value == pytest.approx(1.5 * math.cosh(q), rel=1e-14)
    assert dx == pytest.approx(3.0 * math.sinh(q) * leg, rel=1e-14)
    assert dxx == pytest.approx(3.0 * math.sinh(q) + 6.0 * math.cosh(q) * leg**2, rel=1e-13)
    plain = catenary.evaluator()({"x": np.array([[0.3, -0.2], [0.1, 0.4]]), "k": 1.5})
    assert plain == pytest.approx(value, rel=1e-15)


def test_check_asks_it(catenary: LocalEnergy) -> None:
    findings = list(of_energy(catenary, d=2))
    assert {f.question for f in findings} >= {"taylor", "value"}
    assert [str(f) for f in findings if not f.passed] == []


def test_a_wrong_derivative_in_the_row_is_found(
    catenary: LocalEnergy, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(COSH, derivative=lambda y, a: (y,))
    monkeypatch.setitem(OPERATIONS, "cosh", wrong)
    assert [f for f in of_energy(catenary, d=2) if not f.passed]
