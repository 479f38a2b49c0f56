"""Pairs within a cutoff in periodic boxes, against sums over all images in NumPy."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Motion, Node, Parameter, Potential, bind, local_energy, local_map
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.check import single_precision, term_check
from minusgrad.check.map_probe import probe_map
from minusgrad.check.single_precision import in_double
from minusgrad.elements import unlisted_pairs
from minusgrad.elements.list_reference import ListReference
from minusgrad.elements.neighbours.pair_list import PairList
from minusgrad.energies.pairs.cutoff import Cutoff
from minusgrad.energies.pairs.scaled_pairs import with_scaled_pairs
from minusgrad.energies.term_spec import TermSpec
from minusgrad.engine import kernels
from minusgrad.errors import EnergyError
from minusgrad.plugin import Body, Box, ti
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.periodic_sums import images, pair_derivatives, pair_sum, quintic, slope, wrapped

X = Node("m", ("d",))
UNITS = {"x": "m", "v": "m s^-1", "m": "kg", "box": "m"}
CUTOFF = 2.5


@local_energy("dispersion", over="pairs", x=X, depth=Parameter("J"), size=Parameter("m"))
def dispersion(x, depth, size):
    """Lennard-Jones."""
    apart = x[0] - x[1]
    s = (size * size / apart.dot(apart)) ** 3
    return 4.0 * depth * (s * s - s)


@local_energy("spring", over=2, x=X, k=Parameter("N/m"))
def spring(x, k):
    """A spring without a length at rest."""
    apart = x[1] - x[0]
    return 0.5 * k * apart.dot(apart)


@local_energy("filling", over="nodes", x=X, box=Box(), k=Parameter("J m^-3"))
def filling(x, box, k):
    """A pressure: an energy that is proportional to the volume of the box."""
    return k * (box[0, 0] * box[1, 1] - box[0, 1] * box[1, 0]) + 0.0 * x[0][0]


@local_energy("misread", over="nodes", box=Node("m", ("d", "d")))
def misread(box):
    """The area of the box, read as if it belonged to a node."""
    return box[0].determinant()


@local_energy("bend", over="triples", x=X, k=Parameter("J"))
def bend(x, k):
    """A symmetric function of two arms."""
    return k * (x[1] - x[0]).dot(x[2] - x[0]) ** 2


@local_map("crowding", gives="crowding", over="pairs", x=X)
def crowding(x):
    """A sum over neighbours."""
    apart = x[0] - x[1]
    return ti.exp(-4.0 * apart.dot(apart))


@local_energy("embedding", over="nodes", crowding=Node("1"), c=Parameter("J"))
def embedding(crowding, c):
    """A function of that sum."""
    return c * crowding[0] * crowding[0]


def u(r: np.ndarray) -> np.ndarray:
    """Lennard-Jones of the distance."""
    return 4.0 * (r**-12 - r**-6)


def switched(r: np.ndarray) -> np.ndarray:
    return quintic(r, 0.9 * CUTOFF, CUTOFF) * u(r)


BOXES: Mapping[str, tuple[np.ndarray, tuple[bool, ...]]] = {
    "cube": (np.diag([6.4, 6.4, 6.4]), (True,) * 3),
    "triclinic": (np.array([[6.4, 0.0, 0.0], [1.5, 6.4, 0.0], [-0.8, 1.1, 6.4]]), (True,) * 3),
    "slab": (np.diag([6.4, 6.4, 6.4]), (True, True, False)),
    "plane": (np.array([[6.4, 0.0], [1.2, 6.4]]), (True, True)),
}


def lattice(box: np.ndarray, seed: int = 1, n: int = 4) -> np.ndarray:
    """A disturbed lattice, some nodes of which are several boxes away."""
    rng, d = np.random.default_rng(seed), len(box)
    s = np.stack(np.meshgrid(*[np.arange(n) / n] * d, indexing="ij"), -1).reshape(-1, d)
    x = s @ box + rng.uniform(-0.12, 0.12, (len(s), d))
    return x + rng.integers(-2, 3, x.shape) @ box


def in_box(name: str, precision: str = "f64") -> Fields:
    box, periodic = BOXES[name]
    x = lattice(box)
    x = x if all(periodic) else np.where(periodic, x, x - np.floor(x / 6.4) * 6.4)
    v = np.random.default_rng(3).normal(size=x.shape)
    return Fields({"x": x, "v": v, "m": np.ones(len(x)), "box": box[None]}, UNITS, precision, periodic)


def within(fields: Fields, **keys: Any) -> Potential:
    cutoff = keys.pop("cutoff", Cutoff(CUTOFF))
    parameters = {"depth": 1.0, "size": 1.0}
    return Potential(fields, [bind(dispersion, fields, parameters=parameters, cutoff=cutoff, **keys)])


def energy(fields: Fields, x: Any = None, box: Any = None, **keys: Any) -> float:
    x = fields["x"].values.astype(float) if x is None else x
    box = fields["box"].values[0].astype(float) if box is None else box
    return pair_sum(x, box, fields.periodic, CUTOFF, keys.pop("u", switched), **keys)


def derivatives(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and second derivative of the switched energy by the distance, by hand."""
    width, begin = 0.1 * CUTOFF, 0.9 * CUTOFF
    s = np.clip((r - begin) / width, 0.0, 1.0)
    switch = 1.0 - 10.0 * s**3 + 15.0 * s**4 - 6.0 * s**5
    first, second = -30.0 * s**2 * (1.0 - s) ** 2 / width, -60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / width**2
    du, ddu = 4.0 * (-12.0 * r**-13 + 6.0 * r**-7), 4.0 * (156.0 * r**-14 - 42.0 * r**-8)
    return first * u(r) + switch * du, second * u(r) + 2.0 * first * du + switch * ddu


