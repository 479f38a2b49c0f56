"""Boundaries of particles and cells: walls with friction, obstacles, clamped places, refused windows."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.engine import runtime
from minusgrad.errors import OutsideError
from minusgrad.plugin import Evolution, Grid
from minusgrad.steppers.systems.system import System
from minusgrad_mpm.boundaries import obstacle_contact, wall_contact, wall_sticking
from minusgrad_mpm.particles import particles_moved_within
from minusgrad_mpm.transfer import to_grid


@pytest.mark.parametrize(
    ("v", "friction", "expected"),
    [
        ([3.0, -2.0], 0.0, [3.0, 0.0]),  # slips
        ([3.0, -2.0], 0.5, [2.0, 0.0]),  # slows down by mu |v_n|
        ([3.0, -2.0], 2.0, [0.0, 0.0]),  # is stopped
        ([3.0, -2.0], 1e12, [0.0, 0.0]),  # sticks
        ([3.0, 2.0], 1e12, [3.0, 2.0]),  # parts
    ],
)
def test_walls_with_friction(v: list[float], friction: float, expected: list[float]) -> None:
    runtime.start()
    turned = [-one for one in v]
    fields = Fields({"V": np.array([v, v, turned]), "wall": np.array([[0.0, 1.0], [0.0, 0.0], [0.0, -1.0]])})
    Potential(fields, [], [bind(wall_contact, fields, parameters={"friction": [0.0, friction]})]).refresh()
    found = fields["V_walls"].values
    np.testing.assert_allclose(found[0], expected, atol=1e-9)
    np.testing.assert_array_equal(found[1], v)
    np.testing.assert_allclose(found[2], -np.array(expected), atol=1e-9)


def test_what_meets_a_sticking_wall_is_held() -> None:
    """Also along the axes that it does not meet; at rest on the wall it is free."""
    runtime.start()
    v = np.array([[3.0, -2.0], [3.0, 2.0], [3.0, 0.0], [-3.0, -2.0], [3.0, -2.0]])
    wall = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 0.0], [-1.0, 0.0]])
    fields = Fields({"V": v, "wall": wall})
    Potential(fields, [], [bind(wall_sticking, fields)]).refresh()
    expected = [[0.0, 0.0], v[1], v[2], v[3], [0.0, 0.0]]
    np.testing.assert_array_equal(fields["V_walls"].values, expected)


def test_an_obstacle_lets_nothing_in() -> None:
    runtime.start()
    n = np.array([0.6, 0.8])
    fields = Fields({"V": np.array([-2.0 * n, 2.0 * n, [0.8, -0.6]]), "obstacle": np.tile(n, (3, 1))})
    Potential(fields, [], [bind(obstacle_contact, fields)]).refresh()
    found = fields["V_outside"].values
    np.testing.assert_allclose(found, [[0.0, 0.0], 2.0 * n, [0.8, -0.6]], atol=1e-15)


def test_places_are_clamped_to_a_box() -> None:
    """A particle that would leave stays on the side that it reached, with no derivative across it."""
    runtime.start()
    fields = Fields({"x": np.array([[0.5, 0.5], [0.5, 0.5]]), "v": np.array([[9.0, 0.1], [0.1, -9.0]])})
    box = {"low": [0.2, 0.2], "high": [0.8, 0.8]}
    potential = Potential(fields, [], [bind(particles_moved_within, fields, parameters=box)])
    Evolution(System(potential), {"x": "x_next"}, dt=0.1).advance(1)
    np.testing.assert_allclose(fields["x"].values, [[0.8, 0.51], [0.51, 0.2]], rtol=1e-15)


@local_energy("heavy", over="nodes", mass=Node("kg"))
def heavy(mass):
    return mass[0] * mass[0]


def test_refused_windows_make_an_energy_nan_and_name_the_particle() -> None:
    """Without a program, too, if the map says so; cut windows lose what lies beyond."""
    runtime.start()
    x = np.array([[0.5, 0.5], [0.01, 0.5]])
    for outside in ("cut", "refuse"):
        fields = Fields({"x": x, "q": x, "A": np.zeros((2, 2, 2)), "m": np.ones(2)})
        part = bind(to_grid, fields, grid=Grid((8, 8), 0.125), outside=outside)
        potential = Potential(fields, [bind(heavy, fields)], [part])
        assert np.isfinite(potential.value()) == (outside == "cut")
        if outside == "cut":
            assert 1.0 < fields["mass"].values.sum() < 1.999
    assert str(potential.first_nonfinite(0.0, ["x"])).startswith(
        "map 'to_grid', node 1: its window leaves the grid of 8 x 8 cells, got 3 to 5, -1 to 1 with x = [0.01"
    )
    fields["x"].set(np.full((2, 2), 0.5))
    program = Evolution(System(potential), {"x": "x"})
    program.advance(1)
    fields["x"].set(x)
    with pytest.raises(OutsideError, match="step 2: map 'to_grid', node 1: its window leaves"):
        program.advance(3)
