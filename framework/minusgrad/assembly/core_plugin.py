"""The steppers, observers and the uniform magnetic field of the core, registered like those of a plugin."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .hookspecs import hookimpl

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..energies.magnetic_field import MagneticField


@hookimpl
def register_magnetic_fields() -> "Sequence[MagneticField]":
    from ..energies.magnetic_field import uniform_field

    return [uniform_field]


@hookimpl
def register_states() -> "Mapping[str, type[BaseModel]]":
    from .arrays.arrays_state import ArraysBlock

    return {"arrays": ArraysBlock}


@hookimpl
def register_steppers() -> "Mapping[str, type[BaseModel]]":
    from ..scene.document import PROGRAM
    from ..steppers.schemes import SCHEMES
    from .blocks import implicit_steps, other_steps, searches
    from .blocks.splittings import NPT, Langevin, splitting

    integrators = {kind: splitting(kind, scheme) for kind, scheme in SCHEMES.items()}
    return {
        **integrators,
        "langevin": Langevin,
        "npt": NPT,
        "implicit_euler": implicit_steps.ImplicitEulerBlock,
        "implicit_midpoint": implicit_steps.ImplicitMidpointBlock,
        "bdf2": implicit_steps.BDF2Block,
        "newmark": implicit_steps.NewmarkBlock,
        "variational": implicit_steps.VariationalBlock,
        "gauss_radau": other_steps.GaussRadauBlock,
        PROGRAM: other_steps.EvolutionBlock,
        "gradient_flow": implicit_steps.GradientFlowBlock,
        "gradient_descent": searches.GradientDescentBlock,
        "adam": searches.AdamBlock,
        "lbfgs": searches.LBFGSBlock,
        "fire": searches.FIREBlock,
        "newton": searches.NewtonBlock,
    }


@hookimpl
def register_observers() -> "Mapping[str, type[BaseModel]]":
    from .blocks import observed

    return {
        "energies": observed.EnergiesBlock,
        "momenta": observed.MomentaBlock,
        "forces": observed.ForcesBlock,
        "force_errors": observed.ForceErrorsBlock,
        "reactions": observed.ReactionsBlock,
        "load_path": observed.LoadPathBlock,
        "constraints": observed.ConstraintsBlock,
        "temperatures": observed.TemperaturesBlock,
        "pressure": observed.PressureBlock,
        "frames": observed.FramesBlock,
    }