@pytest.mark.parametrize("name", BOXES)
def test_value_gradients_and_products_are_those_of_all_images(name: str) -> None:
    fields = in_box(name)
    potential, rng = within(fields), np.random.default_rng(5)
    assert potential.value() == pytest.approx(energy(fields), rel=1e-13)
    x, box = fields["x"].values, fields["box"].values[0]
    dx, dbox = rng.normal(size=x.shape), rng.normal(size=box.shape)
    wanted = pair_derivatives(x, box, fields.periodic, CUTOFF, derivatives, dx, dbox)
    along = {"x": dx, "box": dbox[None]}
    found = potential.gradient("x"), potential.gradient("box")[0]
    found += potential.product(along, "x"), potential.product(along, "box")[0]
    for one, right in zip(found, wanted, strict=True):
        assert one == pytest.approx(right, rel=1e-11, abs=1e-12 * np.abs(right).max())


def test_mixed_derivatives_by_a_parameter() -> None:
    fields = in_box("triclinic")
    potential, rng = within(fields), np.random.default_rng(6)
    dx, dbox = rng.normal(size=fields["x"].shape), rng.normal(size=fields["box"].shape)

    def along(h: float) -> float:
        potential.set_parameter("dispersion.size", 1.0 + h)
        return float((potential.gradient("x") * dx).sum() + (potential.gradient("box") * dbox).sum())

    wanted = slope(along, 1e-4)
    potential.set_parameter("dispersion.size", 1.0)
    assert potential.product({"x": dx, "box": dbox}, "dispersion.size") == pytest.approx(wanted, rel=1e-8)
    by_x, by_box = (potential.product({"dispersion.size": 1.0}, wrt) for wrt in ("x", "box"))
    assert (by_x * dx).sum() + (by_box * dbox).sum() == pytest.approx(wanted, rel=1e-8)


def test_the_sparse_hessian_is_that_of_the_products_and_follows_rebuilt_lists() -> None:
    fields = in_box("triclinic")
    potential, rng = within(fields), np.random.default_rng(7)
    for _ in range(2):
        w = rng.normal(size=fields["x"].shape)
        product = potential.product({"x": w}, "x")
        assert (potential.hessian("x") @ w.ravel()).reshape(w.shape) == pytest.approx(
            product, rel=1e-11, abs=1e-9
        )
        fields["x"].set(fields["x"].values + rng.uniform(-0.4, 0.4, w.shape))


