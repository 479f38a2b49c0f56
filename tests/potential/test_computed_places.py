"""Positions that a map gives: cutoffs, lists and images at them, against sums in NumPy."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Output, Potential, bind, local_map
from minusgrad.energies.fields import POSITIONS
from minusgrad.energies.pairs.far import Far
from minusgrad.errors import EnergyError
from minusgrad.plugin import Cutoff
from minusgrad.potential.watches.followed_images import other_images
from minusgrad_molecular.bonded import harmonic_bond
from minusgrad_molecular.electrostatics import coulomb

EDGE, MOLECULES = 1.6, 8
WEIGHTS, ACROSS = np.array([0.7, 0.2, 0.1]), 0.4
CHARGES = np.array([0.3, 0.5, 0.4, -1.2])
CUT, BEGIN = 0.6, 0.5
AT = {"x": "places"}


@local_map(
    "tips",
    gives={"places": Output("m", ("d",), places=True)},
    over=("place", "atom", "atom", "atom"),
    images="first",
    x=Node("m", ("d",), of="atom"),
)
def tips(x):
    return 0.7 * x[1] + 0.2 * x[2] + 0.1 * x[3] + 0.4 * (x[2] - x[1]).cross(x[3] - x[1])


@local_map(
    "atoms",
    gives={"places": Output("m", ("d",), places=True)},
    over=("place", "atom"),
    x=Node("m", ("d",), of="atom"),
)
def atoms(x):
    return x[1]


def start() -> np.ndarray:
    rng = np.random.default_rng(2)
    corners = np.stack(np.meshgrid(*[np.arange(2)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    shape = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]])
    return (0.5 * EDGE * corners + shape + 0.06 * rng.normal(size=(MOLECULES, 3, 3))).reshape(-1, 3)


def tip(x: np.ndarray) -> np.ndarray:
    one, two, three = x[0::3], x[1::3], x[2::3]
    flat = WEIGHTS[0] * one + WEIGHTS[1] * two + WEIGHTS[2] * three
    return flat + ACROSS * np.cross(two - one, three - one)


def left_out() -> np.ndarray:
    n = 3 * MOLECULES
    every = [(3 * k, 3 * k + 1, 3 * k + 2, n + k) for k in range(MOLECULES)]
    return np.array([pair for one in every for pair in combinations(one, 2)])


def summed(x: np.ndarray, edge: float = EDGE) -> float:
    """U of all pairs of places within the cutoff, of nearest images, in a cube."""
    places = np.concatenate([x, tip(x)])
    q = np.concatenate([np.tile(CHARGES[:3], MOLECULES), np.full(MOLECULES, CHARGES[3])])
    i, j = np.triu_indices(len(places), 1)
    excluded = {tuple(pair) for pair in left_out()}
    kept = np.array([(a, b) not in excluded for a, b in zip(i, j, strict=True)])
    apart = places[i[kept]] - places[j[kept]]
    r = np.linalg.norm(apart - edge * np.round(apart / edge), axis=1)
    s = np.clip((r - BEGIN) / (CUT - BEGIN), 0.0, 1.0)
    switched = (1.0 - s**3 * (10.0 - 15.0 * s + 6.0 * s * s)) / r
    return float((q[i[kept]] * q[j[kept]] * switched)[r < CUT].sum())


def water(x: np.ndarray | None = None, precision: str = "f64") -> Potential:
    """Charges on atoms and tips, and a spring between the first atoms and the tips of two neighbours."""
    n = 3 * MOLECULES
    q = np.concatenate([np.tile(CHARGES[:3], MOLECULES), np.full(MOLECULES, CHARGES[3])])
    fields = Fields(
        {"x": start() if x is None else x, "charge": q, "box": EDGE * np.eye(3)[None]},
        {"x": "m", "charge": "C", "box": "m"},
        precision,
    )
    sizes = {"place": n + MOLECULES}
    rows = [[n + k, 3 * k, 3 * k + 1, 3 * k + 2] for k in range(MOLECULES)]
    maps = [
        bind(atoms, fields, tuples=[[k, k] for k in range(n)], sizes=sizes),
        bind(tips, fields, tuples=rows, sizes=sizes),
    ]
    Potential(fields, [], maps).refresh()
    cutoff = Cutoff(CUT, BEGIN, skin=0.1)
    charged = bind(
        coulomb, fields, renamed=AT, cutoff=cutoff, exclude=left_out(), parameters={"coulomb_constant": 1.0}
    )
    return Potential(fields, [charged], maps)


@pytest.fixture(scope="module")
def potential() -> Potential:
    return water()


@pytest.fixture
def fresh(potential: Potential) -> Potential:
    potential.fields["x"].set(start())
    potential.fields["box"].set(EDGE * np.eye(3)[None])
    return potential


def test_energy_and_gradient_are_those_of_the_sum(fresh: Potential) -> None:
    x, h = start(), 1e-6
    assert fresh.value() == pytest.approx(summed(x), rel=1e-13)
    np.testing.assert_allclose(fresh.fields["places"].values[24:], tip(x), rtol=1e-14)
    found = fresh.gradient("x")
    for node, axis in ((0, 0), (1, 1), (2, 2), (20, 0)):
        off = np.zeros_like(x)
        off[node, axis] = h
        assert found[node, axis] == pytest.approx((summed(x + off) - summed(x - off)) / (2 * h), rel=2e-7)


def test_hessian_products_are_differences_of_gradients(fresh: Potential) -> None:
    x, h = start(), 1e-5
    along = np.random.default_rng(3).normal(size=x.shape)
    product = fresh.product({"x": along}, "x")
    gradients = []
    for sign in (1, -1):
        fresh.fields["x"].set(x + sign * h * along)
        gradients.append(fresh.gradient("x"))
    np.testing.assert_allclose(
        product, (gradients[0] - gradients[1]) / (2 * h), atol=1e-6 * np.abs(product).max()
    )


def test_lists_follow_the_places(fresh: Potential) -> None:
    """Every pair that comes within the cutoff is seen: of atoms that move little, also where a tip moves."""
    built, x, rng = fresh.fields.lists_at("places").version, start(), np.random.default_rng(4)
    with fresh.fields.images_held():  # as in a run, where nothing else asks for the places
        for far in (0.03, 0.03, 0.03, 0.3, 0.03, 0.3):
            x = x + 0.01 * rng.normal(size=x.shape)
            x = x + far * np.repeat(rng.normal(size=(MOLECULES, 3)), 3, axis=0)
            fresh.fields["x"].set(x)
            assert fresh.value() == pytest.approx(summed(x), rel=1e-12)
    assert fresh.fields.lists_at("places").version > built
    assert fresh.fields.listed_positions == ["places"]
    assert [*fresh.fields.of_lists] == ["listed_places", "listed_box_of_places"]


def test_wrapped_atoms_have_the_energy_of_whole_molecules(fresh: Potential) -> None:
    before = fresh.value()
    rng = np.random.default_rng(5)
    fresh.fields["x"].set(start() + EDGE * rng.integers(-1, 2, size=(24, 3)))
    assert fresh.value() == pytest.approx(before, rel=1e-12)


def test_the_virial_is_the_derivative_by_a_strain(fresh: Potential) -> None:
    """Tips off the plane follow no strain: U of the strained atoms is that of tips made anew."""
    x, h = start(), 1e-6
    found = float((fresh.gradient("x") * x).sum() + EDGE * np.trace(fresh.gradient("box")[0]))
    grown, shrunk = (summed(x * (1 + s), EDGE * (1 + s)) for s in (h, -h))
    assert found == pytest.approx((grown - shrunk) / (2 * h), rel=1e-7)


def test_single_precision_and_twins(fresh: Potential) -> None:
    assert water(precision="f32").value() == pytest.approx(summed(start()), rel=1e-5)
    twin = fresh.twin()
    twin.fields["x"].set(start() + 0.05)
    assert twin.value() == pytest.approx(fresh.value(), rel=1e-12)
    assert twin.fields.lists_at("places") is not fresh.fields.lists_at("places")


def test_images_at_places_that_stay_are_watched(fresh: Potential) -> None:
    rows = [[0, 24], [3, 25]]
    spring = bind(
        harmonic_bond, fresh.fields, name="spring", renamed=AT, tuples=rows,
        data={"rest": 0.0, "stiffness": 1.0},
    )  # fmt: skip
    held = Potential(fresh.fields, [spring], [*fresh.maps.values()])
    with fresh.fields.images_held():
        assert other_images(held.parts.values(), fresh.fields) == ""
        x = start()
        x[3:6] += [EDGE, 0, 0]
        assert other_images(held.parts.values(), fresh.fields, x) == ""
        x = start()
        x[0] += [0, EDGE, 0]
        found = other_images(held.parts.values(), fresh.fields, x)
        assert found.endswith("of 'tips' in other images of the box than at the start")
        x = start()
        x[:3] += 0.6 * EDGE  # the whole molecule, so that no tip has other images
        assert other_images(held.parts.values(), fresh.fields, x) == ""


def test_names_that_stand_for_fields(fresh: Potential) -> None:
    seen = fresh.fields.renamed(AT)
    term = bind(coulomb, seen, name="again", cutoff=Cutoff(CUT, BEGIN, skin=0.1), exclude=left_out(),
                parameters={"coulomb_constant": 1.0})  # fmt: skip
    assert term.fields["x"] is fresh.fields["places"]
    again = Potential(fresh.fields, [term], [*fresh.maps.values()])
    assert again.value() == fresh.value()
    np.testing.assert_array_equal(again.gradient("x"), fresh.gradient("x"))


def unmade() -> tuple[Fields, Any]:
    fields = Fields({"x": start(), "charge": np.ones(24), "box": EDGE * np.eye(3)[None]})
    return fields, bind(atoms, fields, tuples=[[k, k] for k in range(24)], sizes={"place": 24})


def test_places_without_values_and_two_fields_are_refused() -> None:
    fields, of_atoms = unmade()
    with pytest.raises(EnergyError) as found:
        bind(coulomb, fields, renamed=AT, cutoff=Cutoff(CUT))
    assert str(found.value) == (
        "coulomb.cutoff: needs values of 'places', which a map computes that has not run, got NaN; run it"
        " before: Potential(fields, [], [the_map]).refresh()"
    )
    Potential(fields, [], [of_atoms]).refresh()
    with pytest.raises(EnergyError, match="far: is of the positions 'x', got 'places', which a map computes"):
        bind(coulomb, fields, renamed=AT, far=Far(error=1e-3))

    @local_map("both", gives="y", over=2, x=Node("m", ("d",)), r=Node("m", ("d",)))
    def both(x, r):
        return (x[0] - r[1]).norm_sqr()

    with pytest.raises(EnergyError, match="needs positions of one field for images and cutoffs, got x and"):
        bind(both, fields, tuples=[[0, 1]], renamed={"r": "places"})
    assert POSITIONS in fields


def test_places_have_a_length_and_the_axes_of_space() -> None:
    with pytest.raises(
        EnergyError, match=r"'y' gives places, which need the unit m and the shape \(\"d\",\)"
    ):
        local_map("y", gives={"y": Output("s", ("d",), places=True)}, over="nodes", x=Node())(lambda x: x[0])
