"""Triples within a cutoff against enumeration and sums in NumPy, as atoms move and boxes change."""

from itertools import combinations

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.check import single_precision, term_check
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.elements.neighbours.triple_list import all_triples
from minusgrad.engine import kernels
from minusgrad.errors import EnergyError
from minusgrad.plugin import Cutoff
from tests.support.switched_sums import RC, SWITCH, assert_derivatives, now, state, switch


@local_energy("bend", over="triples", x=Node("m", ("d",)), m=Node("kg"), k=Parameter("J", default=1.0))
def bend(x, m, k):
    """A symmetric function of the arms that depends on all distances, on the charges and on a parameter."""
    a, b = x[1] - x[0], x[2] - x[0]
    return k * m[0] * (1.0 + m[1] * m[2]) * ti.exp(-a.dot(a) - b.dot(b)) * (0.5 + a.dot(b)) ** 2


@local_map("crowd", gives="rho", over="triples", x=Node("m", ("d",)))
def crowd(x):
    """What two arms give to their centre."""
    return (x[1] - x[0]).dot(x[2] - x[0]) + 2.0


@local_energy("well", over="nodes", rho=Node())
def well(rho):
    return rho[0] * rho[0]


def arms_of(x, box, i):
    """Nodes and vectors of all images within the cutoff of node i; the nearest three boxes of each."""
    nodes, vectors = [], []
    images = (
        np.zeros((1, x.shape[1]))
        if box is None
        else np.indices((7,) * x.shape[1]).reshape(x.shape[1], -1).T - 3
    )
    for n in images:
        apart = x - x[i] + (0.0 if box is None else n @ box)
        for j in np.flatnonzero((np.linalg.norm(apart, axis=1) < RC) & ((np.arange(len(x)) != i) | n.any())):
            nodes.append(j)
            vectors.append(apart[j])
    return nodes, vectors


def summed(x, m, box, k=1.0):
    """U by the formulas, over sets of arms; and the number of triples."""
    total = count = 0
    for i in range(len(x)):
        for (p, a), (q, b) in combinations(zip(*arms_of(x, box, i), strict=True), 2):
            u = k * m[i] * (1.0 + m[p] * m[q]) * np.exp(-a @ a - b @ b) * (0.5 + a @ b) ** 2
            total += switch(np.linalg.norm(a)) * switch(np.linalg.norm(b)) * u
            count += 1
    return total, count


def potential(fields, **options):
    cutoff = Cutoff(RC, switch=SWITCH, skin=0.2, images=True)
    return Potential(fields, [bind(bend, fields, cutoff=cutoff, **options)])


@pytest.mark.parametrize("boxed", [True, False])
@pytest.mark.parametrize("d", [2, 3])
def test_energy_gradient_and_products_are_those_of_sums(d, boxed):
    fields = state(d, boxed=boxed)
    triples = potential(fields)
    assert triples.value() == pytest.approx(summed(*now(fields))[0], rel=1e-13)
    assert_derivatives(triples, summed)


def test_the_sparse_hessian_and_mixed_derivatives():
    triples = potential(state())
    w = np.random.default_rng(2).normal(size=triples.fields["x"].shape)
    product = triples.product({"x": w}, "x")
    np.testing.assert_allclose((triples.hessian("x") @ w.ravel()).reshape(w.shape), product, atol=1e-12)
    assert triples.gradient("bend.k") == pytest.approx(triples.value(), rel=1e-13)
    assert triples.product({"x": w}, "bend.k") == pytest.approx((triples.gradient("x") * w).sum(), rel=1e-12)
    np.testing.assert_allclose(triples.product({"bend.k": 1.0}, "x"), triples.gradient("x"), atol=1e-13)


def test_a_map_over_triples_gives_to_the_centre():
    fields = state()
    cutoff = Cutoff(RC, switch=SWITCH, skin=0.2, images=True)
    made = bind(crowd, fields, cutoff=cutoff)
    whole = Potential(fields, [bind(well, fields)], [made])
    whole.refresh()
    x, _, box = now(fields)
    for i in range(len(x)):
        expected = sum(
            switch(np.linalg.norm(a)) * switch(np.linalg.norm(b)) * (a @ b + 2.0)
            for a, b in combinations(arms_of(x, box, i)[1], 2)
        )
        assert fields["rho"].values[i] == pytest.approx(expected, abs=1e-12)
    along, h = np.random.default_rng(3).normal(size=x.shape), 1e-6
    start, gradient, values = x.copy(), whole.gradient("x"), []
    for sign in (1.0, -1.0):
        fields["x"].set(start + sign * h * along)
        values.append(whole.value())
    assert (values[0] - values[1]) / (2.0 * h) == pytest.approx((gradient * along).sum(), rel=1e-7)


def test_no_triple_enters_unseen():
    """Atoms wander by many skins, and the box with them; a twin follows its own atoms."""
    fields, rng = state(), np.random.default_rng(4)
    triples = potential(fields)
    twin, counts = triples.twin(), set()
    for _ in range(12):
        fields["x"].set(fields["x"].values + 0.06 * rng.normal(size=fields["x"].shape))
        fields["box"].set(fields["box"].values * (1.0 + 0.01 * rng.normal()))
        assert triples.value() == pytest.approx(summed(*now(fields))[0], rel=1e-12)
        counts.add(triples.terms["bend"].elements.count)
    assert len(counts) > 3
    assert twin.value() == pytest.approx(summed(*now(twin.fields))[0], rel=1e-12)
    twin.fields["x"].set(fields["x"].values)
    twin.fields["box"].set(fields["box"].values)
    assert twin.value() == pytest.approx(triples.value(), rel=1e-13)


