"""The exam that every energy sits, at small random states: each function asks one question.

    values     U against plain Python; every gradient against differences of order 6 of the plain function,
               and, where the engine compiles the function, against its own reverse mode
    products   H w against differences of order 6 of the gradient
    order      |U(x + h w) - U(x) - h grad U . w| falls as h^2 in all fields, parameters and the time at once
    precision  f32 against f64
    alive      every gradient is somewhere not zero
    symmetry   the declared symmetries are those that the values have

Each gives findings: the argument, whether it passed, and its figure, a relative error or an order.

Decisions 0214.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..check.questions import Finding
from ..energies.lagrangian import Lagrangian
from ..energies.local_energy import LocalEnergy
from ..energies.local_map import LocalMap
from ..energies.magnetic_field import MagneticField
from ..energies.roles import Box, Datum, Node, Time
from ..energies.term import Term
from ..engine import runtime
from ..errors import TraceError
from ..potential.potential import Potential
from . import references
from .instances import Instance

EPS = float(np.finfo(np.float64).eps)
T = 0.37
"""The time at which energies are asked."""
SEEDS = (1, 2, 3)
CLOSE, PLAIN, TAYLOR, SINGLE, PRODUCT = 1e-12, 1e-8, 0.1, 2e-5, 1e-7
"""The largest errors: of compiled code beside compiled or plain code, of gradients beside differences, of the
fitted order, of f32, and of products beside differences of the gradient."""
STENCIL = {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}
"""Weights of a central difference of order 6."""
MOVES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "translation": lambda x, turn: x + 0.4,
    "rotation": lambda x, turn: x @ turn,
}


def names(potential: Potential) -> dict[str, str]:
    """The name of each derivative, by the argument of the only term."""
    (term,) = potential.terms.values()
    return names_of(term)


def names_of(term: Term) -> dict[str, str]:
    """The name of each derivative by the argument of a term or a map."""
    found = {}
    for argument in term.energy.differentiable:
        match term.energy.roles[argument]:
            case Node():
                found[argument] = term.fields[argument].name
            case Time():
                found[argument] = "t"
            case _:
                found[argument] = term.address(argument)
    return found


def gradients(potential: Potential) -> dict[str, np.ndarray]:
    """Every gradient of the only term, by argument."""
    return {argument: potential.gradient(name, T) for argument, name in names(potential).items()}


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """Relative to the largest component; infinite if it is not finite or of another shape."""
    if found.shape != expected.shape or not np.isfinite(expected).all() or not np.isfinite(found).all():
        return np.inf
    return float(np.abs(found - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-300))


def can_be_examined(energy: object) -> bool:
    """True for what has instances: an energy over nodes, pairs, tuples or cells of one set.

    Others are asked by `term_check` alone: staged ones, maps, Lagrangians, magnetic fields, energies over
    several sets of nodes or in a box.
    """
    if not isinstance(energy, LocalEnergy) or isinstance(energy, LocalMap | Lagrangian | MagneticField):
        return False
    kind = energy.element_kind
    return not kind.sets and not kind.directed and not energy.of_role(Box) and energy.cutoff is None


def questions(instance: Instance) -> dict[str, Callable[[int], Iterator[Finding]]]:
    """The questions of the exam to an energy, by name: functions of the dimension of space."""
    asked: dict[str, Callable[[int], Iterator[Finding]]] = {
        "values": lambda d: values(instance, d, SEEDS[0]),
        "products": lambda d: products(instance, d, SEEDS[0]),
        "order": lambda d: order(instance, d),
        "precision": lambda d: precision(instance, d),
        "alive": lambda d: alive(instance, d),
    }
    if between_nodes(instance):
        asked["symmetry"] = lambda d: symmetry(instance, d)
    return asked


def values(instance: Instance, d: int, seed: int) -> Iterator[Finding]:
    """U and its gradients against the references."""
    potential = instance.potential(np.random.default_rng(seed), d)
    (term,) = potential.terms.values()
    scale, compiles = references.magnitude(term, T), instance.compiles
    answer = _answers(term.name, "values")
    yield answer("", None, scale > 0.0, "sum of |u| over the elements, which must not be zero")
    rounding = CLOSE * scale
    here = potential.value(T)
    off = abs(here - references.plain_energy(term, T))
    yield answer("", off / scale, off <= rounding, "U beside the function in plain Python")
    found, differences = gradients(potential), references.differences(term, T)
    for argument, gradient in found.items():
        off = error(gradient, differences[argument])
        yield answer(argument, off, off < PLAIN, "gradient beside differences of plain Python")
    if runtime.arch() == "cpu" and (compiles or compiles is None):  # devices lack its sums
        try:
            value, reverse = references.taichi(term, T)
        except runtime.refusals():
            if compiles:
                raise
            return
        yield answer("", abs(here - value) / scale, abs(here - value) <= rounding, "U beside the engine's")
        for argument, gradient in found.items():
            off = error(gradient, reverse[argument])
            yield answer(argument, off, off < CLOSE, "gradient beside the engine's reverse mode")


def alive(instance: Instance, d: int) -> Iterator[Finding]:
    """Every gradient is not zero at one of the states at least."""
    largest: dict[str, float] = {}
    for seed in SEEDS:
        for argument, gradient in gradients(instance.potential(np.random.default_rng(seed), d)).items():
            largest[argument] = max(largest.get(argument, 0.0), float(np.abs(gradient).max()))
    for argument, size in largest.items():
        yield _answers(instance.energy.name, "alive")(argument, size, size > 0.0, "largest gradient")


def order(instance: Instance, d: int, seeds: Sequence[int] = SEEDS) -> Iterator[Finding]:
    """The order of Taylor's remainder along a random direction: 2, or more where it has no curvature."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        potential = instance.potential(rng, d)
        line = _Line(potential, rng)
        start, slope = line.value(0.0), line.slope
        steps, remainders = [], []
        for h in 2.0 ** -np.arange(7, 22):
            remainder = abs(line.value(float(h)) - start - h * slope)
            if remainder > 100.0 * EPS * potential.magnitude(T):
                steps.append(h)
                remainders.append(remainder)
        if len(steps) >= 4:
            fitted = float(np.polyfit(np.log(steps), np.log(remainders), 1)[0])
            answer = _answers(instance.energy.name, "order")
            yield answer("", fitted, fitted > 2.0 - TAYLOR, f"order of the remainder, from {remainders}")


