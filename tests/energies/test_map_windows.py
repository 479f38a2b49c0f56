"""Windows of maps: which cells an element reaches, at any position, and the derivatives there."""

from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Cell,
    Datum,
    Fields,
    Node,
    Parameter,
    Potential,
    Table,
    bind,
    local_map,
    ti,
)
from minusgrad.energies.fields import Grid
from minusgrad.energies.roles import Linear
from minusgrad.engine import runtime
from minusgrad.exam import references
from tests.support.instances import MAPS
from tests.support.local_maps import boxes, error, far, given_by, hat, narrow_window, readout_of, window_of

runtime.start()


def windowed(size: int) -> Any:
    """A map whose window has a size that is known: 2 size + 1 cells along each axis."""

    def window(x):
        low = [ti.floor(x[0][a]) - size for a in ti.static(range(x[0].n))]
        return low, [a + 2 * size for a in low]

    @local_map("squares", gives="y", over="nodes", x=Node(shape=("d",)), at=Cell(window=window))
    def squares(x, at):
        u = 1.0
        for a in ti.static(range(x[0].n)):
            u = 1.3 * u + at[a] * x[0][a] + at[a]
        return u

    return squares


SHAPES = [
    (1,),
    (3,),
    (256,),
    (257,),
    (600,),
    (1, 1),
    (5, 1),
    (16, 32),
    (33, 40),
    (2, 70),
    (3, 2, 4),
    (9, 9, 5),
]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_element_reaches_the_cells_of_its_window_and_no_other(shape: tuple, fixed: bool) -> None:
    """Elements inside, across every edge, and wholly outside; grids below, at and above a band's size."""
    d, rng = len(shape), np.random.default_rng(sum(shape))
    ends = np.array(shape)
    corners = np.array(list(np.ndindex((3,) * d))) / 2.0
    x = np.vstack(
        [corners * (ends - 1) + rng.uniform(-0.9, 0.9, corners.shape), corners * 9.0 * ends - 4.0 * ends]
    )
    made = windowed(1) if fixed else boxes
    options = {} if fixed else {"parameters": {"size": 1.4}}
    potential = given_by(made, {"x": x}, grid=Grid(shape), **options)
    assert window_of(potential) == [3 if fixed else None] * d
    (given,) = potential.maps.values()
    potential.refresh()
    y = np.zeros(shape)
    dx = np.zeros_like(x)
    reach = 1.0 if fixed else 1.4
    indices = np.indices(shape).reshape(d, -1).T
    lean = potential.fields["lean"].values
    reached = []
    for centre in x:
        low = np.floor(np.floor(centre) - 1 if fixed else centre - reach)
        high = low + 2 if fixed else np.ceil(centre + reach)
        within = ((indices >= low) & (indices <= high)).all(axis=1)
        u = np.full(len(indices), 1.0 if fixed else 1.0 + reach)
        for a in range(d):
            u = 1.3 * u + indices[:, a] * centre[a] + indices[:, a]
        y += np.where(within, u, 0.0).reshape(shape)
        reached.append(within)
    np.testing.assert_allclose(given.gives.values, y.ravel(), rtol=1e-13, atol=1e-13)
    adjoint = lean + y.ravel()
    for e, within in enumerate(reached):
        for a in range(d):
            dx[e, a] = (adjoint * within * indices[:, a]).sum() * 1.3 ** (d - 1 - a)
    assert any(w.sum() for w in reached)
    assert not all(w.sum() for w in reached)
    np.testing.assert_allclose(potential.gradient("x"), dx, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("size", [0, 5, 20, 90])
def test_windows_of_any_size_that_is_known(size: int) -> None:
    """Written out, too wide to be written out, and wider than the grid."""
    x = np.array([[3.2, 11.7], [0.1, 0.2], [-2.0, 19.0], [-70.0, 95.0], [9.9, 60.5]])
    potential = given_by(windowed(size), {"x": x}, grid=Grid((11, 70)))
    potential.refresh()
    (given,) = potential.maps.values()
    assert error(given.gives.values, references.given_values(given)) < 1e-13
    adjoint = potential.fields["lean"].values + given.gives.values
    assert error(potential.gradient("x"), references.weighted_differences(given, adjoint)["x"]) < 1e-9


def _nowhere(x):
    low = ti.floor(x[0])
    return [low, low], [low - 1.0, low - 3.0]


@local_map("nothing", gives="y", over="nodes", x=Node(), at=Cell(window=_nowhere))
def nothing(x, at):
    return x[0]


def test_a_window_may_be_empty_at_every_state() -> None:
    potential = given_by(nothing, {"x": [1.5, 2.5]}, grid=Grid((3, 4)))
    potential.refresh()
    assert not potential.fields["y"].values.any()
    assert not potential.gradient("x").any()


@pytest.mark.parametrize("shape", [(4000,), (100, 50), (30, 9, 8)])
def test_windows_over_everything(shape: tuple) -> None:
    """Over all bands, and then over few cells."""
    d = len(shape)
    x = np.random.default_rng(1).uniform(0.0, 50.0, (5, d))
    potential = given_by(boxes, {"x": x}, grid=Grid(shape), parameters={"size": 1e4})
    expected = np.zeros(shape).ravel()
    indices = np.indices(shape).reshape(d, -1)
    for centre in x:
        u = np.full(len(expected), 1.0 + 1e4)
        for a in range(d):
            u = 1.3 * u + indices[a] * centre[a] + indices[a]
        expected += u
    for _ in range(2):
        potential.refresh()
        np.testing.assert_allclose(potential.fields["y"].values, expected, rtol=1e-13)
    potential.set_parameter("boxes.size", 0.5)
    potential.refresh()
    fresh = given_by(boxes, {"x": x}, grid=Grid(shape), parameters={"size": 0.5})
    fresh.refresh()
    assert potential.fields["y"].values.tobytes() == fresh.fields["y"].values.tobytes()


WILD = [np.nan, np.inf, -np.inf, 1e300, -1e300, 3e9, -3e9, 2.0**31, -(2.0**31), 2.0**30, -(2.0**30)]


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("made", [boxes, windowed(1), windowed(40)], ids=["state", "small", "large"])
def test_wild_positions_reach_nothing_out_of_bounds(made: Any, precision: str) -> None:
    """What lies about a field's memory stays as it was."""
    x = np.array([[a, b] for w in WILD for a, b in ((w, 3.0), (3.0, w), (w, w))])
    x = np.clip(x, -1e38, 1e38) if precision == "f32" else x
    options = {"parameters": {"size": 1.0}} if made is boxes else {}
    potential = given_by(made, {"x": x}, grid=Grid((37, 41)), precision=precision, **options)
    (given,) = potential.maps.values()
    n = len(given.gives)
    guard = np.full(3 * n, 7.0, given.gives.dtype)
    given.gives.array = guard[n : 2 * n]
    potential = Potential(potential.fields, list(potential.terms.values()), [given])
    potential.value()
    gradient = potential.gradient("x")
    assert np.array_equal(guard[:n], guard[2 * n :])
    assert set(guard[:n].tolist()) == {7.0}
    assert gradient.shape == x.shape
    far = np.isfinite(x).all(axis=1)
    assert not gradient[far].any()


def test_a_position_beside_wild_ones_is_as_if_alone() -> None:
    """Those that are far away reach nothing; those that are nowhere make cell 0, and it alone, no number."""
    wild = np.array([[w, 3.0] for w in WILD])
    for made, options in ((boxes, {"parameters": {"size": 1.0}}), (windowed(1), {})):
        alone = given_by(made, {"x": [[3.3, 4.2]]}, grid=Grid((37, 41)), **options)
        beside = given_by(made, {"x": [*wild, [3.3, 4.2]]}, grid=Grid((37, 41)), **options)
        alone.refresh()
        beside.refresh()
        assert np.isnan(beside.fields["y"].values[0])
        assert np.array_equal(alone.fields["y"].values[1:], beside.fields["y"].values[1:])
        beside.fields["x"].set(
            [*([w, 3.0] for w in (1e9, -1e18, 1e300) + (2e5,) * (len(wild) - 3)), [3.3, 4.2]]
        )
        beside.refresh()
        assert np.array_equal(alone.fields["y"].values, beside.fields["y"].values)


def test_what_is_not_finite_is_named() -> None:
    potential = MAPS["splines"].potential(np.random.default_rng(1), 2)
    potential.fields["x"].set(np.full((6, 2), 2.3))
    assert potential.first_nonfinite(0.0, ["x", "m"]) is None
    potential.fields["m"].set([1.0, 1.0, np.nan, 1.0, 1.0, 1.0])
    assert potential.first_nonfinite(0.0, ["x", "m"]) == "field 'm', node 2 is not finite"


def test_a_position_that_is_not_a_number_is_named() -> None:
    potential = MAPS["splines"].potential(np.random.default_rng(1), 2)
    x = np.full((6, 2), 2.3)
    x[2] = np.nan
    potential.fields["x"].set(x)
    assert np.isnan(potential.value())
    assert potential.first_nonfinite(0.0, ["x"]) == "field 'x', node 2 is not finite"


@local_map("roots", gives="y", over="nodes", x=Node(), at=Cell(window=narrow_window))
def roots(x, at):
    """sqrt(x - 2) at every other cell, where there is one."""
    return ti.select(x[0] > 2.0, ti.sqrt(x[0] - 2.0) * (at[0] + 1.0), 0.5)


def test_a_side_that_no_cell_took_has_no_derivative() -> None:
    """The root of a negative number, and its infinite slope at zero, are on the side not taken."""
    potential = given_by(roots, {"x": [3.25, 2.0, 0.5]}, grid=Grid((8,)))
    gradient = potential.gradient("x")
    adjoint = potential.fields["lean"].values + potential.fields["y"].values
    cells = np.arange(2, 6)
    expected = (adjoint[cells] * (cells + 1.0)).sum() / 2.0 / np.sqrt(1.25)
    np.testing.assert_allclose(gradient, [expected, 0.0, 0.0], rtol=1e-13)


def test_products_of_places_are_whole_beyond_31_bits() -> None:
    potential = given_by(far, {"x": [60000.0, 5.0]}, grid=Grid((70000,)))
    potential.refresh()
    y = potential.fields["y"].values
    assert y[60000] == 60000.0**3 + 20000 + 60000 % 7
    assert y[5] == 5.0**3 + 1 + 5


def _turned(x):
    reach = 1.0
    if x[0] > 5.0:
        reach = 3.0
    return [x[0] - reach], [x[0] + reach]


@local_map("turned", gives="y", over="nodes", x=Node(), at=Cell(window=_turned))
def turned(x, at):
    return x[0]


def test_a_window_may_branch() -> None:
    potential = given_by(turned, {"x": [3.25, 7.5]}, grid=Grid((12,)))
    (given,) = potential.maps.values()
    potential.refresh()
    assert np.array_equal(given.gives.values, references.given_values(given))


def _about_first(x):
    return [x[0][0] - 1.5], [x[0][0] + 1.5]


@local_map(
    "stretches",
    gives="y",
    over="tuples",
    x=Node("m", ("d",)),
    gradients=Datum("m^-1", ("k", "d")),
    F=Linear("x", "gradients"),
    at=Cell(window=_about_first),
)
def stretches(x, F, at):
    return F.determinant() * (1.0 + at[0]) + (F[0, 1] * at[0]) ** 2


def test_what_is_linear_in_a_field_within_a_map() -> None:
    rng = np.random.default_rng(2)
    x, rows = rng.uniform(1.0, 4.0, (5, 2)), np.array([[0, 1, 2], [2, 3, 4]])
    w = rng.normal(size=(2, 3, 2))
    w[:, 0] = -w[:, 1:].sum(axis=1)
    potential = given_by(stretches, {"x": x}, tuples=rows, data={"gradients": w}, grid=Grid((6,)))
    slope = potential.gradient("stretches.F")
    adjoint = potential.fields["lean"].values + potential.fields["y"].values
    cells = np.arange(6)
    expected = np.zeros((2, 2, 2))
    for e, nodes in enumerate(rows):
        F = np.einsum("ki,kj->ij", x[nodes], w[e])
        low, high = np.floor(x[nodes[0], 0] - 1.5), np.ceil(x[nodes[0], 0] + 1.5)
        weights = adjoint * ((cells >= low) & (cells <= high))
        cofactor = np.array([[F[1, 1], -F[1, 0]], [-F[0, 1], F[0, 0]]])
        expected[e] = cofactor * (weights * (1.0 + cells)).sum()
        expected[e, 0, 1] += 2.0 * F[0, 1] * (weights * cells**2).sum()
    assert error(slope, expected) < 1e-12
    by_x = np.zeros_like(x)
    np.add.at(by_x, rows, np.einsum("eij,ekj->eki", expected, w))
    assert error(potential.gradient("x"), by_x) < 1e-12


def test_a_window_across_two_bands_of_a_line_counts_once() -> None:
    """Cells 256 and 512 begin another band; a grid of one axis has no other loop than that over the band."""
    potential = given_by(hat, {"x": [255.3, 100.2, 512.1]}, grid=Grid((600,)))
    potential.refresh()
    (term,) = potential.maps.values()
    np.testing.assert_allclose(term.gives.values, references.given_values(term), atol=1e-15)


def _eight_around(x, pixel):
    k = ti.floor(x[0] / pixel)
    return [k - 3], [k + 4]


@local_map(
    "line",
    gives="dose",
    over="nodes",
    x=Node(),
    m=Node(),
    at=Cell(window=_eight_around, spacing="pixel"),
    pixel=Parameter(),
    samples=Table(axes=1),
)
def line(x, m, at, pixel, samples):
    k = ti.floor(x[0] / pixel)
    a = x[0] / pixel - k
    l = at[0] - ti.cast(k, ti.i32) + 3  # noqa: E741
    return m[0] * m[0] * ((1.0 - a) * samples[l] + a * samples[l - 1])


@pytest.mark.parametrize("pixel", [0.1, 0.3, 0.7, 1e-6 / 3.0])
@pytest.mark.parametrize(("precision", "tolerance"), [("f64", 1e-11), ("f32", 2e-5)])
def test_coordinates_on_the_edge_of_a_pixel(pixel: float, precision: str, tolerance: float) -> None:
    """x / pixel is whole but for rounding, which differs from kernel to kernel; the gradient must not."""
    rng = np.random.default_rng(0)
    values = {"x": (np.arange(200) + 10) * pixel, "m": np.ones(200), "share": rng.normal(size=240)}
    fields = Fields(values, precision=precision)
    samples = [0.0, 0.1, 0.5, 1.0, 0.5, 0.1, 0.0]
    dose = bind(line, fields, grid=Grid((240,), pixel), tables={"samples": samples})
    potential = Potential(fields, [bind(readout_of, fields)], [dose])
    value, alone = potential.value(), potential.gradient("m")
    both = {name: np.zeros(200, fields.dtype) for name in ("x", "m")}
    potential.gradient_into(both)
    scale = np.abs(alone).sum()
    for found in (alone, both["m"]):  # U is quadratic in m
        assert abs(0.5 * float(found.sum(dtype=float)) - value) < tolerance * scale
