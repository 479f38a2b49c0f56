"""Maps that give vectors, matrices and several fields: values, transposes, derivatives.

Two maps carry the tests: particles that give momentum and mass to a grid by quadratic B-splines (APIC), and
pairs that push each other apart. Their references are NumPy loops over particles and cells, and differences.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Datum,
    Fields,
    Node,
    Output,
    Parameter,
    Potential,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.check import single_precision, term_check
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.codegen.map_loops import MapLoops
from minusgrad.energies.fields import Body
from minusgrad.energies.local_map import numbers_of
from minusgrad.engine import runtime, storage
from minusgrad.errors import MiscompiledError
from minusgrad.potential.slope import Slope
from tests.support.map_outputs import (
    GRIDS,
    SOFT,
    V,
    X,
    balls,
    differences,
    error,
    impact,
    impulses,
    particles,
    scatter,
    setter_of,
    values_of,
)

runtime.start()
CLOSE = {"f64": 1e-13, "f32": 2e-6}


@local_energy(
    "kinetic", over="nodes", p=Node("kg m/s", ("d",)), mass=Node("kg"), soft=Parameter(default=SOFT)
)
def kinetic(p, mass, soft):
    """|p|^2 / (2 (m + soft)) + |p|^4 / 8 of every cell."""
    return 0.5 * p[0].norm_sqr() / (mass[0] + soft) + 0.125 * p[0].norm_sqr() ** 2


@local_energy("after", over="nodes", dv=V, dx=X, hits=Node())
def after(dv, dx, hits):
    """An energy of all outputs of an impact."""
    return dv[0].norm_sqr() * (1.0 + hits[0] ** 2) + dv[0].dot(dx[0]) + ti.sin(dx[0][0])


def scattered(d: int, precision: str = "f64") -> Potential:
    fields = particles(d, precision)
    given = bind(scatter, fields, grid=GRIDS[d])
    return Potential(fields, [bind(kinetic, fields)], [given])


def collided(d: int, precision: str = "f64") -> Potential:
    fields = balls(d, precision)
    given = bind(impact, fields)
    return Potential(fields, [bind(after, fields)], [given])


CASES = {"scatter": scattered, "impact": collided}
ALL = [pytest.param(name, d, id=f"{name}-{d}d") for name in CASES for d in (2, 3)]


# References ---------------------------------------------------------------------------------------------


def weights(fields: Fields, d: int) -> list[list[tuple[int, float, np.ndarray]]]:
    """Of every particle the cells that it reaches: number, weight, and the way there."""
    grid, found = GRIDS[d], []
    for x in fields["x"].values.astype(float):
        base, one = np.floor(x / grid.spacing - 0.5).astype(int), []
        for offset in product(range(3), repeat=d):
            cell = base + offset
            if (cell < 0).any() or (cell >= grid.shape).any():
                continue
            u = np.abs(x / grid.spacing - cell)
            w = np.where(u < 0.5, 0.75 - u**2, 0.5 * np.maximum(1.5 - u, 0.0) ** 2).prod()
            one.append((int(np.ravel_multi_index(cell, grid.shape)), w, cell * grid.spacing - x))
        found.append(one)
    return found


def on_grid(fields: Fields, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Momentum and mass of the cells."""
    p, mass = np.zeros((len(GRIDS[d]), d)), np.zeros(len(GRIDS[d]))
    v, C, m = (fields[n].values.astype(float) for n in ("v", "C", "m"))
    for k, cells in enumerate(weights(fields, d)):
        for cell, w, way in cells:
            p[cell] += w * m[k] * (v[k] + C[k] @ way)
            mass[cell] += w * m[k]
    return p, mass


def gathered(fields: Fields, d: int) -> tuple[np.ndarray, np.ndarray]:
    """m sum w V and m sum w V (x_c - x)': the velocities of a grid, read by particles."""
    m, V = (fields[n].values.astype(float) for n in ("m", "V"))
    v, C = np.zeros((len(m), d)), np.zeros((len(m), d, d))
    for k, cells in enumerate(weights(fields, d)):
        for cell, w, way in cells:
            v[k] += m[k] * w * V[cell]
            C[k] += m[k] * w * np.outer(V[cell], way)
    return v, C


