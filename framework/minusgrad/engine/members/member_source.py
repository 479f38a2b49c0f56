"""Source text of a kernel for one small system, rewritten so that each lane of its vectors is another system.

    f_v[n, 0] = f_v[n, 0] - ti.f64(h) * g_x[n, 0]    becomes, with n = 2, of block `block` of members

    f_v_6 = f_v_6 - w1 * g_x_6                       numbers in vectors; w1 = ti.Vector([ti.f64(h)] * 8)

Arrays that differ between members are `Own`: number k of a system is a vector, with one lane for each member.
All others are shared, and what follows from them alone stays a single number. Loops over nodes and elements
are unrolled where that is short; numbers of own arrays at constant places are locals while steps are taken.
Text that decides its way by a member's numbers in a loop cannot be rewritten (`NotWideError`); an `if` on
them becomes `ti.select`.

Decisions 0213, 0389.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .expressions import REAL, MemberExpressions, Scope, Value, local_name
from .text_survey import NotWideError, assigned_names, base, loaded


class MemberSource(MemberExpressions):
    """The rewriting of one text."""

    def __init__(self, text: str, arrays: Mapping[str, Any], own: set[str], dtype: Any):
        super().__init__(text, arrays, own, dtype)
        self._guards: list[tuple[str, bool]] = []
        """The masks under which statements are executed, and on which side."""
        self._first_kinds: dict[str, str] = {}

    def lines(self) -> list[str]:
        """The statements for block number `block`."""
        self._emit_body(self.tree.body)
        text = ["    " * depth + line for depth, line in self._out]
        loads = [f"{local_name(n, k)} = {self._array_place(n, str(k))}" for n, k in self._used_places()]
        stores = [
            f"{self._array_place(n, str(k))} = {local_name(n, k)}"
            for n, k in self._used_places()
            if n in self.written
        ]
        hoisted = [f"{name} = {value}" for value, name in self._top.items()]
        one = f"ti.Vector([ti.{self.real}(1.0)] * {self.wide})"
        inverses = [f"{name} = {one} / {number}" for number, name in self._inverses.items()]
        return [*hoisted, *loads, *inverses, *text, *stores]

    def _used_places(self) -> Iterator[tuple[str, int]]:
        for name in sorted(self.local):
            for k in range(self.sizes[name]):
                yield name, k

    @contextmanager
    def _emit_block(self, deeper: int = 1) -> Iterator[None]:
        """A block of statements, whose new locals end with it."""
        self._depth += deeper
        self._scopes.append(Scope())
        yield
        self._scopes.pop()
        self._depth -= deeper

    def _declare_local(self, name: str, kind: str) -> str:
        """The name of a local that is assigned; in a new block of another type it has another name."""
        if found := self._known_local(name):
            return found
        first = self._first_kinds.setdefault(name, kind)
        self._scopes[-1].names[name] = name if kind == first else f"{name}_{kind}"
        return self._scopes[-1].names[name]

    def _emit_body(self, body: Sequence[ast.stmt]) -> None:
        for one in body:
            if isinstance(one, ast.Assign):
                self._emit_assignment(one.targets[0], one.value)
            elif isinstance(one, ast.AugAssign):
                load = ast.copy_location(loaded(one.target), one)
                self._emit_assignment(one.target, ast.BinOp(load, one.op, one.value))
            elif isinstance(one, ast.For):
                self._emit_for(one)
            elif isinstance(one, ast.If):
                self._emit_if(one)
            elif isinstance(one, ast.While):
                self._emit_while(one)
            elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
                if "loop_config" not in ast.unparse(one.value.func):
                    raise NotWideError(f"calls {ast.unparse(one.value.func)}")
            elif isinstance(one, (ast.Break, ast.Continue)):
                self._emit_line(ast.unparse(one))
            elif not isinstance(one, ast.Pass):
                raise NotWideError(f"has a statement {type(one).__name__}")

    def _emit_assignment(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            raise NotWideError("assigns several names at once")
        new = self._value(value)
        if isinstance(target, ast.Name):
            self._put_name(target.id, new)
            return
        assert isinstance(target, ast.Subscript)
        name = base(target)
        kind = self._array_type(name)
        text = self._convert_vector(new, kind)
        here = self._number_text(name, self._place(target))
        self._emit_line(f"{here} = {self._guarded_text(text, here)}")

    def _put_name(self, original: str, new: Value) -> None:
        fresh = self._known_local(original) is None
        kind = "f64" if new.kind == "literal" else new.kind
        name = self._declare_local(original, kind)
        self._forget_vectors(name)
        if original in self.varying:
            kind = kind if fresh else self._kinds[name]
            self._kinds[name] = kind
            if kind == "whole":
                self._put_lanes(name, new)
                return
            text = (
                self._convert_vector(new, kind) if kind in REAL else new.text if new.wide else self._mask(new)
            )
            self._numbers.pop(name, None)
            self._emit_line(f"{name} = {text if fresh else self._guarded_text(text, name)}")
            return
        self._kinds[name] = new.kind if fresh else self._kinds[name]
        self._numbers.pop(name, None)
        if isinstance(new.number, int):
            self._numbers[name] = new.number
        if new.fixed and not self._guards:
            self._fixed[name] = new.fixed
        self._emit_line(f"{name} = {new.text}")

    def _put_lanes(self, name: str, new: Value) -> None:
        """Assign whole numbers, a local for each lane."""
        if self._guards:
            raise NotWideError("assigns whole numbers where a member's numbers say so")
        for k in range(self.wide):
            self._emit_line(f"{name}_lane{k} = {new.each[k] if new.wide else new.text}")

    def _guarded_text(self, text: str, old: str) -> str:
        for mask, side in reversed(self._guards):
            text = f"ti.select({mask}, {text}, {old})" if side else f"ti.select({mask}, {old}, {text})"
        return text

    def _emit_for(self, loop: ast.For) -> None:
        if not (isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range"):
            raise NotWideError(f"has a loop over {ast.unparse(loop.iter)}")
        assert isinstance(loop.target, ast.Name)
        ends = [self._value(a) for a in loop.iter.args]
        if any(e.wide for e in ends):
            raise NotWideError("has a loop whose length differs between members")
        known = all(isinstance(e.number, int) for e in ends)
        name = loop.target.id
        if known and self.unroll and not self._stays_loop(loop):
            for k in range(*[int(e.number) for e in ends if e.number is not None]):
                with self._emit_block(0):
                    turn = self._scopes[-1].names[name] = f"{name}_turn"
                    self._numbers[turn], self._kinds[turn] = k, "whole"
                    self._emit_body(loop.body)
            return
        self._forget_assigned(loop.body)
        with self._emit_block():
            turn = self._declare_local(name if self._known_local(name) is None else f"{name}_loop", "whole")
            self._scopes[-1].names[name] = turn
            self._numbers.pop(turn, None)
            self._kinds[turn] = "whole"
            self._depth -= 1
            self._emit_line(f"for {turn} in range({', '.join(e.text for e in ends)}):")
            self._depth += 1
            self._emit_body(loop.body)
        self._forget_assigned(loop.body)

    def _forget_assigned(self, body: Sequence[ast.stmt]) -> None:
        """Forget the present values of locals that a block assigns, perhaps."""
        for assigned in assigned_names(body):
            if name := self._known_local(assigned):
                self._numbers.pop(name, None)
                self._forget_vectors(name)

    def _emit_while(self, loop: ast.While) -> None:
        self._forget_assigned(loop.body)
        test = self._value(loop.test)
        if test.wide:
            raise NotWideError("has a loop whose length differs between members")
        self._emit_line(f"while {test.text}:")
        with self._emit_block():
            self._emit_body(loop.body)
        self._forget_assigned(loop.body)

    def _emit_if(self, one: ast.If) -> None:
        test = self._value(one.test)
        if test.number is not None:
            self._emit_body(one.body if test.number else one.orelse)
            return
        if not test.wide:
            self._forget_assigned([*one.body, *one.orelse])
            self._emit_line(f"if {test.text}:")
            with self._emit_block():
                self._emit_body(one.body or [ast.Pass()])
                if not one.body:
                    self._emit_line("pass")
            self._forget_assigned(one.body)
            if one.orelse:
                self._emit_line("else:")
                with self._emit_block():
                    self._emit_body(one.orelse)
                self._forget_assigned(one.orelse)
            return
        if any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(one)):
            raise NotWideError("leaves a loop where a member's numbers say so")
        mask = self._temporary_local(test.text)
        for side, body in ((True, one.body), (False, one.orelse)):
            self._guards.append((mask, side))
            with self._emit_block(0):
                self._emit_body(body)
            self._guards.pop()
