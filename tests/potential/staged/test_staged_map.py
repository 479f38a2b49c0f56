"""Staged maps: values and derivatives against NumPy and local twins, in potentials and programs; refusals."""

import re

import numpy as np
import pytest

from minusgrad import (
    Between,
    Fields,
    Grid,
    Loss,
    Node,
    Output,
    Parameter,
    Potential,
    Rollout,
    Stage,
    Time,
    TimeStep,
    bind,
    bind_staged,
    local_energy,
    staged_energy,
    staged_map,
    ti,
)
from minusgrad.adjoint.checks.first_step import of_program
from minusgrad.check import term_check
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.engine import storage
from minusgrad.errors import EnergyError
from minusgrad.plugin import Evolution, Slope
from minusgrad.potential.staged.staged_term import StagedTerm
from minusgrad.steppers.systems.system import System
from tests.support import programs
from tests.support.programs import DT, UPDATES, chain, steps_in_numpy

A, CELLS = ti.types.ndarray, 8


@ti.kernel
def kicked(
    v: A(ndim=1),
    f: A(ndim=1),
    drag: A(ndim=0),
    push: A(ndim=0),
    omega: A(ndim=0),
    dt: A(ndim=0),
    t: A(ndim=0),
    v_next: A(ndim=1),
):
    ti.loop_config(serialize=True)
    for i in range(v.shape[0]):
        kick = f[i] + push[None] * ti.sin(omega[None] * t[None])
        v_next[i] = (1.0 - drag[None] * dt[None]) * v[i] + dt[None] * kick


KICK = staged_map(
    "kick",
    gives="v_next",
    unit="m s^-1",
    stages=[Stage(kicked, writes=("v_next",))],
    v=Node("m s^-1"),
    f=Node("N"),
    drag=Parameter("s^-1", default=programs.DRAG),
    push=Parameter("N", default=programs.PUSH),
    omega=Parameter("rad/s", default=programs.OMEGA),
    dt=TimeStep(),
    t=Time(),
)


def staged_chain(of: Fields) -> Potential:
    """The chain of `tests.support.programs`, whose kick is a kernel."""
    local = chain(of)
    kick = bind_staged(KICK, of)
    return Potential(of, [], [*local.slopes.values(), kick, local.maps["drift"]])


