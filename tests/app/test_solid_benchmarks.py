"""The work `solids` and the tables of convergence: our answers are the peers', missing peers are named."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmarks import solid_convergence, solid_peers, solids
from benchmarks.harness.cases import MissingColumnError, error
from benchmarks.solid_bodies import Problem, cube, membrane

BODIES = {"membrane": lambda: membrane(6), "cube": lambda: cube((4, 3, 3))}


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest) -> Problem:
    return BODIES[request.param]()


def test_matrices_and_displacements_are_those_of_scikit_fem(body: Problem) -> None:
    pytest.importorskip("skfem", reason="needs scikit-fem: pip install scikit-fem")
    peer = solid_peers.ScikitFem(body)
    assert error(solids.product(body)(), peer.product()) < 1e-12
    assert error(solids.displacement(body, "superlu")(), peer.solve()) < 1e-9
    assert error(solids.displacement(body, "multigrid")(), peer.solve()) < 1e-8


@pytest.mark.skipif(not os.environ.get("FENICSX"), reason="needs FEniCSx: FENICSX names its Python")
def test_they_are_those_of_fenicsx(body: Problem) -> None:
    peer = solid_peers.FEniCSx(body)
    assert error(solids.product(body)(), peer.ask("matrix").answer) < 1e-12
    assert error(solids.displacement(body, "superlu")(), peer.ask("solve").answer) < 1e-9


def test_without_fenicsx_it_is_missing_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FENICSX", raising=False)
    with pytest.raises(MissingColumnError, match="FEniCSx: no Python is named by FENICSX"):
        solids.in_fenicsx("membrane", "matrix")
    monkeypatch.setenv("FENICSX", str(tmp_path / "python"))
    with pytest.raises(MissingColumnError, match=r"FENICSX names .*python, which is no file"):
        solid_peers.python()


def test_a_table_of_convergence_says_what_its_values_are(capsys: pytest.CaptureFixture) -> None:
    solid_convergence.main(["Cook"])
    head, _, squares, triangles = capsys.readouterr().out.splitlines()
    assert head.startswith("| table | number | target | cells | nodes |")
    assert squares.startswith("| Cook | rise of the edge | 23.96 | quadrilaterals | 65, 225, 833 | 23.708 |")
    assert squares.endswith("| 23.935 | -0.11 % | 1.8 |")
    assert "| triangles |" in triangles


@pytest.mark.unit
def test_the_order_is_that_of_the_differences() -> None:
    orders = []
    for values in ((1.0, 1.75, 1.9375), (1.0, 1.1, 0.9)):
        found = tuple(solid_convergence.Found(value, 1) for value in values)
        orders.append(solid_convergence.Line("", "", found, 2.0, 0.0).order)
    assert orders[0] == pytest.approx(2.0)
    assert np.isnan(orders[1])


def test_recovered_stresses_and_their_estimate_are_in_a_second_table(capsys: pytest.CaptureFixture) -> None:
    """Those of the observer `stress`, which are compared in `test_published_values`."""
    solid_convergence.main(["LE1"])
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("| LE1 | quadrilaterals | 93.5"))
    assert row.endswith("| +0.29 % | 2.3 %, 0.39 %, 0.081 % |")
