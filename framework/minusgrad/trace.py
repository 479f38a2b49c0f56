"""From a Taichi function to an expression graph, by running its Python body with symbolic scalars.

    u(x, ..., t)  ->  a graph whose inputs are the components of the arguments

An `if` on a symbolic condition has no single truth: the function runs again under each outcome, and the
results are merged by select (at most 64 runs). What cannot be followed raises `TraceError` with file, line
and cure.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import product
from operator import add
from types import MappingProxyType
from typing import Any

from .energy import Datum, Linear, LocalEnergy, Node, Table, concrete
from .errors import TraceError
from .folding import TRUTHS
from .graph import Graph, Scalar
from .maps import Cell, LocalMap
from .source import Types, here, missing, number, rebind, run, unknown, unprinted
from .tensors import Tensor, as_real, flat, is_integer
from .terms import Term

NO_TABLES: Mapping[str, tuple[int, ...]] = MappingProxyType({})
PATHS = 64
"""Most ways through the branches of one energy."""


@dataclass(frozen=True)
class Trace:
    """A traced energy: its value, and the input nodes of every role.

    `inputs[role]`: one list of components per slot for node fields (slot 0, 1, ...), else one list; for what
    is Linear in a field, its components. Of a map: `window`, the lowest and the highest cell along each axis;
    of a map over pairs `mirrored`, the value with the two nodes exchanged.
    """

    graph: Graph
    value: Scalar
    inputs: dict[str, list[list[Scalar]]]
    window: list[tuple[Scalar, Scalar]] = field(default_factory=list)
    mirrored: Scalar | None = None


def trace(
    energy: LocalEnergy,
    d: int | None,
    k: int,
    tables: Mapping[str, tuple[int, ...]] = NO_TABLES,
    axes: int = 0,
) -> Trace:
    """Trace an energy of k nodes for a space of d dimensions (None where no argument depends on it).

    `tables`: their shapes by argument; `axes`: of the grid that a map gives to.
    """
    paths = _Paths()
    graph = Graph(decide=paths.decide)
    inputs: dict[str, list[list[Scalar]]] = {}
    values: dict[str, Any] = {}
    functions = Symbolic(graph)
    for name, role in energy.roles.items():
        if isinstance(role, Table):
            values[name] = _Table(graph, name, tables[name])
            continue
        shape = (axes,) if isinstance(role, Cell) else concrete(role.shape, d, k)
        integer = isinstance(role, Cell) or (isinstance(role, Datum) and role.integer)
        slots = range(k) if isinstance(role, Node) else [None]
        components = list(product(*map(range, shape)))
        leaves = [[graph.input(name, slot, c, integer=integer) for c in components] for slot in slots]
        rows = [Tensor(shape, row, functions) if shape else row[0] for row in leaves]
        inputs[name] = leaves
        values[name] = rows if isinstance(role, Node) else leaves[0] if isinstance(role, Cell) else rows[0]
    for name, made in energy.linear.items():
        values[name] = linear(made, values, functions)
        inputs[name] = [list(flat(values[name]))]
    body = rebind(energy.function, functions)

    def traced(values: dict[str, Any]) -> Scalar:
        arguments = [values[name] for name in energy.arguments]
        return paths.merged(graph, lambda: graph.apply("to_real", number(body, arguments, _is_number)))

    value = traced(values)
    if not isinstance(energy, LocalMap):
        return Trace(graph, value, inputs)
    exchanged = {a: v[::-1] if isinstance(energy.roles.get(a), Node) else v for a, v in values.items()}
    mirrored = traced(exchanged) if energy.over == "pairs" else None
    return Trace(graph, value, inputs, _window(energy, graph, functions, values, paths), mirrored)


def of_term(term: Term) -> Trace:
    """Trace a term's energy, for the arrays that it is bound to."""
    tables = {a: table.shape for a, table in term.tables.items()}
    return trace(term.energy, term.dimension, term.arity, tables, len(term.grid.shape) if term.grid else 0)


