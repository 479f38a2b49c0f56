"""The assembly of a deck: instances at their places, and the names of all sets."""

from itertools import chain
from typing import Any

import numpy as np

from .abaqus_sets import Scope
from .coordinate_systems import turned_points
from .deck_mesh import DeckMesh
from .keyword_lines import Keyword, label


def placed_scope(block: Keyword, scope: Scope) -> Scope:
    """The scope of an instance at its place: first moved, then turned about its axis."""
    rows = [block.numbers(line, fields) for line, fields in block.rows()]
    if len(rows) > 2 or (len(rows) == 2 and len(rows[1]) < 7):
        block.fail("needs a translation, then two points of an axis and an angle")
    if rows:
        scope.points = scope.points + np.array([*rows[0], 0.0, 0.0, 0.0][:3])
    if len(rows) == 2 and rows[1][6] != 0.0:
        a, b = np.array(rows[1][:3]), np.array(rows[1][3:6])
        if not np.linalg.norm(b - a) > 0.0:
            block.fail("the two points of its axis are one")
        scope.points = turned_points(scope.points, a, b, rows[1][6])
    return scope


def name_sets(found: DeckMesh, scopes: list[Scope]) -> None:
    """Sets of the assembly by their names; those of parts by theirs, and as instance.set if need be."""
    root = scopes[0]
    for what in ("nodes", "elements", "sides"):
        table: dict[str, Any] = getattr(found, what)
        several = len(scopes) > 2
        joined: dict[str, tuple[str, list[Any]]] = {}
        for scope in scopes[1:]:
            for name, members in scope.resolved_sets(what):
                if several or root.has_set(what, name):
                    table[f"{scope.name}.{name}"] = members
                joined.setdefault(label(name), (name, []))[1].append(members)
        for name, members in root.resolved_sets(what):
            table[name] = members
        for key, (name, some) in joined.items():
            if not root.has_set(what, key):
                table[name] = [*chain(*some)] if what == "sides" else np.unique(np.concatenate(some))
    if len(scopes) > 2:
        for scope in scopes[1:]:
            if scope.count and scope.name not in found.elements:
                found.elements[scope.name] = scope.first_element + np.arange(scope.count)
    for scope in scopes:
        found.remarks += scope.remarks
