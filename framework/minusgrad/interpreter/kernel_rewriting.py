"""Rewriting of Taichi kernels to Python: as `symbolic.rewriting` for energies, with writes to arrays.

    for i in x:                     for i in __turns__(x):                iterations of a parallel loop
        grid[i] += x[i]                 __update__(grid, i, "add", x[i])  one access, not a read and a write
        ti.atomic_max(top[None], y)     __update__(top, None, "max", y)
        s = 0; s += x[i]                s = __assign__("s", s, ...)       recorded, not truncated

The interpreter gives the statements their meaning. Statements that are refused in energies are allowed here,
except those that cannot be interpreted at all (`try`, a function within a function).
"""

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from ..engine import runtime
from ..symbolic.rewriting import REFUSED, Rebinder, Rewriter, Rewritten, assigned_names, call, rewritten

ATOMICS = {"atomic_" + op: op for op in ("add", "sub", "mul", "min", "max")}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}


class KernelRebinder(Rebinder):
    """Kernels and the functions that they call, over the stand-ins of one run.

    `namespace` has, besides the names that energies need: `statements`, which the rewritten statements
    call, and `held`, the stand-in for an array, an object or a module of the program (None: the value
    itself).
    """

    def __init__(self, namespace: Any):
        super().__init__(namespace)
        self.texts: dict[Callable, Rewritten] = {}

    def rewritten(self, function: Callable) -> Rewritten:
        if function not in self.texts:
            self.texts[function] = rewritten(function, KernelRewriter)
        return self.texts[function]

    def statements(self) -> dict[str, Callable]:
        return self.namespace.statements

    def stand_in_for(self, value: Any) -> Any:
        annotation = runtime.engine().types.ndarray
        if value is annotation:
            return self.namespace.types.ndarray
        if isinstance(value, annotation):
            return self.namespace.types.ndarray()
        if hasattr(value, "members") and type(value).__name__ == "StructType":
            return self.namespace.struct_type(value)
        held = self.namespace.held_stand_in(value)
        return super().stand_in_for(value) if held is None else held


class KernelRewriter(Rewriter):
    """Accesses to arrays become calls; loops say when a turn begins."""

    counts = False
    lambdas = True
    refused: ClassVar = {kind: why for kind, why in REFUSED.items() if kind is not ast.While}

    def function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        self.outermost = [s for s in definition.body if isinstance(s, ast.For)]
        names = [n for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        returns = [n for n in ast.walk(definition) if isinstance(n, ast.Return)]
        self.returning = any(n.value is not None for n in returns)
        self.own = {n.id for n in names} | {a.arg for a in definition.args.args}
        return super().function(definition)

    def _copy_argument(self, argument: ast.arg) -> ast.stmt:
        """An argument is a copy, unless it is a template or the function has no result."""
        made = super()._copy_argument(argument)
        return ast.Pass() if argument.arg in self.templates or not self.returning else made

    def visit_For(self, node: ast.For) -> ast.AST:  # noqa: N802
        turns = node in self.outermost and "static(" not in ast.unparse(node.iter)
        super().visit_For(node)
        node.iter = ast.copy_location(call("__turns__" if turns else "__over__", node.iter), node.iter)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:  # noqa: N802
        place, op = node.target, _OPERATORS.get(type(node.op))
        if op is None or isinstance(place, ast.Name):
            return super().visit_AugAssign(node)
        self.generic_visit(node)
        update = ast.Expr(_update_call(place, op, node.value))
        return self._assignment_statements(ast.copy_location(update, node), [place])

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        op = ATOMICS.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
        if op is None or not node.args:
            return node
        if not isinstance(node.args[0], (ast.Subscript, ast.Attribute)):
            raise self._refusal(node, "an atomic operation must change an element of an array")
        return ast.copy_location(_update_call(node.args[0], op, node.args[1], atomic=True), node)

    def _assignment_statements(self, node: ast.stmt, targets: Any) -> list[ast.stmt]:
        """As for energies, but a name of an array remains that array."""
        kept = {*assigned_names(targets)} - (self.own - self.templates)
        if kept and not any(isinstance(target, ast.Name) for target in targets):
            return [node]
        return super()._assignment_statements(node, targets)


def _update_call(place: Any, op: str, value: ast.expr, atomic: bool = False) -> ast.expr:
    """`__update__(base, index, op, value)` for an element, a component, or a part of either."""
    if isinstance(place, ast.Attribute):
        key: ast.expr = ast.Constant(place.attr)
        name = "__update_part__"
    else:
        key, name = place.slice, "__update__"
        if isinstance(key, ast.Slice):
            key = call("slice", *(part or ast.Constant(None) for part in (key.lower, key.upper, key.step)))
    return call(name, place.value, key, ast.Constant(op), value, ast.Constant(atomic))
