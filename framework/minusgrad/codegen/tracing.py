"""Tracing of a Taichi function to an expression graph, by running its body with symbolic scalars.

    u(x, ..., t)  ->  a graph whose inputs are the components of the arguments

An `if` on a symbolic condition has no single truth: the function runs again under each outcome, and the
results are merged by select (at most 64 runs). Anything else raises `TraceError` with file, line and cure.

Decisions 0252.
"""

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import product
from operator import add
from types import MappingProxyType
from typing import Any

from ..energies.local_energy import IMAGE_BOX, IMAGES, INSIDE, LocalEnergy
from ..energies.local_map import Cell, LocalMap
from ..energies.roles import Datum, Image, Linear, Node, Table, concrete
from ..energies.term import Term
from ..errors import TraceError
from ..symbolic.branch_paths import Paths
from ..symbolic.graph import Graph
from ..symbolic.operations import TRUTHS
from ..symbolic.rewriting import RETURNED, copy_by_value, current_location, number, rebind, run
from ..symbolic.scalar import Scalar
from ..symbolic.taichi_standin import Symbolic, TableLookup, _split_rows
from ..symbolic.tensors import Tensor, flat

NO_TABLES: Mapping[str, tuple[int, ...]] = MappingProxyType({})
OPERATIONS = 20_000
"""Most operations of an energy: its derivatives are several times as long, and compile in minutes."""


@dataclass(frozen=True)
class Trace:
    """A traced energy: its value, and the input nodes of every role.

    `inputs[role]`: one list of components per slot for node fields (slot 0, 1, ...; empty where the node is
    of another set; of a field in a window its own in the place of slot 0), else one list; for an argument
    that is Linear in a field, its components. Of a map: `given`, the components of all outputs in order, the
    first of which is `value`; `window`, the lowest and the highest cell along each axis; of a map over
    unordered pairs `mirrored`, the components with the two nodes exchanged.
    """

    graph: Graph
    value: Scalar
    inputs: dict[str, list[list[Scalar]]]
    window: list[tuple[Scalar, Scalar]] = field(default_factory=list)
    given: Sequence[Scalar] = ()
    mirrored: Sequence[Scalar] = ()

    @property
    def values(self) -> list[Scalar]:
        """All that the function returns: the energy, or the components of a map's outputs."""
        return [*self.given] or [self.value]


def trace(
    energy: LocalEnergy,
    d: int | None,
    k: int,
    tables: Mapping[str, tuple[int, ...]] = NO_TABLES,
    axes: int = 0,
    simplify: bool = True,
) -> Trace:
    """Trace an energy of k nodes for a space of d dimensions (None where no argument depends on it).

    `tables`: their shapes by argument; `axes`: of the grid that a map adds to; `simplify`: see `Graph`.
    """
    paths = Paths()
    graph = Graph(paths.decide, simplify)
    inputs: dict[str, list[list[Scalar]]] = {}
    values: dict[str, Any] = {}
    functions = Symbolic(graph)
    for name, role in energy.roles.items():
        if isinstance(role, Table):
            values[name] = TableLookup(graph, name, tables[name])
            continue
        shape = (axes,) if isinstance(role, Cell) else concrete(role.shape, d, k)
        integer = isinstance(role, Cell) or (isinstance(role, Datum) and role.integer)
        with_slots = isinstance(role, Image) or (isinstance(role, Node) and not role.in_window)
        slots: Sequence[int | None] = energy.slots(name, k) if with_slots else [None]
        components = list(product(*map(range, shape)))
        leaves = [[graph.input(name, slot, c, integer=integer) for c in components] for slot in slots]
        rows = [Tensor(shape, row, functions) if shape else row[0] for row in leaves]
        inputs[name] = leaves
        if isinstance(role, Image):
            values[name] = rows
        elif not isinstance(role, Node):
            values[name] = leaves[0] if isinstance(role, Cell) else rows[0]
        elif role.in_window:
            values[name], inputs[name] = rows[0], [leaves[0], *([] for _ in range(1, k))]
        elif energy.element_kind.several:
            own = energy.slots(name, k)
            of_slot = dict(zip(own, leaves, strict=True))
            inputs[name] = [of_slot.get(slot, []) for slot in range(k)]
            values[name] = _NodesOfSet(name, energy.element_kind.sets, dict(zip(own, rows, strict=True)))
        else:
            values[name] = energy.around(name, rows, partial(_or_zero, graph))
    if IMAGES in energy.roles:
        images = [image.entries for image in values[IMAGES]] if _by_slot(energy) else _rows_of(values[IMAGES])
        for name in energy.positions:
            x, sets = values[name], energy.element_kind.sets
            at = {s: _displaced_position(x[s], images[s], values[IMAGE_BOX]) for s in energy.slots(name, k)}
            values[name] = _NodesOfSet(name, sets, at) if isinstance(x, _NodesOfSet) else [*at.values()]
    for name, made in energy.linear.items():
        values[name] = linear(made, values, functions)
        inputs[name] = [list(flat(values[name]))]
    body = rebind(energy.function, functions)

    def returned(arguments: list[Any]) -> list[Any]:
        if isinstance(energy, LocalMap) and energy.several:
            return _map_components(energy, run(body, arguments), d, k)
        return [number(body, arguments, _is_number)]

    def traced(values: dict[str, Any]) -> list[Scalar]:
        arguments = [values[name] for name in energy.arguments]
        return paths.merged_values(
            graph, lambda: [graph.apply("to_real", one) for one in returned(arguments)]
        )

    def cut(given: list[Scalar]) -> list[Scalar]:
        if energy.cutoff is None:
            return given if energy.factor == 1.0 else [energy.factor * one for one in given]
        position = energy.positions[0]
        centre, *others = [values[position][slot] for slot in energy.slots(position, k)]
        arms = [_squared_distance(centre, x) for x in others]
        select, root = partial(graph.apply, "select"), partial(graph.apply, "sqrt")
        return [energy.cutoff.of_arms(one, arms, select, root) for one in given]

    graph.most = OPERATIONS
    given = cut(traced(values))
    if not isinstance(energy, LocalMap):
        graph.most = None
        return Trace(graph, given[0], inputs)
    mirrored: list[Scalar] = []
    if energy.element_kind.unordered:
        nodal = energy.of_role(Node)
        mirrored = cut(traced({a: v[::-1] if a in nodal else v for a, v in values.items()}))
    window = _window_bounds(energy, graph, functions, values, paths)
    graph.most = None
    return Trace(graph, given[0], inputs, window, given, mirrored)


