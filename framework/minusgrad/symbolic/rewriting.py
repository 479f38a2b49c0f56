"""Rewriting of a Taichi function to Python: the same source, run with stand-ins for `ti`.

Taichi gives names value semantics (`a = b` copies a vector) and fixes a name's type at its first
assignment; Python does neither. So the source is rewritten before it runs: every assignment and every
argument goes through `assign`. Line numbers stay those of the file.

Statements without a meaning for one element (`while`, `try`, ...), and those that Taichi and Python
understand differently, are refused here, with file, line and cure.

Decisions 0031, 0252.
"""

import ast
import builtins
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from ..engine import runtime
from ..errors import MinusgradError, TraceError, suggestion
from .error_explanations import explanation, with_cure
from .sources.function_sources import parse_definition, parsed_lambda
from .sources.snapshots import OWN, OWN_FUNCTIONS, Attributes, BoundFunction, origin, snapshot
from .tensors import TRUNCATES, as_real, is_integer

REFUSED = {
    ast.While: "`while`: runs an unknown number of times",
    ast.Try: "`try`: has no meaning in an energy",
    ast.With: "`with`: has no meaning in an energy",
    ast.Lambda: "`lambda`: cannot be compiled by Taichi; define the function beside the energy",
    ast.FunctionDef: "`def` inside a function: cannot be compiled by Taichi; define it beside the energy",
    ast.Global: "`global`: an energy cannot write names outside of it; return the value",
    ast.Nonlocal: "`nonlocal`: an energy cannot write names outside of it; return the value",
    ast.Yield: "`yield`: an energy returns one number; add up and return the sum",
    ast.Await: "`await`: an energy returns one number; call it outside of the energy",
    ast.ClassDef: "`class`: has no meaning in an energy; use vectors, matrices and lists of them",
    ast.Delete: "`del`: cannot be compiled by Taichi; take it out",
    ast.Raise: "`raise`: has no meaning in an energy; check values before the energy is bound",
    ast.Match: "`match`: cannot be compiled by Taichi; write `if` and `elif`",
    ast.Import: "`import`: has no meaning in an energy; put it at the top of the file",
    ast.ImportFrom: "`import`: has no meaning in an energy; put it at the top of the file",
}
RETURNED = {"NoneType": "None", "Tensor": "a tensor", "Array": "a tensor", "Scalar": "a comparison"}
RETURNED["ndarray"] = "an array of NumPy's, which cannot hold values of the kernel"
MARK = "__minusgrad_stand_in__"
TURNS = 50_000
"""Most turns of loops and calls of functions in one run of an energy."""
UNROLLED = "make it an energy over a list of tuples, or a map and an energy of its sum"
"""The cure for an energy that is too long to be written out."""
LENT = """
    degrees eye fract log2 mod radians reflect refract rot_by_axis rot_yaw_pitch_roll rotation2d rotation3d
    scale smoothstep step translate vdir cconj cdiv cexp cinv clog cmul cpow csqrt
""".split()  # noqa: SIM905
"""Functions of `ti.math` that are written in the language of energies: they run from Taichi's own source."""

