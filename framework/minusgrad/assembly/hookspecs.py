"""Plugin hooks: the functions by which a plugin registers energies, states, steppers and observers.

Hooks are called while a scene is built, never during a step.

A plugin is a module with some of these functions, marked `@hookimpl`, named in a distribution's entry-point
group `minusgrad`. Two owners of one name are an error.

Decisions 0115, 0132, 0246.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..energies.constraint import Constraint
    from ..energies.lagrangian import Lagrangian
    from ..energies.local_energy import LocalEnergy
    from ..energies.local_map import LocalMap
    from ..energies.magnetic_field import MagneticField
    from ..energies.staged_map import StagedMap
    from ..steppers.stepper import Stepper
    from .building.old_names import OldName

    Warning = Callable[[Stepper, int], str]

GROUP = "minusgrad"
"""The entry-point group, and pluggy's project name."""

API_VERSION = 1
"""A plugin written for another major version says so with `MINUSGRAD_API = n` and is refused."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def register_energies() -> "Sequence[LocalEnergy]":  # type: ignore[empty-body]
    """The local energies that scenes may name as `[[energy]] kind`."""


@hookspec
def register_maps() -> "Sequence[LocalMap | StagedMap]":  # type: ignore[empty-body]
    """The maps that scenes may name as `[[map]] kind`: sums over elements, or kernels, written to fields."""


@hookspec
def register_compounds() -> "Mapping[str, type[BaseModel]]":  # type: ignore[empty-body]
    """Compounds by `[[compound]] kind`: models of the block with `make(context) -> Compound`."""


@hookspec
def register_lagrangians() -> "Sequence[Lagrangian]":  # type: ignore[empty-body]
    """The Lagrangians L(q, v, t) that scenes may name as `[[lagrangian]] kind`."""


@hookspec
def register_dissipations() -> "Sequence[LocalEnergy]":  # type: ignore[empty-body]
    """The local dissipations R(v, x, t) that scenes may name as `[[dissipation]] kind`: friction -dR/dv."""


@hookspec
def register_magnetic_fields() -> "Sequence[MagneticField]":  # type: ignore[empty-body]
    """The vector potentials that scenes may name as `[[magnetic]] kind`: forces q v x B with B = curl A."""


@hookspec
def register_constraints() -> "Sequence[Constraint]":  # type: ignore[empty-body]
    """The constraints g(x) = 0 that scenes may name as `[[constraint]] kind`."""


@hookspec
def register_states() -> "Mapping[str, type[BaseModel]]":  # type: ignore[empty-body]
    """Initial states by `[state] kind`: models of the block with `make(context) -> State`."""


@hookspec
def register_steppers() -> "Mapping[str, type[BaseModel]]":  # type: ignore[empty-body]
    """Steppers by `[stepper] kind`: models of the block with `make(context) -> Integrator | Minimiser`."""


@hookspec
def register_observers() -> "Mapping[str, type[BaseModel]]":  # type: ignore[empty-body]
    """Observers by `[[observe]] kind`: models of the block with `make(context) -> Observer`."""


@hookspec
def register_warnings() -> "Sequence[Warning]":  # type: ignore[empty-body]
    """Functions of a stepper and the number of steps, asked before a run: a warning, or "" for none."""


WARNINGS = "register_warnings"
"""The hook whose functions are asked about every run, whatever the scene names."""


@hookspec
def register_published_values() -> "Sequence[Any]":  # type: ignore[empty-body]
    """Functions marked @published_value, which compute published numbers: rows of `minusgrad validate`."""


PUBLISHED_VALUES = "register_published_values"


@hookspec
def register_file_descriptions() -> "Mapping[str, Callable[[str, bytes], Mapping[str, Any]]]":  # type: ignore[empty-body]
    """Functions of a file's name and bytes that say what it contains, by the ending: for `minusgrad info`."""


FILE_DESCRIPTIONS = "register_file_descriptions"


@hookspec
def register_old_names() -> "Sequence[OldName]":  # type: ignore[empty-body]
    """Former names of kinds and keys, which scenes may still use with a warning."""


OLD_NAMES = "register_old_names"
OTHERS = (WARNINGS, PUBLISHED_VALUES, FILE_DESCRIPTIONS, OLD_NAMES)
"""The hooks that give no kinds of a scene."""
HOOKS: dict[str, Any] = {
    "register_energies": "energy",
    "register_maps": "map",
    "register_compounds": "compound",
    "register_lagrangians": "lagrangian",
    "register_dissipations": "dissipation",
    "register_magnetic_fields": "magnetic",
    "register_constraints": "constraint",
    "register_states": "state",
    "register_steppers": "stepper",
    "register_observers": "observe",
}
"""Each hook, and the block of a scene whose kinds it provides."""