@ti.kernel
def deposit(x: A(ndim=1), k: A(ndim=0), grid: A(ndim=1)):
    """A particle between two cells gives k (1 - f)^2 to the one and k f to the other."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        cell = ti.floor(x[i], ti.i32)
        f = x[i] - cell
        grid[cell] += k[None] * (1 - f) ** 2
        grid[cell + 1] += k[None] * f


@ti.kernel
def squared(of_cells: A(ndim=1), grid: A(ndim=1)):
    for i in range(grid.shape[0]):
        grid[i] = of_cells[i] ** 2


ROUGH = staged_map(
    "rough",
    gives={"grid": Output("kg")},
    between={"of_cells": Between(("n_grid",))},
    stages=[Stage(deposit, ("grid",), rename={"grid": "of_cells"}), Stage(squared, ("grid",))],
    x=Node("m"),
    k=Parameter("N/m", default=2.0),
    example=lambda rng: {"x": rng.uniform(0.2, CELLS - 1.2, 9), "k": 1.5, "n_grid": CELLS},
)


@local_energy("weighed", over="nodes", grid=Node("kg"), w=Node(), c=Parameter(default=0.7))
def weighed(grid, w, c):
    """Of the output."""
    return w[0] * grid[0] + c * grid[0] ** 3


def rough_fields(precision: str = "f64") -> Fields:
    rng = np.random.default_rng(3)
    values = {"x": rng.uniform(0.2, CELLS - 1.2, 11), "w": rng.normal(size=CELLS)}
    return Fields(values, {"x": "m"}, precision)


def rough(of: Fields) -> Potential:
    term = bind_staged(ROUGH, of, sizes={"n_grid": CELLS})
    return Potential(of, [bind(weighed, of)], [term])


def grid_in_numpy(x: np.ndarray, k: float) -> np.ndarray:
    found = np.zeros(CELLS)
    for one in x:
        cell = int(np.floor(one))
        found[cell] += k * (1.0 - (one - cell)) ** 2
        found[cell + 1] += k * (one - cell)
    return found**2


def u_in_numpy(x: np.ndarray, k: float, w: np.ndarray, c: float) -> float:
    grid = grid_in_numpy(x, k)
    return float(w @ grid + c * (grid**3).sum())


# Values and gradients -------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_outputs_are_fields_that_energies_read(precision: str) -> None:
    of = rough_fields(precision)
    u = rough(of)
    x, w = (of[n].values.astype(np.float64) for n in "xw")
    tol = 1e-13 if precision == "f64" else 1e-5
    assert u.value() == pytest.approx(u_in_numpy(x, 2.0, w, 0.7), rel=tol)
    np.testing.assert_allclose(of["grid"].values, grid_in_numpy(x, 2.0), rtol=tol)
    assert (of["grid"].unit, "grid" in of.derived, u.reads) == ("kg", True, {"x", "w"})


def test_gradients_by_fields_and_parameters() -> None:
    """By central differences in NumPy."""
    of = rough_fields()
    u, x, w, h = rough(of), rough_fields()["x"].values, rough_fields()["w"].values, 1e-6
    by_x = [
        (u_in_numpy(x + h * e, 2.0, w, 0.7) - u_in_numpy(x - h * e, 2.0, w, 0.7)) / (2 * h)
        for e in np.eye(len(x))
    ]
    by_k = (u_in_numpy(x, 2.0 + h, w, 0.7) - u_in_numpy(x, 2.0 - h, w, 0.7)) / (2 * h)
    np.testing.assert_allclose(u.gradient("x"), by_x, rtol=1e-7)
    assert u.gradient("rough.k") == pytest.approx(by_k, rel=1e-8)
    np.testing.assert_allclose(u.gradient("w"), of["grid"].values, rtol=1e-14)


def test_derivatives_along_arguments_of_other_terms() -> None:
    """d2U/(dx dw) and d2U/(dk dc): the map's own arguments stay. U is linear in w and c."""
    of = rough_fields()
    u, along = rough(of), np.random.default_rng(1).normal(size=CELLS)
    found, changed = u.product({"w": along}, "x"), u.product({"weighed.c": 1.0}, "rough.k")
    w, h = of["w"].values.copy(), 0.5
    of["w"].set(w + h * along)
    up = u.gradient("x")
    of["w"].set(w - h * along)
    np.testing.assert_allclose(found, (up - u.gradient("x")) / (2 * h), rtol=1e-10, atol=1e-10)
    of["w"].set(w)
    u.set_parameter("weighed.c", 0.7 + h)
    high = u.gradient("rough.k")
    u.set_parameter("weighed.c", 0.7 - h)
    assert changed == pytest.approx((high - u.gradient("rough.k")) / (2 * h), rel=1e-10)


def test_seeds_alone_are_the_transpose() -> None:
    """The derivative of sum of s.y, where nothing else reads the outputs y."""
    of = rough_fields()
    term = bind_staged(ROUGH, of, sizes={"n_grid": CELLS})
    u, s = Potential(of, [], [term]), np.random.default_rng(2).normal(size=CELLS)
    into, seed = storage.allocate(np.zeros(len(of["x"]))), storage.allocate(s)
    request = DerivativeRequest(gradient={"x": into}, slopes=("rough.k",), seeds={"grid": seed})
    for shift in (0.0, 0.05):
        u.refresh()  # at other places than the derivative is asked for
        of["x"].set(rough_fields()["x"].values + shift)
        found = u.sweep(request)
        x, h = of["x"].values, 1e-6
        by_x = [s @ (grid_in_numpy(x + h * e, 2.0) - grid_in_numpy(x - h * e, 2.0)) for e in np.eye(len(x))]
        np.testing.assert_allclose(storage.host(into), np.array(by_x) / (2 * h), rtol=1e-7)
        by_k = s @ (grid_in_numpy(x, 2.0 + h) - grid_in_numpy(x, 2.0 - h)) / (2 * h)
        assert found.slopes["rough.k"] == pytest.approx(by_k, rel=1e-8)


