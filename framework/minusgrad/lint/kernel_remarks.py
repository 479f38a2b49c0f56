"""Patterns in kernel source that Taichi differentiates wrongly, found before it is compiled.

    for i in x:                    iterations of an outermost loop run in parallel, reversed one by one;
        for j in range(n):         an inner loop at run time has one set of locals and a stack

Taichi 1.7.4 (and Quadrants) differentiate wrongly, without a message:

    before    a value computed before an inner loop and used in it
    carried   a local that an inner loop changes from itself: its reverse overflows a stack (`stack_depth`)
    index     an element of a local vector, written at an index that is known only at run time
    branch    an inner loop inside an `if`
    last      exp, rsqrt, tanh, min or max in an inner loop beside other statements (`inner_loops`)
    called    a function that contains a loop
    serial    a loop within a serialised loop
    atomic    min, max and products by atomic operations
    adjoint   an adjoint that a kernel reads: its own computation is not differentiated

or run wrongly:

    shared    a = a + ... in all iterations of a parallel loop, which is not atomic
    element   an element of a vector written in an `if`, unless `force_scalarize_matrix` is set

A remark alone is not an error: code whose gradients are right may stay.

Decisions 0338.
"""

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, NamedTuple

from ..engine import runtime
from ..errors import TraceError
from ..symbolic.rewriting import resolve_name
from ..symbolic.sources.function_sources import parse_definition
from .index_overlap import distinguished_turns, spelt_out
from .inner_loops import of_last_turns
from .stack_depth import base, how_often, is_loop, names, outermost, pushed_locals, runs, stored_names

MESSAGES = {
    "before": (
        "uses '{}', computed before this inner loop, whose reverse takes its value after the last iteration;"
        " compute it in the loop, or keep it in an array"
    ),
    "carried": (
        "changes '{}' {}, and its reverse has a stack of 32 values: from 31 changes on the process crashes or"
        " the gradient is wrong; add to an array with +=, or store each value in an array element of its own"
    ),
    "index": (
        "writes '{}', an element of a vector at an index known only at run time, and its reverse loses it;"
        " unroll the loop by ti.static, or write into an array"
    ),
    "branch": "is an inner loop in an `if`, and reversed wrongly there; write the `if` inside the loop",
    "last": (
        "has '{}' in an inner loop beside other statements, and its reverse takes the last value for all"
        " iterations; leave only the inner loop in the outer one, and add to an array, or unroll it by"
        " ti.static"
    ),
    "called": (
        "is a loop in '{}', which a kernel calls, so its arguments are computed before the loop; write it in"
        " the kernel, or unroll it by ti.static"
    ),
    "serial": (
        "is serialised and has a loop in it; write one flat loop over ti.ndrange, or unroll the inner one by"
        " ti.static"
    ),
    "atomic": (
        "{}: Taichi reverses every atomic operation as an addition; unroll the loop by ti.static with a"
        " local, or give the kernel a gradient of its own"
    ),
    "adjoint": "reads the adjoint '{}', which has no derivative of its own; compute its value in a kernel",
    "shared": (
        "computes '{}' from itself in all iterations of a parallel loop, and some updates are lost; add"
        " with +=, or write ti.loop_config(serialize=True) before the loop"
    ),
    "element": (
        "writes '{}', an element of a vector, in an `if`, and Taichi may lose it; write the whole vector, or"
        " ti.init(force_scalarize_matrix=True)"
    ),
    "random": "ti.{} gives another number at every call; draw it in Python and pass it in an array",
    "constant": (
        "'{}' is frozen when the kernel is first compiled, and the file changes it; pass it as an argument"
    ),
}
"""Fault and cure of each kind of remark."""


class Remark(NamedTuple):
    """A fault found in a kernel: `kind` for programs, `where` is file:line."""

    kind: str
    where: str
    text: str


def of_function(remarks: Iterable[Remark], function: Callable) -> list[Remark]:
    """The remarks about lines of this function."""
    code = function.__code__
    last = max(line for _, _, line in code.co_lines() if line is not None)
    found = []
    for remark in remarks:
        file, _, line = remark.where.rpartition(":")
        if file == code.co_filename and code.co_firstlineno <= int(line) <= last:
            found.append(remark)
    return found