SHOWS = "shows nothing in a derived kernel; take it out, and look inside with the energy's evaluator()"
CURES = {
    "differs at every call; draw it in Python and pass it as a Datum": "random randn",
    "is an array; pass it as an argument: a Node, Datum, Parameter or Table": (
        "field ndarray Field ScalarField MatrixField StructField Texture root Ndarray ScalarNdarray"
        " MatrixNdarray VectorNdarray Matrix.field Matrix.ndarray"
    ),
    "wraps round; use ti.i32 or ti.i64, whole numbers that are exact to 2^53 here": (
        "i8 i16 u8 u16 u32 u64 int8 int16 uint8 uint16 uint32 uint64 uvec2 uvec3 uvec4"
    ),
    "is a truth, which energies do not store as a number; compare: x != 0.0": "u1 uint1",
    "works on the bits of a number, which have no derivative; use arithmetic and comparisons": (
        "bit_cast bit_shr popcnt clz frexp"
    ),
    "is for what threads share; write a += b, ti.min(a, b) or ti.max(a, b)": (
        "atomic_add atomic_sub atomic_mul atomic_min atomic_max atomic_and atomic_or atomic_xor"
    ),
    "takes other steps near equal values; write the energy in invariants (norms, traces, determinants of"
    " F and F.transpose() @ F), for 2 x 2 in closed form": "svd polar_decompose sym_eig eig",
    "is elimination; write A.inverse() @ b": "solve",
    "depends on the types of its arguments; write a / b, a // b or a % b": "raw_div raw_mod",
    "is for fields; write `for i, j in ti.static(ti.ndrange(2, 3))`": "grouped",
    "is for kernels, and the engine writes those; take it out": (
        "loop_config block_local mesh_local cache_read_only assume_in_range no_activate global_thread_idx"
        " mesh_patch_idx"
    ),
    "may be folded away by the compiler; compare with a bound: ti.abs(x) < 1e300": "isnan isinf nan",
    "hides a dependence from the derivative; pass what is held fixed as a Datum or Parameter": "stop_grad",
    "is no part of an energy; use vectors, matrices and lists of them": (
        "Struct dataclass ArgPack argpack data_oriented"
    ),
    "is about sparse fields; an energy reads only its arguments": (
        "is_active activate deactivate deactivate_all_snodes append SNode rescale_index get_addr"
    ),
    "is for Python around kernels; call it outside of the energy": (
        "init reset sync kernel func pyfunc real_func ref axes hex_to_rgb rgb_to_hex is_logging_effective"
        " set_logging_level"
    ),
    SHOWS: "static_print",
}
"""Names of Taichi that energies cannot use: why, what to write instead, and which."""


def rebind(function: Callable, namespace: Any) -> Callable:
    """The function over `namespace`'s stand-ins for `ti`, `ti.math` and the built-ins min, max, ...

    Nested functions are rebound when they are called. `namespace` provides: attributes named as in `ti`,
    `math`, `types`, and `builtins` (a dict of replaced built-ins). Raises `TraceError` for statements that
    are refused.
    """
    return Rebinder(namespace).rebind(snapshot(function))


def run(body: Callable, arguments: Sequence[Any]) -> Any:
    """Run a rebound function; a Python error in it becomes a `TraceError` at its line."""
    if isinstance(turns := body.__globals__.get("__turns_left__"), Turns):
        turns.left = TURNS
    try:
        return body(*arguments)
    except MinusgradError:
        raise
    except Exception as error:
        frames = traceback.walk_tb(error.__traceback__)
        places = [(frame, line) for frame, line in frames if frame.f_globals.get(MARK)]
        if not places:
            raise TraceError(f"{_place_of(body)}: {with_cure(str(error))}") from error
        frame, line = places[-1]
        raise TraceError(f"{_location_text(frame, line)}: {explanation(error, frame, line)}") from error


def number(body: Callable, arguments: Sequence[Any], is_number: Callable[[Any], bool]) -> Any:
    """The result of `run`; refused unless it is a number."""
    value = run(body, arguments)
    if not is_number(value):
        given = RETURNED.get(type(value).__name__, f"a {type(value).__name__}")
        name = body.__code__.co_name
        raise TraceError(
            f"{_place_of(body)}: '{name}': must return one real number, got {given}; return the energy of one"
            " element"
        )
    return value


def resolve_name(text: ast.expr, function: Any) -> Any:
    """The value of a dotted name in the scope of a function; None if it is unknown."""
    if isinstance(text, ast.Attribute):
        return getattr(resolve_name(text.value, function), text.attr, None)
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    return scope.get(text.id) if isinstance(text, ast.Name) else None


