"""Slopes: derivatives of an energy as fields, transposed maps, their gradients, tangents and refusals."""

import re

import numpy as np
import pytest

from minusgrad import Cell, Fields, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.energies.fields import Grid
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError
from minusgrad.plugin import Slope
from tests.support import programs
from tests.support.clumping import clumping
from tests.support.programs import ALL, LINKS, N, chain, differences, link, scatter


@local_energy("goal", over="nodes", x_next=Node("m"), a=Parameter(default=0.3))
def goal(x_next, a):
    """An energy of an output."""
    return ti.sin(x_next[0]) + a * x_next[0] ** 2


@local_energy("gathered", over="nodes", w_next=Node("m s^-2"), x=Node("m"))
def gathered(w_next, x):
    """An energy of a transposed map's output."""
    return ti.sin(w_next[0]) * x[0]


def some_fields(precision: str = "f64") -> Fields:
    rng = np.random.default_rng(5)
    of = programs.fields(precision, w=rng.uniform(0.5, 1.5, N), V=rng.normal(size=N))
    of["w"].unit, of["V"].unit = "kg", "m^2 s^-2"
    return of


def transposed(of: Fields) -> Slope:
    term = bind(scatter, of, tuples=ALL, parameters={"reach": 1.3})
    return Slope("gather", Potential(of, [], [term], frozen=True), {"w": "w_next"}, 0.5, {"density": "V"})


def whole(of: Fields) -> Potential:
    """Energies of what a slope, maps and a transposed map give."""
    parts = chain(of)
    stages = [*parts.slopes.values(), *parts.maps.values(), transposed(of)]
    for name in parts.time_steps:
        parts.set_parameter(name, 0.2)
    return Potential(of, [bind(goal, of), bind(gathered, of)], stages)


# Values ---------------------------------------------------------------------------------------------


def test_a_slope_is_a_derivative_times_its_factor() -> None:
    of = some_fields()
    u = whole(of)
    u.refresh()
    energy = Potential(of, [u.parts["link"]], frozen=True)
    np.testing.assert_array_equal(of["f"].values, -energy.gradient("x"))
    assert (of["f"].unit, of["w_next"].unit) == ("m kg s^-2", "m s^-2")


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_transpose_of_a_scatter_is_a_gather(precision: str) -> None:
    """By hand: a sum over receivers with the derivative of what each is given."""
    of = some_fields(precision)
    u = whole(of)
    u.refresh()
    x, w, V = (of[n].values.astype(np.float64) for n in ("x", "w", "V"))
    s = (x[:, None] - x[None, :]) / 1.3
    each = np.exp(-s * s) * (1.0 + 0.4 * w[None, :]) / 1.3
    eps = np.finfo(of.dtype).eps
    np.testing.assert_allclose(of["w_next"].values, 0.5 * (V[:, None] * each).sum(0), atol=20 * eps)


def _foot(y):
    low = [ti.floor(y[0][a] - 0.5) for a in ti.static(range(2))]
    return low, [a + 2.0 for a in low]


@local_map("splat", gives="mass", over="nodes", y=Node(shape=(2,)), w=Node("kg"), at=Cell(window=_foot))
def splat(y, w, at):
    """w times a product of quadratic B-splines."""
    weight = w[0]
    for a in ti.static(range(2)):
        u = ti.abs(y[0][a] - at[a])
        weight *= ti.select(u < 0.5, 0.75 - u * u, 0.5 * ti.max(1.5 - u, 0.0) ** 2)
    return weight


def test_a_gather_from_a_grid_reads_the_windows_of_the_present_places() -> None:
    """By hand: the cells' values times the B-splines, before and after the particles have moved."""
    rng = np.random.default_rng(6)
    of = Fields({"y": rng.uniform(1.5, 7.5, (4, 2)), "w": np.ones(4), "V": rng.normal(size=100)})
    term = bind(splat, of, grid=Grid((10, 10)))
    gather = Slope("gather", Potential(of, [], [term], frozen=True), {"w": "got"}, 1.0, {"mass": "V"}, "1")
    u = Potential(of, [], [gather])
    for _ in range(2):
        u.refresh()
        d = np.abs(of["y"].values[:, :, None] - np.arange(10.0))
        spline = np.where(d < 0.5, 0.75 - d * d, 0.5 * np.maximum(1.5 - d, 0.0) ** 2)
        expected = np.einsum("ka,kb,ab->k", spline[:, 0], spline[:, 1], of["V"].values.reshape(10, 10))
        np.testing.assert_allclose(of["got"].values, expected, atol=1e-14)
        of["y"].set(rng.uniform(1.5, 7.5, (4, 2)))


