"""Declarations of Lagrangians: rates and their coordinates, units, generators."""

import pytest

from minusgrad.energies.lagrangian import Lagrangian, lagrangian
from minusgrad.energies.roles import Node, Parameter, Velocity
from minusgrad.errors import EnergyError

Q, V = Node("rad"), Velocity("rad/s")


def one(q, v):
    return 0.5 * v[0] * v[0] - q[0] * q[0]


def two(q, x, v):
    return v[0] * v[0] + q[0] * x[0]


def test_the_rate_of_the_only_coordinate_needs_no_name() -> None:
    made = lagrangian("one", over="nodes", q=Q, v=V)(one)
    assert isinstance(made, Lagrangian)
    assert made.rates == {"q": "v"}
    named = lagrangian("two", over="nodes", q=Q, x=Node("m"), v=Velocity("m/s", rate_of="x"))(two)
    assert named.rates == {"x": "v"}


@pytest.mark.parametrize(
    ("function", "roles", "text"),
    [
        (lambda q: q[0], {"q": Q}, "has no Velocity, so that nothing moves"),
        (
            one,
            {"q": Q, "v": Velocity("m/s")},
            "v is in m/s, the rate of q in rad; give it the unit of q a second",
        ),
        (one, {"q": Q, "v": Velocity("rad/s", (2,))}, r"v has shape \[2\], its coordinate q \[\]"),
        (two, {"q": Q, "x": Q, "v": V}, "v is the rate of '', got the coordinates q, x; name one of them"),
        (two, {"q": Q, "x": V, "v": V}, "q has two rates, x and v; use one"),
        (one, {"q": Q, "v": Parameter("rad/s")}, "has no Velocity"),
    ],
)
def test_rates_that_fit_no_coordinate_are_refused(function, roles, text) -> None:
    with pytest.raises(EnergyError, match=f"lagrangian 'x': .*{text}"):
        lagrangian("x", over="nodes", **roles)(function)


def test_pairs_and_generators_of_several_nodes_are_refused() -> None:
    with pytest.raises(EnergyError, match='is over "nodes" or tuples of nodes'):
        lagrangian("x", over="pairs", q=Q, v=V)(one)
    with pytest.raises(EnergyError, match="generators are functions of the one coordinate of a node"):
        lagrangian("x", over=2, q=Q, v=V, generators={"spin": lambda q: 1.0})(one)
