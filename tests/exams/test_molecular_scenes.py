"""Claims of the scenes of molecules; terms and forces are compared with OpenMM in `plugins/molecular`."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.info import info
from minusgrad.app.runs import Run
from minusgrad.files.trajectory import symbols
from tests.support.command import SCENES


def energy_error(run: Run) -> float:
    """The largest change of the total energy, relative to the mean kinetic energy."""
    total, kinetic = (run.series(f"observables/{name}").value for name in ("total", "kinetic"))
    return float(np.abs(total - total[0]).max() / kinetic.mean())


def test_peptide_in_water(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "peptide_in_water.toml", out=tmp_path / "run")
    total, kinetic = (run.series(f"observables/{name}").value[0] for name in ("total", "kinetic"))
    assert total - kinetic == pytest.approx(-8945.09, abs=5e-3)
    assert 1e-5 < energy_error(run) < 0.002
    units = {"total": "kJ/mol", "temperature/kinetic": "K", "pressure": "bar", "volume": "angstrom^3"}
    assert {name: symbols(run.folder, f"observables/{name}")[0] for name in units} == units
    assert symbols(run.folder, "particles/all/position") == ("angstrom", "ps")
    assert info(run.folder)["time_unit"] == "ps"


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
