"""The potential: sums of terms, gradients by name, parameters, bodies, storage, memory, and every refusal."""

import gc
import os
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Body, Datum, Fields, Motion, Node, Parameter, Potential, Time, bind, local_energy, ti
from minusgrad.elements.all_pairs import AllPairs
from minusgrad.elements.gather import Gather
from minusgrad.elements.node_tuples import NodeTuples
from minusgrad.engine import kernels, runtime, storage
from minusgrad.errors import EnergyError, UnitError
from minusgrad.exam import references
from minusgrad.steppers import integrator
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity
from tests.support import energies
from tests.support.instances import CANONICAL

X, SCALAR = Node("m", ("d",)), Node()
EDGES = [[0, 1], [1, 2], [3, 2], [4, 0], [2, 5], [1, 5]]
T = 0.37


def some_fields(n: int = 7, d: int = 3, seed: int = 0, **others) -> Fields:
    rng = np.random.default_rng(seed)
    return Fields(
        {"x": rng.normal(size=(n, d)), "m": rng.uniform(0.5, 1.5, n), "y": rng.normal(size=n), **others}
    )


def spring_term(fields: Fields, **options):
    return bind(energies.spring, fields, tuples=EDGES, data={"rest": np.linspace(0.5, 1.5, 6)}, **options)


@pytest.fixture
def any_engine():
    """Leaves the engine as it was."""
    before = runtime._Running.options
    yield
    runtime.start(before)


# Sums and names -------------------------------------------------------------------------------------


def three_terms() -> Potential:
    fields = some_fields()
    terms = [
        bind(gravity, fields, parameters={"G": 2.0, "softening": 0.1}),
        spring_term(fields),
        bind(energies.trap, fields, parameters={"w": 1.3}),
    ]
    return Potential(fields, terms)


def test_the_sum_and_its_terms() -> None:
    potential = three_terms()
    by_term = potential.by_term(T)
    assert list(by_term) == ["gravity", "spring", "trap"]
    assert potential.value(T) == sum(by_term.values())
    for name, term in potential.terms.items():
        assert by_term[name] == pytest.approx(references.plain_energy(term, T), rel=1e-12)
    assert potential.magnitude(T) >= abs(potential.value(T))


def test_the_gradient_is_the_sum_of_the_terms_gradients() -> None:
    potential = three_terms()
    expected = sum(references.differences(term, T)["x"] for term in potential.terms.values())
    np.testing.assert_allclose(potential.gradient("x", T), expected, rtol=1e-9, atol=1e-9)
    mass = references.differences(potential.terms["gravity"])["m"]
    np.testing.assert_allclose(potential.gradient("m", T), mass, rtol=1e-9)
    assert (potential.gradient("y", T) == 0.0).all()


def test_gradients_by_every_name() -> None:
    potential = three_terms()
    for name, wrt in [
        ("gravity", "G"),
        ("gravity", "softening"),
        ("spring", "k"),
        ("spring", "rest"),
        ("trap", "w"),
    ]:
        expected = references.differences(potential.terms[name], T)[wrt]
        np.testing.assert_allclose(potential.gradient(f"{name}.{wrt}", T), expected, rtol=1e-9, err_msg=wrt)
    rate = references.differences(potential.terms["trap"], T)["t"]
    assert potential.gradient("t", T) == potential.gradient("trap.t", T) == potential.rate(T)
    assert potential.rate(T) == pytest.approx(float(rate), rel=1e-9)
    assert potential.uses_time


def test_a_gradient_is_overwritten_and_not_added_to() -> None:
    potential = three_terms()
    expected = {name: potential.gradient(name, T) for name in ("x", "m")}
    out = {name: np.full(g.shape, 7.0) for name, g in expected.items()}
    for _ in range(2):
        potential.gradient_into(out, T)
        for name, g in expected.items():
            np.testing.assert_allclose(out[name], g, rtol=1e-13)
    assert (potential.gradient("x", T) == expected["x"]).all()


def test_a_gradient_is_the_callers_own() -> None:
    potential = three_terms()
    first = potential.gradient("x", T)
    kept = first.copy()
    potential.fields["x"].set(2.0 * potential.fields["x"].values)
    assert not (potential.gradient("x", T) == kept).all()
    assert (first == kept).all()


def test_one_energy_twice_under_two_names() -> None:
    fields = some_fields()
    weak, strong = (
        spring_term(fields, name=n, parameters={"k": k}) for n, k in (("weak", 1.0), ("strong", 3.0))
    )
    potential = Potential(fields, [weak, strong])
    assert potential.by_term()["strong"] == pytest.approx(3.0 * potential.by_term()["weak"], rel=1e-14)
    np.testing.assert_allclose(
        potential.gradient("x"), 4.0 * Potential(fields, [weak]).gradient("x"), rtol=1e-12
    )