# Values and transposes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", CLOSE)
@pytest.mark.parametrize("d", GRIDS)
def test_momentum_and_mass_of_cells(d: int, precision: str) -> None:
    fields = particles(d, precision)
    given = bind(scatter, fields, grid=GRIDS[d])
    Potential(fields, [], [given]).refresh()
    p, mass = on_grid(fields, d)
    assert {n: (f.name, f.unit, f.shape) for n, f in given.outputs.items()} == {
        "p": ("p", "kg m/s", (len(GRIDS[d]), d)),
        "mass": ("mass", "kg", (len(GRIDS[d]),)),
    }
    assert error(fields["p"].values, p) < CLOSE[precision]
    assert error(fields["mass"].values, mass) < CLOSE[precision]


@pytest.mark.parametrize("precision", CLOSE)
@pytest.mark.parametrize("d", GRIDS)
def test_the_transpose_of_a_scatter_is_the_gather(d: int, precision: str) -> None:
    fields = particles(d, precision)
    given = bind(scatter, fields, grid=GRIDS[d])
    energy = Potential(fields, [], [given], frozen=True)
    slope = Slope("gather", energy, {"v": "of_v", "C": "of_C"}, paired={"p": "V"})
    Potential(fields, [], [slope]).refresh()
    v, C = gathered(fields, d)
    assert error(fields["of_v"].values, v) < CLOSE[precision]
    assert error(fields["of_C"].values, C) < CLOSE[precision]
    assert (fields["of_v"].unit, fields["of_C"].unit) == ("m kg s^-1", "m^2 kg s^-1")


@pytest.mark.parametrize("precision", CLOSE)
@pytest.mark.parametrize("d", [2, 3])
def test_impulses_of_pairs(d: int, precision: str) -> None:
    potential = collided(d, precision)
    potential.refresh()
    found = [potential.fields[n].values for n in ("dv", "dx", "hits")]
    for ours, right in zip(
        found, impulses(*(potential.fields[n].values.astype(float) for n in "xv")), strict=True
    ):
        assert error(ours, right) < CLOSE[precision]


def test_two_maps_add_to_one_output_and_another_to_its_own() -> None:
    fields = balls(2)
    one = bind(impact, fields)
    two = bind(impact, fields, name="again", gives={"hits": "more"}, parameters={"e": 0.9})
    Potential(fields, [], [one, two]).refresh()
    x, v = fields["x"].values, fields["v"].values
    first, second = impulses(x, v), impulses(x, v, 0.9)
    assert error(fields["dv"].values, first[0] + second[0]) < 1e-13
    assert error(fields["more"].values, second[2]) < 1e-13
    assert error(fields["hits"].values, first[2]) < 1e-13


@local_map(
    "stretch",
    over="tuples",
    gives="F",
    shape=("d", "d"),
    x=X,
    weights=Datum("m^-1", ("k", "d")),
    side=Parameter(default=0.5),
)
def stretch(x, weights, side):
    """A deformation gradient at the first node of each tuple; of stretched ones with a branch."""
    F = (x[1] - x[0]).outer_product(weights[1, :]) + (x[2] - x[0]).outer_product(weights[2, :])
    if F.trace() > side:
        F = 2.0 * F
    return F


@local_map(
    "halved",
    over="nodes",
    gives={"u": Output("1", ("d",)), "s": Output()},
    y=Node("1", ("d",)),
    k=Parameter(),
)
def halved(y, k):
    """Of one node."""
    return 0.5 * y[0], k * y[0].dot(y[0])


