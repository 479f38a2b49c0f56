"""Is a gradient true? Three questions to every term, always in double precision.

    Taylor   |U(a + h w) - U(a) - h grad U . w| falls as h^2; the slope is fitted only where the remainder
             exceeds 100 eps sum|u|, and below that floor everything passes (ENGINE 13)
    path     U(b) - U(a) = integral of grad U . dx from a to b, a step of physical size: sees gradients that
             are right at every point and yet miss how U moves (a coordinate cast to an integer pixel)
    value    the compiled energy against a plain-Python evaluation of the same source

asked at the state itself and at random, unsymmetric states near it. A step has a tenth of the field's spread.
Differences here only judge; no gradient is ever made from them.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from . import runtime
from .energy import Datum, LocalEnergy, Node, Parameter, Time, concrete, draw_parameter
from .fields import Fields, ordered_sum
from .interactions import Pairs, Tuples
from .plain import evaluate
from .potential import Potential
from .terms import Term, Values, bind

EPS = float(np.finfo(np.float64).eps)
STATES = 3
"""Random states, besides the given one."""
MOST_NODES, MOST_TUPLES, MOST_PLAIN = 128, 4096, 200
"""Terms with more pairs' nodes or tuples are judged on a random part; the plain evaluation on a smaller one."""


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
    """Ask every term of a potential (double precision), one after another. The fields are left as they were."""
    for term in potential.terms.values():
        rng = np.random.default_rng(seed)
        part = Potential(potential.fields, [_part(term, rng)])
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
    nodes = max(nodes, energy.arity + 2)
    shapes = {a: (nodes, *concrete(role.shape, d)) for a, role in energy.of_role(Node).items()}
    fields = Fields({a: rng.normal(size=s) * energy.roles[a].scale for a, s in shapes.items()})
    tuples, elements = None, nodes
    if isinstance(energy.over, int):
        tuples = np.array([rng.permutation(nodes)[: energy.over] for _ in range(nodes)])
    samples = [energy.sample(rng, d) for _ in range(elements)]
    data = {a: np.array([s[a] for s in samples]) for a, role in energy.roles.items() if isinstance(role, Datum)}
    parameters = {a: draw_parameter(role, rng, concrete(role.shape, d)) for a, role in energy.of_role(Parameter).items()}
    return Potential(fields, [bind(energy, fields, tuples=tuples, data=data, parameters=parameters)])


# One term -------------------------------------------------------------------------------------------


def _of_term(potential: Potential, t: float, rng: np.random.Generator) -> Iterator[Finding]:
    (name, term), = potential.terms.items()
    fields = {f.name: f for f in term.fields.values()}
    start = {n: f.values.copy() for n, f in fields.items()}
    sizes = {n: 0.1 * spread(v) for n, v in start.items()}
    for k in range(STATES + 1):
        for n, field in fields.items():
            field.set(start[n] + (k > 0) * sizes[n] * rng.normal(size=field.shape))
        where = "at the given state" if k == 0 else f"at random state {k}"
        if not np.isfinite(potential.value(t)):
            yield Finding(name, "", "value", False, None, f"U is not finite {where}")
            continue
        yield _value(potential, term, t, where)
        for knob in _knobs(potential, term, sizes, t):
            direction = knob.direction(rng)
            yield _taylor(potential, name, knob, direction, t, where)
            yield _path(potential, name, knob, direction, t, where)


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


def _knobs(potential: Potential, term: Term, sizes: dict[str, float], t: float) -> Iterator[_Knob]:
    for argument, f in term.fields.items():
        name, field = f.name, potential.fields[f.name]
        yield _Knob(argument, field.values.copy(), field.set, lambda name=name: potential.gradient(name, t), sizes[name])
    for argument, role in term.energy.of_role(Parameter).items():
        name = f"{term.name}.{argument}"
        values = potential.parameter(name).astype(np.float64)
        size = 0.1 * (float(np.max(np.abs(values))) or role.scale)
        inward = float(np.any(values - 2 * size < role.bounds[0])) or -float(np.any(values + 2 * size > role.bounds[1]))
        yield _Knob(
            argument,
            values,
            lambda v, name=name: potential.set_parameter(name, v),
            lambda name=name: potential.gradient(name, t),
            size,
            inward,
        )


def _value(potential: Potential, term: Term, t: float, where: str) -> Finding:
    small = _part(term, np.random.default_rng(0), nodes=12, tuples=MOST_PLAIN)
    compiled = Potential(potential.fields, [small]).value(t)
    pieces = np.array([evaluate(small.energy.function, a) for a in arguments(small, t)])
    expected, scale = ordered_sum(pieces), ordered_sum(np.abs(pieces)) or 1.0
    error = abs(compiled - expected) / scale
    passed = error <= 1e-11
    text = f"compiled {compiled:.17g}, plain Python {expected:.17g} {where}"
    return Finding(term.name, "", "value", passed, error, text)