@local_energy("between", over=2, x=X, y=X, k=Parameter(default=1.0))
def between(x, y, k):
    """Two fields, in unlike ways."""
    return k * (x[0] - y[1]).norm_sqr() + x[1].dot(y[0]) + y[1].sum() ** 3


@local_energy("twice", over="pairs", a=SCALAR, b=SCALAR)
def twice(a, b):
    return a[0] * a[1] * (b[0] + b[1]) ** 2


@pytest.mark.parametrize("d", [1, 2, 3])
def test_two_arguments_that_are_one_field(d: int) -> None:
    """Each contributes to the field's gradient: neither overwrites the other's."""
    fields = some_fields(d=d)
    potential = Potential(fields, [bind(between, fields, tuples=EDGES, renamed={"y": "x"})])
    found = references.differences(potential.terms["between"])
    np.testing.assert_allclose(potential.gradient("x"), found["x"] + found["y"], rtol=1e-9, atol=1e-9)
    potential = Potential(fields, [bind(twice, fields, renamed={"a": "y", "b": "y"})])
    found = references.differences(potential.terms["twice"])
    np.testing.assert_allclose(potential.gradient("y"), found["a"] + found["b"], rtol=1e-9, atol=1e-9)


def test_a_field_of_another_name() -> None:
    fields = some_fields(position=np.random.default_rng(5).normal(size=(7, 3)))
    potential = Potential(fields, [bind(energies.trap, fields, renamed={"x": "position"})])
    assert (potential.gradient("x", T) == 0.0).all()
    assert potential.gradient("position", T).any()


@local_energy(
    "names", over=2, x=SCALAR, x_0=Parameter(default=0.3), x_0_1=Datum(differentiable=True), r0=SCALAR
)
def names(x, x_0, x_0_1, r0):
    """Arguments named like what the emitter writes: x[0], r0, n0."""
    e = x[0] - 2.0 * x_0
    return e * e * x_0_1 + x[1] * r0[0] * x_0


def test_names_that_could_collide() -> None:
    fields = Fields({"x": np.array([0.4, -1.0, 2.0]), "r0": np.array([1.0, 2.0, 3.0])})
    term = bind(names, fields, tuples=[[0, 1], [2, 0]], data={"x_0_1": [1.5, 2.5]})
    potential, expected = Potential(fields, [term]), references.differences(term)
    for name, argument in [("x", "x"), ("r0", "r0"), ("names.x_0", "x_0"), ("names.x_0_1", "x_0_1")]:
        np.testing.assert_allclose(potential.gradient(name), expected[argument], rtol=1e-9, atol=1e-9)
    assert potential.value() == pytest.approx(references.plain_energy(term), rel=1e-12)


@local_energy("value", over="nodes", x=SCALAR, value=Parameter(default=2.0), gradient=Parameter(default=3.0))
def value_energy(x, value, gradient):
    """A term and arguments named like what a potential computes."""
    return value * x[0] ** 2 + gradient * value * x[0] + gradient**3


def test_an_argument_named_value() -> None:
    assert_slope_of_argument("value")


def test_an_argument_named_gradient() -> None:
    assert_slope_of_argument("gradient")


def assert_slope_of_argument(argument: str) -> None:
    fields = Fields({"x": np.array([0.4, -1.0, 2.0])})
    term = bind(value_energy, fields, parameters={"value": 1.5})
    potential, expected = Potential(fields, [term]), references.differences(term)[argument]
    np.testing.assert_allclose(potential.gradient(f"value.{argument}"), expected, rtol=1e-9)
    assert potential.value() == pytest.approx(references.plain_energy(term), rel=1e-12)


@local_energy("frames", over=2, F=Node(shape=(3, "d")))
def frames(F):
    """A field whose values have d columns, not d rows."""
    return (F[0] * F[0] * F[1]).sum()


@pytest.mark.parametrize("d", [1, 2])
def test_space_may_be_any_axis_of_a_field(d: int) -> None:
    fields = Fields({"F": np.random.default_rng(1).normal(size=(4, 3, d))})
    term = bind(frames, fields, tuples=[[0, 1], [1, 3]])
    potential = Potential(fields, [term])
    assert potential.value() == pytest.approx(references.plain_energy(term), rel=1e-12)
    np.testing.assert_allclose(
        potential.gradient("F"), references.differences(term)["F"], rtol=1e-9, atol=1e-9
    )


# Pairs and tuples -----------------------------------------------------------------------------------


