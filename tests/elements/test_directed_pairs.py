"""Values on directed pairs within a cutoff, and triples around them, against enumeration and sums in NumPy.

z_ij = sum_{k != i, j} m_k exp(-b^2) (1 + a.b + b_x a_y)        a = x_j - x_i, b = x_k - x_i
U    = sum_{i, j} k m_i (1 + m_j) exp(-a^2) (1 + z_ij)^2        times the switches of the arms
"""

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.check import single_precision, term_check
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.energies.fields import Body
from minusgrad.energies.pairs.cutoff_jump import jump
from minusgrad.engine import kernels
from minusgrad.errors import EnergyError
from minusgrad.plugin import Cutoff
from tests.support.periodic_sums import slope
from tests.support.switched_sums import RC, SWITCH, assert_derivatives, now, state, switch
from tests.support.tiers import sampled


@local_map(
    "crowd", gives="z", over="directed_triples", x=Node("m", ("d",)), m=Node("kg"), q=Parameter(default=1.0)
)
def crowd(x, m, q):
    """What the neighbour x[3] gives to the pair from x[1] to x[2]; no symmetry relates its nodes."""
    a, b = x[2] - x[1], x[3] - x[1]
    return q * m[3] * ti.exp(-b.dot(b)) * (1.0 + a.dot(b) + b[0] * a[1])


@local_energy(
    "held",
    over="directed_pairs",
    x=Node("m", ("d",)),
    m=Node("kg"),
    z=Node(of="pair"),
    k=Parameter("J", default=1.0),
)
def held(x, m, z, k):
    """Reads the value of its own pair."""
    a = x[2] - x[1]
    return k * m[1] * (1.0 + m[2]) * ti.exp(-a.dot(a)) * (1.0 + z[0]) ** 2


def arms(x, box, i):
    """Nodes and vectors of all images within the cutoff of node i, from three boxes on each side."""
    d = x.shape[1]
    moved = np.zeros((1, d)) if box is None else (np.indices((7,) * d).reshape(d, -1).T - 3.0) @ box
    apart = x - x[i] + moved[:, None]
    r = np.linalg.norm(apart, axis=-1)
    near = np.argwhere((r < RC) & (r > 0.0))
    return near[:, 1], apart[tuple(near.T)]


def summed(x, m, box):
    """U by the formulas, over all images; and the number of directed pairs."""
    total = count = 0
    for i in range(len(x)):
        nodes, a = arms(x, box, i)
        cut = switch(np.linalg.norm(a, axis=1))
        shares = cut[:, None] * cut * m[nodes] * np.exp(-(a * a).sum(axis=1))
        shares = shares * (1.0 + a @ a.T + np.outer(a[:, 1], a[:, 0]))  # row j, column k
        z = shares.sum(axis=1) - np.diag(shares)
        total += (cut * m[i] * (1.0 + m[nodes]) * np.exp(-(a * a).sum(axis=1)) * (1.0 + z) ** 2).sum()
        count += len(nodes)
    return total, count


def potential(fields, skin=0.2, **options):
    cutoff = Cutoff(RC, switch=SWITCH, skin=skin, images=True)
    given = bind(crowd, fields, cutoff=cutoff, **options)
    return Potential(fields, [bind(held, fields, cutoff=cutoff, **options)], [given])


def numbers(of, w):
    """Value, gradients, products, derivatives by parameters of both parts, and by the box."""
    found = [of.value(), of.gradient("x"), of.product({"x": w}, "x"), of.gradient("box")]
    found += [of.product({"x": w}, "box"), of.gradient("m"), of.product({"m": of.fields["m"].values}, "x")]
    return [*found, of.gradient("crowd.q"), of.gradient("held.k"), of.product({"x": w}, "crowd.q")]


@pytest.mark.parametrize(
    "space", sampled([(2, True), (2, False), (3, True), (3, False)], [(2, False), (3, True)])
)
def test_energy_gradient_and_products_are_those_of_sums(space):
    """In two and three dimensions, with a box and without."""
    d, boxed = space
    fields = state(d, boxed=boxed)
    pairs = potential(fields)
    value, count = summed(*now(fields))
    assert pairs.value() == pytest.approx(value, rel=1e-13)
    assert count > 20
    assert_derivatives(pairs, summed)


