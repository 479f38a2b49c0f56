"""Aliasing of array indices: whether two iterations of a loop may access the same element, by the source.

    y[i], y[n - 1 - i], y[2 * i + 1], y[i, j]      each iteration has an element of its own
    y[i * w + j], y[i // w, i % w]                 so here, if rows are as long as they must be
    y[i // 2], y[i % n], y[i + j], y[i * j]        two iterations may access one element

A name that a kernel assigns once is replaced by its value. Values of functions are unknown and assumed to
differ: `check` compares the indices of a run.

Decisions 0314.
"""

import ast
from collections.abc import Iterable, Iterator

from .stack_depth import stored_again

CUTTING = ("abs", "ceil", "floor", "max", "min", "round", "select", "sqrt")
"""Functions that map several numbers to one value."""


def distinguished_turns(indices: Iterable[ast.expr], turns: frozenset[str]) -> set[str]:
    """The loop variables among `turns` of which each value has an element of its own."""
    found, halves = set[str](), set[tuple[str, type, str]]()
    for index in indices:
        found |= _distinguished_names(index, turns, halves)
    return found | {name for name, cut, by in halves if {(name, c, by) for c in _HALVES} <= halves}


def may_meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True if two indices, axis by axis, may be equal in some iterations.

    They cannot where an axis has different constants, or different remainders of one stride: y[i, 0] and
    y[i, 1], y[2 * i] and y[2 * i + 1].
    """
    for first, second in zip(map(_index_steps, one), map(_index_steps, other), strict=False):
        apart = first[2] - second[2]
        if first[:2] == second[:2] and apart and (first[1] == 0 or apart % first[1]):
            return False
    return True


def _index_steps(axis: str) -> tuple[str, int, int]:
    """An index along an axis: its name, its stride (0: a constant, 1: any) and its offset."""
    match ast.parse(axis, mode="eval").body:
        case ast.Constant(int(start)):
            return "", 0, start
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, ast.Constant(int(start))):
            text, step, begin = _index_steps(ast.unparse(left))
            return text, step, begin + (start if isinstance(sign, ast.Add) else -start)
        case ast.BinOp(ast.Constant(int(step)), ast.Mult(), of):
            return ast.unparse(of), step, 0
    return axis, 1, 0


def spelt_out(function: ast.AST, indices: Iterable[ast.expr]) -> list[ast.expr]:
    """The indices, with names that the function assigns once replaced by their values."""
    again = stored_again(function)
    given = [n for n in ast.walk(function) if isinstance(n, ast.Assign)]
    spelt = _Spelt()
    for node in sorted(given, key=lambda n: n.lineno):
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id not in again:
                spelt.made[target.id] = spelt.visit(_copy_tree(node.value))
    return [spelt.visit(_copy_tree(index)) for index in indices]


_HALVES = (ast.FloorDiv, ast.Mod)


def _distinguished_names(
    node: ast.AST, turns: frozenset[str], halves: set[tuple[str, type, str]]
) -> set[str]:
    """The names that one index distinguishes; its quotients and remainders of names go to `halves`."""
    match node:
        case ast.Name(name):
            return {name} & turns
        case ast.BinOp(_, ast.Add() | ast.Sub(), _):
            turning = [term for term in _sum_terms(node) if _names_in(term) & turns]
            if sum(not _is_row(term) for term in turning) > 1:
                return set()
            return set().union(*(_distinguished_names(term, turns, halves) for term in turning))
        case ast.BinOp(left, ast.Mult(), right):
            turning = [side for side in (left, right) if _names_in(side) & turns]
            cut = any(isinstance(s, ast.Constant) and isinstance(s.value, float) for s in (left, right))
            return (
                set()
                if len(turning) > 1 or cut
                else set().union(*(_distinguished_names(s, turns, halves) for s in turning))
            )
        case ast.BinOp(ast.Name(name), cut, by) if isinstance(cut, _HALVES) and name in turns:
            halves.add((name, type(cut), ast.unparse(by)))
            return set()
        case ast.Subscript() | ast.Attribute() if _names_in(node) & turns:
            return set()  # a part of an index, of unknown length
        case ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
            return set()
        case ast.Call(function) if ast.unparse(function).rpartition(".")[2] in CUTTING:
            return set()
    return set().union(*(_distinguished_names(child, turns, halves) for child in ast.iter_child_nodes(node)))


def _sum_terms(node: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _sum_terms(node.left)
        yield from _sum_terms(node.right)
    else:
        yield node


def _is_row(term: ast.expr) -> bool:
    """True if a term has a stride, so that other terms fit between."""
    return isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult)


def _names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _copy_tree(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


class _Spelt(ast.NodeTransformer):
    """Names replaced by their values."""

    def __init__(self) -> None:
        self.made: dict[str, ast.expr] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.made.get(node.id, node)
