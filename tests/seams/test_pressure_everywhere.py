"""Pressure with an apex of its supports beside members, PyTorch, resuming, Quadrants, closed surfaces."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from tests.seams.test_pressure_loads import SUNK, P, sheet

ORIGINS = [[5.0, 7.0], [-3.0, 0.5]]


@pytest.mark.parametrize("lanes", [True, pytest.param(False, marks=pytest.mark.long)])
def test_members_have_apexes_of_their_own(tmp_path: Path, lanes: bool) -> None:
    """Members whose bodies lie elsewhere, under other pressures: each sinks as alone."""
    varied = {"state.origin": {"list": ORIGINS}, "pressure.pressure": {"list": [P, 2.0 * P]}}
    scene = sheet(ensemble={"vary": varied, "lanes": lanes}, observe=[{"kind": "frames", "every": 1}])
    done = mg.run(scene, out=tmp_path / "run")
    assert not done.failures
    x = np.asarray(done["position"])
    heights = [np.ptp(x[-1, k, :, 1]) for k in range(2)]
    assert heights == pytest.approx([0.5 - SUNK, 0.5 - 2.0 * SUNK], abs=1e-3 * SUNK)


def test_the_equilibrium_depends_on_the_pressure_as_on_paper() -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    of_pressure = minusgrad.torch.equilibrium(sheet())
    pressure = torch.tensor(P, dtype=torch.float64, requires_grad=True)
    top = of_pressure({"pressure.pressure": pressure})["x"][:, 1].max()
    top.backward()
    assert pressure.grad.item() == pytest.approx(-SUNK / P, rel=1e-6)


def test_a_saved_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    scene = sheet(stepper={"kind": "leapfrog", "dt": 1e-5}, run={"steps": 6}, checkpoint={"every": 3})
    whole = mg.run(scene, out=tmp_path / "whole").simulation.fields["x"].values
    mg.run({**scene, "run": {"steps": 3}}, out=tmp_path / "part")
    simulation = mg.load(scene)
    simulation.step(3)
    snapshot = simulation.snapshot()
    again = mg.load(scene)
    again.restore(snapshot)
    again.step(3)
    assert again.fields["x"].values.tobytes() == whole.tobytes()


def test_a_closed_surface_needs_no_support() -> None:
    """A free block under pressure all around shrinks by p (1 - 2 nu) / E, far from the origin."""
    scene = sheet([], (300.0, -200.0, 100.0))
    scene["energy"][1].pop("body")
    found = mg.load(scene)
    start = found.fields["x"].values.copy()
    found.step(20)
    assert found.stepper.outcome == "converged"
    shrunk = np.ptp(found.fields["x"].values, axis=0) / np.ptp(start, axis=0) - 1.0
    assert shrunk == pytest.approx(np.full(3, -P * (1.0 - 2.0 * 0.3) / 1e6), rel=1e-2)


def test_other_places_of_a_pressed_rim_are_refused() -> None:
    """Its potential is that of the places where it is held: forces would be others, and derivatives, too."""
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    of_places = minusgrad.torch.equilibrium(sheet())
    x = of_places.start("x")
    assert torch.isfinite(of_places(x=x)["x"]).all()
    with pytest.raises(mg.UserError, match="'x': the pressure 'pressure' has its potential by the places"):
        of_places(x=x + torch.tensor([0.1, 0.0]))
    with pytest.raises(mg.UserError, match="'x': the pressure 'pressure' has its potential by the places"):
        of_places(x=x.requires_grad_())["x"].sum().backward()
