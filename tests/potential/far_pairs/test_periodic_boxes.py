"""Far pairs in periodic boxes, against sums over images in NumPy; sums that do not converge are refused."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Motion, Node, Parameter, Potential, bind, local_energy
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.check import term_check
from minusgrad.energies.pairs.far import Far
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad.plugin import ti
from minusgrad.potential.far_pairs.force_error import narrowed
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.far_energies import CHARGE, X, attraction, percentiles, vortices, yukawa

LENGTH, STRENGTH = 0.3, 0.7
KEPT = Far(opening_angle=0.7, order=3, skin=1.0)


def box(d: int) -> np.ndarray:
    """A skewed one."""
    edges = np.diag([3.0, 3.4, 3.8][:d])
    edges[1, 0] = 0.6
    return edges


def state(n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Positions, some of them boxes away, and charges of both signs."""
    rng, edges = np.random.default_rng(4), box(d)
    x = rng.uniform(0.0, 1.0, (n, d)) @ edges
    x[::7] += 3.0 * edges[0] - 2.0 * edges[1]
    return x, rng.choice([-1.0, 1.0], n) * rng.uniform(0.3, 1.0, n)


def potential(
    far: Far, n: int, d: int = 3, precision: str = "f64", energy: Any = yukawa, **parameters: float
) -> Potential:
    x, q = state(n, d)
    fields = Fields({"x": x, "q": q, "box": box(d)[None]}, precision=precision)
    given = parameters or {"strength": STRENGTH, "length": LENGTH}
    return Potential(fields, [bind(energy, fields, parameters=given, far=far)])


