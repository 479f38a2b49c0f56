"""Taylor test, path test and second-order test of a gradient, of any subject with a value.

    Taylor   |U(a + h w) - U(a) - h grad U . w| falls as h^2; the slope is fitted only where the remainder
             exceeds rounding (100 eps sum|u|), and below that floor everything passes; at a kink the gradient
             must be the mean of both sides
    path     U(b) - U(a) = integral of grad U . dx from a to b, a step of physical size: it finds gradients
             that are right at every point and yet miss how U changes (a coordinate cast to an integer pixel)
    product  |grad U(a + h w) - grad U(a) - h H w| falls as h^2

Finite differences only test gradients here; no gradient is computed from them.

Decisions 0081, 0084, 0336.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from heapq import heapify, heappop, heappush
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..energies.fields import ordered_sum
from .smooth_steps import split_smooth_steps
from .variables import Variable

EPS = float(np.finfo(np.float64).eps)
GAUSS = np.polynomial.legendre.leggauss(6)
HALVINGS = 150
"""The most halvings of one path; a few are enough where the gradient has no jumps."""
EARLY, LATE = 10, 40
"""Between so many halvings the mismatch shrinks if kinks cause it: that of a piece grows as sqrt(kinks)."""
FOR_A_JUMP = 30
"""More halvings for each declared jump, which takes about 16 to find."""
MANY = 1e-4
"""The mismatch that passes when all halvings are used, in parts of the change."""
ROUNDINGS = 10.0
"""The mismatch of a path that passes where U is computed in single precision, in its roundings."""
NARROW = 2.0**-16
"""The width of a piece whose mismatch is a jump of U if a declared condition changes in it."""
NARROWEST = 2.0**-40
"""The width of a piece whose mismatch is a jump of U: steep slopes, as of p / (m + 1e-10), end before."""
KINK_WIDTH = 2.0**-24
"""How closely a known kink is found on a path."""
INFINITE = "the gradient is not finite (a root or norm of zero without a guard, or a division by it)"
JUMPS = "jumps where one of its conditions changes, as impacts do; which side is taken has no derivative"
KINK = "a kink here: the gradient is the mean of both sides"
ONE_SIDE = "a kink here: the gradient is that of one side"
MEAN = "the second derivative jumps here: the product is the mean of both sides"
SHRINKS = 10
"""The most halvings of a step that leaves the domain of U."""
DOUBLINGS = 7
"""The most doublings of a step over which no rounded value changes."""


@dataclass(frozen=True)
class Finding:
    """The answer to one question. `figure`: fitted order (Taylor), relative error (path, value).

    `where`: file and line, if known. A `warning` is no error: it may be intended. `precision`: "f64" or "f32"
    of the kernels of an energy; "" of kernels in a file, whose arrays have their own. `unasked`: the question
    could not be asked, and `text` says why.
    """

    term: str
    argument: str
    question: str
    passed: bool
    figure: float | None
    text: str
    where: str = ""
    warning: bool = False
    precision: str = ""
    unasked: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Subject(Protocol):
    """A scalar function to check: an energy, a map, or the loss of kernels."""

    def value(self) -> float:
        """U at the present state."""

    def rounding(self) -> float:
        """The size of rounding errors: smaller differences of U are meaningless."""

    def finding(self, argument: str, question: str, passed: bool, figure: float | None, text: str) -> Finding:
        """The answer to a question, with the name of the subject and its state."""

    def decisions(self) -> Any:
        """On which side of its conditions it is, if it may jump where these change; else None."""


def step_inside(subject: Subject, variable: Variable, direction: np.ndarray) -> np.ndarray:
    """The step, halved until U is finite all along it, no barrier is passed, and its end is within bounds."""
    bounded = variable.admits is not None and variable.admits(variable.values)
    for _ in range(SHRINKS):
        values = []
        for s in (0.25, 0.5, 0.75, 1.0):
            variable.put(variable.values + s * direction)
            values.append(subject.value())
        variable.put(variable.values)
        within = variable.admits(variable.values + direction) if bounded and variable.admits else True
        if within and variable.free_part is not None:
            within = variable.free_part(direction) >= 1.0
        if within and np.isfinite(values).all():
            break
        direction = 0.5 * direction
    return direction


def until(rounded: Callable[[], tuple], variable: Variable, direction: np.ndarray) -> np.ndarray:
    """The step, doubled until the result of a rounding on the way changes."""
    before, longer = rounded(), direction
    for _ in range(DOUBLINGS if before else 0):
        variable.put(variable.values + longer)
        if rounded() != before:
            variable.put(variable.values)
            return longer
        longer = 2.0 * longer
    variable.put(variable.values)
    return direction


def taylor(subject: Subject, variable: Variable, direction: np.ndarray) -> Finding:
    """The order of the remainder over h = 1, 1/2, 1/4, ...: the median of the last slopes above rounding.

    A wrong gradient leaves a remainder of order 1 all the way down to rounding. One that falls there at once
    comes from a kink between here and the wider steps; the gradient here may be right. Where elements pass
    kinks on the way, those that do not lie on one are judged along steps without kinks (`smooth_steps`).
    """
    order = _of_value(subject, variable, direction)
    kinked, left_out = direction, 0
    if order is not None and order <= 1.8 and (parts := split_smooth_steps(variable, direction)):
        if (smooth := _of_value(subject, variable, parts.smooth)) is not None and smooth <= 1.8:
            return _of_order(subject, variable, "taylor", smooth, "gradient")
        kinked, left_out = parts.kinked, parts.left_out
        if not left_out:
            return _without_kinks(subject, variable, "taylor", smooth)
    if order is None:
        return subject.finding(variable.name, "taylor", True, None, "remainder at rounding level")
    if order < 1.2 or left_out:
        if left_out and _is_kink(subject, variable, kinked):
            return subject.finding(variable.name, "taylor", True, None, _count_left_out(KINK, left_out))
        if _on_a_condition(subject, variable, kinked):
            return _of_a_jump(subject.finding(variable.name, "taylor", True, None, ""))
        if _is_kink(subject, variable, kinked):
            return subject.finding(variable.name, "taylor", True, None, KINK)
    return _of_order(subject, variable, "taylor", order, "gradient")


def _of_value(subject: Subject, variable: Variable, direction: np.ndarray) -> float | None:
    """The order of the remainder of U along a step; None where all is rounding."""
    remainders, floor, _ = _taylor_remainders(subject, variable, direction)
    return _measured_order(remainders, floor)


def _taylor_remainders(
    subject: Subject, variable: Variable, direction: np.ndarray
) -> tuple[list[float], float, float]:
    """U(h) - U - h slope for h = 1, 1/2, 1/4, ... to the first within rounding; rounding, and slope.

    The parts of h slope, and of U(h), may be larger than those of U: where these are zero, as in empty cells.
    """
    start, parts = subject.value(), variable.gradient() * direction
    slope, floor = ordered_sum(parts), subject.rounding() + 100.0 * EPS * float(np.abs(parts).sum())
    remainders = []
    for h in 0.5 ** np.arange(30):
        variable.put(variable.values + h * direction)
        remainders.append(subject.value() - start - h * slope)
        if not abs(remainders[-1]) > floor:
            break
    variable.put(variable.values)
    return remainders, floor, slope


def _of_order(subject: Subject, variable: Variable, question: str, order: float, what: str) -> Finding:
    """The answer that an order of a remainder is: passed from 1.8 on."""
    passed = order > 1.8
    wrong = "" if passed else f", not 2: the {what} is wrong"
    return subject.finding(variable.name, question, passed, order, f"remainder of order {order:.2f}{wrong}")


def _without_kinks(subject: Subject, variable: Variable, question: str, order: float | None) -> Finding:
    """The answer of steps along which no element passes a kink."""
    text = "remainder at rounding level" if order is None else f"remainder of order {order:.2f}"
    return subject.finding(variable.name, question, True, order, f"{text} along steps without kinks")


def _count_left_out(text: str, left_out: int) -> str:
    return f"{text}, of {left_out} elements that lie on one" if left_out else text


def _of_a_jump(finding: Finding) -> Finding:
    """The answer as a warning of a declared jump."""
    return replace(finding, text=f"{finding.term} {JUMPS}", warning=True)


def _on_a_condition(subject: Subject, variable: Variable, direction: np.ndarray) -> bool:
    """True if a declared condition changes at the present state, within the smallest of steps."""
    here = subject.decisions()
    if here is None:
        return False
    changes = False
    for side in (1.0, -1.0):
        variable.put(variable.values + side * 0.5**29 * direction)
        changes = changes or subject.decisions() != here
    variable.put(variable.values)
    return changes


def curvature(subject: Subject, variable: Variable, direction: np.ndarray) -> Finding:
    """The order of the remainder of the gradient's tangent, over h = 1, 1/2, 1/4, ...

    Where a second derivative jumps, the tangent is that of one side, or the mean of both: one must be right.
    Kinks on the way, and elements on one, are treated as in `taylor`.
    """
    assert variable.product is not None
    kinked, left_out = direction, 0
    order = _of_tangent(subject, variable, direction)
    if order is not None and order <= 1.8 and (parts := split_smooth_steps(variable, direction)):
        smooth = _of_tangent(subject, variable, parts.smooth)
        if smooth is not None and smooth <= 1.8:
            return _of_order(subject, variable, "product", smooth, "Hessian product")
        if not parts.left_out:
            return _without_kinks(subject, variable, "product", smooth)
        kinked, left_out = parts.kinked, parts.left_out
        order = _of_tangent(subject, variable, kinked)
    if order is not None and order < 1.2 and _is_mean(subject, variable, kinked):
        return subject.finding(variable.name, "product", True, None, _count_left_out(MEAN, left_out))
    if order is None:
        return subject.finding(variable.name, "product", True, None, "remainder at rounding level")
    if order <= 1.8 and _on_a_condition(subject, variable, kinked):
        return _of_a_jump(subject.finding(variable.name, "product", True, None, ""))
    return _of_order(subject, variable, "product", order, "Hessian product")


def _of_tangent(subject: Subject, variable: Variable, direction: np.ndarray) -> float | None:
    """The order of the better side; None if all is rounding on one of them."""
    sides = [_one_sided(subject, variable, side * direction) for side in (1.0, -1.0)]
    variable.put(variable.values)
    return None if None in sides else max(order for order in sides if order is not None)


def _one_sided(subject: Subject, variable: Variable, direction: np.ndarray) -> float | None:
    """The order on one side; None where all is rounding."""
    assert variable.product is not None
    variable.put(variable.values)
    start, change = variable.gradient(), variable.product(direction)
    most, length = float(np.abs(start).max()), float(np.abs(direction).max()) or 1.0
    remainders: list[float] = []
    for h in 0.5 ** np.arange(30):
        variable.put(variable.values + h * direction)
        there = variable.gradient()
        most = max(most, float(np.abs(there).max()))
        remainders.append(float(np.abs(there - start - h * change).max()))
        floor = 100.0 * EPS * most + subject.rounding() / length
        if not remainders[-1] > floor:
            break
    return _measured_order(remainders, floor)


def _is_mean(subject: Subject, variable: Variable, direction: np.ndarray) -> bool:
    """True if the tangent is the mean of both sides: then g(h) - g(-h) is 2 h times it to third order."""
    assert variable.product is not None
    change, left, most = variable.product(direction), [], 0.0
    length = float(np.abs(direction).max()) or 1.0
    for h in 0.5 ** np.arange(4, 16):
        sides = []
        for side in (1.0, -1.0):
            variable.put(variable.values + side * h * direction)
            sides.append(variable.gradient())
            most = max(most, float(np.abs(sides[-1]).max()))
        left.append(float(np.abs(sides[0] - sides[1] - 2.0 * h * change).max()))
        floor = 100.0 * EPS * most + subject.rounding() / length
        if not left[-1] > floor:
            break
    variable.put(variable.values)
    order = _measured_order(left, floor)
    return order is None or order > 1.8


def _is_kink(subject: Subject, variable: Variable, direction: np.ndarray) -> bool:
    """True if U is |h| plus a smooth function: then U(h) - U(-h) is 2 h slope to third order."""
    slope = ordered_sum(variable.gradient() * direction)
    left = []
    for h in 0.5 ** np.arange(4, 16):
        sides = []
        for side in (1.0, -1.0):
            variable.put(variable.values + side * h * direction)
            sides.append(subject.value())
        left.append(abs(sides[0] - sides[1] - 2.0 * h * slope))
        if not left[-1] > subject.rounding():
            break
    variable.put(variable.values)
    order = _measured_order(left, subject.rounding())
    return order is None or order > 1.8


def is_of_one_side(subject: Subject, variable: Variable, direction: np.ndarray) -> bool:
    """True if the gradient is right to one side of a kink: along a step, or one of one sign everywhere."""
    ways = (direction, -direction, np.abs(direction), -np.abs(direction))
    orders = (_of_value(subject, variable, way) for way in ways)
    return any(order is None or order > 1.8 for order in orders)


def is_resolved(subject: Subject, variable: Variable, direction: np.ndarray) -> bool:
    """True if steps that rounding permits tell a wrong gradient from one that changes within them.

    The slope at the end of the least step with a remainder above rounding differs from that at its start by
    less than half of the mismatch. Over many chaotic steps in single precision it does not.
    """
    remainders, floor, slope = _taylor_remainders(subject, variable, direction)
    above = [abs(one) for one in remainders if abs(one) > floor]
    least = 0.5 ** max(len(above) - 1, 0)
    mismatch = above[-1] / least if above else 0.0
    variable.put(variable.values + least * direction)
    there = ordered_sum(variable.gradient() * direction)
    variable.put(variable.values)
    return bool(abs(there - slope) < 0.5 * mismatch)


def _measured_order(remainders: list[float], floor: float) -> float | None:
    """The order in h of remainders over h, h / 2, h / 4, ...: the median of the last slopes above rounding.

    None where they are meaningless: too few, or rounding at once after a wide gap (a kink on the way). If
    all are above `floor`, the least of them, if it is small, is rounding as well. After a change of sign
    slopes begin low and rise again, to 2, or to 1 if something is wrong: their limit counts (Aitken 1926).
    The slope across it is meaningless. Of norms, which have no sign, a fall of the slopes indicates one.
    """
    sizes = np.abs(remainders)
    if floor < sizes[-1] < 1e-6 * sizes.max():
        floor = 8.0 * float(sizes.min())
    above = sizes > floor
    large, signs = sizes[above], np.sign(remainders)[above]
    if len(large) < 3 or (len(large) < len(sizes) and large[-1] > 64.0 * floor):
        return None
    slopes = -np.diff(np.log2(large[-7:]))
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


class TookLong(Exception):  # noqa: N818 - no error: the question stays open
    """A question that took longer than it may."""


def path(
    subject: Subject,
    variable: Variable,
    direction: np.ndarray,
    least: float | None = None,
    seconds: float = np.inf,
) -> Finding:
    """Compare U(b) - U(a) with the integral of the gradient, piece by piece.

    least: the smallest change of U that a mismatch is measured by (default: 1e9 roundings, as of double
    precision). A mismatch of `ROUNDINGS` roundings passes beside it.

    The piece with the largest mismatch is halved until all fit. At a kink the mismatch shrinks with the
    piece; where U jumps, or the gradient is wrong, it stays. Jumps that the subject declares are left out,
    with a warning.

    Raises `TookLong` if pieces are still halved after so many seconds.
    """
    along = _Path(subject, variable, direction)
    pieces = [along.piece(0.0, 1.0, along.value(0.0), along.value(1.0))]
    change = pieces[0].ub - pieces[0].ua
    rounding = subject.rounding()
    noise, least = (0.0, 1e9 * rounding) if least is None else (ROUNDINGS * rounding, least)
    scale = max(abs(pieces[0].integral), abs(change), least) or 1.0
    first = -pieces[0].mismatch
    fits = _halved_until_fit(along, pieces, scale, noise, seconds)
    limit = 1e-7 if fits else MANY  # many kinks: each piece still shrinks
    variable.put(variable.values)
    integral = ordered_sum(np.array([p.integral for p in pieces]))
    error = max(0.0, abs(integral - change) - noise) / scale
    if error <= limit or (error <= 1e-2 and error <= 0.1 * first / scale):
        found = subject.finding(variable.name, "path", True, error, f"off by {error:.1e}")
        jumps = any(p.jump for p in pieces)
        return _of_a_jump(found) if jumps else found
    if not np.isfinite(integral):
        return subject.finding(variable.name, "path", False, None, INFINITE)
    text = (
        f"U changes by {change:.6g} along a step of physical size, but its gradient accounts for"
        f" {integral:.6g}: a value is cast, cut off or frozen on the way,"
    )
    return subject.finding(variable.name, "path", False, error, text)


def _halved_until_fit(
    along: "_Path", pieces: list["_PathPiece"], scale: float, noise: float, seconds: float
) -> bool:
    """Halve the worst pieces, in place, until all fit or it is clear that they will not.

    noise: the mismatch that rounding explains.

    False if the mismatch still shrinks when all halvings are used.
    """
    early, halvings, most, begun = np.inf, 0, HALVINGS, monotonic()
    while halvings < most:
        if monotonic() - begun > seconds:
            raise TookLong(f"{len(pieces)} pieces took {seconds:g} s, and their mismatch still shrinks")
        most += FOR_A_JUMP * _without_declared_jumps(along, pieces, scale)
        left = -sum(p.mismatch for p in pieces)
        if left <= max(1e-9 * scale, noise):
            return True
        if halvings == EARLY:
            early = left
        if halvings == LATE and left > max(0.97 * early, 1e-2 * scale) and along.decisions(0.0) is None:
            return True  # wrong everywhere: halves share the mismatch of a piece
        if -sum(p.mismatch for p in pieces if p.b - p.a < NARROWEST) > 1e-2 * scale:
            return True  # neither kink nor steep: that would have shrunk by now
        for part in along.parts(heappop(pieces)):
            heappush(pieces, part)
        halvings += 1
    return False


def _without_declared_jumps(along: "_Path", pieces: list["_PathPiece"], scale: float) -> int:
    """Leave the change across declared jumps out, in place; the number of pieces that have one."""
    narrow = [p for p in pieces if p.b - p.a < NARROW and p.mismatch < -1e-9 * scale]
    jumps = [p for p in narrow if along.decisions(p.a) != along.decisions(p.b)]
    for piece in jumps:
        pieces[pieces.index(piece)] = piece._replace(mismatch=0.0, integral=piece.ub - piece.ua, jump=True)
    heapify(pieces)
    return len(jumps)


@dataclass(frozen=True)
class _Path:
    """A straight path of a variable from its values along a step, s = 0 to 1."""

    subject: Subject
    variable: Variable
    direction: np.ndarray

    def value(self, s: float) -> float:
        """U at s."""
        self.variable.put(self.variable.values + s * self.direction)
        return self.subject.value()

    def decisions(self, s: float) -> Any:
        """Those of the subject at s."""
        self.variable.put(self.variable.values + s * self.direction)
        return self.subject.decisions()

    def parts(self, piece: "_PathPiece") -> Iterator["_PathPiece"]:
        """A piece cut at a kink in it, if there is a known one, else in its middle."""
        at = self._bracket_kink(piece.a, piece.b) or [0.5 * (piece.a + piece.b)]
        places = [piece.a, *at, piece.b]
        values = [piece.ua, *map(self.value, at), piece.ub]
        for k in range(len(at) + 1):
            yield self.piece(places[k], places[k + 1], values[k], values[k + 1])

    def _bracket_kink(self, a: float, b: float) -> list[float]:
        """Two places between which the first change of a side lies, closer than KINK_WIDTH; those in a..b."""
        sides = self.variable.sides
        if sides is None or b - a < NARROW:
            return []
        low, high, before = a, b, self._sides_at(sides, a)
        if np.array_equal(before, self._sides_at(sides, b)):
            return []
        while high - low > KINK_WIDTH:
            middle = 0.5 * (low + high)
            same = np.array_equal(before, self._sides_at(sides, middle))
            low, high = (middle, high) if same else (low, middle)
        return [s for s in (low, high) if a < s < b]

    def _sides_at(self, sides: Callable[[None], np.ndarray], s: float) -> np.ndarray:
        self.variable.put(self.variable.values + s * self.direction)
        return sides(None)

    def piece(self, a: float, b: float, ua: float, ub: float) -> "_PathPiece":
        """The path from a to b, with the integral of the gradient by Gauss quadrature."""
        rates = []
        for node in GAUSS[0]:
            s = a + 0.5 * (node + 1.0) * (b - a)
            self.variable.put(self.variable.values + s * self.direction)
            rates.append(ordered_sum(self.variable.gradient() * self.direction))
        integral = 0.5 * (b - a) * float(GAUSS[1] @ rates)
        return _PathPiece(-abs(ub - ua - integral), a, b, ua, ub, integral)


class _PathPiece(NamedTuple):
    """Part of a path, from a to b: minus the mismatch (for the heap), U at its ends, the integral.

    `jump`: U jumps in it where a condition changes, and the integral is the change of U.
    """

    mismatch: float
    a: float
    b: float
    ua: float
    ub: float
    integral: float
    jump: bool = False


def field_spread(values: np.ndarray) -> float:
    """The size of a field's variation: its standard deviation; its largest value if it is constant."""
    flat = np.atleast_1d(values.astype(np.float64))
    deviation = float(np.sqrt(np.mean((flat - flat.mean(axis=0)) ** 2)))
    size = float(np.abs(flat).max(initial=0.0))
    return deviation if deviation > 1e-12 * size else (size or 1.0)
