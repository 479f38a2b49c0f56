"""Maps from the cells of a grid, and windows beyond its rim: against NumPy, differences; what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    At,
    Cell,
    Fields,
    Grid,
    Loss,
    Node,
    Output,
    Parameter,
    Potential,
    Rollout,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.adjoint.checks.first_step import of_program
from minusgrad.assembly.origins.run_origin import of_term
from minusgrad.check import single_precision, term_check
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.codegen.windows.gather_loops import GatherLoops
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError, MiscompiledError
from minusgrad.plugin import Evolution
from minusgrad.potential.sample_potential import instance
from minusgrad.steppers.systems.system import System
from tests.support.programs import differences
from tests.support.tiers import sampled

SHAPE = (9, 7)
PADDED = {"clamped": "edge", "zero": "constant", "periodic": "wrap"}
"""The mode of `np.pad` for each kind of edges."""
EDGES = [*PADDED, ("zero", "periodic"), ("clamped", "zero")]
H, DT = 0.5, 0.7


@ti.func
def hat(s):
    return ti.max(0.0, 1.0 - abs(s))


def foot(v, dt, here, h):
    """The four cells around the place that a cell's content comes from."""
    i, j = ti.floor(here[0] - dt * v[0, 0][0] / h), ti.floor(here[1] - dt * v[0, 0][1] / h)
    return [i, j], [i + 1.0, j + 1.0]


@local_map(
    "advected",
    gives="q_next",
    over="cells",
    q=At(),
    v=Node(shape=("d",)),
    dt=Parameter(),
    here=Cell(),
    at=Cell(window=foot, spacing="h"),
    h=Parameter(),
)
def advected(q, v, dt, here, at, h):
    """Semi-Lagrangian advection."""
    return q * hat(here[0] - dt * v[0, 0][0] / h - at[0]) * hat(here[1] - dt * v[0, 0][1] / h - at[1])


@local_map(
    "carried",
    gives="u_next",
    over="cells",
    shape=("d",),
    u=At(shape=("d",)),
    v=Node(shape=("d",)),
    dt=Parameter(),
    here=Cell(),
    at=Cell(window=foot, spacing="h"),
    h=Parameter(),
)
def carried(u, v, dt, here, at, h):
    """The velocity along itself, with a part that is not linear in it."""
    w = hat(here[0] - dt * v[0, 0][0] / h - at[0]) * hat(here[1] - dt * v[0, 0][1] / h - at[1])
    return w * (1.0 + 0.1 * u.dot(u)) * u


def around(x, h):
    """The three cells nearest to a particle, along both axes."""
    i, j = ti.floor(x[0][0] / h - 0.5), ti.floor(x[0][1] / h - 0.5)
    return [i, j], [i + 2.0, j + 2.0]


@ti.func
def spline(s):
    """The quadratic B-spline."""
    a = abs(s)
    return ti.select(a < 0.5, 0.75 - a * a, ti.select(a < 1.5, 0.5 * (1.5 - a) * (1.5 - a), 0.0))


@local_map(
    "to_particles",
    gives={"vp": Output(shape=("d",)), "C": Output(shape=("d", "d"))},
    over="nodes",
    x=Node(shape=("d",)),
    V=At(shape=("d",)),
    at=Cell(window=around, spacing="h"),
    h=Parameter(),
    blend=Parameter(),
)
def to_particles(x, V, at, h, blend):
    """Velocity and its affine part (APIC)."""
    r = ti.Vector([at[0] * h - x[0][0], at[1] * h - x[0][1]])
    w = blend * spline(r[0] / h) * spline(r[1] / h)
    return w * V, 4.0 / (h * h) * w * V.outer_product(r)


@local_map(
    "to_grid",
    gives="mass",
    over="nodes",
    x=Node(shape=("d",)),
    m=Node(),
    at=Cell(window=around, spacing="h"),
    h=Parameter(),
)
def to_grid(x, m, at, h):
    """The mass of particles, on the grid."""
    return m[0] * spline(at[0] - x[0][0] / h) * spline(at[1] - x[0][1] / h)


