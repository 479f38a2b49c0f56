"""Energies whose far pairs are computed by a tree, against direct sums in NumPy and their own differences."""

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, Table, bind, local_energy
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.elements.trees.near_pairs import NearPairs
from minusgrad.energies.pairs.far import Far
from minusgrad.engine import runtime
from minusgrad.plugin import ti
from minusgrad.potential.far_pairs.force_error import force_error
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.far_energies import CASES, CHARGE, X, attraction, direct

FAR = Far(opening_angle=0.55, order=4)


def state(n: int = 1500, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Positions of a cluster, and weights."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(n, d)) * rng.uniform(0.1, 1.0, (n, 1))
    return x, rng.uniform(0.2, 1.0, n)


def potential(
    name: str, far: Far | None = FAR, d: int = 3, n: int = 1500, precision: str = "f64"
) -> Potential:
    energy, weight, parameters, _ = CASES[name]
    x, w = state(n, d)
    fields = Fields({"x": x, weight: w}, precision=precision)
    return Potential(fields, [bind(energy, fields, parameters=parameters, far=far)])


@pytest.mark.parametrize(
    ("name", "d", "precision"),
    [
        ("gravity", 3, "f64"),
        pytest.param("gravity", 3, "f32", marks=pytest.mark.long),
        pytest.param("yukawa", 3, "f64", marks=pytest.mark.long),
        pytest.param("logarithm", 2, "f64", marks=pytest.mark.long),
    ],
)
def test_forces_are_those_of_direct_sums(name, d, precision):
    far = Far(opening_angle=0.5, order=4)
    tree, (x, w) = potential(name, far, d, precision=precision), state(d=d)
    exact = direct(CASES[name][3], x, w, np.arange(len(x)))
    found = tree.gradient("x").astype(np.float64)
    off, size = np.linalg.norm(found - exact, axis=1), np.linalg.norm(exact, axis=1)
    rms = np.sqrt((off**2).mean() / (size**2).mean())
    assert 1e-6 < rms < 2e-3  # it has far pairs
    assert np.quantile(off / size, 0.99) < 2e-2
    eps = {"f64": 1e-13, "f32": 1e-4}[precision]
    assert np.abs(found.sum(axis=0)).max() < eps * size.sum()  # momentum is conserved
    term = tree.terms[CASES[name][0].name]
    measured = force_error(term)
    assert 0.3 * rms < measured.rms < 3.0 * rms
    assert "relative rms error" in measured.remark


@pytest.mark.parametrize(
    ("name", "d", "order"),
    [("gravity", 2, 2), *(pytest.param(name, 3, 3, marks=pytest.mark.long) for name in CASES)],
)
def test_value_gradient_and_product_are_of_one_function(name, d, order):
    """Central differences of U and of its gradient, with the tree of one reference."""
    tree = potential(name, Far(opening_angle=0.8, order=order, skin=1.0), d)
    weight, rng = CASES[name][1], np.random.default_rng(3)
    parameter = f"{CASES[name][0].name}.{next(iter(CASES[name][2]))}"
    x, w = (tree.fields[n].values.copy() for n in ("x", weight))
    p = tree.parameter(parameter)
    along = {"x": rng.normal(size=x.shape), weight: rng.normal(size=w.shape), parameter: 0.8}
    names, h = [*along], 1e-6
    gradient = {n: tree.gradient(n) for n in names}
    products = {n: tree.product(along, n) for n in names}
    elements = tree.terms[CASES[name][0].name].elements
    version = elements.version
    assert elements.cells.far.begin[-1] > 20

    def at(step: float) -> tuple[float, dict[str, np.ndarray]]:
        tree.fields["x"].set(x + step * along["x"])
        tree.fields[weight].set(w + step * along[weight])
        tree.set_parameter(parameter, p + step * along[parameter])
        return tree.value(), {n: tree.gradient(n) for n in names}

    (above, after), (below, before) = at(h), at(-h)
    assert elements.version == version
    change = sum(np.sum(gradient[n] * along[n]) for n in names)
    assert (above - below) / (2 * h) == pytest.approx(change, rel=1e-6)
    for n in names:
        difference = (after[n] - before[n]) / (2 * h)
        assert np.abs(products[n] - difference).max() < 1e-5 * np.abs(difference).max(), n


@pytest.mark.long
def test_the_product_is_symmetric():
    tree, rng = potential("gravity", n=500), np.random.default_rng(4)
    one, other = rng.normal(size=(2, 500, 3))
    masses = rng.normal(size=500)
    assert np.sum(other * tree.product({"x": one}, "x")) == pytest.approx(
        np.sum(one * tree.product({"x": other}, "x")), rel=1e-12
    )
    assert np.sum(masses * tree.product({"x": one}, "m")) == pytest.approx(
        np.sum(one * tree.product({"m": masses}, "x")), rel=1e-12
    )


@pytest.mark.long
def test_masses_and_constants_have_the_gradients_of_direct_sums():
    tree, exact = potential("gravity"), potential("gravity", None)
    for name in ("m", "attraction.G", "attraction.softening"):
        found, right = tree.gradient(name), exact.gradient(name)
        assert np.abs(found - right).max() < 1e-3 * np.abs(right).max(), name
    assert tree.value() == pytest.approx(exact.value(), rel=1e-4)
    assert tree.by_element("attraction").sum() == pytest.approx(tree.value(), rel=1e-12)


@pytest.mark.long
def test_the_tree_follows_the_positions():
    tree = potential("gravity", n=500)
    x, _ = state(500)
    tree.gradient("x")
    tree.fields["x"].set(x[::-1].copy())
    moved = tree.gradient("x")
    fields = Fields({"x": x[::-1].copy(), "m": tree.fields["m"].values})
    again = Potential(fields, [bind(attraction, fields, parameters=CASES["gravity"][2], far=FAR)])
    assert np.array_equal(moved, again.gradient("x"))
    assert isinstance(tree.terms["attraction"].elements, NearPairs)


@local_energy("aim", over="nodes", x=X)
def aim(x):
    """A loss of the last state."""
    return x[0].dot(x[0]) ** 2


def rollout(far: Far | None) -> Rollout:
    """6 steps of a small cluster, and a loss of where they end."""
    x, m = state(1200)
    fields = Fields({"x": x, "v": 0.3 * x[::-1].copy(), "m": m / 1200})
    of_pairs = bind(attraction, fields, parameters={"G": 1.0, "softening": 0.2}, far=far)
    stepper = Integrator(
        System(Potential(fields, [of_pairs]), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.05
    )
    return Rollout(stepper, [Loss(Potential(fields, [bind(aim, fields)]), (6,))], 6)


@pytest.mark.long
def test_runs_have_the_derivatives_of_direct_sums():
    names = ["x", "v", "m", "attraction.G", "attraction.softening"]
    (value, slopes), (right, exact) = (
        rollout(far).evaluate(names) for far in (Far(opening_angle=0.6, order=3), None)
    )
    assert value == pytest.approx(right, rel=1e-3)
    assert value != right
    for name in names:
        assert np.abs(slopes[name] - exact[name]).max() < 1e-2 * np.abs(exact[name]).max(), name


@local_energy("tabulated", over="pairs", x=X, q=CHARGE, table=Table("1"))
def tabulated(x, q, table):
    """An energy with numbers of a table."""
    r = x[0] - x[1]
    return table[0] * q[0] * q[1] * ti.exp(-table[1] * r.dot(r))


def test_numbers_of_tables_are_those_of_direct_sums():
    x, q = state(300, 2)
    fields, table = Fields({"x": x, "q": q}), {"table": np.array([1.5, 0.4])}
    tree, exact = (Potential(fields, [bind(tabulated, fields, tables=table, far=far)]) for far in (FAR, None))
    assert tree.terms["tabulated"].elements.cells.far.count > 0
    for name in ("x", "q"):
        right = exact.gradient(name)
        assert np.linalg.norm(tree.gradient(name) - right) < 1e-2 * np.linalg.norm(right)


@pytest.mark.long
def test_bits_do_not_depend_on_threads(any_threads):
    """Last in this file: the engine is restarted and forgets its kernels."""
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        tree = potential("gravity")
        along = np.random.default_rng(5).normal(size=(1500, 3))
        found.append((tree.gradient("x"), tree.product({"x": along}, "x"), tree.value()))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
