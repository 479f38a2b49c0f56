"""The declaration of constraints: roles, elements, the energy lambda g."""

import re

import numpy as np
import pytest

from minusgrad import Datum, Node, Parameter, Spacing, Time, UserError, constraint, local_energy
from minusgrad.energies.roles import Table

X = Node("m", ("d",))


def distance(x, length):
    """Two nodes at a distance."""
    r = x[0] - x[1]
    return r.dot(r) - length * length


def test_a_constraint_keeps_its_declaration() -> None:
    one = constraint("rod", over=2, x=X, length=Datum("m"), symmetries=("rotation",))(distance)
    assert (one.name, one.over, one.symmetries, one.claim) == (
        "rod",
        2,
        ("rotation",),
        "Two nodes at a distance.",
    )
    assert list(one.roles) == ["x", "length"]


def test_the_weighted_energy_is_the_multiplier_times_the_constraint() -> None:
    one = constraint("rod", over=2, x=X, length=Datum("m"))(distance)
    values = {"x": [np.array([0.0, 3.0]), np.array([4.0, 0.0])], "length": 2.0}
    assert one.evaluator()(values) == 21.0
    assert one.weighted_energy().evaluator()({**values, "multiplier": -0.5}) == -10.5
    assert one.weighted_energy().name == "rod"
    assert {**one.weighted_energy().roles, "multiplier": 0} == {**one.roles, "multiplier": 0}


def test_time_of_a_driven_constraint_has_a_value_for_each_element() -> None:
    made = constraint("drive", over="nodes", x=Node("m"), t=Time(), w=Parameter("s^-1"))
    driven = made(lambda x, t, w: x[0] - w * t)
    assert isinstance(driven.timed_energy().roles["t"], Datum)
    assert driven.timed_energy().differentiable == ("x", "t", "w")
    assert driven.differentiable == ("x", "t", "w")


WRONG = [
    ({"over": "pairs", "length": Parameter("m")}, "is over 'pairs', got no list of elements; use 'nodes'"),
    ({"over": "cells", "length": Parameter("m")}, "is over 'cells', got no list of elements; use 'nodes'"),
    ({}, "constraint 'rod': argument length has no role; make it a Node, Datum or Parameter"),
    ({"x": Node("yard2"), "length": Datum("m")}, "cannot read the unit 'yard2'"),
    ({"length": Datum("m"), "symmetries": ("mirror",)}, "constraint 'rod': no symmetry named 'mirror'"),
    ({"length": Spacing()}, "length is a Spacing, but not over 'cells'"),
    ({"x": Datum("m", ("k", "d")), "length": Datum("m")}, "constraint 'rod': has no Node field"),
]


@pytest.mark.parametrize(("roles", "message"), WRONG)
def test_what_is_refused(roles: dict, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        constraint("rod", **{"over": 2, "x": X, **roles})(distance)


def test_names_that_the_framework_takes() -> None:
    with pytest.raises(UserError, match="an argument cannot be called 'multiplier'; rename it"):
        constraint("rod", over=1, x=X, multiplier=Parameter())(lambda x, multiplier: x[0][0] - multiplier)
    with pytest.raises(UserError, match="an argument cannot be called 'project_start'; rename it"):
        constraint("rod", over=1, x=X, project_start=Table())(lambda x, project_start: x[0][0])
    with pytest.raises(UserError, match="a constraint cannot be called 'a-b'"):
        constraint("a-b", over=1, x=X)(lambda x: x[0][0])


def test_an_energy_is_no_constraint() -> None:
    energy = local_energy("rod", over=2, x=X, length=Datum("m"))(distance)
    assert not hasattr(energy, "weighted")
