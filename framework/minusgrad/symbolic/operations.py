"""The table of operations: value, derivative, Taichi text and name in `ti` of each.

`OPERATIONS` has one row for each operation of an expression graph. The graph, its simplification, its
derivatives, its values in NumPy, the stand-ins for `ti`, the emitted kernels and the checks all read it, so
that a new smooth function of energies is one new row:

    Operation("cosh", python=math.cosh, numpy=np.cosh, text="{T}(0.5) * (ti.exp({0}) + ti.exp(-{0}))",
              derivative=lambda y, a: (y - _f("exp", -a),), function=True)

Decisions 0255.
"""

import math
import operator
from typing import Any

import numpy as np

from ..engine.special_functions import erf, erfc
from .operation import SAME, Operation, Singularity
from .scalar import Scalar
from .stretches.isotropic import biot_slopes, entry_slopes, no_third, sum_slopes, trace_slopes


def _f(op: str, first: Scalar, *rest: Scalar | float) -> Scalar:
    return first.graph.apply(op, first, *rest)


def _zero(like: Scalar) -> Scalar:
    return like.graph.constant(0.0)


def _round(value: Any) -> Any:
    """The nearest whole number, halves away from zero, as in Taichi (NumPy rounds halves to even)."""
    return np.copysign(np.floor(np.abs(value) + 0.5), value)


_ARC = "{} of 1 or -1 has no finite derivative; write atan2 of a sine and a cosine"