def test_derivatives_by_parameters_of_the_map_and_of_the_energy():
    pairs = potential(state())
    w = np.random.default_rng(2).normal(size=pairs.fields["x"].shape)
    assert pairs.gradient("held.k") == pytest.approx(pairs.value(), rel=1e-13)

    def at(h):
        pairs.set_parameter("crowd.q", 1.0 + h)
        found = pairs.value()
        pairs.set_parameter("crowd.q", 1.0)
        return found

    assert pairs.gradient("crowd.q") == pytest.approx(slope(at, 1e-3), rel=1e-9)
    by_q, by_x = pairs.product({"x": w}, "crowd.q"), (pairs.product({"crowd.q": 1.0}, "x") * w).sum()
    assert by_q == pytest.approx(by_x, rel=1e-11)


@pytest.mark.parametrize("kind", sampled(["scalar", "lanes"], ["scalar"]))
def test_lists_are_rebuilt_in_place_and_grow(kind, monkeypatch):
    """All numbers have the bits of a twin, whose lists are new; the field follows the number of pairs."""
    if kind == "lanes":
        monkeypatch.setattr(lane_loops, "LEAST_TUPLES", 64)
    fields, rng = state(n=12), np.random.default_rng(5)
    pairs, rooms, counts = potential(fields), set(), set()
    start, w = fields["x"].values.copy(), rng.normal(size=fields["x"].shape)
    numbers(pairs, w)
    assert bool(pairs.in_lanes) == (kind == "lanes")
    for scale in (1.0, 1.0, 0.8, 0.62, 0.8):
        before, compiled = len(fields["z"]), kernels.compiled_count()
        fields["x"].set(scale * start + 0.07 * rng.normal(size=w.shape))
        fields["box"].set(scale * state()["box"].values)
        ours, twin = numbers(pairs, w), pairs.twin()
        for mine, others in zip(ours, numbers(twin, w), strict=True):
            assert np.array_equal(mine, others)
        assert pairs.value() == pytest.approx(summed(*now(fields))[0], rel=1e-12)
        elements = pairs.terms["held"].elements
        assert len(fields["z"]) == len(pairs.chain.adjoints["z"]) == elements.pair_room > elements.count
        assert not fields["z"].values[elements.count :].any()
        if len(fields["z"]) == before and kind == "scalar":
            assert kernels.compiled_count() == compiled
        rooms.add(len(fields["z"]))
        counts.add(elements.count)
    assert len(rooms) == 3
    assert len(counts) >= 4


def test_the_path_leaves_the_bits():
    """Positions that were left and reached again have the same U, in lists that grew on the way."""
    fields = state()
    pairs, x = potential(fields), fields["x"].values.copy()
    value, gradient = pairs.value(), pairs.gradient("x")
    fields["x"].set(0.8 * x)
    pairs.value()
    fields["x"].set(x)
    fields.list_afresh()
    assert pairs.value() == value
    assert np.array_equal(pairs.gradient("x"), gradient)


def test_pairs_without_neighbours_and_nodes_without_pairs():
    x = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    lonely = potential(Fields({"x": x, "m": np.ones(3), "box": 8.0 * np.eye(2)[None]}))
    assert lonely.value() == 0.0
    assert not lonely.gradient("x").any()
    lonely.fields["x"].set(np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 4.0]]))  # one bond, no triple
    assert lonely.value() == pytest.approx(summed(*now(lonely.fields))[0], rel=1e-14)
    assert lonely.fields["z"].values[:2].tolist() == [0.0, 0.0]
    lonely.fields["x"].set(0.1 * x)
    assert lonely.value() == pytest.approx(summed(*now(lonely.fields))[0], rel=1e-14)


def test_without_a_cutoff_all_nodes_meet():
    fields = state(n=5, boxed=False)
    given = bind(crowd, fields)
    pairs = Potential(fields, [bind(held, fields)], [given])
    x, m, _ = now(fields)
    total = 0.0
    for i in range(5):
        for j in set(range(5)) - {i}:
            a = x[j] - x[i]
            others = [(m[k], x[k] - x[i]) for k in set(range(5)) - {i, j}]
            z = sum(one * np.exp(-b @ b) * (1.0 + a @ b + b[0] * a[1]) for one, b in others)
            total += m[i] * (1.0 + m[j]) * np.exp(-a @ a) * (1.0 + z) ** 2
    assert len(fields["z"]) == 20
    assert pairs.value() == pytest.approx(total, rel=1e-13)


