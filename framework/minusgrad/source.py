"""A Taichi function as Python: the same source, run with stand-ins in the place of `ti`.

Taichi gives names value semantics (`a = b` copies a vector) and fixes a name's type at its first
assignment; Python does neither. So the source is rewritten before it runs: every assignment goes through
`assign`, every argument through `copied`. Line numbers stay those of the file.

What has no meaning for one element (`while`, `try`, ...) is refused here, with file, line and cure.
"""

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .errors import TraceError

ENGINES = ("taichi", "quadrants")
CURE = "write it with static loops, `if` and ti.select, or as staged kernels"
REFUSED = {
    ast.While: "a `while` loop runs an unknown number of times",
    ast.Try: "`try` has no meaning in an energy",
    ast.With: "`with` has no meaning in an energy",
    ast.Lambda: "a `lambda` cannot be compiled by Taichi",
    ast.Global: "an energy writes no globals",
    ast.Nonlocal: "an energy writes no outer names",
    ast.Yield: "an energy returns one number",
    ast.Await: "an energy returns one number",
    ast.ClassDef: "a class has no meaning in an energy",
}
MARK = "__minusgrad_stand_in__"


def rebind(function: Callable, namespace: Any) -> Callable:
    """The function over `namespace`'s stand-ins for `ti`, `ti.math` and the built-ins min, max, ...

    Nested functions are rebound as well. `namespace` provides: attributes named as in `ti`, `math`, and
    `builtins` (a dict of replaced built-ins). Raises `TraceError` for statements that are refused.
    """
    return _Rebinder(namespace).rebind(inspect.unwrap(function))


class _Rebinder:
    def __init__(self, namespace: Any):
        self.namespace = namespace
        self.done: dict[Callable, Callable] = {}

    def rebind(self, function: Callable) -> Callable:
        if function not in self.done:
            self.done[function] = lambda *args: self.done[function](*args)  # for recursion
            self.done[function] = self._compiled(function)
        return self.done[function]

    def _compiled(self, function: Callable) -> Callable:
        tree, file = _parsed(function)
        names = dict(_visible(function))
        scope = {n: self._replaced(v) for n, v in names.items()}
        scope |= {"__builtins__": builtins.__dict__ | self.namespace.builtins, MARK: True}
        scope |= {"__assign__": assign, "__copied__": copied}
        exec(compile(tree, file, "exec"), scope)
        return scope[function.__name__]

    def _replaced(self, value: Any) -> Any:
        """What a name of the function's surroundings stands for here."""
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in ENGINES:
            return self.namespace.math if value.__name__.endswith(".math") else self.namespace
        module = getattr(value, "__module__", None) or ""
        if isinstance(value, FunctionType) or getattr(value, "_is_taichi_function", False):
            own = inspect.unwrap(value)
            if not module.partition(".")[0] in (*ENGINES, "math", "numpy"):
                return self.rebind(own)
        if module.partition(".")[0] in ENGINES and hasattr(value, "__name__"):
            home = self.namespace.math if ".math" in module else self.namespace
            return getattr(home, value.__name__)
        return value


def _visible(function: Callable) -> dict[str, Any]:
    """The globals and closure variables that the function's code names."""
    code: CodeType = function.__code__
    names = {n: function.__globals__[n] for n in _names(code) if n in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        names[name] = cell.cell_contents
    return names


def _names(code: CodeType) -> set[str]:
    nested = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, nested))


def _parsed(function: Callable) -> tuple[ast.Module, str]:
    file = inspect.getsourcefile(function) or "<unknown>"
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        raise TraceError(f"{function.__qualname__}: its source cannot be found; put it into a file") from None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first - 1)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    definition.body = _docless(definition.body)
    tree = ast.Module([_Rewriter(file).function(definition)], [])
    return ast.fix_missing_locations(tree), file


def _docless(body: list[ast.stmt]) -> list[ast.stmt]:
    is_doc = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] or [ast.Pass()] if is_doc else body


class _Rewriter(ast.NodeTransformer):
    """Gives assignments Taichi's value semantics and refuses what an energy cannot contain."""

    def __init__(self, file: str):
        self.file = file

    def function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        prologue = [_parse("__types__ = {}")]
        for argument in definition.args.args:
            argument.annotation = None
            prologue.append(_parse(f"{argument.arg} = __copied__({argument.arg})"))
        for statement in prologue:
            ast.copy_location(statement, definition.body[0])
        definition.returns = None
        definition.body = [*prologue, *(self.visit(statement) for statement in definition.body)]
        return definition

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if (reason := REFUSED.get(type(node))) is not None:
            raise TraceError(f"{self.file}:{getattr(node, 'lineno', 0)}: {reason}; {CURE}")
        return super().generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802
        return ast.copy_location(ast.Pass(), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        target = node.targets[0]
        node.value = self._assigned(target.id, node.value) if isinstance(target, ast.Name) else _call("__copied__", node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise TraceError(f"{self.file}:{node.lineno}: an annotated assignment gives one name a value")
        cast = ast.Call(node.annotation, [node.value], [])
        assignment = ast.Assign([node.target], self._assigned(node.target.id, cast))
        return ast.copy_location(assignment, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        old = ast.Name(node.target.id, ast.Load())
        value = self._assigned(node.target.id, ast.BinOp(old, node.op, node.value))
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _assigned(self, name: str, value: ast.expr) -> ast.expr:
        return _call("__assign__", ast.Constant(name), value, ast.Name("__types__", ast.Load()))


def _parse(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def assign(name: str, value: Any, integers: dict[str, bool]) -> Any:
    """What a name holds after `name = value`: a copy. Taichi would truncate a real put into an integer."""
    integer = isinstance(value, int) or getattr(value, "integer", False) is True
    real = isinstance(value, float) or getattr(value, "integer", True) is False
    if integers.setdefault(name, integer) and real:
        raise TypeError(
            f"'{name}' began as an integer and is given a real number, which Taichi truncates;"
            f" begin with `{name} = 0.0`, or use another name"
        )
    return copied(value)


def copied(value: Any) -> Any:
    """A copy with value semantics: vectors, matrices, and lists of them."""
    if isinstance(value, (list, tuple)):
        return type(value)(copied(v) for v in value)
    return value.copy() if hasattr(value, "copy") else value
