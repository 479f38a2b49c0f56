"""What the reverse of an inner loop takes from its last turn, though each had its own: told by the text.

    for i in x:
        U[None] += x[i]                        with this line beside the loop,
        for j in range(x.shape[0]):
            U[None] += ti.exp(x[i] - x[j])     wrong by some ten percent, in silence

Taichi 1.7.4 reverses an inner loop by itself where nothing but loops stands around it. Else it keeps what
locals were (`stacks`), but not what exp, rsqrt and tanh gave, nor what max and min compared, of which their
derivatives are made. Sums, products, roots, logarithms, sines and powers are computed again, and right. So
are all in loops that are unrolled, in the turns of the outermost loop, and in Quadrants.
"""

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from ..engine import runtime
from ..errors import TraceError
from ..symbolic.operations import OPERATIONS
from ..symbolic.rewriting import parsed, resolved
from .stack_depth import blocks, is_loop, stands_alone, stored_again

# fmt: off
KEPT = {
    "cast", "cross", "determinant", "dot", "f32", "f64", "float", "fract", "grouped", "i32", "i64", "int",
    "inverse", "length", "Matrix", "mix", "ndrange", "norm", "norm_sqr", "normalized", "outer_product",
    "range", "static", "sum", "trace", "transpose", "vec2", "vec3", "vec4", "Vector", "zero",
}
# fmt: on
"""Functions that are no operations, by the last part of their names, that Taichi computes again or that need
not be; of operations the column `recomputed` tells."""


def of_last_turns(turn: Any, function: Any) -> Iterator[ast.Call]:
    """The calls, in a turn (the tree of an outermost loop), whose value of the last turn is taken for all."""
    again = stored_again(turn)
    yield from _of(turn.body, function, stands_alone(turn.body, again), again)


def _of(body: list[ast.stmt], function: Any, alone: bool, again: set[str]) -> Iterator[ast.Call]:
    """`alone`: whether nothing but loops stands in the blocks around, this one among them."""
    for statement in body:
        inner = blocks(statement)
        runs_here = is_loop(statement)
        right = alone and not any(is_loop(n) for block in inner for s in block for n in ast.walk(s))
        for block in inner:
            for call in _calls(block) if runs_here and not right else ():
                if not _is_kept(call, function):
                    yield call
            if not (runs_here and right):
                around = alone and isinstance(statement, ast.For) and stands_alone(block, again)
                yield from _of(block, function, around, again)


def _calls(within: Any) -> Iterator[ast.Call]:
    """The calls in a piece of text, but those in places and ranges, and those of inner loops."""
    for one in within if isinstance(within, list) else [within]:
        if isinstance(one, ast.Call):
            yield one
        if isinstance(one, ast.AST) and not is_loop(one):
            for name, child in ast.iter_fields(one):
                if name != ("slice" if isinstance(one, ast.Subscript) else "iter"):
                    yield from _calls(child)


def _is_recomputed(name: str) -> bool:
    return name in KEPT or (name in OPERATIONS and OPERATIONS[name].recomputed)


def _is_kept(call: ast.Call, function: Any, seen: tuple[Any, ...] = ()) -> bool:
    """Whether a call is harmless: the engine's own by its name, the file's because all that it calls is."""
    other = resolved(call.func, function)
    if other is None or (type(other).__module__ == "builtins" and not hasattr(other, "__wrapped__")):
        return _is_recomputed(ast.unparse(call.func).rpartition(".")[2])
    other = inspect.unwrap(other)
    if (getattr(other, "__module__", "") or "").split(".")[0] in runtime.PREFIXES:
        return _is_recomputed(ast.unparse(call.func).rpartition(".")[2])
    if other in seen:
        return False
    try:
        tree, _ = parsed(other)
    except TraceError:
        return False
    return all(_is_kept(inner, other, (*seen, other)) for inner in _calls(tree.body))
