"""Second derivatives by one sweep against tangents of gradients, and how many operations they take."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad.codegen import tracing
from minusgrad.codegen.hessians.hessian_loops import column, swept_lower
from minusgrad.codegen.hessians.linear_forms import halves
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.written.mean_dilatation import with_mean_dilatation
from minusgrad.symbolic.graph import Graph, inputs, reachable, replace_nodes
from minusgrad.symbolic.numpy_values import numbers
from minusgrad.symbolic.scalar import Scalar
from minusgrad_elastic.hyperelastic import neo_hookean, st_venant_kirchhoff
from minusgrad_elastic.materials.registered import MATERIALS
from minusgrad_elastic.materials.rubber import mooney_rivlin, ogden


def values_at(outputs: list[Scalar], at: dict[int, float]) -> np.ndarray:
    """The values of outputs, for numbers of the leaves by serial."""
    leaves = {serial: np.array(number) for serial, number in at.items()}
    return np.array(numbers(outputs, leaves, {}))


def moduli_of(energy: LocalEnergy, d: int) -> tuple[Scalar, list[Scalar]]:
    """The value of an energy as a function of its linear forms, and their leaves."""
    traced = tracing.trace(energy, d, 4, {}, 0, True)
    pairs = [
        (n, traced.graph.input(f, None, (k,)))
        for f in energy.linear
        for k, n in enumerate(traced.inputs[f][0])
    ]
    return replace_nodes(traced.value, {n.serial: leaf for n, leaf in pairs}), [leaf for _, leaf in pairs]


def assert_as_columns(value: Scalar, leaves: list[Scalar], at: dict[int, float]) -> None:
    """The sweep and tangents of the gradient, at these numbers."""
    swept = dict(zip(halves(len(leaves)), values_at(swept_lower(value, leaves), at), strict=True))
    for j in range(len(leaves)):
        expected = values_at(column(value, leaves, j), at)
        found = [swept[i, j] for i in range(j, len(leaves))]
        scale = max(map(abs, swept.values()))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("fbar", [False, True], ids=["plain", "fbar"])
@pytest.mark.parametrize("energy", [neo_hookean, st_venant_kirchhoff, *MATERIALS], ids=lambda one: one.name)
def test_moduli_of_materials_are_tangents_of_their_gradients(energy: LocalEnergy, fbar: bool) -> None:
    d = 2 if "plane_stress" in energy.name else 3
    value, leaves = moduli_of(with_mean_dilatation(energy) if fbar else energy, d)
    rng = np.random.default_rng(3)
    at = {leaf.serial: rng.uniform(0.2, 0.4) for leaf in inputs([value])}
    forms = np.concatenate(
        [(np.eye(d) + 0.1 * rng.normal(size=(d, d))).ravel() for _ in energy.linear] * (1 + fbar)
    )
    assert_as_columns(value, leaves, at | dict(zip((leaf.serial for leaf in leaves), forms, strict=True)))


OPERATIONS = [
    lambda g, a, b: g.apply("pow", a * b + 1.5, b),
    lambda g, a, b: g.apply("asin", 0.5 * a) * g.apply("atan2", 2.0 * a, 3.0 * b),
    lambda g, a, b: (
        g.apply("exp", a * a) / g.apply("log", 2.0 + a * b) - g.apply("tanh", a * g.apply("sqrt", b))
    ),
    lambda g, a, b: g.apply("erf", a * b) * g.apply("sin", g.apply("recip", b) * a),
    lambda g, a, b: g.apply("select", a < b, a * a * b, g.apply("exp", b * a)) ** 2,
    lambda g, a, b: g.apply("select", a < 0.2, g.apply("sqrt", a - 0.2), b * a * g.apply("abs", a - b)),
    lambda g, a, b: g.apply("max", a * b, g.apply("min", a * a, b)) * a,
]


@pytest.mark.parametrize("place", [(0.3, 0.7), (0.7, 0.3), (0.5, 1.2)])
@pytest.mark.parametrize("make", OPERATIONS)
def test_curvatures_of_operations_and_branches(
    make: Callable[..., Scalar], place: tuple[float, float]
) -> None:
    """Among them a slope in which 4 x^2 stands for (2 x)^2, and a root of a negative number not taken."""
    graph = Graph()
    leaves = [graph.input(name, None, ()) for name in "ab"]
    value = make(graph, *leaves)
    assert_as_columns(value, leaves, {leaf.serial: p for leaf, p in zip(leaves, place, strict=True)})


def test_a_factor_without_leaves_may_stand_on_either_side() -> None:
    """Equal products are one node, whose factors stand in the order in which it was made first."""
    graph = Graph()
    a, b, c = (graph.input(name, None, ()) for name in "abc")
    right, left = (
        graph.as_given("mul", graph.apply("exp", a), c),
        graph.as_given("mul", c, graph.apply("sin", b)),
    )
    at = {a.serial: 0.4, b.serial: 1.3, c.serial: 0.7}
    assert_as_columns(right * right + graph.apply("exp", left), [a, b], at)
    assert_as_columns(graph.apply("exp", right) + left * left, [a, b], at)


def test_curvature_of_a_branch_not_taken_is_no_nan() -> None:
    graph = Graph()
    x = graph.input("x", None, ())
    (bend,) = swept_lower(graph.apply("select", x > 0.0, graph.apply("sqrt", x), 3.0 * x * x), [x])
    assert values_at([bend], {x.serial: -1.0}) == 6.0
    assert values_at([bend], {x.serial: 4.0}) == pytest.approx(-0.25 / 8.0, rel=1e-14)


@pytest.mark.parametrize(
    ("energy", "most"),
    [(neo_hookean, 1_800), (mooney_rivlin, 2_600), (ogden, 3_900)],
    ids=lambda one: str(one)[:12],
)
def test_moduli_of_fbar_cells_are_few_operations(energy: LocalEnergy, most: int) -> None:
    """By a tangent for each of the 18 numbers they were 5,000, 10,000 and 12,000, of a minute to compile."""
    value, leaves = moduli_of(with_mean_dilatation(energy), 3)
    assert len(reachable(swept_lower(value, leaves))) < most
