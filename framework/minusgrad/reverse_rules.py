"""What Taichi 1.7.4 reverses wrongly, and says nothing: told by the text of a kernel."""

import ast
import inspect
from textwrap import dedent
from typing import Any

from .errors import EnergyError
from .readings import names

NEITHER = (
    "neither overwrites nor adds to '{}', so its reverse would be wrong; from the second write on `+=` is the"
    " only way, and what is read is not written"
)


def check_text(what: str, stage: Any) -> None:
    """Refuse what Taichi 1.7.4 reverses wrongly in silence: products in place, and two shapes of loops."""
    (function,) = ast.parse(dedent(inspect.getsource(inspect.unwrap(stage.kernel)))).body
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            array = ast.unparse(node.target.value)
            if array in stage.writes and not isinstance(node.op, ast.Add | ast.Sub):
                raise EnergyError(f"{what}: {NEITHER.format(stage.arrays[array])}")
    _check_reads(what, stage, function)
    _check_calls(what, inspect.unwrap(stage.kernel), function)
    before = ""
    for statement in ast.iter_child_nodes(function):
        serialised = "serialize=True" in before or "parallelize=1" in before
        if serialised and any(loop is not statement for loop in _loops(statement)):
            raise EnergyError(
                f"{what}: has a loop within a serialised loop, whose reverse Taichi gets wrong; write one"
                " flat loop over ti.ndrange, or unroll the inner one by ti.static"
            )
        before = ast.unparse(statement)
    for outer in _loops(function):
        made: set[str] = set()
        for statement in outer.body:
            for inner in _loops(statement):
                if carried := made & {n.id for part in inner.body for n in names(part, ast.Load)}:
                    raise EnergyError(
                        f"{what}: '{min(carried)}' is made before an inner loop and used in it, whose reverse"
                        " Taichi gets wrong; make it in the inner loop, or keep it in an array between stages"
                    )
            made |= _made(statement)


def _check_reads(what: str, stage: Any, function: ast.AST) -> None:
    """What a statement writes it does not read: Taichi's reverse would take what stands there at the end."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign | ast.AugAssign):
            continue
        read = {ast.unparse(n.value) for n in ast.walk(node.value) if isinstance(n, ast.Subscript)}
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        written = {ast.unparse(t.value) for t in targets if isinstance(t, ast.Subscript)}
        if both := sorted(read & written & set(stage.writes)):
            raise EnergyError(
                f"{what}: makes '{stage.arrays[both[0]]}' from itself; its reverse would take what stands"
                " there at the end: write into an array of its own"
            )


def _check_calls(what: str, function: Any, tree: ast.AST, seen: frozenset = frozenset()) -> None:
    """The functions that it calls have no loops that run: what goes into them is made before."""
    scope = function.__globals__ | inspect.getclosurevars(function).nonlocals
    for node in ast.walk(tree):
        by_name = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        called = scope.get(node.func.id) if by_name else None  # type: ignore[attr-defined]
        plain = inspect.unwrap(called) if callable(called) else None
        if not inspect.isfunction(plain) or plain in seen:
            continue
        inner = ast.parse(dedent(inspect.getsource(plain)))
        if _loops(inner):
            raise EnergyError(
                f"{what}: calls '{plain.__name__}', which has a loop; Taichi gets its reverse wrong where it"
                " uses what was made before: write the loop in the kernel, or unroll it by ti.static"
            )
        _check_calls(what, plain, inner, seen | {plain})


def _loops(node: ast.AST) -> list[ast.For]:
    """The node, if it is a loop, and the loops in it; but for those that are unrolled."""
    found = (n for n in ast.walk(node) if isinstance(n, ast.For))
    return [loop for loop in found if "static(" not in ast.unparse(loop.iter)]


def _made(statement: ast.stmt) -> set[str]:
    """The names that get a value, unless it is a constant."""
    found = (n for n in ast.walk(statement) if isinstance(n, ast.Assign | ast.AugAssign))
    return {n.id for a in found if not isinstance(a.value, ast.Constant) for n in names(a, ast.Store)}
