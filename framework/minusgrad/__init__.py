"""minusgrad: write a potential energy once; everything else is derived.

    from minusgrad import Node, Parameter, local_energy, ti     declare an energy
    minusgrad.Simulation(fields=..., energies=[...], ...)       a simulation of arrays; also load
    minusgrad.run("scenes/two_body.toml")                       run a scene; also fit, resume, build
    minusgrad.open("runs/two_body")["position"]                 read a run folder

This is the door for users. Authors of plugins import from `minusgrad.plugin`, PyTorch users from
`minusgrad.torch`; every other module is internal. `ti` is the engine in use, Taichi or Quadrants;
`hookimpl` marks the hooks of a plugin.

Names are loaded when they are first used, so that reading a scene or printing help needs no Taichi. `from
minusgrad import *` brings all but `open`, which would take the place of Python's.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself would take longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .adjoint.losses import Loss
    from .adjoint.rollout import Rollout
    from .app.buckling import buckling
    from .app.results.opened import open as open
    from .app.runs import build, fit, run
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
    from .errors import CallbackError, MinusgradDeprecationWarning, UserError
    from .interpreter.case import checked
    from .potential.potential import Potential
    from .potential.staged.staged_binding import bind_staged
    from .scripting.callbacks import every
    from .scripting.energies_at_hand import energy, observer
    from .scripting.load import load
    from .scripting.resume import resume
    from .scripting.simulation import Simulation
    from .scripting.stepper_blocks import (
        BDF2,
        FIRE,
        LBFGS,
        NPT,
        Adam,
        BlanesMoan4,
        BlanesMoan6,
        BlanesMoanRkn4,
        BlanesMoanRkn6,
        Evolution,
        GaussRadau,
        GradientDescent,
        GradientFlow,
        ImplicitEuler,
        ImplicitMidpoint,
        KahanLi8,
        Langevin,
        Leapfrog,
        McLachlan8,
        Newmark,
        Newton,
        PathSearch,
        SymplecticEuler,
        Variational,
        WisdomHolman,
        Yoshida4,
        Yoshida6,
        Yoshida8,
        stepper,
    )
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
    "app.buckling": "buckling",
    "app.results.opened": "open",
    "app.runs": "build fit run",
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
    "errors": "CallbackError MinusgradDeprecationWarning UserError",
    "interpreter.case": "checked",
    "potential.potential": "Potential",
    "potential.staged.staged_binding": "bind_staged",
    "scripting.callbacks": "every",
    "scripting.energies_at_hand": "energy observer",
    "scripting.load": "load",
    "scripting.resume": "resume",
    "scripting.simulation": "Simulation",
    "scripting.stepper_blocks": (
        "BDF2 FIRE LBFGS NPT Adam BlanesMoan4 BlanesMoan6 BlanesMoanRkn4 BlanesMoanRkn6 Evolution GaussRadau"
        " GradientDescent GradientFlow ImplicitEuler ImplicitMidpoint KahanLi8 Langevin Leapfrog McLachlan8"
        " Newmark Newton PathSearch SymplecticEuler Variational WisdomHolman Yoshida4 Yoshida6 Yoshida8"
        " stepper"
    ),
    "sweeps.run_sweep": "sweep",
    "symbolic.elimination.functions": "least_value",
    "symbolic.stretches.functions": "biot_squares log_stretch_squares polar stretch_powers stretch_trace",
}
"""The public names by the module that defines them; a test compares them with the imports above."""

__all__ = [
    "BDF2", "FIRE", "LBFGS", "NPT", "Adam", "At", "Between", "BlanesMoan4", "BlanesMoan6", "BlanesMoanRkn4",
    "BlanesMoanRkn6", "Body", "CallbackError", "Cell", "Datum", "Evolution", "Fields", "GaussRadau",
    "GradientDescent", "GradientFlow", "Grid", "Hold", "ImplicitEuler", "ImplicitMidpoint", "KahanLi8",
    "Langevin", "Leapfrog", "Linear", "Loss", "McLachlan8", "MinusgradDeprecationWarning", "Motion",
    "Newmark", "Newton", "Node", "Output", "Parameter", "PathSearch", "Potential", "Rollout", "Rotation",
    "Simulation", "Spacing", "Stage", "Staged", "State", "SymplecticEuler", "Table", "Time", "TimeStep",
    "UserError", "Variational", "Velocity", "WisdomHolman", "Yoshida4", "Yoshida6", "Yoshida8", "bind",
    "bind_staged", "biot_squares", "buckling", "build", "checked", "constraint", "energy", "erf", "erfc",
    "every", "fit", "hookimpl", "lagrangian", "least_value", "load", "local_energy", "local_map",
    "log_stretch_squares", "observer", "polar", "repeated", "resume", "run", "staged_energy",
    "staged_map", "stepper", "stretch_powers", "stretch_trace", "sweep", "ti", "vector_potential",
]  # fmt: skip


def _meant(name: str, home: dict[str, str]) -> str:
    """`; did you mean 'Leapfrog'?` for a name in another spelling; nothing for names that tools ask for."""
    if name.startswith("_"):
        return ""
    return __import__("minusgrad.errors", fromlist=["suggestion"]).suggestion(name, [*home])


def _door(
    module: str, homes: dict[str, str], old: dict[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module that imports its public names when they are first used.

    old: former names, which still work with a `MinusgradDeprecationWarning`, and those that replace them.
    """
    home = {name: path for path, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if old and name in old:
            errors = __import__("minusgrad.errors", fromlist=["warn_of_old_name"])
            errors.warn_of_old_name(f"{module}.{name}", f"{module}.{old[name]}")
            name = old[name]
        if name not in home:
            raise AttributeError(f"module '{module}' has no attribute '{name}'{_meant(name, home)}")
        found = __import__(f"minusgrad.{home[name]}", fromlist=[name])
        return found.engine() if name == "ti" else getattr(found, name)

    def names() -> list[str]:
        return sorted({*home, "__all__", "__doc__", "__file__", "__name__"})

    return find, names


__getattr__, __dir__ = _door(__name__, _HOMES)
