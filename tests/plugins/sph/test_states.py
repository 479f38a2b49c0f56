"""A column of fluid: particles, masses, hydrostatic pressure, walls that are held, refusals."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.energies.fields import State
from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem
from minusgrad_sph.kernels import lattice_sum
from minusgrad_sph.states import FluidColumn

pytestmark = pytest.mark.unit
A, N, C, G = 0.2, 10, 8.0, 9.81


def column(**changes) -> State:
    keys = {"width": A, "height": 2.0 * A, "particles": N, "h": 1.3 * A / N, "floor": 3.0 * A}
    model = FluidColumn(**(keys | {"rest_density": 1000.0, "sound_speed": C} | changes))
    return model.make(StateContext(UnitSystem.of(), 0, Path()))


def density(state: State, nodes: np.ndarray, h: float) -> np.ndarray:
    """At these nodes, of all particles: 7/(4 pi) h^-2 (1 - q/2)^4 (2 q + 1)."""
    x, m = state.fields["x"], state.fields["m"]
    q = np.linalg.norm(x[nodes, None] - x[None], axis=-1) / h
    return (
        7.0
        / (4.0 * np.pi * h * h)
        * (np.clip(1.0 - 0.5 * q, 0.0, None) ** 4 * (2.0 * q + 1.0) * m).sum(axis=1)
    )


def test_the_particles_fill_the_column_and_the_walls_are_held():
    state = column()
    fluid, wall = (next(b.nodes for b in state.bodies if b.name == name) for name in ("fluid", "wall"))
    x, s = state.fields["x"], A / N
    assert len(fluid) == N * 2 * N
    assert len(wall) == 3 * (30 + 3) + 3 * 25
    assert not state.fields["v"].any()
    np.testing.assert_allclose(x[fluid, 0].reshape(2 * N, N), np.tile(s * (np.arange(N) + 0.5), (2 * N, 1)))
    assert 0.97 * 2.0 * A < x[fluid, 1].max() + 0.5 * s < 2.0 * A
    assert ((x[wall] < 0.0).any(axis=1)).all()
    assert x[wall, 0].max() == pytest.approx(3.0 * A - 0.5 * s)
    (hold,) = state.holds
    assert hold.axes is None
    np.testing.assert_array_equal(hold.nodes, wall)


def test_a_full_lattice_has_the_density_at_rest_within_one_percent_of_its_mass():
    state, s = column(), A / N
    m = state.fields["m"]
    assert np.ptp(m) == 0.0
    assert m[0] * lattice_sum(s, 1.3 * s, 2) == pytest.approx(1000.0, rel=1e-14)
    assert m[0] == pytest.approx(1000.0 * s * s, rel=0.011)


def test_the_start_is_hydrostatic():
    """Tait's pressure of the densities inside of the column is the weight above it."""
    state, s = column(), A / N
    x = state.fields["x"]
    inside = np.flatnonzero((x > 2.6 * s).all(axis=1) & (x < [A - 2.6 * s, 2.0 * A - 3.6 * s]).all(axis=1))
    pressure = 1000.0 * C * C / 7.0 * ((density(state, inside, 1.3 * s) / 1000.0) ** 7 - 1.0)
    m = state.fields["m"][0]
    above = np.array([(x[: 2 * N * N, 1] > y).sum() + 0.5 * N for y in x[inside, 1]])
    assert len(inside) > 40
    np.testing.assert_allclose(pressure, m * G * above / A, rtol=0.03)


def test_without_gravity_the_rows_are_equally_far_apart():
    x = column(gravity=0.0).fields["x"][: 2 * N * N, 1].reshape(2 * N, N)
    np.testing.assert_allclose(np.diff(x[:, 0]), A / N, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"h": 0.009},
            "h: the kernel reaches 0.018, and particles are 0.02 apart in a column 0.2 wide; give about 1.3"
            " of that distance",
        ),
        (
            {"h": 0.11},
            "h: the kernel reaches 0.22, and particles are 0.02 apart in a column 0.2 wide; give about 1.3"
            " of that distance",
        ),
        ({"height": 0.01}, "height: 0.01 is less than a row of particles, 0.02; make it higher"),
        ({"floor": 0.1}, "floor: 0.1 is shorter than the fluid, 0.2; make it longer"),
    ],
)
def test_refusals(changes, text):
    with pytest.raises(UserError) as refused:
        column(**changes)
    assert str(refused.value) == text
