"""From a Taichi function to an expression graph, by running its Python body with symbolic scalars.

    u(x, ..., t)  ->  a graph whose inputs are the components of the arguments

An `if` on a symbolic condition has no single truth: the function runs again under each outcome, and the
results are merged by select (at most 64 runs). What cannot be followed raises `TraceError` with file, line
and cure.
"""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

from .energy import Datum, LocalEnergy, Node, Shape, Time, concrete
from .errors import EnergyError, TraceError
from .graph import Graph, Scalar
from .source import CURE, MARK, rebind
from .tensors import Tensor

PATHS = 64
"""Most ways through the branches of one energy."""


@dataclass(frozen=True)
class Trace:
    """A traced energy: its value, and the input nodes of every argument.

    `inputs[argument]`: one list of components per slot for node fields (slot 0, 1, ...), else one list.
    `steps`: lines of the source where a value is truncated to an integer (its derivative is zero there).
    """

    graph: Graph
    value: Scalar
    inputs: dict[str, list[list[Scalar]]]


def trace(energy: LocalEnergy, d: int | None) -> Trace:
    """Trace an energy for a space of d dimensions (None where no argument depends on it)."""
    paths = _Paths()
    graph = Graph(decide=paths.decide)
    inputs: dict[str, list[list[Scalar]]] = {}
    arguments = []
    functions = Symbolic(graph)
    for name, role in energy.roles.items():
        shape = concrete(role.shape, d)
        integer = isinstance(role, Datum) and role.integer
        slots = range(energy.arity) if isinstance(role, Node) else [None]
        components = list(product(*map(range, shape)))
        leaves = [[graph.input(name, slot, c, integer=integer) for c in components] for slot in slots]
        values = [Tensor(shape, row, functions) if shape else row[0] for row in leaves]
        inputs[name] = leaves
        arguments.append(values if isinstance(role, Node) else values[0])
    body = rebind(energy.function, functions)
    value = paths.merged(graph, lambda: _scalar(graph, energy.name, _run(body, arguments)))
    return Trace(graph, value, inputs)


def _scalar(graph: Graph, name: str, value: Any) -> Scalar:
    if isinstance(value, (int, float)):
        return graph.constant(float(value))
    if not isinstance(value, Scalar):
        kind = "nothing" if value is None else f"a {type(value).__name__.lower()}"
        raise EnergyError(f"energy '{name}': its function returns {kind}, not one number")
    return value


def _run(body: Callable, arguments: Sequence[Any]) -> Any:
    """Run the body; a Python error in it becomes a TraceError at its line."""
    try:
        return body(*arguments)
    except (TraceError, EnergyError, _TooManyPathsError):
        raise
    except Exception as error:
        frames = [f for f, _ in traceback.walk_tb(error.__traceback__) if MARK in f.f_globals]
        lines = [line for f, line in traceback.walk_tb(error.__traceback__) if MARK in f.f_globals]
        place = f"{frames[-1].f_code.co_filename}:{lines[-1]}" if frames else "<energy>"
        raise TraceError(f"{place}: {error}; the engine cannot follow this: {CURE}") from error


class _TooManyPathsError(Exception):
    pass


class _Paths:
    """Runs a function once for each way through its branches and merges what comes out."""

    def __init__(self) -> None:
        self.script: list[bool] = []
        self.taken: list[tuple[Scalar, bool]] = []
        self.runs = 0

    def decide(self, condition: Scalar) -> bool:
        """The truth of a condition on the present path: as before, as scripted, else True."""
        for known, outcome in self.taken:
            if known is condition:
                return outcome
        outcome = self.script[len(self.taken)] if len(self.taken) < len(self.script) else True
        self.taken.append((condition, outcome))
        if len(self.taken) > PATHS:
            raise _TooManyPathsError
        return outcome

    def merged(self, graph: Graph, run: Callable[[], Scalar], script: tuple[bool, ...] = ()) -> Scalar:
        self.script, self.taken, self.runs = list(script), [], self.runs + 1
        try:
            if self.runs > PATHS:
                raise _TooManyPathsError
            value = run()
        except _TooManyPathsError as error:
            raise TraceError(self._refusal(error)) from None
        taken = self.taken
        for depth in reversed(range(len(script), len(taken))):
            condition = taken[depth][0]
            other = self.merged(graph, run, (*script, *(True,) * (depth - len(script)), False))
            value = graph.apply("select", condition, value, other)
        return value

    def _refusal(self, error: Exception) -> str:
        frames = [(f, line) for f, line in traceback.walk_tb(error.__traceback__) if MARK in f.f_globals]
        place = f"{frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else "<energy>"
        return f"{place}: more than {PATHS} ways through the branches of this energy; use ti.select or min and max"


# Stand-ins for `ti` and `ti.math` -------------------------------------------------------------------