@pytest.mark.parametrize("kind", ["energy", "energy in lanes", "map"])
def test_lists_are_rebuilt_in_place_and_no_kernel_is_made_again(kind, monkeypatch):
    """All numbers have the bits of a twin, whose lists are new, at whatever number of triples."""
    if kind == "energy in lanes":
        monkeypatch.setattr(lane_loops, "LEAST_TUPLES", 64)
    fields, rng = state(), np.random.default_rng(5)
    triples = potential(fields)
    if kind == "map":
        crowded = bind(crowd, fields, cutoff=Cutoff(RC, switch=SWITCH, skin=0.2, images=True))
        triples = Potential(fields, [bind(well, fields)], [crowded])
    w = rng.normal(size=fields["x"].shape)

    def numbers(of):
        found = [of.value(), of.gradient("x"), of.product({"x": w}, "x")]
        return found if kind == "map" else [*found, of.gradient("bend.k"), of.hessian("x").data]

    numbers(triples)
    kept, compiled, counts = dict(triples.kernels), kernels.compiled_count(), set()
    assert bool(triples.in_lanes) == (kind == "energy in lanes")
    for _ in range(3):
        fields["x"].set(fields["x"].values + 0.07 * rng.normal(size=w.shape))
        ours = numbers(triples)
        for mine, others in zip(ours, numbers(triples.twin()), strict=True):
            assert np.array_equal(mine, others)
        counts |= {p.elements.count for p in triples.parts.values() if not p.elements.fixed}
    assert len(counts) == 3
    assert triples.kernels == kept
    assert kernels.compiled_count() == compiled


def test_lists_have_room_by_their_number_of_triples_alone():
    """Kernels in lanes begin at a power of two, so that the kind of kernels follows from the number, too."""
    assert lane_loops.LEAST_TUPLES.bit_count() == 1
    fields = state()
    triples = potential(fields)
    triples.value()
    few, kernels_of_few = triples.terms["bend"].elements, triples.kernels["bend"]
    fields["x"].set(fields["x"].values * 0.3)
    assert triples.value() == potential(fields).value()
    many = triples.terms["bend"].elements
    assert few.room <= many.count < many.room
    assert triples.kernels["bend"] is not kernels_of_few


def test_a_body_has_triples_of_its_own_nodes():
    from minusgrad.energies.fields import Body

    fields = state()
    some = np.arange(0, 24, 2)
    x, m, box = now(fields)
    found = potential(fields, bodies=[Body("some", some)]).value()
    assert found == pytest.approx(summed(x[some], m[some], box)[0], rel=1e-13)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_check_finds_nothing_wrong(precision):
    made = potential(state(n=8, precision=precision))
    ask = term_check.of_potential if precision == "f64" else single_precision.of_single
    asked = list(ask(made))
    assert len(asked) > 5
    assert not [str(one) for one in asked if not one.passed]


def test_single_precision():
    single, double = potential(state(precision="f32")), potential(state())
    double.fields["x"].set(single.fields["x"].values.astype(float))
    double.fields["box"].set(single.fields["box"].values.astype(float))
    assert single.value() == pytest.approx(double.value(), rel=1e-5)
    expected = double.gradient("x")
    np.testing.assert_allclose(single.gradient("x"), expected, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("boxed", [True, False])
def test_atoms_without_neighbours_have_no_energy(boxed):
    x = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    values = {"x": x, "m": np.ones(3)} | ({"box": 8.0 * np.eye(2)[None]} if boxed else {})
    lonely = potential(Fields(values))
    assert lonely.value() == 0.0
    assert not lonely.gradient("x").any()
    lonely.fields["x"].set(0.1 * x)
    assert lonely.value() > 0.1


def test_all_triples_without_a_cutoff():
    triples = all_triples(np.array([2, 5, 7, 9], np.int32), "bend").nodes
    assert len(triples) == 12
    assert {tuple(t) for t in triples} == {
        (i, j, k) for i in (2, 5, 7, 9) for j, k in combinations([n for n in (2, 5, 7, 9) if n != i], 2)
    }
    fields = state(n=5, boxed=False)
    x, m, _ = now(fields)
    total = 0.0
    for i in range(5):
        for p, q in combinations([j for j in range(5) if j != i], 2):
            a, b = x[p] - x[i], x[q] - x[i]
            total += m[i] * (1.0 + m[p] * m[q]) * np.exp(-a @ a - b @ b) * (0.5 + a @ b) ** 2
    assert Potential(fields, [bind(bend, fields)]).value() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda: bind(bend, state()),
            "bend: is over all triples of a periodic box, which have no end; give it a `cutoff`",
        ),
        (
            lambda: bind(bend, state(n=2, boxed=False)),
            "bend: a triple needs three nodes, got 2; add nodes",
        ),
        (
            lambda: bind(bend, state(n=2, boxed=False), cutoff=Cutoff(RC)),
            "bend: a triple needs three nodes, got 2; add nodes",
        ),
        (
            lambda: bind(bend, state(), tuples=[[0, 1, 2]]),
            "bend: is over triples, got tuples; leave `tuples` out, or declare it over=3",
        ),
    ],
)
def test_what_has_no_triples_is_refused(made, message):
    with pytest.raises(EnergyError) as refusal:
        made()
    assert str(refusal.value) == message


def test_a_function_that_tells_its_arms_apart_is_refused():
    with pytest.raises(EnergyError) as refusal:

        @local_energy("lopsided", over="triples", x=Node("m", ("d",)))
        def lopsided(x):
            return (x[1] - x[0]).norm() + 2.0 * (x[2] - x[0]).norm()

    assert str(refusal.value) == (
        "energy 'lopsided': the arms of a triple are unordered, but u(c, a, b) = 4.66695 and u(c, b, a) ="
        " 3.06992; write it symmetric under exchange, or sum over a list of tuples"
    )