def test_a_stage_that_is_recomputed_on_the_way_back() -> None:
    """One array serves two stages; gradient and product need the stages run forward once more for each."""
    stages = [
        Stage(deposit, ("grid",), rename={"grid": "work"}, recompute=True),
        Stage(squared, ("grid",), rename={"of_cells": "work"}),
        Stage(squared, ("grid",), rename={"of_cells": "grid", "grid": "work"}),
        Stage(squared, ("grid",), rename={"of_cells": "work", "grid": "twice"}),
    ]
    again = staged_map(
        "again",
        gives={"twice": Output()},
        between={"work": Between((CELLS,)), "grid": Between((CELLS,))},
        stages=stages,
        x=Node("m"),
        k=Parameter(default=0.6),
    )

    @local_energy("read", over="nodes", twice=Node(), w=Node())
    def read(twice, w):
        return w[0] * ti.sin(twice[0])

    of = rough_fields()
    term = bind_staged(again, of, sizes={"n_twice": CELLS})
    u, h, along = Potential(of, [bind(read, of)], [term]), 1e-6, np.ones(CELLS)
    x, w = of["x"].values.copy(), of["w"].values.copy()
    into = {name: storage.allocate(np.zeros(len(x))) for name in ("d", "dd")}
    request = DerivativeRequest(
        gradient={"x": into["d"]}, product={"x": into["dd"]}, tangents={"w": storage.allocate(along)}
    )
    u.sweep(request)

    def value(at: np.ndarray, weights: np.ndarray) -> float:
        return float(weights @ np.sin(grid_in_numpy(at, 0.6) ** 4))

    for name, weights in (("d", w), ("dd", along)):
        by_x = [(value(x + h * e, weights) - value(x - h * e, weights)) / (2 * h) for e in np.eye(len(x))]
        np.testing.assert_allclose(storage.host(into[name]), by_x, rtol=1e-7, atol=1e-8)


def test_outputs_add_up_with_those_of_other_maps() -> None:
    of = rough_fields()
    one, two = (bind_staged(ROUGH, of, name=n, sizes={"n_grid": CELLS}) for n in ("one", "two"))
    two.set_parameter("k", 3.0)
    u = Potential(of, [bind(weighed, of)], [one, two])
    x, h = of["x"].values, 1e-6

    def value(k: float) -> float:
        grid = grid_in_numpy(x, k) + grid_in_numpy(x, 3.0)
        return float(of["w"].values @ grid + 0.7 * (grid**3).sum())

    assert u.value() == pytest.approx(value(2.0), rel=1e-13)
    assert u.gradient("one.k") == pytest.approx((value(2.0 + h) - value(2.0 - h)) / (2 * h), rel=1e-8)


def test_a_twin_has_outputs_of_its_own() -> None:
    of = rough_fields()
    u = rough(of)
    twin = u.twin()
    twin.fields["x"].set(of["x"].values + 0.1)
    values = u.value(), twin.value()
    assert values[0] != values[1]
    u.refresh()
    np.testing.assert_array_equal(of["grid"].values, grid_in_numpy(of["x"].values, 2.0))
    np.testing.assert_array_equal(u.twin().gradient("x"), u.gradient("x"))


def test_the_cells_of_a_grid_are_the_nodes_of_an_output() -> None:
    of = rough_fields()
    term = bind_staged(ROUGH, of, gives="mass", grid=Grid((2, 4)))
    Potential(of, [], [term]).refresh()
    assert list(term.outputs) == ["grid"]
    np.testing.assert_allclose(of["mass"].values, grid_in_numpy(of["x"].values, 2.0), rtol=1e-14)


