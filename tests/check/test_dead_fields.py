"""Dead fields: which ways lead from a field to U, and that only fields without a smooth one are tried."""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Output, Potential, bind, local_energy, local_map, ti
from minusgrad.check import dead_fields as module
from minusgrad.check.dead_fields import Candidate, FieldPaths, dead_fields, smooth_arguments


@local_map("cell_of", over="nodes", gives={"c": Output("1")}, x=Node("m"))
def cell_of(x):
    """The cell in which a node lies: its derivative is zero."""
    return ti.floor(x[0])


@local_map("part_of", over="nodes", gives={"c": Output("1")}, x=Node("m"))
def part_of(x):
    """The place within the cell: its derivative is one."""
    return x[0] - ti.floor(x[0])


@local_map("unread", over="nodes", gives={"e": Output("1")}, y=Node("m"))
def unread(y):
    """A field that no energy reads."""
    return ti.floor(y[0])


@local_energy("square", over="nodes", c=Node("1"))
def square(c):
    """u = c^2."""
    return c[0] * c[0]


@local_energy("chosen", over="nodes", x=Node("m"), c=Node("1"))
def chosen(x, c):
    """x decides, c is what is summed."""
    return ti.select(x[0] > 1.0, c[0], 2.0 * c[0])


def potential_of(*maps: Any, energy: Any = square) -> Potential:
    fields = Fields({"x": np.linspace(0.3, 3.1, 5), "y": np.linspace(0.2, 2.2, 5)}, {"x": "m", "y": "m"})
    if not maps:
        fields = Fields({"x": np.linspace(0.3, 3.1, 5), "c": np.ones(5)}, {"x": "m", "c": "1"})
    made = [bind(one, fields) for one in maps]
    return Potential(fields, [bind(energy, fields)], made)


def test_a_rounded_field_is_found_through_a_map() -> None:
    potential = potential_of(cell_of)
    before = potential.fields["x"].values.copy()
    paths = FieldPaths(potential)
    assert (paths.smooth, paths.all) == ({"c"}, {"c", "x"})
    assert [*dead_fields(potential, {"cell_of"})] == [("x", "cell_of")]
    np.testing.assert_array_equal(potential.fields["x"].values, before)


@pytest.mark.parametrize("of_map", [part_of, unread])
def test_no_other_field_is_tried(of_map: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A smooth way beside the rounding, or no way at all: no kernel is compiled for the answer."""
    maps = [of_map] if of_map is part_of else [part_of, of_map]
    potential = potential_of(*maps)

    def tried(*_: Any) -> bool:
        raise AssertionError("a field was tried")

    monkeypatch.setattr(Candidate, "is_dead", tried)
    monkeypatch.setattr(module.Potential, "gradient", tried)
    assert [*dead_fields(potential, {one.name for one in maps})] == []


def test_a_condition_is_no_smooth_way() -> None:
    potential = potential_of(energy=chosen)
    assert smooth_arguments(potential.terms["chosen"]) == {"c"}