def in_words(where: str) -> str:
    """The line of file:line, as 'line 12'."""
    return f"line {where.rpartition(':')[2]}"


def _runs_once(loop: Any) -> bool:
    """True if a loop has one iteration, as `for _ in range(1)`: nothing is lost to another one."""
    iterable = getattr(loop, "iter", None)
    if not (isinstance(iterable, ast.Call) and ast.unparse(iterable.func) == "range"):
        return False
    try:
        return len(range(*map(ast.literal_eval, iterable.args))) == 1
    except (TypeError, ValueError):
        return False


def begin_of(function: Callable) -> str:
    """Where a function begins: file:line."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def readings(function: Callable) -> list[Remark]:
    """All remarks about a kernel's function and those that it calls, in the order of lines."""
    found: list[Remark] = []
    for one in called_functions(inspect.unwrap(function)):
        found += _remarks_on_globals(one)
        try:
            tree, file = parse_definition(one)
        except TraceError:
            continue
        found += _Reader(one, file).read_kernel(tree, kernel=one is inspect.unwrap(function))
    return list(dict.fromkeys(found))


def called_functions(function: Any, seen: dict[Any, None] | None = None) -> list[Any]:
    """The function, and the file's own functions that it calls."""
    seen = {} if seen is None else seen
    if function in seen or not isinstance(function, FunctionType):
        return list(seen)
    seen[function] = None
    try:
        tree, _ = parse_definition(function)
    except TraceError:
        return list(seen)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            other = resolve_name(node.func, function)
            if callable(other) and hasattr(other, "__wrapped__"):
                called_functions(inspect.unwrap(other), seen)
    return list(seen)


