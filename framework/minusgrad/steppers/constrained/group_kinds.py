"""Kinds of small groups of equations: groups of one kind bind the same components in the same way.

A group is a set of equations that share nodes with no others, such as three rods of a water molecule. Its
members are nodes of the fields that move, in the order of fields and numbers; its equations are those of its
elements, in the order of constraints and of the members that they bind, so that the order of rods in a list
makes no other kind. Groups of one kind have one text in a kernel.
"""

from dataclasses import dataclass

import numpy as np

from ...potential.constraints.equations import Equations

Member = tuple[int, int]
"""The number of a moving field, and a node of it."""


@dataclass(frozen=True)
class BoundElement:
    """An element of a group: the number of its constraint, and for each slot of it a column of `table`.

    `members`: by argument that stands for a moving field, the places of its nodes among the members.
    """

    constraint: int
    element: int
    slots: tuple[int, ...]
    members: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class GroupKind:
    """Groups of one kind: a row of `table` (groups, columns) for each, with numbers of nodes and elements.

    `fields`: the number of the moving field of each member, whose node is the column of its place.
    """

    fields: tuple[int, ...]
    elements: tuple[BoundElement, ...]
    table: np.ndarray


def group_kinds(equations: Equations, labels: np.ndarray) -> list[GroupKind]:
    """The kinds of groups, in the order of their first equations. labels: the group (E,) of each equation."""
    found: dict[tuple, list[list[int]]] = {}
    for numbers in _by_label(labels):
        shape, row = _shaped(equations, numbers)
        found.setdefault(shape, []).append(row)
    return [_kind(shape, np.array(rows, np.int32)) for shape, rows in found.items()]


def _by_label(labels: np.ndarray) -> list[np.ndarray]:
    """The equations of each group, in increasing order; groups by their first equations."""
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    return sorted(parts, key=lambda part: int(part[0]))


def _shaped(equations: Equations, numbers: np.ndarray) -> tuple[tuple, list[int]]:
    """What a group has in common with others of its kind, and its row of the table."""
    parts, first = list(equations.parts.values()), equations.first
    own = np.searchsorted(first, numbers, side="right") - 1
    elements = [(int(c), int(n - first[c])) for c, n in zip(own, numbers, strict=True)]
    bound: list[tuple[int, int, dict[str, tuple[Member, ...]]]] = []
    members: set[Member] = set()
    for constraint, element in elements:
        part = parts[constraint]
        at: dict[str, tuple[Member, ...]] = {}
        for argument in part.arguments:
            field = equations.names.index(part.term.fields[argument].name)
            at[argument] = tuple((field, int(node)) for node in part.nodes[argument][element])
            members.update(at[argument])
        bound.append((constraint, element, at))
    ordered = sorted(members)
    place = {member: k for k, member in enumerate(ordered)}
    placed = sorted(
        (constraint, tuple((a, tuple(place[m] for m in found)) for a, found in at.items()), element)
        for constraint, element, at in bound
    )
    row = [node for _, node in ordered] + [element for *_, element in placed]
    shape, columns = [], len(row)
    for constraint, places, element in placed:
        nodes = parts[constraint].term.elements.nodes[element].tolist()
        shape.append((constraint, tuple(range(columns, columns + len(nodes))), places))
        row, columns = row + nodes, columns + len(nodes)
    return (tuple(field for field, _ in ordered), tuple(shape)), row


def _kind(shape: tuple, table: np.ndarray) -> GroupKind:
    fields, bound = shape
    elements = tuple(
        BoundElement(constraint, len(fields) + k, slots, dict(places))
        for k, (constraint, slots, places) in enumerate(bound)
    )
    return GroupKind(fields, elements, table)