@pytest.mark.parametrize("precision", CLOSE)
def test_a_map_over_all_nodes_stores_its_outputs_without_a_buffer(precision: str) -> None:
    """Another map of some of the nodes adds to them, and an output of these alone is zero elsewhere."""
    y = np.random.default_rng(4).normal(size=(700, 2)).astype(f"f{4 if precision == 'f32' else 8}")
    of, some = Fields({"y": y}, None, precision), Body("some", [3, 5, 650])
    maps = [
        bind(halved, of, parameters={"k": 3.0}),
        bind(halved, of, name="more", bodies=[some], parameters={"k": 2.0}),
        bind(halved, of, name="few", bodies=[some], parameters={"k": 2.0}, gives={"u": "w", "s": "r"}),
    ]
    made = Potential(of, [], maps)
    made.refresh()
    within = np.zeros((700, 1), y.dtype)
    within[some.nodes] = 1.0
    square = (y * y).sum(axis=1)
    room = CLOSE[precision]
    np.testing.assert_allclose(of["u"].values, 0.5 * y * (1.0 + within), rtol=room, atol=room)
    np.testing.assert_allclose(of["s"].values, (3.0 + 2.0 * within[:, 0]) * square, rtol=room, atol=room)
    np.testing.assert_allclose(of["w"].values, 0.5 * y * within, rtol=room, atol=room)
    np.testing.assert_allclose(of["r"].values, 2.0 * within[:, 0] * square, rtol=room, atol=room)
    assert "given" not in made.chain.loops["halved"]._arrays
    assert "given" in made.chain.loops["few"]._arrays


