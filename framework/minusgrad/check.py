"""Is a gradient true? Three questions to every term, always in double precision.

    Taylor   |U(a + h w) - U(a) - h grad U . w| falls as h^2; the slope is fitted only where the remainder
             exceeds 100 eps sum|u| (the largest of the states'), and below that floor everything passes;
             at a kink the gradient is to be the mean of both sides
    path     U(b) - U(a) = integral of grad U . dx from a to b, a step of physical size: sees gradients that
             are right at every point and yet miss how U moves (a coordinate cast to an integer pixel)
    value    the compiled energy against a plain-Python evaluation of the same source

A map is asked through a weighted sum of what it gives (`probe`), and one question more:

    window   it gives nothing outside of its window (less than a millionth of the most inside)

asked at the state itself and at random, unsymmetric states near it. A step has a tenth of the field's spread,
of tuples a tenth of their nodes' distance; where it would leave the domain of U (a cell turned over), it
is halved until it does not. Differences here only judge; no gradient is ever made from them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from . import runtime
from .energy import (
    Datum,
    LocalEnergy,
    Node,
    Parameter,
    Table,
    Time,
    concrete,
    draw_node,
    draw_parameter,
    weights_at_rest,
)
from .fields import Field, Fields, Grid, ordered_sum
from .interactions import Pairs, Tuples
from .maps import LocalMap
from .potential import Potential
from .probe import EDGE, cut_off, pieces, probed
from .staged import StagedTerm
from .terms import Term, Values, bind

EPS = float(np.finfo(np.float64).eps)
GAUSS = np.polynomial.legendre.leggauss(6)
HALVINGS = 150
"""Most halvings of one path; a few are enough where the gradient has no jumps."""
NARROW = 2.0**-16
"""A part of a path in which what is left is a jump of U."""
INFINITE = "the gradient is not finite (a root or norm of zero without a guard, or a division by it)"
STATES = 3
"""Random states, besides the given one."""
SHRINKS = 10
"""Most halvings of a step that leaves the domain of U."""
MOST_NODES, MOST_TUPLES, MOST_PLAIN = 128, 4096, 200
"""A term with more nodes in pairs, or more tuples, is judged on a random part of them."""
MOST_CELLED = 8
"""Of a map to cells only so many elements are judged: they are evaluated cell by cell, and where values
between cells are interpolated, U has a kink for each cell that an element passes."""
CANVAS = (32, 40)
"""The grid on which a map is judged that no scene binds."""


@dataclass(frozen=True)
class Finding:
    """The answer to one question. `figure`: fitted order (Taylor), relative error (path, value)."""

    term: str
    argument: str
    question: str
    passed: bool
    figure: float | None
    text: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def of_potential(potential: Potential, t: float = 0.0, seed: int = 0) -> Iterator[Finding]:
    """Ask every term of a potential (in double precision). The fields are left as they were."""
    potential.refresh(t)
    for term in potential.maps.values():
        rng = np.random.default_rng(seed)
        few = MOST_CELLED if term.grid else MOST_TUPLES
        yield from _of_term(probed(_part(term, rng, tuples=few), rng), t, rng)
    for term in potential.terms.values():
        rng = np.random.default_rng(seed)
        one = term if isinstance(term, StagedTerm) else _part(term, rng)
        part = Potential(potential.fields, [one], frozen=True)
        kept = {f.name: f.values.copy() for f in term.fields.values()}
        try:
            yield from _of_term(part, t, rng)
        finally:
            for name, values in kept.items():
                potential.fields[name].set(values)


def of_energy(energy: LocalEnergy, d: int = 3, seed: int = 0) -> Iterator[Finding]:
    """Ask one energy at random states of its declared scales."""
    yield from of_potential(instance(energy, d, np.random.default_rng(seed)), t=0.7, seed=seed)


def instance(energy: LocalEnergy, d: int, rng: np.random.Generator, nodes: int = 6) -> Potential:
    """A small potential of one energy: random fields, data and parameters of the declared scales."""
    k = energy.over if isinstance(energy.over, int) else d + 1
    nodes = max(nodes, k + 2)
    grid = Grid(CANVAS, 0.1) if isinstance(energy, LocalMap) and energy.cell else None
    nodal = energy.of_role(Node)
    fields = Fields({a: draw_node(r, rng, (nodes, *concrete(r.shape, d))) for a, r in nodal.items()})
    x = fields[energy.shaping[0].field].values if energy.shaping else None
    tuples = np.array([_tuple(nodes, k, x, rng) for _ in range(nodes)])
    samples = [energy.sample(rng, d) for _ in range(nodes)]
    data = {a: np.array([s[a] for s in samples]) for a in energy.of_role(Datum)}
    for made in energy.shaping:
        rest = np.array([weights_at_rest(fields[made.field].values[row]) for row in tuples])
        data[made.weights] = rest @ (np.eye(d) + 0.1 * rng.normal(size=(nodes, d, d)))
    parameters = {
        a: draw_parameter(role, rng, concrete(role.shape, d))
        for a, role in energy.of_role(Parameter).items()
        if not (isinstance(energy, LocalMap) and a == energy.spacing)
    }
    tables = {a: samples[0][a] for a in energy.of_role(Table)}
    rows = tuples if energy.listed else None
    term = bind(energy, fields, tuples=rows, data=data, parameters=parameters, tables=tables, grid=grid)
    return Potential(fields, [], [term]) if term.gives else Potential(fields, [term])


def _tuple(nodes: int, k: int, x: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """k random nodes; of cells in x the plumpest of eight, which a small step does not turn over."""
    rows = [rng.permutation(nodes)[:k] for _ in range(1 if x is None else 8)]
    if x is None:
        return rows[0]
    return max(rows, key=lambda row: np.linalg.svd(x[row] - x[row].mean(axis=0), compute_uv=False)[-1])


# One term -------------------------------------------------------------------------------------------


@dataclass
class _Subject:
    """What is asked: a potential of one term, at a time, in words."""

    potential: Potential
    term: Term
    t: float
    where: str = ""
    usual: float = 0.0
    """Sum of |u| at states like this one: a state at rest has less, but rounds no better."""

    def value(self) -> float:
        return self.potential.value(self.t)

    def gradient(self, name: str) -> np.ndarray:
        return self.potential.gradient(name, self.t)

    def set_time(self, t: np.ndarray) -> None:
        self.t = float(t)

    def rounding(self) -> float:
        """Below this, differences of U say nothing: 100 eps sum|u|."""
        return 100.0 * EPS * max(self.potential.magnitude(self.t), self.usual)

    def finding(self, argument: str, question: str, passed: bool, figure: float | None, text: str) -> Finding:
        return Finding(self.term.name, argument, question, passed, figure, f"{text} {self.where}")


def _of_term(potential: Potential, t: float, rng: np.random.Generator) -> Iterator[Finding]:
    (term,) = (potential.maps or potential.terms).values()
    fields = {f.name: f for f in term.fields.values()}
    start = {n: f.values.copy() for n, f in fields.items()}
    sizes = {n: 0.1 * _distance(term, v) for n, v in start.items()}
    states = [start, *(_near(potential, fields, start, sizes, t, rng) for _ in range(STATES))]
    usual = 0.0
    for state in states:
        _put(fields, state)
        usual = float(np.fmax(usual, potential.magnitude(t)))
    for k, state in enumerate(states):
        _put(fields, state)
        where = "at the given state" if k == 0 else f"at random state {k}"
        subject = _Subject(potential, term, t, where, usual)
        if not np.isfinite(subject.value()):
            yield subject.finding("", "value", False, None, "U is not finite")
            continue
        if not isinstance(term, StagedTerm):
            yield _value(subject)
        if getattr(term, "grid", None):
            yield _window(subject)
        for knob in _knobs(subject, sizes):
            direction = _inside(subject, knob, knob.direction(rng))
            if not np.isfinite(knob.gradient()).all():
                yield subject.finding(knob.name, "taylor", False, None, INFINITE)
                continue
            yield _taylor(subject, knob, direction)
            yield _path(subject, knob, direction)


def _near(
    potential: Potential,
    fields: Mapping[str, Field],
    start: Mapping[str, np.ndarray],
    sizes: Mapping[str, float],
    t: float,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """A random state, as near as it must be for U to be finite."""
    moves = {n: sizes[n] * rng.normal(size=field.shape) for n, field in fields.items()}
    for shrink in 0.5 ** np.arange(SHRINKS):
        state = {n: start[n] + shrink * move for n, move in moves.items()}
        _put(fields, state)
        if np.isfinite(potential.value(t)):
            break
    return state


def _put(fields: Mapping[str, Field], state: Mapping[str, np.ndarray]) -> None:
    for name, field in fields.items():
        field.set(state[name])


def _inside(subject: _Subject, knob: "_Knob", direction: np.ndarray) -> np.ndarray:
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


@dataclass(frozen=True)
class _Knob:
    """Something U depends on: its name, its values, how to set them, its gradient, the size of a step."""

    name: str
    values: np.ndarray
    put: Callable[[np.ndarray], None]
    gradient: Callable[[], np.ndarray]
    size: float
    inward: float = 0.0

    def direction(self, rng: np.random.Generator) -> np.ndarray:
        """A random step of physical size; towards the inside for a parameter at its bound."""
        step = rng.normal(size=self.values.shape) * self.size
        return np.abs(step) * self.inward if self.inward else step


def _knobs(subject: _Subject, sizes: dict[str, float]) -> Iterator[_Knob]:
    """Everything that the term has a derivative for, in the order of its arguments."""
    potential, term = subject.potential, subject.term
    for argument in term.energy.differentiable:
        role, name = term.energy.roles[argument], f"{term.name}.{argument}"
        gradient = partial(subject.gradient, name)
        match role:
            case Node():
                field = term.fields[argument]
                of_field = partial(subject.gradient, field.name)
                yield _Knob(argument, field.values.copy(), field.set, of_field, sizes[field.name])
            case Datum():
                values, put = _datum(term, argument)
                yield _Knob(argument, values, put, gradient, 0.1 * spread(values))
            case Parameter():
                values = potential.parameter(name).astype(np.float64)
                share = 0.01 if getattr(term, "grid", None) else 0.1
                size = share * (float(np.max(np.abs(values))) or role.scale)
                low, high = (
                    np.any(values - 2 * size < role.bounds[0]),
                    np.any(values + 2 * size > role.bounds[1]),
                )
                put = partial(potential.set_parameter, name)
                yield _Knob(argument, values, put, gradient, size, inward=float(low) or -float(high))
            case Time():
                yield _Knob(argument, np.array(subject.t), subject.set_time, gradient, 0.1 * role.scale)


def _value(subject: _Subject) -> Finding:
    of = subject.potential
    small = _part(subject.term, np.random.default_rng(0), nodes=12, tuples=MOST_PLAIN)
    if of.maps:
        compiled = Potential(of.fields, list(of.terms.values()), [small]).value(subject.t)
        weights = of.fields["probe_weight"].values
        each = np.array(
            pieces(small, zip(elements(small), arguments(small, subject.t), strict=True), weights)
        )
    else:
        compiled = Potential(of.fields, [small], frozen=True).value(subject.t)
        each = np.array(list(map(small.energy.evaluator(), arguments(small, subject.t))))
    part = small.elements.elements / max(subject.term.elements.elements, 1)
    expected, scale = ordered_sum(each), max(ordered_sum(np.abs(each)), part * subject.usual) or 1.0
    error = abs(compiled - expected) / scale
    text = f"compiled {compiled:.17g}, plain Python {expected:.17g}"
    return subject.finding("", "value", error <= 1e-11, error, text)


def _datum(term: Term | StagedTerm, argument: str) -> tuple[np.ndarray, Callable[[np.ndarray], None]]:
    """A datum's values, and how to set them."""
    if isinstance(term, StagedTerm):
        return term.inputs[argument].copy(), partial(term.set_input, argument)
    array = term.data[argument]
    return runtime.host(array).copy(), partial(term.set_datum, argument)


