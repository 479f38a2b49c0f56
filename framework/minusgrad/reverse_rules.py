"""What Taichi 1.7.4 reverses wrongly, and says nothing: told by the text of a kernel."""

import ast
import inspect
from textwrap import dedent
from typing import Any

from .errors import EnergyError
from .readings import in_words, readings

NEITHER = (
    "neither overwrites nor adds to '{}', so its reverse would be wrong; from the second write on `+=` is the"
    " only way, and what is read is not written"
)


REFUSED = ("serial", "called", "before", "carried", "fed", "atomic")
"""What a text may say that Taichi reverses wrongly wherever it stands; the first is told."""


def check_text(what: str, stage: Any) -> None:
    """Refuse what Taichi reverses wrongly in silence: products in place, and shapes of loops (`readings`)."""
    (function,) = ast.parse(dedent(inspect.getsource(inspect.unwrap(stage.kernel)))).body
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            array = ast.unparse(node.target.value)
            if array in stage.writes and not isinstance(node.op, ast.Add | ast.Sub):
                raise EnergyError(f"{what}: {NEITHER.format(stage.arrays[array])}")
    _check_reads(what, stage, function)
    seen = [remark for remark in readings(stage.kernel) if remark.kind in REFUSED]
    if seen:
        first = min(seen, key=lambda remark: REFUSED.index(remark.kind))
        raise EnergyError(f"{what}, {in_words(first.where)}: {first.text}")


def _check_reads(what: str, stage: Any, function: ast.AST) -> None:
    """What a statement writes it does not read: Taichi's reverse would take what stands there at the end."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign | ast.AugAssign):
            continue
        read = {ast.unparse(n.value) for n in ast.walk(node.value) if isinstance(n, ast.Subscript)}
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        written = {ast.unparse(t.value) for t in targets if isinstance(t, ast.Subscript)}
        if both := sorted(read & written & set(stage.writes)):
            raise EnergyError(
                f"{what}: makes '{stage.arrays[both[0]]}' from itself; its reverse would take what stands"
                " there at the end: write into an array of its own"
            )
