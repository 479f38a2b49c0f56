"""Rules for stages: refuse kernels that Taichi 1.7.4 differentiates wrongly without a message.

Decisions 0314.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import combinations
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

from ..engine import runtime
from ..errors import EnergyError
from ..symbolic.sources.function_sources import parse_definition
from .index_overlap import distinguished_turns, may_meet, spelt_out
from .kernel_remarks import in_words, readings
from .stack_depth import base, how_often, outermost, pushed_locals, runs, stored_names

NEITHER = (
    "neither overwrites nor adds to '{}', so its reverse would be wrong; use only `+=` from the second write"
    " on, and do not write an array that it reads"
)


REFUSED = ("serial", "called", "before", "index", "branch", "last", "atomic")
"""Kinds of remarks that are wrong in every stage; the first found is reported."""
TOO_OFTEN = (
    "changes '{}' {}, and its reverse has a stack of {:g} values; add to an array with +=, or store each"
    " value in an array element of its own"
)


def check_text(what: str, stage: Any) -> None:
    """Refuse source that Taichi reverses wrongly: products in place, and loops (`kernel_remarks`)."""
    (function,) = ast.parse(dedent(inspect.getsource(inspect.unwrap(stage.kernel)))).body
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
            array = base(node.target)
            if array in stage.writes and not isinstance(node.op, ast.Add | ast.Sub):
                raise EnergyError(f"{what}: {NEITHER.format(stage.arrays[array])}")
    _check_reads(what, stage, function)
    _check_inputs(what, stage, function)
    _check_order(what, stage, function)
    _check_passed(what, stage, function)
    _check_places(what, stage, function)
    _check_neighbours(what, stage, function)
    seen = [remark for remark in readings(stage.kernel) if remark.kind in REFUSED]
    if seen:
        first = min(seen, key=lambda remark: REFUSED.index(remark.kind))
        raise EnergyError(f"{what}, {in_words(first.where)}: {first.text}")


def check_stacks(what: str, stage: Any, arrays: Mapping[str, Any]) -> None:
    """Refuse locals that overflow the stack of the reverse (`stack_depth`).

    `arrays`: by the kernel's arguments; their lengths bound the loops.
    """
    shapes = {a: SimpleNamespace(shape=tuple(array.shape)) for a, array in arrays.items()}
    tree, file = parse_definition(inspect.unwrap(stage.kernel))
    for outer in outermost(tree.body):
        for one in pushed_locals(outer, inspect.unwrap(stage.kernel), shapes | dict(stage.numbers)):
            if one.times > runtime.stack():
                where = in_words(f"{file}:{one.node.lineno}")
                message = TOO_OFTEN.format(one.name, how_often(one.times), runtime.stack())
                raise EnergyError(f"{what}, {where}: {message}")


def _check_reads(what: str, stage: Any, function: ast.AST) -> None:
    """A statement does not read the element it writes: Taichi's reverse would use its final value."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign | ast.AugAssign):
            continue
        read = {base(n) for n in ast.walk(node.value) if isinstance(n, ast.Subscript)}
        written = stored_names(node)
        if both := sorted(read & written & set(stage.writes)):
            raise EnergyError(
                f"{what}: computes '{stage.arrays[both[0]]}' from itself, and its reverse would use the final"
                " values; write into another array"
            )


def _check_inputs(what: str, stage: Any, function: ast.AST) -> None:
    """A stage writes only to arguments that are declared as written."""
    for node in _written_places(function):
        array = base(node)
        if array in stage.arrays and array not in stage.writes:
            raise EnergyError(
                f"{what}: changes '{stage.arrays[array]}', which it is not declared to write, and its reverse"
                " would use the changed values; write into another array, and declare it"
            )


def _check_order(what: str, stage: Any, function: ast.AST) -> None:
    """An array that was read is not overwritten: Taichi's reverse would use its final value."""
    last: dict[str, tuple[int, int]] = {}
    for node in _written_places(function):
        last[base(node)] = max(last.get(base(node), (0, 0)), (node.lineno, node.col_offset))
    for node in _read_subscripts(function):
        array = base(node)
        if array in stage.writes and (node.lineno, node.col_offset) < last.get(array, (0, 0)):
            raise EnergyError(
                f"{what}: reads '{stage.arrays[array]}' and writes it afterwards, and its reverse would use"
                " the final values; write into another array"
            )


