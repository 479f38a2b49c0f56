"""The scene of a cluster of dust, whose energies are those of a file beside it."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import minusgrad
from minusgrad.app.results.run import Run
from minusgrad.errors import SceneError
from tests.support.command import SCENES, own_files

SCENE = SCENES / "yukawa_cluster.toml"
GRAINS, STRENGTH, LENGTH, STIFFNESS = 10_000, 9.228e-22, 2.5e-3, 2.945e-12
"""In SI."""


def grains_within(r: float, radius: float) -> float:
    """Grains within r in a ball of this radius: the integral of the continuum's density [a length, cubed].

    In units of A / k = STRENGTH / STIFFNESS; L = LENGTH.
    """
    at_the_edge = 3.0 + (radius / LENGTH) ** 2 / (1.0 + radius / LENGTH)
    return at_the_edge * r**3 / 3.0 + (radius**2 * r**3 / 6.0 - r**5 / 10.0) / LENGTH**2


def radius_of(share: float = 1.0) -> float:
    """The radius [mm] within which a share of the grains is on paper."""
    all_grains = GRAINS * STRENGTH / STIFFNESS
    edge = brentq(lambda r: grains_within(r, r) - all_grains, 1e-4, 0.1)
    return 1e3 * brentq(lambda r: grains_within(r, edge) - share * all_grains, 1e-6, 1.001 * edge)


def settled(overrides: dict[str, Any], tmp_path) -> tuple[Run, np.ndarray]:
    """A run, and the sorted distances of the grains from their centre at its end."""
    run = minusgrad.run(SCENE, overrides, tmp_path / "run", plugins=own_files(SCENE))
    x = run.series("particles/all/position").value[-1].astype(np.float64)
    return run, np.sort(np.linalg.norm(x - x.mean(axis=0), axis=1))


@pytest.mark.long
def test_yukawa_cluster(tmp_path):
    run, r = settled({}, tmp_path)
    assert radius_of() == pytest.approx(10.0, rel=1e-3)
    assert radius_of(0.5) == pytest.approx(7.41, rel=1e-3)
    assert radius_of(0.1) == pytest.approx(4.13, rel=1e-3)
    assert r[GRAINS // 2] == pytest.approx(7.41, rel=1e-2)
    assert r[GRAINS // 10] == pytest.approx(4.13, rel=2e-2)
    assert 9.5 < r[-1] < 10.0
    errors = run.series("observables/force_error/screened_charges").value
    assert errors.max() < 1.5e-3
    assert errors[-3:].max() < 1e-3
    count, edges = np.histogram(r, np.arange(8.2, 10.0, 0.1))
    density = count / np.diff(edges**3)
    outer = np.flatnonzero(edges[:-1] >= 8.9)
    assert density[outer].max() > 4.0 * density[outer[(density[outer] > 0) & (edges[outer] < 9.5)]].min()


def test_a_small_yukawa_cluster(tmp_path):
    """A twentieth of the grains with 20 times the strength: the same continuum, of larger grain."""
    few = {"state.n": 500, "energy.0.strength": "18.456e-21 J m", "state.radius": "25 mm"}
    few |= {"stepper.dt": "5 ms", "run.steps": 400, "energy.0.far": {"opening_angle": 0.6, "order": 2}}
    run, r = settled(few, tmp_path)
    assert r[250] == pytest.approx(radius_of(0.5), rel=5e-2)
    assert 8.5 < r[-1] < radius_of()
    assert run.series("observables/kinetic").value[-1] < 1e-2 * run.series("observables/kinetic").value.max()


def test_the_scene_names_its_file_where_it_is_missing(tmp_path):
    says = r"named 'screened_charges'; yukawa_cluster\.py here defines it: add --plugin yukawa_cluster\.py"
    with pytest.raises(SceneError, match=says):
        minusgrad.run(SCENE, out=tmp_path / "run")
