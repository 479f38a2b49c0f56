"""Lanes: every energy in both layouts, f32 and f64, with a last block that is not full; log of vectors."""

from dataclasses import replace

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Potential, bind, local_energy, ti
from minusgrad.codegen.element_lanes.lane_loops import Lanes
from minusgrad.codegen.term_loops import Emitter
from minusgrad.engine import lane_blocks, runtime, storage
from minusgrad.engine.kernels import BoundKernel, Code
from minusgrad.errors import MiscompiledError
from minusgrad.symbolic.operations import OPERATIONS
from tests.support.instances import CANONICAL, of_each_class
from tests.support.layouts import LIMITS, T, everything, in_lanes
from tests.support.tiers import sampled

SHARED = [name for name, instance in CANONICAL.items() if instance.energy.over != "nodes"]
PLAIN = {"dihedral", "periodic_torsion", "joint", "kinds", "flags", "powers"}
PLAIN |= {
    f"{name}_plane_stress" for name in ("neo_hookean", "compressible_mooney_rivlin", "compressible_ogden")
}
"""Energies that compute in whole numbers, or many things lane by lane, such as the root of a thickness."""


SINGLE = of_each_class({name: CANONICAL[name] for name in SHARED}, SHARED[::6])
LAYOUTS = [
    pytest.param(name, precision) for precision, names in (("f64", SHARED), ("f32", SINGLE)) for name in names
]
"""Every energy; in single precision, which changes the width of lanes alone, one of each class."""
HESSIANS = [
    pytest.param(name, precision)
    for name in ("neo_hookean", "spring", "gravity", "membrane")
    for precision in ("f64", "f32")
]
CHEAP = [row for row in HESSIANS if row.values in (("spring", "f64"), ("spring", "f32"), ("gravity", "f64"))]
"""Lanes of solids are compared in `potential/test_hessian`, too."""