def products(instance: Instance, d: int, seed: int) -> Iterator[Finding]:
    """How each gradient changes along a random direction, beside differences of the gradient."""
    rng = np.random.default_rng(seed)
    potential = instance.potential(rng, d)
    line, h = _Line(potential, rng), 2.0**-9
    tangents = line.tangents
    wanted = {a: n for a, n in names(potential).items() if n in tangents}
    try:
        found = {a: np.asarray(potential.product(tangents, n, T), np.float64) for a, n in wanted.items()}
    except TraceError as refused:
        yield _answers(instance.energy.name, "products")("", None, False, str(refused))
        return
    sizes = {a: potential.gradient(n, T) for a, n in wanted.items()}
    expected = {a: np.zeros(np.shape(found[a])) for a in wanted}
    for k, weight in STENCIL.items():
        for sign in (1.0, -1.0):
            t = line.go(sign * k * h)
            for a, n in wanted.items():
                expected[a] = expected[a] + sign * weight / h * potential.gradient(n, t)
    line.go(0.0)
    for a in wanted:
        scale = max(np.abs(expected[a]).max(), 1e-3 * np.abs(sizes[a]).max())
        off = float(np.abs(found[a] - expected[a]).max())
        passed = off <= PRODUCT * scale + CLOSE
        yield _answers(instance.energy.name, "products")(
            a, off / (scale or 1.0), passed, "product beside differences of the gradient"
        )


def precision(instance: Instance, d: int, seeds: Sequence[int] = SEEDS) -> Iterator[Finding]:
    """U and its gradients in f32, beside f64."""
    answer = _answers(instance.energy.name, "precision", "f32")
    for seed in seeds:
        double = instance.potential(np.random.default_rng(seed), d)
        single = instance.potential(np.random.default_rng(seed), d, precision="f32")
        off, scale = abs(single.value(T) - double.value(T)), double.magnitude(T)
        yield answer("", off / (scale or 1.0), off <= 0.5 * SINGLE * scale, "U in f32")
        expected = gradients(double)
        for argument, gradient in gradients(single).items():
            off, size = error(gradient.astype(float), expected[argument]), np.abs(expected[argument]).max()
            near = off < SINGLE or off * size <= _rounding_of_parts(double, argument)
            yield answer(argument, off, near, "gradient in f32")
        kept = all(single.gradient(name).dtype == np.float32 for name in single.fields)
        yield answer("", None, kept, "gradients of fields of f32 are f32")


