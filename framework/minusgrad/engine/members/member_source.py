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
        self._body(self.tree.body)
        text = ["    " * depth + line for depth, line in self._out]
        loads = [f"{local_name(n, k)} = {self._at(n, str(k))}" for n, k in self._used_places()]
        stores = [
            f"{self._at(n, str(k))} = {local_name(n, k)}" for n, k in self._used_places() if n in self.written
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
    def _block(self, deeper: int = 1) -> Iterator[None]:
        """A block of statements, whose new locals end with it."""
        self._depth += deeper
        self._scopes.append(Scope())
        yield
        self._scopes.pop()
        self._depth -= deeper

    def _declared(self, name: str, kind: str) -> str:
        """The name of a local that is assigned; in a new block of another type it has another name."""
        if found := self._known(name):
            return found
        first = self._first_kinds.setdefault(name, kind)
        self._scopes[-1].names[name] = name if kind == first else f"{name}_{kind}"
        return self._scopes[-1].names[name]

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for one in body:
            if isinstance(one, ast.Assign):
                self._assign(one.targets[0], one.value)
            elif isinstance(one, ast.AugAssign):
                load = ast.copy_location(loaded(one.target), one)
                self._assign(one.target, ast.BinOp(load, one.op, one.value))
            elif isinstance(one, ast.For):
                self._for(one)
            elif isinstance(one, ast.If):
                self._if(one)
            elif isinstance(one, ast.While):
                self._while(one)
            elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
                if "loop_config" not in ast.unparse(one.value.func):
                    raise NotWideError(f"calls {ast.unparse(one.value.func)}")
            elif isinstance(one, (ast.Break, ast.Continue)):
                self._emit(ast.unparse(one))
            elif not isinstance(one, ast.Pass):
                raise NotWideError(f"has a statement {type(one).__name__}")

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            raise NotWideError("assigns several names at once")
        new = self._value(value)
        if isinstance(target, ast.Name):
            self._put_name(target.id, new)
            return
        assert isinstance(target, ast.Subscript)
        name = base(target)
        kind = self._dtype(name)
        text = self._converted(new, kind)
        here = self._number(name, self._place(target))
        self._emit(f"{here} = {self._guarded(text, here)}")

    def _put_name(self, original: str, new: Value) -> None:
        fresh = self._known(original) is None
        kind = "f64" if new.kind == "literal" else new.kind
        name = self._declared(original, kind)
        self._forget(name)
        if original in self.varying:
            kind = kind if fresh else self._kinds[name]
            self._kinds[name] = kind
            if kind == "whole":
                self._put_lanes(name, new)
                return
            text = self._converted(new, kind) if kind in REAL else new.text if new.wide else self._mask(new)
            self._numbers.pop(name, None)
            self._emit(f"{name} = {text if fresh else self._guarded(text, name)}")
            return
        self._kinds[name] = new.kind if fresh else self._kinds[name]
        self._numbers.pop(name, None)
        if isinstance(new.number, int):
            self._numbers[name] = new.number
        if new.fixed and not self._guards:
            self._fixed[name] = new.fixed
        self._emit(f"{name} = {new.text}")

    def _put_lanes(self, name: str, new: Value) -> None:
        """Assign whole numbers, a local for each lane."""
        if self._guards:
            raise NotWideError("assigns whole numbers where a member's numbers say so")
        for k in range(self.wide):
            self._emit(f"{name}_lane{k} = {new.each[k] if new.wide else new.text}")

    def _guarded(self, text: str, old: str) -> str:
        for mask, side in reversed(self._guards):
            text = f"ti.select({mask}, {text}, {old})" if side else f"ti.select({mask}, {old}, {text})"
        return text

    def _for(self, loop: ast.For) -> None:
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
                with self._block(0):
                    turn = self._scopes[-1].names[name] = f"{name}_turn"
                    self._numbers[turn], self._kinds[turn] = k, "whole"
                    self._body(loop.body)
            return
        self._changes(loop.body)
        with self._block():
            turn = self._declared(name if self._known(name) is None else f"{name}_loop", "whole")
            self._scopes[-1].names[name] = turn
            self._numbers.pop(turn, None)
            self._kinds[turn] = "whole"
            self._depth -= 1
            self._emit(f"for {turn} in range({', '.join(e.text for e in ends)}):")
            self._depth += 1
            self._body(loop.body)
        self._changes(loop.body)

    def _changes(self, body: Sequence[ast.stmt]) -> None:
        """Forget the present values of locals that a block assigns, perhaps."""
        for assigned in assigned_names(body):
            if name := self._known(assigned):
                self._numbers.pop(name, None)
                self._forget(name)

    def _while(self, loop: ast.While) -> None:
        self._changes(loop.body)
        test = self._value(loop.test)
        if test.wide:
            raise NotWideError("has a loop whose length differs between members")
        self._emit(f"while {test.text}:")
        with self._block():
            self._body(loop.body)
        self._changes(loop.body)

    def _if(self, one: ast.If) -> None:
        test = self._value(one.test)
        if test.number is not None:
            self._body(one.body if test.number else one.orelse)
            return
        if not test.wide:
            self._changes([*one.body, *one.orelse])
            self._emit(f"if {test.text}:")
            with self._block():
                self._body(one.body or [ast.Pass()])
                if not one.body:
                    self._emit("pass")
            self._changes(one.body)
            if one.orelse:
                self._emit("else:")
                with self._block():
                    self._body(one.orelse)
                self._changes(one.orelse)
            return
        if any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(one)):
            raise NotWideError("leaves a loop where a member's numbers say so")
        mask = self._temporary(test.text)
        for side, body in ((True, one.body), (False, one.orelse)):
            self._guards.append((mask, side))
            with self._block(0):
                self._body(body)
            self._guards.pop()
