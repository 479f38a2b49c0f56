"""A scalar of an expression graph: one operation on other scalars, used like a number.

A scalar is real, an integer, or a truth (the outcome of a comparison). Its operators add nodes to the graph
that it belongs to.
"""

from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

Number = int | float
T = TypeVar("T")
UNREADABLE = "has no value before the kernel runs"


class Expressions(Protocol):
    """The graph as its scalars see it (`graph.Graph`)."""

    decide: "Callable[[Scalar], bool] | None"

    def constant(self, value: Number) -> "Scalar": ...

    def input(self, *key: Any, integer: bool = False) -> "Scalar": ...

    def apply(self, op: str, *args: "Scalar | Number") -> "Scalar": ...

    def as_given(self, op: str, *args: "Scalar") -> "Scalar": ...

    def rebuilt(self, node: "Scalar", args: "tuple[Scalar, ...]") -> "Scalar": ...

    def truth(self, condition: "Scalar") -> "Scalar": ...

    def once(self, what: Hashable, make: "Callable[[], T]") -> "T": ...


class Scalar:
    """One node: the result of `op` on `args`. Behaves like a number in the body of an energy."""

    __slots__ = ("args", "graph", "integer", "op", "serial", "value")
    __array_ufunc__ = None  # numpy scalars on the left hand over to us

    def __init__(
        self, graph: Expressions, op: str, args: "tuple[Scalar, ...]", value: Any, serial: int, integer
    ):
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
        return self._binary_operation("add", self, other)

    def __radd__(self, other):
        return self._binary_operation("add", other, self)

    def __sub__(self, other):
        return self._binary_operation("sub", self, other)

    def __rsub__(self, other):
        return self._binary_operation("sub", other, self)

    def __mul__(self, other):
        return self._binary_operation("mul", self, other)

    def __rmul__(self, other):
        return self._binary_operation("mul", other, self)

    def __truediv__(self, other):
        return self._binary_operation("div", self, other)

    def __rtruediv__(self, other):
        return self._binary_operation("div", other, self)

    def __floordiv__(self, other):
        return self._binary_operation("floordiv", self, other)

    def __rfloordiv__(self, other):
        return self._binary_operation("floordiv", other, self)

    def __mod__(self, other):
        return self - other * (self // other)

    def __rmod__(self, other):
        return other - self * (other // self)

    def __pow__(self, other):
        return self._binary_operation("pow", self, other)

    def __rpow__(self, other):
        return self._binary_operation("pow", other, self)

    def __lt__(self, other):
        return self._binary_operation("lt", self, other)

    def __le__(self, other):
        return self._binary_operation("le", self, other)

    def __gt__(self, other):
        return self._binary_operation("lt", other, self)

    def __ge__(self, other):
        return self._binary_operation("le", other, self)

    def __eq__(self, other):
        return self._binary_operation("eq", self, other)

    def __ne__(self, other):
        return self._binary_operation("ne", self, other)

    __hash__ = object.__hash__

    def __and__(self, other):
        return self._binary_operation("and", self, other)

    def __or__(self, other):
        return self._binary_operation("or", self, other)

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
            raise TypeError(f"condition: {UNREADABLE}; use ti.select")
        return self.graph.decide(self.graph.truth(self))

    def __float__(self) -> float:
        if self.number is None:
            raise TypeError(f"float: its argument {UNREADABLE}; use the functions of ti")
        return float(self.number)

    def __index__(self) -> int:
        if self.number is None or not self.integer:
            raise TypeError(f"range or index: {UNREADABLE}; write static loops with `if` and ti.select")
        return int(self.number)

    def as_real(self) -> "Scalar":
        return self.graph.apply("to_real", self)

    def _binary_operation(self, op: str, left, right):
        numbers = [a.item() if getattr(a, "ndim", None) == 0 else a for a in (left, right)]  # NumPy's scalars
        if not all(isinstance(a, (Scalar, int, float)) for a in numbers):
            return NotImplemented
        return self.graph.apply(op, *numbers)