@local_map("read", gives="y", over="nodes", x=Node(shape=("d",)), V=At(),
           at=Cell(window=around, spacing="h"), h=Parameter())  # fmt: skip
def read(x, V, at, h):
    """The transpose of `to_grid`."""
    return V * spline(at[0] - x[0][0] / h) * spline(at[1] - x[0][1] / h)


@local_energy("cubic", over="nodes", y=Node(), s=Node())
def cubic(y, s):
    """Not linear in a map's output."""
    return s[0] * y[0] * (1.0 + y[0] * (0.5 + y[0]))


@local_energy("cubic_of_vectors", over="nodes", y=Node(shape=("d",)), s=Node())
def cubic_of_vectors(y, s):
    """Not linear in a map's output."""
    return s[0] * (y[0][0] + 0.5 * y[0].dot(y[0])) * (1.0 + y[0][1])


@local_energy("cubic_of_matrices", over="nodes", y=Node(shape=("d", "d")), s=Node())
def cubic_of_matrices(y, s):
    """Not linear in a map's output."""
    return s[0] * (y[0].trace() + y[0].determinant() + y[0][0, 1] ** 3)


# In NumPy -------------------------------------------------------------------------------------------


def beyond(values: np.ndarray, edges: Any, width: int) -> np.ndarray:
    """The values of a grid with so many beyond each edge."""
    for axis, edge in enumerate((edges,) * len(SHAPE) if isinstance(edges, str) else edges):
        around = [(width, width) if k == axis else (0, 0) for k in range(values.ndim)]
        values = np.pad(values, around, mode=PADDED[edge])
    return values


def bilinear(q: np.ndarray, places: np.ndarray, edges: Any) -> np.ndarray:
    """q (*SHAPE, ...) at places (n, 2), in cells."""
    width = int(np.abs(places).max()) + 3
    wide, low = beyond(q, edges, width), np.floor(places).astype(int)
    s = (places - low).reshape(len(places), 2, *[1] * (q.ndim - 2))
    i, j = low[:, 0] + width, low[:, 1] + width
    return (1 - s[:, 0]) * ((1 - s[:, 1]) * wide[i, j] + s[:, 1] * wide[i, j + 1]) + s[:, 0] * (
        (1 - s[:, 1]) * wide[i + 1, j] + s[:, 1] * wide[i + 1, j + 1]
    )


def feet(v: np.ndarray, dt: float) -> np.ndarray:
    return np.indices(SHAPE).reshape(2, -1).T - dt * v / H


def splines(s: np.ndarray) -> np.ndarray:
    """The three weights at cells -1, 0, 1 of places s in -0.5 .. 0.5 from the middle one, (3, ...)."""
    return np.array([0.5 * (0.5 - s) ** 2, 0.75 - s**2, 0.5 * (0.5 + s) ** 2])


def apic(x: np.ndarray, V: np.ndarray, blend: float, edges: Any) -> tuple[np.ndarray, np.ndarray]:
    """The velocity of particles and its affine part."""
    width = 12
    wide, middle = beyond(V.reshape(*SHAPE, 2), edges, width), np.floor(x / H + 0.5).astype(int)
    weights = splines(x / H - middle)
    v, C = np.zeros_like(x), np.zeros((len(x), 2, 2))
    for a in range(3):
        for b in range(3):
            cell = middle + np.array([a - 1, b - 1])
            w = blend * weights[a][:, 0] * weights[b][:, 1]
            there = wide[cell[:, 0] + width, cell[:, 1] + width]
            v += w[:, None] * there
            C += (4.0 / H**2 * w)[:, None, None] * there[:, :, None] * (cell * H - x)[:, None, :]
    return v, C


