"""`minusgrad elastic RUN`: the constants that the observer records, from the folder of a run."""

import json
from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.cli import main
from minusgrad.app.runs import run
from minusgrad.files import trajectory
from tests.support.command import SCENES

SHORT = {"state.cells": [1, 1, 1], "energy.0.cutoff": "8 angstrom", "map.0.cutoff": "8 angstrom"}


@pytest.fixture(scope="module")
def copper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elastic") / "copper"
    run(SCENES / "copper_constants.toml", SHORT, folder)
    return folder


def test_the_table_has_the_constants_that_the_observer_recorded(copper: Path, capsys) -> None:
    assert main(["elastic", str(copper), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unit"] == "GPa"
    assert found["strains"] == ["xx", "yy", "zz", "yz", "xz", "xy"]
    for figure in ("stress", "relaxed", "unrelaxed"):
        recorded = trajectory.series(copper, f"observables/elastic_constants/{figure}").value[-1]
        np.testing.assert_allclose(found[figure], recorded, atol=1e-9 * np.abs(found["relaxed"]).max())
    assert main(["elastic", str(copper)]) == 0
    printed = capsys.readouterr().out
    c11, c12, c44 = (found["relaxed"][i][j] for i, j in ((0, 0), (0, 1), (3, 3)))
    lines = printed.splitlines()
    assert [line.split()[0] for line in lines[3:9]] == found["strains"]
    assert f"{c11:.3f}" in lines[3]
    assert lines[3].split()[3] == f"{c12:.3f}"
    assert lines[6].split()[5] == f"{c44:.3f}"
    assert f"bulk modulus (Voigt): {(c11 + 2.0 * c12) / 3.0:.6g} GPa" in printed
    assert "(stable)" in printed


def test_atoms_that_are_at_no_minimum_are_said(tmp_path: Path, capsys) -> None:
    """The saved start of the search: disordered, in f32, whose derivatives are computed in f64."""
    changes = SHORT | {"state.cells": [2, 2, 2], "run.steps": 1, "runtime.precision": "f32"}
    changes |= {"state.displacement": "0.9 angstrom"}
    run(SCENES / "copper_constants.toml", changes, tmp_path / "run")
    assert main(["elastic", str(tmp_path / "run"), "--at", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["relaxed"] is None
    assert "NOT relaxed: the atoms are at no minimum, and follow the strain here" in found["remarks"]
    assert np.isfinite(found["unrelaxed"]).all()


def test_what_has_no_constants_is_refused(tmp_path: Path, copper: Path, capsys) -> None:
    run(SCENES / "two_body.toml", {"run.steps": 2}, tmp_path / "run")
    assert main(["elastic", str(tmp_path / "run")]) == 2
    text = capsys.readouterr().err
    assert f"{tmp_path / 'run'}: elastic constants: no energy depends on 'box'" in text
    assert "give the scene a periodic [box]" in text
    assert main(["elastic", str(copper), "--at", "5"]) == 2
    assert "no state of step 5 was saved" in capsys.readouterr().err