@ti.kernel
def turned(x: A(dtype=ti.types.vector(2, ti.f64), ndim=1), y: A(dtype=ti.types.vector(2, ti.f64), ndim=1)):
    for i in x:
        y[i] = ti.Vector([-x[i][1], x[i][0] * x[i][0]])


def test_an_output_of_vectors_has_as_many_nodes_as_the_fields() -> None:
    of = Fields({"x": np.random.default_rng(0).normal(size=(5, 2))})
    turn = staged_map(
        "turn", gives={"y": Output("1", ("d",))}, stages=[Stage(turned, ("y",))], x=Node(shape=("d",))
    )

    @local_energy("sum", over="nodes", y=Node(shape=("d",)))
    def total(y):
        return y[0].norm_sqr()

    term = bind_staged(turn, of)
    u = Potential(of, [bind(total, of)], [term])
    x = of["x"].values
    assert u.value() == pytest.approx((x[:, 1] ** 2 + x[:, 0] ** 4).sum(), rel=1e-14)
    np.testing.assert_allclose(u.gradient("x"), np.stack([4 * x[:, 0] ** 3, 2 * x[:, 1]], 1), rtol=1e-14)


# Programs -------------------------------------------------------------------------------------------


@local_energy("aim", over="nodes", x=Node("m"))
def aim(x):
    return (x[0] - 2.0) ** 2


def of_run(potential: Potential) -> tuple[float, dict[str, np.ndarray]]:
    loss = Loss(Potential(potential.fields, [bind(aim, potential.fields)]), steps=(7, 20))
    run = Rollout(Evolution(System(potential), UPDATES, DT), [loss], steps=20)
    return run.evaluate(["x", "v", "kick.drag", "kick.push", "kick.omega", "link.k"])


def test_a_run_with_a_staged_map_is_that_of_the_local_one() -> None:
    of = programs.fields()
    program = Evolution(System(staged_chain(of)), UPDATES, DT)
    x, v = (of[n].values.copy() for n in "xv")
    program.advance(20)
    found = steps_in_numpy(x, v, 20)
    np.testing.assert_allclose(of["x"].values, found[0], atol=1e-13)
    np.testing.assert_allclose(of["v"].values, found[1], atol=1e-13)
    assert not program.fused


def test_the_gradient_of_a_run_is_that_of_the_local_map() -> None:
    (loss, found), (same, expected) = (of_run(make(programs.fields())) for make in (staged_chain, chain))
    assert loss == pytest.approx(same, rel=1e-13)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-11, err_msg=name)


def test_the_check_of_a_program_asks_for_gradients_alone() -> None:
    findings = list(of_program(Evolution(System(staged_chain(programs.fields())), UPDATES, DT)))
    assert all(f.passed for f in findings)
    assert findings[0].text == "not asked: the staged kernels of 'kick' have no tangents, of the first step"
    asked = {f.argument for f in findings if f.question == "taylor"}
    assert {"x", "v", "kick.drag", "kick.push", "kick.omega", "link.k"} <= asked


def test_tangents_of_a_run_are_refused() -> None:
    text = (
        "map 'kick': staged kernels have no tangents along 'f', because Taichi reverses them once; ask for"
        " gradients, or write it as a local map"
    )
    of = programs.fields()
    u = staged_chain(of)
    Evolution(System(u), UPDATES, DT)
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        u.map_output_tangents({"x": np.ones(programs.N)})


# Checks ---------------------------------------------------------------------------------------------


def test_check_passes_and_asks_each_argument() -> None:
    findings = list(term_check.of_energy(ROUGH))
    assert all(f.passed for f in findings), [f.text for f in findings if not f.passed]
    assert {(f.argument, f.question) for f in findings} >= {
        ("x", "taylor"), ("k", "taylor"), ("x", "path"), ("x", "reverse"), ("k", "reverse"),
    }  # fmt: skip


def d_wrong(of_cells: A(ndim=1), d_of_cells: A(ndim=1), d_grid: A(ndim=1)) -> None:
    d_of_cells.from_numpy(d_of_cells.to_numpy() + 3.0 * of_cells.to_numpy() * d_grid.to_numpy())