def _window(
    energy: LocalMap, graph: Graph, functions: "Symbolic", values: dict[str, Any], paths: "_Paths"
) -> list[tuple[Scalar, Scalar]]:
    """The lowest and the highest cell along each axis, as whole numbers."""
    if energy.window is None:
        return []
    names = inspect.signature(energy.window).parameters
    body, axes = rebind(energy.window, functions), len(values[energy.cell or ""])

    def corner(side: int, axis: int) -> Scalar:
        corners = run(body, [values[name] for name in names])
        try:
            low, high = ([*corner] for corner in corners)
            if not len(low) == len(high) == axes or not all(map(_is_number, (*low, *high))):
                raise TypeError
        except TypeError:
            raise TraceError(
                f"map '{energy.name}': its window returns two lists, the lowest and the highest cell, of"
                f" {axes} numbers each"
            ) from None
        return graph.apply("ceil", high[axis]) if side else graph.apply("floor", low[axis])

    def whole(side: int, axis: int) -> Scalar:
        return graph.apply("to_int", paths.merged(graph, partial(corner, side, axis)))

    return [(whole(0, axis), whole(1, axis)) for axis in range(axes)]


class _Table:
    """A table while an energy is traced."""

    def __init__(self, graph: Graph, name: str, shape: tuple[int, ...]):
        self._graph, self._name, self.shape = graph, name, shape

    def __getitem__(self, places: Any) -> Scalar:
        places = places if isinstance(places, tuple) else (places,)
        if len(places) != len(self.shape):
            raise TypeError(f"{self._name} has {len(self.shape)} axes and is read at {len(places)} numbers")
        return self._graph.lookup(self._name, *places)


def linear(made: Linear, values: dict[str, Any], functions: "Symbolic") -> Tensor:
    """sum_a x_a (x) w_a as sum over a > 0 of (x_a - x_0) (x) w_a, which keeps digits far from the origin."""
    first, *others = values[made.field]
    weights = values[made.weights]
    of_weight = weights.shape[1:]
    rows = _rows(weights.entries, math.prod(of_weight))[1:]
    terms = [[leg * w for leg in flat(x - first) for w in row] for x, row in zip(others, rows, strict=True)]
    entries = [reduce(add, parts) for parts in zip(*terms, strict=True)]
    shape = (*(first.shape if isinstance(first, Tensor) else ()), *of_weight)
    return Tensor(shape, entries, functions) if shape else entries[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, Scalar) and value.op not in TRUTHS)


class _Paths:
    """Runs a function once for each way through its branches and merges what comes out."""

    def __init__(self) -> None:
        self.script: tuple[bool, ...] = ()
        self.taken: list[tuple[Scalar, bool]] = []
        self.ways = 1

    def decide(self, condition: Scalar) -> bool:
        """The truth of a condition on the present path: as before, as scripted, else True for now."""
        for known, outcome in self.taken:
            if known is condition:
                return outcome
        scripted = self.script[len(self.taken) :][:1]
        self.ways += not scripted  # the other outcome will be a run of its own
        if self.ways > PATHS:
            raise TraceError(
                f"{here()}: more than {PATHS} ways through the branches of this energy; use ti.select"
            )
        outcome = scripted[0] if scripted else True
        self.taken.append((condition, outcome))
        return outcome

    def merged(self, graph: Graph, run: Callable[[], Scalar], script: tuple[bool, ...] = ()) -> Scalar:
        self.script, self.taken = script, []
        value, taken = run(), self.taken
        for depth in reversed(range(len(script), len(taken))):
            condition = taken[depth][0]
            other = self.merged(graph, run, (*script, *(True,) * (depth - len(script)), False))
            value = graph.apply("select", condition, value, other)
        return value


# Stand-ins for `ti` and `ti.math` -------------------------------------------------------------------

UNARY = (
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "tanh",
    "erf",
    "abs",
)
ROUNDINGS = ("floor", "ceil", "round")
REALS = ("f16", "f32", "f64", "float16", "float32", "float64")
WHOLES = ("i32", "i64", "int32", "int64")
"""Narrower and unsigned integers wrap round in Taichi: refused."""