def masses(x: np.ndarray, m: np.ndarray, edges: Any) -> np.ndarray:
    """The mass of particles, cell by cell."""
    width, middle = 12, np.floor(x / H + 0.5).astype(int)
    weights, wide = splines(x / H - middle), np.zeros([n + 24 for n in SHAPE])
    for a in range(3):
        for b in range(3):
            cell = middle + np.array([a - 1, b - 1]) + width
            np.add.at(wide, (cell[:, 0], cell[:, 1]), m * weights[a][:, 0] * weights[b][:, 1])
    for axis, edge in enumerate((edges,) * 2 if isinstance(edges, str) else edges):
        n, k = SHAPE[axis], np.arange(wide.shape[axis]) - width
        inner = np.zeros([SHAPE[axis] if a == axis else wide.shape[a] for a in range(2)])
        for row, at in enumerate(k):
            to = at % n if edge == "periodic" else min(max(at, 0), n - 1)
            if edge != "zero" or 0 <= at < n:
                np.moveaxis(inner, axis, 0)[to] += np.moveaxis(wide, axis, 0)[row]
        wide = inner
    return wide.ravel()


# Subjects -------------------------------------------------------------------------------------------

P = 14
"""Particles."""


def lake(edges: Any, precision: str = "f64", itself: bool = False) -> Potential:
    """A cubic energy of what is carried over a grid, some of it from beyond the rim; or a velocity."""
    rng, n = np.random.default_rng(0), int(np.prod(SHAPE))
    of = Fields(
        {"q": rng.normal(size=n), "v": 1.5 * rng.normal(size=(n, 2)), "s": rng.normal(size=n)},
        None,
        precision,
    )
    options: dict[str, Any] = {"grid": Grid(SHAPE, H), "edges": edges, "parameters": {"dt": DT}}
    if itself:
        made = bind(carried, of, renamed={"u": "v"}, **options)
        return Potential(of, [bind(cubic_of_vectors, of, renamed={"y": "u_next"})], [made])
    made = bind(advected, of, **options)
    return Potential(of, [bind(cubic, of, renamed={"y": "q_next"})], [made])


def lake_in_numpy(u: Potential, edges: Any) -> float:
    of, n = u.fields, len(u.fields["q"])
    v, s = of["v"].values, of["s"].values
    name = next(iter(u.maps))
    places = feet(v, float(u.parameter(f"{name}.dt")))
    if name == "advected":
        y = bilinear(of["q"].values.reshape(SHAPE), places, edges)
        return float((s * y * (1.0 + y * (0.5 + y))).sum())
    source = (1.0 + 0.1 * (v**2).sum(axis=1))[:, None] * v
    y = bilinear(source.reshape(*SHAPE, 2), places, edges).reshape(n, 2)
    return float((s * (y[:, 0] + 0.5 * (y**2).sum(axis=1)) * (1.0 + y[:, 1])).sum())


def cloud(edges: Any, precision: str = "f64") -> Potential:
    """Particles that read a grid's velocities, some of them beyond its rim."""
    rng, n = np.random.default_rng(1), int(np.prod(SHAPE))
    x = rng.uniform(-2.0, 2.0 + np.array(SHAPE), size=(P, 2)) * H
    of = Fields({"x": x, "V": rng.normal(size=(n, 2)), "s": rng.normal(size=P)}, None, precision)
    made = bind(to_particles, of, grid=Grid(SHAPE, H), edges=edges, parameters={"blend": 0.9})
    terms = [
        bind(cubic_of_vectors, of, renamed={"y": "vp"}),
        bind(cubic_of_matrices, of, renamed={"y": "C"}),
    ]
    return Potential(of, terms, [made])


def cloud_in_numpy(u: Potential, edges: Any) -> float:
    of = u.fields
    v, C = apic(of["x"].values, of["V"].values, float(u.parameter("to_particles.blend")), edges)
    of_v = (v[:, 0] + 0.5 * (v**2).sum(axis=1)) * (1.0 + v[:, 1])
    of_c = np.trace(C, axis1=1, axis2=2) + np.linalg.det(C) + C[:, 0, 1] ** 3
    return float((of["s"].values * (of_v + of_c)).sum())