def _taylor(potential: Potential, name: str, knob: _Knob, direction: np.ndarray, t: float, where: str) -> Finding:
    """Fit the order of the remainder over h = 1, 1/2, 1/4, ..."""
    u0, floor = potential.value(t), 100.0 * EPS * potential.magnitude(t)
    slope = ordered_sum(knob.gradient() * direction)
    steps, remainders = [], []
    for h in 0.5 ** np.arange(30):
        knob.put(knob.values + h * direction)
        remainder = abs(potential.value(t) - u0 - h * slope)
        if not remainder > floor:
            break
        steps.append(h)
        remainders.append(remainder)
    knob.put(knob.values)
    if len(steps) < 3:
        return Finding(name, knob.name, "taylor", True, None, f"remainder at rounding level {where}")
    order = float(np.polyfit(np.log(steps[-4:]), np.log(remainders[-4:]), 1)[0])
    text = f"remainder of order {order:.2f}, not 2, {where}: the gradient is wrong"
    passed = order > 1.8
    return Finding(name, knob.name, "taylor", passed, order, f"remainder of order {order:.2f} {where}" if passed else text)


def _path(potential: Potential, name: str, knob: _Knob, direction: np.ndarray, t: float, where: str) -> Finding:
    """Compare U(b) - U(a) with the integral of the gradient, refined until it settles."""
    ends = []
    for s in (0.0, 1.0):
        knob.put(knob.values + s * direction)
        ends.append(potential.value(t))
    change = ends[1] - ends[0]
    rounding = 100.0 * EPS * potential.magnitude(t)
    settled, before = False, np.inf
    for points in (4, 8, 16, 32, 64, 128):
        integral, scale = _integral(knob, direction, points)
        scale = max(scale, abs(change), rounding / 1e-9)
        if settled := abs(integral - before) <= 1e-9 * scale:
            break
        before = integral
    knob.put(knob.values)
    error = abs(integral - change) / scale
    tolerance = 1e-7 if settled else 1e-2
    if error <= tolerance:
        return Finding(name, knob.name, "path", True, error, f"off by {error:.1e} {where}")
    text = (
        f"U changes by {change:.6g} along a step of physical size, its gradient accounts for {integral:.6g} {where}:"
        " a value is cast, cut off or frozen on the way"
    )
    return Finding(name, knob.name, "path", False, error, text)


def _integral(knob: _Knob, direction: np.ndarray, points: int) -> tuple[float, float]:
    """Gauss-Legendre: the integral of grad U . dx over the step, and of its absolute value."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    rates = []
    for node in nodes:
        knob.put(knob.values + 0.5 * (node + 1.0) * direction)
        rates.append(ordered_sum(knob.gradient() * direction))
    return float(0.5 * weights @ rates), float(0.5 * weights @ np.abs(rates))


# Parts of a term ------------------------------------------------------------------------------------


def spread(values: np.ndarray) -> float:
    """The size of a field's variation: its standard deviation, or its mean where it does not vary."""
    flat = values.astype(np.float64)
    deviation = float(np.sqrt(np.mean((flat - flat.mean(axis=0)) ** 2)))
    size = float(np.abs(flat).max())
    return deviation if deviation > 1e-12 * size else (size or 1.0)


def _part(term: Term, rng: np.random.Generator, nodes: int = MOST_NODES, tuples: int = MOST_TUPLES) -> Term:
    """The term, on a random part of its elements if there are many. A copy: its parameters may be turned."""
    parameters = {a: Values(v.rows.copy(), v.index) for a, v in term.parameters.items()}
    if isinstance(term.elements, Pairs):
        chosen = np.sort(rng.permutation(term.elements.nodes)[:nodes])
        return replace(term, elements=Pairs(chosen), parameters=parameters)
    rows = np.sort(rng.permutation(term.elements.elements)[:tuples])
    return replace(
        term,
        elements=Tuples(term.elements.nodes[rows]),
        data={a: runtime.allocate(runtime.host(v)[rows]) for a, v in term.data.items()},
        parameters={a: Values(v.rows, None if v.index is None else v.index[rows]) for a, v in parameters.items()},
    )


def arguments(term: Term, t: float) -> Iterator[dict[str, Any]]:
    """The arguments of every element of a term, as its function receives them."""
    nodes = term.elements.nodes
    elements = [(i, j) for a, i in enumerate(nodes) for j in nodes[:a]] if isinstance(term.elements, Pairs) else nodes
    clock = {a: t for a, role in term.energy.roles.items() if isinstance(role, Time)}
    for e, element in enumerate(elements):
        fields = {a: [f.values[n] for n in element] for a, f in term.fields.items()}
        data = {a: runtime.host(v)[e] for a, v in term.data.items()}
        parameters = {a: v.rows[0 if v.index is None else v.index[e]] for a, v in term.parameters.items()}
        yield fields | data | parameters | clock
