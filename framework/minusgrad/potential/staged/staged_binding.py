"""Binding of staged energies and maps: their inputs matched with a scene's fields, data and parameters."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...energies.declaration import identifier
from ...energies.fields import Field, Fields, Grid
from ...energies.node_fields import check_unit
from ...energies.roles import Datum, Node, Parameter, Role, Shape, Time, TimeStep
from ...energies.staged_energy import Staged
from ...energies.staged_map import StagedMap
from ...energies.term_spec import output_names, refuse_strange
from ...energies.values.parameter_values import default_of
from ...errors import EnergyError
from ...scene.units import UnitSystem
from .staged_term import StagedTerm


def bind_staged(
    energy: Staged,
    fields: Fields,
    *,
    name: str | None = None,
    renamed: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    gives: str | Mapping[str, str] | None = None,
    grid: Grid | None = None,
    units: UnitSystem | None = None,
) -> StagedTerm:
    """Bind the inputs of a staged energy or map to the fields, data and parameter values of a scene.

    `name`: of the term, else that of the energy. `renamed`: arguments that read a field of another name.
    `data` and `parameters` are by argument, in the units of `units`, and have the shapes that the energy
    declares; parameters left out take their defaults. `sizes` gives numbers to names in shapes. Of a map:
    `gives` renames its outputs, and `grid` is the one whose cells are their nodes.

    Raises `EnergyError` naming the term and argument: unknown names, wrong shapes and units, numbers that are
    not finite or out of bounds.
    """
    name = identifier(name or energy.name, "a term")
    refuse_strange(name, renamed or {}, energy.of_role(Node))
    given, known = {**(data or {}), **(parameters or {})}, dict(sizes or {})
    if unknown := [a for a in given if not isinstance(energy.roles.get(a), Datum | Parameter)]:
        raise EnergyError(f"{name}: no datum or parameter named {', '.join(unknown)}")
    bound: dict[str, Field] = {}
    inputs: dict[str, np.ndarray] = {}
    for argument, role in energy.roles.items():
        what = f"{name}.{argument}"
        if isinstance(role, Node):
            bound[argument] = found = fields[(renamed or {}).get(argument, argument)]
            check_unit(what, found, role)
            _learn_sizes(what, (f"n_{argument}", *role.shape), found.shape, known)
        elif isinstance(role, TimeStep) and argument not in given:
            inputs[argument] = np.array(np.nan)  # until a stepper sets it
        elif not isinstance(role, Time):
            value = given[argument] if argument in given else default_of(what, role, units)
            inputs[argument] = _checked_value(what, value, role)
            _learn_sizes(what, role.shape, inputs[argument].shape, known)
    if len(lengths := {len(found) for found in bound.values()}) == 1:
        known.setdefault("n", lengths.pop())
    names = _output_names(name, energy, gives, grid, known)
    for array, made in energy.between.items():
        if missing := [axis for axis in made.shape if isinstance(axis, str) and axis not in known]:
            raise EnergyError(
                f"{name}.{array}: the size of axis '{missing[0]}' is unknown; give it in `sizes`"
                f" (known: {', '.join(f'{axis} = {size}' for axis, size in known.items())})"
            )
    term = StagedTerm(name, energy, bound, inputs, known, fields.dtype, cells=grid)
    if isinstance(energy, StagedMap):
        for output, field in names.items():
            axes = energy.between[output].shape
            count, *shape = (known[axis] if isinstance(axis, str) else axis for axis in axes)
            term.outputs[output] = fields.derive(field, count, energy.gives[output].unit, tuple(shape))
    return term


def _output_names(
    name: str,
    energy: Staged,
    gives: str | Mapping[str, str] | None,
    grid: Grid | None,
    known: dict[str, int],
) -> dict[str, str]:
    """The output fields of a map by their declared names; their numbers of nodes are recorded in `known`."""
    if not isinstance(energy, StagedMap):
        if gives is not None or grid is not None:
            given, key = ("a grid", "grid") if gives is None else (f"the output field '{gives}'", "gives")
            raise EnergyError(f"{name}: is an energy, got {given}; leave `{key}` out")
        return {}
    for output in energy.gives:
        axis = f"n_{output}"
        if grid is not None and known.setdefault(axis, len(grid)) != len(grid):
            raise EnergyError(
                f"{name}: '{output}' has {known[axis]} nodes, got a grid of {len(grid)} cells; give another"
                " grid"
            )
        if "n" in known:
            known.setdefault(axis, known["n"])
    return output_names(name, list(energy.gives), gives)


def _learn_sizes(what: str, axes: Shape, shape: tuple[int, ...], known: dict[str, int]) -> None:
    """Match a role's axes with the given shape, and record the sizes of axes that were unknown."""
    for axis, size in zip(axes, shape, strict=False):
        if isinstance(axis, str):
            known.setdefault(axis, size)
    needed = [known.get(axis, axis) if isinstance(axis, str) else axis for axis in axes]
    if list(shape) != needed:
        raise EnergyError(f"{what}: has shape {list(shape)}, needs [{', '.join(map(str, needed))}]")


def _checked_value(what: str, value: Any, role: Role) -> np.ndarray:
    found = np.asarray(value)
    if found.dtype.kind not in "iuf" or not found.size or not np.isfinite(found).all():
        raise EnergyError(f"{what}: needs finite numbers")
    if isinstance(role, Parameter) and not role.admits(found.astype(np.float64)):
        raise EnergyError(f"{what}: {value} is not {role.limits()}")
    if not (isinstance(role, Datum) and role.integer):
        return found.astype(np.float64)
    if (np.abs(found) >= 2**31).any() or (found != np.trunc(found)).any():
        raise EnergyError(f"{what}: needs integers below 2^31 in size")
    return found.astype(np.int32)
