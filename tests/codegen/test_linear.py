"""F = sum_a x_a (x) w_a against paper: what it is, its derivatives, its digits far away, its refusals."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from minusgrad import Datum, Fields, Linear, Node, Parameter, Potential, bind, local_energy
from minusgrad.check import term_check
from minusgrad.codegen import tracing
from minusgrad.energies import term as terms
from minusgrad.energies.fields import Body
from minusgrad.energies.local_energy import LocalEnergy, weights_at_rest
from minusgrad.energies.term import Term
from minusgrad.energies.values import element_data
from minusgrad.errors import EnergyError
from minusgrad.exam import references
from minusgrad.potential.fused_code import FusedCode
from minusgrad.potential.term_kernels import TermSweep
from minusgrad.symbolic.plain_python import evaluate
from minusgrad.symbolic.tensors import Tensor
from minusgrad_elastic import generators
from minusgrad_elastic.damping import strain_rate_damping
from minusgrad_elastic.hyperelastic import neo_hookean, st_venant_kirchhoff
from tests.support.damage import method
from tests.support.held_oscillator import assert_seen

X, T = Node("m", ("d",)), Node("K")
SLOPES = Datum("m^-1", ("k", "d"))


@local_energy(
    "squared", over="tuples", x=X, gradients=SLOPES, F=Linear("x", "gradients"), volume=Datum("m^3")
)
def squared(F, volume):
    """V (F:F / 2 + tr F): P = F + I."""
    return volume * (0.5 * (F * F).sum() + F.trace())


@local_energy(
    "conduction",
    over="tuples",
    temperature=T,
    gradients=SLOPES,
    g=Linear("temperature", "gradients"),
    volume=Datum("m^3"),
    conductivity=Parameter("W m^-1 K^-1"),
)
def conduction(g, volume, conductivity):
    """V kappa |grad T|^2 / 2."""
    return 0.5 * conductivity * volume * g.dot(g)


@local_energy("rod", over=2, x=X, share=Datum("m^-1", ("k",)), stretch=Linear("x", "share"))
def rod(stretch):
    """(|x'| - 1)^2 / 2 of a rod with two nodes: x' = sum_a x_a w_a."""
    return 0.5 * (stretch.norm() - 1.0) ** 2


@local_energy("rising", over=3, temperature=T, share=Datum("1", ("k",)), rise=Linear("temperature", "share"))
def rising(rise):
    """rise^4 / 4: a number made of numbers."""
    return 0.25 * rise**4


@local_energy(
    "plate",
    over="tuples",
    temperature=T,
    bends=Datum("m^-2", ("k", "d", "d")),
    H=Linear("temperature", "bends"),
)
def plate(H):
    """H:H / 2: weights that are matrices."""
    return 0.5 * (H * H).sum()


@local_energy("twisted", over="tuples", A=Node("1", (2, 2)), share=Datum("1", ("k",)), B=Linear("A", "share"))
def twisted(B):
    """det B: a matrix made of matrices."""
    return B.determinant()


@local_energy(
    "thermoelastic",
    over="tuples",
    x=X,
    temperature=T,
    gradients=SLOPES,
    F=Linear("x", "gradients"),
    g=Linear("temperature", "gradients"),
    volume=Datum("m^3"),
    k=Parameter("1"),
)
def thermoelastic(F, g, temperature, volume, k):
    """V (|F^T g|^2 k / 2 + T_0 tr F): two fields by the same weights, and one of them itself."""
    pulled = F.transpose() @ g
    return volume * (0.5 * k * pulled.dot(pulled) + temperature[0] * F.trace())


# States -------------------------------------------------------------------------------------------------


def cells(d: int, k: int, e: int = 4, n: int = 9, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tuples of k distinct nodes, weights (e, k, d) that sum to zero, volumes; the last node in no tuple."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n - 1)[:k] for _ in range(e)])
    weights = rng.normal(size=(e, k, d))
    weights -= weights.mean(axis=1, keepdims=True)
    return rows, weights, rng.uniform(0.5, 2.0, e)


def fields(d: int, n: int = 9, precision: str = "f64", seed: int = 1) -> Fields:
    rng = np.random.default_rng(seed)
    values = {
        "x": rng.normal(size=(n, d)),
        "temperature": rng.normal(size=n),
        "A": rng.normal(size=(n, 2, 2)),
    }
    return Fields(values, precision=precision)


def made(values: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_a x_a (x) w_a of each element."""
    return np.array(
        [
            sum(np.multiply.outer(values[n], w) for n, w in zip(row, of, strict=True))
            for row, of in zip(rows, weights, strict=True)
        ]
    )


def pushed_back(P: np.ndarray, rows: np.ndarray, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """dU/dx_n = sum over elements of P w_a, given P = dU_e/dF."""
    found = np.zeros_like(values)
    for e, row in enumerate(rows):
        for node, w in zip(row, weights[e], strict=True):
            found[node] += np.tensordot(P[e], w, axes=w.ndim)
    return found


# What it is ---------------------------------------------------------------------------------------------


SHAPES = [(d, k) for d in (2, 3) for k in (2, 3, 4, 8)]


@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_a_matrix_from_vectors(d, k):
    """Tuples of any length: value, P V = V (F + I), and the force P V w_a on each node."""
    there, (rows, weights, volume) = fields(d), cells(d, k)
    x = there["x"].values
    potential = Potential(
        there, [bind(squared, there, tuples=rows, data={"gradients": weights, "volume": volume})]
    )
    F = made(x, rows, weights)
    P = volume[:, None, None] * (F + np.eye(d))
    energies = volume * (0.5 * (F * F).sum(axis=(1, 2)) + np.trace(F, axis1=1, axis2=2))
    np.testing.assert_allclose(potential.by_element("squared"), energies, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(potential.gradient("squared.F"), P, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        potential.gradient("x"), pushed_back(P, rows, weights, x), rtol=1e-12, atol=1e-13
    )
    assert not potential.gradient("x")[-1].any()


@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_a_vector_from_numbers(d, k):
    """The gradient of a temperature; kappa V |g|^2 / 2, one kappa for each element."""
    there, (rows, weights, volume) = fields(d), cells(d, k)
    x, kappa = there["temperature"].values, np.linspace(0.5, 2.0, len(rows))
    data = {"gradients": weights, "volume": volume}
    potential = Potential(
        there, [bind(conduction, there, tuples=rows, data=data, parameters={"conductivity": kappa})]
    )
    g = made(x, rows, weights)
    P = (kappa * volume)[:, None] * g
    np.testing.assert_allclose(potential.by_element("conduction"), 0.5 * (P * g).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(potential.gradient("conduction.g"), P, rtol=1e-12, atol=1e-13)
    gradient = potential.gradient("temperature")
    np.testing.assert_allclose(gradient, pushed_back(P, rows, weights, x), rtol=1e-12, atol=1e-13)
    rates = potential.gradient("conduction.conductivity")
    np.testing.assert_allclose(rates, 0.5 * volume * (g * g).sum(axis=1), rtol=1e-12)


def shares(rows: int, k: int, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Weights that sum to zero."""
    weights = np.random.default_rng(5).normal(size=(rows, k, *shape))
    return weights - weights.mean(axis=1, keepdims=True)


CASES = {
    "a vector from vectors": (rod, "x", 2, (), lambda y: y * (1.0 - 1.0 / np.linalg.norm(y))),
    "a number from numbers": (rising, "temperature", 3, (), lambda y: y**3),
    "a matrix from numbers": (plate, "temperature", 4, (2, 2), lambda y: y),
    "a matrix from matrices": (twisted, "A", 3, (), lambda y: np.linalg.det(y) * np.linalg.inv(y).T),
}


@pytest.mark.parametrize("name", CASES)
def test_fields_and_weights_of_other_shapes(name):
    energy, field, k, of_weight, derivative = CASES[name]
    there, (rows, *_) = fields(2), cells(2, k)
    values, weights = there[field].values, shares(len(rows), k, of_weight)
    ((made_name, linear),) = energy.linear.items()
    term = bind(energy, there, tuples=rows, data={linear.weights: weights})
    potential, y = Potential(there, [term]), made(values, rows, weights)
    P = np.array([derivative(one) for one in y])
    np.testing.assert_allclose(potential.gradient(f"{energy.name}.{made_name}"), P, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        potential.gradient(field), pushed_back(P, rows, weights, values), rtol=1e-11, atol=1e-12
    )
    assert potential.value() == pytest.approx(references.plain_energy(term), rel=1e-13)
    assert term.shape(made_name) == P.shape[1:]


@pytest.mark.parametrize("d", [2, 3])
def test_two_fields_by_the_same_weights(d):
    """Value and all gradients against plain Python and its differences."""
    there, (rows, weights, volume) = fields(d), cells(d, d + 1)
    data = {"gradients": weights, "volume": volume}
    term = bind(thermoelastic, there, tuples=rows, data=data, parameters={"k": 0.7})
    potential = Potential(there, [term])
    assert potential.value() == pytest.approx(references.plain_energy(term), rel=1e-13)
    expected = references.differences(term)
    for argument in ("x", "temperature"):
        np.testing.assert_allclose(potential.gradient(argument), expected[argument], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(potential.gradient("thermoelastic.k"), expected["k"], rtol=1e-8)
    x, T = (there[n].values for n in ("x", "temperature"))
    F, g = made(x, rows, weights), made(T, rows, weights)
    pulled = np.einsum("eij,ei->ej", F, g)
    P = 0.7 * np.einsum("ei,ej->eij", g, pulled) + T[rows[:, 0], None, None] * np.eye(d)
    q = 0.7 * np.einsum("eij,ej->ei", F, pulled)
    np.testing.assert_allclose(potential.gradient("thermoelastic.F"), volume[:, None, None] * P, rtol=1e-12)
    np.testing.assert_allclose(potential.gradient("thermoelastic.g"), volume[:, None] * q, rtol=1e-12)
    assert list(thermoelastic.linear) == ["F", "g"]
    assert thermoelastic.shaping == [Linear("x", "gradients")]


# The stress of a solid ----------------------------------------------------------------------------------


def block(d: int, precision: str = "f64", shift: float = 0.0, grid: float = 0.0) -> tuple[Potential, Term]:
    """A neo-Hookean block, bent; its places are multiples of `grid`, and shifted as one."""
    mesh = generators.rectangle((1.0, 1.0), (3, 2)) if d == 2 else generators.box((1.0, 1.0, 1.0), (2, 2, 1))
    bend = np.array([[0.3, -0.2, 0.1], [0.15, -0.1, 0.2], [-0.1, 0.25, 0.2]])[:d, :d]
    x = mesh.points + mesh.points**2 @ bend + 0.1 * mesh.points @ bend
    mesh = replace(mesh, points=mesh.points @ (np.eye(d) + 0.7 * bend) * 0.9)
    x = np.round(x / grid) * grid if grid else x
    there = Fields({"x": x + shift}, precision=precision)
    data = {"gradients": mesh.gradients(), "volume": mesh.volumes()}
    stiff = {"youngs_modulus": 2.6, "poissons_ratio": 0.3}
    term = bind(neo_hookean, there, tuples=mesh.cells, data=data, parameters=stiff)
    return Potential(there, [term]), term


@pytest.mark.parametrize("d", [2, 3])
def test_the_stress_of_a_neo_hookean_solid(d):
    """P = mu (F - F^-T) + lambda ln J F^-T, times V; mu = 1 and lambda = 1.5."""
    potential, term = block(d)
    V, w = term.data["volume"], term.data["gradients"]
    F = made(potential.fields["x"].values, term.elements.nodes, w)
    back, log_J = np.linalg.inv(F).transpose(0, 2, 1), np.log(np.linalg.det(F))[:, None, None]
    P = V[:, None, None] * (F - back + 1.5 * log_J * back)
    found = potential.gradient("neo_hookean.F")
    assert np.abs(P).max() > 0.01
    np.testing.assert_allclose(found, P, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        potential.gradient("x"),
        pushed_back(P, term.elements.nodes, w, potential.fields["x"].values),
        atol=1e-14,
    )
    step = 1e-3 * np.ones((d, d))
    for e in (0, len(V) - 1):
        for c in np.ndindex(d, d):
            u = _along(term, e, F[e], c)
            assert found[(e, *c)] == pytest.approx(
                references.extrapolated_slope(u, step[c]), rel=1e-8, abs=1e-11
            )


def _along(term: Term, e: int, F: np.ndarray, c: tuple[int, ...]):
    """U_e in plain Python as a function of how far one entry of F is moved."""
    values = {"F": F, "volume": float(term.data["volume"][e]), "youngs_modulus": 2.6, "poissons_ratio": 0.3}

    def u(s: float) -> float:
        moved = F.copy()
        moved[c] += s
        return evaluate(term.energy.function, values | {"F": moved})

    return u


# Digits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    ("precision", "shift", "grid"), [("f32", 1000.0, 2.0**-12), ("f64", 2.0**40, 2.0**-12)]
)
def test_far_from_the_origin_no_digit_is_lost(precision, shift, grid, d):
    """Places that both precisions hold exactly, moved as one by a shift that they hold too: the same bits."""
    (near, _), (far, _) = (block(d, precision, s, grid) for s in (0.0, shift))
    np.testing.assert_array_equal(
        far.fields["x"].values - np.array(shift, far.fields.dtype), near.fields["x"].values
    )
    assert far.value() == near.value()
    np.testing.assert_array_equal(far.gradient("x"), near.gradient("x"))
    np.testing.assert_array_equal(far.gradient("neo_hookean.F"), near.gradient("neo_hookean.F"))
    double, _ = block(d, grid=grid)
    eps = np.finfo(far.fields.dtype).eps
    assert abs(far.value() - double.value()) < 30 * eps * double.value()
    assert double.value() > 0.01


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_nothing_depends_on_where_the_whole_is(precision):
    """Forces sum to zero, though the weights sum to zero but for rounding."""
    potential, _ = block(3, precision)
    force = potential.gradient("x").astype(float)
    assert np.abs(force.sum(axis=0)).max() < 2 * np.finfo(potential.fields.dtype).eps * np.abs(force).sum()


# Which elements, which values ---------------------------------------------------------------------------


def test_bodies_limit_tuples_and_their_data():
    """Only tuples that lie wholly in the bodies; each keeps its own weights, datum and parameter."""
    there, (rows, weights, volume) = fields(2), cells(2, 3, e=12)
    kappa, body = np.linspace(1.0, 3.0, 12), Body("part", [0, 1, 2, 3, 4, 5, 7])
    inside = np.isin(rows, body.nodes).all(axis=1)
    assert 0 < inside.sum() < 12
    data = {"gradients": weights, "volume": volume}
    limited = Potential(
        there,
        [bind(conduction, there, tuples=rows, data=data, bodies=[body], parameters={"conductivity": kappa})],
    )
    g = made(there["temperature"].values, rows, weights)[inside]
    P = (kappa * volume)[inside, None] * g
    np.testing.assert_allclose(limited.by_element("conduction"), 0.5 * (P * g).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(limited.gradient("conduction.g"), P, rtol=1e-12, atol=1e-14)
    rates = limited.gradient("conduction.conductivity")
    np.testing.assert_allclose(rates, 0.5 * volume[inside] * (g * g).sum(axis=1), rtol=1e-12)
    expected = pushed_back(P, rows[inside], weights[inside], there["temperature"].values)
    np.testing.assert_allclose(limited.gradient("temperature"), expected, rtol=1e-12, atol=1e-14)


def test_each_body_has_a_parameter_of_its_own():
    """Two sheets side by side, both stretched; no tuple spans them."""
    left, right = (generators.rectangle((1.0, 1.0), (2, 2)) for _ in range(2))
    n = len(left.points)
    cells, points = np.concatenate([left.cells, right.cells + n]), np.concatenate([left.points, right.points])
    there = Fields({"x": points * [1.2, 0.9] + np.repeat([[0.0], [5.0]], n, axis=0)})
    data = {
        name: np.concatenate([values] * 2)
        for name, values in (("gradients", left.gradients()), ("volume", left.volumes()))
    }
    term = bind(
        st_venant_kirchhoff,
        there,
        tuples=cells,
        data=data,
        bodies=[Body("soft", range(n)), Body("hard", range(n, 2 * n))],
        parameters={"youngs_modulus": {"soft": 1.0, "hard": 10.0}, "poissons_ratio": 0.0},
    )
    strain = np.array([0.5 * (1.44 - 1.0), 0.5 * (0.81 - 1.0)])
    moduli = np.repeat([1.0, 10.0], len(left.cells))
    expected = 0.5 * (strain**2).sum() * moduli * data["volume"]
    found = Potential(there, [term])
    np.testing.assert_allclose(found.by_element("st_venant_kirchhoff"), expected, rtol=1e-12)
    rates = found.gradient("st_venant_kirchhoff.youngs_modulus")
    np.testing.assert_allclose(rates, 0.5 * (strain**2).sum() * np.ones(2), rtol=1e-12)


def test_a_hexahedron_in_few_statements():
    """Two levels: the density in its 9 variables, and sums over 8 nodes."""
    lines = {}
    for k in (4, 8):
        there, (rows, weights, volume) = fields(3), cells(3, k)
        data = {"gradients": weights, "volume": volume}
        stiff = {"youngs_modulus": 2.6, "poissons_ratio": 0.3}
        term = bind(neo_hookean, there, tuples=rows, data=data, parameters=stiff)
        text = FusedCode(Potential(there, [term])).gradient({"x": np.zeros(there["x"].shape)}).text
        lines[k] = text.count("\n")
    assert lines[8] < 500
    assert lines[8] - lines[4] < 4 * (3 + 3 + 9 + 9 + 9 + 9 + 9)


# Judged by `check` --------------------------------------------------------------------------------------


JUDGED = [neo_hookean, strain_rate_damping, st_venant_kirchhoff, squared, conduction, plate, rod, rising]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("energy", [*JUDGED, thermoelastic], ids=lambda e: e.name)
def test_check_passes(energy, d):
    found = list(term_check.of_energy(energy, d))
    assert {"value", "taylor", "path", "product"} <= {f.question for f in found}
    assert not [f.text for f in found if not f.passed]


@pytest.mark.parametrize("d", [2, 3])
def test_a_sample_is_at_rest(d):
    """Weights of a sample sum to zero; where F can be the unit matrix it is near. Both precisions see one."""
    rng = np.random.default_rng(0)
    for energy in (squared, conduction, plate, rod, rising, twisted, thermoelastic):
        values = energy.sample(rng, d)
        for linear in energy.linear.values():
            weights = values[linear.weights]
            assert np.abs(weights.sum(axis=0)).max() < 1e-13 * max(1.0, np.abs(weights).max())
    x = np.array(rng.normal(size=(d + 1, d)))
    w = weights_at_rest(x)
    np.testing.assert_allclose(made(x, np.arange(d + 1)[None], w[None])[0], np.eye(d), atol=1e-12)
    single = x.astype(np.float32)
    np.testing.assert_array_equal(weights_at_rest(single), weights_at_rest(single.astype(np.float64)))
    flat = np.hstack([x[:, :-1], 1e-7 * x[:, -1:]])
    assert np.abs(weights_at_rest(flat).sum(axis=0)).max() < 1e-8


# Refusals -----------------------------------------------------------------------------------------------


def of_f(F):
    """Something."""
    return F


def of_x(x):
    """Something."""
    return x[0]


LINEAR = Linear("x", "w")
WEIGHTS = "energy 'e': F is Linear of weights 'w', which need to be a constant Datum of shape ('k', ...)"
DECLARED = {
    "no field": (
        of_f,
        {"w": SLOPES, "F": LINEAR},
        "energy 'e': F is Linear of 'x', which is no Node field; give it the role Node",
    ),
    "a parameter": (
        of_f,
        {"x": Parameter(), "w": SLOPES, "F": LINEAR},
        "energy 'e': F is Linear of 'x', which is no Node field; give it the role Node",
    ),
    "another Linear": (
        of_f,
        {"x": X, "w": SLOPES, "y": LINEAR, "F": Linear("y", "w")},
        "energy 'e': F is Linear of 'y', which is no Node field; give it the role Node",
    ),
    "no weights": (of_f, {"x": X, "F": LINEAR}, WEIGHTS),
    "weights at nodes": (of_f, {"x": X, "w": Node("1", ("k",)), "F": LINEAR}, WEIGHTS),
    "weights for all": (of_f, {"x": X, "w": Parameter(), "F": LINEAR}, WEIGHTS),
    "one weight": (of_f, {"x": X, "w": Datum("1"), "F": LINEAR}, WEIGHTS),
    "k is not first": (of_f, {"x": X, "w": Datum("1", ("d", "k")), "F": LINEAR}, WEIGHTS),
    "weights that change": (
        of_f,
        {"x": X, "w": Datum("1", ("k",), differentiable=True), "F": LINEAR},
        WEIGHTS,
    ),
    "not taken": (
        of_x,
        {"x": X, "w": SLOPES, "F": LINEAR},
        "energy 'e': F has a role, but is no argument of the function; leave the role out",
    ),
    "weights of nothing": (
        of_f,
        {"x": X, "w": SLOPES, "o": SLOPES, "F": LINEAR},
        "energy 'e': o has a role, but is no argument of the function; leave the role out",
    ),
    "three axes": (
        of_f,
        {"x": X, "w": Datum("1", ("k", "d", "d")), "F": LINEAR},
        "energy 'e': F is Linear of 'x' and would have 3 axes; it can be a number, a vector or a matrix",
    ),
}


@pytest.mark.parametrize("name", DECLARED)
def test_refused_when_declared(name):
    function, roles, message = DECLARED[name]
    with pytest.raises(EnergyError) as refused:
        local_energy("e", over="tuples", **roles)(function)
    assert str(refused.value) == message


def test_pairs_have_no_weights():
    with pytest.raises(EnergyError) as refused:
        local_energy("e", over="pairs", x=X, w=SLOPES, F=LINEAR)(of_f)
    message = "energy 'e': a pair has no data; use Node fields or Parameters"
    assert str(refused.value) == message


@pytest.mark.parametrize(("precision", "off"), [("f64", 1e-9), ("f32", 1e-3)])
def test_weights_that_do_not_sum_to_zero(precision, off):
    """Of one element, by far more than rounding."""
    there, (rows, weights, volume) = fields(2, precision=precision), cells(2, 3)
    weights[2, 1, 0] += off
    with pytest.raises(EnergyError) as refused:
        bind(squared, there, tuples=rows, data={"gradients": weights, "volume": volume})
    head, tail = "squared.gradients: the weights of element 2 must sum to zero, got ", "; "
    found, _, why = str(refused.value).removeprefix(head).partition(tail)
    assert float(found) == pytest.approx(off, rel=1e-2)
    assert why == "subtract their mean, so that a translation of the element changes nothing"


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_rounding_of_weights_is_no_offence(precision):
    """Gradients of a fine mesh, with places that f32 does not hold."""
    mesh = generators.box((0.3, 0.1, 0.7), (7, 3, 9))
    there = Fields({"x": mesh.points}, precision=precision)
    data = {"gradients": mesh.gradients(), "volume": mesh.volumes()}
    bind(squared, there, tuples=mesh.cells, data=data)


@pytest.mark.parametrize(
    ("k", "shape", "message"),
    [
        (3, (4, 4, 2), "squared.gradients: needs shape [4, 3, 2] or [3, 2], got [4, 4, 2]; reshape it"),
        (3, (4, 3, 3), "squared.gradients: needs shape [4, 3, 2] or [3, 2], got [4, 3, 3]; reshape it"),
        (
            1,
            (4, 1, 2),
            "squared.gradients: weights must sum to zero, got elements of one node;"
            " use tuples of two or more nodes",
        ),
    ],
)
def test_weights_that_do_not_fit(k, shape, message):
    there, rows = fields(2), cells(2, k)[0]
    with pytest.raises(EnergyError) as refused:
        bind(squared, there, tuples=rows, data={"gradients": np.zeros(shape), "volume": 1.0})
    assert str(refused.value) == message


def test_a_space_that_nothing_tells():
    """d is known from fields, or from data; never from parameters."""

    def tilted(temperature, a):
        return temperature[0] * a[0]

    there = fields(2)
    energy = local_energy("tilted", over="nodes", temperature=T, a=Parameter("1", ("d",)))(tilted)
    with pytest.raises(EnergyError) as refused:
        bind(energy, there, parameters={"a": [1.0, 2.0]})
    assert str(refused.value) == "the dimension of space is unknown; bind a node field of shape ('d',)"


# Damage -------------------------------------------------------------------------------------------------


def summed_up(made_of, values, functions):
    """sum_a x_a (x) w_a as it stands: digits go with the distance from the origin."""
    x, weights = values[made_of.field], values[made_of.weights]
    size = len(weights.entries) // len(x)
    rows = [weights.entries[a * size : (a + 1) * size] for a in range(len(x))]
    entries = None
    for one, row in zip(x, rows, strict=True):
        terms = [leg * w for leg in (one.entries if isinstance(one, Tensor) else [one]) for w in row]
        entries = terms if entries is None else [a + b for a, b in zip(entries, terms, strict=True)]
    shape = (*(x[0].shape if isinstance(x[0], Tensor) else ()), *weights.shape[1:])
    return Tensor(shape, entries, functions) if shape else entries[0]


def transposed(right, self, t):
    """The stress of each element transposed."""
    found = right(self, t)
    found.slopes = {a: np.swapaxes(p, -1, -2) if p.ndim == 3 else p for a, p in found.slopes.items()}
    return found


far = partial(test_far_from_the_origin_no_digit_is_lost, "f32", 1000.0, 2.0**-12, 2)
matrices = partial(test_a_matrix_from_vectors, 2, 3)

MUTANTS = {
    "summed up as it stands": (lambda patch: patch.setattr(tracing, "linear", summed_up), far),
    "weights of the neighbour": (
        method(
            tracing,
            "_split_rows",
            lambda right, values, size: [(rows := right(values, size))[0], *rows[:0:-1]],
        ),
        matrices,
    ),
    "stress transposed": (method(TermSweep, "__call__", transposed), matrices),
    "any weights will do": (
        lambda patch: patch.setattr(terms, "check_weights", lambda *_: None),
        partial(test_weights_that_do_not_sum_to_zero, "f64", 1e-9),
    ),
    "data of the first elements": (
        method(element_data, "_shaped_array", lambda right, *args: np.roll(right(*args), 1, axis=0)),
        test_bodies_limit_tuples_and_their_data,
    ),
    "a sample whose weights are drawn": (
        lambda patch: patch.setattr(LocalEnergy, "sample", drawn),
        partial(test_a_sample_is_at_rest, 2),
    ),
}


def drawn(self, rng, d=3):
    k = self.over if isinstance(self.over, int) else d + 1
    return {name: self._draw_values(name, rng, d, k) for name in self.roles}


@pytest.mark.parametrize("name", MUTANTS)
def test_damage_is_seen(name, monkeypatch):
    assert_seen(*MUTANTS[name], monkeypatch)