def test_a_factor_for_each_field_and_a_unit_of_its_own() -> None:
    of = some_fields()

    @local_energy("product", over="nodes", x=Node("m"), w=Node("kg"))
    def product(x, w):
        """x^2 w"""
        return x[0] * x[0] * w[0]

    energy = Potential(of, [bind(product, of)], frozen=True)
    slope = Slope("both", energy, {"x": "gx", "w": "gw"}, {"x": 2.0, "w": -1.0}, unit={"w": "m^2"})
    Potential(of, [], [slope]).refresh()
    x, w = of["x"].values, of["w"].values
    np.testing.assert_allclose(of["gx"].values, 4.0 * x * w, rtol=1e-15)
    np.testing.assert_allclose(of["gw"].values, -x * x, rtol=1e-15)
    assert (of["gx"].unit, of["gw"].unit) == ("m kg s^-2", "m^2")


# Derivatives ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "v", "w", "V"])
def test_gradients_by_fields_go_through_slopes(name: str) -> None:
    of = some_fields()
    u = whole(of)
    expected = differences(u.value, of[name].set, of[name].values)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(u.gradient(name), expected, atol=3e-9)


@pytest.mark.parametrize("name", ["link.k", "kick.push", "scatter.reach", "drift.dt", "goal.a"])
def test_gradients_by_parameters_go_through_slopes(name: str) -> None:
    u = whole(some_fields())

    def put(value: np.ndarray) -> None:
        u.set_parameter(name, value)

    expected = differences(lambda: u.value(0.3), put, u.parameter(name))
    assert abs(expected) > 1e-3
    np.testing.assert_allclose(u.gradient(name, 0.3), expected, atol=3e-9)


def test_the_time_goes_through_slopes() -> None:
    u = whole(some_fields())
    expected = (u.value(0.3 + 1e-6) - u.value(0.3 - 1e-6)) / 2e-6
    assert abs(expected) > 1e-3
    assert u.rate(0.3) == pytest.approx(expected, rel=1e-7)


def test_tangents_of_outputs_and_their_transpose() -> None:
    """(s, J w) = (J' s, w): tangents go forward, seeds go back."""
    of = some_fields()
    u, rng = whole(of), np.random.default_rng(0)
    inputs, given = ("x", "v", "w", "V"), ("f", "v_next", "x_next", "w_next", "density")
    way = {n: rng.normal(size=N) for n in inputs} | {"link.k": 0.7, "scatter.reach": -0.4}
    moved = u.map_output_tangents(way, 0.3)
    start = {n: of[n].values.copy() for n in inputs}

    def there(h: float) -> dict[str, np.ndarray]:
        for n in inputs:
            of[n].set(start[n] + h * way[n])
        for n in ("link.k", "scatter.reach"):
            u.set_parameter(n, u.parameter(n) + h * way[n])
        u.refresh(0.3)
        for n in ("link.k", "scatter.reach"):
            u.set_parameter(n, u.parameter(n) - h * way[n])
        return {n: of[n].values.copy() for n in moved}

    up, down = there(1e-6), there(-1e-6)
    for n in inputs:
        of[n].set(start[n])
    assert set(moved) == set(given) - {"density"}
    for n, values in moved.items():
        np.testing.assert_allclose(values, (up[n] - down[n]) / 2e-6, atol=2e-9)
    seeds = {n: rng.normal(size=N) for n in moved}
    arrays = {n: storage.allocate(np.zeros(N)) for n in inputs}
    request = DerivativeRequest(gradient=arrays, slopes=("link.k", "scatter.reach"), seeds=seeds)
    plain = DerivativeRequest(
        gradient={n: storage.allocate(np.zeros(N)) for n in inputs}, slopes=("link.k", "scatter.reach")
    )
    found, without = u.sweep(request, 0.3), u.sweep(plain, 0.3)
    back = sum(float((arrays[n] - plain.gradient[n]) @ way[n]) for n in inputs)
    back += sum(float(found.slopes[n] - without.slopes[n]) * way[n] for n in ("link.k", "scatter.reach"))
    forward = sum(float(seeds[n] @ moved[n]) for n in moved)
    assert back == pytest.approx(forward, rel=1e-13)


def test_single_precision_follows_double() -> None:
    found = {p: whole(some_fields(p)) for p in ("f32", "f64")}
    for name in ("x", "w", "link.k"):
        single, double = (found[p].gradient(name) for p in ("f32", "f64"))
        np.testing.assert_allclose(single, double, rtol=2e-5, atol=2e-5)


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    before, found = runtime._Running.options, []
    try:
        for threads in (1, 2):
            runtime.start(runtime.Options(threads=threads))
            u = whole(some_fields())
            found.append([u.gradient(n).tobytes() for n in ("x", "w", "V", "link.k")])
    finally:
        runtime.start(before)
    assert found[0] == found[1]