def _remarks_on_globals(function: Any) -> list[Remark]:
    """Remarks on global numbers that a kernel reads and the file changes: kernels keep the first value."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[function.__module__]))
    except (OSError, KeyError, TypeError):
        return []
    changed = {n for node in ast.walk(tree) if isinstance(node, ast.Global) for n in node.names}
    again = Counter(n.id for s in tree.body if not isinstance(s, _SCOPES) for n in names(s, ast.Store))
    changed |= {name for name, times in again.items() if times > 1}
    definition = parse_definition(function)[0]
    own = {n.id for n in names(definition, ast.Store)} | {
        n.arg for n in ast.walk(definition) if isinstance(n, ast.arg)
    }
    said = [n for n in names(definition, ast.Load) if n.id not in own]
    scope, file = function.__globals__, inspect.getsourcefile(function)
    taken = [n for n in said if n.id in changed and isinstance(scope.get(n.id), (int, float))]
    return [Remark("constant", f"{file}:{n.lineno}", MESSAGES["constant"].format(n.id)) for n in taken]


_SCOPES = (ast.FunctionDef, ast.ClassDef)


class _Reader:
    """One function, statement by statement."""

    def __init__(self, function: Any, file: str):
        self.function, self.file, self.found = function, file, list[Remark]()

    def read_kernel(self, tree: ast.FunctionDef, kernel: bool) -> list[Remark]:
        loops = list(outermost(tree.body))
        before = ""
        for statement in tree.body:
            serial = "serialize=True" in before or "parallelize=1" in before
            if kernel and statement in loops and serial and any(map(is_loop, _nodes_inside(statement))):
                self.say("serial", statement)
            if kernel and statement in loops and not serial and not _runs_once(statement):
                self._remark_shared_updates(tree, statement)
            before = ast.unparse(statement)
        for outer in loops if kernel else [tree]:
            self._remark_values_before(outer)
            for call in of_last_turns(outer, self.function) if kernel else ():
                self.say("last", call, ast.unparse(call))
            for one in pushed_locals(outer, self.function, {}):
                if one.times > runtime.PLACES:
                    self.say("carried", one.node, one.name, how_often(one.times))
        self._remark_branch_loops(tree)
        self._remark_runtime_indices(tree)
        if not kernel and loops:
            self.say("called", loops[0], tree.name)
        for node in ast.walk(tree):
            name = _last_name(node.func) if isinstance(node, ast.Call) else ""
            if name in ("atomic_min", "atomic_max", "atomic_mul"):
                self.say("atomic", node, name)
            elif name in ("random", "randn"):
                self.say("random", node, name)
        if runtime.loses_elements():
            self._remark_branch_writes(tree)
        written = {id(n) for store in _written_subscripts(tree) for n in ast.walk(store)}
        for node in (n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "grad"):
            if id(node) not in written and not isinstance(node.ctx, ast.Store):
                self.say("adjoint", node, ast.unparse(node))
        return sorted(self.found, key=lambda r: int(r.where.rpartition(":")[2]))

    def say(self, kind: str, node: ast.AST, *said: str) -> None:
        line = node.lineno  # type: ignore[attr-defined]
        self.found.append(Remark(kind, f"{self.file}:{line}", MESSAGES[kind].format(*said)))

    def _remark_shared_updates(self, tree: ast.FunctionDef, loop: Any) -> None:
        """Remark on elements that every iteration of a parallel loop updates from their old value."""
        target = loop.target if isinstance(loop, ast.For) else loop.test
        turns = frozenset(n.id for n in names(target, ast.Store))
        for node in (n for n in _nodes_inside(loop) if isinstance(n, ast.Assign)):
            read = {ast.unparse(n) for n in ast.walk(node.value) if isinstance(n, ast.Subscript)}
            for place in (t for t in node.targets if isinstance(t, ast.Subscript) and ast.unparse(t) in read):
                if not self._is_local(tree, place) and not distinguished_turns(
                    spelt_out(tree, [place.slice]), turns
                ):
                    self.say("shared", node, ast.unparse(place))

    def _remark_branch_writes(self, tree: ast.FunctionDef) -> None:
        """Remark on elements of a local vector that are written in an `if`."""
        for branch in (n for n in ast.walk(tree) if isinstance(n, ast.If) and runs(n)):
            for place in (p for p in _written_subscripts(branch) if self._is_local(tree, p)):
                self.say("element", place, ast.unparse(place))

    @staticmethod
    def _is_local(tree: ast.AST, place: ast.Subscript) -> bool:
        """True if a subscript is of a local variable."""
        return base(place) in {n.id for n in names(tree, ast.Store)}

    def _remark_branch_loops(self, tree: ast.AST) -> None:
        """Remark on loops inside an `if` that is executed at run time."""
        for branch in (n for n in ast.walk(tree) if isinstance(n, ast.If) and runs(n)):
            for inner in (n for n in _nodes_inside(branch) if is_loop(n)):
                self.say("branch", inner)

    def _remark_runtime_indices(self, tree: ast.AST) -> None:
        """Remark on elements of local vectors that are written at an index known only at run time."""
        loops = [n for n in ast.walk(tree) if isinstance(n, ast.For) and not runs(n)]
        known = set().union(*(stored_names(loop.target) for loop in loops))
        computed = {n.id for n in names(tree, ast.Store)} - known
        for place in (p for p in _written_subscripts(tree) if self._is_local(tree, p)):
            if computed & {n.id for n in names(place.slice, ast.Load)}:
                self.say("index", place, ast.unparse(place))

    def _remark_values_before(self, outer: Any) -> None:
        """Remark on values computed before an inner loop and used in it."""
        inside: list[Any] = _nodes_inside(outer)
        locals_ = {n.id for n in names(outer, ast.Store)}
        for inner in filter(is_loop, inside):
            own = {id(n) for n in ast.walk(inner)}
            earlier = [n for n in inside if isinstance(n, ast.stmt) and n.lineno < inner.lineno]
            made = set().union(*(_assigned_names(n) for n in earlier if id(n) not in own)) & locals_
            for name in sorted(_read_names(inner.body) & made - {n.id for n in names(inner, ast.Store)}):
                self.say("before", inner, name)


def _written_subscripts(tree: ast.AST) -> list[ast.Subscript]:
    """The subscripts that are written."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]


def _nodes_inside(node: ast.AST) -> list[ast.AST]:
    return [n for child in ast.iter_child_nodes(node) for n in ast.walk(child)]


def _assigned_names(statement: ast.AST) -> set[str]:
    """The names that a statement assigns, except constants."""
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return set()
    return set() if isinstance(statement.value, ast.Constant) else stored_names(statement)


def _read_names(body: list[ast.stmt]) -> set[str]:
    return {n.id for s in body for n in names(s, ast.Load)}


def _last_name(function: ast.expr) -> str:
    """The last part of a function's dotted name."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