# fmt: off
_ROWS = (
    *map(Operation, ("constant", "input", "lookup")),
    # Arithmetic
    Operation("add", 2, python=operator.add, numpy=np.add, text="{} + {}", vectors=SAME,
              derivative=lambda y, a, b: (1.0, 1.0), result="same", commutative=True),
    Operation("sub", 2, python=operator.sub, numpy=np.subtract, text="{} - {}", vectors=SAME,
              derivative=lambda y, a, b: (1.0, -1.0), result="same"),
    Operation("mul", 2, python=operator.mul, numpy=np.multiply, text="{} * {}", vectors=SAME,
              derivative=lambda y, a, b: (b, a), result="same", commutative=True),
    Operation("div", 2, python=operator.truediv, numpy=np.divide, text="{} / {}", vectors=SAME,
              derivative=lambda y, a, b: (1.0 / b, None)),  # the graph keeps division by constants alone
    Operation("recip", python=lambda a: 1.0 / a, numpy=np.reciprocal, text="{T}(1.0) / {}",
              vectors="{one} / {}", derivative=lambda y, a: (-(y * y),)),
    Operation("pow", 2, python=operator.pow, numpy=np.power, recomputed=True,
              derivative=lambda y, a, b: (
                  _f("select", _f("eq", b, 0.0), 0.0, b * a ** (b - 1.0)),
                  _f("select", _f("eq", a, 0.0), 0.0, y * _f("log", a))),
              singularity=Singularity(
                  lambda y, a, b: a == 0.0 and y.args[1].number is None,
                  "zero to the power of what has a derivative, which is log(0); keep the base above zero")),
    # Whole numbers
    Operation("floordiv", 2, python=operator.floordiv, numpy=np.floor_divide, text="ti.floor({} / {})",
              rounding="is divided by //"),
    # of integers: exact, however / is rounded
    Operation("quotient", 2, python=operator.floordiv, numpy=np.floor_divide, result="same",
              text="ti.floor({0} / {1} + {T}(0.5) / ti.abs({1}))"),
    Operation("floor", python=lambda a: float(math.floor(a)), numpy=np.floor, vectors=SAME, result="whole",
              rounding="is rounded by floor", recomputed=True),
    Operation("ceil", python=lambda a: float(math.ceil(a)), numpy=np.ceil, vectors=SAME, result="whole",
              rounding="is rounded by ceil", recomputed=True),
    Operation("round", numpy=_round, result="whole", rounding="is rounded"),
    Operation("to_int", python=math.trunc, numpy=np.trunc, text="{T}(ti.cast({}, ti.i64))", result="integer",
              rounding="is cast to an integer"),
    Operation("to_real", python=float, numpy=np.positive, text="{T}({})"),
    # Smooth functions
    Operation("sqrt", python=math.sqrt, numpy=np.sqrt, vectors=SAME, function=True, recomputed=True,
              derivative=lambda y, a: (0.5 * (1.0 / y),),
              singularity=Singularity(
                  lambda y, a: a == 0.0,
                  "the root of zero has no finite derivative; write norm(eps), or sqrt(x + eps)")),
    Operation("exp", python=math.exp, numpy=np.exp, function=True, derivative=lambda y, a: (y,)),
    Operation("log", python=math.log, numpy=np.log, function=True, recomputed=True,
              derivative=lambda y, a: (1.0 / a,)),
    Operation("sin", python=math.sin, numpy=np.sin, function=True, recomputed=True,
              derivative=lambda y, a: (_f("cos", a),)),
    Operation("cos", python=math.cos, numpy=np.cos, function=True, recomputed=True,
              derivative=lambda y, a: (-_f("sin", a),)),
    Operation("tan", python=math.tan, numpy=np.tan, function=True, derivative=lambda y, a: (1.0 + y * y,)),
    Operation("asin", python=math.asin, numpy=np.arcsin, function=True, recomputed=True,
              derivative=lambda y, a: (1.0 / _f("sqrt", 1.0 - a * a),),
              singularity=Singularity(lambda y, a: abs(a) == 1.0, _ARC.format("asin"))),
    Operation("acos", python=math.acos, numpy=np.arccos, function=True, recomputed=True,
              derivative=lambda y, a: (-1.0 / _f("sqrt", 1.0 - a * a),),
              singularity=Singularity(lambda y, a: abs(a) == 1.0, _ARC.format("acos"))),
    Operation("atan2", 2, python=math.atan2, numpy=np.arctan2, function=True, recomputed=True,
              derivative=lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
              singularity=Singularity(
                  lambda y, a, b: a == b == 0.0,
                  "atan2(0, 0) has no derivative; keep its arguments away from there")),
    Operation("tanh", python=math.tanh, numpy=np.tanh, function=True, derivative=lambda y, a: (1.0 - y * y,)),
    Operation("erf", python=math.erf, numpy=erf, text="erf_{R}({})", function=True,
              derivative=lambda y, a: (2.0 / math.sqrt(math.pi) * _f("exp", -(a * a)),)),
    Operation("erfc", python=math.erfc, numpy=erfc, text="erfc_{R}({})", function=True,
              derivative=lambda y, a: (-2.0 / math.sqrt(math.pi) * _f("exp", -(a * a)),)),
    # Functions of principal stretches, of C in the plane and in space
    Operation("stretch_trace", 4, defined=True, derivative=trace_slopes,
              singularity=Singularity(
                  lambda y, value, i1, i2, J: y * (y * y - i1) == 2.0 * J,
                  "two principal stretches add up to zero, where a mirror image has no nearest rotation")),
    Operation("biot_squares", 3, defined=True, derivative=biot_slopes),
    *(Operation(f"stretch_sum{d}", 4 + c, defined=True, derivative=sum_slopes) for d, c in ((2, 3), (3, 6))),
    *(Operation(f"stretch_entry{d}", 6 + c, defined=True, derivative=entry_slopes)
      for d, c in ((2, 3), (3, 6))),
    *(Operation(f"stretch_slope{d}", 2 + c, defined=True, derivative=no_third) for d, c in ((2, 3), (3, 6))),
    # A value that is not differentiated, in steps of which all derivatives are exact (`elimination.newton`)
    Operation("fixed", defined=True),
    # Kinks and choices
    Operation("abs", python=abs, numpy=np.abs, vectors="ti.max({0}, {zero} - {0})", result="same",
              derivative=lambda y, a: (
                  _f("select", _f("side", a, 0.0), 1.0, _f("select", _f("side", _zero(a), a), -1.0, 0.0)),),
              function=True, recomputed=True),
    Operation("min", 2, python=min, numpy=np.minimum, vectors=SAME, result="same",
              branches=lambda y, a, b: (_f("side", b, a), a, b)),
    Operation("max", 2, python=max, numpy=np.maximum, vectors=SAME, result="same",
              branches=lambda y, a, b: (_f("side", a, b), a, b)),
    Operation("select", 3, numpy=np.where, vectors=SAME, result="same", recomputed=True,
              branches=lambda y, condition, a, b: (condition, a, b),
              singularity=Singularity(
                  lambda y, condition, a, b: not np.isfinite(b if condition else a),
                  "the side that this select does not take is not finite, and Taichi reverses both sides;"
                  " make it finite, or write `if`", rule="select")),
    # Truths; `side` is a > b in derivatives, where `ties` decides about a == b
    Operation("side", 2, python=operator.gt, numpy=np.greater, text="{} > {}", vectors=SAME, result="truth"),
    Operation("lt", 2, python=operator.lt, numpy=np.less, text="{} < {}", vectors=SAME, result="truth"),
    Operation("le", 2, python=operator.le, numpy=np.less_equal, text="{} <= {}", vectors=SAME,
              result="truth"),
    Operation("eq", 2, python=operator.eq, numpy=np.equal, text="{} == {}", vectors=SAME, result="truth",
              commutative=True),
    Operation("ne", 2, python=operator.ne, numpy=np.not_equal, text="{} != {}", vectors=SAME, result="truth",
              commutative=True),
    Operation("and", 2, numpy=np.logical_and, text="{} & {}", vectors=SAME, result="truth", commutative=True),
    Operation("or", 2, numpy=np.logical_or, text="{} | {}", vectors=SAME, result="truth", commutative=True),
)
# fmt: on

OPERATIONS = {row.name: row for row in _ROWS}
"""Every operation by its name; the leaves (constants, inputs, numbers of a table) are rows without values."""

TRUTHS = frozenset(name for name, row in OPERATIONS.items() if row.result == "truth")
"""Operations whose result is true or false."""