def _window(subject: _Subject) -> Finding:
    """The worst of its elements, of which there are few."""
    worst = max(cut_off(subject.term, values) for values in arguments(subject.term, subject.t))
    cut = f"a cell outside its window an element gives {worst:.1e} of the most inside"
    return subject.finding(
        "", "window", worst <= EDGE, worst, cut if worst <= EDGE else f"{cut}: it is cut off,"
    )


def _taylor(subject: _Subject, knob: _Knob, direction: np.ndarray) -> Finding:
    """The order of the remainder over h = 1, 1/2, 1/4, ...: the median of the last slopes above rounding.

    A wrong gradient leaves a remainder of order 1 all the way down to rounding. One that falls there at once
    comes from a kink between here and the wider steps, and says nothing against the gradient here.
    """
    start, floor = subject.value(), subject.rounding()
    slope = ordered_sum(knob.gradient() * direction)
    remainders = []
    for h in 0.5 ** np.arange(30):
        knob.put(knob.values + h * direction)
        remainders.append(abs(subject.value() - start - h * slope))
        if not remainders[-1] > floor:
            break
    knob.put(knob.values)
    above = [r for r in remainders if r > floor]
    if len(above) < 3 or (len(above) < len(remainders) and above[-1] > 64.0 * floor):
        return subject.finding(knob.name, "taylor", True, None, "remainder at rounding level")
    order = _order(above)
    if order < 1.2 and _is_kink(subject, knob, direction, slope):
        return subject.finding(
            knob.name, "taylor", True, None, "a kink here: the gradient is the mean of both sides"
        )
    passed = order > 1.8
    wrong = "" if passed else ", not 2: the gradient is wrong"
    return subject.finding(knob.name, "taylor", passed, order, f"remainder of order {order:.2f}{wrong}")


