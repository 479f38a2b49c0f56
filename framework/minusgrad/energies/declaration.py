"""Checks of the declaration of an energy or a map: every argument has a role that fits its elements.

Decisions 0280.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from ..elements.element_kind import NODE, ElementKind, Over, kind_of
from ..errors import EnergyError, unknown
from ..scene.units import parse_unit
from .roles import Box, Datum, Linear, Node, Parameter, Role, Spacing, Time
from .written.plain_function import plain_function

BLOCK_KEYS = ("kind", "name", "tuples", "body", "fields", "gives", "grid", "sizes")
"""Keys that blocks of a scene have themselves, so that no parameter or datum may have such a name."""
PAIR_KEYS = ("cutoff", "switch", "skin", "images", "exclude", "scale")
"""The same of blocks of energies over pairs."""
TUPLE_KEYS = ("images",)
"""The same of blocks of energies over listed tuples."""
DENSITY_KEYS = ("fbar", "rest_shape", "plane_stress")
"""The same of blocks of energies that are Linear in positions."""
CELL_KEYS, MAP_KEYS = ("edges",), ("repeat", "begin", "outside", "adds", "copies")
"""The same of blocks of energies over cells, and of maps."""
EDGES = ("clamped", "zero", "periodic")
"""Values beyond an edge of a grid: the value of the cell at the edge, 0, or the grid once more."""
SYMMETRIES = ("translation", "rotation", "permutation")
"""Symmetries that an energy may be declared to have."""


def refuse_bare_decorator(decorator: str, name: Any) -> None:
    """Raise `EnergyError` where a decorator stands without its name: `@local_energy` above a function."""
    if isinstance(name, str):
        return
    got = f"the function '{name.__name__}' alone" if inspect.isfunction(name) else repr(name)
    called = getattr(name, "__name__", "well")
    raise EnergyError(
        f"{decorator}: needs a name, what it is over and the roles of its arguments, got {got}; write"
        f' @{decorator}("{called}", over="nodes", x=Node("m", ("d",)))'
    )


def refuse_block_keys(what: str, roles: Mapping[str, Role], more: tuple[str, ...] = ()) -> None:
    """Raise `EnergyError` for a parameter or datum that a block of a scene could not have as a key.

    more: keys besides BLOCK_KEYS.
    """
    taken = BLOCK_KEYS + more
    keys = [a for a, role in roles.items() if isinstance(role, (Parameter, Datum))]
    if unfit := [key for key in keys if key in taken or key.startswith("_")]:
        raise EnergyError(
            f"{what}: an argument cannot be called '{unfit[0]}': a block in a scene has the keys"
            f" {', '.join(taken)}, and none that begin with _; use another name"
        )


def known_symmetries(what: str, symmetries: Sequence[str]) -> tuple[str, ...]:
    """The declared symmetries. Raises `EnergyError` for an unknown one."""
    if strange := [one for one in symmetries if one not in SYMMETRIES]:
        raise EnergyError(f"{what}: {unknown('symmetry', strange[0], SYMMETRIES)}")
    return tuple(symmetries)


def declared_edges(
    what: str, over: Over, edges: str | Sequence[str], window: bool = False
) -> str | tuple[str, ...]:
    """The edges of cells as declared. Raises `EnergyError` for unknown ones, and without cells.

    window: elements have windows of cells.
    """
    if over != "cells" and not window:
        if edges:
            raise EnergyError(f"{what}: has edges, but is not over 'cells', got {over!r}; leave `edges` out")
        return ""
    if strange := [one for one in ([edges] if isinstance(edges, str) else edges) if one not in ("", *EDGES)]:
        raise EnergyError(f"{what}: {unknown('kind of edge', strange[0], EDGES)}")
    return edges if isinstance(edges, str) else tuple(edges)


def check_declaration(
    name: str, function: Callable, over: Over, roles: Mapping[str, Role | Linear], what: str = "energy"
) -> tuple[str, FunctionType, Over, dict[str, Role], dict[str, Linear]]:
    """A checked declaration: the first five fields of a `LocalEnergy`."""
    plain = plain_function(function, f"{what} '{name}'")
    arguments = list(inspect.signature(plain).parameters)
    if strange := [a for a, role in roles.items() if not isinstance(role, Role | Linear)]:
        kind = type(roles[strange[0]]).__name__
        raise EnergyError(
            f"{what} '{name}': {strange[0]} needs a role, got a {kind}; give it Node, Datum, Parameter, Time,"
            " Table or Box, or leave it out"
        )
    linear = {a: role for a, role in roles.items() if isinstance(role, Linear)}
    own = {a: role for a, role in roles.items() if isinstance(role, Role)}
    _check_linear(f"{what} '{name}'", linear, own)
    _check_declaration(f"{what} '{name}'", over, arguments, own, linear, what)
    identifier(name, f"{'an' if what[0] in 'aeiou' else 'a'} {what}")
    return name, plain, over, _in_order(own, arguments), _in_order(linear, arguments)


def _in_order(roles: Mapping[str, Any], arguments: list[str]) -> dict[str, Any]:
    """The function's arguments first, in its order."""
    return {a: roles[a] for a in dict.fromkeys([*(a for a in arguments if a in roles), *roles])}


