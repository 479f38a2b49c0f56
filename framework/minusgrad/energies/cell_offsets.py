"""Offsets of neighbouring cells that a function reads, found by running it with symbolic scalars."""

from collections.abc import Mapping
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
from .local_energy import Datum, LocalEnergy, Node, Role, Table, concrete


def offsets_of(
    energy: LocalEnergy, axes: int | None, d: int | None, tables: Mapping[str, tuple[int, ...]]
) -> tuple[Offset, ...]:
    """The offsets that the function of an energy over cells reads on any path: that of the cell itself first.

    axes: of the grid; None: as many as the first offset has. d: the dimension of space. tables: the shapes of
    tables by argument. Raises `TraceError`, with file and line, for offsets that are not constant, or not one
    for each axis.
    """
    paths, found = Paths(), set[Offset]()
    graph = Graph(paths.decide)
    functions = Symbolic(graph)

    def leaf(name: str, role: Role, offset: Offset | None = None) -> Any:
        shape, whole = concrete(role.shape, d), isinstance(role, Datum) and role.integer
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
        if isinstance(role, Node):
            return Neighbours(name, axes, partial(neighbour, name, role))
        return leaf(name, role)

    values = {name: value(name, role) for name, role in energy.roles.items()}
    body = rebind(energy.function, functions)

    def visited() -> list[Scalar]:
        run(body, [values[name] for name in energy.arguments])
        return [graph.constant(0.0)]

    paths.merged(graph, visited)
    own = (0,) * (axes or len(next(iter(found), (0,))))
    return own, *sorted(found - {own})
