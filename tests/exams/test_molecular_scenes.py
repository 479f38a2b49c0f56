"""Claims of the scenes of molecules; terms and forces are compared with OpenMM in `plugins/molecular`."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.info import info
from minusgrad.app.results.run import Run
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


@pytest.mark.long
def test_rigid_water(tmp_path: Path) -> None:
    """For 4 ps, of which the claim has the first."""
    run = minusgrad.run(SCENES / "rigid_water.toml", {"run.steps": 2000}, out=tmp_path / "run")
    total, kinetic, kelvin, off = (
        run.series(f"observables/{name}").value
        for name in ("total", "kinetic", "temperature/kinetic", "violation")
    )
    assert total[0] - kinetic[0] == pytest.approx(-8636.07, abs=5e-3)
    change = np.abs(total - total[0]) / kinetic.mean()
    assert 1e-5 < change[:51].max() < 0.002
    assert change.max() < 0.004
    assert off.max() < 2e-15
    assert kelvin == pytest.approx(kinetic / (0.5 * (6 * 216 - 3) * 8.31446261815324e-3), rel=1e-12)
    assert kelvin.mean() == pytest.approx(300.0, abs=20.0)
    x = run.series("particles/all/position").value.reshape(-1, 216, 3, 3)
    lengths = np.linalg.norm(x[:, :, [0, 0, 1]] - x[:, :, [1, 2, 2]], axis=-1)
    across = 2.0 * 0.9572 * np.sin(np.deg2rad(52.26))
    np.testing.assert_allclose(lengths, np.broadcast_to([0.9572, 0.9572, across], lengths.shape), atol=1e-13)


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


def test_lj_minima(tmp_path: Path) -> None:
    """With 400 quenches in place of 2,000; members draw the same starts in any number."""
    fewer = {'ensemble.vary."runtime.seed".range.to': 400}
    run = minusgrad.run(SCENES / "lj_minima.toml", fewer, out=tmp_path / "run")
    assert '"members": "members in lanes"' in (run.folder / "journal.jsonl").read_text()
    assert run.outcome == "converged"
    energies = run.series("observables/potential/lennard_jones").value
    residual = run.series("observables/residual").value
    assert energies.shape[1] == 400
    assert residual[-1].max() <= 1e-7
    last = np.sort(energies[-1])
    assert last[0] == pytest.approx(-44.326801, abs=5e-7)
    lowest = int((np.abs(last - last[0]) < 1e-6).sum())
    assert 40 <= lowest <= 100
