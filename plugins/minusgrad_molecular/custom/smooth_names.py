"""The variables by which an expression has a derivative: those that no rounding keeps from its value."""

from collections.abc import Collection

from .trees import Call, Chain, Expression, Name, Negative, Power, Tree

PIECEWISE = frozenset({"floor", "ceil", "step", "delta"})
"""Functions that are constant in pieces."""


def smooth_names(expression: Expression, piecewise: Collection[str] = ()) -> set[str]:
    """The variables that reach the value through functions with a derivative.

    piecewise: functions without one, besides floor, ceil, step, delta and the condition of select.
    """
    found: set[str] = set()
    met: set[int] = set()
    left: list[Tree] = [expression.tree]
    while left:
        tree = left.pop()
        if isinstance(tree, Name):
            if tree.definition is None:
                found.add(tree.name)
            elif tree.definition not in met:
                met.add(tree.definition)
                left.append(expression.definitions[tree.definition].tree)
        elif isinstance(tree, Negative):
            left.append(tree.of)
        elif isinstance(tree, Chain):
            left += tree.parts
        elif isinstance(tree, Power):
            left += [tree.base, tree.exponent]
        elif isinstance(tree, Call) and tree.function not in PIECEWISE and tree.function not in piecewise:
            left += tree.arguments[1:] if tree.function == "select" else tree.arguments
    return found
