"""Three questions to a gradient, whatever it is the gradient of.

    Taylor   |U(a + h w) - U(a) - h grad U . w| falls as h^2; the slope is fitted only where the remainder
             exceeds rounding (100 eps sum|u|), and below that floor everything passes; at a kink the gradient
             is to be the mean of both sides
    path     U(b) - U(a) = integral of grad U . dx from a to b, a step of physical size: sees gradients that
             are right at every point and yet miss how U moves (a coordinate cast to an integer pixel)

Differences here only judge; no gradient is ever made from them.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..energies.fields import ordered_sum

EPS = float(np.finfo(np.float64).eps)
GAUSS = np.polynomial.legendre.leggauss(6)
HALVINGS = 150
"""Most halvings of one path; a few are enough where the gradient has no jumps."""
EARLY, LATE = 10, 40
"""Between so many halvings what is left shrinks, if it is kinks: a piece with n of them lacks as sqrt(n)."""
MANY = 1e-4
"""What may be left, in parts of the change, when all halvings are spent."""
NARROW = 2.0**-16
"""A part of a path in which what is left is a jump of U."""
INFINITE = "the gradient is not finite (a root or norm of zero without a guard, or a division by it)"
KINK = "a kink here: the gradient is the mean of both sides"
SHRINKS = 10
"""Most halvings of a step that leaves the domain of U."""
DOUBLINGS = 7
"""Most doublings of a step that changes no number that is rounded."""


@dataclass(frozen=True)
class Finding:
    """The answer to one question. `figure`: fitted order (Taylor), relative error (path, value).

    `where`: file and line, where they are known. A `warning` is no error: it may well be meant so.
    """

    term: str
    argument: str
    question: str
    passed: bool
    figure: float | None
    text: str
    where: str = ""
    warning: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Subject(Protocol):
    """What is asked: something with a value."""

    def value(self) -> float:
        """U, as things stand."""

    def rounding(self) -> float:
        """Below this, differences of U say nothing."""

    def finding(self, argument: str, question: str, passed: bool, figure: float | None, text: str) -> Finding:
        """An answer, with what was asked and where."""


@dataclass(frozen=True)
class Variable:
    """Something U depends on: its name, its values, how to set them, its gradient, the size of a step."""

    name: str
    values: np.ndarray
    put: Callable[[np.ndarray], None]
    gradient: Callable[[], np.ndarray]
    size: float
    inward: float = 0.0
    product: Callable[[np.ndarray], np.ndarray] | None = None
    """How the gradient changes along a step, where there are second derivatives."""

    def direction(self, rng: np.random.Generator) -> np.ndarray:
        """A random step of physical size; towards the inside for a parameter at its bound."""
        step = rng.normal(size=self.values.shape) * self.size
        return np.abs(step) * self.inward if self.inward else step


def inside(subject: Subject, knob: Variable, direction: np.ndarray) -> np.ndarray:
    """The step, halved until U is finite all along it."""
    for _ in range(SHRINKS):
        values = []
        for s in (0.25, 0.5, 0.75, 1.0):
            knob.put(knob.values + s * direction)
            values.append(subject.value())
        knob.put(knob.values)
        if np.isfinite(values).all():
            break
        direction = 0.5 * direction
    return direction


def until(rounded: Callable[[], tuple], knob: Variable, direction: np.ndarray) -> np.ndarray:
    """The step, doubled until something that is rounded on the way becomes another number."""
    before, longer = rounded(), direction
    for _ in range(DOUBLINGS if before else 0):
        knob.put(knob.values + longer)
        if rounded() != before:
            knob.put(knob.values)
            return longer
        longer = 2.0 * longer
    knob.put(knob.values)
    return direction


def taylor(subject: Subject, knob: Variable, direction: np.ndarray) -> Finding:
    """The order of the remainder over h = 1, 1/2, 1/4, ...: the median of the last slopes above rounding.

    A wrong gradient leaves a remainder of order 1 all the way down to rounding. One that falls there at once
    comes from a kink between here and the wider steps, and says nothing against the gradient here.
    """
    start, floor = subject.value(), subject.rounding()
    slope = ordered_sum(knob.gradient() * direction)
    remainders = []
    for h in 0.5 ** np.arange(30):
        knob.put(knob.values + h * direction)
        remainders.append(subject.value() - start - h * slope)
        if not abs(remainders[-1]) > floor:
            break
    knob.put(knob.values)
    order = _order(remainders, floor)
    if order is None:
        return subject.finding(knob.name, "taylor", True, None, "remainder at rounding level")
    if order < 1.2 and _is_kink(subject, knob, direction, slope):
        return subject.finding(knob.name, "taylor", True, None, KINK)
    passed = order > 1.8
    wrong = "" if passed else ", not 2: the gradient is wrong"
    return subject.finding(knob.name, "taylor", passed, order, f"remainder of order {order:.2f}{wrong}")


def curvature(subject: Subject, knob: Variable, direction: np.ndarray) -> Finding:
    """The order in which the gradient leaves its tangent, over h = 1, 1/2, 1/4, ...

    Where a second derivative jumps the tangent is that of one side: one of the two is enough.
    """
    assert knob.product is not None
    told = [_left(subject, knob, side * direction) for side in (1.0, -1.0)]
    knob.put(knob.values)
    orders = [order for order in told if order is not None]
    if len(orders) < len(told):
        return subject.finding(knob.name, "product", True, None, "remainder at rounding level")
    order, passed = max(orders), max(orders) > 1.8
    wrong = "" if passed else ", not 2: the Hessian product is wrong"
    return subject.finding(knob.name, "product", passed, order, f"remainder of order {order:.2f}{wrong}")


def _left(subject: Subject, knob: Variable, direction: np.ndarray) -> float | None:
    """The order on one side; None where all is rounding."""
    assert knob.product is not None
    knob.put(knob.values)
    start, change = knob.gradient(), knob.product(direction)
    most, length = float(np.abs(start).max()), float(np.abs(direction).max()) or 1.0
    remainders: list[float] = []
    for h in 0.5 ** np.arange(30):
        knob.put(knob.values + h * direction)
        there = knob.gradient()
        most = max(most, float(np.abs(there).max()))
        remainders.append(float(np.abs(there - start - h * change).max()))
        floor = 100.0 * EPS * most + subject.rounding() / length
        if not remainders[-1] > floor:
            break
    return _order(remainders, floor)


def _is_kink(subject: Subject, knob: Variable, direction: np.ndarray, slope: float) -> bool:
    """Whether U is |h| and something smooth: then U(h) - U(-h) still is twice the slope, to third order."""
    left = []
    for h in 0.5 ** np.arange(4, 16):
        sides = []
        for side in (1.0, -1.0):
            knob.put(knob.values + side * h * direction)
            sides.append(subject.value())
        left.append(abs(sides[0] - sides[1] - 2.0 * h * slope))
        if not left[-1] > subject.rounding():
            break
    knob.put(knob.values)
    order = _order(left, subject.rounding())
    return order is None or order > 1.8


def _order(remainders: list[float], floor: float) -> float | None:
    """The order in h of remainders over h, h / 2, h / 4, ...: the median of the last slopes above rounding.

    None where they say nothing: too few, or rounding at once after a wide gap, which is a kink on the way. If
    all are above `floor`, the least of them, if it is small, is rounding as well. After a change of sign
    slopes begin low and rise again, to 2, or to 1 if something is wrong: their limit counts (Aitken 1926).
    The slope across it says nothing. Of norms, which have no sign, a fall of the slopes tells of one.
    """
    sizes = np.abs(remainders)
    if floor < sizes[-1] < 1e-6 * sizes.max():
        floor = 8.0 * float(sizes.min())
    above = sizes > floor
    told, signs = sizes[above], np.sign(remainders)[above]
    if len(told) < 3 or (len(told) < len(sizes) and told[-1] > 64.0 * floor):
        return None
    slopes = -np.diff(np.log2(told[-7:]))
    across, falls = np.flatnonzero(np.diff(signs[-7:])), np.flatnonzero(np.diff(slopes) < -1.0)
    if (changes := across if across.size else falls).size:
        slopes = slopes[changes[-1] + 1 :]
        if len(slopes) < 3:
            return None
    usual = float(np.median(slopes[-5:]))
    if len(slopes) >= 3 and 0.0 < slopes[-1] - slopes[-2] < slopes[-2] - slopes[-3]:
        first, second = slopes[-2] - slopes[-3], slopes[-1] - slopes[-2]
        return max(usual, float(slopes[-1] + second * second / (first - second)))
    return usual


def path(subject: Subject, knob: Variable, direction: np.ndarray) -> Finding:
    """Compare U(b) - U(a) with the integral of the gradient, piece by piece.

    The piece that fits worst is halved until all fit. At a kink the mismatch shrinks with the piece;
    where U jumps, or the gradient is wrong, it stays.
    """

    def value(s: float) -> float:
        knob.put(knob.values + s * direction)
        return subject.value()

    def piece(a: float, b: float, ua: float, ub: float) -> _Piece:
        rates = []
        for node in GAUSS[0]:
            knob.put(knob.values + (a + 0.5 * (node + 1.0) * (b - a)) * direction)
            rates.append(ordered_sum(knob.gradient() * direction))
        integral = 0.5 * (b - a) * float(GAUSS[1] @ rates)
        return _Piece(-abs(ub - ua - integral), a, b, ua, ub, integral)

    pieces = [piece(0.0, 1.0, value(0.0), value(1.0))]
    change = pieces[0].ub - pieces[0].ua
    scale = max(abs(pieces[0].integral), abs(change), 1e9 * subject.rounding()) or 1.0
    first, limit, early = -pieces[0].mismatch, 1e-7, np.inf
    for halvings in range(HALVINGS):
        left = -sum(p.mismatch for p in pieces)
        if left <= 1e-9 * scale:
            break
        if halvings == EARLY:
            early = left
        if halvings == LATE and left > max(0.97 * early, 1e-2 * scale):
            break  # wrong everywhere: what a piece lacks is shared by its halves
        if -sum(p.mismatch for p in pieces if p.b - p.a < NARROW) > 1e-2 * scale:
            break  # no kink: that would have shrunk by now
        worst = heappop(pieces)
        middle = 0.5 * (worst.a + worst.b)
        um = value(middle)
        heappush(pieces, piece(worst.a, middle, worst.ua, um))
        heappush(pieces, piece(middle, worst.b, um, worst.ub))
    else:
        limit = MANY  # kinks without number: each piece still shrinks, as at no jump
    knob.put(knob.values)
    integral = ordered_sum(np.array([p.integral for p in pieces]))
    error = abs(integral - change) / scale
    if error <= limit or (error <= 1e-2 and error <= 0.1 * first / scale):
        return subject.finding(knob.name, "path", True, error, f"off by {error:.1e}")
    if not np.isfinite(integral):
        return subject.finding(knob.name, "path", False, None, INFINITE)
    text = (
        f"U changes by {change:.6g} along a step of physical size, its gradient accounts for {integral:.6g}:"
        " a value is cast, cut off or frozen on the way,"
    )
    return subject.finding(knob.name, "path", False, error, text)


class _Piece(NamedTuple):
    """Part of a path, from a to b: minus the mismatch (for the heap), U at its ends, the integral."""

    mismatch: float
    a: float
    b: float
    ua: float
    ub: float
    integral: float


def spread(values: np.ndarray) -> float:
    """The size of a field's variation: its standard deviation, or its mean where it does not vary."""
    flat = values.astype(np.float64)
    deviation = float(np.sqrt(np.mean((flat - flat.mean(axis=0)) ** 2)))
    size = float(np.abs(flat).max())
    return deviation if deviation > 1e-12 * size else (size or 1.0)