def test_a_twin_shares_nothing() -> None:
    of = some_fields()
    u = whole(of)
    other = u.twin()
    value, gradient = u.value(), u.gradient("x")
    assert other.value() == value
    other.fields["x"].set(other.fields["x"].values + 1.0)
    other.set_parameter("link.k", 5.0)
    assert other.value() != value
    assert u.value() == value
    np.testing.assert_array_equal(u.gradient("x"), gradient)


def test_writes_are_seen() -> None:
    of = some_fields()
    u = whole(of)
    before = u.writes
    of["V"].set(of["V"].values)
    assert u.writes > before
    before = u.writes
    u.set_parameter("link.k", 1.0)
    assert u.writes > before


# Refusals -------------------------------------------------------------------------------------------


def test_second_derivatives_are_refused() -> None:
    u = whole(some_fields())
    message = (
        "slope 'gather': has no second derivatives, which are third derivatives of its energy; ask for"
        " gradients, or for tangents of its outputs"
    )
    with pytest.raises(EnergyError, match=f"^{re.escape(message)}$"):
        u.product({"x": np.ones(N)}, "x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gives": {}}, "gives no field; name the derivative by at least one field"),
        ({"gives": {"y": "g"}}, "its energy does not depend on 'y' (there are: x)"),
        (
            {"paired": {"density": "V"}},
            "needs the terms of an energy, or pairs of a map's output and a field, got both; give one of"
            " them",
        ),
        ({"gives": {"x": "v"}}, None),
    ],
)
def test_slopes_that_do_not_fit(options: dict, message: str | None) -> None:
    of = some_fields()
    energy = Potential(of, [bind(link, of, tuples=LINKS, parameters={"k": 1.0})], frozen=True)
    with pytest.raises(EnergyError) as error:
        Slope("force", energy, **{"gives": {"x": "f"}, **options})
    if message is None:
        message = "field 'v': is given by the state, so no map can write it; rename the output of the map"
        assert str(error.value) == message
    else:
        assert str(error.value) == f"slope 'force': {message}"


def test_pairs_that_do_not_fit() -> None:
    of = some_fields()
    term = bind(scatter, of, tuples=ALL, parameters={"reach": 1.3})
    energy = Potential(of, [], [term], frozen=True)
    with pytest.raises(
        EnergyError, match=r"^slope 'g': 'rho' is no output of its maps \(there are: density\)$"
    ):
        Slope("g", energy, {"w": "n"}, paired={"rho": "V"})
    wide = Fields({"x": np.zeros(N), "w": np.ones(N), "V": np.zeros((N, 2))})
    term = bind(scatter, wide, tuples=ALL, parameters={"reach": 1.3})
    message = "slope 'g': 'density' has shape [6], got 'V' of shape [6, 2]; pair it with a field of its shape"
    with pytest.raises(EnergyError, match=f"^{re.escape(message)}$"):
        Slope("g", Potential(wide, [], [term], frozen=True), {"w": "n"}, paired={"density": "V"})


def test_a_staged_energy_has_no_slope() -> None:
    staged = clumping()
    message = "'clumping' is a staged energy, which has no second derivatives; use a local one"
    fields = next(iter(staged.fields.values()))
    of = Fields({fields.name: fields.values})
    with pytest.raises(EnergyError, match=message):
        Slope("g", Potential(of, [staged], frozen=True), {fields.name: "g"})


@local_map("reader", gives="out", over="nodes", f=Node("N"))
def reader(f):
    """Reads a slope's output."""
    return f[0]


def test_an_order_in_which_a_slope_comes_too_late() -> None:
    of = some_fields()
    links = bind(link, of, tuples=LINKS, parameters={"k": 1.0})
    force = Slope("force", Potential(of, [links], frozen=True), {"x": "f"})
    late = bind(reader, of)
    with pytest.raises(
        EnergyError, match=r"^slope 'force' writes 'f' after map 'reader' has read it; list it before$"
    ):
        Potential(of, [], [late, force])
    with pytest.raises(
        EnergyError, match=r"^slope 'force': writes 'f', which slope 'again' writes; give each"
    ):
        Potential(of, [], [Slope("again", force.energy, {"x": "f"}), force])
    with pytest.raises(EnergyError, match=r"reads 'f', the output of a map that is missing here"):
        Potential(of, [], [late])
