"""Source text of a kernel for one small system, rewritten so that each lane of its vectors is another system.

    f_v[n, 0] = f_v[n, 0] - ti.f64(h) * g_x[n, 0]    becomes, with n = 2, of block `block` of members

    f_v_6 = f_v_6 - w1 * g_x_6                       numbers in vectors; w1 = ti.Vector([ti.f64(h)] * 8)

Arrays that differ between members are `Own`: number k of a system is a vector, with one lane for each member.
All others are shared, and what follows from them alone stays a single number. Loops over nodes and elements
are unrolled where that is short; numbers of own arrays at constant places are locals while steps are taken.
Text that decides its way by a member's numbers in a loop cannot be rewritten (`NotWideError`); an `if` on
them becomes `ti.select`.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import UserError
from . import storage, vector_functions
from .kernels import SCALARS
from .lane_blocks import lanes

MOST_STATEMENTS = 2500
"""Up to so many statements loops over nodes and elements are unrolled."""
LONGEST = 200
"""Characters of texts of numbers that are computed before the steps."""
MOST_LOCALS = 512
"""Vectors that are kept in locals while steps are taken."""
BLOCK = "block"
"""The number of the block of members, in the rewritten text."""
_SAME = {"ti.sqrt": 1, "ti.min": 2, "ti.max": 2, "ti.floor": 1, "ti.ceil": 1}
"""Functions that are instructions on vectors, and how many arguments they have."""
_CASTS = {"ti.f32": "f32", "ti.f64": "f64"}
_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.Mod: "%",
    ast.FloorDiv: "//", ast.LShift: "<<", ast.RShift: ">>", ast.Pow: "**", ast.BitXor: "^",
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_REAL = ("f32", "f64")


class NotWideError(UserError):
    """The text cannot be rewritten; says why."""


@dataclass(frozen=True)
class Value:
    """The text of an expression; `wide`: one number for each member; `kind`: its type; a known integer.

    Kinds: f32, f64, literal (a number without a type), whole, truth. `fixed`: the same number as a text that
    means it anywhere in the kernel, if it follows from shared arrays and literals.
    """

    text: str
    kind: str
    wide: bool = False
    number: int | float | None = None
    fixed: str = ""
    each: tuple[str, ...] = ()
    """Of whole numbers that differ between members the texts of all lanes: they are in no vector."""


@dataclass
class _Scope:
    """One block of statements. `vectors`: names of broadcast numbers, by text; `names`: those of its locals.

    A local has the name of the original text unless another block had that before.
    """

    vectors: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


class MemberSource:
    """The rewriting of one text.

    arrays: all that the text names. own: the names of those that differ between members; arrays that the
    text writes are. dtype: the precision of fields, which says how many lanes there are.
    """

    def __init__(self, text: str, arrays: Mapping[str, Any], own: set[str], dtype: Any):
        self.tree = ast.parse(text)
        self.arrays = arrays
        self.wide = lanes(dtype)
        self.real = storage.ENGINE_DTYPES[np.dtype(dtype).name]
        self.written = {_base(t) for t in _targets(self.tree) if isinstance(t, ast.Subscript)}
        self.own = own | self.written
        if whole := [n for n in self.own if np.dtype(arrays[n].dtype).kind != "f"]:
            raise NotWideError(f"{whole[0]} has whole numbers that differ between members")
        self.varying = self._varying()
        self.sizes = {n: int(np.prod(arrays[n].shape, dtype=int)) for n in self.own}
        self.unroll = self._length(self.tree.body) <= MOST_STATEMENTS
        self.local = self._locals()
        self._temporaries = 0

    # What varies

    def _varying(self) -> set[str]:
        """The locals that differ between members."""
        found: set[str] = set()
        while True:
            before = len(found)
            self._mark(self.tree.body, found, False)
            if len(found) == before:
                return found

    def _mark(self, body: Sequence[ast.stmt], found: set[str], guarded: bool) -> None:
        for one in body:
            if isinstance(one, (ast.Assign, ast.AugAssign)):
                target = one.targets[0] if isinstance(one, ast.Assign) else one.target
                if isinstance(target, ast.Name) and (guarded or self._reads_own(one.value, found)):
                    found.add(target.id)
            elif isinstance(one, ast.If):
                under = guarded or self._reads_own(one.test, found)
                self._mark([*one.body, *one.orelse], found, under)
            elif isinstance(one, (ast.For, ast.While)):
                self._mark(one.body, found, guarded)

    def _reads_own(self, node: ast.AST, found: set[str]) -> bool:
        return any(
            (isinstance(n, ast.Name) and n.id in found)
            or (isinstance(n, ast.Subscript) and _base(n) in self.own)
            for n in ast.walk(node)
        )

    # Sizes

    def _length(self, body: Sequence[ast.stmt]) -> float:
        """Statements after all loops of known length over nodes and elements are unrolled."""
        total = 0.0
        for one in body:
            if isinstance(one, ast.For):
                turns = self._turns(one)
                total += self._length(one.body) * (turns if turns is not None else 1)
            elif isinstance(one, ast.If):
                total += 1 + self._length(one.body) + self._length(one.orelse)
            else:
                total += 1
        return total

    def _turns(self, loop: ast.For) -> int | None:
        """How often a loop is taken, where its range depends on shapes alone."""
        values = [self._constant(a) for a in loop.iter.args]  # type: ignore[attr-defined]
        if any(v is None for v in values):
            return None
        return len(range(*[int(v) for v in values if v is not None]))

    def _constant(self, node: ast.expr) -> int | None:
        """An integer that shapes and literals give."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp):
            left, right = self._constant(node.left), self._constant(node.right)
            if left is None or right is None or type(node.op) not in _OPERATORS:
                return None
            return int(eval(f"{left} {_OPERATORS[type(node.op)]} {right}"))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            shape = self.arrays[node.value.value.id].shape  # type: ignore[attr-defined]
            return int(shape[node.slice.value])  # type: ignore[attr-defined]
        return None

    def _locals(self) -> set[str]:
        """The own arrays that become locals: those whose places are all constant once loops are unrolled."""
        if not self.unroll:
            return set()
        moving: set[str] = set()
        self._moving(self.tree.body, set(), moving)
        found, room = set(), MOST_LOCALS
        for name in sorted(self.own - moving, key=lambda n: self.sizes[n]):
            if self.sizes[name] <= room:
                found.add(name)
                room -= self.sizes[name]
        return found

    def _moving(self, body: Sequence[ast.stmt], runtime: set[str], found: set[str]) -> None:
        """Own arrays with a place that depends on a loop that is not unrolled, or on a number at run time."""
        for one in body:
            if isinstance(one, ast.For) and isinstance(one.target, ast.Name):
                kept = self._turns(one) is None and not self._bounded(one, runtime)
                inner = runtime | ({one.target.id} if kept or self._stays_loop(one) else set())
                self._moving(one.body, inner, found)
                continue
            if isinstance(one, (ast.If, ast.While)):
                self._moving(one.body, runtime, found)
                self._moving(getattr(one, "orelse", []), runtime, found)
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                used = {n.id for n in ast.walk(one.value) if isinstance(n, ast.Name)}
                runtime = runtime | {one.targets[0].id} if used & (runtime | set(SCALARS)) else runtime
            for node in ast.walk(one) if not isinstance(one, (ast.If, ast.While)) else ():
                if isinstance(node, ast.Subscript) and _base(node) in self.own:
                    used = {n.id for n in ast.walk(node.slice) if isinstance(n, ast.Name)}
                    if used & (runtime | set(SCALARS)):
                        found.add(_base(node))

    def _bounded(self, loop: ast.For, runtime: set[str]) -> bool:
        """True if the range of a loop is known once those around it are unrolled."""
        used = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)} - {"range", "ti"}
        return not used & (runtime | set(SCALARS) | self.varying)

    def _stays_loop(self, loop: ast.For) -> bool:
        """True for the stages of a long scheme, which are not unrolled."""
        return _reads_shape_of(loop.iter, ("drifts", "kicks")) and (self._turns(loop) or 2) > 1

    # Text

    def lines(self) -> list[str]:
        """The statements for block number `block`."""
        self._top: dict[str, str] = {}
        self._inverses: dict[str, str] = {}
        self._fixed: dict[str, str] = {}
        self._scopes = [_Scope()]
        self._first_kinds: dict[str, str] = {}
        self._out: list[tuple[int, str]] = []
        self._depth = 0
        self._numbers: dict[str, int] = {}
        kinds = {"ti.f64": "f64"}
        self._kinds: dict[str, str] = {n: kinds.get(kind, "whole") for n, kind in SCALARS.items()}
        self._guards: list[tuple[str, bool]] = []
        self._body(self.tree.body)
        text = ["    " * depth + line for depth, line in self._out]
        loads = [f"{_local(n, k)} = {self._at(n, str(k))}" for n, k in self._used_places()]
        stores = [
            f"{self._at(n, str(k))} = {_local(n, k)}" for n, k in self._used_places() if n in self.written
        ]
        hoisted = [f"{name} = {value}" for value, name in self._top.items()]
        one = f"ti.Vector([ti.{self.real}(1.0)] * {self.wide})"
        inverses = [f"{name} = {one} / {number}" for number, name in self._inverses.items()]
        return [*hoisted, *loads, *inverses, *text, *stores]

    def _used_places(self) -> Iterator[tuple[str, int]]:
        for name in sorted(self.local):
            for k in range(self.sizes[name]):
                yield name, k

    def _at(self, name: str, place: str) -> str:
        return f"{name}[{BLOCK} * {self.sizes[name]} + {place}]"

    def _emit(self, line: str) -> None:
        self._out.append((self._depth, line))

    @contextmanager
    def _block(self, deeper: int = 1) -> Iterator[None]:
        """A block of statements, whose new locals end with it."""
        self._depth += deeper
        self._scopes.append(_Scope())
        yield
        self._scopes.pop()
        self._depth -= deeper

    def _known(self, name: str) -> str | None:
        """The name of a local of the original text; None before it is assigned."""
        return next((scope.names[name] for scope in reversed(self._scopes) if name in scope.names), None)

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
                load = ast.copy_location(_loaded(one.target), one)
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
        name = _base(target)
        kind = self._dtype(name)
        text = self._converted(new, kind)
        place = self._place(target)
        here = (
            _local(name, place)
            if isinstance(place, int) and name in self.local
            else self._at(name, str(place))
        )
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
            text = self._converted(new, kind) if kind in _REAL else new.text if new.wide else self._mask(new)
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

    def _changes(self, body: Sequence[ast.stmt]) -> None:
        """Forget the present values of locals that a block assigns, perhaps."""
        for assigned in _assigned(body):
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
            if one.orelse:
                self._emit("else:")
                with self._block():
                    self._body(one.orelse)
            return
        if any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(one)):
            raise NotWideError("leaves a loop where a member's numbers say so")
        mask = self._temporary(test.text)
        for side, body in ((True, one.body), (False, one.orelse)):
            self._guards.append((mask, side))
            with self._block(0):
                self._body(body)
            self._guards.pop()

    # Expressions

    def _value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            number = node.value if isinstance(node.value, (int, float)) else None
            kind = "whole" if isinstance(node.value, int) else "literal"
            return Value(repr(node.value), kind, number=number, fixed=repr(node.value))
        if isinstance(node, ast.Name):
            name = self._known(node.id) or node.id
            if name in self._numbers:
                return Value(str(self._numbers[name]), "whole", number=self._numbers[name])
            fixed, kind = self._fixed.get(name, ""), self._kinds.get(name, "whole")
            wide = node.id in self.varying
            each = tuple(f"{name}_lane{k}" for k in range(self.wide)) if wide and kind == "whole" else ()
            return Value(name, kind, wide, fixed=fixed, each=each)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.BoolOp):
            return self._boolean(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            return Value(ast.unparse(node), "literal", fixed=ast.unparse(node))
        raise NotWideError(f"has an expression {type(node).__name__}")

    def _subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            number = self._constant(node)
            return Value(str(number), "whole", number=number)
        if not isinstance(node.value, ast.Name):
            raise NotWideError(f"reads {ast.unparse(node)}")
        name, place = _base(node), self._place(node)
        kind = self._dtype(name)
        if name in self.own:
            if isinstance(place, int) and name in self.local:
                return Value(_local(name, place), kind, True)
            return Value(self._at(name, str(place)), kind, True)
        array = storage.host(self.arrays[name])
        indices = [self._value(i) for i in _indices(node)]
        if kind == "whole" and all(isinstance(i.number, int) for i in indices):
            number = int(array[tuple(int(i.number) for i in indices if i.number is not None)])
            return Value(str(number), "whole", number=number)
        text = f"{name}[{', '.join(i.text for i in indices)}]"
        return Value(text, kind, fixed=text if all(isinstance(i.number, int) for i in indices) else "")

    def _place(self, node: ast.Subscript) -> int | str:
        """The index in the row of numbers of an array: an integer where it is known."""
        shape = tuple(self.arrays[_base(node)].shape)
        indices = [self._value(i) for i in _indices(node)]
        if any(i.wide for i in indices):
            raise NotWideError("reads at a place that differs between members")
        if all(isinstance(i.number, int) for i in indices):
            return int(np.ravel_multi_index([int(i.number) for i in indices if i.number is not None], shape))
        text = "0"
        for size, index in zip(shape, indices, strict=True):
            text = index.text if text == "0" else f"({text}) * {size} + {index.text}"
            text = f"({index.text})" if text == index.text else text
        return f"({text})"

    def _binary(self, node: ast.BinOp) -> Value:
        left, right, sign = self._value(node.left), self._value(node.right), _OPERATORS[type(node.op)]
        if isinstance(left.number, int) and isinstance(right.number, int) and sign not in ("/", "**"):
            number = int(eval(f"({left.number}) {sign} ({right.number})"))
            return Value(str(number), "whole", number=number)
        kind = _common(left.kind, right.kind)
        if sign == "/" and kind == "whole":
            kind = "f64"
        if not (left.wide or right.wide):
            fixed = f"({left.fixed} {sign} {right.fixed})" if left.fixed and right.fixed else ""
            return Value(
                f"({left.text} {sign} {right.text})", kind, fixed=fixed if len(fixed) < LONGEST else ""
            )
        if kind == "truth":
            return Value(f"({self._mask(left)} {sign} {self._mask(right)})", "truth", True)
        if sign not in "+-*/" or kind not in _REAL:
            return self._by_lane(f"{{0}} {sign} {{1}}", [left, right], kind)
        divisor = self._converted(right, kind)
        if sign == "/" and right.kind == kind and (right.fixed or self._constant_local(right.text)):
            inverse = self._inverses.setdefault(divisor, f"inverse_{divisor}")
            return Value(f"({self._converted(left, kind)} * {inverse})", kind, True)
        return Value(f"({self._converted(left, kind)} {sign} {divisor})", kind, True)

    def _constant_local(self, text: str) -> bool:
        """True for the local of a number that the text never writes, such as an inertia."""
        name, _, place = text.rpartition("_at_")
        return place.isdecimal() and name in self.local and name not in self.written

    def _mask(self, value: Value) -> str:
        return value.text if value.wide else self._broadcast(Value(value.text, "whole"))

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self._value(node.operand)
        if isinstance(node.op, ast.USub):
            if value.number is not None:
                text = f"(-{value.text})"
                return Value(text, value.kind, number=-value.number, fixed=text)
            if not value.wide:
                return Value(f"(-{value.text})", value.kind)
            zero = self._broadcast(Value("0.0", "literal"), value.kind)
            return Value(f"({zero} - {value.text})", value.kind, True)
        if isinstance(node.op, ast.Not) and not value.wide:
            return Value(f"(not {value.text})", "truth")
        raise NotWideError(f"has {ast.unparse(node)}")

    def _comparison(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            raise NotWideError(f"has {ast.unparse(node)}")
        left, right = self._value(node.left), self._value(node.comparators[0])
        sign = _COMPARISONS[type(node.ops[0])]
        if isinstance(left.number, int) and isinstance(right.number, int):
            return Value("", "truth", number=int(eval(f"{left.number} {sign} {right.number}")))
        if not (left.wide or right.wide):
            return Value(f"({left.text} {sign} {right.text})", "truth")
        kind = _common(left.kind, right.kind)
        if kind == "whole":
            kind = next(v.kind for v in (left, right) if v.wide)
        return Value(f"({self._converted(left, kind)} {sign} {self._converted(right, kind)})", "truth", True)

    def _boolean(self, node: ast.BoolOp) -> Value:
        values = [self._value(v) for v in node.values]
        if any(v.wide for v in values):
            sign = " & " if isinstance(node.op, ast.And) else " | "
            return Value(f"({sign.join(self._mask(v) for v in values)})", "truth", True)
        word = " and " if isinstance(node.op, ast.And) else " or "
        return Value(f"({word.join(v.text for v in values)})", "truth")

    def _call(self, node: ast.Call) -> Value:
        function = ast.unparse(node.func)
        values = [self._value(a) for a in node.args]
        if function in _CASTS:
            kind, value = _CASTS[function], values[0]
            if isinstance(value.number, int):  # the language casts no whole literals
                text = f"{function}({float(value.number)!r})"
                return Value(text, kind, fixed=text)
            if not value.wide:
                return Value(
                    f"{function}({value.text})", kind, fixed=value.fixed and f"{function}({value.fixed})"
                )
            return Value(self._converted(value, kind), kind, True)
        if function == "ti.cast":
            kind = {"ti.f64": "f64", "ti.f32": "f32"}.get(values[1].text, "whole")
            if not values[0].wide:
                number = values[0].number if kind == "whole" and isinstance(values[0].number, int) else None
                return Value(f"ti.cast({values[0].text}, {values[1].text})", kind, number=number)
            if kind in _REAL and values[0].kind in _REAL:
                return Value(self._converted(values[0], kind), kind, True)
            return self._by_lane(f"ti.cast({{0}}, {values[1].text})", values[:1], kind)
        kind = self._result(function, values)
        if not any(v.wide for v in values):
            return Value(f"{function}({', '.join(v.text for v in values)})", kind)
        if function == "ti.select":
            mask, *rest = values
            texts = [self._converted(v, kind) for v in rest]
            if not mask.wide:
                return Value(f"ti.select({self._mask(mask)}, {', '.join(texts)})", kind, True)
            return Value(f"ti.select({mask.text}, {', '.join(texts)})", kind, True)
        if kind in _REAL:
            if function in _SAME:
                return Value(f"{function}({', '.join(self._converted(v, kind) for v in values)})", kind, True)
            if function == "ti.abs":
                text, zero = self._converted(values[0], kind), self._broadcast(Value("0.0", "literal"), kind)
                text = self._temporary(text)
                return Value(f"ti.max({text}, {zero} - {text})", kind, True)
            name = function.removeprefix("ti.")
            if name in vector_functions.FUNCTIONS and self.wide == lanes(_numpy(kind)):
                called = vector_functions.name(name, kind, self.wide)
                return Value(f"{called}({self._converted(values[0], kind)})", kind, True)
        arguments = ", ".join(f"{{{k}}}" for k in range(len(values)))
        return self._by_lane(f"{function}({arguments})", values, kind)

    def _result(self, function: str, values: Sequence[Value]) -> str:
        """The type of a function's result."""
        if function.startswith("random_"):
            return "f64"
        relevant = values[1:] if function == "ti.select" else values
        kind = "literal"
        for value in relevant:
            kind = _common(kind, value.kind)
        return {"literal": self.real, "truth": "whole"}.get(kind, kind)

    def _by_lane(self, template: str, values: Sequence[Value], kind: str) -> Value:
        """A function of single numbers, lane by lane."""
        texts = [self._temporary(v.text) if v.wide and not v.each else v.text for v in values]
        each = []
        for lane in range(self.wide):
            own = [f"{t}[{lane}]" if v.wide else t for t, v in zip(texts, values, strict=True)]
            own = [v.each[lane] if v.each else text for text, v in zip(own, values, strict=True)]
            each.append(template.format(*own))
        if kind == "whole":
            return Value("", kind, True, each=tuple(each))
        return Value(f"ti.Vector([{', '.join(each)}])", kind, True)

    def _temporary(self, text: str) -> str:
        """A local with the value of an expression."""
        if re.fullmatch(r"\w+", text):
            return text
        self._temporaries += 1
        self._emit(f"lane_{self._temporaries} = {text}")
        return f"lane_{self._temporaries}"

    def _converted(self, value: Value, kind: str) -> str:
        """A vector of this type."""
        if not value.wide:
            return self._broadcast(value, kind)
        if value.kind == kind:
            return value.text
        if value.each:
            return f"ti.Vector([{', '.join(f'ti.cast({text}, ti.{kind})' for text in value.each)}])"
        if value.kind == "truth":
            one, zero = (self._broadcast(Value(n, "literal"), kind) for n in ("1.0", "0.0"))
            return f"ti.select({value.text}, {one}, {zero})"
        text = self._temporary(value.text)
        return f"ti.Vector([{', '.join(f'ti.cast({text}[{n}], ti.{kind})' for n in range(self.wide))}])"

    def _broadcast(self, value: Value, kind: str = "") -> str:
        """One number in every lane; the vector of a constant is made once, before the steps."""
        text = value.fixed or value.text
        if kind in _REAL and isinstance(value.number, int):
            text = repr(float(value.number))
        if kind and value.kind != kind:
            text = f"ti.{kind}({text})"
        vector = f"ti.Vector([{text}] * {self.wide})"
        if value.fixed:
            return self._top.setdefault(vector, f"every_{len(self._top)}")
        for scope in reversed(self._scopes):
            if vector in scope.vectors:
                return scope.vectors[vector]
        self._temporaries += 1
        name = f"all_{self._temporaries}"
        self._emit(f"{name} = {vector}")
        self._scopes[-1].vectors[vector] = name
        return name

    def _forget(self, name: str) -> None:
        """A local was assigned: vectors made from it are stale."""
        self._fixed.pop(name, None)
        for scope in self._scopes:
            for vector in [v for v in scope.vectors if re.search(rf"\b{name}\b", v)]:
                del scope.vectors[vector]

    def _dtype(self, name: str) -> str:
        dtype = np.dtype(self.arrays[name].dtype)
        return storage.ENGINE_DTYPES[dtype.name] if dtype.kind == "f" else "whole"


def _numpy(kind: str) -> Any:
    return np.float64 if kind == "f64" else np.float32


def _common(one: str, other: str) -> str:
    """The type of a sum."""
    order = ("truth", "whole", "literal", "f32", "f64")
    return max(one, other, key=order.index)


def _local(name: str, place: int) -> str:
    return f"{name}_at_{place}"


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _base(node: ast.AST) -> str:
    assert isinstance(node, ast.Subscript)
    return node.value.id if isinstance(node.value, ast.Name) else ""


def _loaded(target: ast.expr) -> ast.expr:
    made = ast.parse(ast.unparse(target), mode="eval").body
    return made


def _targets(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from node.targets
        elif isinstance(node, ast.AugAssign):
            yield node.target


def _assigned(body: Sequence[ast.stmt]) -> set[str]:
    """The locals that statements assign, those of loops among them."""
    found = {t.id for one in body for t in _targets(one) if isinstance(t, ast.Name)}
    loops = [n for one in body for n in ast.walk(one) if isinstance(n, ast.For)]
    return found | {n.target.id for n in loops if isinstance(n.target, ast.Name)}


def _reads_shape_of(node: ast.AST, names: tuple[str, ...]) -> bool:
    return any(
        isinstance(n, ast.Attribute)
        and n.attr == "shape"
        and isinstance(n.value, ast.Name)
        and n.value.id.endswith(names)
        for n in ast.walk(node)
    )