def spread(edges: Any, precision: str = "f64") -> Potential:
    """Particles that add their mass to a grid, some of them beyond its rim."""
    rng, n = np.random.default_rng(2), int(np.prod(SHAPE))
    x = rng.uniform(-2.0, 2.0 + np.array(SHAPE), size=(P, 2)) * H
    of = Fields({"x": x, "m": rng.uniform(0.5, 1.5, size=P), "s": rng.normal(size=n)}, None, precision)
    made = bind(to_grid, of, grid=Grid(SHAPE, H), edges=edges)
    return Potential(of, [bind(cubic, of, renamed={"y": "mass"})], [made])


def spread_in_numpy(u: Potential, edges: Any) -> float:
    y = masses(u.fields["x"].values, u.fields["m"].values, edges)
    return float((u.fields["s"].values * y * (1.0 + y * (0.5 + y))).sum())


SUBJECTS: dict[str, tuple[Callable[..., Potential], Callable[[Potential, Any], float], list[str]]] = {
    "advected": (lake, lake_in_numpy, ["q", "v", "s", "advected.dt"]),
    "carried": (lambda *a: lake(*a, itself=True), lake_in_numpy, ["v", "s", "carried.dt"]),
    "to_particles": (cloud, cloud_in_numpy, ["x", "V", "s", "to_particles.blend"]),
    "to_grid": (spread, spread_in_numpy, ["x", "m", "s"]),
}


def puts(u: Potential, names: list[str]) -> dict[str, tuple[Callable, np.ndarray]]:
    """How each variable is set, and its values."""
    return {
        n: (u.fields[n].set, u.fields[n].values.copy())
        if n in u.fields
        else (lambda v, n=n: u.set_parameter(n, v), np.array(u.parameter(n)))
        for n in names
    }


