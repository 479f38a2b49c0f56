"""minusgrad: write a potential energy once; everything else is derived.

Names are loaded when they are first used, so that reading a scene or printing help needs no Taichi.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself would take longer to import than all that is here
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Datum": "energy",
    "Linear": "energy",
    "Node": "energy",
    "Parameter": "energy",
    "Table": "energy",
    "Time": "energy",
    "local_energy": "energy",
    "erf": "special",
    "Cell": "maps",
    "local_map": "maps",
    "Fields": "fields",
    "Grid": "fields",
    "State": "fields",
    "Body": "fields",
    "Hold": "fields",
    "Motion": "fields",
    "bind": "terms",
    "Between": "stages",
    "Stage": "stages",
    "Staged": "stages",
    "bind_staged": "staged",
    "staged_energy": "stages",
    "Potential": "potential",
    "Loss": "losses",
    "Rollout": "adjoint",
    "checked": "cases",
    "hookimpl": "hooks",
    "build": "door",
    "resume": "door",
    "run": "door",
    "fit": "door",
}

__all__ = ["ti", *_HOME]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "ti":
        return import_module(".runtime", __name__).engine()
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module 'minusgrad' has no attribute '{name}'")
