"""Lattices and the state `crystal`."""

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem
from minusgrad_crystals.lattices import LATTICES, bonds
from minusgrad_crystals.states import Crystal

pytestmark = pytest.mark.unit

NEIGHBOURS = {
    "simple_cubic": (6, 1.0, 1),
    "bcc": (8, 3.0**0.5 / 2.0, 2),
    "fcc": (12, 0.5**0.5, 4),
    "diamond": (4, 3.0**0.5 / 4.0, 8),
    "triangular": (6, 1.0, 2),
}
"""Nearest neighbours of an atom, their distance in units of a, atoms of a cell (Kittel, Introduction to Solid
State Physics, ch. 1)."""


def made(tmp_path, **keys):
    context = StateContext(UnitSystem.dimensionless(), 3, tmp_path)
    return Crystal(**{"lattice": "fcc", "cells": [2, 2, 2], "a": 1.5, "mass": 2.0} | keys).make(context)


@pytest.mark.parametrize("name", LATTICES)
def test_every_atom_has_the_nearest_neighbours_of_the_lattice(name):
    count, distance, atoms = NEIGHBOURS[name]
    lattice = LATTICES[name]
    cells = [4, 3, 3][: len(lattice.edges)]
    x, box = lattice.crystal(1.3, cells)
    assert len(x) == atoms * np.prod(cells)
    assert lattice.nearest() == pytest.approx(distance, rel=1e-14)
    apart = x[:, None] - x[None]
    apart -= np.rint(apart @ np.linalg.inv(box)) @ box
    length = np.linalg.norm(apart, axis=-1) + 9.0 * np.eye(len(x))
    assert (np.isclose(length, 1.3 * distance).sum(axis=1) == count).all()
    assert length.min() > 1.29 * distance
    fractions = x @ np.linalg.inv(box)
    assert ((fractions > 0.01) & (fractions < 0.99)).all()


def test_bonds_join_neighbours_that_meet_inside_the_box():
    x, _ = LATTICES["simple_cubic"].crystal(1.0, [3, 3, 3])
    pairs = bonds(x, 1.0)
    assert len(pairs) == 3 * 3 * 3 * 2
    np.testing.assert_allclose(np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1), 1.0)


def test_a_state_has_a_box_a_temperature_and_displacements(tmp_path):
    state = made(tmp_path, cells=[6, 6, 6], temperature=0.7, displacement=0.05)
    perfect = made(tmp_path, cells=[6, 6, 6])
    assert state.fields["box"].shape == (1, 3, 3)
    assert state.units["box"] == "m"
    np.testing.assert_array_equal(state.fields["box"][0], 9.0 * np.eye(3))
    v, moved = state.fields["v"], state.fields["x"] - perfect.fields["x"]
    assert np.abs(v.sum(axis=0)).max() < 1e-10
    assert not perfect.fields["v"].any()
    assert 2.0 * (v**2).mean() == pytest.approx(0.7, rel=0.1)  # m v^2 = k_B T by component
    assert moved.std() == pytest.approx(0.05, rel=0.1)


def test_a_crystal_of_a_wrong_dimension_is_refused(tmp_path):
    with pytest.raises(UserError) as refusal:
        made(tmp_path, cells=[2, 2])
    assert str(refusal.value) == "cells: a fcc crystal has 3 axes, got [2, 2]; write cells = [4, 4, 4]"


def test_a_crystal_that_does_not_fit_into_the_memory_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^a crystal of 4,000,000,000,000,000 atoms: .* use fewer cells$"):
        made(tmp_path, cells=[100000, 100000, 100000])
