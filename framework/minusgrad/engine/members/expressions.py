"""Expressions of a kernel's text as those of vectors, in which each lane is a member.

What does not differ between members stays a single number, and is broadcast where it meets a vector.
Functions without an instruction for vectors are computed lane by lane.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import storage, vector_functions
from ..kernels import SCALARS
from ..lane_blocks import lanes
from .text_survey import OPERATORS, NotWideError, TextSurvey, base, places_of

LONGEST = 200
"""Characters of texts of numbers that are computed before the steps."""
BLOCK = "block"
"""The number of the block of members, in the rewritten text."""
_SAME = ("ti.sqrt", "ti.min", "ti.max", "ti.floor", "ti.ceil")
"""Functions that are instructions on vectors."""
_CASTS = {"ti.f32": "f32", "ti.f64": "f64"}
_COMPARISONS: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
REAL = ("f32", "f64")


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
class Scope:
    """One block of statements. `vectors`: names of broadcast numbers, by text; `names`: those of its locals.

    A local has the name of the original text unless another block had that before.
    """

    vectors: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


class MemberExpressions(TextSurvey):
    """The expressions of one text; statements that they need are emitted before."""

    def __init__(self, text: str, arrays: Mapping[str, Any], own: set[str], dtype: Any):
        super().__init__(text, arrays, own, dtype)
        self._temporaries, self._depth = 0, 0
        self._top: dict[str, str] = {}
        """Names of vectors that are made before the steps, by their text."""
        self._inverses: dict[str, str] = {}
        self._scopes = [Scope()]
        self._out: list[tuple[int, str]] = []
        self._numbers: dict[str, int] = {}
        """Whole numbers of locals that are known."""
        self._fixed: dict[str, str] = {}
        kinds = {"ti.f64": "f64"}
        self._kinds: dict[str, str] = {n: kinds.get(kind, "whole") for n, kind in SCALARS.items()}

    def _array_place(self, name: str, place: str) -> str:
        return f"{name}[{BLOCK} * {self.sizes[name]} + {place}]"

    def _number_text(self, name: str, place: int | str) -> str:
        """A number of an own array: a local, or that in memory. No array is in both places."""
        if name not in self.local:
            return self._array_place(name, str(place))
        if not isinstance(place, int):
            raise NotWideError(f"reads {name} at a place that is not known, while its numbers are locals")
        return local_name(name, place)

    def _emit_line(self, line: str) -> None:
        self._out.append((self._depth, line))

    def _known_local(self, name: str) -> str | None:
        """The name of a local of the original text; None before it is assigned."""
        return next((scope.names[name] for scope in reversed(self._scopes) if name in scope.names), None)

    def _value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            number = node.value if isinstance(node.value, (int, float)) else None
            kind = "whole" if isinstance(node.value, int) else "literal"
            return Value(repr(node.value), kind, number=number, fixed=repr(node.value))
        if isinstance(node, ast.Name):
            name = self._known_local(node.id) or node.id
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
            number = self._constant_integer(node)
            return Value(str(number), "whole", number=number)
        if not isinstance(node.value, ast.Name):
            raise NotWideError(f"reads {ast.unparse(node)}")
        name, place = base(node), self._place(node)
        kind = self._array_type(name)
        if name in self.own:
            return Value(self._number_text(name, place), kind, True)
        array = storage.host(self.arrays[name])
        indices = [self._value(i) for i in places_of(node)]
        if kind == "whole" and all(isinstance(i.number, int) for i in indices):
            number = int(array[tuple(int(i.number) for i in indices if i.number is not None)])
            return Value(str(number), "whole", number=number)
        text = f"{name}[{', '.join(i.text for i in indices)}]"
        return Value(text, kind, fixed=text if all(isinstance(i.number, int) for i in indices) else "")

    def _place(self, node: ast.Subscript) -> int | str:
        """The index in the row of numbers of an array: an integer where it is known."""
        shape = tuple(self.arrays[base(node)].shape)
        indices = [self._value(i) for i in places_of(node)]
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
        left, right, sign = self._value(node.left), self._value(node.right), OPERATORS[type(node.op)]
        if isinstance(left.number, int) and isinstance(right.number, int) and sign not in ("/", "**"):
            number = int(eval(f"({left.number}) {sign} ({right.number})"))
            return Value(str(number), "whole", number=number)
        kind = _common_type(left.kind, right.kind)
        if sign == "/" and kind == "whole":
            kind = "f64"
        if not (left.wide or right.wide):
            fixed = f"({left.fixed} {sign} {right.fixed})" if left.fixed and right.fixed else ""
            return Value(
                f"({left.text} {sign} {right.text})", kind, fixed=fixed if len(fixed) < LONGEST else ""
            )
        if kind == "truth":
            return Value(f"({self._mask(left)} {sign} {self._mask(right)})", "truth", True)
        if sign not in "+-*/" or kind not in REAL:
            return self._by_lane(f"{{0}} {sign} {{1}}", [left, right], kind)
        divisor = self._convert_vector(right, kind)
        if sign == "/" and right.kind == kind and (right.fixed or self._constant_local(right.text)):
            inverse = self._inverses.setdefault(divisor, f"inverse_{divisor}")
            return Value(f"({self._convert_vector(left, kind)} * {inverse})", kind, True)
        return Value(f"({self._convert_vector(left, kind)} {sign} {divisor})", kind, True)

    def _constant_local(self, text: str) -> bool:
        """True for the local of a number that the text never writes, such as an inertia."""
        name, _, place = text.rpartition("_at_")
        return place.isdecimal() and name in self.local and name not in self.written

    def _mask(self, value: Value) -> str:
        return value.text if value.wide else self._broadcast_value(Value(value.text, "whole"))

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self._value(node.operand)
        if isinstance(node.op, ast.USub):
            if value.number is not None:
                text = f"(-{value.text})"
                return Value(text, value.kind, number=-value.number, fixed=text)
            if not value.wide:
                return Value(f"(-{value.text})", value.kind)
            zero = self._broadcast_value(Value("0.0", "literal"), value.kind)
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
        kind = _common_type(left.kind, right.kind)
        if kind == "whole":
            kind = next(v.kind for v in (left, right) if v.wide)
        return Value(
            f"({self._convert_vector(left, kind)} {sign} {self._convert_vector(right, kind)})", "truth", True
        )

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
            return Value(self._convert_vector(value, kind), kind, True)
        if function == "ti.cast":
            kind = {"ti.f64": "f64", "ti.f32": "f32"}.get(values[1].text, "whole")
            if not values[0].wide:
                number = values[0].number if kind == "whole" and isinstance(values[0].number, int) else None
                return Value(f"ti.cast({values[0].text}, {values[1].text})", kind, number=number)
            if kind in REAL and values[0].kind in REAL:
                return Value(self._convert_vector(values[0], kind), kind, True)
            return self._by_lane(f"ti.cast({{0}}, {values[1].text})", values[:1], kind)
        kind = self._result_type(function, values)
        if not any(v.wide for v in values):
            return Value(f"{function}({', '.join(v.text for v in values)})", kind)
        if function == "ti.select":
            mask, *rest = values
            texts = [self._convert_vector(v, kind) for v in rest]
            if not mask.wide:
                return Value(f"ti.select({self._mask(mask)}, {', '.join(texts)})", kind, True)
            return Value(f"ti.select({mask.text}, {', '.join(texts)})", kind, True)
        if kind in REAL:
            if function in _SAME:
                return Value(
                    f"{function}({', '.join(self._convert_vector(v, kind) for v in values)})", kind, True
                )
            if function == "ti.abs":
                text, zero = (
                    self._convert_vector(values[0], kind),
                    self._broadcast_value(Value("0.0", "literal"), kind),
                )
                text = self._temporary_local(text)
                return Value(f"ti.max({text}, {zero} - {text})", kind, True)
            name = function.removeprefix("ti.")
            if name in vector_functions.FUNCTIONS and self.wide == lanes(_numpy_type(kind)):
                called = vector_functions.name(name, kind, self.wide)
                texts = [self._convert_vector(v, kind) for v in values]
                return Value(f"{called}({', '.join(texts)})", kind, True)
        arguments = ", ".join(f"{{{k}}}" for k in range(len(values)))
        return self._by_lane(f"{function}({arguments})", values, kind)

    def _result_type(self, function: str, values: Sequence[Value]) -> str:
        """The type of a function's result."""
        if function.startswith("random_"):
            return "f64"
        relevant = values[1:] if function == "ti.select" else values
        kind = "literal"
        for value in relevant:
            kind = _common_type(kind, value.kind)
        return {"literal": self.real, "truth": "whole"}.get(kind, kind)

    def _by_lane(self, template: str, values: Sequence[Value], kind: str) -> Value:
        """A function of single numbers, lane by lane."""
        texts = [self._temporary_local(v.text) if v.wide and not v.each else v.text for v in values]
        each = []
        for lane in range(self.wide):
            own = [f"{t}[{lane}]" if v.wide else t for t, v in zip(texts, values, strict=True)]
            own = [v.each[lane] if v.each else text for text, v in zip(own, values, strict=True)]
            each.append(template.format(*own))
        if kind == "whole":
            return Value("", kind, True, each=tuple(each))
        return Value(f"ti.Vector([{', '.join(each)}])", kind, True)

    def _temporary_local(self, text: str) -> str:
        """A local with the value of an expression."""
        if re.fullmatch(r"\w+", text):
            return text
        self._temporaries += 1
        self._emit_line(f"lane_{self._temporaries} = {text}")
        return f"lane_{self._temporaries}"

    def _convert_vector(self, value: Value, kind: str) -> str:
        """A vector of this type."""
        if not value.wide:
            return self._broadcast_value(value, kind)
        if value.kind == kind:
            return value.text
        if value.each:
            return f"ti.Vector([{', '.join(f'ti.cast({text}, ti.{kind})' for text in value.each)}])"
        if value.kind == "truth":
            one, zero = (self._broadcast_value(Value(n, "literal"), kind) for n in ("1.0", "0.0"))
            return f"ti.select({value.text}, {one}, {zero})"
        text = self._temporary_local(value.text)
        return f"ti.Vector([{', '.join(f'ti.cast({text}[{n}], ti.{kind})' for n in range(self.wide))}])"

    def _broadcast_value(self, value: Value, kind: str = "") -> str:
        """One number in every lane; the vector of a constant is made once, before the steps."""
        text = value.fixed or value.text
        if kind in REAL and isinstance(value.number, int):
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
        self._emit_line(f"{name} = {vector}")
        self._scopes[-1].vectors[vector] = name
        return name

    def _forget_vectors(self, name: str) -> None:
        """A local was assigned: vectors made from it are stale."""
        self._fixed.pop(name, None)
        for scope in self._scopes:
            for vector in [v for v in scope.vectors if re.search(rf"\b{name}\b", v)]:
                del scope.vectors[vector]

    def _array_type(self, name: str) -> str:
        dtype = storage.numpy_dtype(self.arrays[name])
        return storage.ENGINE_DTYPES[dtype.name] if dtype.kind == "f" else "whole"


def _numpy_type(kind: str) -> Any:
    return np.float64 if kind == "f64" else np.float32


def _common_type(one: str, other: str) -> str:
    """The type of a sum."""
    order = ("truth", "whole", "literal", "f32", "f64")
    return max(one, other, key=order.index)


def local_name(name: str, place: int) -> str:
    return f"{name}_at_{place}"
