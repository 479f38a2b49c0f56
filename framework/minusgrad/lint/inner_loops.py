"""Values of inner loops that Taichi's reverse mode takes from the last iteration, found by the source.

    for i in x:
        U[None] += x[i]                        with this line beside the loop,
        for j in range(x.shape[0]):
            U[None] += ti.exp(x[i] - x[j])     wrong by some ten percent, without a message

Taichi 1.7.4 reverses an inner loop by itself if only loops enclose it. Otherwise it keeps the values of
locals (`stack_depth`), but neither the results of exp, rsqrt and tanh nor the operands of max and min, which
their derivatives need. Sums, products, roots, logarithms, sines and powers are recomputed and right, and so
is everything in unrolled loops, in iterations of the outermost loop, and in Quadrants.

Decisions 0314.
"""

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from ..engine import runtime
from ..errors import TraceError
from ..symbolic.operations import OPERATIONS
from ..symbolic.rewriting import resolve_name
from ..symbolic.sources.function_sources import parse_definition
from .stack_depth import blocks, is_loop, stands_alone, stored_again

# fmt: off
KEPT = {
    "cast", "cross", "determinant", "dot", "f32", "f64", "float", "fract", "grouped", "i32", "i64", "int",
    "inverse", "length", "Matrix", "mix", "ndrange", "norm", "norm_sqr", "normalized", "outer_product",
    "range", "static", "sum", "trace", "transpose", "vec2", "vec3", "vec4", "Vector", "zero",
}
# fmt: on
"""Functions besides operations (see their column `recomputed`), by the last part of their names, whose values
Taichi recomputes or does not need."""


def of_last_turns(turn: Any, function: Any) -> Iterator[ast.Call]:
    """The calls in an iteration (the tree of an outermost loop) whose last value is used for all."""
    again = stored_again(turn)
    yield from _of(turn.body, function, stands_alone(turn.body, again), again)


def _of(body: list[ast.stmt], function: Any, alone: bool, again: set[str]) -> Iterator[ast.Call]:
    """`alone`: True if this block and those around it contain only loops."""
    for statement in body:
        inner = blocks(statement)
        runs_here = is_loop(statement)
        right = alone and not any(is_loop(n) for block in inner for s in block for n in ast.walk(s))
        for block in inner:
            for call in _calls_in(block) if runs_here and not right else ():
                if not _is_kept(call, function):
                    yield call
            if not (runs_here and right):
                around = alone and isinstance(statement, ast.For) and stands_alone(block, again)
                yield from _of(block, function, around, again)


def _calls_in(within: Any) -> Iterator[ast.Call]:
    """The calls in a syntax tree, except those in indices and ranges and in inner loops."""
    for one in within if isinstance(within, list) else [within]:
        if isinstance(one, ast.Call):
            yield one
        if isinstance(one, ast.AST) and not is_loop(one):
            for name, child in ast.iter_fields(one):
                if name != ("slice" if isinstance(one, ast.Subscript) else "iter"):
                    yield from _calls_in(child)


def _is_recomputed(name: str) -> bool:
    return name in KEPT or (name in OPERATIONS and OPERATIONS[name].recomputed)


def _is_kept(call: ast.Call, function: Any, seen: tuple[Any, ...] = ()) -> bool:
    """True if a call is harmless: a function of Taichi by its name, one of the file if all its calls are."""
    other = resolve_name(call.func, function)
    if other is None or (type(other).__module__ == "builtins" and not hasattr(other, "__wrapped__")):
        return _is_recomputed(ast.unparse(call.func).rpartition(".")[2])
    other = inspect.unwrap(other)
    if (getattr(other, "__module__", "") or "").split(".")[0] in runtime.PREFIXES:
        return _is_recomputed(ast.unparse(call.func).rpartition(".")[2])
    if other in seen:
        return False
    try:
        tree, _ = parse_definition(other)
    except TraceError:
        return False
    return all(_is_kept(inner, other, (*seen, other)) for inner in _calls_in(tree.body))
