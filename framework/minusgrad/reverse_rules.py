"""What Taichi 1.7.4 reverses wrongly, and says nothing: told by the text of a kernel."""

import ast
import inspect
from textwrap import dedent
from typing import Any

from .errors import EnergyError

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
                if carried := made & {n.id for part in inner.body for n in _names(part, ast.Load)}:
                    raise EnergyError(
                        f"{what}: '{min(carried)}' is made before an inner loop and used in it, whose reverse"
                        " Taichi gets wrong; make it in the inner loop, or keep it in an array between stages"
                    )
            made |= _made(statement)


def _loops(node: ast.AST) -> list[ast.For]:
    """The node, if it is a loop, and the loops in it; but for those that are unrolled."""
    found = (n for n in ast.walk(node) if isinstance(n, ast.For))
    return [loop for loop in found if "static(" not in ast.unparse(loop.iter)]


def _made(statement: ast.stmt) -> set[str]:
    """The names that get a value, unless it is a constant."""
    found = (n for n in ast.walk(statement) if isinstance(n, ast.Assign | ast.AugAssign))
    return {n.id for a in found if not isinstance(a.value, ast.Constant) for n in _names(a, ast.Store)}


def _names(node: ast.AST, context: type) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]
