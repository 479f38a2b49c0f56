"""Random clusters: in their sphere, apart from each other, and refused where there is no place."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import MinusgradError
from minusgrad.plugin import StateContext, UnitSystem
from minusgrad_molecular.clusters import RandomCluster


def places(n: int, radius: float, apart: float, seed: int = 0) -> np.ndarray:
    made = RandomCluster(n=n, mass=2.0, radius=radius, apart=apart)
    state = made.make(StateContext(UnitSystem.si(), seed, Path()))
    assert (state.fields["m"] == 2.0).all()
    assert not state.fields["v"].any()
    return state.fields["x"]


def test_atoms_are_in_the_sphere_and_apart() -> None:
    x = places(60, 3.0, 1.0)
    away = np.linalg.norm(x[:, None] - x, axis=-1)[np.triu_indices(60, 1)]
    assert 1.0 <= away.min() < 1.2
    r = np.linalg.norm(x, axis=1)
    assert 2.8 < r.max() <= 3.0
    assert np.array_equal(x, places(60, 3.0, 1.0))
    assert not np.isin(x, places(60, 3.0, 1.0, seed=1)).any()


def test_without_a_distance_they_are_uniform() -> None:
    r = np.linalg.norm(places(4000, 2.0, 0.0), axis=1)
    assert (r < 1.0).mean() == pytest.approx(1.0 / 8.0, abs=0.02)


def test_no_place_is_left() -> None:
    with pytest.raises(MinusgradError, match=r"found no place for atom \d+ of 40 in a sphere of radius 1\.0"):
        places(40, 1.0, 0.9)
