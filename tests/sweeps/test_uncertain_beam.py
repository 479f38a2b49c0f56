"""The claim of the scene `uncertain_beam`: its energy, and the parts of its variance, are those on paper.

U = P^2 L^3 / 6 E I        a product of functions of independent numbers, U = prod g_i, whose indices are
S_i = c_i / (prod (1 + c_j) - 1)       ST_i = S_i prod_{j != i} (1 + c_j)       c_i = Var(g_i) / E[g_i]^2
"""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.sweeps.plan import plan_points
from minusgrad.sweeps.sensitivity import indices
from minusgrad.sweeps.sweep_file import read_sweep
from minusgrad.sweeps.table import PointTable
from tests.support.command import SCENES

pytest.importorskip("SALib")

SCENE, SWEEP = SCENES / "uncertain_beam.toml", SCENES / "sweeps" / "uncertain_beam.toml"
KEYS = ["linear.youngs_modulus", "load.traction.1", "state.size.0"]
DEPTH = 0.02


def energy(E: np.ndarray, traction: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Of a metre of width, in J: E in GPa, the traction in kPa."""
    inertia, P = DEPTH**3 / 12, traction * 1e3 * DEPTH
    return P**2 * L**3 / (6 * E * 1e9 * inertia)


def on_paper() -> tuple[np.ndarray, np.ndarray]:
    """S1 and ST of E (lognormal), P and L (uniform)."""
    c = np.array([np.expm1(0.1**2), spread(40.0, 60.0, 2), spread(0.95, 1.05, 3)])
    first = c / (np.prod(1 + c) - 1)
    return first, first * np.prod(1 + c) / (1 + c)


def spread(a: float, b: float, power: int) -> float:
    """Var(x^p) / E[x^p]^2 of a number uniform between a and b."""
    one, two = ((b ** (q + 1) - a ** (q + 1)) / ((q + 1) * (b - a)) for q in (power, 2 * power))
    return two / one**2 - 1


def assert_energies(table: PointTable) -> None:
    found = table.column("potential/linear")
    np.testing.assert_allclose(found, energy(*map(table.column, KEYS)), rtol=2e-4)


def assert_indices(found: dict[str, dict[str, float]], sigmas: float = 1.5) -> None:
    """Within their confidence bounds (95 %), made a little wider, and near enough to tell the keys apart."""
    for kind, expected in zip(("S1", "ST"), on_paper(), strict=True):
        for key, value in zip(KEYS, expected, strict=True):
            assert abs(found[key][kind] - value) < sigmas * found[key][f"{kind}_conf"] < 0.3


def test_the_energy_is_that_of_a_beam_on_paper(tmp_path: Path) -> None:
    first, _ = on_paper()
    assert np.round(first, 2).tolist() == [0.14, 0.74, 0.11]  # the scene says so
    vary = read_sweep(SWEEP).document.data["vary"]  # type: ignore[union-attr]
    points = {"sweep": {"sensitivity": "sobol", "samples": 4}, "vary": vary, "keep": {"folder": False}}
    table = minusgrad.sweep(SCENE, points, out=tmp_path / "sweep", workers=0)
    assert table.counts == {"finished": 20}
    assert_energies(table)
    assert {"potential/linear", "total"} <= table.indices.keys()
    assert "1.25 J" in SCENE.read_text()
    assert energy(np.array(200.0), np.array(50.0), np.array(1.0)) == pytest.approx(1.25)


def test_indices_of_the_closed_form_at_the_points_of_the_sweep_file() -> None:
    """As the long test, with paper in place of 1,280 runs."""
    columns = plan_points(SCENE, (), (), read_sweep(SWEEP)).columns
    values = energy(*(columns[key].values for key in KEYS))
    assert len(values) == 1280
    assert_indices(indices(KEYS, {"U": values}, seed=0)["U"])


@pytest.mark.long
def test_indices_of_the_sweep_on_two_workers(tmp_path: Path) -> None:
    table = minusgrad.sweep(SCENE, SWEEP, out=tmp_path / "sweep", workers=2)
    assert table.counts == {"finished": 1280}
    assert_energies(table)
    assert_indices(table.indices["potential/linear"])
    assert (tmp_path / "sweep" / "sensitivity.json").is_file()
    assert not [path for path in (tmp_path / "sweep" / "points").iterdir() if path.is_dir()]
