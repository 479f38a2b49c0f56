"""Derivatives of expression graphs, exact and symbolic.

Reverse accumulation: with the adjoint of a node y written ybar = dU/dy, every argument a of y receives
abar += ybar dy/da, users before arguments. Where a select chose between two branches, the adjoint carries
its guard (the condition and the side) all the way down and becomes select(c, abar, 0) only at the leaf:
an infinite derivative on the side not taken never meets a zero (0 * inf), so

    ti.select(x > 0, ti.sqrt(x), 0)      has the derivative 0 at x = 0, not NaN.

Conventions at kinks: derivatives of min, max and abs depend on nodes `side(a, b)`, which `ties` replaces by
the mean of both sides at a tie; where they stay, min and max take the branch that the forward pass took, and
abs'(0) = 0, as Taichi does. A power of zero does not change with its exponent (0^y), nor the power zero with
its base (x^0).

Forward accumulation (`tangent`) goes from the leaves to the outputs, ydot = sum of dy/da adot; of a select it
is that of the side taken. A Hessian product is the tangent of a gradient.

The rules are the columns `derivative` and `branches` of the table of operations. Operations that are
piecewise constant (floor, ceil, round, to_int, floordiv, comparisons) have neither: their derivative is zero.

Decisions 0251, 0254.
"""

from collections.abc import Mapping, Sequence, Set

from .graph import reachable
from .operations import OPERATIONS
from .scalar import Expressions, Scalar

Guard = tuple[tuple[int, bool], ...]
"""Conditions (by serial) with the side taken, outermost first."""


def _f(op: str, first: Scalar, *rest: Scalar | float) -> Scalar:
    return first.graph.apply(op, first, *rest)


def differentiated_arguments(node: Scalar) -> tuple[Scalar, ...]:
    """The arguments that a derivative may go through: of a function with a rule of its own not its value."""
    return node.args[1:] if OPERATIONS[node.op].defined else node.args


def gradient(output: Scalar, wrt: Sequence[Scalar]) -> list[Scalar]:
    """d(output)/d(leaf) for each leaf in `wrt`, as nodes of the same graph."""
    graph = output.graph
    needed = {node.serial for node in nodes_depending_on(output, wrt)}
    nodes = {node.serial: node for node in reachable([output])}
    adjoints: dict[int, dict[Guard, Scalar]] = {output.serial: {(): graph.constant(1.0)}}
    for serial in sorted(needed, reverse=True):
        node, adjoint = nodes[serial], merge_guards(graph, adjoints.get(serial, {}), nodes)
        adjoints[serial] = adjoint
        for argument, guard, contribution in guarded_contributions(node, adjoint, nodes):
            if argument.serial in needed:
                entry = adjoints.setdefault(argument.serial, {})
                entry[guard] = entry[guard] + contribution if guard in entry else contribution
    return [total_adjoint(graph, adjoints.get(leaf.serial, {}), nodes) for leaf in wrt]


def tangent(outputs: Sequence[Scalar], along: Mapping[int, Scalar]) -> list[Scalar]:
    """Tangents of the outputs: the sum over leaves of d(output)/d(leaf) times the leaf's tangent.

    `along`: the tangents by the leaf's serial.
    """
    if not outputs:
        return []
    zero, moves = outputs[0].graph.constant(0.0), dict(along)
    for node in reachable(outputs, differentiated_arguments):
        if node.serial not in moves and any(a.serial in moves for a in node.args):
            change = _node_tangent(node, moves, zero)
            if change.number != 0.0:
                moves[node.serial] = change
    return [moves.get(output.serial, zero) for output in outputs]


def _node_tangent(node: Scalar, moves: Mapping[int, Scalar], zero: Scalar) -> Scalar:
    """The tangent of a node from those of its arguments."""
    row = OPERATIONS[node.op]
    if row.branches is not None:
        condition, *sides = row.branches(node, *node.args)
        return _f("select", condition, *(moves.get(side.serial, zero) for side in sides))
    change = zero
    if row.derivative is not None:
        for argument, partial in zip(node.args, row.derivative(node, *node.args), strict=True):
            if partial is not None and argument.serial in moves:
                change = change + moves[argument.serial] * partial
    return change


