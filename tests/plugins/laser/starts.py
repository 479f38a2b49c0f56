"""States of a laser path for tests, made from the keys or the lines of a scene; pictures that are drawn."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from minusgrad import Node, hookimpl, local_energy
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


@local_energy("anchor", over="nodes", x=Node("m"))
def anchor(x):
    """A spring to 0 along x: something to minimise."""
    return x[0] * x[0]


@hookimpl
def register_energies():
    """The hook: one energy."""
    return [anchor]


GREY = np.array([[0, 51, 255], [255, 102, 0]], np.uint8)  # the top row first
DARK = 1.0 - GREY[::-1] / 255.0


def drawn(start: Callable, image: Image.Image, name: str = "p.png", invert: bool = False, **keys: Any):
    """The target that a picture makes, in a canvas of its own size."""
    folder = keys.pop("folder")
    image.save(folder / name, **keys)
    source = {"kind": "image", "file": name, "invert": invert}
    return target(start(canvas=None, target=source, path={"kind": "hatch", "pitch": 0.5}))


HEAD = 'plugins = []\n[units]\nsystem = "si"\n[state]\nkind = "laser_path"\n'
KEYS = {
    "canvas": "{ size = [40, 30] }",
    "target": '{ kind = "disc", radius = 9.0 }',
    "path": '{ kind = "hatch", pitch = 5.0 }',
    "power": "0.02",
    "speed": "2.0",
}
TAIL = """\
[[energy]]
kind = "anchor"
[stepper]
kind = "gradient_descent"
fields = { x = {} }
[run]
steps = 1
"""