UNARY = (
    *("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "tanh", "floor", "ceil", "round", "abs"),
)
REALS = ("f16", "f32", "f64")
WHOLES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


class Symbolic:
    """What `ti` is while an energy is traced. `ti.math` is the same object: the names do not clash."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.math = self
        self.pi, self.e, self.inf = 3.141592653589793, 2.718281828459045, float("inf")
        for op in UNARY:
            setattr(self, op, self._unary(op))
        for dtype in REALS:
            setattr(self, dtype, lambda value: self._each(lambda v: v * 1.0, value))
        for dtype in WHOLES:
            setattr(self, dtype, lambda value: self._each(lambda v: graph.apply("to_int", v), value))
        self.Vector = _Constructor(self, self._tensor)
        self.Matrix = _Constructor(self, self._tensor)
        self.types = SimpleNamespace(vector=self._vector_type, matrix=self._matrix_type)
        for n in (2, 3, 4):
            setattr(self, f"vec{n}", self._vector_type(n))
            setattr(self, f"mat{n}", self._matrix_type(n, n))
        self.builtins = {"min": self.min, "max": self.max, "pow": self.pow, "int": self.i32, "float": self.f64}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"ti.{name} is not part of the language of energies")

    # Scalars, and tensors entry by entry

    def _each(self, function: Callable[..., Any], *values: Any) -> Any:
        tensor = next((v for v in values if isinstance(v, Tensor)), None)
        if tensor is None:
            return function(*values)
        wide = [v if isinstance(v, Tensor) else tensor.map(lambda _, v=v: v) for v in values]
        return wide[0].map(function, *wide[1:])

    def _unary(self, op: str) -> Callable[[Any], Any]:
        return lambda value: self._each(lambda v: self.graph.apply(op, v), value)

    def _binary(self, op: str, a: Any, b: Any) -> Any:
        return self._each(lambda p, q: self.graph.apply(op, p, q), a, b)

    def max(self, first: Any, *rest: Any) -> Any:
        for other in rest:
            first = self._binary("max", first, other)
        return first

    def min(self, first: Any, *rest: Any) -> Any:
        for other in rest:
            first = self._binary("min", first, other)
        return first

    def pow(self, a: Any, b: Any) -> Any:
        return self._binary("pow", a, b)

    def atan2(self, a: Any, b: Any) -> Any:
        return self._binary("atan2", a, b)

    def rsqrt(self, a: Any) -> Any:
        return 1.0 / self.sqrt(a)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return self._each(lambda c, p, q: self.graph.apply("select", c, p, q), condition, a, b)

    def clamp(self, value: Any, low: Any, high: Any) -> Any:
        return self.min(high, self.max(value, low))

    def mix(self, a: Any, b: Any, t: Any) -> Any:
        return a * (1.0 - t) + b * t

    def sign(self, value: Any) -> Any:
        return self._each(lambda v: self.select(v > 0, 1.0, self.select(v < 0, -1.0, 0.0)), value)

    def cast(self, value: Any, dtype: Callable[[Any], Any]) -> Any:
        return dtype(value)

    def static(self, *values: Any) -> Any:
        return values[0] if len(values) == 1 else values

    def static_assert(self, *_: Any) -> None:
        return None

    # Vectors and matrices

    def _tensor(self, rows: Any, dt: Any = None) -> Tensor:
        return Tensor.of(rows, self)

    def _vector_type(self, n: int, dtype: Any = None) -> Callable[..., Tensor]:
        def make(*parts: Any) -> Tensor:
            entries = [e for p in parts for e in (p if isinstance(p, (Tensor, list, tuple)) else [p])]
            return Tensor((n,), entries * n if len(entries) == 1 else entries, self)

        return make

    def _matrix_type(self, n: int, m: int, dtype: Any = None) -> Callable[..., Tensor]:
        def make(*rows: Any) -> Tensor:
            entries = [e for r in rows for e in (r if isinstance(r, (list, tuple, Tensor)) else [r])]
            flat = [e for r in entries for e in (r if isinstance(r, (list, tuple, Tensor)) else [r])]
            return Tensor((n, m), flat * (n * m) if len(flat) == 1 else flat, self)

        return make

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


class _Constructor:
    """`ti.Vector([...])`, and its named makers zero, one, unit, identity, rows, cols."""

    def __init__(self, functions: Symbolic, make: Callable[..., Tensor]):
        self.functions, self.make = functions, make

    def __call__(self, rows: Any, dt: Any = None) -> Tensor:
        return self.make(rows, dt)

    def _filled(self, shape: Shape, value: Callable[[tuple], float]) -> Tensor:
        places = product(*map(range, shape))  # type: ignore[arg-type]
        return Tensor(tuple(shape), [value(p) for p in places], self.functions)  # type: ignore[arg-type]

    def zero(self, dt: Any, *shape: int) -> Tensor:
        return self._filled(shape, lambda _: 0.0)

    def one(self, dt: Any, *shape: int) -> Tensor:
        return self._filled(shape, lambda _: 1.0)

    def unit(self, n: int, i: int, dt: Any = None) -> Tensor:
        return self._filled((n,), lambda p: float(p[0] == i))

    def identity(self, dt: Any, n: int) -> Tensor:
        return self._filled((n, n), lambda p: float(p[0] == p[1]))

    def rows(self, rows: Sequence[Any]) -> Tensor:
        return Tensor.of(rows, self.functions)

    def cols(self, columns: Sequence[Any]) -> Tensor:
        return Tensor.of(columns, self.functions).transpose()
