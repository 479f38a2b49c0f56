"""Hessians as matrices: against products of unit vectors, and NumPy's eigenvalues.

References: `potential.product`, which `test_products` holds against differences; `numpy.linalg.eigh`.
"""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from minusgrad import Datum, Fields, Linear, Node, Potential, bind, local_energy, ti
from minusgrad.codegen.hessians import semidefinite
from minusgrad.codegen.hessians.hessian_loops import HessianLoops
from minusgrad.codegen.hessians.semidefinite import projection
from minusgrad.codegen.term_loops import Emitter
from minusgrad.energies.fields import Body
from minusgrad.energies.local_energy import weights_at_rest
from minusgrad.energies.staged_energy import Stage, staged_energy
from minusgrad.energies.term import Term
from minusgrad.engine import memory, runtime, storage
from minusgrad.engine.kernels import compiled_count
from minusgrad.errors import EnergyError
from minusgrad.potential.hessians import element_hessians
from minusgrad.potential.staged.staged_binding import bind_staged
from minusgrad_elastic.hyperelastic import st_venant_kirchhoff
from minusgrad_elastic.springs import spring
from minusgrad_gravity.gravity import gravity
from tests.support.instances import CANONICAL, MAPS
from tests.support.layouts import in_lanes
from tests.support.tiers import alternating, sampled

T = 0.37
W = Datum("m^-1", ("k", "d"))
K = {"stiffness": 3.0}
CASES = {f"{name}-{d}d": (one, d) for name, one in CANONICAL.items() for d in one.dimensions}


def moving(potential: Potential) -> list[str]:
    """The fields that U depends on, by the names that its terms are differentiable by."""
    (term,) = potential.terms.values()
    return list(dict.fromkeys(f.name for a, f in term.fields.items() if a in term.energy.differentiable))


def product(potential: Potential, names: list[str], w: np.ndarray) -> np.ndarray:
    """H w, fields one after another."""
    tangents, begin = {}, 0
    for name in names:
        values = potential.fields[name].values
        tangents[name] = w[begin : begin + values.size].reshape(values.shape)
        begin += values.size
    return np.concatenate([np.ravel(potential.product(tangents, n, T)) for n in names]).astype(np.float64)


def columns(potential: Potential, names: list[str]) -> np.ndarray:
    """The matrix by products of unit vectors."""
    size = sum(potential.fields[n].values.size for n in names)
    return np.array([product(potential, names, unit) for unit in np.eye(size)]).T


def close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(found - expected).max() <= tolerance * np.abs(expected).max())


def reads_forms_alone(term: Term) -> bool:
    """True if no node field is an argument of the function: it reads F = sum_a x_a (x) w_a alone."""
    return bool(term.energy.linear) and not {*term.energy.arguments} & {*term.energy.of_role(Node)}


