"""Claims of the scenes of molecules; terms and forces are compared with OpenMM in `plugins/molecular`."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.runs import Run
from tests.support.command import SCENES


def energy_error(run: Run) -> float:
    """The largest change of the total energy, relative to the mean kinetic energy."""
    total, kinetic = (run.series(f"observables/{name}").value for name in ("total", "kinetic"))
    return float(np.abs(total - total[0]).max() / kinetic.mean())


def at_start(run: Run) -> float:
    terms = ("bonds", "angles", "torsions", "impropers", "lennard_jones", "coulomb")
    listed = ("lennard_jones_14", "coulomb_14")
    return sum(float(run.series(f"observables/potential/{name}").value[0]) for name in terms + listed)


def test_peptide_in_water(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "peptide_in_water.toml", out=tmp_path / "run")
    assert at_start(run) == pytest.approx(-8722.51, abs=5e-3)
    assert 1e-5 < energy_error(run) < 0.002


def test_argon_liquid(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "argon_liquid.toml", out=tmp_path / "run")
    r, g, published = (
        run.series(f"observables/radial_distribution/{n}").value for n in ("r", "g", "published")
    )
    r, g, published = r[0], g.mean(axis=0), published[0]
    far = r > 4.2
    assert np.abs(g - published)[far].max() < 0.1
    highest, measured = np.argmax(g), np.nanargmax(published)
    assert abs(r[highest] - 3.7) < 0.1
    assert r[measured] == pytest.approx(3.7, abs=0.06)
    assert g[highest] == pytest.approx(3.04, rel=0.06)
