"""Functions of principal stretches in expression graphs, differentiable where stretches coincide.

`functions` says which functions these are. Each is a node of the graph whose first argument is its value, an
expression that is never differentiated (`eigenvectors`), and whose rule is one of these:

    tr S = y(i1, i2, J)     i1 = tr C, i2 = (i1^2 - tr C^2) / 2, J = det F, C = F^T F; the largest root of
                            y^4 - 2 i1 y^2 - 8 J y + i1^2 - 4 i2 = 0
        dy = ((y^2 - i1) / 2 di1 + di2 + 2 y dJ) / D,     D = y^3 - i1 y - 2 J = 2 (s1+s2) (s2+s3) (s3+s1)
    R = dy/dF,              |F - R|^2 = |F|^2 - 2 y + 3      (Hoger & Carlson 1984, Q. Appl. Math. 42, 113)

    sum_a g(l_a)            l_a = s_a^2 the eigenvalues of C, n_a its eigenvectors, h = ln s = ln l / 2,
                            g = l^(P) h^q, P = a / 2 - k
        d/dC_ij             W_ij = sum_a g'(l_a) n_ai n_aj,        g' = l^(P-1) (2 P h^q + q h^(q-1)) / 2
        dW/dC : E           sum_ab G_ab n_a (x) n_b (n_a . E n_b),  G_ab = (g'_a - g'_b) / (l_a - l_b)

G_ab is a divided difference. With M = h_a + h_b and t = h_a - h_b it is, for g' = l^P h^q,

    q = 0:   e^((P-1) M) P sinhc(P t) / sinhc(t)                       sinhc(x) = sinh(x) / x
    q = 1:   (M times the above + e^((P-1) M) cosh(P t) / sinhc(t)) / 2

by series in t^2 for small t, and by its definition beyond. y has derivatives of every order, the sums have
two.

Decisions 0255.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from ...errors import EnergyError
from ..scalar import Number, Scalar
from ..tensors import Tensor
from .eigenvectors import TINY, eigen, upper

NEAR = 0.25
"""Bound of (1 + P^2) t^2 for the series, whose first term left out is then below 1e-16 of the sum."""
Partials = tuple[Scalar | float | None, ...]


# In the language of energies ------------------------------------------------------------------------------


def polar(F: Tensor) -> Tensor:
    """R of F = R S."""
    if _matrix_order(F, "polar") == 2:
        y, (a, b, c, d) = stretch_trace(F), F.entries
        return F._with_entries(entry / y for entry in (a + d, b - c, c - b, a + d))
    C = F.transpose() @ F
    y, (i1, _, J) = stretch_trace(F), _invariants(F, C)
    scaled = (y * y + i1) * F - 2.0 * (F @ C) + 2.0 * y * _cofactor(F)
    return scaled / (y * (y * y - i1) - 2.0 * J)


def stretch_trace(F: Tensor) -> Scalar:
    """tr S of F = R S."""
    if _matrix_order(F, "stretch_trace") == 2:
        a, b, c, d = F.entries
        return F.functions.sqrt((a + d) * (a + d) + (b - c) * (b - c))
    invariants = _invariants(F, F.transpose() @ F)
    value = reduce(add, _signed_stretches(F))
    return value.graph.apply("stretch_trace", value, *invariants)


def biot_squares(F: Tensor) -> Scalar:
    """|F - R|^2 as sum (s_a - 1)^2, which keeps the digits of small strains."""
    y = stretch_trace(F)
    if _matrix_order(F, "biot_squares") == 2:
        a, b, c, d = F.entries
        return 0.5 * ((y - 2.0) * (y - 2.0) + (a - d) * (a - d) + (b + c) * (b + c))
    value = reduce(add, ((s - 1.0) * (s - 1.0) for s in _signed_stretches(F)))
    return value.graph.apply("biot_squares", value, (F * F).sum(), y)


def stretch_powers(F: Tensor, exponent: Any) -> Scalar:
    """sum |s_a|^exponent."""
    _matrix_order(F, "stretch_powers")
    return _sum_of_powers(_stretch_tensor_entries(F), exponent, 0, 0)


def log_stretch_squares(F: Tensor) -> Scalar:
    """sum (ln |s_a|)^2."""
    _matrix_order(F, "log_stretch_squares")
    return _sum_of_powers(_stretch_tensor_entries(F), 0.0, 2, 0)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    polar,
    stretch_trace,
    biot_squares,
    stretch_powers,
    log_stretch_squares,
)


def _matrix_order(F: Any, name: str) -> int:
    if not isinstance(F, Tensor) or F.shape not in ((2, 2), (3, 3)):
        got = f"shape {list(F.shape)}" if isinstance(F, Tensor) else "a number"
        raise TypeError(f"{name}: takes a 2 x 2 or 3 x 3 matrix, got {got}; give a deformation gradient")
    return F.n


def _stretch_tensor_entries(F: Tensor) -> list[Scalar]:
    return _upper_entries(F.transpose() @ F)


def _upper_entries(C: Tensor) -> list[Scalar]:
    """The upper half; a row of a matrix of constants is made of scalars."""
    return [C[place] for place in upper(C.n)]


def _invariants(F: Tensor, C: Tensor) -> tuple[Scalar, Scalar, Scalar]:
    c00, c01, c02, c11, c12, c22 = _upper_entries(C)
    i2 = c00 * c11 - c01 * c01 + (c11 * c22 - c12 * c12) + (c22 * c00 - c02 * c02)
    return C.trace(), i2, F.determinant()


def _cofactor(F: Tensor) -> Tensor:
    rows = [F.row(i) for i in range(3)]
    return Tensor.of([rows[1].cross(rows[2]), rows[2].cross(rows[0]), rows[0].cross(rows[1])], F.functions)


def _signed_stretches(F: Tensor) -> list[Scalar]:
    """s1, s2, s3 in space; the smallest, whose digits its square lacks, is J / (s2 s3) of the other two."""
    squares, J = eigen(_stretch_tensor_entries(F))[0], F.determinant()
    l0, l1, l2 = squares
    smallest = [_f("and", l0 < l1, l0 < l2), _f("and", l1 <= l0, l1 < l2), _f("and", l2 <= l0, l2 <= l1)]
    roots = [_f("sqrt", _f("select", one > 0.0, one, 0.0)) for one in squares]
    others = [J / (roots[a - 2] * roots[a - 1] + TINY) for a in range(3)]
    return [_f("select", *three) for three in zip(smallest, others, roots, strict=True)]


def biot_slopes(y: Scalar, value: Scalar, square: Scalar, trace: Scalar) -> Partials:
    """Of |F|^2 - 2 tr S + 3."""
    return None, 1.0, -2.0


def trace_slopes(y: Scalar, value: Scalar, i1: Scalar, i2: Scalar, J: Scalar) -> Partials:
    """dy by the value (none), i1, i2, J."""
    part = y * y - i1
    scale = 1.0 / (y * part - 2.0 * J)
    return None, 0.5 * part * scale, scale, 2.0 * y * scale


# Sums over the eigenvalues of C ---------------------------------------------------------------------------


class _Spectrum:
    """Eigenvalues l and eigenvectors n of C, h = ln l / 2, and weights l^(a/2 - k) h^q."""

    def __init__(self, C: Sequence[Scalar]):
        self.l, self.n = eigen(C)
        self.order = len(self.l)

    def h(self, a: int) -> Scalar:
        return 0.5 * _f("log", self.l[a])

    def weight(self, a: int, exponent: Scalar | Number, q: int, k: int) -> Scalar:
        square = self.l[a]
        number = exponent.number if isinstance(exponent, Scalar) else exponent
        if number is not None and float(number).is_integer():
            power = square ** (0.5 * number - k)
        else:
            power = _f("exp", exponent * self.h(a)) * square ** float(-k)
        return power * self.h(a) ** q if q else power

    def symmetric_product(self, a: int, b: int, i: int, j: int) -> Scalar:
        """n_ai n_bj + n_bi n_aj, for a = b half of it."""
        n = self.n
        return n[a][i] * n[a][j] if a == b else n[a][i] * n[b][j] + n[b][i] * n[a][j]

    def difference(self, a: int, b: int, exponent: Scalar | Number, q: int, k: int) -> Scalar:
        """G_ab of the weights."""
        la, lb, ha, hb = self.l[a], self.l[b], self.h(a), self.h(b)
        P, M, t = 0.5 * exponent - float(k), ha + hb, ha - hb
        near = (1.0 + P * P) * (t * t) < NEAR
        square = t * t
        bell = _f("sqrt", self.weight(a, exponent, 0, k) * self.weight(b, exponent, 0, k) / (la * lb))
        bell = bell / _sinhc(square)
        straight = bell * P * _sinhc(P * P * square)
        if q:
            straight = 0.5 * (M * straight + bell * _cosh(P * P * square))
        if a == b:
            return straight
        far = self.weight(a, exponent, q, k) - self.weight(b, exponent, q, k)
        return _f("select", near, straight, far / _f("select", near, 1.0, la - lb))


def _sum_of_powers(C: Sequence[Scalar], exponent: Scalar | Number, q: int, k: int) -> Scalar:
    """The node sum_a l_a^(a/2 - k) h_a^q."""
    found = _Spectrum(C)
    value = reduce(add, (found.weight(a, exponent, q, k) for a in range(found.order)))
    return value.graph.apply(f"stretch_sum{found.order}", value, exponent, q, k, *C)


def _stretch_entries(C: Sequence[Scalar], exponent: Scalar | Number, q: int, k: int) -> list[Scalar]:
    """The nodes of the matrix sum_a l_a^(a/2 - k) h_a^q n_a (x) n_a, its upper half."""
    found, made = _Spectrum(C), []
    for i, j in upper(found.order):
        parts = (
            found.weight(a, exponent, q, k) * found.symmetric_product(a, a, i, j) for a in range(found.order)
        )
        value = reduce(add, parts)
        made.append(value.graph.apply(f"stretch_entry{found.order}", value, exponent, q, k, i, j, *C))
    return made


def sum_slopes(y: Scalar, value: Scalar, exponent: Scalar, q: Scalar, k: Scalar, *C: Scalar) -> Partials:
    """By the exponent a and the entries of C, of which those beside the diagonal count twice."""
    of, by = (int(q.value), int(k.value)), exponent - 2.0 * k.value
    slopes: list[Scalar | float] = [0.0] * len(C)
    for factor, power in ((by, of[0]), (of[0], of[0] - 1)):
        if not _is_zero(factor):
            entries = _stretch_entries(C, exponent, power, of[1] + 1)
            slopes = [slope + 0.5 * factor * entry for slope, entry in zip(slopes, entries, strict=True)]
    by_exponent = None if exponent.number is not None else _sum_of_powers(C, exponent, of[0] + 1, of[1])
    return None, by_exponent, None, None, *_doubled_off_diagonal(slopes)


def entry_slopes(y: Scalar, value: Scalar, exponent: Scalar, *rest: Scalar) -> Partials:
    """By the exponent a and the entries of C: G_ab (n_ai n_bj + n_bi n_aj) (n_ak n_bl + n_bk n_al)."""
    (q, k, i, j), C = (int(one.value) for one in rest[:4]), rest[4:]
    found = _Spectrum(C)
    by_exponent = None
    if exponent.number is None:
        by_exponent = _stretch_entries(C, exponent, q + 1, k)[upper(found.order).index((i, j))]
    parts = [
        (a, b, found.difference(a, b, exponent, q, k) * found.symmetric_product(a, b, i, j))
        for a, b in upper(found.order)
    ]
    slopes = []
    for m, n in upper(found.order):
        scale = [0.5 if a != b else 1.0 for a, b, _ in parts]
        slope = reduce(
            add,
            (
                s * part * found.symmetric_product(a, b, m, n)
                for s, (a, b, part) in zip(scale, parts, strict=True)
            ),
        )
        slopes.append(value.graph.apply(f"stretch_slope{found.order}", slope, exponent, *C))
    return None, by_exponent, None, None, None, None, *_doubled_off_diagonal(slopes)


def no_third(*_: Scalar) -> Partials:
    raise EnergyError(
        "stretch_powers and log_stretch_squares: have first and second derivatives, got a request for a"
        " third; write the energy with stretch_trace, polar or invariants"
    )


def _doubled_off_diagonal(entries: Sequence[Any]) -> list[Any]:
    """The upper half with elements beside the diagonal counted twice."""
    order = 2 if len(entries) == 3 else 3
    return [e if i == j else 2.0 * e for e, (i, j) in zip(entries, upper(order), strict=True)]


def _is_zero(factor: Scalar | Number) -> bool:
    return (factor.number if isinstance(factor, Scalar) else factor) == 0.0


def _sinhc(square: Scalar) -> Scalar:
    """sinh(x) / x of x^2 < 0.25."""
    return _nested_series(square, (156.0, 110.0, 72.0, 42.0, 20.0, 6.0))


def _cosh(square: Scalar) -> Scalar:
    """cosh x of x^2 < 0.25."""
    return _nested_series(square, (182.0, 132.0, 90.0, 56.0, 30.0, 12.0, 2.0))


def _nested_series(square: Scalar, ratios: Sequence[float]) -> Scalar:
    """1 + x^2 / r_n (1 + x^2 / r_(n-1) (...)), the last ratio outermost."""
    total: Any = 1.0
    for ratio in ratios:
        total = 1.0 + square * (1.0 / ratio) * total
    return total


def _f(op: str, first: Scalar, *rest: Scalar | Number) -> Scalar:
    return first.graph.apply(op, first, *rest)
