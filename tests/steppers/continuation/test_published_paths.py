"""Published paths: the hinged roof of Sabir and Lock, the deep arch of DaDeppo and Schmidt.

The numbers of the roof are those of Sze, Liu and Lo 2004 (Finite Elem. Anal. Des. 40, 1551, tables of the
isotropic roofs, by S4R of ABAQUS), as the open codes `panels` (the largest loads) and PENGoLINS (the curve)
state them. DaDeppo and Schmidt 1975 (J. Appl. Mech. 42, 989): P R^2 / E I = 8.97 of a clamped and hinged arch
of 215 degrees under a load on its crown, by the elastica.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipk

import minusgrad as mg
from minusgrad import Datum, Node, Parameter, local_energy, ti
from minusgrad import run as run_scene
from tests.support.command import SCENES

ROOF = SCENES / "shell_roof.toml"
FULL = 3000.0
FORCE = (0.0877, 0.1980, 0.3473, 0.4686, 0.5647, 0.6381, 0.6908, 0.7246, 0.7412)
SUNK = (0.693, 1.638, 3.087, 4.477, 5.802, 7.057, 8.237, 9.339, 10.358)
"""Parts of 3 kN, and by how many mm the middle of the roof is lower, up to the largest load."""
LARGEST, LARGEST_OF_THIN = 0.7421 * FULL, 0.1953 * FULL


def curve(done) -> tuple[np.ndarray, np.ndarray]:
    """The load, as a part of the full one, and how far the middle is lower [mm]."""
    factor = done.series("observables/load_path/factor").value
    return factor, -done.series("observables/load_path/displacement/centre").value[:, 2]


@pytest.mark.parametrize("whole", [pytest.param(True, marks=pytest.mark.long), False])
def test_the_roof_of_sabir_and_lock(whole: bool, tmp_path: Path) -> None:
    done = run_scene(ROOF, {} if whole else {"run.steps": 4}, tmp_path / "run")
    factor, sunk = curve(done)
    last = int(np.argmax(np.append(np.diff(factor) < 0.0, True)))
    reached = np.array(SUNK) <= sunk[last]
    assert reached.sum() == (9 if whole else 3)
    between = np.interp(SUNK, sunk[: last + 1], factor[: last + 1])
    np.testing.assert_allclose(between[reached], np.array(FORCE)[reached], rtol=2e-2)
    if whole:
        highest, lowest = done.simulation.stepper.points
        assert (highest.kind, lowest.kind) == ("limit point", "limit point")
        assert FULL * highest.load == pytest.approx(LARGEST, rel=0.015)
        assert f"{highest.load * FULL / 1000.0:.3f}" == "2.195", "as the scene says"
        assert 0.15 < lowest.load < 0.22
        assert factor[-1] == 1.0


@pytest.mark.long
def test_a_thin_roof_snaps_back(tmp_path: Path) -> None:
    own = {"state.file": "data/shell_roof_thin.msh", "energy.1.force": ["0 N", "0 N", "-50 N"]}
    own |= {"stepper.load_steps.arc_length": 0.05, "run.steps": 200}
    done = run_scene(ROOF, own, tmp_path / "run")
    factor, sunk = curve(done)
    highest = done.simulation.stepper.points[0]
    assert 1000.0 * highest.load == pytest.approx(LARGEST_OF_THIN, rel=0.01)
    assert f"{highest.load:.3f}" == "0.588", "as the scene says"
    assert factor.min() < -0.37
    assert (np.diff(sunk) < 0.0).any()
    turns = np.flatnonzero(np.diff(np.sign(np.diff(sunk))))
    assert sunk[turns[0] + 1] == pytest.approx(16.9, abs=0.1)


# The deep arch --------------------------------------------------------------------------------------------


@local_energy(
    "bend",
    over=3,
    x=Node("m", (2,)),
    stiffness=Parameter("J"),
    rest=Datum("rad"),
)
def bend(x, stiffness, rest):
    """Harmonic in the angle, with its sign, by which one rod turns from the one before."""
    a, b = x[1] - x[0], x[2] - x[1]
    turn = ti.atan2(a[0] * b[1] - a[1] * b[0], a.dot(b)) - rest
    return 0.5 * stiffness * turn * turn


def deep_arch(n: int) -> mg.Simulation:
    """2 n rigid rods along 215 degrees, R = 1 and E I = 1, clamped on the left and hinged on the right."""
    half = np.radians(107.5)
    angle = np.linspace(half, -half, 2 * n + 1) + 0.5 * np.pi
    inner = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    length = float(np.linalg.norm(inner[1] - inner[0]))
    turned = -2.0 * half / (2 * n)
    tangent = np.array([np.sin(angle[0]), -np.cos(angle[0])])
    before = inner[0] - length * tangent
    x = np.concatenate([before[None], inner])
    rest = np.full(2 * n, turned)
    rest[0] = 0.5 * turned
    stiffness = np.full(2 * n, 1.0 / length)
    stiffness[0] = 2.0 / length
    return mg.Simulation(
        fields={"x": x, "m": np.ones(len(x))},
        bodies={"clamp": [0, 1], "hinge": [2 * n + 1], "crown": [n + 1]},
        energies=[
            bend(tuples=[[0, 1, 2]], rest=rest[:1], stiffness=float(stiffness[0]), name="clamped"),
            bend(
                tuples=[[k, k + 1, k + 2] for k in range(1, 2 * n)],
                rest=rest[1:],
                stiffness=float(stiffness[1]),
            ),
            mg.energy("load", body="crown", force=[0.0, -12.0]),
        ],
        constraints=[
            {
                "kind": "rod",
                "tuples": [[k, k + 1] for k in range(1, 2 * n + 1)],
                "length": [length] * (2 * n),
            }
        ],
        holds=[{"body": "clamp"}, {"body": "hinge"}],
        stepper=mg.Newton(load_steps={"arc_length": 0.05, "longest": 2.0}, loads=["load.force"]),
    )


def largest_load(n: int) -> float:
    simulation = deep_arch(n)
    while not simulation.stepper.points and simulation.stepper.outcome is None:
        simulation.step(1)
    (point,) = simulation.stepper.points
    assert point.kind == "limit point"
    return 12.0 * point.load


def test_the_arch_of_dadeppo_and_schmidt() -> None:
    """8.900 and 8.955 with 32 and 64 rods: 8.973 with the error of second order taken away."""
    coarse, fine = largest_load(16), largest_load(32)
    assert fine == pytest.approx(8.97, rel=2e-3)
    assert (4.0 * fine - coarse) / 3.0 == pytest.approx(8.97, abs=0.005)


# A column --------------------------------------------------------------------------------------------------

COLUMN = {
    "plugins": ["elastic"],
    "state": {"kind": "rectangle", "size": ["5 cm", "1 m"], "cells": [1, 20], "density": "1000 kg/m^3"}
    | {"cell": "quadrilaterals", "order": 2},
    "energy": [
        {"kind": "neo_hookean", "youngs_modulus": "1 MPa", "poissons_ratio": 0.0},
        {"kind": "traction", "body": "top", "traction": ["0 Pa", "-800 Pa"]},
    ],
    "hold": [{"body": "bottom"}],
    "stepper": {
        "kind": "newton",
        "load_steps": {"arc_length": 0.1, "branch": 1, "longest": 1000.0},
        "loads": ["traction.traction"],
    },
    "run": {"steps": 60},
    "observe": [{"kind": "load_path", "every": 1, "bodies": ["top"]}],
}


def aside(load: float) -> float:
    """x / L of the end of a cantilever at P / P_cr: 2 k / K(k), K(k) = pi/2 sqrt(P / P_cr) (Euler 1744)."""
    goal = 0.5 * np.pi * np.sqrt(load)
    m = brentq(lambda m: ellipk(m) - goal, 0.0, 1.0 - 1e-12)
    return float(2.0 * np.sqrt(m) / ellipk(m))


def test_a_column_of_rubber_buckles_into_the_elastica(tmp_path: Path) -> None:
    """From straight through the bifurcation at Euler's load along its branch, to 1.56 of it."""
    done = mg.run(COLUMN, out=tmp_path / "run")
    euler = np.pi**2 / 4.0 * 1e6 * 0.05**3 / 12.0 / 40.0
    (point,) = done.simulation.stepper.points
    assert point.kind == "bifurcation"
    assert point.load == pytest.approx(euler, rel=2e-3)
    factor = done.series("observables/load_path/factor").value
    x = done.series("observables/load_path/displacement/top").value[:, 0]
    far = np.abs(x) > 0.3
    assert far.sum() > 4
    found = [aside(load) for load in factor[far] / point.load]
    np.testing.assert_allclose(np.abs(x[far]), found, rtol=1e-2)
    assert not done.series("observables/load_path/unstable").value[-5:].any()
