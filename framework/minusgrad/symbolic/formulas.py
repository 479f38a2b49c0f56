"""Expression graphs as text, for messages: `4 * (b * (q - 1))`."""

from collections.abc import Sequence
from typing import Any

from .scalar import Scalar

MOST = 60
"""Characters of a formula."""
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}


def formula(node: Scalar) -> str | None:
    """The expression of a node in the names of its leaves; None if it is too long for a message."""
    text = _node_text(node, 12, inner=False)
    return text if text and len(text) <= MOST else None


def operation(node: Scalar, arguments: Sequence[str]) -> str:
    """The text of one operation on arguments that are texts."""
    if node.op in SIGNS:
        return f"{arguments[0]} {SIGNS[node.op]} {arguments[1]}"
    if node.op == "recip":
        return f"1 / {arguments[0]}"
    return f"{node.value if node.op == 'lookup' else node.op}({', '.join(arguments)})"


def _node_text(node: Scalar, depth: int, inner: bool) -> str | None:
    """The text of a node; None if it is deeper than `depth`."""
    if node.op == "input":
        return _leaf_text(node.value)
    if node.number is not None:
        return f"{float(node.number):g}"
    joined = node.op in SIGNS or node.op == "recip"
    texts = [_node_text(a, depth - 1, inner=joined) for a in node.args] if depth else [None]
    if None in texts:
        return None
    text = operation(node, [text or "" for text in texts])
    return f"({text})" if joined and inner else text


def _leaf_text(key: tuple[Any, ...]) -> str:
    """The name of a leaf, (argument, slot, component), or with "dot" behind of its tangent."""
    argument, slot, component = key[:3]
    places = [] if slot is None else [slot]
    text = "".join([str(argument), *(f"[{k}]" for k in (*places, *component))])
    return f"tangent of {text}" if len(key) == 4 else text
