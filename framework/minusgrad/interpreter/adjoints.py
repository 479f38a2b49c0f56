"""Adjoints of a replayed run as numbers: one pass from the outputs back over the graph.

    abar = sum over users y of ybar dy/da            users before arguments

The rules are the columns `derivative` and `branches` of the table of operations, each compiled once. Where a
select, min or max chose a side, the adjoint goes down that side alone, so that an infinite derivative on the
other one is never met. The graph does not grow, so a run that could be replayed has its derivatives.

Decisions 0080.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..symbolic.differentiation import differentiated_arguments
from ..symbolic.graph import Graph, reachable
from ..symbolic.numpy_values import value as numpy_value
from ..symbolic.operations import OPERATIONS
from ..symbolic.scalar import Scalar

Rule = Callable[[Sequence[float]], float]
"""A partial derivative dy/da as a function of the numbers y, a, b, ..."""


def adjoints(
    outputs: Iterable[tuple[Scalar, float]],
    wrt: Iterable[Scalar] | None,
    number: Callable[[Scalar], float],
) -> dict[int, float]:
    """d(sum of weight x output)/d(node), by serial, for all nodes that depend on `wrt` (None: for all)."""
    weights: dict[int, float] = {}
    ends: dict[int, Scalar] = {}
    for node, weight in outputs:
        weights[node.serial] = weights.get(node.serial, 0.0) + weight
        ends[node.serial] = node
    nodes = reachable(list(ends.values()), differentiated_arguments)
    live = None if wrt is None else _nodes_depending_on(nodes, wrt)
    found = dict(weights)
    with np.errstate(all="ignore"):
        for node in reversed(nodes):
            adjoint = found.get(node.serial)
            if adjoint is not None and (live is None or node.serial in live):
                _pass_on(node, adjoint, found, live, number)
    return found


def _nodes_depending_on(nodes: Sequence[Scalar], wrt: Iterable[Scalar]) -> set[int]:
    live = {leaf.serial for leaf in wrt}
    for node in nodes:
        if any(a.serial in live for a in differentiated_arguments(node)):
            live.add(node.serial)
    return live


def _pass_on(
    node: Scalar,
    adjoint: float,
    found: dict[int, float],
    live: set[int] | None,
    number: Callable[[Scalar], float],
) -> None:
    """Add the adjoint of a node to those of its arguments."""
    row = OPERATIONS[node.op]
    if row.branches is not None:
        side = node.args[_side_taken(node.op, len(node.args))([number(a) for a in (node, *node.args)])]
        found[side.serial] = found.get(side.serial, 0.0) + adjoint
    elif row.derivative is not None:
        values: list[float] | None = None
        for argument, rule in zip(node.args, _derivative_rules(node.op, len(node.args)), strict=True):
            if rule is None or (live is not None and argument.serial not in live):
                continue
            if values is None:
                values = [number(a) for a in (node, *node.args)]
            found[argument.serial] = found.get(argument.serial, 0.0) + adjoint * rule(values)


# Rules of operations, compiled ----------------------------------------------------------------------


@cache
def _derivative_rules(op: str, arity: int) -> list[Rule | None]:
    """dy/da for each argument, None where there is none."""
    leaves = _stand_in_leaves(arity)
    derivative = OPERATIONS[op].derivative
    assert derivative is not None
    made = derivative(*leaves)
    return [None if partial is None else _compile_rule(partial, leaves) for partial in made]


@cache
def _side_taken(op: str, arity: int) -> Callable[[Sequence[float]], int]:
    """The number of the argument that a choice returns."""
    leaves = _stand_in_leaves(arity)
    branches = OPERATIONS[op].branches
    assert branches is not None
    condition, first, second = branches(*leaves)
    places = [next(k for k, leaf in enumerate(leaves[1:]) if leaf is side) for side in (first, second)]
    holds = _compile_rule(condition, leaves)
    return lambda values: places[0] if holds(values) else places[1]


def _stand_in_leaves(arity: int) -> list[Scalar]:
    """Stand-ins for y, a, b, ..."""
    graph = Graph(simplify=False)
    return [graph.input("rule", None, (k,)) for k in range(arity + 1)]


def _compile_rule(partial: Any, leaves: Sequence[Scalar]) -> Rule:
    """A rule's expression as a function of numbers."""
    if not isinstance(partial, Scalar) or partial.number is not None:
        constant = float(partial if not isinstance(partial, Scalar) else partial.number or 0.0)
        return lambda _: constant
    places: Mapping[int, int] = {leaf.serial: k for k, leaf in enumerate(leaves)}
    if partial.serial in places:
        place = places[partial.serial]
        return lambda values: values[place]
    steps = reachable([partial])

    def rule(values: Sequence[float]) -> float:
        known: dict[int, Any] = {}
        for node in steps:
            if node.serial in places:
                known[node.serial] = np.float64(values[places[node.serial]])
            elif node.number is not None:
                known[node.serial] = np.float64(node.number)
            else:
                known[node.serial] = numpy_value(node, [known[a.serial] for a in node.args])
        return float(known[partial.serial])

    return rule