def test_check_finds_a_wrong_backward() -> None:
    stages = [ROUGH.stages[0], Stage(squared, ("grid",), backward=d_wrong)]
    wrong = staged_map(
        "wrong",
        gives="grid",
        between={"of_cells": Between(("n_grid",))},
        stages=stages,
        x=Node("m"),
        k=Parameter(default=2.0),
        example=ROUGH.example,
    )
    failed = [f for f in term_check.of_energy(wrong) if not f.passed]
    assert {f.question for f in failed} >= {"taylor", "reverse"}
    assert any("`backward` is not its adjoint" in f.text for f in failed)


# Refusals -------------------------------------------------------------------------------------------


def refused(text: str):
    return pytest.raises(EnergyError, match=f"^{re.escape(text)}$")


def test_second_derivatives_are_refused() -> None:
    of = rough_fields()
    u = rough(of)
    with refused(
        "map 'rough': staged kernels have no tangents along 'x', because Taichi reverses them once; ask for"
        " gradients, or write it as a local map"
    ):
        u.product({"x": np.ones(len(of["x"]))}, "w")
    with refused("'rough' is a staged map, which has no second derivatives; write it as a local map"):
        u.hessian("x")


def test_a_slope_through_a_staged_map_is_refused() -> None:
    of = rough_fields()
    term = bind_staged(ROUGH, of, sizes={"n_grid": CELLS})
    of_map = Potential(of, [], [term], frozen=True)
    with refused("slope 'back': 'rough' is a staged map, which has no second derivatives; use a local one"):
        Slope("back", of_map, {"x": "g"}, 1.0, {"grid": "w"})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"gives": {"grid": Output(), "more": Output()}},
            "map 'rough': no stage writes more; name outputs that stages write",
        ),
        ({"gives": {}}, "map 'rough': gives no field; name one"),
        (
            {"unit": "kg"},
            "map 'rough': several outputs have a unit each, got 'kg' for all; give it in `Output`",
        ),
        (
            {"between": {"of_cells": Between((8,)), "grid": Between((8,))}},
            "map 'rough': 'grid' is an output, whose shape is known; leave it out of `between`",
        ),
        (
            {"begin": Parameter(default=1.0)},
            "map 'rough': an argument cannot be called 'begin': a block in a scene has the keys kind, name,"
            " tuples, body, fields, gives, grid, sizes, repeat, begin, outside, adds, copies, and none that"
            " begin with _; use another name",
        ),
    ],
)
def test_declarations_that_do_not_fit(change: dict, text: str) -> None:
    given = {
        "gives": {"grid": Output("kg")},
        "between": {"of_cells": Between((8,))},
        "stages": ROUGH.stages,
        "x": Node("m"),
        "k": Parameter(default=2.0),
    }
    with refused(text):
        staged_map("rough", **(given | change))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"gives": {"mass": "m"}, "sizes": {"n_grid": 8}},
            "rough: no output named 'mass' (there are: grid)",
        ),
        (
            {"grid": Grid((3, 3)), "sizes": {"n_grid": 8}},
            "rough: 'grid' has 8 nodes, got a grid of 9 cells; give another grid",
        ),
    ],
)
def test_blocks_that_do_not_fit(options: dict, text: str) -> None:
    with refused(text):
        bind_staged(ROUGH, rough_fields(), **options)


def test_an_energy_gives_no_field() -> None:
    @ti.kernel
    def squares(x: A(ndim=1), U: A(ndim=0)):
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            U[None] += x[i] ** 2

    energy = staged_energy("e", stages=[Stage(squares, ("U",))], x=Node())
    of = Fields({"x": np.ones(3)})
    with refused("e: is an energy, got the output field 'y'; leave `gives` out"):
        bind_staged(energy, of, gives="y")
    with refused("e: is an energy, got a grid; leave `grid` out"):
        bind_staged(energy, of, grid=Grid((3,)))
    assert isinstance(bind_staged(energy, of), StagedTerm)