def split_by_late_leaves(
    outputs: Sequence[Scalar], late: Set[int], wrt: Sequence[Scalar]
) -> tuple[list[Scalar], list[tuple[Scalar, Scalar]]]:
    """The outputs as functions of late leaves (by serial) and of values that do not depend on them.

    Every node that does not depend on the late leaves, but changes with some of `wrt`, and that a late node
    reads, becomes a new leaf. Returns the outputs over those, and pairs of new leaf and old node. Chain rule:

        d(output)/d(leaf) = sum over the cut of d(output)/d(new leaf) d(old node)/d(leaf)

    so that a sum over many late values needs one adjoint for each new leaf, and one pass for the rest.
    """
    nodes = reachable(outputs)
    moving, live = set(late), {leaf.serial for leaf in wrt}
    for node in nodes:
        moving.update([node.serial] * any(a.serial in moving for a in node.args))
        row = OPERATIONS[node.op]
        changing = row.derivative is not None or row.branches is not None
        live.update([node.serial] * (changing and any(a.serial in live for a in node.args)))
    found: dict[int, tuple[Scalar, Scalar]] = {}
    new: dict[int, Scalar] = {}

    def beyond(node: Scalar) -> Scalar:
        if node.serial in moving or node.serial not in live:
            return new.get(node.serial, node)
        leaf = node.graph.input("the cut", None, (node.serial,))
        found[node.serial] = leaf, node
        return leaf

    for node in nodes:
        if node.serial in moving and node.args:
            new[node.serial] = node.graph.rebuilt(node, tuple(map(beyond, node.args)))
    return [beyond(output) for output in outputs], list(found.values())


def nodes_depending_on(output: Scalar, wrt: Sequence[Scalar]) -> list[Scalar]:
    """Nodes on a path from a leaf in `wrt` to the output."""
    live = {leaf.serial for leaf in wrt}
    found = reachable([output], differentiated_arguments)
    for node in found:
        if any(a.serial in live for a in differentiated_arguments(node)):
            live.add(node.serial)
    return [node for node in found if node.serial in live]


def guarded_contributions(node: Scalar, adjoint: dict[Guard, Scalar], nodes: dict[int, Scalar]):
    """(argument, guard, contribution to its adjoint) for every argument of the node."""
    row = OPERATIONS[node.op]
    if row.branches is not None:
        condition, *sides = row.branches(node, *node.args)
        nodes.setdefault(condition.serial, condition)
        for taken, side in zip((True, False), sides, strict=True):
            for guard, value in adjoint.items():
                yield side, (*guard, (condition.serial, taken)), value
    elif row.derivative is not None:
        for argument, partial in zip(node.args, row.derivative(node, *node.args), strict=True):
            if partial is not None:
                for guard, value in adjoint.items():
                    yield argument, guard, value * partial


def merge_guards(
    graph: Expressions, adjoint: dict[Guard, Scalar], nodes: dict[int, Scalar]
) -> dict[Guard, Scalar]:
    """Fold guards together where a node is active anyway: into a weaker guard, or both sides into one."""
    merged = dict(adjoint)
    while True:
        for guard in sorted(merged, key=len, reverse=True):
            weaker = next((g for g in merged if len(g) < len(guard) and guard[: len(g)] == g), None)
            if weaker is not None:
                rest = guard[len(weaker) :]
                merged[weaker] = merged[weaker] + _guarded_value(graph, rest, merged.pop(guard), nodes)
                break
            twin = (*guard[:-1], (guard[-1][0], not guard[-1][1])) if guard else ()
            if guard and twin in merged:
                condition, taken = guard[-1]
                sides = {taken: merged.pop(guard), (not taken): merged.pop(twin)}
                merged[guard[:-1]] = graph.apply("select", nodes[condition], sides[True], sides[False])
                break
        else:
            return merged


def total_adjoint(graph: Expressions, adjoint: dict[Guard, Scalar], nodes: dict[int, Scalar]) -> Scalar:
    total = graph.constant(0.0)
    for guard, value in adjoint.items():
        total = total + _guarded_value(graph, guard, value, nodes)
    return total


def _guarded_value(graph: Expressions, guard: Guard, value: Scalar, nodes: dict[int, Scalar]) -> Scalar:
    """The value where every condition of the guard holds, zero elsewhere: nested selects."""
    for condition, taken in reversed(guard):
        sides = (value, 0.0) if taken else (0.0, value)
        value = graph.apply("select", nodes[condition], *sides)
    return value