def derivatives(u: Potential, w: dict[str, np.ndarray]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The gradients by some variables, and how they change along w, in one pass."""
    fields, others = [n for n in w if n in u.fields], [n for n in w if n not in u.fields]
    zeros = [{n: storage.allocate(np.zeros_like(u.fields[n].values)) for n in fields} for _ in range(2)]
    along = {n: storage.allocate(v.astype(u.fields.dtype)) if n in fields else v for n, v in w.items()}
    asked = DerivativeRequest(
        gradient=zeros[0], slopes=others, product=zeros[1], changes=others, tangents=along
    )
    swept = u.sweep(asked, 0.0)
    hosts = [{n: storage.host(array).copy() for n, array in some.items()} for some in zeros]
    return hosts[0] | swept.slopes, hosts[1] | swept.changes


# Against NumPy --------------------------------------------------------------------------------------


CASES = {f"{subject}-{edges}": (subject, edges) for subject in SUBJECTS for edges in EDGES}


@pytest.mark.parametrize("name", sampled(CASES, [*CASES][::4]))
def test_values_gradients_and_products(name: str) -> None:
    subject, edges = CASES[name]
    make, reference, names = SUBJECTS[subject]
    u = make(edges)
    assert u.value() == pytest.approx(reference(u, edges), rel=1e-13)
    variables, rng = puts(u, names), np.random.default_rng(4)
    w = {name: rng.normal(size=values.shape) for name, (_, values) in variables.items()}
    gradients, products = derivatives(u, w)
    moved = []
    for sign in (1.0, -1.0):
        for name, (put, values) in variables.items():
            put(values + sign * 1e-6 * w[name])
        moved.append(derivatives(u, w)[0])
    for name, (put, values) in variables.items():
        put(values)
        slope = (moved[0][name] - moved[1][name]) / 2e-6
        size = 1e-7 * np.abs(slope).max()
        np.testing.assert_allclose(products[name], slope, rtol=1e-6, atol=size, err_msg=name)
    for name, (put, values) in variables.items():
        expected = differences(lambda: reference(u, edges), put, values)
        size = 1e-7 * np.abs(expected).max()
        np.testing.assert_allclose(gradients[name], expected, rtol=1e-7, atol=size, err_msg=name)


def test_on_a_torus_no_mass_is_lost() -> None:
    u = spread("periodic")
    u.refresh()
    assert u.fields["mass"].values.sum() == pytest.approx(u.fields["m"].values.sum(), rel=1e-14)


@pytest.mark.parametrize("edges", ["zero", "periodic"])
def test_the_gather_is_the_transpose_of_the_scatter(edges: str) -> None:
    """Over particles: sum of m (sum over cells of w V). Over cells: sum of V (sum over particles of w m)."""
    u = spread(edges)
    of = Fields({n: u.fields[n].values for n in ("x", "m")} | {"V": u.fields["s"].values})
    y = bind(read, of, grid=Grid(SHAPE, H), edges=edges)
    mass = bind(to_grid, of, grid=Grid(SHAPE, H), edges=edges)
    p = Potential(of, [], [y, mass])
    p.refresh()
    left, right = of["m"].values @ of["y"].values, of["V"].values @ of["mass"].values
    assert left == pytest.approx(right, rel=1e-13)


# Other elements and grids -----------------------------------------------------------------------------


def near(x):
    return [x[0] - 1.2], [x[0] + 1.7]


@local_map("line", gives="y", over=2, x=Node(), q=At(), at=Cell(window=near), a=Parameter())
def line(x, q, at, a):
    """From a line to the first node of a pair; windows of no fixed width."""
    return a * q * ti.exp(-((at[0] - x[0]) ** 2)) * (x[1] - at[0])


@pytest.mark.parametrize("edges", PADDED)
def test_several_tuples_add_to_one_node_and_windows_have_any_width(edges: str) -> None:
    rng = np.random.default_rng(5)
    q, x = rng.normal(size=6), np.array([-1.3, 0.2, 2.6, 4.4, 6.1])
    pairs = np.array([[0, 1], [2, 1], [0, 3], [4, 2], [2, 4]])
    of = Fields({"x": x, "q": q, "s": rng.normal(size=5)})
    made = bind(line, of, tuples=pairs, grid=Grid((6,)), edges=edges, parameters={"a": 0.7})
    u = Potential(of, [bind(cubic, of)], [made])

    def reference(find: bool = False) -> Any:
        y, q, x = np.zeros(5), of["q"].values, of["x"].values
        for a, b in pairs:
            for cell in range(int(np.floor(x[a] - 1.2)), int(np.ceil(x[a] + 1.7)) + 1):
                if edges == "zero" and not 0 <= cell < 6:
                    continue
                value = q[cell % 6] if edges == "periodic" else q[min(max(cell, 0), 5)]
                y[a] += 0.7 * value * np.exp(-((cell - x[a]) ** 2)) * (x[b] - cell)
        return y if find else float((of["s"].values * y * (1.0 + y * (0.5 + y))).sum())

    assert u.value() == pytest.approx(reference(), rel=1e-13)
    np.testing.assert_allclose(of["y"].values, reference(True), rtol=1e-13, atol=1e-14)
    for name in ("q", "x"):
        expected = differences(reference, of[name].set, of[name].values)
        np.testing.assert_allclose(u.gradient(name), expected, rtol=1e-7, atol=1e-7)


def inside_box(here, c):
    return [here[k] - c for k in ti.static(range(3))], [here[k] + c for k in ti.static(range(3))]


@local_map("box", gives="y", over="cells", edges="periodic", q=At(), here=Cell(), at=Cell(window=inside_box),
           c=Parameter(default=1.0))  # fmt: skip
def box(q, here, at, c):
    """The sum of a box around each cell; no field but that in the window."""
    return q * c


def test_a_box_in_space_that_wraps_more_than_once() -> None:
    q = np.random.default_rng(6).normal(size=(4, 3, 2))
    of = Fields({"q": q.ravel()})
    u = Potential(of, [], [bind(box, of, grid=Grid(q.shape))])
    u.refresh()
    expected = sum(
        np.roll(q, (i, j, k), (0, 1, 2)) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)
    )
    np.testing.assert_allclose(of["y"].values, expected.ravel(), rtol=1e-13, atol=1e-13)


# As other maps are ------------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", sampled(PADDED, ["periodic"]))
@pytest.mark.parametrize("subject", sampled(SUBJECTS, [name for name in SUBJECTS if name != "carried"]))
def test_single_precision_follows_double(subject: str, edges: str) -> None:
    make, _, names = SUBJECTS[subject]
    f32, f64 = make(edges, "f32"), make(edges)
    for n, f in f64.fields.items():  # the same numbers
        if n not in f64.fields.derived:
            f.set(f32.fields[n].values)
    w = {n: np.ones_like(values) for n, (_, values) in puts(f64, names).items()}
    for narrow, wide in zip(derivatives(f32, w), derivatives(f64, w), strict=True):
        for name in names:
            size = np.abs(wide[name]).max()
            np.testing.assert_allclose(narrow[name], wide[name], rtol=1e-3, atol=1e-4 * size)


def test_the_bits_do_not_depend_on_threads(any_threads) -> None:
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        numbers = []
        for make, _, names in SUBJECTS.values():
            u = make("periodic")
            w = {n: np.ones_like(values) for n, (_, values) in puts(u, names).items()}
            numbers += [some[n].tobytes() for some in derivatives(u, w) for n in names]
        found.append(numbers)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("subject", "edges"),
    [("carried", "periodic"), pytest.param("to_particles", "zero", marks=pytest.mark.long)],
)
def test_the_checks_pass(subject: str, edges: str) -> None:
    findings = list(term_check.of_potential(SUBJECTS[subject][0](edges)))
    assert {"window", "value", "taylor"} <= {f.question for f in findings}
    assert [f.text for f in findings if not f.passed] == []
    findings = list(single_precision.of_single(SUBJECTS[subject][0](edges, "f32")))
    assert [f.text for f in findings if not f.passed] == []


def test_a_program_goes_back_through_it() -> None:
    """Smoke that is carried and a wind that carries itself, ten steps."""
    rng, n = np.random.default_rng(7), int(np.prod(SHAPE))
    v, q = 0.4 * rng.normal(size=(n, 2)), rng.normal(size=n)

    def smoke(v: np.ndarray, q: np.ndarray) -> tuple[Fields, Evolution]:
        of = Fields({"v": v, "q": q, "s": np.ones(n)})
        options: dict[str, Any] = {"grid": Grid(SHAPE, H), "edges": "periodic", "parameters": {"dt": 0.2}}
        maps = [
            bind(carried, of, renamed={"u": "v"}, gives="v_next", **options),
            bind(advected, of, renamed={"v": "v_next"}, **options),
        ]
        return of, Evolution(System(Potential(of, [], maps)), {"v": "v_next", "q": "q_next"})

    of, program = smoke(v, q)
    loss = Loss(Potential(of, [bind(cubic, of, renamed={"y": "q"})]), (4, 10))
    run = Rollout(program, [loss], 10)
    value, found = run.evaluate(["v", "q", "advected.dt"])
    dv, dq, h = rng.normal(size=v.shape), rng.normal(size=q.shape), 1e-6

    def at(s: float) -> float:
        there, moving = smoke(v + s * dv, q + s * dq)
        total = 0.0
        for steps in (4, 6):
            moving.advance(steps)
            y = there["q"].values
            total += float((y * (1.0 + y * (0.5 + y))).sum())
        return total

    assert value == pytest.approx(at(0.0), rel=1e-13)
    slope = float((found["v"] * dv).sum() + found["q"] @ dq)
    assert slope == pytest.approx((at(h) - at(-h)) / (2.0 * h), rel=1e-7)
    assert [f.text for f in of_program(program) if not f.passed] == []


def test_the_origin_of_a_run_has_the_edges() -> None:
    (found, *others) = [of_term(next(iter(spread(edges).maps.values()))) for edges in ("zero", "periodic")]
    assert found["graph"] == others[0]["graph"]
    assert found["others"] != others[0]["others"]


def test_a_window_at_nan_makes_the_output_nan() -> None:
    for edges in PADDED:
        u = cloud(edges)
        x = u.fields["x"].values.copy()
        x[3, 1] = np.nan
        u.fields["x"].set(x)
        u.refresh()
        lost = np.isnan(u.fields["vp"].values).any(axis=1)
        assert lost.tolist() == [k == 3 for k in range(P)]


@pytest.mark.parametrize("edges", ["zero", "periodic"])
def test_wrong_kernels_are_noticed(edges: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reads another cell forward, and back."""
    right = GatherLoops._fetch_statements

    def fetched(self: GatherLoops, read: Any) -> list[str]:
        return [line.replace("[cell", "[ti.max(cell - 1, 0)") for line in right(self, read)]

    monkeypatch.setattr(GatherLoops, "_fetch_statements", fetched)
    with pytest.raises(MiscompiledError):
        lake(edges).value()
    monkeypatch.undo()
    u = lake(edges, itself=True)
    u.value()
    monkeypatch.setattr(GatherLoops, "_fetch_statements", fetched)
    with pytest.raises(MiscompiledError):
        u.gradient("v")


def test_it_is_checked_without_a_scene() -> None:
    for made in (advected, carried, to_particles, box):
        u = instance(made, 2, np.random.default_rng(0))
        (only,) = u.maps.values()
        u.refresh()
        assert all(np.isfinite(f.values).all() for f in only.outputs.values())


# What is refused ------------------------------------------------------------------------------------


def of_own(q):
    return [q[0]], [q[0]]


def two(x, q, at):
    return q * x[0]


def three(x, q, at, here):
    return q * x[0]


def plain(x, q):
    return q * x[0]


def alone(q, at):
    return q


def scattered(x, at):
    return x[0] * at[0]


def made(function: Callable, over: Any = "nodes", **roles: Any) -> Any:
    return local_map("m", gives="y", over=over, **roles)(function)


def bound(**options: Any) -> Any:
    of = Fields({"x": np.zeros((3, 2)), "V": np.zeros((63, 2)), "W": np.zeros((62, 2))})
    return bind(to_particles, of, **{"grid": Grid(SHAPE), "parameters": {"blend": 1.0}, **options})


REFUSED = {
    "map 'm': q is read in a window, got none; add at=Cell(window=...)": lambda: made(
        plain, x=Node(), q=At()
    ),
    "map 'm': has no Node field; give one argument the role Node": lambda: made(
        alone, q=At(), at=Cell(window=near)
    ),
    "map 'm': its window must take arguments of the map, got q; rename them": lambda: made(
        two, x=Node(), q=At(), at=Cell(window=of_own)
    ),
    "map 'm': pairs cannot add to cells; sum over nodes or tuples": lambda: made(
        two, "pairs", x=Node(), q=At(), at=Cell(window=near)
    ),
    "map 'm': q is read in windows, got several sets of nodes; use one set": lambda: made(
        two, ("a", "b"), x=Node(of="a"), q=At(), at=Cell(window=near)
    ),
    "map 'm': here has no window; give it a function that returns the cells reached": lambda: made(
        three, x=Node(), q=At(), at=Cell(window=near), here=Cell()
    ),
    "map 'm': cells cannot add to cells; sum over nodes or tuples": lambda: made(
        scattered, "cells", x=Node(), at=Cell(window=near)
    ),
    "to_particles: reads the cells of a grid, got none; give a `grid`": lambda: bound(grid=None),
    "to_particles.V: field 'W' is read at the 63 cells of the grid (9 x 7), got 62 values; give another"
    " `grid`, or a field over this one": lambda: bound(renamed={"V": "W"}),
    "to_particles.edges: no kind of edge named 'open' (there are: clamped, zero, periodic)": lambda: bound(
        edges="open"
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(EnergyError) as caught:
        REFUSED[text]()
    assert str(caught.value) == text


def test_adjoints_of_small_windows_on_the_grid_have_no_loop() -> None:
    """Of nine cells; products, and windows of more cells, have one."""
    (loops,) = cloud("zero").chain.loops.values()
    assert isinstance(loops, GatherLoops)
    of = loops.term.fields["x"]
    array = storage.allocate(np.zeros(of.shape))
    asked = DerivativeRequest(gradient={"x": array})
    assert loops.sweep(asked)[0].text.count("ti.static(range(3))") == 2
    along = DerivativeRequest(product={"x": array}, tangents={"x": array})
    assert "ti.static" not in loops.sweep(along)[0].text
    loops.few = 8
    assert "ti.static" not in loops.sweep(asked)[0].text
