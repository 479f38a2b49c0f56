"""Tables in energies and maps: zero outside, read at whole numbers, read by windows."""

import re
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Cell,
    Fields,
    Node,
    Parameter,
    Potential,
    Table,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.energies.fields import Grid
from minusgrad.engine import runtime
from minusgrad.errors import TraceError
from minusgrad.exam import references
from tests.support.local_maps import error, given_by, loops_of, tall, window_of

runtime.start()


HEIGHTS = np.array([1.5, -0.5, 2.0])


@local_energy("looked_up", over="nodes", x=Node(), rows=Table(axes=2), heights=Table(axes=1))
def looked_up(x, rows, heights):
    """Places that may lie outside, and the table's own size."""
    k = ti.cast(ti.floor(x[0]), ti.i32)
    return x[0] * rows[k, 2 * k] + heights[k] + 10.0 * rows.shape[0] + 100.0 * heights.shape[0]


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_table_in_an_energy_is_zero_outside(precision: str) -> None:
    rows = np.arange(1.0, 11.0).reshape(2, 5)
    x = np.array([-7.5, -1.0, -0.5, 0.5, 1.5, 2.5, 3.5, 1e6, -1e6])
    fields = Fields({"x": x}, precision=precision)
    term = bind(looked_up, fields, tables={"rows": rows, "heights": HEIGHTS})
    potential = Potential(fields, [term])
    numbers = {0: (1.0, 1.5), 1: (8.0, -0.5), 2: (0.0, 2.0)}
    each = [numbers.get(int(np.floor(v)), (0.0, 0.0)) for v in x]
    expected = [v * a + b + 320.0 for v, (a, b) in zip(x, each, strict=True)]
    assert potential.by_element("looked_up").tolist() == expected
    assert potential.gradient("x").tolist() == [a for a, _ in each]
    assert references.energies(term) == expected


def _three(x):
    row = ti.floor(x[0])
    return [row - 1], [row + 2]


def _wider(x, half):
    return [x[0] - half], [x[0] + half]


@local_map("known", gives="y", over="nodes", x=Node(), heights=Table(), at=Cell(window=_three))
def known(x, heights, at):
    k = at[0] - ti.cast(ti.floor(x[0]), ti.i32)
    return x[0] * heights[k] + heights[k + 2] + 0.5 * heights[k - 40] + 0.25 * heights[k + 55]


@local_map(
    "masked", gives="y", over="nodes", x=Node(), heights=Table(), half=Parameter(), at=Cell(window=_wider)
)
def masked(x, heights, half, at):
    k = at[0] - ti.cast(ti.floor(x[0]), ti.i32)
    moved = ti.cast(ti.floor(2.0 * (at[0] - x[0] * x[0] / 4.0)), ti.i32)
    return x[0] * heights[k] + heights[k + 2] * half + x[0] * heights[moved] + heights[at[0]]


@pytest.mark.parametrize("made", [known, masked], ids=["known", "masked"])
@pytest.mark.parametrize("length", [1, 3, 50])
def test_a_table_in_a_map_is_zero_outside(made: Any, length: int) -> None:
    """Where the window tells the places, and where it does not (then also beyond a cut of the graph)."""
    heights = np.random.default_rng(length).normal(size=length)
    options = {"parameters": {"half": 4.5}} if made is masked else {}
    values = {"x": [-2.5, 0.25, 1.75, 3.5, 8.75, 11.5]}
    potential = given_by(made, values, grid=Grid((10,)), tables={"heights": heights}, **options)
    assert window_of(potential) == [4 if made is known else None]
    (given,) = potential.maps.values()
    potential.refresh()
    y = references.given_values(given)
    np.testing.assert_allclose(given.gives.values, y, rtol=1e-13, atol=1e-14)
    expected = references.weighted_differences(given, potential.fields["lean"].values + y)
    assert error(potential.gradient("x"), expected["x"]) < 1e-9
    loops = loops_of(potential)
    _, _, bands = loops.forward_loops().text.partition("for turn in")
    assert ("ti.min(ti.max(" in bands) is (made is masked)
    if made is known:
        begin, padded = loops._begin["heights"][0], len(loops._arrays["table_heights"])
        places = [read[0][1] + begin for read in loops._reads.values()]
        assert min(places) == 0
        assert max(places) + 4 == max(padded, 4)
        assert loops._arrays["table_heights"][begin : begin + length].tolist() == heights.tolist()


def test_a_window_may_read_a_table() -> None:
    potential = given_by(
        tall, {"x": [1.25, 2.5, 5.5]}, grid=Grid((9,)), tables={"heights": [1.5, 0.5, 2.5, 1.0]}
    )
    (given,) = potential.maps.values()
    potential.refresh()
    assert np.array_equal(given.gives.values, references.given_values(given))


def test_a_table_is_read_at_whole_numbers() -> None:
    @local_energy("between", over="nodes", x=Node(), heights=Table())
    def between(x, heights):
        return heights[x[0]]

    @local_energy("flat", over="nodes", x=Node(), heights=Table(axes=2))
    def flat(x, heights):
        return heights[0] * x[0]

    fields = Fields({"x": [1.0]})
    cure = ": table: is read at integers, got a real number; write ti.cast(ti.floor(...), ti.i32)"
    with pytest.raises(TraceError, match=re.escape(cure)):
        Potential(fields, [bind(between, fields, tables={"heights": HEIGHTS})]).value()
    with pytest.raises(TraceError, match=re.escape(cure)):
        between.evaluator()({"x": [1.0], "heights": HEIGHTS})
    with pytest.raises(TraceError, match=r"heights: is a table with 2 axes, got 1 numbers; give"):
        Potential(fields, [bind(flat, fields, tables={"heights": [HEIGHTS]})]).value()
