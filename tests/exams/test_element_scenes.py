"""The claims of the scenes of finite elements: Cook's membrane, and the elastica at ten loads."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import minusgrad
from minusgrad.app.runs import Run

SCENES = Path(__file__).parents[2] / "scenes"
COOK = 23.96
"""Vertical displacement of the middle of the loaded edge in the limit of fine meshes."""
MATTIASSON = {1: (0.30172, 0.05643), 2: (0.49346, 0.16064), 5: (0.71379, 0.38763), 10: (0.81061, 0.55500)}
"""w / L and u / L at P L^2 / E I (Mattiasson 1981, Int. J. Numer. Methods Eng. 17, 145, table I)."""


def moved(run: Run, body: str) -> np.ndarray:
    """The mean displacement (T, d) of a body's nodes in the recorded frames."""
    x = run.series("particles/all/position").value
    nodes = next(b.nodes for b in run.simulation.state.bodies if b.name == body)
    return (x[:, nodes] - x[0, nodes]).mean(axis=1)


def test_cooks_membrane(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "cooks_membrane.toml", out=tmp_path / "run")
    assert run.outcome == "converged"
    rise = moved(run, "middle")[-1, 1]
    assert rise == pytest.approx(COOK, rel=0.01)
    assert f"{rise:.2f}" == "23.88", "as the scene says"
    energy = run.series("observables/potential/linear_plane_stress").value[-1]
    load = run.series("observables/potential/traction").value
    assert energy == pytest.approx(-0.5 * (load[-1] - load[0]), rel=1e-8), "Clapeyron's theorem"


def elastica(load: float) -> tuple[float, float]:
    """Deflection and shortening of a cantilever of length 1 under P L^2 / E I, by elliptic integrals.

    Frisch-Fay 1962, Flexible Bars, chapter 2: with p^2 = (1 + sin phi) / 2 of the slope phi of the end,
    sqrt(load) = K(p) - F(p, m), sin m = 1 / (p sqrt 2).
    """
    start = lambda p: np.arcsin(1.0 / (p * np.sqrt(2.0)))  # noqa: E731
    length = lambda p: ellipk(p * p) - ellipkinc(start(p), p * p)  # noqa: E731
    p = brentq(lambda p: length(p) - np.sqrt(load), np.sqrt(0.5) + 1e-12, 1.0 - 1e-12, xtol=1e-15)
    down = 1.0 - 2.0 / np.sqrt(load) * (ellipe(p * p) - ellipeinc(start(p), p * p))
    along = np.sqrt(2.0 * (2.0 * p * p - 1.0) / load)
    return down, 1.0 - along


def test_the_table_of_mattiasson_is_that_of_elliptic_integrals() -> None:
    for load, values in MATTIASSON.items():
        np.testing.assert_allclose(elastica(load), values, rtol=0.0, atol=6e-6)


def test_elastica(tmp_path: Path) -> None:
    """Ten equilibria within 0.5 % (0.1 % is seen), those of the published table among them."""
    run = minusgrad.run(SCENES / "elastica.toml", out=tmp_path / "run")
    found = -moved(run, "right")[:, ::-1]
    assert len(found) == 11
    for load in range(1, 11):
        np.testing.assert_allclose(found[load], elastica(load), rtol=1e-3)
    for load, values in MATTIASSON.items():
        np.testing.assert_allclose(found[load], values, rtol=5e-3)