def projected_moduli(
    blocks: np.ndarray, how: str, term: Term, names: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """W^T P(M) W by NumPy, of H = W^T M W: the rows of W are the components of all F over all nodes.

    And its rounding (E,) relative to H: M is found by W backwards, twice.
    """
    fields = [(a, f) for name in names for a, f in term.fields.items() if f.name == name]
    widths = [int(np.prod(f.shape[1:], dtype=int)) for _, f in fields]
    begins = np.cumsum([0, *(term.arity * width for width in widths)])
    rows = []
    for (argument, _), width, begin in zip(fields, widths, begins[:-1], strict=True):
        for made in (one for one in term.energy.linear.values() if one.field == argument):
            weights = np.asarray(term.data[made.weights], float).reshape(len(blocks), term.arity, -1)
            for c in range(width):
                for k in range(weights.shape[-1]):
                    row = np.zeros((len(blocks), begins[-1]))
                    row[:, begin + c + width * np.arange(term.arity)] = weights[:, :, k]
                    rows.append(row)
    w = np.stack(rows, axis=1)
    back = np.linalg.pinv(w)
    moduli = back.transpose(0, 2, 1) @ blocks @ back
    assert close(w.transpose(0, 2, 1) @ moduli @ w, blocks, 1e-10)
    rounding = np.finfo(float).eps * np.linalg.cond(w) ** 2
    return w.transpose(0, 2, 1) @ projected(moduli, how) @ w, rounding


def projected(blocks: np.ndarray, how: str) -> np.ndarray:
    """NumPy's."""
    values, vectors = np.linalg.eigh(blocks)
    values = np.maximum(values, 0.0) if how == "clamp" else np.abs(values)
    return (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)


@pytest.mark.parametrize("case", sampled(CASES, alternating(CASES)[::3]))
def test_columns_are_products_of_unit_vectors(case) -> None:
    """H over all fields that u is differentiable by, and over the first alone; and H = H^T bit for bit."""
    instance, d = CASES[case]
    potential = instance.potential(np.random.default_rng(1), d)
    names = moving(potential)
    matrix = potential.hessian(names, T)
    assert isinstance(matrix, csr_matrix)
    assert matrix.dtype == np.float64
    assert (matrix != matrix.T).nnz == 0
    expected = columns(potential, names)
    assert close(matrix.toarray(), expected, 1e-13)
    rng = np.random.default_rng(2)
    w = rng.normal(size=len(expected))
    assert close(matrix @ w, product(potential, names, w), 1e-12)


@pytest.mark.parametrize("case", sampled(CASES, [*CASES][::6]))
def test_projections_are_those_of_numpy(case) -> None:
    instance, d = CASES[case]
    potential = instance.potential(np.random.default_rng(3), d)
    (term,), names = potential.terms, moving(potential)
    blocks = potential.element_hessians(term, names, T)
    assert np.array_equal(blocks, blocks.transpose(0, 2, 1))
    scale = np.abs(blocks).max()
    for how in ("clamp", "abs"):
        found = potential.element_hessians(term, names, T, how)
        assert np.array_equal(found, found.transpose(0, 2, 1))
        if reads_forms_alone(potential.terms[term]):
            expected, rounding = projected_moduli(blocks, how, potential.terms[term], names)
        else:
            expected, rounding = projected(blocks, how), np.zeros(len(blocks))
        off = np.abs(found - expected).max(axis=(1, 2))
        assert (off <= np.maximum(1e-10, rounding) * scale).all()
        assert np.linalg.eigvalsh(found).min() >= -1e-12 * scale
        matrix = potential.hessian(names, T, how)
        assert (matrix != matrix.T).nnz == 0
        assert np.linalg.eigvalsh(matrix.toarray()).min() >= -1e-12 * max(scale, np.abs(matrix).max())
    assert np.array_equal(potential.element_hessians(term, names, T), blocks)


@pytest.mark.parametrize("how", ["clamp", "abs"])
def test_projections_with_double_eigenvalues(how: str) -> None:
    """Of 11,175 pairs, each with two equal eigenvalues and three zeros: rotations by nearly nothing."""
    potential = CANONICAL["gravity"].potential(np.random.default_rng(7), 3, n=150)
    whole = potential.element_hessians("gravity", "x", T)
    values, vectors = np.linalg.eigh(whole)
    kept = np.maximum(values, 0.0) if how == "clamp" else np.abs(values)
    expected = np.einsum("eik,ek,ejk->eij", vectors, kept, vectors)
    off = np.abs(potential.element_hessians("gravity", "x", T, how) - expected).max(axis=(1, 2))
    assert (off <= 1e-13 * np.abs(whole).max(axis=(1, 2))).all()


def test_projections_leave_semidefinite_elements_bit_for_bit() -> None:
    """Nearly rest: some springs are pulled (definite), some pushed together (not)."""
    rng = np.random.default_rng(4)
    fields = Fields({"x": rng.normal(size=(30, 3))})
    rows = np.array([rng.permutation(30)[:2] for _ in range(200)])
    length = np.linalg.norm(fields["x"].values[rows[:, 0]] - fields["x"].values[rows[:, 1]], axis=1)
    rest = length * rng.uniform(0.5, 1.5, 200)
    potential = Potential(fields, [bind(spring, fields, tuples=rows, data={"rest": rest}, parameters=K)])
    plain = potential.element_hessians("spring", "x")
    pulled = length >= rest
    assert 50 < pulled.sum() < 150
    for how in ("clamp", "abs"):
        found = potential.element_hessians("spring", "x", project=how)
        assert np.array_equal(found[pulled], plain[pulled])
        changed = np.abs(found - plain).max(axis=(1, 2)) > 1e-3 * np.abs(plain).max(axis=(1, 2))
        assert np.array_equal(changed, ~pulled)


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("m", [1, 2, 3, 7, 12, 24])
def test_matrices_of_any_size_and_spectrum(m: int, precision: str) -> None:
    """Random ones, of low rank, with eigenvalues in pairs of both signs, zero, diagonal, tiny and huge."""
    rng, dtype = np.random.default_rng(m), np.dtype(precision.replace("f", "float"))
    turn = np.linalg.qr(rng.normal(size=(60, m, m)))[0]
    values = rng.normal(size=(60, m))
    values[10:20, m // 2 :] = 0.0
    values[20:30] = np.where(np.arange(m) % 2, 1.0, -1.0)
    values[30:40] *= 10.0 ** rng.uniform(-12, 0, (10, m))
    blocks = (turn * values[:, None, :]) @ turn.transpose(0, 2, 1)
    blocks[40:44] = 0.0
    blocks[44:48] = values[44:48, :, None] * np.eye(m)
    blocks[48:52] *= 1e18
    blocks[52:56] *= 1e-18
    blocks = (0.5 * (blocks + blocks.transpose(0, 2, 1))).astype(dtype)
    low, high = np.tril_indices(m)
    for how in ("clamp", "abs"):
        packed = storage.allocate(np.ascontiguousarray(blocks[:, low, high]))
        projection(packed, m, how)()
        expected = projected(blocks.astype(np.float64), how)
        size = np.abs(blocks).max(axis=(1, 2)).astype(np.float64)
        off = np.abs(storage.host(packed) - expected[:, low, high]).max(axis=1)
        assert (off <= 200.0 * np.finfo(dtype).eps * size).all(), np.argmax(off / np.maximum(size, 1e-300))


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("m", [3, 9, 24])
def test_matrices_that_count_as_semidefinite_equal_their_projection(m: int, precision: str) -> None:
    """Smallest eigenvalues around the tolerance: the difference is below (DELTA + 2 m) eps sum |H_kk|."""
    rng, dtype = np.random.default_rng(m), np.dtype(precision.replace("f", "float"))
    eps, count = float(np.finfo(dtype).eps), 240
    turn = np.linalg.qr(rng.normal(size=(count, m, m)))[0]
    values = rng.uniform(0.1, 1.0, (count, m))
    values[:, 0] = -eps * values.sum(axis=1) * 10.0 ** np.linspace(-1.0, 4.0, count)
    blocks = (turn * values[:, None, :]) @ turn.transpose(0, 2, 1)
    blocks = (0.5 * (blocks + blocks.transpose(0, 2, 1))).astype(dtype)
    low, high = np.tril_indices(m)
    before = np.ascontiguousarray(blocks[:, low, high])
    packed = storage.allocate(before.copy())
    projection(packed, m, "clamp")()
    found = storage.host(packed)
    skipped = (found == before).all(axis=1)
    assert skipped[:20].all()
    assert not skipped[-100:].any()
    off = np.abs(found - projected(blocks.astype(np.float64), "clamp")[:, low, high]).max(axis=1)
    rounding = eps * np.abs(np.trace(blocks.astype(np.float64), axis1=1, axis2=2))
    assert (off <= (semidefinite.DELTA + 2.0 * m) * rounding).all(), (off / rounding).max()
    assert (off[~skipped] <= 20.0 * rounding[~skipped]).all(), (off / rounding)[~skipped].max()


def test_single_precision_follows_double() -> None:
    for name in ("neo_hookean", "dihedral", "gravity"):
        double, single = (
            CANONICAL[name].potential(np.random.default_rng(5), 3, precision=p) for p in ("f64", "f32")
        )
        for how in (None, "clamp"):
            found = single.hessian("x", T, how)
            assert found.dtype == np.float64
            assert close(found.toarray(), double.hessian("x", T, how).toarray(), 1e-4)


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    before, bits = runtime._Running.options, {}
    try:
        for threads in (1, 2):
            runtime.start(runtime.Options(threads=threads))
            bits[threads] = [
                _bits(name, how) for name in ("neo_hookean", "gravity") for how in (None, "clamp")
            ]
    finally:
        runtime.start(before)
    assert bits[1] == bits[2]


def _bits(name: str, how: str | None) -> bytes:
    potential = CANONICAL[name].potential(np.random.default_rng(6), 3, n=120, e=3000)
    return potential.hessian("x", T, how).data.tobytes()


def test_the_pattern_is_fixed_and_shared() -> None:
    """Blocks that meet, sorted, zeros kept; each matrix has numbers of its own."""
    fields = Fields({"x": [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, 9.0]]})
    data = {"rest": np.ones(2)}
    potential = Potential(fields, [bind(spring, fields, tuples=[[1, 0], [2, 1]], data=data, parameters=K)])
    one, kernels = potential.hessian("x"), compiled_count()
    fields["x"].set([[0.0, 0.0], [0.5, 0.2], [1.0, 3.0], [9.0, 9.0]])
    other = potential.hessian("x", project="clamp")
    again = potential.hessian("x")
    assert compiled_count() <= kernels + 1  # that of the projection, if no other test has it
    assert one.indptr is other.indptr is again.indptr
    assert one.indices is other.indices is again.indices
    assert one.has_sorted_indices
    assert one.indptr.tolist() == [0, 4, 8, 14, 20, 24, 28, 28, 28]
    assert one.indices[8:14].tolist() == [0, 1, 2, 3, 4, 5]
    assert one.indices[20:].tolist() == [2, 3, 4, 5] * 2
    assert one.toarray()[1, 3] == -0.0  # a spring at rest has no stiffness across
    assert not np.array_equal(one.data, again.data)
    assert not np.shares_memory(one.data, again.data)


def test_terms_add_up_and_others_give_nothing() -> None:
    """The pattern is the union over the terms; one that does not read the field has no part."""
    rng = np.random.default_rng(7)
    fields = Fields({"x": rng.normal(size=(6, 2)), "s": rng.normal(size=6), "m": np.ones(6)})
    pulls = bind(spring, fields, tuples=[[0, 4], [4, 2]], data={"rest": [1.0, 0.3]}, parameters=K)
    falls = bind(gravity, fields, bodies=[Body("front", [4, 1, 2])], parameters={"G": 1.0, "softening": 0.1})
    alone = bind(own, fields)
    potential = Potential(fields, [pulls, falls, alone])
    expected = sum(Potential(fields, [term]).hessian("x").toarray() for term in (pulls, falls))
    matrix = potential.hessian("x")
    assert close(matrix.toarray(), expected, 1e-15)
    assert matrix.nnz == 4 * (4 + 2 * 4)  # nodes 0, 1, 2, 4; (0, 4), (2, 4), (1, 2), (1, 4) both ways
    assert np.array_equal(potential.hessian("s").toarray(), np.diag(2.0 * np.ones(6)))
    assert Potential(fields, [pulls]).hessian("s").nnz == 0


@local_energy("own", over="nodes", s=Node())
def own(s):
    return s[0] * s[0]


@local_energy("mixing", over=2, x=Node("1", ("d",)), y=Node("1", ("d",)), s=Node())
def mixing(x, y, s):
    a = x[0].dot(y[1]) * s[0]
    b = x[1].dot(x[0]) * s[1] * s[0]
    return a * b + (x[0] - y[0]).dot(x[1]) ** 2 * s[1]


def test_nodes_that_stand_twice_and_arguments_of_one_field() -> None:
    rng = np.random.default_rng(8)
    fields = Fields({"p": rng.normal(size=(5, 2)), "s": rng.normal(size=5)})
    rows = [[0, 1], [1, 1], [3, 2], [2, 3], [4, 4]]
    potential = Potential(fields, [bind(mixing, fields, tuples=rows, renamed={"x": "p", "y": "p"})])
    for names in (["p"], ["s"], ["p", "s"], ["s", "p"]):
        matrix = potential.hessian(names)
        assert close(matrix.toarray(), columns(potential, names), 1e-13)
        assert (matrix != matrix.T).nnz == 0
    assert potential.element_hessians("mixing", ("s", "p")).shape == (5, 10, 10)


def test_several_fields_stand_one_after_another() -> None:
    rng = np.random.default_rng(9)
    fields = Fields({n: rng.normal(size=(4, 2)) for n in "xy"} | {"s": rng.normal(size=4)})
    potential = Potential(fields, [bind(mixing, fields, tuples=[[0, 1], [1, 3], [3, 2]])])
    names = ["s", "y", "x"]
    matrix = potential.hessian(names)
    assert matrix.shape == (20, 20)
    assert close(matrix.toarray(), columns(potential, names), 1e-13)
    assert close(matrix.toarray()[:4, :4], potential.hessian("s").toarray(), 1e-14)
    blocks = potential.element_hessians("mixing", names)
    assert blocks.shape == (3, 10, 10)
    assert close(blocks[0, 0:2, 6:10], matrix.toarray()[np.ix_([0, 1], [12, 13, 14, 15])], 1.0)
    assert close(blocks[0, 0, 2:4], matrix.toarray()[0, 4:6], 1e-14)  # node 0 is in the first alone


def test_pairs_are_elements_of_two_nodes() -> None:
    rng = np.random.default_rng(10)
    fields = Fields({"x": rng.normal(size=(7, 2)), "m": rng.uniform(1.0, 2.0, 7)})
    bodies = [Body("some", [5, 0, 3, 2])]
    potential = Potential(
        fields, [bind(gravity, fields, bodies=bodies, parameters={"G": 1.0, "softening": 0.1})]
    )
    blocks = potential.element_hessians("gravity", "x", project="clamp")
    expected = np.zeros((14, 14))
    for block, (i, j) in zip(blocks, [(5, 0), (5, 3), (5, 2), (0, 3), (0, 2), (3, 2)], strict=True):
        rows = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        expected[np.ix_(rows, rows)] += block
    assert close(potential.hessian("x", project="clamp").toarray(), expected, 1e-15)
    assert potential.hessian("x").nnz == 4 * 16


def test_eight_nodes_compile_in_seconds() -> None:
    """By the length of the text: unrolled it is 3,100 lines."""
    rng = np.random.default_rng(11)
    fields = Fields({"x": rng.normal(size=(8, 3))})
    weights = rng.normal(size=(1, 8, 3))
    weights[:, 0] = -weights[:, 1:].sum(axis=1)
    weights *= 0.2
    parameters = {"youngs_modulus": 1.0, "poissons_ratio": 0.3}
    data = {"gradients": weights, "volume": [1.0]}
    term = bind(st_venant_kirchhoff, fields, tuples=[range(8)], data=data, parameters=parameters)
    code = HessianLoops(Emitter(term), ["x"]).hessians()
    assert code.text.count("\n") < 500
    potential = Potential(fields, [term])
    assert close(potential.hessian("x").toarray(), columns(potential, ["x"]), 1e-13)


@local_energy(
    "two_forms",
    over="tuples",
    x=Node("m", ("d",)),
    y=Node("K"),
    w=W,
    c=W,
    volume=Datum("m^3"),
    F=Linear("x", "w"),
    G=Linear("x", "c"),
    g=Linear("y", "w"),
)
def two_forms(F, G, g, volume):
    """Of F, its like with other weights, and the gradient of a number: all are coupled."""
    return volume * (
        (F * F).sum() * G.determinant() + ti.sin(F[0, 1]) * g.dot(g) + ti.exp(0.1 * G[1, 0]) * g[0]
    )


def of_two_forms(k: int, precision: str = "f64", e: int = 4, spread: float = 1.0) -> Potential:
    rng = np.random.default_rng(k)
    fields = Fields({"x": rng.normal(size=(14, 3)), "y": spread * rng.normal(size=14)}, precision=precision)
    weights = rng.normal(size=(2, e, k, 3)) / k
    weights -= weights.mean(axis=2, keepdims=True)
    tuples = [rng.permutation(14)[:k] for _ in range(e)]
    data = {"w": weights[0], "c": weights[1], "volume": rng.uniform(1.0, 2.0, e)}
    return Potential(fields, [bind(two_forms, fields, tuples=tuples, data=data)])


@pytest.mark.parametrize("k", sampled([3, 8, 10], [3, 8]))
def test_several_linear_forms_of_a_field(k: int) -> None:
    """F and G of x, g of y: 21 numbers, for cells of few and of many nodes, and for one field alone."""
    potential = of_two_forms(k)
    for names in (["x"], ["y"], ["y", "x"]):
        matrix = potential.hessian(names).toarray()
        assert close(matrix, columns(potential, names), 1e-13)
        assert (matrix == matrix.T).all()


@pytest.mark.parametrize("how", ["clamp", "abs"])
def test_moduli_of_several_forms_are_projected_together(how: str) -> None:
    potential = of_two_forms(8)
    (term,) = potential.terms.values()
    blocks = potential.element_hessians("two_forms", ["x", "y"])
    assert np.linalg.eigvalsh(blocks).min() < -0.1
    found = potential.element_hessians("two_forms", ["x", "y"], project=how)
    expected = projected_moduli(blocks, how, term, ["x", "y"])
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(blocks).max()
    assert np.linalg.eigvalsh(found).min() >= -1e-12 * np.abs(found).max()
    assert np.abs(found - projected(blocks, how)).max() > 1e-3 * np.abs(blocks).max()  # it is another one


def test_several_forms_have_few_statements() -> None:
    """Two forms of eight nodes took 33 s to compile: 300 numbers of H, each by lines of its own."""
    (term,) = of_two_forms(8).terms.values()
    assert HessianLoops(Emitter(term), ["x"]).hessians().text.count("\n") < 700
    assert HessianLoops(Emitter(term), ["x"]).moduli_rows == 18


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
def test_lanes_have_the_hessians_of_scalar_loops(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Projected and not: a solid of 9 moduli in lanes, and two forms, whose Hessians leave them."""
    room = {"f64": 1e-12, "f32": 2e-5}[precision]
    for make, names in (
        (partial(solid, precision), ["x"]),
        (partial(of_two_forms, 8, precision, 33), ["x", "y"]),
    ):
        for how in (None, "clamp", "abs"):
            in_lanes(monkeypatch, False)
            plain = make().hessian(names, project=how).toarray()
            in_lanes(monkeypatch, True)
            wide = make()
            assert wide.in_lanes
            assert close(wide.hessian(names, project=how).toarray(), plain, room)


def solid(precision: str) -> Potential:
    """Cells of eight nodes, strongly deformed: some have negative moduli."""
    rng = np.random.default_rng(5)
    fields = Fields({"x": rng.normal(size=(14, 3))}, precision=precision)
    weights = rng.normal(size=(33, 8, 3)) * 0.2
    weights -= weights.mean(axis=1, keepdims=True)
    tuples = [rng.permutation(14)[:8] for _ in range(33)]
    parameters = {"youngs_modulus": 1.0, "poissons_ratio": 0.3}
    data = {"gradients": weights, "volume": np.ones(33)}
    return Potential(
        fields, [bind(st_venant_kirchhoff, fields, tuples=tuples, data=data, parameters=parameters)]
    )


def test_definite_moduli_are_left_bit_for_bit() -> None:
    """In tension a St. Venant-Kirchhoff solid is stable, and its projected Hessian is the Hessian."""
    x = np.random.default_rng(8).normal(size=(5, 3))
    fields = Fields({"x": 1.3 * x})
    tuples = [[0, 1, 2, 3], [1, 2, 3, 4]]
    weights = np.array([weights_at_rest(x[row]) for row in tuples])
    parameters = {"youngs_modulus": 1.0, "poissons_ratio": 0.3}
    data = {"gradients": weights, "volume": np.ones(2)}
    potential = Potential(
        fields, [bind(st_venant_kirchhoff, fields, tuples=tuples, data=data, parameters=parameters)]
    )
    plain = potential.element_hessians("st_venant_kirchhoff", "x")
    assert np.linalg.eigvalsh(plain).min() > -1e-12
    for how in ("clamp", "abs"):
        assert close(potential.element_hessians("st_venant_kirchhoff", "x", project=how), plain, 1e-15)
    fields["x"].set(0.4 * x)
    squeezed = potential.element_hessians("st_venant_kirchhoff", "x")
    assert np.linalg.eigvalsh(squeezed).min() < -0.01


def test_parameters_may_change() -> None:
    fields = Fields({"x": [[0.0, 0.0], [2.0, 0.0]]})
    potential = Potential(fields, [bind(spring, fields, tuples=[[0, 1]], data={"rest": [1.0]}, parameters=K)])
    before = potential.hessian("x").toarray()
    potential.set_parameter("spring.stiffness", 6.0)
    assert np.allclose(potential.hessian("x").toarray(), 2.0 * before)


@pytest.mark.parametrize(
    ("wrt", "options", "message"),
    [
        ("z", {}, "no field named 'z'"),
        ((), {}, r"a Hessian needs one or more different fields, got \[\]"),
        (("x", "x"), {}, r"needs one or more different fields, got \[x, x\]"),
        (
            "x",
            {"project": "abs "},
            r"no projection named 'abs '; did you mean 'abs'\? \(there are: clamp, abs, None\)",
        ),
    ],
)
def test_what_cannot_be_asked(wrt, options, message) -> None:
    potential = CANONICAL["gravity"].potential(np.random.default_rng(1), 2)
    with pytest.raises(EnergyError, match=message):
        potential.hessian(wrt, **options)
    with pytest.raises(EnergyError, match=message):
        potential.element_hessians("gravity", wrt, **options)


def test_elements_are_those_of_a_term_that_reads_the_field() -> None:
    fields = Fields({"s": [1.0, 2.0], "x": [[0.0], [1.0]]})
    potential = Potential(fields, [bind(own, fields)])
    with pytest.raises(EnergyError, match=r"no term named 'spring' \(there are: own\)"):
        potential.element_hessians("spring", "s")
    with pytest.raises(EnergyError, match="own does not read x: its elements have no Hessian"):
        potential.element_hessians("own", "x")


def test_sums_within_a_function_are_refused_with_the_cure() -> None:
    potential = MAPS["electron_density"].potential(np.random.default_rng(1), 2)
    (given,) = potential.map_outputs
    message = f"'readout' reads '{given}', which a map computes from x: this Hessian is no sum over elements"
    with pytest.raises(EnergyError, match=f"{message}; use potential.product"):
        potential.hessian("x")
    with pytest.raises(EnergyError, match=message):
        potential.element_hessians("readout", "x")
    with pytest.raises(
        EnergyError, match=f"'{given}' is computed by a map; give the fields that it depends on"
    ):
        potential.hessian(given)
    lean = potential.hessian("lean", T)  # which the map does not read
    assert close(lean.toarray(), columns(potential, ["lean"]), 1e-13)


def test_too_large_ones_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(element_hessians, "FEW", 0)
    potential = CANONICAL["gravity"].potential(np.random.default_rng(1), 3, n=50)
    monkeypatch.setattr(memory, "free", lambda: memory.Free(100_000))
    message = (
        r"'gravity': the Hessian of its 1225 pairs: 764 kB of memory needed, 100 kB free; use potential\.p"
    )
    with pytest.raises(EnergyError, match=message):
        potential.hessian("x")
    chain = CANONICAL["spring"].potential(np.random.default_rng(1), 3, n=300, e=300)
    monkeypatch.setattr(memory, "free", lambda: memory.Free(50_000))
    with pytest.raises(EnergyError, match="'spring': the Hessian of its 300 elements: "):
        chain.hessian("x")
    monkeypatch.setattr(memory, "free", lambda: memory.Free(100_000))
    with pytest.raises(EnergyError, match=r"a Hessian of .* numbers: .* of memory needed, 100 kB free"):
        chain.hessian("x")


@ti.kernel
def cubes(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i] ** 3


def test_stages_are_refused_where_they_read_the_field() -> None:
    fields = Fields({"x": [1.0, 2.0], "s": [1.0, 2.0]})
    staged = bind_staged(staged_energy("cubic", stages=[Stage(cubes, ("U",))], x=Node()), fields)
    potential = Potential(fields, [staged, bind(own, fields)])
    message = "'cubic' is a staged energy, which has no second derivatives; write it as a local energy"
    with pytest.raises(EnergyError, match=message):
        potential.hessian("x")
    with pytest.raises(EnergyError, match=message):
        potential.element_hessians("cubic", "x")
    assert potential.hessian("s").toarray().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    with pytest.raises(
        EnergyError, match="cubic: a staged energy has first derivatives only, because Taichi"
    ):
        potential.product({"x": np.ones(2)}, "x")
    assert potential.product({"s": np.ones(2)}, "s").tolist() == [2.0, 2.0]
