"""Scenes of sheets for tests: a sheet with its cloth, supports and a stepper, as tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import minusgrad as mg

YOUNG, NU, THICKNESS, AREA_DENSITY = 1e6, 0.3, 1e-3, 0.2
STIFFNESS = YOUNG * THICKNESS**3 / (12.0 * (1.0 - NU**2))
SHEET = {
    "kind": "sheet",
    "size": [0.4, 0.3],
    "cells": [4, 3],
    "thickness": THICKNESS,
    "area_density": AREA_DENSITY,
}
CLOTH = {"kind": "cloth", "youngs_modulus": YOUNG, "poissons_ratio": NU}


def sheet_scene(
    state: Mapping[str, Any] | None = None,
    cloth: Mapping[str, Any] | None = None,
    stepper: Mapping[str, Any] | None = None,
    **blocks: Any,
) -> dict[str, Any]:
    """A sheet of 0.4 m x 0.3 m in the plane z = 0, of 4 x 3 cells; keys that are None are left out."""
    compound = {key: value for key, value in (CLOTH | dict(cloth or {})).items() if value is not None}
    return {
        "state": {key: value for key, value in (SHEET | dict(state or {})).items() if value is not None},
        "compound": [compound, *blocks.pop("more", [])],
        "stepper": {"kind": "newton"} | dict(stepper or {}),
        "run": {"steps": 50},
    } | blocks


def solved(scene: Mapping[str, Any], steps: int = 50) -> mg.Simulation:
    """The simulation at its equilibrium."""
    simulation = mg.load(scene)
    simulation.step(steps)
    stepper: Any = simulation.stepper
    assert not stepper.failed, stepper.verdict
    return simulation


def bent(state_x: np.ndarray, curvature: float) -> np.ndarray:
    """Places (n, 3) of a sheet in the plane z = 0, rolled on a cylinder along y of this curvature [1/m]."""
    turn = curvature * state_x[:, 0]
    rolled = [np.sin(turn) / curvature, state_x[:, 1], (1.0 - np.cos(turn)) / curvature]
    return np.stack(rolled, axis=1)


def energy_at(simulation: mg.Simulation, x: np.ndarray) -> float:
    """U with nodes at these places."""
    simulation.fields["x"].set(x)
    return simulation.potential.value()


def nodes_of(simulation: mg.Simulation, body: str) -> np.ndarray:
    """The nodes of a body of the state."""
    return next(one.nodes for one in simulation.state.bodies if one.name == body)
