"""The survey of a kernel's text before it is rewritten for members: what differs, and how long it becomes.

A name or number differs between members where it follows from an array that does. Loops over nodes and
elements are unrolled where that is short; numbers of own arrays at constant places are then locals.

Decisions 0389.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import UserError
from .. import runtime, storage
from ..kernels import SCALARS
from ..lane_blocks import lanes

MOST_STATEMENTS = 2500
"""Up to so many statements loops over nodes and elements are unrolled."""
MOST_LOCALS = 512
"""Vectors that are kept in locals while steps are taken."""
OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.Mod: "%",
    ast.FloorDiv: "//", ast.LShift: "<<", ast.RShift: ">>", ast.Pow: "**", ast.BitXor: "^",
}  # fmt: skip


class NotWideError(UserError):
    """The text cannot be rewritten; says why."""


def width(dtype: Any) -> int:
    """The members that share a vector of this precision; on a device each has a thread of its own."""
    return lanes(dtype) if runtime.arch() == "cpu" else 1


class TextSurvey:
    """What differs between members in one text, and which of its loops are unrolled.

    arrays: all that the text names. own: the names of those that differ between members; arrays that the
    text writes are. dtype: the precision of fields, which says how many lanes there are. Raises
    `NotWideError` for whole numbers that differ.
    """

    def __init__(self, text: str, arrays: Mapping[str, Any], own: set[str], dtype: Any):
        self.tree = ast.parse(text)
        self.arrays = arrays
        self.wide = width(dtype)
        self.real = storage.ENGINE_DTYPES[np.dtype(dtype).name]
        self.written = {base(t) for t in targets(self.tree) if isinstance(t, ast.Subscript)}
        self.own = own | self.written
        if whole := [n for n in self.own if storage.numpy_dtype(arrays[n]).kind != "f"]:
            raise NotWideError(f"{whole[0]} has whole numbers that differ between members")
        self.varying = self._varying_locals()
        self.sizes = {n: int(np.prod(arrays[n].shape, dtype=int)) for n in self.own}
        self.unroll = self._unrolled_length(self.tree.body) <= MOST_STATEMENTS
        self.local = self._arrays_as_locals()

    # What varies

    def _varying_locals(self) -> set[str]:
        """The locals that differ between members."""
        found: set[str] = set()
        while True:
            before = len(found)
            self._mark_varying(self.tree.body, found, False)
            if len(found) == before:
                return found

    def _mark_varying(self, body: Sequence[ast.stmt], found: set[str], guarded: bool) -> None:
        for one in body:
            if isinstance(one, (ast.Assign, ast.AugAssign)):
                target = one.targets[0] if isinstance(one, ast.Assign) else one.target
                if isinstance(target, ast.Name) and (guarded or self._reads_own(one.value, found)):
                    found.add(target.id)
            elif isinstance(one, ast.If):
                under = guarded or self._reads_own(one.test, found)
                self._mark_varying([*one.body, *one.orelse], found, under)
            elif isinstance(one, (ast.For, ast.While)):
                self._mark_varying(one.body, found, guarded)

    def _reads_own(self, node: ast.AST, found: set[str]) -> bool:
        return any(
            (isinstance(n, ast.Name) and n.id in found)
            or (isinstance(n, ast.Subscript) and base(n) in self.own)
            for n in ast.walk(node)
        )

    # Sizes

    def _unrolled_length(self, body: Sequence[ast.stmt]) -> float:
        """Statements after all loops of known length over nodes and elements are unrolled."""
        total = 0.0
        for one in body:
            if isinstance(one, ast.For):
                turns = self._loop_turns(one)
                total += self._unrolled_length(one.body) * (turns if turns is not None else 1)
            elif isinstance(one, ast.If):
                total += 1 + self._unrolled_length(one.body) + self._unrolled_length(one.orelse)
            else:
                total += 1
        return total

    def _loop_turns(self, loop: ast.For) -> int | None:
        """How often a loop is taken, where its range depends on shapes alone."""
        values = [self._constant_integer(a) for a in loop.iter.args]  # type: ignore[attr-defined]
        if any(v is None for v in values):
            return None
        return len(range(*[int(v) for v in values if v is not None]))

    def _constant_integer(self, node: ast.expr) -> int | None:
        """An integer that shapes and literals give."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp):
            left, right = self._constant_integer(node.left), self._constant_integer(node.right)
            if left is None or right is None or type(node.op) not in OPERATORS:
                return None
            return int(eval(f"{left} {OPERATORS[type(node.op)]} {right}"))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            shape = self.arrays[node.value.value.id].shape  # type: ignore[attr-defined]
            return int(shape[node.slice.value])  # type: ignore[attr-defined]
        return None

    def _arrays_as_locals(self) -> set[str]:
        """The own arrays that become locals: those whose places are all constant once loops are unrolled."""
        if not self.unroll:
            return set()
        moving: set[str] = set()
        self._moving_arrays(self.tree.body, set(), moving)
        found, room = set(), MOST_LOCALS
        for name in sorted(self.own - moving, key=lambda n: self.sizes[n]):
            if self.sizes[name] <= room:
                found.add(name)
                room -= self.sizes[name]
        return found

    def _moving_arrays(self, body: Sequence[ast.stmt], runtime: set[str], found: set[str]) -> None:
        """Own arrays with a place that depends on a loop that is not unrolled, or on a number at run time."""
        for one in body:
            if isinstance(one, ast.For) and isinstance(one.target, ast.Name):
                kept = self._loop_turns(one) is None and not self._is_bounded(one, runtime)
                inner = runtime | ({one.target.id} if kept or self._stays_loop(one) else set())
                self._moving_arrays(one.body, inner, found)
                runtime = runtime | assigned_names(one.body) if inner != runtime else runtime
                continue
            if isinstance(one, (ast.If, ast.While)):
                runtime = runtime | assigned_names([*one.body, *one.orelse])
                self._moving_arrays([*one.body, *one.orelse], runtime, found)
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                used = {n.id for n in ast.walk(one.value) if isinstance(n, ast.Name)}
                runtime = runtime | {one.targets[0].id} if used & (runtime | set(SCALARS)) else runtime
            for node in ast.walk(one) if not isinstance(one, (ast.If, ast.While)) else ():
                if isinstance(node, ast.Subscript) and base(node) in self.own:
                    used = {n.id for n in ast.walk(node.slice) if isinstance(n, ast.Name)}
                    if used & (runtime | set(SCALARS)):
                        found.add(base(node))

    def _is_bounded(self, loop: ast.For, runtime: set[str]) -> bool:
        """True if the range of a loop is known once those around it are unrolled."""
        used = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)} - {"range", "ti"}
        return not used & (runtime | set(SCALARS) | self.varying)

    def _stays_loop(self, loop: ast.For) -> bool:
        """True for the stages of a long scheme, which are not unrolled."""
        return reads_shape_of(loop.iter, ("drifts", "kicks")) and (self._loop_turns(loop) or 2) > 1


def places_of(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def base(node: ast.AST) -> str:
    assert isinstance(node, ast.Subscript)
    return node.value.id if isinstance(node.value, ast.Name) else ""


def loaded(target: ast.expr) -> ast.expr:
    made = ast.parse(ast.unparse(target), mode="eval").body
    return made


def targets(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from node.targets
        elif isinstance(node, ast.AugAssign):
            yield node.target


def assigned_names(body: Sequence[ast.stmt]) -> set[str]:
    """The locals that statements assign, those of loops among them."""
    found = {t.id for one in body for t in targets(one) if isinstance(t, ast.Name)}
    loops = [n for one in body for n in ast.walk(one) if isinstance(n, ast.For)]
    return found | {n.target.id for n in loops if isinstance(n.target, ast.Name)}


def reads_shape_of(node: ast.AST, names: tuple[str, ...]) -> bool:
    return any(
        isinstance(n, ast.Attribute)
        and n.attr == "shape"
        and isinstance(n.value, ast.Name)
        and n.value.id.endswith(names)
        for n in ast.walk(node)
    )