class Symbolic:
    """What `ti` is while an energy is traced. `ti.math` is the same object: the names do not clash."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.math = self
        self.pi, self.e, self.inf = math.pi, math.e, math.inf
        for op in UNARY:
            setattr(self, op, self._unary(op))
        for op in ROUNDINGS:
            setattr(self, op, partial(self._rounded, op))
        for dtype in REALS:
            setattr(self, dtype, partial(self._number, "to_real"))
        for dtype in WHOLES:
            setattr(self, dtype, partial(self._number, "to_int"))
        self.Vector = self.Matrix = _Constructor(self)
        self.types = Types(
            **{dtype: getattr(self, dtype) for dtype in (*REALS, *WHOLES)},
            vector=self._vector_type,
            matrix=self._matrix_type,
            template=self.template,
        )
        for n in (2, 3, 4):
            setattr(self, f"vec{n}", self._vector_type(n, self.f64))
            setattr(self, f"ivec{n}", self._vector_type(n, self.i32))
            setattr(self, f"mat{n}", self._matrix_type(n, n, self.f64))
        self.builtins = {"min": self.min, "max": self.max, "pow": self.pow, "print": unprinted}
        self.builtins |= {"int": self.i32, "float": self.f64, "bool": self.truth}
        self.builtins |= {"any": self._any, "all": self._all}

    def __getattr__(self, name: str) -> Any:
        return missing(name, self)

    # Scalars, and tensors entry by entry

    def _each(self, function: Callable[..., Any], *values: Any) -> Any:
        tensor = next((v for v in values if isinstance(v, Tensor)), None)
        if tensor is None:
            return function(*values)
        wide = [v if isinstance(v, Tensor) else tensor.map(lambda _, v=v: v) for v in values]
        return wide[0].map(function, *wide[1:])

    def _apply(self, op: str, *values: Any) -> Any:
        return self._each(lambda *entries: self.graph.apply(op, *entries), *values)

    def _unary(self, op: str) -> Callable[[Any], Any]:
        return lambda value: self._apply(op, value)

    def _number(self, op: str, value: Any) -> Any:
        """A cast: of a comparison 1 where it holds, else 0."""
        kind = float if op == "to_real" else int

        def cast(entry: Any) -> Any:
            truth = isinstance(entry, Scalar) and entry.op in TRUTHS
            return (
                self.graph.apply("select", entry, kind(1), kind(0)) if truth else self.graph.apply(op, entry)
            )

        return self._each(cast, value)

    def _rounded(self, op: str, value: Any, dtype: Any = None) -> Any:
        whole = self._apply(op, value)
        return whole if dtype is None else self.cast(whole, dtype)

    def truth(self, value: Any) -> Any:
        """Whether a number is not zero; of a comparison, whether it holds."""
        decided = isinstance(value, bool) or (isinstance(value, Scalar) and value.op in TRUTHS)
        return value if decided else self._each(lambda v: self.graph.apply("ne", v, 0), value)

    def _any(self, values: Any) -> Any:
        return values.any() if isinstance(values, Tensor) else any(values)

    def _all(self, values: Any) -> Any:
        return values.all() if isinstance(values, Tensor) else all(values)

    def max(self, *values: Any) -> Any:
        return reduce(lambda a, b: self._apply("max", a, b), values)

    def min(self, *values: Any) -> Any:
        return reduce(lambda a, b: self._apply("min", a, b), values)

    def pow(self, a: Any, b: Any) -> Any:
        return self._apply("pow", a, b)

    def atan2(self, a: Any, b: Any) -> Any:
        return self._apply("atan2", a, b)

    def rsqrt(self, a: Any) -> Any:
        return 1.0 / self.sqrt(a)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return self._apply("select", condition, a, b)

    def clamp(self, value: Any, low: Any, high: Any) -> Any:
        return self.min(high, self.max(low, value))

    def mix(self, a: Any, b: Any, t: Any) -> Any:
        return a * (1.0 - t) + b * t

    def sign(self, value: Any) -> Any:
        return self.select(value > 0, 1.0, self.select(value < 0, -1.0, 0.0))

    def cast(self, value: Any, dtype: Callable[[Any], Any]) -> Any:
        return dtype(value)

    def zero(self, value: Any) -> Any:
        """Zero of the value's kind and shape."""
        return self._each(lambda v: 0 if is_integer(v) else 0.0, value)

    def one(self, value: Any) -> Any:
        return self._each(lambda v: 1 if is_integer(v) else 1.0, value)

    def template(self) -> None:
        """An annotation: the argument is the caller's own."""

    def static(self, *values: Any) -> Any:
        return values[0] if len(values) == 1 else values

    def static_assert(self, *_: Any) -> None:
        return None

    def ndrange(self, *ends: Any) -> Any:
        return product(*(range(*e) if isinstance(e, tuple) else range(e) for e in ends))

    # Vectors and matrices

    def _vector_type(self, n: int, dtype: Any = as_real) -> Callable[..., Tensor]:
        return lambda *parts: self._shaped((n,), parts, dtype)

    def _matrix_type(self, n: int, m: int, dtype: Any = as_real) -> Callable[..., Tensor]:
        return lambda *parts: self._shaped((n, m), parts, dtype)

    def _shaped(self, shape: tuple[int, ...], parts: Sequence[Any], dtype: Callable[[Any], Any]) -> Tensor:
        """A tensor from numbers, lists and tensors, one after another; one number fills it."""
        entries, size = list(flat(parts)), math.prod(shape)
        if len(entries) not in (1, size):
            raise TypeError(f"{len(entries)} numbers do not make a tensor of shape {list(shape)}")
        return self.cast(Tensor(shape, entries * (size // len(entries)), self), dtype)

    def dot(self, a: Tensor, b: Tensor) -> Any:
        return a.dot(b)

    def cross(self, a: Tensor, b: Tensor) -> Any:
        return a.cross(b)

    def length(self, a: Tensor) -> Any:
        return a.norm()

    def distance(self, a: Tensor, b: Tensor) -> Any:
        return (a - b).norm()

    def normalize(self, a: Tensor) -> Any:
        return a.normalized()

    def determinant(self, a: Tensor) -> Any:
        return a.determinant()

    def inverse(self, a: Tensor) -> Tensor:
        return a.inverse()


def _rows(values: list, size: int) -> list[list]:
    """The values in rows of `size`."""
    return [values[begin : begin + size] for begin in range(0, len(values), size)]


class _Constructor:
    """`ti.Vector([...])`, `ti.Matrix([...])`, and the named makers zero, one, unit, identity, rows, cols."""

    def __init__(self, functions: Symbolic):
        self.functions = functions

    def __getattr__(self, name: str) -> Any:
        raise unknown(f"Matrix.{name}", self)

    def __call__(self, rows: Any, dt: Any = None) -> Tensor:
        made = Tensor.of(rows, self.functions)
        return made if dt is None else self.functions.cast(made, dt)

    def _filled(self, dt: Any, shape: tuple[int, ...], value: Callable[[tuple[int, ...]], int]) -> Tensor:
        places = product(*map(range, shape))
        return self.functions.cast(Tensor(shape, map(value, places), self.functions), dt)

    def zero(self, dt: Any, *shape: int) -> Tensor:
        return self._filled(dt, shape, lambda _: 0)

    def one(self, dt: Any, *shape: int) -> Tensor:
        return self._filled(dt, shape, lambda _: 1)

    def unit(self, n: int, i: int, dt: Any = as_real) -> Tensor:
        return self._filled(dt, (n,), lambda p: int(p[0] == i))

    def identity(self, dt: Any, n: int) -> Tensor:
        return self._filled(dt, (n, n), lambda p: int(p[0] == p[1]))

    def diag(self, dim: int, val: Any) -> Tensor:
        places = product(range(dim), range(dim))
        return Tensor((dim, dim), (val if i == j else 0 for i, j in places), self.functions)

    def rows(self, rows: Sequence[Any]) -> Tensor:
        return Tensor.of(rows, self.functions)

    def cols(self, columns: Sequence[Any]) -> Tensor:
        return Tensor.of(columns, self.functions).transpose()
