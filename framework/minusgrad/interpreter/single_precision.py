"""Unintended single precision in a kernel over doubles.

    0.1 * x[i]            a literal, and i / n of whole numbers, where `default_fp` is f32
    k(0.1), dt: ti.f32    a number that is taken as f32

A remark is a warning; where a value is wrong, it names the cause.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from ..engine import runtime
from ..lint.kernel_remarks import Remark, begin_of, called_functions
from ..lint.stack_depth import names
from ..symbolic.sources.function_sources import parse_definition
from .recorded_launches import RecordedLaunch

LITERAL = "the constant {} is of single precision (default_fp), and loses digits; write ti.f64({})"
QUOTIENT = "{} divides whole numbers in single precision (default_fp); make one of them a double by ti.cast"
TAKEN = "takes '{}' as f32, in which {} loses digits; declare it as ti.f64"
TYPED = ("f64", "float64", "cast")


def in_single(launch: RecordedLaunch) -> Iterator[Remark]:
    """The operations that a launch over doubles computes in single precision."""
    ti = runtime.engine()
    parameters = inspect.signature(launch.function).parameters.values()
    for parameter, value in zip(parameters, launch.arguments, strict=False):
        if parameter.annotation is ti.f32 and isinstance(value, float) and _loses_digits(value):
            yield Remark("single", begin_of(launch.function), TAKEN.format(parameter.name, repr(value)))
    if runtime.part("lang.impl").get_runtime().default_fp == ti.f32:
        yield from chain.from_iterable(map(_untyped_literals, called_functions(launch.function)))


def _untyped_literals(function: Callable) -> Iterator[Remark]:
    """Literals and quotients without a type."""
    tree, file = parse_definition(function)
    typed = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in TYPED
        for part in ast.walk(node)
    }
    whole = {
        n.id for loop in ast.walk(tree) if isinstance(loop, ast.For) for n in names(loop.target, ast.Store)
    }
    for node in (n for n in ast.walk(tree) if id(n) not in typed):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and _loses_digits(node.value):
            text = LITERAL.format(repr(node.value), repr(node.value))
            yield Remark("single", f"{file}:{node.lineno}", text)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_whole(node, whole):
            yield Remark("single", f"{file}:{node.lineno}", QUOTIENT.format(ast.unparse(node)))


def _loses_digits(value: float) -> bool:
    return float(np.float32(value)) != value


def _is_whole(node: ast.expr, loops: set[str]) -> bool:
    """Whether it is made of the names of loops, whole numbers and sizes of arrays alone."""
    match node:
        case ast.Constant(int()):
            return True
        case ast.Name(name):
            return name in loops
        case ast.BinOp(
            left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv() | ast.Mod(), right
        ):
            return _is_whole(left, loops) and _is_whole(right, loops)
        case ast.Subscript(ast.Attribute(_, "shape")):
            return True
    return False
