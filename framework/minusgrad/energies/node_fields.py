"""The node fields of a term: one field for each node argument, checked for length, shape, unit and bounds.

Decisions 0291, 0292.
"""

from collections.abc import Mapping, Set

import numpy as np

from ..elements.element_kind import PAIR
from ..elements.elements import Elements
from ..errors import EnergyError, unknown
from ..scene.units import parse_unit
from .fields import Field, Fields
from .local_energy import WINDOW, LocalEnergy
from .roles import Node, Role
from .term_spec import TermSpec


def node_fields(spec: TermSpec, fields: Fields) -> dict[str, Field]:
    """The field of each node argument. Raises `EnergyError` if one is missing."""
    return {a: fields[spec.renamed.get(a, a)] for a in spec.energy.of_role(Node)}


def set_sizes(spec: TermSpec, bound: Mapping[str, Field]) -> dict[str, int]:
    """How many nodes each set has, by name, as its fields or the specification say; one set may have no name.

    Raises `EnergyError` if fields over one set differ in length, or from the size that is given.
    """
    kind = spec.energy.element_kind
    _check_windows(spec, bound)
    found: dict[str, int] = {}
    _check_pair_sets(spec, bound)
    for of in kind.names:
        over = {a: f for a, f in bound.items() if spec.energy.set_of(a) == of}
        if len({len(f) for f in over.values()}) > 1:
            which = f"the fields over '{of}'" if kind.several else "its node fields"
            lengths = ", ".join(f"{a} has {len(f)}" for a, f in over.items())
            raise EnergyError(
                f"{spec.label}: {which} must have one length, but {lengths}; give one row for each node"
            )
        if over:
            found[of] = len(next(iter(over.values())))
    if kind.cells and not found:
        found[""] = len(spec.grid or ())
    return found | _given_sizes(spec, found)


def _check_pair_sets(spec: TermSpec, bound: Mapping[str, Field]) -> None:
    """Refuse fields over directed pairs elsewhere than at directed pairs, and other fields there."""
    for argument, field in bound.items():
        of_pairs = spec.energy.element_kind.directed and spec.energy.set_of(argument) == PAIR
        if of_pairs and field.pair_set is None:
            raise EnergyError(
                f"{spec.label}.{argument}: is a field over directed pairs, got '{field.name}', which is over"
                " nodes; give it the output of a map over directed pairs or triples"
            )
        if not of_pairs and field.pair_set is not None:
            raise EnergyError(
                f"{spec.label}.{argument}: reads '{field.name}', which is over directed pairs, got elements"
                ' over others; declare it over "directed_pairs", with Node(of="pair")'
            )


def refuse_other_pairs(spec: TermSpec, bound: Mapping[str, Field], elements: Elements) -> None:
    """Refuse fields over the directed pairs of another list than the elements are around."""
    for argument, field in bound.items():
        if field.pair_set is not None and field.pair_set != elements.pair_set:
            raise EnergyError(
                f"{spec.label}.{argument}: field '{field.name}' is over the directed pairs of another list,"
                " got another cutoff, skin, body or exclusion here; give both the same"
            )


def _check_windows(spec: TermSpec, bound: Mapping[str, Field]) -> None:
    """Refuse fields that windows read, unless they have a value for each cell of the grid."""
    for argument, field in bound.items():
        if spec.energy.set_of(argument) == WINDOW and len(field) != len(spec.grid or ()):
            assert spec.grid is not None
            shape = " x ".join(map(str, spec.grid.shape))
            raise EnergyError(
                f"{spec.label}.{argument}: field '{field.name}' is read at the {len(spec.grid)} cells of the"
                f" grid ({shape}), got {len(field)} values; give another `grid`, or a field over this one"
            )


def _given_sizes(spec: TermSpec, found: Mapping[str, int]) -> dict[str, int]:
    sets, what = spec.energy.element_kind.names, f"{spec.label}.sizes"
    for name, size in spec.sizes.items():
        if sets == [""]:
            raise EnergyError(f"{what}: the elements are over one set without a name; leave `sizes` out")
        if name not in sets:
            raise EnergyError(f"{what}: {unknown('set of nodes', name, sets)}")
        every = size * spec.copies
        if size < 1 or every != found.get(name, every):
            nodes = f"{found[name]} nodes by its fields" if name in found else "one node at least"
            got = f"{size} in each of {spec.copies} copies" if spec.copies > 1 else f"{size}"
            raise EnergyError(f"{what}: '{name}' has {nodes}, got {got}; correct it, or leave it out")
    return {name: size * spec.copies for name, size in spec.sizes.items()}


def check_fields(
    name: str,
    energy: LocalEnergy,
    bound: Mapping[str, Field],
    derived: Set[str],
    members: Mapping[str, np.ndarray],
) -> None:
    """Check shapes and units against the roles, and that values are within bounds at the nodes `members`.

    `derived`: names of fields that maps compute later, whose values are not checked. Raises `EnergyError`.
    """
    roles = energy.of_role(Node)
    _check_space(name, roles, bound)
    for argument, role in roles.items():
        check_unit(f"{name}.{argument}", bound[argument], role)
    for argument, role in roles.items():
        if bound[argument].name not in derived:
            _check_bounds(f"{name}.{argument}", bound[argument], role, members[argument])


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
            field, cure = bound[argument].name, ""
            if not shape and len(role.shape) == 1:
                cure = f"; give {field}[:, None] for vectors of one component, or declare Node('{role.unit}')"
            raise EnergyError(
                f"{name}.{argument}: field '{field}' is {shown} at each node, not {expected}{cure}"
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
