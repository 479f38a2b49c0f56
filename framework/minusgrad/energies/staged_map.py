"""Staged maps: Taichi kernels one after another whose outputs are fields, for maps that cannot be traced.

    y_1 = f_1(inputs),  y_2 = f_2(inputs, y_1),  ...        the last ones are fields, which energies then read
    dU/d(input) = sum over stages, last to first, of  (df_s / d input)^T  dU/dy_s

Examples: rays that march through a volume, a sort, a table of neighbours. The rules of kernels and stages are
those of staged energies (`energies.staged_energy`). Taichi reverses kernels once, so a staged map has first
derivatives, and no tangents. One that is linear in its fields, y = L z, as a Fourier transform, has both:

    tangent    y. = L z.            its stages once more
    adjoint    dU/dz = L^T dU/dy    their reverse; and so with the tangents of both

Decisions 0316, 0317.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import EnergyError
from ..scene.units import parse_unit
from .declaration import MAP_KEYS, identifier, refuse_block_keys
from .local_map import Output
from .roles import Node, Role
from .staged_energy import Between, Example, Stage, Staged, checked_schedule


@dataclass(frozen=True, repr=False)
class StagedMap(Staged):
    """A named map made of kernels, as `staged_map` returns it; `gives`: its output fields by name.

    is_linear: the outputs are linear in the fields that it reads.
    """

    gives: Mapping[str, Output] = field(hash=False, default_factory=dict)
    is_linear: bool = False


def staged_map(
    name: str,
    *,
    gives: str | Mapping[str, Output],
    stages: Sequence[Stage],
    unit: str = "1",
    between: Mapping[str, Between] | None = None,
    claim: str = "",
    example: Example | None = None,
    linear: bool = False,
    **roles: Role,
) -> StagedMap:
    """Make a map to the field `gives` [`unit`] from Taichi kernels, launched one after another.

        @ti.kernel
        def march(density: ti.types.ndarray(ndim=1), depth: ti.types.ndarray(ndim=1)): ...

        stages = [Stage(march, writes=("depth",))]
        rays = staged_map("rays", gives="depth", stages=stages, density=Node("m^-1"))

    A stage writes each output as the array of its name, of shape (n_depth, ...). Of several fields, or of
    vectors, `gives` has an `Output` by the name of each. The number of nodes, "n_depth", is known from the
    shape of a datum, given in `sizes`, that of the cells of a `grid`, or else "n", that of the fields that

    Raises `EnergyError` as `staged_energy` does, and for outputs that are no such fields.
    """
    what = f"map '{identifier(name, 'a map')}'"
    given = {gives: Output(unit)} if isinstance(gives, str) else dict(gives)
    if not isinstance(gives, str) and unit != "1":
        raise EnergyError(
            f"{what}: several outputs have a unit each, got '{unit}' for all; give it in `Output`"
        )
    if not given:
        raise EnergyError(f"{what}: gives no field; name one")
    for output, made in given.items():
        identifier(output, "a field")
        parse_unit(made.unit)
    refuse_block_keys(what, roles, MAP_KEYS)
    if linear and not any(isinstance(role, Node) for role in roles.values()):
        raise EnergyError(f"{what}: is linear in its fields, got none; give it a Node, or leave `linear` out")
    if twice := [output for output in given if output in (between or {})]:
        raise EnergyError(
            f"{what}: '{twice[0]}' is an output, whose shape is known; leave it out of `between`"
        )
    arrays = {output: Between((f"n_{output}", *made.shape)) for output, made in given.items()}
    every, outputs = {**(between or {}), **arrays}, tuple(given)
    schedule = checked_schedule(what, stages, every, outputs, roles)
    declared = (name, tuple(stages), every, outputs, dict(roles), claim, schedule, example)
    return StagedMap(*declared, gives=given, is_linear=linear)
