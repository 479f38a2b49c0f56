"""The expression graph: scalars that remember how they were computed.

Equal expressions are one node, arguments come before their users (`serial`), and every new node passes
through the rules of `folding`.

A node is real, an integer, or a truth (the outcome of a comparison). As in Taichi, integers beside a real
number become real; a truth only decides, it is no number.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from .simplification import CLOSED, COMMUTATIVE, FOLDED, RULES, TRUTHS, WHOLE, Number, folded


class Graph:
    """A table of nodes, one per distinct expression."""

    def __init__(self, decide: "Callable[[Scalar], bool] | None" = None):
        self._table: dict[tuple, Scalar] = {}
        self.decide = decide
        """Called when Python asks for the truth of a node (`if`, `and`, `while`)."""

    def __iter__(self) -> "Iterator[Scalar]":
        """All nodes, arguments before users."""
        return iter(self._table.values())

    def constant(self, value: Number) -> "Scalar":
        whole = isinstance(value, int)
        if value != value:
            raise ValueError("nan is no number to compute with")
        return self._node("constant", (), int(value) if whole else float(value), whole)

    def input(self, *key: Any, integer: bool = False) -> "Scalar":
        """A leaf; `key` says which: ("x", slot, component), ("G", None, component), ("t", None, ())."""
        return self._node("input", (), key, integer)

    def apply(self, op: str, *args: "Scalar | Number") -> "Scalar":
        """The node for `op(args)`, folded where a rule applies."""
        scalars = self._alike(op, [a if isinstance(a, Scalar) else self.constant(a) for a in args])
        if op in FOLDED and all(a.op == "constant" for a in scalars):
            value = folded(op, [a.value for a in scalars])
            if value is not None:
                return self.constant(value)
        rule = RULES.get(op)
        simpler = rule(*scalars) if rule else None
        return self._node(op, scalars) if simpler is None else simpler

    def lookup(self, table: str, *places: "Scalar | Number") -> "Scalar":
        """The number at a place of a table, zero outside of it; it does not change with the place."""
        scalars = tuple(p if isinstance(p, Scalar) else self.constant(p) for p in places)
        if not all(p.integer for p in scalars):
            raise TypeError("a table is read at whole numbers; write ti.cast(ti.floor(...), ti.i32)")
        return self._node("lookup", scalars, table)

    def rebuilt(self, node: "Scalar", args: "tuple[Scalar, ...]") -> "Scalar":
        """The same operation on other arguments."""
        return self.lookup(node.value, *args) if node.op == "lookup" else self.apply(node.op, *args)

    def truth(self, condition: "Scalar") -> "Scalar":
        """What decides when `condition` is asked: itself, or whether an integer is not zero."""
        if condition.op in TRUTHS or condition.number is not None:
            return condition
        if not condition.integer:
            raise TypeError("a real number is no condition; compare it: `x != 0.0`")
        return self.apply("ne", condition, 0)

    def _alike(self, op: str, args: "list[Scalar]") -> "tuple[Scalar, ...]":
        """The arguments in the kind that the operation takes: truths, or numbers of one kind."""
        if op == "select":
            return (self.truth(args[0]), *self._alike("", args[1:]))
        if op in ("and", "or"):
            if not all(a.op in TRUTHS or a.number is not None for a in args):
                raise TypeError("& and | join comparisons; they do not work on the bits of integers")
        elif any(a.op in TRUTHS for a in args):
            raise TypeError("a comparison is no number; write ti.select(condition, 1.0, 0.0)")
        elif op != "to_real" and not all(a.integer for a in args):
            return tuple([self.apply("to_real", a) if a.integer else a for a in args])
        return tuple(args)

    def _node(self, op: str, args: "tuple[Scalar, ...]", value: Any = None, integer: bool = False):
        sides = args[1:] if op == "select" else args
        integer = integer or op in WHOLE or (op in CLOSED and all(a.integer for a in sides))
        serials = tuple(a.serial for a in args)
        key = (op, tuple(sorted(serials)) if op in COMMUTATIVE else serials, repr(value), integer)
        if key not in self._table:
            self._table[key] = Scalar(self, op, args, value, len(self._table), integer)
        return self._table[key]


class Scalar:
    """One node: the result of `op` on `args`. Behaves like a number in the body of an energy."""

    __slots__ = ("args", "graph", "integer", "op", "serial", "value")
    __array_ufunc__ = None  # numpy scalars on the left hand over to us

    def __init__(self, graph: Graph, op: str, args: "tuple[Scalar, ...]", value: Any, serial: int, integer):
        self.graph, self.op, self.args = graph, op, args
        self.value, self.serial, self.integer = value, serial, integer

    @property
    def number(self) -> Number | None:
        """The value of a constant, None for everything else."""
        return self.value if self.op == "constant" else None

    def __repr__(self) -> str:
        if self.op in ("constant", "input"):
            return str(self.value)
        return f"{self.op}({', '.join(f'#{a.serial}' for a in self.args)})"

    def __add__(self, other):
        return self._binary("add", self, other)

    def __radd__(self, other):
        return self._binary("add", other, self)

    def __sub__(self, other):
        return self._binary("sub", self, other)

    def __rsub__(self, other):
        return self._binary("sub", other, self)

    def __mul__(self, other):
        return self._binary("mul", self, other)

    def __rmul__(self, other):
        return self._binary("mul", other, self)

    def __truediv__(self, other):
        return self._binary("div", self, other)

    def __rtruediv__(self, other):
        return self._binary("div", other, self)

    def __floordiv__(self, other):
        return self._binary("floordiv", self, other)

    def __rfloordiv__(self, other):
        return self._binary("floordiv", other, self)

    def __mod__(self, other):
        return self - other * (self // other)

    def __rmod__(self, other):
        return other - self * (other // self)

    def __pow__(self, other):
        return self._binary("pow", self, other)

    def __rpow__(self, other):
        return self._binary("pow", other, self)

    def __lt__(self, other):
        return self._binary("lt", self, other)

    def __le__(self, other):
        return self._binary("le", self, other)

    def __gt__(self, other):
        return self._binary("lt", other, self)

    def __ge__(self, other):
        return self._binary("le", other, self)

    def __eq__(self, other):
        return self._binary("eq", self, other)

    def __ne__(self, other):
        return self._binary("ne", self, other)

    __hash__ = object.__hash__

    def __and__(self, other):
        return self._binary("and", self, other)

    def __or__(self, other):
        return self._binary("or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __neg__(self):
        return self.graph.apply("mul", -1, self)

    def __pos__(self):
        return self

    def __abs__(self):
        return self.graph.apply("abs", self)

    def __bool__(self) -> bool:
        if self.number is not None:
            return bool(self.number)
        if self.graph.decide is None:
            raise TypeError("a symbolic value has no truth of its own here")
        return self.graph.decide(self.graph.truth(self))

    def __float__(self) -> float:
        if self.number is None:
            raise TypeError("a value known only to the running kernel is put into math or numpy; use ti")
        return float(self.number)

    def __index__(self) -> int:
        if self.number is None or not self.integer:
            raise TypeError("a value known only to the running kernel cannot count or choose an element")
        return int(self.number)

    def as_real(self) -> "Scalar":
        return self.graph.apply("to_real", self)

    def _binary(self, op: str, left, right):
        numbers = [a.item() if getattr(a, "ndim", None) == 0 else a for a in (left, right)]  # NumPy's scalars
        if not all(isinstance(a, (Scalar, int, float)) for a in numbers):
            return NotImplemented
        return self.graph.apply(op, *numbers)


def reachable(
    outputs: "Sequence[Scalar]", needs: "Callable[[Scalar], Sequence[Scalar]]" = attrgetter("args")
) -> "list[Scalar]":
    """All nodes that the outputs need, arguments before users; `needs`: what a node needs."""
    found: dict[int, Scalar] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node.serial not in found:
            found[node.serial] = node
            waiting.extend(needs(node))
    return [found[serial] for serial in sorted(found)]


def inputs(outputs: "list[Scalar]") -> "Iterator[Scalar]":
    """The leaves (not the constants) that the outputs depend on."""
    return (node for node in reachable(outputs) if node.op == "input")
