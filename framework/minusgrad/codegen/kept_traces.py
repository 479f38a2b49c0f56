"""Traces that are kept with the derivatives that were derived on them, for terms that are bound again.

Most of the time of a new binding would go to deriving the same graphs again. A trace is kept for each energy,
shape of its arguments, and purpose (a derivative request). Each purpose has a graph of its own, on which the
same derivation is repeated: it finds the nodes that exist. So their numbers, and with them the emitted text,
follow from the purpose alone, in whatever order a process works.

Energies are compared by what they compute, not by their names: by the code of the function and everything
that it reads (`captured_values`), or, where that cannot be known, by the graph of a new trace. A bound energy
has a snapshot of its function; if this reads what cannot be copied, and its graph changes, it is refused.

Decisions 0030, 0253.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from operator import is_
from weakref import WeakKeyDictionary

from ..energies.local_map import LocalMap
from ..energies.roles import Linear, Role
from ..energies.term import Term
from ..errors import EnergyError
from ..symbolic.operation import Operation
from ..symbolic.operations import OPERATIONS
from ..symbolic.sources.captured_values import captured_values
from .tracing import Trace, of_term

MOST_NODES = 200_000
"""Nodes of all kept graphs together: some 100 MB. The traces that were used last are kept."""


class KeptTraces:
    """Traces by energy, shapes and purpose; those that were not used for longest are dropped first."""

    def __init__(self, most_nodes: int = MOST_NODES):
        self.most_nodes = most_nodes
        self._traces: OrderedDict[Hashable, Trace] = OrderedDict()
        self._rules: list[Operation] = []
        self._bound: WeakKeyDictionary[Callable, dict[Hashable, Hashable]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def nodes(self) -> int:
        """The nodes of all graphs, derivatives included."""
        return sum(len(trace.graph) for trace in self._traces.values())

    def clear(self) -> None:
        """Keep nothing."""
        self._traces.clear()

    def of_term(self, term: Term, purpose: Hashable, simplify: bool = True) -> Trace:
        """The trace of a term's energy for this purpose: a kept one, or a new one.

        Whoever derives on it must derive the same at every call. Raises `TraceError` as `tracing.trace`.
        """
        if not all(map(is_, self._rules, OPERATIONS.values())) or not self._rules:
            self.clear()  # other rules of derivation, or other text
            self._rules = [*OPERATIONS.values()]
        energy = term.energy
        window = energy.window if isinstance(energy, LocalMap) else None
        known, new = captured_values(energy.function, *([window] if window else [])), None
        if known is None:
            new = of_term(term, simplify)
            known = _trace_structure(new)
            self._refuse_changed(term, simplify, known)
        key = (known, _declaration_key(term), purpose, simplify)
        if key not in self._traces:
            self._traces[key] = of_term(term, simplify) if new is None else new
            while len(self._traces) > 1 and self.nodes > self.most_nodes:
                self._traces.popitem(last=False)
        self._traces.move_to_end(key)
        return self._traces[key]

    def hold(self, term: Term) -> None:
        """Trace an energy that reads what cannot be compared: from now on other values are refused."""
        energy = term.energy
        if captured_values(energy.function) is None:
            self.of_term(term, "value")

    def _refuse_changed(self, term: Term, simplify: bool, structure: Hashable) -> None:
        """Raise `EnergyError` if a function that was bound once has another graph now."""
        known = self._bound.setdefault(term.energy.function, {})
        if known.setdefault((_declaration_key(term), simplify), structure) != structure:
            raise EnergyError(
                f"energy '{term.energy.name}': a value that its function reads has changed since it was"
                " bound, got an object that cannot be copied; bind it again, or copy the value to a number or"
                " an array"
            )


def _declaration_key(term: Term) -> Hashable:
    """All that a trace follows from beside the function."""
    energy = term.energy
    roles = tuple([(name, _of_role(role)) for name, role in energy.roles.items()])
    linear = tuple([(name, _of_role(made)) for name, made in energy.linear.items()])
    outputs = tuple([(n, o.shape) for n, o in energy.outputs.items()]) if isinstance(energy, LocalMap) else ()
    pairs = energy.positions, energy.cutoff, energy.factor
    shapes = term.dimension, term.arity, tuple([(a, table.shape) for a, table in term.tables.items()])
    cells = energy.edges, energy.offsets, len(term.grid.shape) if term.grid else 0
    return energy.arguments, energy.over, roles, linear, outputs, pairs, shapes, cells


def _of_role(role: Role | Linear) -> Hashable:
    if isinstance(role, Linear):
        return role.field, role.weights
    own = [getattr(role, name, None) for name in ("of", "integer", "differentiable", "spacing")]
    return type(role), role.shape, *own, bool(getattr(role, "window", None))


def _trace_structure(trace: Trace) -> Hashable:
    """The nodes of a trace in their order; equal for traces on which the same is derived."""
    nodes = [(n.op, tuple([a.serial for a in n.args]), repr(n.value), n.integer) for n in trace.graph]
    ends = [
        one.serial for one in (*trace.values, *trace.mirrored, *(c for pair in trace.window for c in pair))
    ]
    return tuple(nodes), tuple(ends)


KEPT = KeptTraces()
"""The traces of this process."""