def test_images_beyond_half_the_box_count_when_asked() -> None:
    fields = in_box("triclinic")
    text = (
        "dispersion.cutoff: must be, with the skin, at most half the smallest distance between opposite faces"
    )
    with pytest.raises(EnergyError, match=re.escape(text)):
        within(fields, cutoff=Cutoff(6.0))
    potential = within(fields, cutoff=Cutoff(6.0, sharp=True, images=True))
    box = fields["box"].values[0]
    wanted = pair_sum(fields["x"].values, box, fields.periodic, 6.0, u)
    assert potential.value() == pytest.approx(wanted, rel=1e-13)


def test_a_node_interacts_with_its_own_images() -> None:
    box = np.diag([1.1, 1.2, 1.3])
    fields = Fields({"x": np.zeros((1, 3)), "box": box[None]}, UNITS)
    two = Fields({"x": np.array([[0.0, 0.0, 0.0], [0.5, 0.6, 0.7]]), "box": box[None]}, UNITS)
    potential = within(two, cutoff=Cutoff(CUTOFF, images=True))
    assert potential.value() == pytest.approx(energy(two), rel=1e-12)
    assert potential.hessian("x").toarray().sum(axis=1) == pytest.approx(0.0, abs=1e-6)
    alone = within(fields, cutoff=Cutoff(CUTOFF, images=True))
    assert alone.value() == pytest.approx(energy(fields), rel=1e-12)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_sharp_cutoff_and_both_precisions(precision: str) -> None:
    fields = in_box("triclinic", precision)
    room = {"f64": 1e-13, "f32": 2e-5}[precision]
    sharp = within(fields, cutoff=Cutoff(CUTOFF, sharp=True))
    assert sharp.value() == pytest.approx(energy(fields, u=u), rel=room)
    assert within(fields).value() == pytest.approx(energy(fields), rel=room)


def test_without_a_box_a_cutoff_limits_pairs_of_an_open_cluster() -> None:
    x = lattice(np.diag([6.4] * 3), n=4) % 6.4
    fields = Fields({"x": x}, UNITS)
    potential = within(fields)
    wanted = pair_sum(x, np.eye(3), (False,) * 3, CUTOFF, switched)
    assert potential.value() == pytest.approx(wanted, rel=1e-13)
    assert len(potential.gradient("x")) == len(x)