def _check_passed(what: str, stage: Any, function: ast.AST) -> None:
    """A written array is not passed to a function, whose accesses are not checked."""
    for call in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
        passed = {a.id for a in call.args if isinstance(a, ast.Name)} & set(stage.writes)
        if passed and ast.unparse(call.func).rpartition(".")[2] not in ("grouped", "len", "static"):
            raise EnergyError(
                f"{what}: passes '{stage.arrays[min(passed)]}', which it writes, to a function; write it"
                " in the kernel"
            )


def _check_neighbours(what: str, stage: Any, function: Any) -> None:
    """In one loop an array is written at one index, or at indices that never meet, and read only there."""
    for loop in outermost(function.body):
        stores = [n for n in _written_places(loop) if base(n) in stage.writes]
        kept = [n for n, _ in _overwritten_targets(loop, frozenset())]
        for array in {base(n) for n in stores}:
            places = {_subscript_indices(function, n) for n in stores if base(n) == array}
            read = {_subscript_indices(function, n) for n in _read_subscripts(loop) if base(n) == array}
            if read - places:
                raise EnergyError(
                    f"{what}: reads '{stage.arrays[array]}' where another iteration may write it, and its"
                    " reverse takes iterations in no fixed order; make two loops of it"
                )
            if any(base(n) == array for n in kept) and any(may_meet(*two) for two in combinations(places, 2)):
                raise EnergyError(
                    f"{what}: overwrites '{stage.arrays[array]}' at indices that may be equal, and its"
                    " reverse would give the derivative to any one of them; make two loops of it, or add with"
                    " `+=`"
                )


def _subscript_indices(function: ast.AST, node: ast.AST) -> tuple[str, ...]:
    """The indices of a subscript, axis by axis."""
    spelt = spelt_out(function, list(_index_nodes(node)))
    axes = (axis for index in spelt for axis in (index.elts if isinstance(index, ast.Tuple) else [index]))
    return tuple(map(ast.unparse, axes))


def _check_places(what: str, stage: Any, function: ast.AST) -> None:
    """An element is assigned once: Taichi's reverse gives the adjoint to any one of several iterations."""
    looked_up = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and _reads_an_array(node.value, stage)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node, turns in _overwritten_targets(function, frozenset()):
        array = base(node)
        if array not in stage.writes:
            continue
        indices = list(_index_nodes(node))
        names = {n.id for index in indices for n in ast.walk(index) if isinstance(n, ast.Name)}
        spelt = spelt_out(function, indices)
        by_array = names & looked_up or any(_names_an_array(index, stage) for index in spelt)
        if by_array or turns - distinguished_turns(spelt, turns):
            again = (
                "indices from an array, which may repeat" if by_array else "one index in several iterations"
            )
            raise EnergyError(
                f"{what}: overwrites '{stage.arrays[array]}' at {again}, and its reverse would give the"
                " derivative to any one of them; add with `+=`, or give each iteration an index of its own"
            )


def _index_nodes(node: ast.AST) -> Iterator[ast.expr]:
    """The indices of a subscript."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        if isinstance(node, ast.Subscript):
            yield node.slice
        node = node.value


def _written_places(function: ast.AST) -> Iterator[ast.Subscript | ast.Attribute]:
    """The subscripts and attributes that are written."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node


def _read_subscripts(function: ast.AST) -> Iterator[ast.Subscript]:
    """The subscripts that are read: `x[i]`, but not the `x[i]` of `x[i][0] = ...`, nor a shape."""
    parts = {id(n) for store in _written_places(function) for n in ast.walk(store.value)}
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and id(node) not in parts:
            yield from () if ast.unparse(node.value).endswith(".shape") else (node,)


def _names_an_array(index: ast.AST, stage: Any) -> bool:
    """True if an index depends on values of an array (its shape is allowed)."""
    shapes = {id(n.value) for n in ast.walk(index) if isinstance(n, ast.Attribute) and n.attr == "shape"}
    return any(
        n.id in stage.arrays and id(n) not in shapes for n in ast.walk(index) if isinstance(n, ast.Name)
    )


def _reads_an_array(node: ast.AST, stage: Any) -> bool:
    return any(base(read) in stage.arrays for read in _read_subscripts(node))


def _overwritten_targets(
    node: ast.AST, turns: frozenset[str]
) -> Iterator[tuple[ast.Subscript | ast.Attribute, frozenset[str]]]:
    """Targets of `=`, and the loop variables that distinguish their iterations (`_` left out)."""
    if isinstance(node, ast.For) and runs(node):
        turns |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name) and n.id != "_"}
    if isinstance(node, ast.Assign):
        yield from ((place, turns) for target in node.targets for place in _written_places(target))
    for child in ast.iter_child_nodes(node):
        yield from _overwritten_targets(child, turns)
