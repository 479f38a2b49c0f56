"""Offsets of neighbouring cells that a function reads, found by running it with symbolic scalars.

Decisions 0296.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

from ..symbolic.branch_paths import Paths
from ..symbolic.graph import Graph
from ..symbolic.neighbours import Neighbours, Offset
from ..symbolic.rewriting import rebind, run
from ..symbolic.scalar import Scalar
from ..symbolic.taichi_standin import Symbolic, TableLookup
from ..symbolic.tensors import Tensor
from .local_energy import LocalEnergy
from .local_map import Cell, LocalMap
from .roles import Datum, Node, Role, Table, concrete

MOST_AXES = 3
"""The most axes of a grid."""


def offsets_of(
    energy: LocalEnergy, axes: int | None, d: int | None, tables: Mapping[str, tuple[int, ...]]
) -> tuple[Offset, ...]:
    """The offsets that the function of an energy over cells reads on any path: that of the cell itself first.

    Those that the window of a map reads are among them.

    axes: of the grid; None: as many as the window's corners have, or the first offset. d: the dimension of
    space. tables: the shapes of tables by argument. Raises `TraceError`, with file and line, for offsets that
    are not constant, or not one for each axis.
    """
    paths, found, of_window = Paths(), set[Offset](), set[int]()
    graph = Graph(paths.decide)
    functions = Symbolic(graph)

    def leaf(name: str, role: Role, offset: Offset | None = None) -> Any:
        cell = isinstance(role, Cell)
        shape = (axes or MOST_AXES,) if cell else concrete(role.shape, d)
        whole = cell or (isinstance(role, Datum) and role.integer)
        entries = [graph.input(name, offset, c, integer=whole) for c in product(*map(range, shape))]
        return Tensor(shape, entries, functions) if shape else entries[0]

    def neighbour(name: str, role: Role, offset: Offset) -> Any:
        if any(len(offset) != len(other) for other in found):
            raise TypeError(
                f"{name}: takes as many offsets everywhere, got {list(offset)}; give one for each axis"
            )
        found.add(offset)
        return leaf(name, role, offset)

    def value(name: str, role: Role) -> Any:
        if isinstance(role, Table):
            return TableLookup(graph, name, tables[name])
        if isinstance(role, Node) and not role.in_window:
            return Neighbours(name, axes, partial(neighbour, name, role))
        return leaf(name, role)

    values = {name: value(name, role) for name, role in energy.roles.items()}
    body, window = rebind(energy.function, functions), _window_function(energy)

    def visited() -> list[Scalar]:
        run(body, [values[name] for name in energy.arguments])
        if window:
            corners = run(rebind(window, functions), [values[name] for name in _argument_names(window)])
            if isinstance(corners, tuple) and isinstance(corners[0], list):  # else refused where it is traced
                of_window.add(len(corners[0]))
        return [graph.constant(0.0)]

    paths.merged_values(graph, visited)
    own = (0,) * (axes or min(of_window, default=0) or len(next(iter(found), (0,))))
    return own, *sorted(found - {own})


def _window_function(energy: LocalEnergy) -> Callable | None:
    return energy.window if isinstance(energy, LocalMap) else None


def _argument_names(function: Callable) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)
