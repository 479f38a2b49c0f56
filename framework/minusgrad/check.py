"""Is a gradient true? Questions to every term, always in double precision.

    Taylor   the remainder of a step falls as its square (`questions`)
    path     U changes along a step of physical size by the integral of its gradient
    product  the gradient leaves its tangent in second order
    symmetry a translation that leaves U alone leaves no sum of forces, a rotation none of torques; nodes that
             change places take their forces along (`symmetries`)
    kink     where nodes coincide, and at rest, the gradient is finite, if U is: a warning
    reverse  of a staged energy: each stage against its kernel in plain Python (`stage_check`)
    value    the compiled energy against a plain-Python evaluation of the same source

A map is asked through a weighted sum of what it gives (`probe`), and one question more:

    window   it gives nothing outside of its window (less than a millionth of the most inside)

asked at the state itself and at random, unsymmetric states near it. A step has a tenth of the field's spread,
of tuples a tenth of their nodes' distance; where it would leave the domain of U (a cell turned over), it
is halved until it does not.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from . import runtime
from .energy import (
    Datum,
    Linear,
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
from .errors import EnergyError
from .fields import Field, Fields, Grid, ordered_sum
from .follow import Cut, ends, rounded
from .interactions import Pairs, Tuples
from .maps import LocalMap
from .potential import Potential
from .probe import EDGE, cut_off, pieces, probed
from .questions import (
    EPS,
    INFINITE,
    KINK,
    SHRINKS,
    Finding,
    Knob,
    curvature,
    inside,
    path,
    spread,
    taylor,
    until,
)
from .stage_check import stages
from .staged import StagedTerm, bind_staged
from .stages import Staged
from .symmetries import Symmetries
from .terms import Term, Values, bind

STATES = 3
"""Random states, besides the given one."""
MOST_NODES, MOST_TUPLES, MOST_PLAIN = 128, 4096, 200
"""A term with more nodes in pairs, or more tuples, is judged on a random part of them."""
MOST_CELLED = 8
"""Of a map to cells only so many elements are judged: they are evaluated cell by cell, and where values
between cells are interpolated, U has a kink for each cell that an element passes."""
CANVAS = (32, 40)
"""The grid on which a map is judged that no scene binds."""


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


def of_energy(energy: LocalEnergy | Staged, d: int = 3, seed: int = 0) -> Iterator[Finding]:
    """Ask one energy at random states of its declared scales; a staged one with its `example`."""
    rng = np.random.default_rng(seed)
    try:
        made = staged_instance(energy, rng) if isinstance(energy, Staged) else instance(energy, d, rng)
    except EnergyError as error:
        yield Finding(energy.name, "", "example", False, None, str(error))
    else:
        yield from of_potential(made, t=0.7, seed=seed)


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


def staged_instance(energy: Staged, rng: np.random.Generator) -> Potential:
    """A potential of one staged energy, bound to its example. Raises `EnergyError` where it does not fit."""
    if energy.example is None:
        raise EnergyError(
            "a staged energy is asked with its example, and this has none: give staged_energy an `example`,"
            " or check a scene that names it"
        )
    given = dict(energy.example(rng))
    if missing := [a for a in energy.roles if a not in given and not isinstance(energy.roles[a], Time)]:
        raise EnergyError(f"its example has no {', '.join(missing)}")
    fields = Fields({a: np.asarray(given.pop(a), np.float64) for a in energy.of_role(Node)})
    data = {a: given.pop(a) for a in energy.of_role(Datum)}
    parameters = {a: given.pop(a) for a in energy.of_role(Parameter)}
    return Potential(fields, [bind_staged(energy, fields, data=data, parameters=parameters, sizes=given)])


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

    def product(self, name: str, along: str = "") -> Callable[[np.ndarray], np.ndarray] | None:
        """How the gradient changes along a step of the same; None for staged energies."""
        if isinstance(self.term, StagedTerm):
            return None
        return lambda step: self.potential.product({along or name: step}, name, self.t)

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
    usual, rounds = 0.0, False
    for state in states:
        _put(fields, state)
        usual = float(np.fmax(usual, potential.magnitude(t)))
    for k, state in enumerate(states):
        _put(fields, state)
        where = "at the given state" if k == 0 else f"at random state {k}"
        subject = _Subject(potential, term, t, where, usual)
        rounds = rounds or bool(_rounded(subject))
        if not np.isfinite(subject.value()):
            yield subject.finding("", "value", False, None, "U is not finite")
            continue
        if isinstance(term, StagedTerm):
            yield from stages(term, t, where)
        else:
            yield _value(subject)
        if getattr(term, "grid", None):
            yield _window(subject)
        for knob in _knobs(subject, sizes):
            direction = inside(subject, knob, knob.direction(rng))
            if not np.isfinite(knob.gradient()).all():
                yield subject.finding(knob.name, "taylor", False, None, INFINITE)
                continue
            first = taylor(subject, knob, direction)
            yield _with_lines(subject, first)
            if knob.product is not None and KINK not in first.text:
                yield curvature(subject, knob, direction)
            if rounds:
                direction = inside(subject, knob, until(partial(_rounded, subject), knob, direction))
            yield _with_lines(subject, path(subject, knob, direction))
        keeps = () if potential.maps else term.energy.keeps
        yield from Symmetries(subject, fields, subject.gradient, rng, keeps).findings()
    _put(fields, start)
    yield from _kinks(_Subject(potential, term, t, "", usual), fields)


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


def _knobs(subject: _Subject, sizes: dict[str, float]) -> Iterator[Knob]:
    """Everything that the term has a derivative for, in the order of its arguments."""
    potential, term = subject.potential, subject.term
    for argument in term.energy.differentiable:
        role, name = term.energy.roles[argument], f"{term.name}.{argument}"
        gradient, product = partial(subject.gradient, name), subject.product(name)
        match role:
            case Node():
                field = term.fields[argument]
                of_field, turned = partial(subject.gradient, field.name), subject.product(field.name)
                values = field.values.copy()
                yield Knob(argument, values, field.set, of_field, sizes[field.name], product=turned)
            case Datum():
                values, put = _datum(term, argument)
                yield Knob(argument, values, put, gradient, 0.1 * spread(values), product=product)
            case Parameter():
                values = potential.parameter(name).astype(np.float64)
                share = 0.01 if getattr(term, "grid", None) else 0.1
                size = share * (float(np.max(np.abs(values))) or role.scale)
                low, high = (
                    np.any(values - 2 * size < role.bounds[0]),
                    np.any(values + 2 * size > role.bounds[1]),
                )
                put = partial(potential.set_parameter, name)
                inward = float(low) or -float(high)
                yield Knob(argument, values, put, gradient, size, inward, product)
            case Time():
                clock = subject.product(name, "t")
                now = np.array(subject.t)
                yield Knob(argument, now, subject.set_time, gradient, 0.1 * role.scale, product=clock)


def _kinks(subject: _Subject, fields: Mapping[str, Field]) -> Iterator[Finding]:
    """A finite U with a gradient that is not: where nodes coincide, where one is at zero, at rest."""
    term = subject.term
    for argument, field in term.fields.items():
        start = field.values.copy()
        for words, special in _special(term, start):
            field.set(special)
            broken = _is_kink(subject.potential, field.name, subject.t)
            field.set(start)
            if broken:
                yield _kink(subject, argument, words)
                break
    if not isinstance(term, StagedTerm) and not subject.potential.maps:
        for made in term.energy.shaping:
            if _is_kink_at_rest(subject, made):
                yield _kink(subject, made.field, "where an element is at rest")


def _is_kink(potential: Potential, field: str, t: float) -> bool:
    return bool(np.isfinite(potential.value(t))) and not np.isfinite(potential.gradient(field, t)).all()


def _kink(subject: _Subject, argument: str, words: str) -> Finding:
    subject.where = words
    text = "U is finite and its gradient is not: guard a root or norm of zero, norm(eps),"
    return replace(subject.finding(argument, "kink", True, None, text), warning=True)


def _is_kink_at_rest(subject: _Subject, made: Linear) -> bool:
    """Of one element whose F is the unit matrix to the last bit: a corner of the unit cube."""
    one = _part(subject.term, np.random.default_rng(0), tuples=1)
    field, row = one.fields[made.field], elements(one)[0]
    d, start = field.shape[1], field.values.copy()
    if len(row) <= d:
        return False
    corner, weights = start.copy(), np.zeros((1, len(row), d))
    corner[row] = 0.0
    corner[row[1 : d + 1]] = np.eye(d)
    weights[0, 0], weights[0, 1 : d + 1] = -1.0, np.eye(d)
    alone = replace(one, data=one.data | {made.weights: runtime.allocate(weights)})
    field.set(corner)
    broken = _is_kink(Potential(subject.potential.fields, [alone], frozen=True), field.name, subject.t)
    field.set(start)
    return broken


def _special(term: Term | StagedTerm, values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if not isinstance(term, StagedTerm) and term.arity > 1 and len(elements(term)):
        first, second = list(elements(term)[0])[:2]
        together = values.copy()
        together[first] = together[second]
        yield "where two nodes coincide", together
    zero = values.copy()
    zero[:1] = 0.0
    yield "where a node is at zero", zero


def _rounded(subject: _Subject) -> tuple:
    """What the numbers become that the energy rounds, for some elements."""
    term = subject.term
    if isinstance(term, StagedTerm):
        return ()
    few = islice(arguments(term, subject.t), MOST_CELLED)
    return tuple(chain.from_iterable(rounded(term.energy, values) for values in few))


def _with_lines(subject: _Subject, finding: Finding) -> Finding:
    """A question that failed, with the lines of the energy where derivatives end."""
    term = subject.term
    if finding.passed or isinstance(term, StagedTerm) or finding.argument not in term.energy.roles:
        return finding
    cuts: dict[str, Cut] = {}
    for values in islice(arguments(term, subject.t), MOST_CELLED):
        cuts |= {c.where: c for c in ends(term.energy, values, finding.argument)}
    if not cuts:
        return finding
    told = "; ".join(
        f"line {c.where.rpartition(':')[2]}: a value {c.text.rstrip(',')}" for c in cuts.values()
    )
    return replace(finding, text=f"{finding.text}: {told}", where=next(iter(cuts)))


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


# Parts of a term ------------------------------------------------------------------------------------


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
