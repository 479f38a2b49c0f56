"""The node fields of a term: one field for each node argument, checked for length, shape, unit and bounds."""

from collections.abc import Mapping, Set

import numpy as np

from ..errors import EnergyError
from ..scene.units import parse_unit
from .fields import Field, Fields
from .local_energy import LocalEnergy, Node, Role
from .term_spec import TermSpec


def node_fields(spec: TermSpec, fields: Fields) -> dict[str, Field]:
    """The field of each node argument. Raises `EnergyError` if one is missing, or they differ in length."""
    bound = {a: fields[spec.renamed.get(a, a)] for a in spec.energy.of_role(Node)}
    if len({len(f) for f in bound.values()}) != 1:
        sizes = ", ".join(f"{a} has {len(f)}" for a, f in bound.items())
        raise EnergyError(
            f"{spec.label}: its node fields must have one length, but {sizes}; give one row for each node"
        )
    return bound


def check_fields(
    name: str, energy: LocalEnergy, bound: Mapping[str, Field], derived: Set[str], members: np.ndarray
) -> None:
    """Check shapes and units against the roles, and that values at the nodes `members` are within bounds.

    `derived`: names of fields that maps compute later, whose values are not checked. Raises `EnergyError`.
    """
    roles = energy.of_role(Node)
    _check_space(name, roles, bound)
    for argument, role in roles.items():
        check_unit(f"{name}.{argument}", bound[argument], role)
    for argument, role in roles.items():
        if bound[argument].name not in derived:
            _check_bounds(f"{name}.{argument}", bound[argument], role, members)


def _check_space(name: str, roles: Mapping[str, Node], bound: Mapping[str, Field]) -> None:
    """Refuse fields whose shapes differ from their roles', with one dimension of space for all."""
    d: int | None = None
    for argument, role in roles.items():
        shape = bound[argument].shape[1:]
        if len(shape) == len(role.shape) and "d" in role.shape:
            d = d or shape[role.shape.index("d")]
        wanted = tuple(d if s == "d" else s for s in role.shape)
        if shape != wanted:
            shown = "a scalar" if not shape else f"of shape {list(shape)}"
            expected = "a scalar" if not role.shape else f"of shape {list(role.shape)}"
            raise EnergyError(
                f"{name}.{argument}: field '{bound[argument].name}' is {shown} at each node, not {expected}"
            )


def check_unit(what: str, field: Field, role: Role) -> None:
    """Raises `EnergyError` for a field of another dimension than its role; one without a unit passes."""
    if field.unit != "1" and parse_unit(field.unit).dimension != parse_unit(role.unit).dimension:
        raise EnergyError(f"{what}: field '{field.name}' is in {field.unit}, not {role.unit}")


def _check_bounds(what: str, field: Field, role: Node, members: np.ndarray) -> None:
    values = field.values[members]
    if np.isfinite(values).all() and not role.admits(values):
        flat = values.reshape(len(values), -1)
        first = next(k for k, row in enumerate(flat) if not role.admits(row))
        shown = flat[first].tolist() if flat.shape[1] > 1 else f"{flat[first, 0]:g}"
        raise EnergyError(
            f"{what}: field '{field.name}' is {shown} at node {members[first]}, not {role.limits()}"
        )