def of_term(term: Term, simplify: bool = True) -> Trace:
    """Trace a term's energy, for the arrays that it is bound to."""
    tables = {a: table.shape for a, table in term.tables.items()}
    axes = len(term.grid.shape) if term.grid else 0
    return trace(term.energy, term.dimension, term.arity, tables, axes, simplify)


def _map_components(energy: LocalMap, returned: Any, d: int | None, k: int) -> list[Any]:
    """The components of a map's returned value. Raises `TraceError` unless they are as declared."""
    outputs, what = energy.outputs, f"map '{energy.name}'"
    parts = [returned] if len(outputs) == 1 else returned
    if not isinstance(parts, (tuple, list)) or len(parts) != len(outputs):
        got = len(parts) if isinstance(parts, (tuple, list)) else _value_in_words(parts)
        raise TraceError(
            f"{what}: must return {len(outputs)} values ({', '.join(outputs)}), got {got}; return one for"
            " each output, in their order"
        )
    components: list[Any] = []
    for (name, output), part in zip(outputs.items(), parts, strict=True):
        shape = concrete(output.shape, d, k)
        found = part.shape if isinstance(part, Tensor) else ()
        numbers = list(flat(part)) if isinstance(part, Tensor) else [part]
        if found != shape or not all(map(_is_number, numbers)):
            wanted = f"values of shape {list(shape)}" if shape else "one real number"
            raise TraceError(
                f"{what}: must return {wanted} for '{name}', got {_value_in_words(part)}; return"
                f" {'a ti.Vector or ti.Matrix' if shape else 'a number'} of that shape, or correct the output"
            )
        components += numbers
    return components


def _value_in_words(value: Any) -> str:
    """A returned value in words."""
    if isinstance(value, Tensor):
        return f"shape {list(value.shape)}"
    kind = type(value).__name__
    return "a number" if _is_number(value) else RETURNED.get(kind, f"a {kind}")


