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
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from .errors import TraceError
from .source import parsed
from .stacks import blocks, names, runs

# fmt: off
KEPT = {
    "abs", "acos", "asin", "atan2", "cast", "ceil", "cos", "cross", "determinant", "dot", "f32", "f64",
    "float", "floor", "fract", "grouped", "i32", "i64", "int", "inverse", "length", "log", "Matrix", "mix",
    "ndrange", "norm", "norm_sqr", "normalized", "outer_product", "pow", "range", "select", "sin", "sqrt",
    "static", "sum", "trace", "transpose", "vec2", "vec3", "vec4", "Vector", "zero",
}
# fmt: on
"""Functions, by the last part of their names, that are computed again, or need not be."""


class Last(NamedTuple):
    """A call whose value, of the last turn, is taken for that of all."""

    node: ast.Call
    text: str


def of_last_turns(turn: Any, function: Any) -> Iterator[Last]:
    """Of one turn (the tree of an outermost loop) of a function."""
    again = {n for n, times in Counter(n.id for n in names(turn, ast.Store)).items() if times > 1}
    yield from _of(turn.body, function, _stands_alone(turn.body, again), again)


def _of(body: list[ast.stmt], function: Any, alone: bool, again: set[str]) -> Iterator[Last]:
    """`alone`: whether nothing but loops stands in the blocks around, this one among them."""
    for statement in body:
        inner = blocks(statement)
        runs_here = _is_loop(statement)
        right = alone and not any(_is_loop(n) for block in inner for s in block for n in ast.walk(s))
        for block in inner:
            for call in _calls(block) if runs_here and not right else ():
                if not _is_kept(call, function):
                    yield Last(call, ast.unparse(call))
            if not (runs_here and right):
                around = alone and isinstance(statement, ast.For) and _stands_alone(block, again)
                yield from _of(block, function, around, again)


def _is_loop(node: ast.AST) -> bool:
    return isinstance(node, (ast.For, ast.While)) and runs(node)


def _stands_alone(body: list[ast.stmt], again: set[str]) -> bool:
    """Whether a block has loops, and names of constants, alone."""
    return all(
        isinstance(s, ast.Pass)
        or (isinstance(s, ast.For) and (runs(s) or _stands_alone(s.body, again)))
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        or (isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) and not _stored(s) & again)
        for s in body
    )


def _stored(statement: ast.stmt) -> set[str]:
    return {n.id for n in names(statement, ast.Store)}


def _calls(within: Any) -> Iterator[ast.Call]:
    """The calls in a piece of text, but those in places and ranges, and those of inner loops."""
    for one in within if isinstance(within, list) else [within]:
        if isinstance(one, ast.Call):
            yield one
        if isinstance(one, ast.AST) and not _is_loop(one):
            for name, child in ast.iter_fields(one):
                if name != ("slice" if isinstance(one, ast.Subscript) else "iter"):
                    yield from _calls(child)


def _is_kept(call: ast.Call, function: Any, seen: tuple[Any, ...] = ()) -> bool:
    """Whether a call is harmless: by its name, or because all that it calls is."""
    if ast.unparse(call.func).rpartition(".")[2] in KEPT:
        return True
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    other = scope.get(call.func.id) if isinstance(call.func, ast.Name) else None
    if not callable(other) or inspect.unwrap(other) in seen:
        return False
    other = inspect.unwrap(other)
    try:
        tree, _ = parsed(other)
    except TraceError:
        return False
    return all(_is_kept(inner, other, (*seen, other)) for inner in _calls(tree.body))
