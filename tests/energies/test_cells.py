"""Energies and maps over the cells of a grid: against NumPy, differences, other elements; what is refused."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Body,
    Cell,
    Datum,
    Fields,
    Grid,
    Linear,
    Loss,
    Motion,
    Node,
    Parameter,
    Potential,
    Rollout,
    Spacing,
    Table,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.adjoint.checks.first_step import of_program
from minusgrad.assembly.blocks.energy_block import energy_model
from minusgrad.check import single_precision, term_check
from minusgrad.energies.declaration import check_declaration
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError, TraceError
from minusgrad.plugin import SCHEMES, Evolution, Integrator
from minusgrad.potential.sample_potential import instance
from minusgrad.steppers.systems.system import System
from tests.support.layouts import LIMITS, everything, in_lanes
from tests.support.programs import differences

SHAPE = (12, 10)
PADDED = {"clamped": "edge", "zero": "constant", "periodic": "wrap"}
"""The mode of `np.pad` for each kind of edges."""
EDGES = [*PADDED, ("zero", "periodic"), ("clamped", "zero")]
PROGRAM = {"p": "q", "q": "p_next"}


@local_map("fdtd", gives="p_next", over="cells", p=Node(), q=Node(), k=Parameter(bounds=(0.0, 0.5)))
def fdtd(p, q, k):
    """A wave in leapfrog form."""
    return 2.0 * q[0, 0] - p[0, 0] + k * (q[1, 0] + q[-1, 0] + q[0, 1] + q[0, -1] - 4.0 * q[0, 0])


@local_energy("strain", over="cells", edges="periodic", q=Node("m"), c=Parameter("N/m"))
def strain(q, c):
    """The same wave, of springs from each cell to the next along both axes."""
    return 0.5 * c * ((q[1, 0] - q[0, 0]) ** 2 + (q[0, 1] - q[0, 0]) ** 2)


@local_energy("crooked", over="cells", q=Node(), v=Node(shape=("d",)), a=Parameter(), b=Datum())
def crooked(q, v, a, b):
    """Not linear in anything, with a branch, a root that has no slope at zero, and vectors."""
    s = a * q[0, 0] * q[-1, 1] + ti.sin(v[1, 0][0] * q[0, -1]) + v[0, 0].dot(v[-1, -1]) * b
    r = ti.sqrt(v[0, 1][1] * v[0, 1][1])
    u = s * s + r
    if q[0, 0] > 0.3:
        u += a * q[2, 0] * (q[0, 0] - 0.3) ** 3
    return u


@local_energy("picture", over="nodes", q=Node(), aim=Node())
def picture(q, aim):
    """How far a field is from a picture."""
    return (q[0] - aim[0]) ** 2


def padded(values: np.ndarray, width: int, edges: Any) -> np.ndarray:
    """The values of a grid with so many beyond each edge."""
    axes = values.ndim
    for axis, edge in enumerate((edges,) * axes if isinstance(edges, str) else edges):
        around = [(width, width) if k == axis else (0, 0) for k in range(axes)]
        values = np.pad(values, around, mode=PADDED[edge])
    return values


def moved(values: np.ndarray, offset: tuple[int, ...], edges: Any) -> np.ndarray:
    """For each cell the value at the cell that lies an offset away."""
    width = max(1, *map(abs, offset))
    cut = tuple(slice(width + o, width + o + n) for o, n in zip(offset, values.shape, strict=True))
    return padded(values, width, edges)[cut]


def wave_in_numpy(p: np.ndarray, q: np.ndarray, k: float, steps: int, edges: Any) -> np.ndarray:
    for _ in range(steps):
        around = sum(moved(q, o, edges) for o in ((1, 0), (-1, 0), (0, 1), (0, -1)))
        p, q = q, 2.0 * q - p + k * (around - 4.0 * q)
    return q


def pond(seed: int = 0, precision: str = "f64", shape: tuple[int, ...] = SHAPE) -> Fields:
    rng = np.random.default_rng(seed)
    return Fields({name: rng.normal(size=int(np.prod(shape))) for name in ("p", "q", "aim")}, None, precision)


def wave(of: Fields, edges: Any = None, k: float = 0.3) -> Evolution:
    made = bind(fdtd, of, parameters={"k": k}, grid=Grid(SHAPE), edges=edges)
    return Evolution(System(Potential(of, [], [made])), PROGRAM)


# Against NumPy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", EDGES, ids=str)
def test_a_wave_is_that_of_numpy(edges: Any) -> None:
    of = pond()
    p, q = (of[name].values.reshape(SHAPE).copy() for name in ("p", "q"))
    wave(of, edges).advance(20)
    expected = wave_in_numpy(p, q, 0.3, 20, edges)
    assert np.abs(of["q"].values.reshape(SHAPE) - expected).max() < 1e-14 * np.abs(expected).max()


def test_edges_are_clamped_by_default_and_as_declared_before_that() -> None:
    found = {edges: pond() for edges in (None, "clamped", "periodic")}
    for edges, of in found.items():
        wave(of, edges).advance(5)
    assert found[None]["q"].values.tobytes() == found["clamped"]["q"].values.tobytes()
    assert found[None]["q"].values.tobytes() != found["periodic"]["q"].values.tobytes()
    values = pond()["q"].values.reshape(SHAPE)
    for edges in (None, "clamped"):
        u = Potential(of := pond(), [bind(strain, of, parameters={"c": 2.0}, grid=Grid(SHAPE), edges=edges)])
        ahead = [moved(values, offset, edges or "periodic") - values for offset in ((1, 0), (0, 1))]
        assert u.value() == pytest.approx(sum((d**2).sum() for d in ahead), rel=1e-14)


@local_map("third", gives="y", over="cells", edges="zero", q=Node())
def third(q):
    """A third difference on a line."""
    return q[2] - 3.0 * q[1] + 3.0 * q[0] - q[-1]


@local_map("laplace", gives="y", over="cells", edges="periodic", q=Node())
def laplace(q):
    """In space, from a loop over axes."""
    y = -6.0 * q[0, 0, 0]
    for s in ti.static(range(-1, 2, 2)):
        y += q[s, 0, 0] + q[0, s, 0] + q[0, 0, s]
    return y


def test_a_line_and_a_box() -> None:
    line, box = pond(shape=(9,)), pond(shape=(4, 3, 5))
    Potential(line, [], [bind(third, line, grid=Grid((9,)))]).refresh()
    q = line["q"].values
    expected = moved(q, (2,), "zero") - 3.0 * moved(q, (1,), "zero") + 3.0 * q - moved(q, (-1,), "zero")
    np.testing.assert_allclose(line["y"].values, expected, rtol=0.0, atol=1e-14)
    Potential(box, [], [bind(laplace, box, grid=Grid((4, 3, 5)))]).refresh()
    q = box["q"].values.reshape(4, 3, 5)
    rolled = sum(np.roll(q, s, axis) for s in (-1, 1) for axis in range(3))
    np.testing.assert_allclose(box["y"].values.reshape(q.shape), rolled - 6.0 * q, rtol=0.0, atol=1e-14)


def test_offsets_may_reach_beyond_the_whole_grid() -> None:
    """On two cells the neighbours on both sides are one cell; clamped, several slots are one cell."""
    for edges in PADDED:
        of = pond(shape=(2,))
        q = of["q"].values
        Potential(of, [], [bind(third, of, grid=Grid((2,)), edges=edges)]).refresh()
        expected = moved(q, (2,), edges) - 3.0 * moved(q, (1,), edges) + 3.0 * q - moved(q, (-1,), edges)
        np.testing.assert_allclose(of["y"].values, expected, rtol=0.0, atol=1e-14)


def test_a_body_limits_the_cells_and_has_parameters_of_its_own() -> None:
    of = pond()
    left, right = Body("left", range(3, 9)), Body("right", [50, 70])
    options = {"parameters": {"c": {"left": 2.0, "right": 5.0}}, "bodies": [left, right]}
    u = Potential(of, [bind(strain, of, grid=Grid(SHAPE), **options)])
    q = of["q"].values.reshape(SHAPE)
    each = 0.5 * sum((moved(q, o, "periodic") - q) ** 2 for o in ((1, 0), (0, 1))).ravel()
    sums = np.array([each[body.nodes].sum() for body in (left, right)])
    assert u.value() == pytest.approx(sums @ [2.0, 5.0], rel=1e-14)
    np.testing.assert_allclose(u.gradient("strain.c"), sums, rtol=1e-14)


# Derivatives ----------------------------------------------------------------------------------------


def bent(edges: Any, precision: str = "f64", shape: tuple[int, int] = (4, 5)) -> Potential:
    """A potential of everything that a stencil can have; vectors without the kink of their root."""
    rng, n = np.random.default_rng(3), shape[0] * shape[1]
    v = rng.uniform(0.5, 1.5, size=(n, 2))
    of = Fields({"q": rng.normal(size=n), "v": v}, None, precision)
    data = {"b": rng.uniform(0.5, 1.5, size=n)}
    return Potential(of, [bind(crooked, of, parameters={"a": 0.7}, data=data, grid=Grid(shape), edges=edges)])


def bent_in_numpy(u: Potential, edges: Any, shape: tuple[int, int] = (4, 5)) -> float:
    (term,) = u.terms.values()
    q, b = u.fields["q"].values.reshape(shape), np.asarray(term.data["b"]).reshape(shape)
    v, a = [u.fields["v"].values[:, k].reshape(shape) for k in range(2)], u.parameter("crooked.a")

    def at(field: np.ndarray, *offset: int) -> np.ndarray:
        return moved(field, offset, edges)

    s = a * q * at(q, -1, 1) + np.sin(at(v[0], 1, 0) * at(q, 0, -1))
    s = s + b * sum(x * at(x, -1, -1) for x in v)
    each = s * s + np.abs(at(v[1], 0, 1)) + np.where(q > 0.3, a * at(q, 2, 0) * (q - 0.3) ** 3, 0.0)
    return float(each.sum())


@pytest.mark.parametrize("edges", EDGES, ids=str)
def test_value_gradient_product_and_hessian_of_an_energy(edges: Any) -> None:
    """Beyond an edge with zeros the root has no slope, and none is counted."""
    u = bent(edges)
    assert u.value() == pytest.approx(bent_in_numpy(u, edges), rel=1e-14)
    names: Mapping[str, Any] = {n: u.fields[n].set for n in ("q", "v")}
    names = {**names, "crooked.a": lambda a: u.set_parameter("crooked.a", a)}
    rng, matrix, w = np.random.default_rng(4), u.hessian(["q", "v"]), {}
    for name, put in names.items():
        values = u.fields[name].values if name in u.fields else u.parameter(name)
        expected = differences(lambda: bent_in_numpy(u, edges), put, values)
        np.testing.assert_allclose(u.gradient(name), expected, rtol=1e-7, atol=1e-7)
        w[name] = rng.normal(size=values.shape)
    for name, put in names.items():
        start = np.array(u.fields[name].values if name in u.fields else u.parameter(name))
        moved_by = {}
        for sign in (1.0, -1.0):
            put(start + sign * 1e-6 * w[name])
            moved_by[sign] = {other: u.gradient(other) for other in names}
        put(start)
        for other in names:
            slope = (moved_by[1.0][other] - moved_by[-1.0][other]) / 2e-6
            np.testing.assert_allclose(u.product({name: w[name]}, other), slope, rtol=1e-6, atol=1e-6)
    along = np.concatenate([w["q"].ravel(), w["v"].ravel()])
    both = [u.product({"q": w["q"], "v": w["v"]}, n).ravel() for n in ("q", "v")]
    np.testing.assert_allclose(matrix @ along, np.concatenate(both), rtol=1e-12, atol=1e-12)
    assert abs(matrix - matrix.T).max() == 0.0


@pytest.mark.parametrize("edges", PADDED)
def test_a_run_goes_back_to_its_start_and_its_parameter(edges: str) -> None:
    of = pond()
    one = wave(of, edges)
    run = Rollout(one, [Loss(Potential(of, [bind(picture, of)]), (7, 20))], 20)
    value, found = run.evaluate(["p", "q", "fdtd.k"])
    p, q, aim = (of[name].values.reshape(SHAPE).copy() for name in ("p", "q", "aim"))

    def loss(p: np.ndarray, q: np.ndarray, k: float) -> float:
        return float(sum(((wave_in_numpy(p, q, k, n, edges) - aim) ** 2).sum() for n in (7, 20)))

    assert value == pytest.approx(loss(p, q, 0.3), rel=1e-12)
    h, rng = 1e-5, np.random.default_rng(5)
    dp, dq, dk = rng.normal(size=SHAPE), rng.normal(size=SHAPE), 0.2
    ahead, behind = (loss(p + s * dp, q + s * dq, 0.3 + s * dk) for s in (h, -h))
    slope = found["p"] @ dp.ravel() + found["q"] @ dq.ravel() + float(found["fdtd.k"]) * dk
    assert slope == pytest.approx((ahead - behind) / (2.0 * h), rel=1e-7)
    assert all(f.passed for f in of_program(one))


def test_the_wave_as_an_energy_takes_the_same_steps() -> None:
    """q'' = -dU/dq by kick and drift is 2 q - p + h^2 c (sum of neighbours - 4 q)."""
    of = pond()
    h, c = 0.5, 1.2
    p, q = of["p"].values.copy(), of["q"].values.copy()
    moving = Fields({"q": q, "v": (q - p) / h}, {"q": "m", "v": "m s^-1"})
    u = Potential(moving, [bind(strain, moving, parameters={"c": c}, grid=Grid(SHAPE))])
    Integrator(System(u, [Motion("q", "v", 1.0)]), SCHEMES["symplectic_euler"], h).advance(20)
    wave(of, "periodic", k=h * h * c).advance(20)
    assert np.abs(moving["q"].values - of["q"].values).max() < 1e-13 * np.abs(of["q"].values).max()


def test_single_precision_follows_double() -> None:
    for edges in PADDED:
        found = {p: bent(edges, p) for p in ("f32", "f64")}
        for name in ("q", "v", "crooked.a"):
            gradients = {p: u.gradient(name) for p, u in found.items()}
            np.testing.assert_allclose(gradients["f32"], gradients["f64"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_lanes_give_what_rows_give(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for wanted in (True, False):
        in_lanes(monkeypatch, wanted)
        u = bent(("zero", "periodic"), precision)
        assert bool(u.in_lanes) == wanted
        found[wanted] = everything(u)
    for what, values in found[False].items():
        size = max(np.abs(values).max(), 1.0)
        assert np.abs(found[True][what] - values).max() <= LIMITS[precision] * size, what


def test_the_bits_do_not_depend_on_threads(any_threads) -> None:
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        u = bent("zero", shape=(40, 50))
        of = pond(shape=SHAPE)
        wave(of, "clamped").advance(3)
        found.append([u.gradient("q").tobytes(), u.gradient("crooked.a").tobytes(), of["q"].values.tobytes()])
    assert found[0] == found[1]


@pytest.mark.parametrize("edges", ["zero", "periodic"])
def test_the_checks_pass(edges: str) -> None:
    for u in (bent(edges), wave(pond(), edges).potential):
        findings = list(term_check.of_potential(u))
        assert findings
        assert [f.text for f in findings if not f.passed] == []
    findings = list(single_precision.of_single(wave(pond(precision="f32"), edges).potential))
    assert [f.text for f in findings if not f.passed] == []


def test_an_energy_is_checked_without_a_scene() -> None:
    rng = np.random.default_rng(0)
    for made in (crooked, fdtd, third, laplace):
        u = instance(made, 2, rng)
        assert np.isfinite(
            [u.gradient(f.name).sum() for p in u.parts.values() for f in p.fields.values()]
        ).all()
    assert all(f.passed for f in term_check.of_energy(strain))


def test_a_twin_is_its_own() -> None:
    u = bent("zero")
    twin = u.twin()
    twin.set_parameter("crooked.a", 0.1)
    assert twin.value() != u.value() == bent("zero").value()


# What is refused ------------------------------------------------------------------------------------


def traced(function: Callable, **roles: Any) -> Any:
    of = pond()
    made = local_map("m", gives="y", over="cells", q=Node(), **roles)(function)
    return bind(made, of, grid=Grid(SHAPE))


def by_number(q):
    return q[0, 0] + q[0.5, 1]


def by_value(q):
    return q[q[0, 0], 0]


def one_axis(q):
    return q[0, 0] + q[1]


def as_a_number(q):
    return 2.0 * q


def vectors(q):
    return q[0, 0]


BAD_FUNCTIONS = {
    by_number: "q: takes constant whole numbers as offsets, got [0.5, 1]; write q[1, 0], or the variables of"
    " a static loop",
    by_value: "q: takes constant whole numbers as offsets, got [Scalar, 0]; write q[1, 0], or the variables"
    " of a static loop",
    one_axis: "q: takes an offset for each axis of the grid, 2, got [1]; write q[0, 0]",
    as_a_number: "q: is a field around a cell, got no offset; write q[0, 0]",
}


@pytest.mark.parametrize("function", BAD_FUNCTIONS, ids=lambda f: f.__name__)
def test_offsets_that_are_refused(function: Callable) -> None:
    line = function.__code__.co_firstlineno + 1
    with pytest.raises(TraceError) as caught:
        traced(function)
    assert str(caught.value) == f"{__file__}:{line}: {BAD_FUNCTIONS[function]}"


def bound(energy: Any = fdtd, of: Fields | None = None, **options: Any) -> Any:
    return bind(energy, of or pond(), **{"parameters": {"k": 0.3}, "grid": Grid(SHAPE), **options})


REFUSED = {
    "fdtd: is over the cells of a grid, got none; give a `grid`": lambda: bound(grid=None),
    "fdtd: its fields must have a value for each of the 120 cells of the grid (12 x 10), got 119; give"
    " another `grid`, or fields over this one": lambda: bound(of=pond(shape=(7, 17))),
    "fdtd: is over cells of a grid, got other elements; leave them out": lambda: bound(tuples=[[0, 1]]),
    "fdtd.edges: no kind of edge named 'wrapped' (there are: clamped, zero, periodic)": lambda: bound(
        edges="wrapped"
    ),
    "fdtd.edges: needs one for all axes, or 2, one for each, got 3; give 1 or 2": lambda: bound(
        edges=["zero", "zero", "clamped"]
    ),
    "picture: is not over cells, got edges; leave `edges` out": lambda: bind(
        picture, pond(), edges="periodic"
    ),
    "map 'm': no kind of edge named 'periodical'; did you mean 'periodic'? (there are: clamped, zero,"
    " periodic)": lambda: local_map("m", gives="y", over="cells", edges="periodical", q=Node())(vectors),
    "map 'm': has edges, but is not over 'cells', got 'nodes'; leave `edges` out": lambda: local_map(
        "m", gives="y", over="nodes", edges="zero", q=Node()
    )(vectors),
    "energy 'm': has edges, but is not over 'cells', got 2; leave `edges` out": lambda: local_energy(
        "m", over=2, edges="zero", q=Node()
    )(vectors),
    "energy 'm': F is Linear, got elements that are cells; write differences of neighbours": lambda: (
        local_energy("m", over="cells", q=Node(), w=Datum(shape=("k",)), F=Linear("q", "w"))(linear)
    ),
    "energy 'm': w has a value for each node of a tuple, got elements that are cells; use a Node"
    " field": lambda: local_energy("m", over="cells", q=Node(), w=Datum(shape=("k",)))(weighted),
    "energy 'm': an argument cannot be called 'edges': a block in a scene has the keys kind, name, tuples,"
    " body, fields, gives, grid, sizes, edges, and none that begin with _; use another name": lambda: (
        check_declaration("m", edged, "cells", EDGED)
    ),
    "map 'm': an argument cannot be called 'begin': a block in a scene has the keys kind, name, tuples, body,"
    " fields, gives, grid, sizes, repeat, begin, outside, adds, copies, and none that begin with _; use"
    " another name": lambda: local_map("m", gives="y", over="nodes", q=Node(), begin=Parameter())(begun),
    "slope.side: is the grid's spacing; leave it out": lambda: bind(
        slope, pond(), grid=Grid(SHAPE), parameters={"side": 0.5}
    ),
    "map 'm': side is a Spacing, but not over 'cells', got 'nodes'; make it a Parameter": lambda: local_map(
        "m", gives="y", over="nodes", q=Node(), side=Spacing()
    )(slope.function),
    "map 'm': cells cannot add to cells; sum over nodes or tuples": lambda: local_map(
        "m", gives="y", over="cells", q=Node(), at=Cell(window=_window)
    )(spread),
}


@local_map("slope", gives="y", over="cells", q=Node("m"), side=Spacing())
def slope(q, side):
    """The derivative along the first axis."""
    return (q[1, 0] - q[-1, 0]) / (2.0 * side)


def test_a_spacing_is_that_of_the_grid() -> None:
    of = pond()
    steep = bind(slope, of, grid=Grid(SHAPE, 0.25))
    u = Potential(of, [bind(lean, of)], [steep])
    u.refresh()
    q = of["q"].values.reshape(SHAPE)
    expected = (moved(q, (1, 0), "clamped") - moved(q, (-1, 0), "clamped")) / 0.5
    np.testing.assert_allclose(of["y"].values.reshape(SHAPE), expected, rtol=0.0, atol=1e-13)
    assert u.gradient("slope.side") == pytest.approx(-2.0 * u.value() / 0.25, rel=1e-12)
    assert "side" not in energy_model(slope).model_fields
    assert np.isfinite(instance(slope, 2, np.random.default_rng(0)).value())


def test_a_map_that_reads_its_own_output_is_checked_without_a_scene() -> None:
    @local_map("sweep", gives="q", over="cells", q=Node(), k=Parameter())
    def sweep(q, k):
        return k * (q[0, 1] + q[0, -1]) - q[0, 0] ** 2

    found = list(term_check.of_energy(sweep))
    assert len(found) > 8
    assert [f.text for f in found if not f.passed] == []


@local_energy("lean", over="nodes", y=Node())
def lean(y):
    """Quadratic in an output."""
    return 0.5 * y[0] * y[0]


def edged(q, edges):
    return q[0, 0] * edges


EDGED = {"q": Node(), "edges": Parameter()}


def begun(q, begin):
    return q[0] * begin


def linear(F):
    return F


def weighted(q, w):
    return q[0, 0] * w[0]


def spread(q, at):
    return q[0, 0] * at[0]


def _window(q):
    return [q[0, 0]], [q[0, 0]]


@pytest.mark.parametrize("text", REFUSED)
def test_refused_in_so_many_words(text: str) -> None:
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        REFUSED[text]()


def test_a_table_and_every_path_are_seen() -> None:
    """Offsets of both sides of a branch are found, and of a sum with weights from a table."""

    @local_map("kernel", gives="y", over="cells", edges="zero", q=Node(), weights=Table(axes=2))
    def kernel(q, weights):
        y = 0.0
        for i in ti.static(range(3)):
            for j in ti.static(range(3)):
                y += weights[i, j] * q[i - 1, j - 1]
        if q[0, 0] > 0.0:
            y = q[0, 3]
        else:
            y += q[-4, 0]
        return y

    of, weights = pond(), np.random.default_rng(6).normal(size=(3, 3))
    term = bind(kernel, of, tables={"weights": weights}, grid=Grid(SHAPE))
    assert len(term.energy.offsets) == 11
    assert term.energy.offsets[0] == (0, 0)
    Potential(of, [], [term]).refresh()
    q = of["q"].values.reshape(SHAPE)
    sums = sum(w * moved(q, (i - 1, j - 1), "zero") for (i, j), w in np.ndenumerate(weights))
    expected = np.where(q > 0.0, moved(q, (0, 3), "zero"), sums + moved(q, (-4, 0), "zero"))
    np.testing.assert_allclose(of["y"].values.reshape(SHAPE), expected, rtol=0.0, atol=1e-14)