def test_a_body_has_pairs_of_its_own_nodes():
    fields = state()
    some = np.arange(0, 24, 2)
    x, m, box = now(fields)
    found = potential(fields, bodies=[Body("some", some)]).value()
    assert found == pytest.approx(summed(x[some], m[some], box)[0], rel=1e-13)


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
def test_check_finds_nothing_wrong(precision):
    made = potential(state(2, n=5, precision=precision))
    ask = term_check.of_potential if precision == "f64" else single_precision.of_single
    asked = list(ask(made))
    assert len(asked) > 10
    assert not [str(one) for one in asked if not one.passed]


def test_single_precision_and_the_same_lists_in_double():
    """The twin in f64 has the lists of the reference, and not those of the present positions."""
    single = potential(state(precision="f32"))
    single.value()
    x = single.fields["x"].values
    single.fields["x"].set(x + 0.03 * np.random.default_rng(3).normal(size=x.shape))
    value = single.value()
    double = single_precision.in_double(single)
    assert np.array_equal(single.terms["held"].elements.nodes, double.terms["held"].elements.nodes)
    assert value == pytest.approx(double.value(), rel=1e-5)
    expected = double.gradient("x")
    np.testing.assert_allclose(single.gradient("x"), expected, atol=3e-6 * np.abs(expected).max())


def test_a_sharp_cut_has_a_height():
    """Of pairs with a value of their own, which is zero before it is computed: k m_i (1 + m_j) exp(-RC^2)."""
    fields = state(n=12)
    cutoff = Cutoff(RC, sharp=True, images=True)
    bind(crowd, fields, cutoff=cutoff)
    m = np.sort(fields["m"].values)[::-1]
    found = jump(bind(held, fields, cutoff=cutoff))
    assert 0.5 < found / (m[0] * (1.0 + m[1]) * np.exp(-RC * RC)) <= 1.2
    assert jump(bind(held, fields, name="smooth", cutoff=Cutoff(RC, images=True))) == 0.0


def over_pairs(cutoff, **options):
    fields = state()
    bind(crowd, fields, cutoff=Cutoff(RC, images=True))
    return bind(held, fields, cutoff=cutoff, **options)


@local_energy("bond", over=2, x=Node("m", ("d",)), z=Node())
def bond(x, z):
    return (x[0] - x[1]).norm() * z[0]


def reads_elsewhere():
    fields = state()
    bind(crowd, fields, cutoff=Cutoff(RC, images=True))
    return bind(bond, fields, tuples=[[0, 1]])


def two_lists():
    fields = state()
    bind(crowd, fields, cutoff=Cutoff(RC, images=True))
    return bind(crowd, fields, name="more", cutoff=Cutoff(0.5 * RC, images=True))


def two_nodes():
    fields = Fields({"x": np.eye(2), "m": np.ones(2)})
    return bind(crowd, fields, cutoff=Cutoff(RC))


def undeclared():
    return local_energy("lost", over="directed_pairs", z=Node(of="pair"))(lambda z: z[0])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda: bind(crowd, state()),
            "crowd: is over all directed triples of a periodic box, which have no end; give it a `cutoff`",
        ),
        (
            lambda: over_pairs(Cutoff(RC, skin=0.5, images=True)),
            "held.z: field 'z' is over the directed pairs of another list, got another cutoff, skin, body or"
            " exclusion here; give both the same",
        ),
        (
            lambda: over_pairs(Cutoff(RC, images=True), tuples=[[0, 1]]),
            "held: is over directed_pairs, got tuples; leave `tuples` out",
        ),
        (
            reads_elsewhere,
            "bond.z: reads 'z', which is over directed pairs, got elements over others; declare it over"
            ' "directed_pairs", with Node(of="pair")',
        ),
        (
            lambda: bind(held, state(), cutoff=Cutoff(RC, images=True), renamed={"z": "m"}),
            "held.z: is a field over directed pairs, got 'm', which is over nodes; give it the output of a"
            " map over directed pairs or triples",
        ),
        (
            two_lists,
            "field 'z': is over other nodes or directed pairs than this map gives to; give both maps the same"
            " cutoff and skin, or each an output of its own",
        ),
        (two_nodes, "crowd: a triple needs three nodes, got 2; add nodes"),
        (
            undeclared,
            "energy 'lost': is over directed pairs, which follow from positions, got no field of nodes; give"
            ' it x=Node("m", ("d",))',
        ),
    ],
)
def test_what_does_not_fit_is_refused(made, message):
    with pytest.raises(EnergyError) as caught:
        made()
    assert str(caught.value) == message
