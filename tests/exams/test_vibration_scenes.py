"""The claims of the scene `ringing_bar`: its tones against rods and beams on paper, and against its motion.

Reference for bending: Timoshenko's beam, integrated exactly along its length; shear coefficient 5/6 of a
rectangle without lateral contraction (Timoshenko 1921, Philos. Mag. 41, 744).
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import minusgrad
from minusgrad.app.modes import RunModes, modes
from tests.support.laws import fitted_order

BAR = Path(__file__).parents[2] / "scenes" / "ringing_bar.toml"
LENGTH, SIDE, YOUNG, DENSITY = 0.2, 0.02, 200e9, 7800.0
AXIAL = np.array([1.0, 3.0]) * np.sqrt(YOUNG / DENSITY) / (4.0 * LENGTH)


def timoshenko(count: int) -> list[float]:
    """The lowest frequencies [Hz] of bending of a beam, one end clamped and the other free.

    w' = psi + Q/(k G A), psi' = M/(E I), M' = -Q - rho I w^2 psi, Q' = -rho A w^2 w, integrated by the
    exponential of a matrix.
    """
    area, bend, shear = SIDE**2, YOUNG * SIDE**4 / 12.0, 5.0 / 6.0 * YOUNG / 2.0 * SIDE**2
    units = np.array([1.0, 1.0 / LENGTH, bend / LENGTH**2, bend / LENGTH**3])

    def free_end(hertz: float) -> float:
        square, a = (2.0 * np.pi * hertz) ** 2, np.zeros((4, 4))
        a[0, 1], a[0, 3], a[1, 2] = 1.0, 1.0 / shear, 1.0 / bend
        a[2, 1], a[2, 3], a[3, 0] = -DENSITY * SIDE**4 / 12.0 * square, -1.0, -DENSITY * area * square
        across = expm(LENGTH * a * units / units[:, None])
        return float(np.linalg.det(across[2:, 2:]))

    tried = np.arange(50.0, 8000.0, 50.0)
    signs = np.array([free_end(f) for f in tried])
    ends = np.flatnonzero(signs[1:] * signs[:-1] < 0.0)
    return [brentq(free_end, tried[k], tried[k + 1]) for k in ends][:count]


def tones(folder: Path, cells: tuple[int, int], count: int = 8) -> tuple[RunModes, np.ndarray, np.ndarray]:
    """The modes of the scene on a mesh, and the frequencies [Hz] that stretch, and those that bend."""
    minusgrad.run(BAR, {"state.cells": list(cells)}, out=folder)
    found = modes(folder, count=count)
    u, hertz = found.found.shapes["x"], found.hertz
    along = np.einsum("kn,kn->k", u[..., 0], u[..., 0]) / np.einsum("kna,kna->k", u, u)
    stretched = along > 0.9
    return found, hertz[stretched], hertz[~stretched]


def test_ringing_bar(tmp_path: Path) -> None:
    found, stretched, bent = tones(tmp_path / "run", (160, 16))
    assert "converged" in found.simulation.stepper.verdict
    assert found.found.at_rest
    assert not found.found.zero.any()
    sag = DENSITY * SIDE**2 * 9.81 * LENGTH**4 / (8.0 * YOUNG * SIDE**4 / 12.0)
    x, rest = found.simulation.fields["x"].values, found.simulation.state.fields["x"]
    assert (rest - x)[:, 1].max() == pytest.approx(sag, rel=0.01)
    assert sag == pytest.approx(2.3e-6, rel=0.01)
    assert stretched == pytest.approx(AXIAL, rel=4e-5)
    assert stretched == pytest.approx([6330.0, 18988.0], rel=1e-4)
    assert bent[:3] == pytest.approx([409.1, 2470.0, 6557.0], rel=1e-4)
    errors = bent[:3] / timoshenko(3) - 1.0
    assert errors == pytest.approx(0.007, abs=4e-4)


def test_tones_converge_to_paper(tmp_path: Path) -> None:
    """Order 2; what three meshes extrapolate to is the beam within 2e-3, which knows no clamped corner."""
    layers = (4, 8, 16)
    found = [tones(tmp_path / str(n), (10 * n, n))[1:] for n in layers]
    axial = [abs(stretched[0] / AXIAL[0] - 1.0) for stretched, _ in found]
    assert fitted_order(axial, layers) == pytest.approx(2.0, abs=0.1)
    bent = np.array([b[:2] for _, b in found])
    falling = (bent[0] - bent[1]) / (bent[1] - bent[2])
    assert np.log2(falling) == pytest.approx(2.0, abs=0.15)
    limit = bent[2] - (bent[1] - bent[2]) / (falling - 1.0)
    assert limit == pytest.approx(timoshenko(2), rel=2e-3)


def test_the_bar_rings_as_its_modes_say(tmp_path: Path) -> None:
    """Set going in its first mode, it swings as a sine: of leapfrog sin(omega' h / 2) = omega h / 2."""
    cells, step = {"state.cells": [20, 2]}, 1e-7
    minusgrad.run(BAR, cells, out=tmp_path / "rest")
    found = modes(tmp_path / "rest", count=1)
    omega, shape = float(np.sqrt(found.found.eigenvalues[0])), found.found.shapes["x"][0]
    stepper = {"stepper": {"kind": "leapfrog", "dt": step}}
    moving = minusgrad.build(BAR, cells | stepper)
    rest = found.simulation.fields["x"].values.copy()
    moving.fields["x"].set(rest)
    speed = 1e-4 * shape / np.abs(shape).max()
    moving.fields["v"].set(speed)
    turns = 2.0 * np.arcsin(0.5 * omega * step) / step
    for steps in (3000, 7000):
        moving.step(steps)
        phase = turns * moving.stepper.time
        swing = speed / (omega * np.cos(0.5 * omega * step)) * np.sin(phase)
        assert moving.fields["x"].values - rest == pytest.approx(
            swing, abs=2e-5 * np.abs(speed).max() / omega
        )