def current_location() -> str:
    """The file and line that a rebound function is running at."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_globals.get(MARK):
        frame = frame.f_back
    return "<energy>" if frame is None else _location_text(frame, frame.f_lineno)


def _location_text(frame: FrameType, line: int) -> str:
    return f"{frame.f_code.co_filename}:{line}"


def _place_of(function: Callable) -> str:
    code: CodeType = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


class Turns:
    """Counts the turns of loops and the calls of functions in a run, and stops one that would not end."""

    def __init__(self) -> None:
        self.left = TURNS

    def take(self) -> None:
        """One turn. Raises `ValueError` when there are no more."""
        self.left -= 1
        if self.left < 0:
            raise ValueError(
                f"loop: has at most {TURNS:,} turns and calls in an energy, got more; {UNROLLED}"
            )

    def counted(self, values: Iterable[Any]) -> Iterator[Any]:
        """The values, each a turn."""
        for value in values:
            self.take()
            yield value


class Rebinder:
    """Functions over stand-ins; those that they call are rebound when they are called."""

    def __init__(self, namespace: Any):
        self.namespace = namespace
        self.done: dict[Callable, Callable] = {}
        self.turns = Turns()

    def rebind(self, function: Callable) -> Callable:
        if function not in self.done:
            self.done[function] = self._compile_rebound(function)
        return self.done[function]

    def _compile_rebound(self, function: Callable) -> Callable:
        rewritten = self.rewritten(function)
        scope: dict[str, Any] = {"__builtins__": builtins.__dict__ | self.namespace.builtins}
        scope |= self.statements() | {MARK: not _of_engine(function)}
        visible: dict[str, Any] = {}
        for name, value in _visible_names(function, rewritten.uses).items():
            try:
                visible[name] = self.stand_in_for(value)
            except AttributeError as error:
                line = rewritten.uses.get(name, function.__code__.co_firstlineno)
                where = f"{rewritten.code.co_filename}:{line}"
                raise TraceError(f"{where}: {with_cure(f'{name} is {error}')}") from None
        exec(rewritten.code, scope)
        body = scope[function.__code__.co_name]
        scope |= visible  # a function that calls itself, too
        body.__defaults__, body.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        return body

    def rewritten(self, function: Callable) -> "Rewritten":
        """The function's source as it runs here."""
        return _known_source(function)

    def statements(self) -> dict[str, Callable]:
        """The functions that rewritten statements call."""
        counted: dict[str, Any] = {"__counted__": self.turns.counted, "__turns_left__": self.turns}
        return {"__assign__": assign, "__copied__": copy_by_value, **counted}

    def stand_in_for(self, value: Any) -> Any:
        """The stand-in for the value of a global or closure variable."""
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        path = (home or type(value).__module__).split(".")
        if path[0] in runtime.PREFIXES:
            of_engine = isinstance(value, ModuleType)
            return vars(self.namespace).get(path[-1], self.namespace) if of_engine else self._own_name(value)
        if home in OWN_FUNCTIONS:
            return getattr(self.namespace, value.__name__)
        if isinstance(value, Attributes):
            return StandIn(self, value)
        if isinstance(value, ModuleType) and path[0] == OWN:
            return OwnModule(self, value)
        if isinstance(value, BoundFunction):
            return self._bound_function(value)
        if isinstance(value, (list, tuple, dict)):
            return self._rebind_container(value)
        function = self.function_of(value)
        if isinstance(function, FunctionType):
            return lambda *args, **named: self._call_rebound(function, *args, **named)
        return value

    def function_of(self, value: Any) -> Any:
        """The function that a call of a value runs; other values as they are."""
        return inspect.unwrap(value) if callable(value) else value  # Quadrants wraps in objects

    def _bound_function(self, value: BoundFunction) -> Callable:
        function, first, named = map(self.stand_in_for, (value.function, value.first, value.named))
        return lambda *args, **more: function(*first, *args, **{**named, **more})

    def _rebind_container(self, value: Any) -> Any:
        """The container with stand-ins for the functions and objects in it; itself if it has none."""
        parts = value.values() if isinstance(value, dict) else value
        made = [self.stand_in_for(one) for one in parts]
        if all(one is other for one, other in zip(made, parts, strict=True)):
            return value
        if isinstance(value, dict):
            return dict(zip(value, made, strict=True))
        return value._make(made) if hasattr(value, "_make") else type(value)(made)

    def _call_rebound(self, function: FunctionType, *args: Any, **named: Any) -> Any:
        self.turns.take()
        return self.rebind(function)(*args, **named)

    def _own_name(self, value: Any) -> Any:
        """The stand-in for something of Taichi's that the file gave a name of its own."""
        if isinstance(value, type) or hasattr(value, "__name__"):
            return getattr(self.namespace, value.__name__)
        if hasattr(value, "to_list"):
            return self.namespace.Matrix(value.to_list())
        if hasattr(value, "ndim"):
            types, shape = self.namespace.types, (value.n, value.m)[: value.ndim]
            return (types.vector, types.matrix)[value.ndim - 1](*shape, self._own_name(value.dtype))
        name = value.to_string() if hasattr(value, "to_string") else type(value).__name__
        return getattr(self.namespace, name)