def _is_kink(subject: _Subject, knob: _Knob, direction: np.ndarray, slope: float) -> bool:
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
    above = [r for r in left if r > subject.rounding()]
    return len(above) < 3 or _order(above) > 1.8


def _order(remainders: list[float]) -> float:
    """In h, of remainders over h, h / 2, h / 4, ...: the median of the last slopes."""
    return float(np.median(-np.diff(np.log2(remainders[-6:]))))


def _path(subject: _Subject, knob: _Knob, direction: np.ndarray) -> Finding:
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
    first = -pieces[0].mismatch
    for _ in range(HALVINGS):
        if -sum(p.mismatch for p in pieces) <= 1e-9 * scale:
            break
        if -sum(p.mismatch for p in pieces if p.b - p.a < NARROW) > 1e-2 * scale:
            break  # no kink: that would have shrunk by now
        worst = heappop(pieces)
        middle = 0.5 * (worst.a + worst.b)
        um = value(middle)
        heappush(pieces, piece(worst.a, middle, worst.ua, um))
        heappush(pieces, piece(middle, worst.b, um, worst.ub))
    knob.put(knob.values)
    integral = ordered_sum(np.array([p.integral for p in pieces]))
    error = abs(integral - change) / scale
    if error <= 1e-7 or (error <= 1e-2 and error <= 0.1 * first / scale):
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