def _check_linear(name: str, linear: Mapping[str, Linear], roles: Mapping[str, Role]) -> None:
    for argument, made in linear.items():
        what = f"{name}: {argument} is Linear of"
        if not isinstance(roles.get(made.field), Node):
            raise EnergyError(f"{what} '{made.field}', which is no Node field; give it the role Node")
        weights = roles.get(made.weights)
        if not isinstance(weights, Datum) or weights.shape[:1] != ("k",) or weights.differentiable:
            raise EnergyError(
                f"{what} weights '{made.weights}', which need to be a constant Datum of shape ('k', ...)"
            )
        if (axes := len(roles[made.field].shape) + len(weights.shape) - 1) > 2:
            raise EnergyError(
                f"{what} '{made.field}' and would have {axes} axes; it can be a number, a vector or a matrix"
            )


def _check_declaration(
    name: str,
    over: Over,
    arguments: list[str],
    roles: Mapping[str, Role],
    linear: Mapping[str, Linear],
    what: str,
) -> None:
    kind = kind_of(over, name)
    if missing := [a for a in arguments if a not in roles and a not in linear]:
        raise EnergyError(
            f"{name}: argument {', '.join(missing)} has no role; make it a Node, Datum or Parameter"
        )
    used = {*arguments, *(m.field for m in linear.values()), *(m.weights for m in linear.values())}
    if extra := [r for r in (*roles, *linear) if r not in used]:
        raise EnergyError(
            f"{name}: {', '.join(extra)} has a role, but is no argument of the function; leave the role out"
        )
    nodal = [role for role in roles.values() if isinstance(role, Node)]
    own = [role for role in nodal if kind.cells or not role.in_window]
    whole = what == "map" or any(isinstance(role, Box) for role in roles.values())
    if not own and not (kind.can_be_combined and whole):
        raise EnergyError(f"{name}: has no Node field; give one argument the role Node")
    _check_sets(name, kind, {a: role for a, role in roles.items() if isinstance(role, Node)}, linear)
    if kind.cells:
        _check_cells(name, roles, linear)
    elif sides := [a for a, role in roles.items() if isinstance(role, Spacing)]:
        raise EnergyError(
            f"{name}: {sides[0]} is a Spacing, but not over 'cells', got {over!r}; make it a Parameter"
        )
    if not kind.own_values and any(isinstance(role, Datum) for role in roles.values()):
        one = "pair" if kind.unordered else "triple" if kind.triples else "directed pair"
        raise EnergyError(f"{name}: a {one} has no data; use Node fields or Parameters")
    if sum(isinstance(role, Time) for role in roles.values()) > 1:
        raise EnergyError(f"{name}: has two Time arguments; use one for both")
    listed = (TUPLE_KEYS if kind.listed else ()) + (DENSITY_KEYS if linear else ())
    refuse_block_keys(name, roles, CELL_KEYS if kind.cells else PAIR_KEYS if kind.can_be_limited else listed)
    for argument, role in roles.items():
        parse_unit(role.unit)
        if isinstance(role, Datum) and role.integer and role.differentiable:
            raise EnergyError(
                f"{name}: {argument} holds integers, which have no derivative; leave `differentiable` out"
            )


def _check_sets(
    name: str, kind: ElementKind, nodal: Mapping[str, Node], linear: Mapping[str, Linear]
) -> None:
    """Refuse node fields over sets that `over` does not name, or over none where it names several."""
    sets = kind.names
    for argument, role in nodal.items():
        if role.in_window:
            continue
        if role.of and sets == [""]:
            raise EnergyError(
                f"{name}: {argument} is a field of '{role.of}', but `over` names no sets of nodes; leave `of`"
                " out, or name the set of each slot"
            )
        if role.of and role.of not in sets:
            raise EnergyError(f"{name}: {argument}: {unknown('set of nodes', role.of, sets)}")
        if not role.of and kind.several and not kind.directed:
            raise EnergyError(
                f"{name}: {argument} needs the set of nodes that it is a field of, got none; give Node"
                f" of={' or of='.join(repr(one) for one in sets)}"
            )
    if kind.directed and not any(role.of in ("", NODE) for role in nodal.values()):
        raise EnergyError(
            f"{name}: is over directed pairs, which follow from positions, got no field of nodes; give it"
            ' x=Node("m", ("d",))'
        )
    if linear and kind.several:
        raise EnergyError(
            f"{name}: {next(iter(linear))} is Linear in the nodes of an element, got nodes of several sets"
            f" ({', '.join(sets)}); write the sum in the function"
        )


def _check_cells(name: str, roles: Mapping[str, Role], linear: Mapping[str, Linear]) -> None:
    if linear:
        raise EnergyError(
            f"{name}: {next(iter(linear))} is Linear, got elements that are cells; write differences of"
            " neighbours"
        )
    if by_node := [a for a, role in roles.items() if "k" in role.shape]:
        raise EnergyError(
            f"{name}: {by_node[0]} has a value for each node of a tuple, got elements that are cells; use a"
            " Node field"
        )


def identifier(name: str, what: str) -> str:
    """The name, if it can stand in "term.argument" and in a file's paths; else `EnergyError`."""
    if not name.isidentifier():
        raise EnergyError(f"{what} cannot be called '{name}'; use letters, digits and _")
    return name
