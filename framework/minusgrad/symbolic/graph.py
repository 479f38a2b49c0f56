"""Expression graphs with common subexpressions merged: scalars that remember how they were computed.

Equal expressions are one node, arguments come before their users (`serial`), and every new node passes
through the rules of `simplification`.

A node is real, an integer, or a truth (the outcome of a comparison). As in Taichi, integers beside a real
number become real; a truth serves as a condition only.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from .operations import OPERATIONS, TRUTHS
from .rewriting import UNROLLED
from .scalar import Number, Scalar
from .simplification import CASTS, RULES, fold_constants

T = TypeVar("T")
REAL_PLACE = "table: is read at integers, got a real number; write ti.cast(ti.floor(...), ti.i32)"


class Graph:
    """A table of nodes, one per distinct expression.

    simplify: whether new nodes pass through all rules; without, only constants are folded, and casts to the
    kind that a number has are left out.
    """

    def __init__(self, decide: Callable[[Scalar], bool] | None = None, simplify: bool = True):
        self._rules = RULES if simplify else {op: RULES[op] for op in CASTS}
        self._table: dict[tuple, Scalar] = {}
        self._results: dict[Hashable, Any] = {}
        self.most: int | None = None
        """Most nodes, while a function is traced."""
        self.decide = decide
        """Called when Python asks for the truth of a node (`if`, `and`, `while`)."""

    def __iter__(self) -> Iterator[Scalar]:
        """All nodes, arguments before users."""
        return iter(self._table.values())

    def __len__(self) -> int:
        return len(self._table)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """A result that follows from nodes of the graph, computed at the first call; never to be changed."""
        if what not in self._results:
            self._results[what] = make()
        return self._results[what]

    def constant(self, value: Number) -> Scalar:
        whole = isinstance(value, int)
        if value != value:
            raise ValueError("constant: must be a number, got nan; leave the case out with ti.select")
        return self._intern_node("constant", (), int(value) if whole else float(value), whole)

    def input(self, *key: Any, integer: bool = False) -> Scalar:
        """A leaf; `key` says which: ("x", slot, component), ("G", None, component), ("t", None, ())."""
        return self._intern_node("input", (), key, integer)

    def apply(self, op: str, *args: Scalar | Number) -> Scalar:
        """The node for `op(args)`, folded where a rule applies."""
        scalars = self._convert_arguments(
            op, [a if isinstance(a, Scalar) else self.constant(a) for a in args]
        )
        python = OPERATIONS[op].python
        if python is not None and all(a.op == "constant" for a in scalars):
            value = fold_constants(python, [a.value for a in scalars])
            if value is not None:
                return self.constant(value)
        rule = self._rules.get(op)
        simpler = rule(*scalars) if rule else None
        return self._intern_node(op, scalars) if simpler is None else simpler

    def as_given(self, op: str, *args: Scalar) -> Scalar:
        """The node for `op(args)` as it is, where no rule shall apply."""
        return self._intern_node(op, args)

    def lookup(self, table: str, *places: Scalar | Number) -> Scalar:
        """The number at a place of a table, zero outside of it; it does not change with the place."""
        scalars = tuple(p if isinstance(p, Scalar) else self.constant(p) for p in places)
        if not all(p.integer for p in scalars):
            raise TypeError(REAL_PLACE)
        return self._intern_node("lookup", scalars, table)

    def rebuilt(self, node: Scalar, args: tuple[Scalar, ...]) -> Scalar:
        """The same operation on other arguments."""
        return self.lookup(node.value, *args) if node.op == "lookup" else self.apply(node.op, *args)

    def truth(self, condition: Scalar) -> Scalar:
        """The truth of a condition: itself, or `n != 0` of an integer."""
        if condition.op in TRUTHS or condition.number is not None:
            return condition
        if not condition.integer:
            raise TypeError("condition: must be a comparison, got a real number; write `x != 0.0`")
        return self.apply("ne", condition, 0)

    def _convert_arguments(self, op: str, args: list[Scalar]) -> tuple[Scalar, ...]:
        """The arguments in the kind that the operation takes: truths, or numbers of one kind."""
        if op == "select":
            return (self.truth(args[0]), *self._convert_arguments("", args[1:]))
        if op in ("and", "or"):
            if not all(a.op in TRUTHS or a.number is not None for a in args):
                raise TypeError("& and |: join comparisons, got an integer; compare it: n != 0")
        elif any(a.op in TRUTHS for a in args):
            raise TypeError(
                "operand: must be a number, got a comparison; write ti.select(condition, 1.0, 0.0)"
            )
        elif op != "to_real" and not all(a.integer for a in args):
            return tuple([self.apply("to_real", a) if a.integer else a for a in args])
        return tuple(args)

    def _intern_node(self, op: str, args: tuple[Scalar, ...], value: Any = None, integer: bool = False):
        row = OPERATIONS[op]
        if row.result == "same":
            integer = all(a.integer for a in (args[1:] if op == "select" else args))
        else:
            integer = integer or row.result in ("integer", "truth")
        serials = tuple([a.serial for a in args])
        key = (op, tuple(sorted(serials)) if row.commutative else serials, repr(value), integer)
        if key not in self._table:
            if self.most is not None and len(self._table) >= self.most:
                raise ValueError(f"operations: an energy has at most {self.most:,}, got more; {UNROLLED}")
            self._table[key] = Scalar(self, op, args, value, len(self._table), integer)
        return self._table[key]


def reachable(
    outputs: Sequence[Scalar], needs: Callable[[Scalar], Sequence[Scalar]] = attrgetter("args")
) -> list[Scalar]:
    """All nodes that the outputs need, arguments before users; `needs`: what a node needs."""
    found: dict[int, Scalar] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node.serial not in found:
            found[node.serial] = node
            waiting.extend(needs(node))
    return [found[serial] for serial in sorted(found)]


def inputs(outputs: list[Scalar]) -> Iterator[Scalar]:
    """The leaves (not the constants) that the outputs depend on."""
    return (node for node in reachable(outputs) if node.op == "input")


def replace_nodes(value: Scalar, others: Mapping[int, Scalar]) -> Scalar:
    """The same expression with other nodes in the place of some (by serial)."""
    new = dict(others)
    for node in reachable([value]):
        if node.serial not in new and any(a.serial in new for a in node.args):
            new[node.serial] = node.graph.rebuilt(node, tuple(new.get(a.serial, a) for a in node.args))
    return new.get(value.serial, value)