def _window_bounds(
    energy: LocalMap, graph: Graph, functions: "Symbolic", values: dict[str, Any], paths: Paths
) -> list[tuple[Scalar, Scalar]]:
    """The lowest and the highest cell along each axis, as whole numbers."""
    if energy.window is None:
        return []
    names = inspect.signature(energy.window).parameters
    body, axes = rebind(energy.window, functions), len(values[energy.cell or ""])

    def corner(side: int, axis: int) -> list[Scalar]:
        corners = run(body, [values[name] for name in names])
        try:
            low, high = ([*corner] for corner in corners)
            if not len(low) == len(high) == axes or not all(map(_is_number, (*low, *high))):
                raise TypeError
        except TypeError:
            raise TraceError(
                f"map '{energy.name}': its window must return the lowest and the highest cell; return two"
                f" lists of {axes} numbers"
            ) from None
        return [graph.apply("ceil", high[axis]) if side else graph.apply("floor", low[axis])]

    def whole(side: int, axis: int) -> Scalar:
        (end,) = paths.merged_values(graph, partial(corner, side, axis))
        return graph.apply("to_int", end)

    return [(whole(0, axis), whole(1, axis)) for axis in range(axes)]


class _NodesOfSet:
    """The values of a node field while an energy over several sets of nodes is traced: at its set's slots."""

    def __init__(self, name: str, sets: Sequence[str], values: Mapping[int, Any]):
        self._name, self._sets, self._values = name, sets, dict(values)

    def __len__(self) -> int:
        return len(self._sets)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[slot] for slot in range(len(self))[place]]
        return self._values[self._slot_of_index(place)]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._values[self._slot_of_index(place)] = value

    def __iter__(self) -> Iterator[Any]:
        return (self[slot] for slot in range(len(self)))

    @property
    def own_slots(self) -> list[int]:
        """The slots of its set, where it may be read."""
        return list(self._values)

    def _slot_of_index(self, place: int) -> int:
        """The slot of an index, which may count from the end. Raises `TraceError` for one of another set."""
        slot = place + len(self) if place < 0 else place
        if slot in self._values:
            return slot
        name, own = self._name, self.own_slots
        theirs = f"is a node of '{self._sets[slot]}'" if 0 <= slot < len(self) else "does not exist"
        raise TraceError(
            f"{current_location()}: {name}[{place}]: {name} is a field of '{self._sets[own[0]]}', but slot "
            f"{slot} of an"
            f" element {theirs}; read {' or '.join(f'{name}[{k}]' for k in own)}"
        )

    def copy(self) -> "_NodesOfSet":
        """A copy with value semantics."""
        return _NodesOfSet(
            self._name, self._sets, {slot: copy_by_value(v) for slot, v in self._values.items()}
        )


def _or_zero(graph: Graph, slot: int, value: Any) -> Any:
    """The value at a neighbour, zero beyond an edge."""
    inside = graph.input(INSIDE, None, (slot,)) > 0.5
    if isinstance(value, Tensor):
        return value.map(lambda entry: graph.apply("select", inside, entry, 0.0))
    return graph.apply("select", inside, value, 0.0)


def _by_slot(energy: LocalEnergy) -> bool:
    """True if images are those of listed pairs, which have one for each slot."""
    return isinstance(energy.roles[IMAGES], Image)


def _rows_of(images: Tensor) -> list[list[Any]]:
    """The images of a tuple by slot."""
    return _split_rows(images.entries, images.shape[1])


def _squared_distance(one: Any, other: Any) -> Scalar:
    """|a - b|^2."""
    return reduce(add, ((a - b) * (a - b) for a, b in zip(flat(one), flat(other), strict=True)))


def _displaced_position(x: Tensor, image: Sequence[Any], box: Tensor) -> Tensor:
    """x + image . box."""
    edges = _split_rows(box.entries, box.shape[1])
    shifts = [
        reduce(add, (n * edge[c] for n, edge in zip(image, edges, strict=True))) for c in range(len(edges))
    ]
    return Tensor(x.shape, [one + shift for one, shift in zip(x.entries, shifts, strict=True)], x.functions)


def linear(made: Linear, values: dict[str, Any], functions: "Symbolic") -> Tensor:
    """sum_a x_a (x) w_a as sum over a > 0 of (x_a - x_0) (x) w_a, which keeps digits far from the origin."""
    first, *others = values[made.field]
    weights = values[made.weights]
    of_weight = weights.shape[1:]
    rows = _split_rows(weights.entries, math.prod(of_weight))[1:]
    terms = [[leg * w for leg in flat(x - first) for w in row] for x, row in zip(others, rows, strict=True)]
    entries = [reduce(add, parts) for parts in zip(*terms, strict=True)]
    shape = (*(first.shape if isinstance(first, Tensor) else ()), *of_weight)
    return Tensor(shape, entries, functions) if shape else entries[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, Scalar) and value.op not in TRUTHS)
