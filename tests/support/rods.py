"""Scenes of rods for tests: one rod with its energies, supports and a stepper, as tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import minusgrad as mg

RADIUS, YOUNG, DENSITY = 0.02, 1e6, 1000.0
SHEAR = YOUNG / 3.0
AREA, MOMENT = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4.0
EI, GJ, EA = YOUNG * MOMENT, SHEAR * 2.0 * MOMENT, YOUNG * AREA
CIRCLE = {"kind": "circle", "radius": RADIUS}


def rod_scene(
    state: Mapping[str, Any] | None = None,
    rod: Mapping[str, Any] | None = None,
    stepper: Mapping[str, Any] | None = None,
    tip: Any = None,
    **blocks: Any,
) -> dict[str, Any]:
    """A clamped rod of 20 elements and 1 m along x, without shear; `tip`: the force at its end [N]."""
    start = {"kind": "rod", "section": CIRCLE, "density": DENSITY}
    if (state or {}).get("kind", "rod") == "rod":
        start |= {"elements": 20, "length": 1.0}
    energies = [] if tip is None else [{"kind": "load", "body": "last", "force": list(tip)}]
    moduli = {"kind": "rod", "youngs_modulus": YOUNG, "shear_modulus": SHEAR, "shear": False}
    return {
        "state": start | dict(state or {}),
        "compound": [moduli | {"clamps": ["first"]} | dict(rod or {})],
        "energy": energies,
        "hold": [{"body": "first", "field": "x"}],
        "stepper": {"kind": "newton"} | dict(stepper or {}),
        "run": {"steps": 100},
    } | blocks


def solved(scene: Mapping[str, Any], steps: int = 100) -> mg.Simulation:
    """The simulation at its equilibrium."""
    simulation = mg.load(scene)
    simulation.step(steps)
    stepper: Any = simulation.stepper
    assert not stepper.failed, stepper.verdict
    return simulation


def places(simulation: mg.Simulation) -> np.ndarray:
    """x (n, 3)."""
    return simulation.fields["x"].values


def network_scene(
    nodes: Mapping[str, Any],
    rods: Any,
    state: Mapping[str, Any] | None = None,
    rod: Mapping[str, Any] | None = None,
    forces: Mapping[str, Any] | None = None,
    held: str = "",
    **blocks: Any,
) -> dict[str, Any]:
    """A network of rods without shear, 8 elements each; forces on nodes [N], `held`: names of nodes."""
    start = {"kind": "rod_network", "nodes": dict(nodes), "rods": rods, "elements": 8}
    loads = [
        {"kind": "load", "name": f"load_{n}", "body": n, "force": list(f)} for n, f in (forces or {}).items()
    ]
    moduli = {"kind": "rod", "youngs_modulus": YOUNG, "shear_modulus": SHEAR, "shear": False}
    return {
        "state": start | {"section": CIRCLE, "density": DENSITY} | dict(state or {}),
        "compound": [moduli | dict(rod or {})],
        "energy": loads,
        "hold": [{"body": name, "field": "x"} for name in held],
        "stepper": {"kind": "newton"},
        "run": {"steps": 100},
    } | blocks
