"""minusgrad: write a potential energy once; everything else is derived.

    from minusgrad import Node, Parameter, local_energy, ti     declare an energy
    minusgrad.run("scenes/two_body.toml")                       run a scene; also fit, resume, build
    minusgrad.open("runs/two_body")["position"]                 read a run folder

This is the door for users. Authors of plugins import from `minusgrad.plugin`, PyTorch users from
`minusgrad.torch`; every other module is internal. `ti` is the engine in use, Taichi or Quadrants;
`hookimpl` marks the hooks of a plugin.

Names are loaded when they are first used, so that reading a scene or printing help needs no Taichi.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself would take longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .adjoint.losses import Loss
    from .adjoint.rollout import Rollout
    from .app.results.opened import open
    from .app.runs import build, fit, resume, run
    from .assembly.hookspecs import hookimpl
    from .energies.constraint import constraint
    from .energies.fields import Body, Fields, Grid, Hold, Motion, Rotation, State
    from .energies.lagrangian import lagrangian
    from .energies.local_energy import local_energy
    from .energies.local_map import At, Cell, Output, local_map
    from .energies.magnetic_field import vector_potential
    from .energies.repeated_maps import repeated
    from .energies.roles import Datum, Linear, Node, Parameter, Spacing, Table, Time, TimeStep, Velocity
    from .energies.staged_energy import Between, Stage, Staged, staged_energy
    from .energies.staged_map import staged_map
    from .energies.term import bind
    from .engine.special_functions import erf, erfc
    from .errors import UserError
    from .interpreter.case import checked
    from .potential.potential import Potential
    from .potential.staged.staged_binding import bind_staged
    from .sweeps.run_sweep import sweep
    from .symbolic.elimination.functions import least_value
    from .symbolic.stretches.functions import (
        biot_squares,
        log_stretch_squares,
        polar,
        stretch_powers,
        stretch_trace,
    )

    ti: Any

__version__ = "0.1.0"

_HOMES = {
    "adjoint.losses": "Loss",
    "adjoint.rollout": "Rollout",
    "app.results.opened": "open",
    "app.runs": "build fit resume run",
    "assembly.hookspecs": "hookimpl",
    "energies.constraint": "constraint",
    "energies.fields": "Body Fields Grid Hold Motion Rotation State",
    "energies.lagrangian": "lagrangian",
    "energies.local_energy": "local_energy",
    "energies.local_map": "At Cell Output local_map",
    "energies.magnetic_field": "vector_potential",
    "energies.repeated_maps": "repeated",
    "energies.roles": "Datum Linear Node Parameter Spacing Table Time TimeStep Velocity",
    "energies.staged_energy": "Between Stage Staged staged_energy",
    "energies.staged_map": "staged_map",
    "energies.term": "bind",
    "engine.runtime": "ti",
    "engine.special_functions": "erf erfc",
    "errors": "UserError",
    "interpreter.case": "checked",
    "potential.potential": "Potential",
    "potential.staged.staged_binding": "bind_staged",
    "sweeps.run_sweep": "sweep",
    "symbolic.elimination.functions": "least_value",
    "symbolic.stretches.functions": "biot_squares log_stretch_squares polar stretch_powers stretch_trace",
}
"""The public names by the module that defines them; a test compares them with the imports above."""

__all__ = [
    "At", "Between", "Body", "Cell", "Datum", "Fields", "Grid", "Hold", "Linear", "Loss", "Motion",
    "Node", "Output", "Parameter", "Potential", "Rollout", "Rotation", "Spacing", "Stage", "Staged",
    "State", "Table", "Time", "TimeStep", "UserError", "Velocity", "bind", "bind_staged", "biot_squares",
    "build", "checked", "constraint", "erf", "erfc", "fit", "hookimpl", "lagrangian", "least_value",
    "local_energy", "local_map", "log_stretch_squares", "open", "polar", "repeated", "resume", "run",
    "staged_energy", "staged_map", "stretch_powers", "stretch_trace", "sweep", "ti", "vector_potential",
]  # fmt: skip


def _door(module: str, homes: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module that imports its public names when they are first used."""
    home = {name: path for path, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        found = __import__(f"minusgrad.{home[name]}", fromlist=[name])
        return found.engine() if name == "ti" else getattr(found, name)

    def names() -> list[str]:
        return sorted({*home, "__all__", "__doc__", "__file__", "__name__"})

    return find, names


__getattr__, __dir__ = _door(__name__, _HOMES)