@pytest.mark.parametrize("number", [0, 1])
def test_wrong_kernels_of_maps_over_nodes_are_noticed(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = MapLoops._stored_outputs

    def wrong(self: MapLoops, outs: Any, overwrite: Any, node: str, texts: Any) -> list[str]:
        lines = right(self, outs, overwrite, node, texts)
        lines[number] = lines[number].replace("{}", "{} * 1.01")
        return lines

    monkeypatch.setattr(MapLoops, "_stored_outputs", wrong)
    of = Fields({"y": np.random.default_rng(4).normal(size=(8, 2))})
    made = Potential(of, [], [bind(halved, of, parameters={"k": 3.0})])
    with pytest.raises(MiscompiledError, match=r"^term 'halved', element "):
        made.refresh()


def test_matrices_of_tuples_with_a_branch() -> None:
    rng = np.random.default_rng(3)
    rows, w = np.array([[0, 1, 2], [2, 1, 3], [0, 3, 1]]), rng.normal(size=(3, 3, 2))
    fields = Fields({"x": rng.normal(size=(4, 2)), "A": rng.normal(size=(4, 2, 2))}, {"x": "m"})
    given = bind(stretch, fields, tuples=rows, data={"weights": w})
    slope = Slope("back", Potential(fields, [], [given], frozen=True), {"x": "g"}, paired={"F": "A"})
    potential = Potential(fields, [], [given, slope])
    potential.refresh()
    F, g, x, sides = np.zeros((4, 2, 2)), np.zeros((4, 2)), fields["x"].values, []
    for row, of_row in zip(rows, w, strict=True):
        one = sum(np.outer(x[row[k]] - x[row[0]], of_row[k]) for k in (1, 2))
        sides.append(2.0 if np.trace(one) > 0.5 else 1.0)
        F[row[0]] += sides[-1] * one
        for k in (1, 2):
            force = sides[-1] * fields["A"].values[row[0]] @ of_row[k]
            g[row[k]] += force
            g[row[0]] -= force
    assert set(sides) == {1.0, 2.0}
    assert error(fields["F"].values, F) < 1e-14
    assert error(fields["g"].values, g) < 1e-14


# Derivatives --------------------------------------------------------------------------------------------

NAMES = {"scatter": ("x", "v", "C", "m", "kinetic.soft"), "impact": ("x", "v", "impact.e", "impact.size")}


@pytest.mark.parametrize(("name", "d"), [("scatter", 2), ("impact", 3)])
def test_gradients_and_products_against_differences(name: str, d: int) -> None:
    """The products are those of all tangents at once, Hessian and mixed derivatives in one."""
    potential, names = CASES[name](d), NAMES[name]
    rng = np.random.default_rng(7)
    along = {n: rng.normal(size=potential.shape(n) if "." in n else potential.fields[n].shape) for n in names}
    starts = {n: values_of(potential, n) for n in names}

    def slopes() -> dict[str, np.ndarray]:
        return {n: potential.gradient(n).astype(float) for n in names}

    def at(step: float) -> dict[str, np.ndarray]:
        for n in names:
            setter_of(potential, n)(starts[n] + step * along[n])
        return slopes()

    found, products = slopes(), {n: potential.product(along, n) for n in names}
    for n in names:
        expected = differences(potential.value, starts[n], setter_of(potential, n))
        assert error(found[n], expected) < 2e-8, n
    h = 1e-3
    near, far = (_central(at, s, names) for s in (h, 2.0 * h))
    for n in names:
        assert error(products[n], (4.0 * near[n] - far[n]) / 3.0) < 2e-7, n


def _central(at: Callable[[float], Mapping[str, np.ndarray]], s: float, names: Any) -> dict[str, np.ndarray]:
    ahead, behind = at(s), at(-s)
    return {n: (ahead[n] - behind[n]) / (2.0 * s) for n in names}


@pytest.mark.parametrize(("name", "d"), ALL)
def test_tangents_are_transposed_by_seeds(name: str, d: int) -> None:
    """(s, J w) = (J' s, w) for all outputs at once, and J w against differences."""
    potential = CASES[name](d)
    fields = potential.fields
    (given,) = potential.maps.values()
    alone = Potential(fields, [], [given])
    names = [n for n in NAMES[name] if not n.startswith("kinetic")]
    rng = np.random.default_rng(5)
    along = {n: rng.normal(size=alone.shape(n) if "." in n else fields[n].shape) for n in names}
    seeds = {f.name: rng.normal(size=f.shape) for f in given.outputs.values()}
    moved = alone.map_output_tangents(along)
    stored = {n: storage.allocate(s) for n, s in seeds.items()}
    into = {n: storage.allocate(np.zeros(fields[n].shape)) for n in names if n in fields}
    asked = tuple(n for n in names if n not in fields)
    slopes = alone.sweep(DerivativeRequest(gradient=into, slopes=asked, seeds=stored)).slopes
    back = {n: storage.host(a) for n, a in into.items()} | slopes
    there = sum((seeds[n] * moved[n]).sum() for n in seeds)
    here = sum((back[n] * along[n]).sum() for n in names)
    assert there == pytest.approx(here, rel=1e-12, abs=1e-12)
    starts = {n: values_of(alone, n) for n in names}

    def at(step: float) -> dict[str, np.ndarray]:
        for n in names:
            setter_of(alone, n)(starts[n] + step * along[n])
        alone.refresh()
        return {n: fields[n].values.copy() for n in seeds}

    near, far = _central(at, 1e-3, seeds), _central(at, 2e-3, seeds)
    for n in seeds:
        assert error(moved[n], (4.0 * near[n] - far[n]) / 3.0) < 2e-7, n


@pytest.mark.parametrize("name", CASES)
def test_single_precision_has_the_same_derivatives(name: str) -> None:
    wide, narrow = (CASES[name](2, precision) for precision in ("f64", "f32"))
    rng, names = np.random.default_rng(6), NAMES[name]
    for n in names:
        if n in wide.fields:
            wide.fields[n].set(narrow.fields[n].values)
    along = {n: rng.normal(size=wide.shape(n) if "." in n else wide.fields[n].shape) for n in names}
    for n in names:
        assert error(narrow.gradient(n), wide.gradient(n)) < 2e-5, n
    assert error(narrow.product(along, "x"), wide.product(along, "x")) < 5e-5


def test_a_slope_has_tangents_and_an_adjoint() -> None:
    """The gather depends on x, m and V: differences of a sum of its outputs."""
    fields = particles(2)
    given = bind(scatter, fields, grid=GRIDS[2])
    energy = Potential(fields, [], [given], frozen=True)
    slope = Slope("gather", energy, {"v": "of_v", "C": "of_C"}, paired={"p": "V"})
    potential = Potential(fields, [], [slope])
    rng = np.random.default_rng(3)
    seeds = {n: rng.normal(size=fields[n].shape) for n in ("of_v", "of_C")}
    names = ("x", "m", "V")
    into = {n: storage.allocate(np.zeros(fields[n].shape)) for n in names}
    stored = {n: storage.allocate(s) for n, s in seeds.items()}
    potential.sweep(DerivativeRequest(gradient=into, seeds=stored))

    def paired() -> float:
        potential.refresh()
        return float(sum((seeds[n] * fields[n].values).sum() for n in seeds))

    for n in names:
        expected = differences(paired, fields[n].values, fields[n].set)
        assert error(storage.host(into[n]), expected) < 1e-8, n


# Kernels and checks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_threads_do_not_change_the_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def bits() -> list[bytes]:
        potential = CASES[name](2)
        potential.refresh()
        outputs = [f.values.tobytes() for f in potential.map_outputs.values()]
        return [*outputs, *(potential.gradient(n).tobytes() for n in NAMES[name])]

    usual = bits()
    monkeypatch.setattr(runtime, "threads", lambda: 1)
    assert bits() == usual


@pytest.mark.parametrize("energy", [scatter, impact, stretch], ids=lambda one: one.name)
def test_the_check_finds_nothing_in_right_maps(energy: Any) -> None:
    found = list(term_check.of_energy(energy, 2))
    assert found
    assert [f.text for f in found if not f.passed] == []
    assert {f.argument for f in found} >= set(energy.differentiable) - {energy.spacing}


def test_the_check_in_single_precision() -> None:
    found = list(single_precision.of_single(collided(2, "f32")))
    assert found
    assert [f.text for f in found if not f.passed] == []


def test_single_precision_in_double_keeps_the_shapes() -> None:
    potential = single_precision.in_double(scattered(2, "f32"))
    potential.refresh()
    p, mass = on_grid(potential.fields, 2)
    assert error(potential.fields["p"].values, p) < 1e-13
    assert error(potential.fields["mass"].values, mass) < 1e-13


def test_energies_of_outputs_are_functions_of_tensors() -> None:
    torch = pytest.importorskip("torch")
    from minusgrad.torch import energy

    potential = collided(2)
    u = energy(potential)
    x, v = (torch.tensor(potential.fields[n].values.copy(), requires_grad=True) for n in "xv")
    assert torch.autograd.gradcheck(lambda x, v: u(x=x, v=v), (x, v), atol=1e-6)
    assert torch.autograd.gradgradcheck(lambda x, v: u(x=x, v=v), (x, v), atol=1e-5)


def test_a_twin_has_outputs_of_its_own() -> None:
    potential = scattered(2)
    twin = potential.twin()
    twin.fields["v"].set(0.0 * twin.fields["v"].values)
    twin.fields["C"].set(0.0 * twin.fields["C"].values)
    potential.refresh()
    twin.refresh()
    assert np.abs(potential.fields["p"].values).max() > 0.1
    assert np.abs(twin.fields["p"].values).max() == 0.0


def test_nodes_that_are_not_finite_are_named() -> None:
    potential = collided(2)
    x = potential.fields["x"].values.copy()
    x[3, 1] = np.nan
    potential.fields["x"].set(x)
    assert potential.first_nonfinite(0.0, ["x"]) == "field 'x', node 3 is not finite"
    potential.refresh()
    assert potential.first_nonfinite_output() == "map 'impact', output 'dv', node 0 is not finite"


def test_a_particle_at_nan_shows_in_all_outputs() -> None:
    potential = scattered(2)
    x = potential.fields["x"].values.copy()
    x[1, 0] = np.nan
    potential.fields["x"].set(x)
    potential.refresh()
    assert np.isnan(potential.fields["p"].values[0]).all()
    assert np.isnan(potential.fields["mass"].values[0])


def test_functions_in_plain_python() -> None:
    values = {"x": [np.array([1.0, 2.0]), np.zeros(2)], "v": [np.zeros(2)] * 2, "e": 0.4, "size": 1.0}
    dv, dx, hits = impact.evaluator()(values)
    assert (dv.tolist(), hits) == ([0.0, 0.0], np.exp(-5.0))
    assert numbers_of((dv, dx, hits)).shape == (5,)
    assert impact.gives == "dv, dx, hits"