def over_images(n: int, d: int, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """The gradient of Yukawa's energy at some nodes, and their halves of the energy."""
    (x, q), edges = state(n, d), box(d)
    x = x - np.floor(x @ np.linalg.inv(edges)) @ edges
    forces, energy = np.zeros((len(rows), d)), 0.0
    for k, i in enumerate(rows):
        for image in product(range(-3, 4), repeat=d):
            apart = x[i] - x - np.array(image) @ edges
            r = np.linalg.norm(apart, axis=1)
            kept = r > 0.0
            u = STRENGTH * q[i] * q[kept] * np.exp(-r[kept] / LENGTH) / r[kept]
            energy += 0.5 * u.sum()
            forces[k] -= (u * (1.0 / r[kept] + 1.0 / LENGTH) / r[kept]) @ apart[kept]
    return forces, energy


@pytest.mark.parametrize(
    ("n", "d", "precision"),
    [
        (150, 3, "f64"),
        (300, 3, "f64"),
        pytest.param(3000, 3, "f64", marks=pytest.mark.long),
        pytest.param(3000, 3, "f32", marks=pytest.mark.long),
        pytest.param(1500, 2, "f64", marks=pytest.mark.long),
    ],
)
def test_forces_are_those_of_sums_over_images(n, d, precision):
    tree = potential(Far(opening_angle=0.5, order=4), n, d, precision)
    near = tree.terms["yukawa"].elements
    rows = np.arange(n) if n < 200 else np.arange(0, n, n // 60)
    forces, energy = over_images(n, d, rows)
    rms, most = percentiles(tree.gradient("x")[rows], forces)
    assert rms < 2e-3
    assert most < 1e-2
    assert near.cells.far.count > 100
    assert len(near.box_images) >= 5**d
    if len(rows) == n:
        assert tree.value() == pytest.approx(energy, rel=1e-3)
    assert tree.by_element("yukawa").sum() == pytest.approx(tree.value(), rel=1e-12)
    size = np.linalg.norm(tree.gradient("x"), axis=1).sum()
    assert np.abs(tree.gradient("x").sum(axis=0)).max() < {"f64": 1e-12, "f32": 1e-4}[precision] * size


def test_value_gradient_and_product_are_of_one_function():
    """Central differences of U and of its gradient, with the tree of one reference."""
    tree, rng = potential(KEPT, 400), np.random.default_rng(3)
    x, q = (tree.fields[f].values.copy() for f in ("x", "q"))
    along = {"x": rng.normal(size=x.shape), "q": rng.normal(size=q.shape), "yukawa.length": 0.05}
    names, h, before = [*along], 1e-6, tree.terms["yukawa"].elements.version
    gradient = {n: tree.gradient(n) for n in names}
    products = {n: tree.product(along, n) for n in names}

    def at(step: float) -> tuple[float, dict[str, np.ndarray]]:
        tree.fields["x"].set(x + step * along["x"])
        tree.fields["q"].set(q + step * along["q"])
        tree.set_parameter("yukawa.length", LENGTH + step * along["yukawa.length"])
        return tree.value(), {n: tree.gradient(n) for n in names}

    (above, after), (below, earlier) = at(h), at(-h)
    assert tree.terms["yukawa"].elements.version == before
    change = sum(np.sum(gradient[n] * along[n]) for n in names)
    assert (above - below) / (2 * h) == pytest.approx(change, rel=1e-6)
    for n in names:
        difference = (after[n] - earlier[n]) / (2 * h)
        assert np.abs(products[n] - difference).max() < 1e-5 * np.abs(difference).max(), n


def test_energies_of_different_reach_have_their_own_images():
    x, q = state(150)
    fields = Fields({"x": x, "q": q, "box": box(3)[None]})
    far = Far(opening_angle=0.5, order=3)
    terms = [
        bind(yukawa, fields, name=f"at_{k}", parameters={"strength": 1.0, "length": length}, far=far)
        for k, length in enumerate((0.1, 0.3))
    ]
    both = Potential(fields, terms).value()
    assert len(terms[0].elements.box_images) < len(terms[1].elements.box_images)
    assert both == pytest.approx(sum(Potential(fields, [term]).value() for term in terms), rel=1e-13)


@pytest.mark.long
def test_a_box_may_be_open_along_an_axis():
    x, q = state(300)
    x = x - np.floor(x @ np.linalg.inv(box(3))) @ box(3)
    fields = Fields({"x": x, "q": q, "box": box(3)[None]}, periodic=(True, True, False))
    given = {"strength": STRENGTH, "length": LENGTH}
    tree = Potential(fields, [bind(yukawa, fields, parameters=given, far=Far(opening_angle=0.4, order=4))])
    assert len(tree.terms["yukawa"].elements.box_images) == 25
    for k, at in enumerate(np.random.default_rng(1).choice(300, 20)):
        apart = (
            x[at] - x - np.array([*product(range(-3, 4), range(-3, 4), (0,))])[:, None] @ box(3)
        ).reshape(-1, 3)
        r = np.linalg.norm(apart, axis=1)
        kept, charges = r > 0.0, np.tile(q, 49)
        u = STRENGTH * q[at] * charges[kept] * np.exp(-r[kept] / LENGTH) / r[kept]
        right = -(u * (1.0 / r[kept] + 1.0 / LENGTH) / r[kept]) @ apart[kept]
        assert np.linalg.norm(tree.gradient("x")[at] - right) < 1e-2 * np.linalg.norm(right), k


@pytest.mark.long
def test_check_passes():
    found = [*term_check.of_potential(potential(Far(opening_angle=0.7, order=3), 900), 0.0)]
    assert any(f.question == "far cells" and not f.warning for f in found)
    assert [f for f in found if not f.passed] == []


@pytest.mark.long
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_error_that_was_asked_for_is_met(precision):
    x, q = state(2000)
    fields = Fields({"x": x, "q": q, "box": box(3)[None]}, precision=precision)
    term = bind(yukawa, fields, parameters={"strength": STRENGTH, "length": LENGTH}, far=Far(error=1e-3))
    measured, rows = narrowed(term), np.arange(0, 2000, 10)
    rms, _ = percentiles(Potential(fields, [term]).gradient("x")[rows], over_images(2000, 3, rows)[0])
    assert rms < 1.5e-3  # few close pairs decide
    assert measured.rms < 1e-3


@local_energy("aim", over="nodes", x=X)
def aim(x):
    """A loss of the last state."""
    return x[0].dot(x[0])


@pytest.mark.long
def test_runs_have_derivatives():
    """Of 4 steps by the length, against runs by differences: trees change, and their errors."""
    x, q = state(600)
    x = x - np.floor(x @ np.linalg.inv(box(3))) @ box(3)

    def rollout(length: float) -> Rollout:
        fields = Fields({"x": x, "v": 0.0 * x, "m": np.ones(600), "q": q, "box": box(3)[None]})
        given = {"strength": 0.02, "length": length}
        term = bind(yukawa, fields, parameters=given, far=Far(opening_angle=0.4, order=4))
        stepper = Integrator(
            System(Potential(fields, [term]), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.02
        )
        return Rollout(stepper, [Loss(Potential(fields, [bind(aim, fields)]), (4,))], 4)

    _, slopes = rollout(LENGTH).evaluate(["yukawa.length"])
    h = 1e-3
    above, below = (rollout(LENGTH + s).evaluate(["yukawa.length"])[0] for s in (h, -h))
    assert slopes["yukawa.length"] == pytest.approx((above - below) / (2 * h), rel=1e-2)


@local_energy("power", over="pairs", x=X, q=CHARGE, exponent=Parameter("1"))
def power(x, q, exponent):
    """A power of the distance."""
    r = x[0] - x[1]
    return q[0] * q[1] * ti.pow(r.dot(r) + 0.01, -0.5 * exponent)


@local_energy("gravitation", over="pairs", x=X, q=Node("1"))
def gravitation(x, q):
    """1 / r."""
    return q[0] * q[1] / (x[0] - x[1]).norm()


@pytest.mark.parametrize(
    ("energy", "parameters", "message"),
    [
        (attraction, {"G": 1.0, "softening": 0.1}, "as 1 / r: .* mesh Ewald sums, the compound 'pme'"),
        (vortices, {"core": 0.1}, r"as 1 / r\^-?0"),
        (power, {"exponent": 2.0}, r"as 1 / r\^2, which needs more than 3"),
        (power, {"exponent": 3.0}, r"as 1 / r\^3, which needs more than 3"),
        (yukawa, {"strength": 1.0, "length": 40.0}, "use a larger box or error"),
        (yukawa, {"strength": 1.0, "length": -1.0}, "an energy that is not finite at some distance"),
    ],
)
def test_sums_over_images_that_do_not_converge_are_refused(energy, parameters, message):
    x, q = state(300)
    fields = Fields({"x": x, "q": q, "m": np.abs(q), "box": box(3)[None]})
    term = bind(energy, fields, parameters=parameters, far=Far(error=1e-3))
    with pytest.raises(EnergyError, match=message):
        Potential(fields, [term])


@pytest.mark.long
def test_steep_powers_converge():
    tree = potential(Far(error=1e-2), 300, energy=power, exponent=8.0)
    assert np.isfinite(tree.value())


def test_what_a_tree_in_a_box_was_not_built_for_is_refused():
    tree = potential(Far(error=1e-2), 300)
    with pytest.raises(EnergyError, match=r"yukawa\.far: has no derivatives by the periodic box"):
        tree.gradient("box")
    tree.set_parameter("yukawa.length", 2.0 * LENGTH)
    with pytest.raises(EnergyError, match=r"reaches to .* with the present parameters"):
        tree.value()
    tree.set_parameter("yukawa.length", LENGTH)
    tree.fields["box"].set(0.3 * box(3)[None])
    with pytest.raises(EnergyError, match="a smaller box than it was built for"):
        tree.value()


@pytest.mark.long
def test_bits_do_not_depend_on_threads(any_threads):
    """Last in this file: the engine is restarted and forgets its kernels."""
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        tree = potential(Far(opening_angle=0.6, order=3), 1500)
        along = np.random.default_rng(5).normal(size=(1500, 3))
        found.append((tree.gradient("x"), tree.product({"x": along}, "x"), tree.value()))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
