"""States of a laser path for tests of targets and paths, made from the keys of a scene."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.assembly.contexts import StateContext
from minusgrad.energies.fields import State
from minusgrad.scene.units import UnitSystem
from minusgrad_laser.states import LaserPath

BLOCK: dict[str, Any] = {
    "canvas": {"size": [40, 30]},
    "target": {"kind": "disc", "radius": 9.0},
    "path": {"kind": "hatch", "pitch": 5.0},
    "power": 0.02,
    "speed": 2.0,
}


def made(folder: Path, units: UnitSystem | None = None, seed: int = 0, **keys: Any) -> State:
    """The state of BLOCK with other keys (None: left out), in a folder, in any units."""
    values = {key: value for key, value in (BLOCK | keys).items() if value is not None}
    units = units or UnitSystem.dimensionless()
    block = LaserPath.model_validate_json(json.dumps(values), context={"units": units})
    return block.make(StateContext(units, seed, folder))


def target(state: State) -> np.ndarray:
    """As rows and columns."""
    return state.fields["target"].reshape(state.grids["canvas"].shape)


def path(state: State) -> np.ndarray:
    """Points (n, 2)."""
    return np.stack([state.fields["x"], state.fields["y"]], axis=1)


def moves(state: State) -> list[tuple[float, ...]]:
    """Each move as x and y where it begins, x and y where it ends, and whether it is lit."""
    points, lit = path(state), state.fields["lit"]
    return [(*points[k - 1], *points[k], lit[k]) for k in range(1, len(points))]
