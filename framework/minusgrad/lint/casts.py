"""Casts in kernel source: where a real number becomes an integer, and loses its derivative.

They explain a gradient that finite steps contradict, where a kernel is too large to be interpreted.
"""

import ast
import inspect
from collections.abc import Callable, Iterator

from ..errors import TraceError
from ..symbolic.sources.function_sources import parse_definition
from .kernel_remarks import Remark, called_functions
from .stack_depth import names

INTEGERS = ("int", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "int32", "int64")
ROUNDINGS = ("floor", "ceil", "round")
MESSAGE = (
    "'{}' becomes an integer, whose derivative is zero: moving it a little changes nothing, moving it further"
    " does; weight the neighbouring cells by its fraction"
)


def casts(function: Callable) -> list[Remark]:
    """The casts to integers, and roundings, in a kernel's function and those that it calls."""
    found: list[Remark] = []
    for one in called_functions(inspect.unwrap(function)):
        try:
            tree, file = parse_definition(one)
        except TraceError:
            continue
        turns = {
            n.id
            for loop in ast.walk(tree)
            if isinstance(loop, ast.For)
            for n in names(loop.target, ast.Store)
        }
        for node, value in _integer_casts(tree):
            said = {n.id for n in names(value, ast.Load)} - turns - {"ti", "qd"}
            if said:
                text = MESSAGE.format(ast.unparse(value))
                found.append(Remark("cast", f"{file}:{node.lineno}", text))
    return found


def _integer_casts(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls that make an integer, and what they make it of."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        kinds = [ast.unparse(a).rpartition(".")[2] for a in node.args]
        if name == "cast" and isinstance(node.func, ast.Attribute) and kinds[-1:] and kinds[-1] in INTEGERS:
            yield node, node.args[0] if len(node.args) == 2 else node.func.value
        elif name in (*INTEGERS, *ROUNDINGS) and len(node.args) >= 1:
            yield node, node.args[0]