@local_energy("count", over="pairs", x=X, k=Parameter(default=1.0))
def count(x, k):
    """One for each pair."""
    return k


@pytest.mark.parametrize("n", [2, 3, 17, 100])
def test_each_pair_counts_once(n: int) -> None:
    fields = some_fields(n)
    potential = Potential(fields, [bind(count, fields)])
    assert potential.value() == n * (n - 1) / 2
    assert potential.gradient("count.k") == n * (n - 1) / 2
    assert (potential.gradient("x") == 0.0).all()


def test_pairs_within_some_bodies_only() -> None:
    """A proper subset, in two ranges that do not touch."""
    fields = some_fields(9)
    bodies = [Body("a", range(6, 9)), Body("b", range(1, 3))]
    term = bind(gravity, fields, bodies=bodies, parameters={"G": 1.5})
    potential = Potential(fields, [term])
    x, m = fields["x"].values, fields["m"].values
    chosen = [6, 7, 8, 1, 2]
    U = sum(-1.5 * m[i] * m[j] / np.linalg.norm(x[i] - x[j]) for i, j in combinations(chosen, 2))
    assert potential.value() == pytest.approx(U, rel=1e-13)
    expected = references.differences(term)
    np.testing.assert_allclose(potential.gradient("x"), expected["x"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(potential.gradient("m"), expected["m"], rtol=1e-9, atol=1e-9)
    assert (potential.gradient("x")[[0, 3, 4, 5]] == 0.0).all()
    assert potential.gradient("gravity.G") == pytest.approx(U / 1.5, rel=1e-13)


def test_single_nodes_of_some_bodies_only() -> None:
    fields = some_fields(9)
    term = bind(energies.trap, fields, bodies=[Body("b", range(2, 4)), Body("a", range(7, 8))])
    gradient = Potential(fields, [term]).gradient("x", T)
    np.testing.assert_allclose(gradient, references.differences(term, T)["x"], rtol=1e-9, atol=1e-12)
    assert gradient.any(axis=1).nonzero()[0].tolist() == [2, 3, 7]


@local_energy("any_three", over=3, x=X, a=SCALAR)
def any_three(x, a):
    """Smooth everywhere, also where nodes coincide, and different in each slot."""
    return x[0].dot(x[1]) * a[2] + x[1].norm_sqr() * a[0] ** 3 + ti.sin(x[2].sum()) * a[1] + x[0].dot(x[2])


@pytest.mark.parametrize("rows", [[[0, 0, 0]], [[1, 1, 2], [2, 1, 2], [3, 3, 3], [0, 2, 0]], [[6, 5, 4]] * 3])
def test_tuples_that_name_a_node_twice(rows: list) -> None:
    """Also: one element, repeated elements, nodes in no element."""
    fields = some_fields(7, a=np.random.default_rng(3).normal(size=7))
    term = bind(any_three, fields, tuples=rows)
    potential = Potential(fields, [term])
    expected, (value, reverse) = references.differences(term), references.taichi(term)
    assert potential.value() == pytest.approx(value, rel=1e-12)
    for name in ("x", "a"):
        np.testing.assert_allclose(potential.gradient(name), expected[name], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(potential.gradient(name), reverse[name], rtol=1e-12, atol=1e-12)
        outside = sorted(set(range(7)) - set(np.ravel(rows)))
        assert (potential.gradient(name)[outside] == 0.0).all()


def test_many_elements_on_few_nodes() -> None:
    """20,000 tuples over 5 nodes: rows of the gather are long, their order is that of the elements."""
    rng = np.random.default_rng(8)
    fields = some_fields(5, a=rng.normal(size=5))
    rows = rng.integers(0, 5, size=(20_000, 3))
    potential = Potential(fields, [bind(any_three, fields, tuples=rows)])
    x, a = fields["x"].values, fields["a"].values
    i, j, k = rows.T
    per_slot = [
        x[j] * a[k][:, None] + x[k],
        x[i] * a[k][:, None] + 2.0 * x[j] * a[i][:, None] ** 3,
        np.cos(x[k].sum(axis=1))[:, None] * a[j][:, None] + x[i],
    ]
    expected = np.zeros((5, 3))
    for nodes, values in zip((i, j, k), per_slot, strict=True):
        np.add.at(expected, nodes, values)
    np.testing.assert_allclose(potential.gradient("x"), expected, rtol=1e-11)


def test_a_gather_keeps_the_order_of_the_slots() -> None:
    gather = Gather.of(np.array([[2, 0], [2, 2], [0, 3]]), 5)
    assert gather.start.tolist() == [0, 2, 2, 5, 6, 6]
    assert gather.slots.tolist() == [1, 4, 0, 2, 3, 5]


def test_elements_are_counted() -> None:
    assert AllPairs(np.arange(5, dtype=np.int32)).count == 10
    assert NodeTuples.of([[0, 1], [1, 2]], 2, 3).count == 2


# Parameters -----------------------------------------------------------------------------------------


BODIES = [Body("left", range(0, 3)), Body("right", range(3, 7))]
APART = [[0, 1], [1, 2], [3, 6], [4, 3], [2, 0], [6, 5]]
"""Tuples of which none leaves its body."""


def springs_apart(fields: Fields, **options):
    return bind(energies.spring, fields, tuples=APART, data={"rest": np.linspace(0.5, 1.5, 6)}, **options)


@pytest.mark.parametrize(
    ("k", "shape"),
    [(2.5, ()), (np.linspace(1.0, 2.0, 6), (6,)), ({"right": 3.0, "left": 1.5}, (2,))],
    ids=["global", "per element", "per body"],
)
def test_a_parameter_is_global_or_for_each_element_or_body(k, shape: tuple) -> None:
    fields = some_fields()
    term = springs_apart(fields, bodies=BODIES, parameters={"k": k})
    potential = Potential(fields, [term])
    assert potential.value() == pytest.approx(references.plain_energy(term), rel=1e-13)
    gradient = potential.gradient("spring.k")
    assert gradient.shape == shape
    assert gradient.dtype == np.float64
    np.testing.assert_allclose(gradient, references.differences(term)["k"], rtol=1e-9)
    assert (gradient * potential.parameter("spring.k")).sum() == pytest.approx(potential.value(), rel=1e-13)
    np.testing.assert_allclose(
        potential.gradient("x"), references.differences(term)["x"], rtol=1e-9, atol=1e-9
    )


def test_a_parameter_of_a_body_acts_on_its_own_tuples() -> None:
    fields = some_fields()
    here = Potential(
        fields, [springs_apart(fields, bodies=BODIES, parameters={"k": {"left": 1.0, "right": 0.0}})]
    )
    left = Potential(fields, [springs_apart(fields, bodies=BODIES[:1], parameters={"k": 1.0})])
    assert here.value() == left.value() != 0.0


def test_a_tuple_of_two_bodies_has_no_body() -> None:
    with pytest.raises(EnergyError, match=r"spring.k: the tuple \[3, 2\] spans two bodies"):
        spring_term(some_fields(), bodies=BODIES, parameters={"k": {"left": 1.0, "right": 0.0}})


def test_bodies_limit_tuples_with_their_data_and_parameters() -> None:
    fields = some_fields()
    k, rest = np.linspace(1.0, 2.0, 6), np.linspace(0.5, 1.5, 6)
    limited = spring_term(fields, bodies=[Body("few", range(0, 3))], parameters={"k": k})
    kept = [0, 1]  # the only edges within nodes 0, 1, 2
    alone = bind(
        energies.spring,
        fields,
        tuples=[EDGES[e] for e in kept],
        data={"rest": rest[kept]},
        parameters={"k": k[kept]},
    )
    assert limited.elements.count == 2
    assert Potential(fields, [limited]).value() == Potential(fields, [alone]).value()
    with pytest.raises(
        EnergyError, match="spring: none of its 6 tuples lies in its bodies; name other bodies"
    ):
        spring_term(fields, bodies=[Body("end", range(6, 7))], parameters={"k": 1.0})


@pytest.mark.parametrize(
    ("bodies", "nodes"),
    [([Body("a", range(3))] * 2, [0, 1, 2]), ([Body("a", [3, 1, 2]), Body("b", [2, 0])], [3, 1, 2, 0])],
)
def test_a_node_of_two_bodies_counts_once(bodies: list[Body], nodes: list[int]) -> None:
    """Bodies that overlap are their union, in the order in which their nodes come first."""
    fields = some_fields()
    pairs = Potential(fields, [bind(count, fields, bodies=bodies)])
    assert pairs.value() == len(nodes) * (len(nodes) - 1) / 2
    single, alone = (bind(energies.trap, fields, bodies=one) for one in (bodies, [Body("u", nodes)]))
    np.testing.assert_array_equal(single.elements.members, alone.elements.members)
    assert Potential(fields, [single]).value(T) == Potential(fields, [alone]).value(T) != 0.0


def test_many_terms_are_more_than_one_kernel_takes() -> None:
    """The compiler takes 64 arguments: a small system of many terms is stepped by one kernel for each."""
    ends = []
    for terms in (1, 40):
        fields = Fields({"x": np.random.default_rng(3).normal(size=(7, 3)), "v": np.zeros((7, 3))})
        springs = [
            bind(energies.spring, fields, name=f"s{n}", tuples=EDGES, data={"rest": np.ones(6)},
                 parameters={"k": 1.0 / terms}) for n in range(terms)
        ]  # fmt: skip
        stepper = Integrator(
            System(Potential(fields, springs), [Motion("x", "v")]), SCHEMES["leapfrog"], 0.01
        )
        assert stepper.fused == (terms == 1)
        stepper.advance(20)
        ends.append(fields["x"].values.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


@local_energy("sided", over="pairs", x=X)
def sided(x):
    """Symmetric, except far to the right: no sample near the origin sees it."""
    u = (x[0] - x[1]).norm_sqr()
    if x[0].x > 1e5:
        u = 2.0 * u
    return u


def test_an_asymmetry_that_only_the_state_shows_is_refused() -> None:
    fields = Fields({"x": np.array([[0.0, 0.0, 0.0], [2e5, 0.0, 0.0]])})
    with pytest.raises(EnergyError, match="energy 'sided': a pair is unordered"):
        bind(sided, fields)


@local_energy("remainder", over=1, x=X, n=Datum(integer=True))
def remainder(x, n):
    """Arithmetic of whole numbers only."""
    return (n * n * 3) % 7


def test_integers_stay_whole_in_single_precision() -> None:
    """2^24 + 1 is no number of f32."""
    for precision in ("f64", "f32"):
        fields = Fields({"x": np.ones((2, 3))}, precision=precision)
        term = bind(remainder, fields, tuples=[[0], [1]], data={"n": [123457, 5]})
        assert Potential(fields, [term]).value() == (123457 * 123457 * 3) % 7 + (5 * 5 * 3) % 7


@pytest.mark.parametrize("n", [1.5, 2**31 + 5, float("nan")])
def test_integers_are_not_rounded(n: float) -> None:
    fields = Fields({"x": np.ones((1, 3))})
    with pytest.raises(EnergyError, match=r"remainder.n: needs (whole|finite) numbers"):
        bind(remainder, fields, tuples=[[0]], data={"n": [n]})


@local_energy(
    "matrix", over="nodes", x=Node(shape=(2,)), A=Parameter(shape=(2, 2), default=0.0), b=Datum(shape=(2,))
)
def matrix(x, A, b):
    return x[0].dot(A @ x[0]) + x[0].dot(b) * A[0, 1]


@pytest.mark.parametrize("rows", [1, 3])
def test_parameters_of_any_shape(rows: int) -> None:
    rng = np.random.default_rng(4)
    fields = Fields({"x": rng.normal(size=(3, 2))})
    A = rng.normal(size=(2, 2)) if rows == 1 else rng.normal(size=(3, 2, 2))
    term = bind(matrix, fields, parameters={"A": A}, data={"b": rng.normal(size=(3, 2))})
    potential = Potential(fields, [term])
    assert (potential.parameter("matrix.A") == A).all()
    np.testing.assert_allclose(
        potential.gradient("matrix.A"), references.differences(term)["A"], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(potential.gradient("x"), references.differences(term)["x"], rtol=1e-9)


@pytest.mark.parametrize(
    ("k", "other"), [(2.0, 5.0), (np.linspace(1, 2, 6), np.linspace(3, 1, 6)), (np.ones(6), 4.0)]
)
def test_set_parameter_is_seen_by_every_kernel(k, other) -> None:
    fields = some_fields()
    potential = Potential(fields, [spring_term(fields, parameters={"k": k})])
    expected = Potential(fields, [spring_term(fields, parameters={"k": other})])
    before = (
        potential.value(),
        potential.gradient("x"),
        potential.gradient("spring.k"),
        potential.gradient("spring.rest"),
    )
    potential.set_parameter("spring.k", other)
    assert (potential.parameter("spring.k") == other).all()
    for found, wanted in [
        (potential.value(), expected.value()),
        (potential.gradient("x"), expected.gradient("x")),
        (potential.gradient("spring.rest"), expected.gradient("spring.rest")),
    ]:
        assert np.array_equal(found, wanted)
    assert before[0] != potential.value()
    assert np.array_equal(before[2], potential.gradient("spring.k"))


@pytest.mark.parametrize("small", [True, False], ids=["fused", "launched"])
def test_set_parameter_is_seen_by_a_running_integrator(small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fused kernel of many steps reads the same arrays."""
    monkeypatch.setattr(integrator, "SMALL", integrator.SMALL if small else 0)

    def moved(change: float) -> np.ndarray:
        fields = some_fields(v=np.zeros((7, 3)))
        potential = Potential(fields, [spring_term(fields)])
        stepper = integrator.Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.01)
        assert stepper.fused == small
        stepper.advance(3)
        potential.set_parameter("spring.k", change * potential.parameter("spring.k"))
        stepper.advance(20)
        return fields["x"].values.copy()

    assert np.abs(moved(3.0) - moved(1.0)).max() > 1e-3


def test_two_potentials_of_one_term_do_not_share_parameters() -> None:
    fields = some_fields()
    first, second = (Potential(fields, [spring_term(fields)]) for _ in range(2))
    value = second.value()
    first.set_parameter("spring.k", 100.0)
    assert second.value() == value
    assert second.parameter("spring.k") == 2.0


@local_energy("quoted", over="nodes", x=SCALAR, length=Parameter("m", default="3 km", bounds=(0.0, 1e4)))
def quoted(x, length):
    return length * x[0]


def test_a_default_may_be_a_quantity() -> None:
    fields = Fields({"x": [1.0]})
    assert Potential(fields, [bind(quoted, fields)]).value() == 3000.0


# Refusals -------------------------------------------------------------------------------------------


def test_an_asymmetric_pair_is_refused_when_it_is_declared() -> None:
    with pytest.raises(
        EnergyError, match=r"energy 'lopsided': a pair is unordered, but u\(a, b\) = .* symmetric"
    ):

        @local_energy("lopsided", over="pairs", m=Node("kg"))
        def lopsided(m):
            return m[0] * m[0] * m[1]


def test_a_pair_that_is_asymmetric_on_one_side_of_an_if_is_refused() -> None:
    with pytest.raises(EnergyError, match="energy 'partly': a pair is unordered"):

        @local_energy("partly", over="pairs", x=X)
        def partly(x):
            u = x[0].dot(x[1])
            if u > 0.0:
                u += 1e-6 * x[0][0]
            return u


def untyped(x, k):
    return k * x[0][0]


def declared(over="nodes", function: Callable = untyped, **roles):
    return local_energy("bad", over=over, **roles)(function)


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: declared(x=X), "energy 'bad': argument k has no role"),
        (
            lambda: declared(x=X, k=Parameter(), q=X),
            "energy 'bad': q has a role, but is no argument of the function",
        ),
        (
            lambda: declared(x=X, k=Parameter(), keeps=("rotation",)),
            "energy 'bad': keeps needs a role, got a tuple; give it Node, Datum, Parameter, Time, Table or"
            " Box",
        ),
        (
            lambda: declared("nodes", x=Parameter(), k=Parameter()),
            "energy 'bad': has no Node field",
        ),
        (lambda: declared("pairs", x=X, k=Datum()), "energy 'bad': a pair has no data"),
        (
            lambda: declared("triples", x=X, k=Datum()),
            "energy 'bad': a triple has no data; use Node fields or Parameters",
        ),
        (
            lambda: declared("triplets", x=X, k=Datum()),
            "'directed_triples', 'tuples', 'cells', a number of nodes or names of sets, got 'triplets'",
        ),
        (
            lambda: declared(x=X, k=Datum(integer=True, differentiable=True)),
            "k holds integers, which have no",
        ),
        (
            lambda: declared(0, x=X, k=Datum()),
            "over must be 'nodes', 'pairs', 'triples', 'directed_pairs', 'directed_triples', 'tuples',",
        ),
    ],
)
def test_bad_declarations(declare: Callable, text: str) -> None:
    with pytest.raises(EnergyError, match=re.escape(text)):
        declare()


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(UnitError, match="furlong"):
        declared(x=Node("furlong"), k=Parameter())


def bound(energy=energies.spring, fields: Fields | None = None, **options):
    options = {"tuples": EDGES, "data": {"rest": 1.0}} | options if energy is energies.spring else options
    return bind(energy, some_fields() if fields is None else fields, **options)


SHORT_MASSES = {"x": np.ones((3, 2)), "m": np.ones(4)}
OVERLAPPING = [Body("a", range(0, 4)), Body("b", range(3, 6))]
REFUSALS = {
    "spring: needs its elements, e.g. tuples = [[0, 1]], 2 nodes in each": lambda: bound(tuples=None),
    "spring.tuples: needs rows of 2 node numbers, got int64 of shape [1, 3]": lambda: bound(
        tuples=[[0, 1, 2]]
    ),
    "spring.tuples: needs rows of 2 node numbers, got float64": lambda: bound(tuples=[[0.0, 1.0]]),
    "spring.tuples: row 1 = [2, 7] names a node outside 0..6": lambda: bound(tuples=[[0, 1], [2, 7]]),
    "spring.tuples: row 0 = [0, -1] names a node outside 0..6": lambda: bound(tuples=[[0, -1]]),
    "spring.rest: needs a value for each element, got none; give `data`": lambda: bound(data={}),
    "spring.rest: needs shape [6] or [], got [5]": lambda: bound(data={"rest": np.ones(5)}),
    "spring: no datum or parameter named color": lambda: bound(data={"rest": 1.0, "color": 2}),
    "spring: no datum or parameter named K": lambda: bound(parameters={"K": 1.0}),
    "spring.k: needs one value, or 6, one for each element, got 5; give 1 or 6": lambda: bound(
        parameters={"k": np.ones(5)}
    ),
    "spring.k: nan is not within [-inf, inf]": lambda: bound(parameters={"k": np.nan}),
    "spring.k: has values for left; the term's bodies are left, right": lambda: bound(
        bodies=BODIES, parameters={"k": {"left": 1.0}}
    ),
    "no field named 'q' (there are: x, m, y)": lambda: bound(renamed={"x": "q"}),
    "spring.x: field 'm' is a scalar at each node, not of shape ['d']": lambda: bound(renamed={"x": "m"}),
    "gravity.m: field 'x' is of shape [3] at each node, not a scalar": lambda: bound(
        gravity, renamed={"m": "x"}
    ),
    "gravity: a pair needs two nodes, got 1": lambda: bound(gravity, some_fields(1)),
    "gravity.G: -1.0 is not within [0, inf]": lambda: bound(gravity, parameters={"G": -1.0}),
    "gravity.G: takes one value for all elements, got 7": lambda: bound(
        gravity, parameters={"G": np.ones(7)}
    ),
    "gravity.G: a pair may span two bodies": lambda: bound(
        gravity, bodies=BODIES, parameters={"G": {"left": 1.0, "right": 2.0}}
    ),
    "gravity: its node fields must have one length, but x has 3, m has 4": lambda: bound(
        gravity, Fields(SHORT_MASSES)
    ),
    "trap.k: node 3 is in the bodies a and b, which have values of their own; name bodies": lambda: (
        potential_with(bound(energies.trap, bodies=OVERLAPPING, parameters={"k": {"a": 1.0, "b": 2.0}}))
    ),
    "trap: its bodies must have nodes below 7, got 7": lambda: potential_with(
        bound(energies.trap, bodies=[Body("a", range(5, 9))])
    ),
    "two terms have one name: spring, spring; give them a `name` each": lambda: potential_with(
        bound(), bound()
    ),
    "no field named 'z' (there are: x, m, y)": lambda: three_terms().gradient("z"),
    "no term named 'sprig'; did you mean 'spring'? (there are: gravity, spring, trap)": lambda: (
        three_terms().gradient("sprig.k")
    ),
    "spring has no derivative with respect to 'K'; did you mean 'k'? (there are: k, rest)": lambda: (
        three_terms().gradient("spring.K")
    ),
    "spring has no derivative with respect to 'x' (there are: k, rest)": lambda: three_terms().gradient(
        "spring.x"
    ),
    "spring: no parameter named 'rest' (there are: k)": lambda: three_terms().set_parameter(
        "spring.rest", 1.0
    ),
    "no term named 'nothing'": lambda: three_terms().parameter("nothing"),
    "gravity: dU/d(x) has shape [7, 3], the array for it [7, 2]": lambda: three_terms().gradient_into(
        {"x": np.zeros((7, 2))}
    ),
}


def potential_with(*terms) -> Potential:
    return Potential(some_fields(), terms)


@pytest.mark.parametrize(("text", "call"), REFUSALS.items())
def test_refused_with_what_exists(text: str, call: Callable) -> None:
    with pytest.raises(EnergyError) as caught:
        call()
    assert text in str(caught.value)


# Storage, compiling, memory -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)]
)
def test_arrays_of_the_engine_give_the_same_bits(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """Fields and all else in `ti.ndarray`s, as on a device; of every third energy."""
    instances = dict(list(CANONICAL.items())[first::3])
    numpy = {name: _results(instance) for name, instance in instances.items()}

    def on_device(values: np.ndarray):
        array = ti.ndarray(getattr(ti, storage.ENGINE_DTYPES[values.dtype.name]), values.shape)
        array.from_numpy(np.ascontiguousarray(values))
        return array

    monkeypatch.setattr(storage, "allocate", on_device)
    device = {name: _results(instance) for name, instance in instances.items()}
    assert device == numpy


def _results(instance) -> list[bytes]:
    potential = instance.potential(np.random.default_rng(2), instance.dimensions[-1])
    (term,) = potential.terms.values()
    wrt = [
        *potential.fields,
        *(f"{term.name}.{a}" for a in (*term.parameters, *term.data) if a in term.energy.differentiable),
    ]
    if term.parameters:
        name = f"{term.name}.{next(iter(term.parameters))}"
        potential.set_parameter(name, 1.25 * potential.parameter(name))
    return [np.array(potential.value(T)).tobytes(), *(potential.gradient(name, T).tobytes() for name in wrt)]


def everything(n: int) -> Potential:
    fields = some_fields(n)
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    terms = [
        bind(gravity, fields, parameters={"G": 1.0, "softening": 0.2}),
        bind(energies.spring, fields, tuples=edges, data={"rest": 1.0}),
        bind(energies.trap, fields),
    ]
    potential = Potential(fields, terms)
    potential.value(T), potential.rate(T)
    for wrt in ("x", "m", "gravity.G", "spring.k", "spring.rest"):
        assert np.isfinite(potential.gradient(wrt, T)).all()
    return potential


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_is_compiled_for_another_size() -> None:
    for some, others in ((16, (2, 64 * 8)), (1024, (2048, 1500))):  # in plain loops, and in lanes
        everything(some)
        before = kernels.compiled_count()
        for n in others:
            everything(n)
        assert kernels.compiled_count() == before


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the memory of the process from /proc"
)
@pytest.mark.long
def test_fifty_potentials_leave_no_memory_behind() -> None:
    for _ in range(5):
        everything(2048)
    gc.collect()
    before, compiled = resident(), kernels.compiled_count()
    for _ in range(50):
        everything(2048)
    gc.collect()
    assert resident() - before < 6e6
    assert kernels.compiled_count() == compiled


def test_old_potentials_work_after_another_start(any_engine) -> None:
    potential = three_terms()
    before = potential.value(T), potential.gradient("x", T)
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        assert potential.value(T) == before[0]
        assert np.array_equal(potential.gradient("x", T), before[1])
    x = potential.fields["x"]
    x.set(x.values + 0.1)
    assert potential.gradient("x", T) == pytest.approx(
        sum(references.differences(term, T)["x"] for term in potential.terms.values()), rel=1e-8, abs=1e-9
    )


def test_both_precisions_in_one_process() -> None:
    double, single = (Fields({"x": [[0.1, 0.2], [0.3, 0.7]]}, precision=p) for p in ("f64", "f32"))
    potentials = [Potential(f, [bind(energies.trap, f, parameters={"k": 0.1})]) for f in (double, single)]
    wide, narrow = (p.gradient("x", T) for p in potentials)
    assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)
    assert 0.0 < np.abs(wide - narrow).max() < 1e-7


@local_energy("planck", over="nodes", x=SCALAR)
def planck(x):
    return 4.4e-67 * x[0]


def test_a_constant_that_single_precision_cannot_hold_is_refused() -> None:
    for precision in ("f64", "f32"):
        fields = Fields({"x": [1.0]}, precision=precision)
        potential = Potential(fields, [bind(planck, fields)])
        if precision == "f64":
            assert potential.value() == 4.4e-67
        else:
            with pytest.raises(EnergyError, match=r"planck: its constant 4.4e-67 does not fit f32"):
                potential.value()


def test_single_precision_computes_nothing_in_double() -> None:
    fields = Fields({"x": np.ones((3, 2))}, precision="f32")
    potential = Potential(fields, [bind(energies.trap, fields)])
    potential.gradient("x")
    (sweep,) = potential.kernels["trap"]._sweeps.values()
    assert "f64" not in sweep.launch.source.replace("t: ti.f64", "")


def test_what_an_energy_cannot_be() -> None:
    with pytest.raises(EnergyError, match="has two Time arguments"):
        local_energy("clocks", over=1, x=X, s=Time(), t=Time())(lambda x, s, t: x[0].x * s * t)
    with pytest.raises(EnergyError, match="an energy cannot be called 'a/b'"):
        local_energy("a/b", over=1, x=X)(lambda x: x[0].x)
    with pytest.raises(EnergyError, match=r"a term cannot be called 'a\.b'"):
        spring_term(some_fields(), name="a.b", parameters={"k": 1.0})


def test_a_kernel_has_room_for_its_arrays_and_scalars() -> None:
    """The compiler takes 64 arguments; the longest kernels take five scalars."""
    arrays = {f"a{k}": np.zeros(1) for k in range(kernels.MOST_ARRAYS)}
    body = "".join(f"    {name}[0] = t0 + dt + first + ti.f64(steps + at)\n" for name in arrays)
    scalars = ("steps", "first", "t0", "dt", "at")
    kernels.BoundKernel(kernels.Code(f"for i in range(1):\n{body}", arrays), *scalars)(1, 1.0, 1.0, 1.0, 1)
    assert all(array[0] == 5.0 for array in arrays.values())