class StandIn:
    """The stand-in for a module, class or object whose attributes an energy reads."""

    __slots__ = ("_attributes", "_rebinder")

    def __init__(self, rebinder: Rebinder, attributes: Attributes):
        object.__setattr__(self, "_rebinder", rebinder)
        object.__setattr__(self, "_attributes", attributes)

    def __getattr__(self, name: str) -> Any:
        return self._rebinder.stand_in_for(self._attributes.read_attribute(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeError(f"'{name}': an energy cannot write attributes outside of it; return the value")

    def __call__(self, *args: Any, **named: Any) -> Any:
        call = self._attributes.call
        return (call if isinstance(call, type) else self._rebinder.stand_in_for(call))(*args, **named)

    def __instancecheck__(self, one: Any) -> bool:
        return isinstance(one, self._attributes.of)


class OwnModule:
    """The stand-in for a module of this package, through which an energy may reach `ti`: `minusgrad.ti`."""

    __slots__ = ("_module", "_rebinder")

    def __init__(self, rebinder: Rebinder, module: ModuleType):
        self._rebinder, self._module = rebinder, module

    def __getattr__(self, name: str) -> Any:
        return self._rebinder.stand_in_for(getattr(self._module, name))


class Types(SimpleNamespace):
    """The stand-in for `ti.types`."""

    def __getattr__(self, name: str) -> Any:
        raise unknown(f"types.{name}", self)


def missing(name: str, namespace: Any) -> Callable:
    """A function that a stand-in for `ti` lacks: rebound from Taichi's own source, or refused."""
    if name not in LENT:
        raise unknown(name, namespace)
    body = rebind(getattr(runtime.engine().math, name), namespace)
    setattr(namespace, name, body)
    return body


METHODS = frozenset({
    "sum", "dot", "norm", "norm_sqr", "norm_inv", "normalized", "cross", "outer_product", "transpose",
    "trace", "determinant", "inverse", "any", "all", "cast", "max", "min",
})  # fmt: skip
"""Methods of a vector or matrix that may be called as `ti.Vector.normalized(v)`."""


def of_vectors(name: str, namespace: Any) -> Callable:
    """A method of vectors and matrices as a function; raises `AttributeError` for another name."""
    if name not in METHODS:
        raise unknown(f"Matrix.{name}", namespace)
    return lambda vector, *arguments: getattr(vector, name)(*arguments)


def unknown(name: str, namespace: Any) -> AttributeError:
    """The error for a name of `ti` that has no stand-in."""
    known = [n for n in dir(namespace) if not n.startswith("_")]
    for cure, names in CURES.items():
        if name in names.split():
            return AttributeError(f"ti.{name}: {cure}")
    near = suggestion(name, [*known, *LENT])
    return AttributeError(f"ti.{name}: is not in the language of energies{near}")


def unprinted(*_: Any, **__: Any) -> None:
    """`print` in an energy."""
    raise TypeError(f"print: {SHOWS}")


def _of_engine(function: Callable) -> bool:
    """True if a function is part of Taichi: errors in it are reported at its caller."""
    return (function.__module__ or "").split(".")[0] in runtime.PREFIXES


@dataclass(frozen=True)
class Rewritten:
    """The rewritten source of a function; the names that it uses, each with its first line."""

    code: CodeType
    uses: dict[str, int]


_known: WeakKeyDictionary[Callable, Rewritten] = WeakKeyDictionary()


def _known_source(function: Callable) -> Rewritten:
    """The function's source as energies run it, read once."""
    given = origin(function)
    if given not in _known:
        _known[given] = rewritten(function, Rewriter)
    return _known[given]


def rewritten(function: Callable, rewriter: "type[Rewriter]") -> Rewritten:
    """The function's source, rewritten and compiled; raises `TraceError` for statements that are refused."""
    as_lambda = rewriter.lambdas and function.__code__.co_name == "<lambda>"
    definition, file = parsed_lambda(function) if as_lambda else parse_definition(function)
    made = rewriter(file, passes_on=_passes_on(origin(function))).function(definition)
    tree = ast.fix_missing_locations(ast.Module([made], []))
    uses: dict[str, int] = {}
    for node in ast.walk(definition):
        if isinstance(node, ast.Name):
            uses[node.id] = min(node.lineno, uses.get(node.id, node.lineno))
    return Rewritten(compile(tree, file, "exec"), uses)


def _passes_on(function: Callable) -> bool:
    """True for wrappers of decorators, and functions of classes: they may pass on arguments without names."""
    return hasattr(function, "__wrapped__") or "." in function.__qualname__.rpartition("<locals>.")[2]


def _visible_names(function: Callable, used: Iterable[str]) -> dict[str, Any]:
    """The globals and closure variables that the function's source names."""
    names = {n: function.__globals__[n] for n in used if n in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        names[name] = cell.cell_contents
    return names


class Rewriter(ast.NodeTransformer):
    """Gives assignments Taichi's value semantics and refuses statements that an energy cannot contain."""

    refused: ClassVar[Mapping[type[ast.AST], str]] = REFUSED
    counts: ClassVar[bool] = True
    """True if turns of loops are counted."""
    lambdas: ClassVar[bool] = False
    """True if lambdas may be called."""

    def __init__(self, file: str, passes_on: bool = False):
        self.file, self.passes_on = file, passes_on
        self.locals: set[str] = set()
        self.returns: ast.expr | None = None
        self.templates: set[str] = set()
        self.loops: set[str] = set()

    def function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        arguments = definition.args
        if not self.passes_on and (arguments.vararg or arguments.kwarg or arguments.kwonlyargs):
            raise self._refusal(
                definition, "*args: Taichi has none, and no keyword-only arguments; name every argument"
            )
        stored = [
            n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        self.locals = {*stored, *(one.arg for one in ast.walk(arguments) if isinstance(one, ast.arg))}
        self.returns, definition.returns = definition.returns, None
        prologue = [ast.parse("__types__ = {}").body[0]]
        prologue += [
            self._copy_argument(a) for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        ]
        for several in (arguments.vararg, arguments.kwarg):
            if several is not None:
                several.annotation = None
                value = call("__copied__", ast.Name(several.arg, ast.Load()))
                prologue.append(ast.Assign([ast.Name(several.arg, ast.Store())], value))
        for statement in prologue:
            ast.copy_location(statement, definition.body[0])
        visited = map(self.visit, definition.body)
        body = [s for v in visited for s in (v if isinstance(v, list) else [v])]
        definition.body = [*prologue, *body]
        return definition

    def _copy_argument(self, argument: ast.arg) -> ast.stmt:
        """An argument is a copy, of the annotated type."""
        value: ast.expr = ast.Name(argument.arg, ast.Load())
        annotation, argument.annotation = argument.annotation, None
        if annotation is not None and "template" in ast.unparse(annotation):
            self.templates.add(argument.arg)
        elif annotation is not None:
            value = ast.Call(annotation, [value], [])
        return ast.Assign([ast.Name(argument.arg, ast.Store())], self._typed_assignment(argument.arg, value))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if (reason := self.refused.get(type(node))) is not None:
            raise self._refusal(node, reason)
        return super().generic_visit(node)

    def _refusal(self, node: Any, reason: str) -> TraceError:
        return TraceError(f"{self.file}:{node.lineno}: {with_cure(reason)}")

    # Statements

    def visit_For(self, node: ast.For) -> ast.AST:
        outer, self.loops = self.loops, self.loops.union(assigned_names([node.target]))
        self.generic_visit(node)
        self.loops = outer
        return self._counted(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        return self._counted(node)

    def _counted(self, node: Any) -> Any:
        if self.counts:
            node.iter = ast.copy_location(call("__counted__", node.iter), node.iter)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if self.returns is not None and node.value is not None:
            node.value = ast.Call(self.returns, [node.value], [])
        return node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        self.generic_visit(node)
        node.value = call("__copied__", node.value)
        if len(node.targets) > 1 and not all(isinstance(t, ast.Name) for t in node.targets):
            raise self._refusal(node, "assignment: several targets must be names; write a statement for each")
        return self._assignment_statements(node, node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise self._refusal(
                node, "annotated assignment: must give one name a value; write `u: ti.f64 = 0.0`"
            )
        cast = ast.Assign([node.target], ast.Call(node.annotation, [node.value], []))
        return self._assignment_statements(ast.copy_location(cast, node), [node.target])

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        return self._assignment_statements(node, [node.target])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        self._assignment_statements(ast.Expr(node), [node.target])
        node.value = self._typed_assignment(node.target.id, node.value)
        return node

    def _assignment_statements(self, node: ast.stmt, targets: Sequence[ast.expr]) -> list[ast.stmt]:
        """The assignment, and after it `a = __assign__("a", a)` for every name that it writes to."""
        statements = [node]
        for name in assigned_names(targets):
            if name not in self.locals:
                raise self._refusal(
                    node, f"'{name}': is outside of the energy, which cannot write to it; return the value"
                )
            if name in self.templates:
                raise self._refusal(
                    node,
                    f"'{name}': is a ti.template() argument, which its caller would see change; use another"
                    " name",
                )
            if name in self.loops:
                raise self._refusal(node, f"'{name}': is the variable of a loop; use another name")
            value = self._typed_assignment(name, ast.Name(name, ast.Load()))
            statements.append(ast.Assign([ast.Name(name, ast.Store())], value))
        return [ast.copy_location(statement, node) for statement in statements]

    def _typed_assignment(self, name: str, value: ast.expr) -> ast.expr:
        return call("__assign__", ast.Constant(name), value, ast.Name("__types__", ast.Load()))


def assigned_names(targets: Iterable[ast.expr]) -> Iterator[str]:
    """The names that an assignment to these targets gives a value, or a part of a value."""
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from assigned_names(target.elts)
        elif isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
            yield from assigned_names([target.value])


def call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def assign(name: str, value: Any, integers: dict[str, bool]) -> Any:
    """The value of a name after `name = value`: a copy, and real if the name began as a real number.

    Taichi would truncate a real number that is put into an integer: refused.
    """
    if isinstance(value, StandIn):
        return value
    began_integer = integers.setdefault(name, is_integer(value))
    if began_integer and not is_integer(value):
        raise TypeError(f"'{name}': {TRUNCATES}, or use another name")
    return copy_by_value(value if began_integer else as_real(value))


def copy_by_value(value: Any) -> Any:
    """A copy with value semantics: vectors, matrices, and lists of them."""
    if isinstance(value, (list, tuple)):
        parts = [copy_by_value(v) for v in value]
        return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
    if isinstance(value, dict):
        return {key: copy_by_value(one) for key, one in value.items()}
    return value.copy() if hasattr(value, "copy") and not isinstance(value, StandIn) else value