@pytest.mark.parametrize(
    ("name", "precision"), sampled(LAYOUTS, [pytest.param(name, "f32") for name in SHARED[::6]])
)
def test_both_layouts_compute_the_same(
    name: str, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    instance = CANONICAL[name]
    found = {}
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        d = instance.dimensions[-1]
        potential = instance.potential(np.random.default_rng(7), d, n=29, e=37, precision=precision)
        (name,) = potential.terms
        assert isinstance(potential.kernels[name].emitter, Lanes) == (wanted and name not in PLAIN)
        found[wanted] = everything(potential)
    for what, expected in found[False].items():
        assert found[True][what].dtype == expected.dtype
        assert found[True][what].shape == expected.shape
        size = max(float(np.abs(expected).max()), 1e-30)
        assert np.abs(found[True][what].astype(float) - expected).max() <= LIMITS[precision] * size, what


@pytest.mark.parametrize(
    ("name", "precision"),
    sampled(HESSIANS, CHEAP),
)
def test_hessians_in_both_layouts(
    name: str, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    found: dict[bool, list[np.ndarray]] = {}
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        d = CANONICAL[name].dimensions[-1]
        potential = CANONICAL[name].potential(np.random.default_rng(7), d, n=29, e=37, precision=precision)
        each = [potential.element_hessians(name, "x", T, how) for how in (None, "clamp", "abs")]
        matrix = potential.hessian("x", T)
        assert (matrix != matrix.T).nnz == 0
        found[wanted] = [*each, matrix.toarray()]
    for one, other in zip(found[True], found[False], strict=True):
        assert np.abs(one - other).max() <= LIMITS[precision] * np.abs(other).max()


@pytest.mark.parametrize("name", sampled(["gravity", "spring", "neo_hookean"], ["gravity", "spring"]))
def test_bits_do_not_depend_on_threads(name: str, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    bits = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        found = everything(CANONICAL[name].potential(np.random.default_rng(5), 3, n=2100, e=2500))
        bits[threads] = {what: values.tobytes() for what, values in found.items()}
    assert bits[1] == bits[2]


def test_small_terms_have_no_lanes(engine: None) -> None:
    small = CANONICAL["spring"].potential(np.random.default_rng(1), 2)
    assert type(small.kernels["spring"].emitter) is Emitter
    assert small.in_lanes == []
    large = CANONICAL["spring"].potential(np.random.default_rng(1), 2, n=400, e=20_000)
    assert large.in_lanes == ["spring"]


@local_energy("pull", over=2, x=Node("1"), weight=Datum("1"))
def pull(x, weight):
    return weight * (x[0] - x[1]) ** 2


def test_a_datum_may_change(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    fields = Fields({"x": np.arange(4.0)})
    term = bind(pull, fields, tuples=[[0, 1], [1, 3]], data={"weight": [1.0, 2.0]})
    potential = Potential(fields, [term])
    assert potential.value() == 9.0
    term.set_datum("weight", [3.0, 5.0])
    assert potential.value() == 23.0
    assert potential.gradient("x").tolist() == [-6.0, -14.0, 0.0, 20.0]


@local_energy("odd", over=2, x=Node("1"), weight=Datum("1"))
def odd(x, weight):
    """What no vector instruction computes, and what has branches."""
    r = x[0] - x[1]
    near = ti.exp(-weight * r * r) + ti.atan2(x[0], weight)
    far = ti.log(1.0 + weight * ti.abs(r)) + ti.min(r, x[1]) * ti.max(x[0], 0.1) + weight**1.5
    return ti.select((ti.abs(r) < 0.5) & (x[0] > 0.0), near, far) + weight ** ti.abs(x[0])


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_lane_by_lane(precision: str, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    rng = np.random.default_rng(0)
    x, rows = rng.normal(size=40), np.array([rng.permutation(40)[:2] for _ in range(45)])
    weights = rng.uniform(0.5, 1.5, 45)
    found = []
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        fields = Fields({"x": x}, precision=precision)
        potential = Potential(fields, [bind(odd, fields, tuples=rows, data={"weight": weights})])
        found.append([potential.by_element("odd"), potential.gradient("x"), potential.product({"x": x}, "x")])
    for one, other in zip(*found, strict=True):
        assert np.abs(one - other).max() <= LIMITS[precision] * np.abs(other).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_of_vectors(dtype: type, engine: None) -> None:
    rng, limits = np.random.default_rng(0), np.finfo(dtype)
    known = [
        1.0,
        limits.tiny,
        limits.max,
        np.sqrt(0.5),
        np.sqrt(2.0),
        2.0,
        0.5,
        0.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
    ]
    every = [2.0 ** rng.uniform(limits.minexp, limits.maxexp, 20000), 1.0 + 1e-2 * rng.normal(size=5000)]
    x = np.concatenate([*every, 1.0 + 1e-5 * rng.normal(size=5000), known]).astype(dtype)
    assert_of_vectors(np.log, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_of_vectors(dtype: type, engine: None) -> None:
    """Over the range and beyond its ends; near zero; at the bounds of the reduction."""
    rng, limits = np.random.default_rng(0), np.finfo(dtype)
    low, high = np.log(float(limits.smallest_subnormal)), np.log(float(limits.max))
    halves = (np.arange(-20, 20) + 0.5) * np.log(2.0)
    known = [0.0, 1.0, -1.0, high - 1e-4, np.inf, -np.inf, np.nan, 2.0 * high, 2.0 * low, 1e30, -1e30]
    every = [rng.uniform(1.1 * low, 1.1 * high, 20000), rng.normal(size=5000), 1e-6 * rng.normal(size=5000)]
    assert_of_vectors(np.exp, np.concatenate([*every, halves, known]).astype(dtype))


def assert_of_vectors(function: np.ufunc, x: np.ndarray) -> None:
    """Within two eps of NumPy's long double; numbers below the smallest normal one may be zero."""
    limits = np.finfo(x.dtype)
    wide, real = 64 // x.itemsize, storage.ENGINE_DTYPES[x.dtype.name]
    taken, out = lane_blocks.rows_in_blocks(x[:, None], wide), lane_blocks.zeros(len(x), 1, wide, x.dtype)
    text = f"for n in range(x.shape[0]):\n    out[n] = {function.__name__}_{real}x{wide}(x[n])\n"
    BoundKernel(Code(text, {"x": taken, "out": out}))()
    found = lane_blocks.rows(out, len(x))[:, 0]
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.longdouble))
        rounded = expected.astype(x.dtype)
    finite = np.isfinite(rounded)
    assert np.array_equal(found[~finite], rounded[~finite], equal_nan=True)
    right = expected[finite]
    allowed = 2.0 * limits.eps * np.abs(right) + limits.tiny * (np.abs(right) < limits.tiny)
    assert (np.abs(found[finite] - right) <= allowed).all()


def test_rows_and_blocks() -> None:
    rows = np.arange(21.0).reshape(7, 3)
    made = lane_blocks.rows_in_blocks(rows, 4)
    assert made.shape == (2, 3, 4)
    assert made.ctypes.data % lane_blocks.ALIGNMENT == 0
    assert np.array_equal(lane_blocks.rows(made, 7), rows)
    assert np.array_equal(made[1, :, 3], rows[6])  # filled up with the last row
    flat = lane_blocks.flat(made)
    assert all(flat[lane_blocks.place(e, k, 3, 4)] == rows[e, k] for e in range(7) for k in range(3))
    e, k = 5, 2
    assert flat[eval(lane_blocks.place("e", k, 3, 4))] == rows[e, k]


def test_a_kernel_that_computes_something_else_is_not_used(
    monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    """Wrong instructions: for the value of tuples, a gradient of tuples, and a gradient of pairs."""
    in_lanes(monkeypatch, True)
    for name, asked, operation, wrong in [
        ("spring", "value", "sqrt", "ti.sqrt({0}) * ti.sqrt({0})"),
        ("spring", "gradient", "add", "{0} - {1}"),
        ("gravity", "gradient", "recip", "{one} / ({0} + {0})"),
        ("spring", "hessian", "mul", "{0} * {1} * {1}"),
    ]:
        with monkeypatch.context() as broken:
            broken.setitem(OPERATIONS, operation, replace(OPERATIONS[operation], vectors=wrong))
            potential = CANONICAL[name].potential(np.random.default_rng(2), 3, n=29, e=37)
            with pytest.raises(MiscompiledError, match=f"term '{name}', element .* its function: engine "):
                _asked(potential, asked)
        right = CANONICAL[name].potential(np.random.default_rng(2), 3, n=29, e=37)
        _asked(right, asked)


def _asked(potential: Potential, what: str) -> None:
    match what:
        case "value":
            potential.value()
        case "gradient":
            potential.gradient("x")
        case "hessian":
            potential.hessian("x")


def test_what_is_not_finite_proves_nothing(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    potential = CANONICAL["spring"].potential(np.random.default_rng(2), 3, n=29, e=37)
    potential.fields["x"].set(np.full((29, 3), np.nan))
    assert np.isnan(potential.value())
    assert np.isnan(potential.gradient("x")).any()


@ti.kernel
def by_hand(x: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
    for i in range(x.shape[0]):
        v = -x[i]
        if v[0] > 0.0:
            v[1] = 2.0 * v[1]
        out[i] = v.norm()


def test_kernels_by_hand_in_the_same_process(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """They are compiled as ever: a minus before a vector would end the process, were vectors kept whole."""
    in_lanes(monkeypatch, True)
    potential = CANONICAL["spring"].potential(np.random.default_rng(2), 3, n=29, e=37)
    before = potential.gradient("x")
    x, out = potential.fields["x"].values.copy(), np.zeros(29)
    by_hand(x, out)
    v = -x
    v[:, 1] *= np.where(v[:, 0] > 0.0, 2.0, 1.0)
    assert np.allclose(out, np.linalg.norm(v, axis=1), rtol=1e-14)
    config = ti.lang.impl.current_cfg()
    assert config.force_scalarize_matrix is config.real_matrix_scalarize is True
    assert np.array_equal(potential.gradient("x"), before)