# Parts of a term ------------------------------------------------------------------------------------


def spread(values: np.ndarray) -> float:
    """The size of a field's variation: its standard deviation, or its mean where it does not vary."""
    flat = values.astype(np.float64)
    deviation = float(np.sqrt(np.mean((flat - flat.mean(axis=0)) ** 2)))
    size = float(np.abs(flat).max())
    return deviation if deviation > 1e-12 * size else (size or 1.0)


def _distance(term: Term | StagedTerm, values: np.ndarray) -> float:
    """The size of a field's variation within an element, or among all nodes where an element has only one."""
    if isinstance(term, StagedTerm) or isinstance(term.elements, Pairs) or term.arity == 1:
        return spread(values)
    corners = values[term.elements.nodes].astype(np.float64)
    legs = corners[:, 1:] - corners[:, :1]
    return float(np.sqrt(np.mean(legs**2))) or spread(values)


def _part(term: Term, rng: np.random.Generator, nodes: int = MOST_NODES, tuples: int = MOST_TUPLES) -> Term:
    """The term, on a random part of its elements if there are many. A copy: its parameters may be turned."""
    parameters = {a: Values(v.rows.copy(), v.index) for a, v in term.parameters.items()}
    if isinstance(term.elements, Pairs):
        chosen = np.sort(rng.permutation(term.elements.nodes)[:nodes])
        return replace(term, elements=Pairs(chosen), parameters=parameters, shared={})
    rows = np.sort(rng.permutation(term.elements.elements)[:tuples])
    return replace(
        term,
        elements=Tuples(term.elements.nodes[rows]),
        data={a: runtime.allocate(runtime.host(v)[rows]) for a, v in term.data.items()},
        parameters={
            a: Values(v.rows, None if v.index is None else v.index[rows]) for a, v in parameters.items()
        },
        shared={},
    )


def elements(term: Term) -> Any:
    """The nodes of every element of a term."""
    nodes = term.elements.nodes
    if isinstance(term.elements, Pairs):
        return [(i, j) for a, i in enumerate(nodes) for j in nodes[:a]]
    return nodes


def arguments(term: Term, t: float) -> Iterator[dict[str, Any]]:
    """The arguments of every element of a term, as its function receives them."""
    return (term.arguments(e, element, t) for e, element in enumerate(elements(term)))