@pytest.mark.parametrize("most", [unlisted_pairs.MOST, 1.0])
def test_no_pair_enters_unseen(most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that approach each other from beyond the list, in steps of every size, against a fresh list."""
    monkeypatch.setattr(unlisted_pairs, "MOST", most)
    rng, fields = np.random.default_rng(8), in_box("triclinic")
    potential = within(fields, cutoff=Cutoff(CUTOFF, skin=0.3))
    elements = potential.terms["dispersion"].elements
    rebuilt = 0
    for size in [0.01] * 10 + [0.05] * 10 + [0.14, 0.2, 0.5, 1.0, 3.0]:
        before = elements.version
        fields["x"].set(fields["x"].values + rng.uniform(-size, size, fields["x"].shape))
        fields["box"].set(fields["box"].values * rng.uniform(0.995, 1.005))
        value = potential.value()
        fresh = within(Fields({n: fields[n].values for n in ("x", "box")}, UNITS)).value()
        assert value == pytest.approx(fresh, rel=1e-12)
        elements = potential.terms["dispersion"].elements
        rebuilt += elements.version != before
    assert 3 <= rebuilt < 25


def test_displacements_are_tested_once_for_all_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    fields, calls = in_box("cube"), []
    parameters = {"depth": 1.0, "size": 1.0}
    shorter = bind(replace(dispersion, name="shorter"), fields, parameters=parameters, cutoff=Cutoff(1.5))
    potential = Potential(fields, [*within(fields).terms.values(), shorter])
    follow = ListReference.follow
    monkeypatch.setattr(ListReference, "follow", lambda *given: calls.append(0) or follow(*given))
    potential.value()
    assert len(calls) == 1


def test_lists_grow_in_place_and_no_kernel_is_compiled_again() -> None:
    fields = in_box("cube")
    potential = within(fields)
    potential.gradient("x")
    compiled, rng = kernels.compiled_count(), np.random.default_rng(9)
    for _ in range(5):
        fields["x"].set(fields["x"].values + rng.uniform(-0.3, 0.3, fields["x"].shape))
        potential.gradient("x")
    fields["x"].set(fields["x"].values * 0.6)
    potential.gradient("x")
    assert kernels.compiled_count() == compiled
    wanted = energy(fields)
    assert potential.value() == pytest.approx(wanted, rel=1e-12)


def test_a_box_without_periodic_axes_limits_nothing() -> None:
    values = {"x": lattice(np.diag([6.4] * 3)) % 6.4, "box": 6.4 * np.eye(3)[None]}
    fields = Fields(values, UNITS, periodic=(False,) * 3)
    wanted = pair_sum(fields["x"].values, np.eye(3), (False,) * 3, np.inf, u)
    assert within(fields, cutoff=None).value() == pytest.approx(wanted, rel=1e-12)


def test_bodies_in_any_order_exclude_their_pairs() -> None:
    fields = in_box("triclinic")
    pairs = [[0, 1], [5, 4], [2, 18]]
    ordered, mixed = (
        within(fields, bodies=[Body("some", nodes)], exclude=pairs)
        for nodes in (np.arange(20), np.random.default_rng(2).permutation(20))
    )
    assert ordered.value() == mixed.value() != within(fields, bodies=[Body("some", np.arange(20))]).value()


def test_excluded_and_scaled_pairs() -> None:
    fields = in_box("triclinic")
    spec = TermSpec(dispersion, parameters={"depth": 1.0, "size": 1.0}, cutoff=Cutoff(CUTOFF))
    pairs = np.array([[0, 1], [5, 4], [2, 18]])
    some = replace(spec, exclude=pairs[:2], scaled={"near": (pairs[2:], 0.5)})
    potential = Potential(fields, with_scaled_pairs(some, fields))
    assert [*potential.terms] == ["dispersion_near", "dispersion"]
    x, box = fields["x"].values, fields["box"].values[0]
    out = frozenset([(0, 1), (4, 5), (2, 18)])
    parts = potential.by_term()
    assert parts["dispersion"] == pytest.approx(energy(fields, excluded=out), rel=1e-13)
    apart = x[18] - x[2]
    shifts = np.stack(np.meshgrid(*[np.arange(-6, 7)] * 3, indexing="ij"), -1).reshape(-1, 3) @ box
    nearest = 0.5 * u(np.linalg.norm(apart + shifts, axis=1).min())
    assert parts["dispersion_near"] == pytest.approx(nearest, rel=1e-12)
    assert potential.gradient("dispersion.depth") == pytest.approx(sum(parts.values()), rel=1e-12)
    potential.set_parameter("dispersion.depth", 2.0)
    assert potential.value() == pytest.approx(2.0 * sum(parts.values()), rel=1e-12)


def test_tuples_across_the_boundary_have_the_nearest_images() -> None:
    box = np.diag([4.0, 4.0, 4.0])
    x = np.array([[0.2, 0.1, 0.0], [3.9, 0.3, 0.1], [8.3, -3.8, 0.2]])
    fields = Fields({"x": x, "box": box[None]}, UNITS)
    potential = Potential(fields, [bind(spring, fields, tuples=[[0, 1], [0, 2]], parameters={"k": 2.0})])
    apart = np.array([[-0.3, 0.2, 0.1], [0.1, 0.1, 0.2]])
    assert potential.value() == pytest.approx((apart**2).sum(), rel=1e-12)
    assert potential.gradient("x")[1] == pytest.approx(2.0 * apart[0], abs=1e-12)
    whole_boxes = np.rint((apart - (x[1:] - x[0])) / 4.0)
    assert potential.gradient("box")[0] == pytest.approx(2.0 * whole_boxes.T @ apart, abs=1e-12)
    with pytest.raises(EnergyError, match=r"row 0 = \[0, 0\] has node 0 twice, in the same image"):
        bind(spring, fields, tuples=[[0, 0]], parameters={"k": 2.0})


def test_an_energy_may_read_the_box() -> None:
    fields = in_box("plane")
    potential = Potential(fields, [bind(filling, fields, parameters={"k": 0.5})])
    box, n = fields["box"].values[0], len(fields["x"])
    assert potential.value() == pytest.approx(0.5 * n * np.linalg.det(box), rel=1e-13)
    wanted = 0.5 * n * np.linalg.det(box) * np.linalg.inv(box).T
    assert potential.gradient("box")[0] == pytest.approx(wanted, rel=1e-12)
    along = np.array([[[0.3, -0.1], [0.7, 0.2]]])
    twisted = np.array([[along[0, 1, 1], -along[0, 1, 0]], [-along[0, 0, 1], along[0, 0, 0]]])
    assert potential.product({"box": along}, "box")[0] == pytest.approx(0.5 * n * twisted, rel=1e-12)


def test_a_map_over_listed_pairs_and_what_reads_it() -> None:
    fields = in_box("triclinic")
    of_map = bind(crowding, fields, cutoff=Cutoff(CUTOFF))
    potential = Potential(fields, [bind(embedding, fields, parameters={"c": 0.7})], [of_map])
    x, box = fields["x"].values.copy(), fields["box"].values[0].copy()
    rng = np.random.default_rng(11)
    dx, dbox = rng.normal(size=x.shape), rng.normal(size=box.shape)

    def reference(x: np.ndarray, box: np.ndarray) -> float:
        at, shifts = wrapped(x, box, (True,) * 3), images(box, (True,) * 3, CUTOFF)
        r = np.linalg.norm(at[None, :, None] - at[:, None, None] + shifts, axis=-1)
        near = (r > 0.0) & (r < CUTOFF)
        f = np.where(near, quintic(r, 0.9 * CUTOFF, CUTOFF) * np.exp(-4.0 * r * r), 0.0)
        return float(0.7 * (f.sum(axis=(1, 2)) ** 2).sum())

    assert potential.value() == pytest.approx(reference(x, box), rel=1e-12)
    by_x = slope(lambda h: reference(x + h * dx, box))
    by_box = slope(lambda h: reference(x, box + h * dbox))
    assert (potential.gradient("x") * dx).sum() == pytest.approx(by_x, rel=1e-8)
    assert (potential.gradient("box")[0] * dbox).sum() == pytest.approx(by_box, rel=1e-8)
    along = {"x": dx, "box": dbox[None]}
    curve = (potential.product(along, "x") * dx).sum() + (potential.product(along, "box")[0] * dbox).sum()
    h = 3e-4
    values = [reference(x + k * h * dx, box + k * h * dbox) for k in (-2, -1, 0, 1, 2)]
    second = np.dot([-1.0, 16.0, -30.0, 16.0, -1.0], values) / (12.0 * h * h)
    assert curve == pytest.approx(second, rel=1e-6)


def integrator(fields: Fields, potential: Potential) -> Integrator:
    return Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.01)


def test_a_run_has_the_bits_of_its_parts_when_lists_are_rebuilt_from_the_saved_reference() -> None:
    whole = in_box("cube")
    one = integrator(whole, within(whole))
    one.advance(60)
    first = in_box("cube")
    two = integrator(first, within(first))
    two.advance(37)
    assert [*first.of_lists] == ["listed_x", "listed_box"]
    saved = {n: f.values.copy() for n, f in {**first, **first.of_lists}.items()}
    state = two.state()
    again = in_box("cube")
    three = integrator(again, within(again))
    for name, field in {**again, **again.of_lists}.items():
        field.set(saved[name])
    three.restore(state)
    three.step = two.step
    three.advance(23)
    assert np.array_equal(again["x"].values, whole["x"].values)
    assert np.array_equal(again["v"].values, whole["v"].values)


@local_energy("aim", over="nodes", x=X)
def aim(x):
    """A loss: squared distance from the origin."""
    return x[0].dot(x[0])


@pytest.mark.parametrize("budget", [1 << 30, 60_000])
def test_gradients_through_time(budget: int) -> None:
    fields = in_box("cube")
    potential = within(fields, cutoff=Cutoff(CUTOFF, skin=0.1))
    stepper = integrator(fields, potential)
    loss = Loss(Potential(fields, [bind(aim, fields)]), (40,))
    rollout = Rollout(stepper, [loss], 40, budget)
    value, found = rollout.evaluate(["v", "dispersion.depth"])
    assert rollout.evaluate(["v"])[0] == value
    v = fields["v"].values.copy()
    dv = np.random.default_rng(12).normal(size=v.shape)

    def of(h: float) -> float:
        fields["v"].set(v + h * dv)
        made = rollout.value()
        fields["v"].set(v)
        return made

    assert (found["v"] * dv).sum() == pytest.approx(slope(of, 1e-4), rel=1e-7)


def test_a_probed_map_has_lists_of_its_own() -> None:
    fields = in_box("triclinic")
    probe = probe_map(bind(crowding, fields, cutoff=Cutoff(CUTOFF)), np.random.default_rng(0))
    moved = fields["x"].values + np.random.default_rng(1).uniform(-1.0, 1.0, fields["x"].shape)
    probe.fields["x"].set(moved)
    fresh = Fields({"x": moved, "box": fields["box"].values}, UNITS)
    of_map = bind(crowding, fresh, cutoff=Cutoff(CUTOFF))
    Potential(fresh, [bind(embedding, fresh, parameters={"c": 0.7})], [of_map]).refresh()
    expected = (probe.fields["probe_weight"].values * fresh["crowding"].values).sum()
    assert probe.value() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["slab", "triclinic"])
def test_a_potential_in_double_precision_has_a_box_and_lists_of_its_own(name: str) -> None:
    single = in_box(name, "f32")
    potential = within(single)
    double = in_double(potential)
    assert double.fields.periodic == single.periodic
    value = potential.value()
    double.fields["box"].set(1.03 * double.fields["box"].values)
    double.fields["x"].set(1.02 * double.fields["x"].values)
    assert double.value() == pytest.approx(energy(double.fields), rel=1e-13)
    assert potential.value() == value
    box, e = double.fields["box"].values[0].copy(), np.random.default_rng(1).normal(size=(3, 3))
    wanted = slope(lambda h: energy(double.fields, box=box + h * e))
    assert (double.gradient("box")[0] * e).sum() == pytest.approx(wanted, rel=1e-8)


def test_single_precision_is_checked_in_a_box() -> None:
    single = in_box("plane", "f32")
    asked = [*single_precision.of_single(within(single))]
    crowded = bind(crowding, single, cutoff=Cutoff(CUTOFF))
    asked += single_precision.of_single(
        Potential(single, [bind(embedding, single, parameters={"c": 0.7})], [crowded])
    )
    assert {one.term for one in asked} == {"dispersion", "crowding", "embedding"}
    assert not [str(one) for one in asked if not one.passed]


@pytest.mark.parametrize("kind", ["pairs", "triples", "map"])
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_check_warns_of_a_term_without_elements_within_its_cutoff(kind: str, precision: str) -> None:
    x = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    fields = Fields({"x": x, "box": 9.0 * np.eye(2)[None]}, UNITS, precision)
    energy_of = {"pairs": dispersion, "triples": bend, "map": crowding}[kind]
    parameters = {"pairs": {"depth": 1.0, "size": 1.0}, "triples": {"k": 1.0}, "map": {}}[kind]
    made = bind(energy_of, fields, cutoff=Cutoff(1.0, skin=0.1), parameters=parameters)
    reading = [bind(embedding, fields, parameters={"c": 0.7})] if kind == "map" else [made]
    potential = Potential(fields, reading, [made] if kind == "map" else [])
    ask = term_check.of_potential if precision == "f64" else single_precision.of_single
    (found,) = [one for one in ask(potential) if one.term == made.name]
    assert (found.question, found.passed, found.warning, found.precision) == (
        "elements",
        True,
        True,
        precision,
    )
    assert found.text == (
        "no element is within the cutoff at the given state, so nothing was checked; check a denser state"
    )


def test_a_part_of_a_dilute_term_has_pairs() -> None:
    x = np.arange(200.0)[:, None] * np.array([5.0, 0.0])
    x[7] = x[6] + 0.5
    fields = Fields({"x": x}, UNITS)
    elements = within(fields, cutoff=Cutoff(1.0)).terms["dispersion"].elements
    for seed in range(3):
        assert elements.part(np.random.default_rng(seed), 10, 10)[0].count == 1


def test_check_finds_nothing_wrong_with_a_listed_term() -> None:
    fields = in_box("triclinic")
    potential = within(fields)
    assert not [str(one) for one in term_check.of_potential(potential) if not one.passed]


def test_a_twin_has_lists_of_its_own() -> None:
    fields = in_box("cube")
    potential = within(fields)
    twin = potential.twin()
    value = potential.value()
    twin.fields["x"].set(twin.fields["x"].values * 0.9)
    assert twin.value() != value
    assert potential.value() == value
    mine, other = (p.terms["dispersion"].elements for p in (potential, twin))
    assert isinstance(mine, PairList)
    assert mine.reference is not other.reference


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Cutoff(-1.0), "cutoff: must be above 0, got -1; give a distance"),
        (lambda: Cutoff(1.0, 1.5), "switch: must begin below the cutoff of 1, got 1.5; correct it"),
        (lambda: Cutoff(1.0, skin=-0.1), "skin: must be at least 0, got -0.1; correct it"),
        (
            lambda: Fields({"box": np.ones((1, 2, 2))}, UNITS),
            "box: needs edge vectors that span a volume, got [[1.0, 1.0], [1.0, 1.0]]; correct the edges",
        ),
        (
            lambda: Fields({"x": np.ones((1, 2))}, UNITS, periodic=(True, True)),
            "box: needs edge vectors in a field 'box' of shape (1, d, d), got none; give them, or leave",
        ),
        (
            lambda: Fields({"box": np.eye(2)[None]}, UNITS, periodic=(True,)),
            "box.periodic: needs a value for each of 2 axes, got 1; correct it",
        ),
        (
            lambda: bind(filling, Fields({"x": np.ones((1, 2))}, UNITS), parameters={"k": 1.0}),
            "filling: reads the periodic box, got none; give the scene a [box]",
        ),
        (
            lambda: bind(misread, in_box("plane")),
            "misread.box: reads the periodic box, which all elements share, got the role Node; give it the",
        ),
        (
            lambda: bind(spring, in_box("cube"), tuples=[[0, 1]], parameters={"k": 1.0}, cutoff=Cutoff(1.0)),
            "spring.cutoff: is of pairs, got other elements; leave `cutoff` out",
        ),
        (
            lambda: within(in_box("cube"), cutoff=None),
            "dispersion: is over all pairs of a periodic box, which have no end; give it a `cutoff`",
        ),
        (
            lambda: within(in_box("cube"), cutoff=None, exclude=[[0, 1]]),
            "dispersion.exclude: needs a list of neighbours, got no cutoff",
        ),
        (
            lambda: within(in_box("cube")).hessian(["x", "box"]),
            "'box': is read by all elements, so its second derivatives are no sum over nodes of an element",
        ),
    ],
)
def test_mistakes_name_their_cure(make: Any, text: str) -> None:
    with pytest.raises(EnergyError, match=re.escape(text)):
        make()
