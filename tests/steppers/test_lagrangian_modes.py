"""Small vibrations of Lagrangians against closed forms."""

import numpy as np
import pytest

from minusgrad.energies.fields import Hold, Motion
from minusgrad.energies.lagrangian import lagrangian
from minusgrad.energies.roles import Node, Parameter, Velocity
from minusgrad.errors import EnergyError
from minusgrad.plugin import ti
from minusgrad.steppers.stability.lagrangian_modes import lagrangian_modes
from tests.support import lagrangians as books
from tests.support.lagrangians import made

G = books.G


@lagrangian("bead", over="nodes", q=Node("rad"), v=Velocity("rad/s"), w=Parameter("rad/s"))
def bead(q, v, w):
    """A unit mass on a hoop of radius 1 m that turns about the vertical."""
    s = w * ti.sin(q[0])
    return 0.5 * (v[0] * v[0] + s * s) + 9.81 * ti.cos(q[0])


def of(one, count: int = 9):
    return lagrangian_modes(
        one.potential, one.lagrangian, one.motions, one.holds, one.time, count, one.constraints
    )


def test_a_double_pendulum_vibrates_by_the_formula_of_the_books() -> None:
    """omega^2 = (g / l) (2 -+ sqrt 2), amplitudes 1 : +- sqrt 2; the velocities that it has do not count."""
    one = made(
        {"q": [[0.0, 0.0]], "v": [[0.7, -0.2]]}, [(books.double_pendulum, {"parameters": {"m": 1.0}})], 0.1
    )
    found = of(one)
    assert found.eigenvalues == pytest.approx(G * (2.0 + np.array([-1.0, 1.0]) * np.sqrt(2.0)), rel=1e-13)
    shapes = found.shapes["q"][:, 0]
    assert shapes[:, 1] / shapes[:, 0] == pytest.approx([np.sqrt(2.0), -np.sqrt(2.0)], rel=1e-12)
    assert found.at_rest
    np.testing.assert_array_equal(one.moving[1].values, [[0.7, -0.2]])
    alone = made({"q": [0.0], "v": [0.0]}, [(bead, {"parameters": {"w": 4.0}})], 0.1)
    assert of(alone).unstable.all()


def test_a_bead_vibrates_about_its_place_on_a_turning_hoop() -> None:
    """cos theta = g / (R w^2), omega = w sin theta; in the hoop, no potential energy has this minimum."""
    place = np.arccos(G / 16.0)
    one = made({"q": [place], "v": [0.0]}, [(bead, {"parameters": {"w": 4.0}})], 0.1)
    found = of(one)
    assert found.at_rest
    assert 2.0 * np.pi * found.frequencies == pytest.approx([4.0 * np.sin(place)], rel=1e-12)


def test_rods_and_supports_are_those_of_pendulums() -> None:
    """A weight on a rod of 1 m from a node that is held: sqrt(g / l) twice, and nothing along the rod."""
    values = {"x": [[0.0] * 3, [0.0, 0.0, -1.0]], "v": np.zeros((2, 3))}
    motions, nail = [Motion("x", "v")], [Hold("nail", "x", np.array([0]))]
    kept = [(books.stick, {"tuples": [[0, 1]], "parameters": {"length": 1.0}})]
    ball = [(books.ball, {"parameters": {"m": 1.3, "a": 0.2}})]
    one = made(values, ball, 0.1, motions=motions, holds=nail, constraints=kept)
    found = of(one)
    assert found.total == 2
    assert found.eigenvalues == pytest.approx([G / 1.2, G / 1.2], rel=1e-12)
    assert not found.shapes["x"][:, 0].any()
    assert np.abs(found.shapes["x"][:, 1, 2]).max() < 1e-15


def test_what_has_no_modes_is_refused() -> None:
    charge = made({"x": [[0.3, -0.2]], "v": [[0.0, 0.0]]}, [(books.charge, {"parameters": {"B": 1.7}})], 0.1,
                  motions=[Motion("x", "v")])  # fmt: skip
    with pytest.raises(EnergyError, match=r"L couples coordinates to velocities, got a gyroscopic matrix of"):
        of(charge)
    one = made({"q": [0.0], "v": [0.0]}, [(bead, {"parameters": {"w": 4.0}})], 0.1)
    with pytest.raises(EnergyError, match="at least one is needed, got 0"):
        of(one, 0)
