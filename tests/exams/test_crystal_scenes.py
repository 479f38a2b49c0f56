"""The scenes of crystals do what they claim; the published numbers are those of their potentials' papers."""

from pathlib import Path

import numpy as np

import minusgrad
from minusgrad.app.results.run import Run

SCENES = Path(__file__).parents[2] / "scenes"
EV = 1.602176634e-19
"""J."""


def _solved(tmp_path: Path, scene: str, of_cell: int, **changes: object) -> tuple[Run, float, np.ndarray]:
    """The run, the lattice constant in angstrom, and C11, C12, C44, C44 without relaxation in GPa.

    `of_cell`: the atoms of a cubic cell.
    """
    run = minusgrad.run(SCENES / f"{scene}.toml", changes, out=tmp_path / scene)
    assert "converged" in run.simulation.stepper.verdict
    fields = run.simulation.fields
    a = (abs(np.linalg.det(fields["box"].values[0])) * of_cell / len(fields["x"])) ** (1.0 / 3.0)
    relaxed, unrelaxed = (_last(run, name) for name in ("relaxed", "unrelaxed"))
    np.testing.assert_allclose(relaxed[:3, 3:], 0.0, atol=1e-3)
    return run, a, np.array([relaxed[0, 0], relaxed[0, 1], relaxed[3, 3], unrelaxed[3, 3]])


def _last(run: Run, figure: str) -> np.ndarray:
    series = run.series(f"observables/elastic_constants/{figure}")
    return series.value[-1]


def test_copper_constants(tmp_path: Path) -> None:
    """a = 3.61 angstrom and 3.50 eV an atom, to 1e-3 (Sutton & Chen 1990, Philos. Mag. Lett. 61, 139).

    The energy follows from their parameters: epsilon S_9 (2 n - m) / (2 m), with S_9 = 282.674 over fcc.
    """
    run, a, constants = _solved(tmp_path, "copper_constants", 4, **{"state.cells": [1, 1, 1]})
    energy = run.simulation.stepper.energy * run.simulation.units.in_si("J") / EV
    assert abs(a / 3.61 - 1.0) < 1e-3
    assert abs(energy / 4.0 / -3.50 - 1.0) < 1e-3
    np.testing.assert_allclose(constants, [169.19, 129.95, 58.39, 58.39], rtol=1e-3)  # differences in NumPy
    assert np.abs(_last(run, "stress")).max() < 1e-3


def test_silicon(tmp_path: Path) -> None:
    """a = 5.431 angstrom, -2 epsilon an atom, 151, 76, 56 GPa to 1 % (Stillinger & Weber; Cowley 1988)."""
    run, a, constants = _solved(tmp_path, "silicon", 8)
    epsilon = run.simulation.units.convert("50 kcal/mol", "J")
    assert abs(a - 5.431) < 5e-4
    assert abs(run.simulation.stepper.energy / 64.0 / (-2.0 * epsilon) - 1.0) < 1e-8
    np.testing.assert_allclose(constants[:3], [151.0, 76.0, 56.0], rtol=0.01)
    np.testing.assert_allclose(constants, [151.418, 76.419, 56.447, 109.752], rtol=1e-4)


def test_silicon_of_tersoff(tmp_path: Path) -> None:
    """a = 5.432 angstrom, -4.63 eV an atom, 142.5, 75.4, 69.0 (118.8) GPa (Tersoff 1988, PRB 38, 9902)."""
    run, a, constants = _solved(tmp_path, "silicon_tersoff", 8)
    energy = run.simulation.stepper.energy * run.simulation.units.in_si("J") / EV
    assert abs(a - 5.432) < 5e-4
    assert abs(energy / 64.0 + 4.63) < 5e-3
    np.testing.assert_allclose(constants, [142.5, 75.4, 69.0, 118.8], rtol=2e-3)