def _rounding_of_parts(potential: Potential, argument: str) -> float:
    """What the parts of dU/dp, of all elements, may be off in f32 for a parameter p with one value; else 0.

    The sum may be far smaller than its parts, whose size is that of sum |u| / |p|.
    """
    (term,) = potential.terms
    if argument not in potential.terms[term].parameters:
        return 0.0
    values = np.abs(potential.parameter(f"{term}.{argument}")).reshape(-1)
    if values.size != 1 or values[0] == 0.0:
        return 0.0
    return 10.0 * float(np.finfo(np.float32).eps) * potential.magnitude(T) / float(values[0])


def between_nodes(instance: Instance) -> bool:
    """Whether U is of vectors at several nodes: only then has it symmetries of its own."""
    vectors = [role.shape == ("d",) for role in instance.energy.of_role(Node).values() if role.shape]
    return instance.energy.over != "nodes" and bool(vectors) and all(vectors)


def symmetry(instance: Instance, d: int) -> Iterator[Finding]:
    """The declared symmetries are those of the values, translation and rotation."""
    declared = {*instance.energy.symmetries} & {*MOVES}
    for name, moved in MOVES.items():
        potential = instance.potential(np.random.default_rng(5), d)
        turn, _ = np.linalg.qr(np.random.default_rng(6).normal(size=(d, d)))
        turn[:, 0] *= np.sign(np.linalg.det(turn))  # a rotation, no reflection
        before = potential.value(T)
        for argument, role in instance.energy.of_role(Node).items():
            if role.shape:
                x = potential.fields[argument]
                x.set(moved(x.values, turn))
        change = abs(potential.value(T) - before) / max(abs(before), 1e-300)
        has, says = change <= 1e-10, "is declared" if name in declared else "is not declared"
        yield _answers(instance.energy.name, "symmetry")(
            "", change, has == (name in declared), f"{name} changes U by this part, and {says}"
        )


def bits(instance: Instance, d: int) -> list[bytes]:
    """U and its gradients over many elements, to be compared between numbers of threads and between runs."""
    potential = instance.potential(np.random.default_rng(5), d, n=300, e=900)
    return [np.array(potential.value(T)).tobytes(), *(g.tobytes() for g in gradients(potential).values())]


def _answers(name: str, question: str, precision: str = "f64") -> Callable[..., Finding]:
    def answer(argument: str, figure: float | None, passed: bool, text: str) -> Finding:
        return Finding(name, argument, question, bool(passed), figure, text, precision=precision)

    return answer


class _Line:
    """A potential along a random straight line through its fields, parameters and the time, data apart."""

    def __init__(self, potential: Potential, rng: np.random.Generator):
        (term,) = potential.terms.values()
        self.potential = potential
        self.tangents: dict[str, np.ndarray] = {}
        self._start: dict[str, np.ndarray] = {}
        self.slope = 0.0
        for argument, name in names(potential).items():
            role = term.energy.roles[argument]
            gradient = potential.gradient(name, T)
            if isinstance(role, Datum):
                continue
            w = np.asarray(rng.normal(size=gradient.shape) * 0.1 * role.scale)
            self.tangents[name] = w
            self.slope += float((gradient * w).sum())
            if isinstance(role, Node):
                self._start[name] = potential.fields[name].values.copy()
            elif not isinstance(role, Time):
                self._start[name] = potential.parameter(name)

    def go(self, h: float) -> float:
        """To the place h tangents away; returns the time there."""
        for name, start in self._start.items():
            if name in set(self.potential.fields):
                self.potential.fields[name].set(start + h * self.tangents[name])
            else:
                self.potential.set_parameter(name, start + h * self.tangents[name])
        return T + h * float(self.tangents.get("t", 0.0))

    def value(self, h: float) -> float:
        return self.potential.value(self.go(h))
