"""minusgrad: write a potential energy once; everything else is derived.

Names are loaded when they are first used, so that reading a scene or printing help needs no Taichi.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself would take longer to import than all that is here
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Datum": "energies.local_energy",
    "Linear": "energies.local_energy",
    "Node": "energies.local_energy",
    "Parameter": "energies.local_energy",
    "Table": "energies.local_energy",
    "Time": "energies.local_energy",
    "local_energy": "energies.local_energy",
    "erf": "engine.special_functions",
    "Cell": "energies.local_map",
    "local_map": "energies.local_map",
    "Fields": "energies.fields",
    "Grid": "energies.fields",
    "State": "energies.fields",
    "Body": "energies.fields",
    "Hold": "energies.fields",
    "Motion": "energies.fields",
    "bind": "energies.term",
    "Between": "energies.staged_energy",
    "Stage": "energies.staged_energy",
    "Staged": "energies.staged_energy",
    "bind_staged": "potential.staged_term",
    "staged_energy": "energies.staged_energy",
    "Potential": "potential.potential",
    "Loss": "adjoint.losses",
    "Rollout": "adjoint.rollout",
    "checked": "interpreter.case",
    "hookimpl": "assembly.hookspecs",
    "build": "app.runs",
    "resume": "app.runs",
    "run": "app.runs",
    "fit": "app.runs",
}

__all__ = ["ti", *_HOME]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "ti":
        return import_module(".engine.runtime", __name__).engine()
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module 'minusgrad' has no attribute '{name}'")
