"""Gradient checks of energies and maps, in double precision (`single_precision`: the questions of f32).

    Taylor   the remainder of a step falls as its square (`questions`)
    path     U changes along a step of physical size by the integral of its gradient
    product  the remainder of the gradient's tangent falls as the square of the step
    symmetry where U is invariant under translation the forces sum to zero, under rotation the torques; forces
             follow nodes that change places (`symmetries`)
    kink     where nodes coincide, and at rest, the gradient is finite if U is: a warning
    reverse  of a staged energy: each stage against its kernel in plain Python (`stage_check`)
    value    the compiled energy against a plain-Python evaluation of the same source
    trees    of far pairs, with a tree that stays: `trees.tree_questions`
    images   in a periodic box, nodes that are shifted by its vectors leave U: `box_images`

A map is checked through a weighted sum of its output (`map_probe`), with one question more:

    window   outside its window, an element writes less than a millionth of its largest value inside

The questions are asked at the given state and at random, unsymmetric states near it. A step is a tenth of the
field's spread, of tuples a tenth of their nodes' distance; where it would leave the domain of U (an inverted
cell), it is halved until it stays inside.

Decisions 0337.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice

import numpy as np

from ..codegen.tracing import of_term
from ..codegen.verification.element_samples import Sample
from ..elements.elements import Elements
from ..elements.trees.near_pairs import NearPairs
from ..energies.fields import Field, ordered_sum
from ..energies.local_energy import LocalEnergy
from ..energies.pairs.cutoff_jump import jump
from ..energies.roles import Bounded, Datum, Node, Parameter, Time
from ..energies.staged_energy import Staged
from ..energies.term import Term
from ..engine import storage
from ..errors import EnergyError
from ..interpreter.array_memory import Cut
from ..interpreter.interpreter import ends, rounding_results
from ..lint.kernel_remarks import in_words
from ..potential.potential import Potential
from ..potential.sample_potential import instance, staged_instance
from ..potential.staged.staged_term import StagedTerm
from .decisions import Switches
from .invariances.box_images import images
from .invariances.symmetries import Symmetries
from .invariances.unit_powers import QUESTION, unit_mistakes
from .map_probe import EDGE, cut_off, pieces, probe_map
from .questions import (
    INFINITE,
    KINK,
    Finding,
    curvature,
    field_spread,
    path,
    step_inside,
    taylor,
    until,
)
from .random_states import random_state_near
from .stage_check import stages
from .term_kinks import kinks
from .term_subject import (
    MOST_PLAIN,
    MOST_TUPLES,
    TermSubject,
    arguments,
    compact,
    is_listed,
    maps_and_terms,
    no_elements_warning,
    of_each_branch,
    part,
)
from .trees import tree_questions
from .trees.frozen_tree import count_far_pairs, freeze_tree
from .variables import Variable

STATES = 3
"""Random states, besides the given one."""
FOLDED = (
    ": rounding that fast math folds away, as (a + b) - a to b; set [runtime] fast_math = false to keep the"
    " order of sums,"
)
LEAST = 1e-2
"""The least step of a plain number, in parts of a change of its role."""
MOST_CELLED = 8
"""The number of elements to check of a map to cells: they are evaluated cell by cell, and where values
between cells are interpolated, U has a kink for each cell that an element passes."""
MOST_ON_PATHS = 16
"""The number of elements to check along paths, of a map with conditions, ties or rounded numbers."""


def of_potential(potential: Potential, t: float = 0.0, seed: int = 0) -> Iterator[Finding]:
    """Check every map and term of a potential in double precision, at time t. Restores the fields."""
    potential.refresh(t)
    with potential.fields.images_held():
        yield from _of_parts(potential, t, seed)
    yield from _in_double(images(potential, t, np.random.default_rng(seed)))


def _of_parts(potential: Potential, t: float, seed: int) -> Iterator[Finding]:
    maps, others = maps_and_terms(potential)
    for of_map in maps:
        if _has_no_elements(of_map):
            yield replace(no_elements_warning(of_map), precision="f64")
            continue
        rng = np.random.default_rng(seed)
        few = of_map if isinstance(of_map, StagedTerm) else _random_part(of_map, rng)
        whole = probe_map(few, rng)
        if isinstance(few, StagedTerm) or not (is_listed(few) and Switches.of(few)):
            yield from _in_double(_of_term(whole, t, rng))
            continue
        fewer = probe_map(compact(of_each_branch(few, rng, t, MOST_ON_PATHS)), rng)
        yield from _in_double(_of_term(whole, t, rng, paths=False))
        yield from _in_double(_of_term(fewer, t, rng, _step_sizes(few), points=False))
    for term in others:
        if _has_no_elements(term):
            yield replace(no_elements_warning(term), precision="f64")
            continue
        rng = np.random.default_rng(seed)
        one = term if isinstance(term, StagedTerm) else part(term, rng)
        if isinstance(term, Term) and isinstance(term.elements, NearPairs):
            tree = freeze_tree(term, rng)
            yield from _in_double(iter((count_far_pairs(term, tree), tree_questions.direct(term, t))))
            one = tree or one
        alone = Potential(potential.fields, [one], frozen=True)
        barrier = term.elements if isinstance(term, Term) and term.elements.barrier else None
        kept = {f.name: f.values.copy() for f in term.fields.values()}
        try:
            asked = _of_term(alone, t, rng, paths=not _jumps_at_cutoff(term), barrier=barrier)
            yield from _in_double(asked)
        finally:
            for name, values in kept.items():
                potential.fields[name].set(values)


def _jumps_at_cutoff(term: Term | StagedTerm) -> bool:
    """True if U jumps at the term's sharp cutoff, which a path crosses: no gradient contains the jump."""
    return not isinstance(term, StagedTerm) and jump(term) > 0.0


def _has_no_elements(term: Term | StagedTerm) -> bool:
    return isinstance(term, Term) and term.elements.empty


def _random_part(of_map: Term, rng: np.random.Generator) -> Term:
    """A map on a random part of its elements."""
    return compact(part(of_map, rng, tuples=MOST_CELLED if of_map.grid else MOST_TUPLES))


def of_energy(energy: LocalEnergy | Staged, d: int = 3, seed: int = 0) -> Iterator[Finding]:
    """Check an energy in d dimensions, at random states of its declared scales; a staged one by `example`."""
    rng = np.random.default_rng(seed)
    try:
        made = staged_instance(energy, rng) if isinstance(energy, Staged) else instance(energy, d, rng)
    except EnergyError as error:
        yield Finding(energy.name, "", "example", False, None, str(error))
    else:
        yield from of_potential(made, t=0.7, seed=seed)


def _in_double(findings: Iterator[Finding]) -> Iterator[Finding]:
    return (replace(finding, precision="f64") for finding in findings)


# One term -------------------------------------------------------------------------------------------


def _of_term(
    potential: Potential,
    t: float,
    rng: np.random.Generator,
    sizes: Mapping[str, float] | None = None,
    points: bool = True,
    paths: bool = True,
    barrier: Elements | None = None,
) -> Iterator[Finding]:
    """The questions to the one term (or map) of a potential: at `points`, and along `paths`.

    `sizes`: of steps, by field; else they are those of the term. `barrier`: elements whose domain
    states and steps do not leave. Restores the fields.
    """
    (term,) = (potential.maps or potential.terms).values()
    fields = {f.name: f for f in term.fields.values()}
    start = {n: f.values.copy() for n, f in fields.items()}
    sizes = _step_sizes(term) if sizes is None else sizes

    roles = [(field.name, term.energy.roles[a]) for a, field in term.fields.items()]
    bounded = [(n, role) for n, role in roles if isinstance(role, Bounded) and role.admits(start[n])]

    def valid(state: Mapping[str, np.ndarray]) -> bool:
        if barrier is not None:
            ends = ({a: x[f.name] for a, f in term.fields.items()} for x in (start, state))
            if barrier.free_part(*ends) < 1.0:
                return False
        _set_fields(fields, state)
        return all(role.admits(state[n]) for n, role in bounded) and bool(np.isfinite(potential.value(t)))

    limits = {n: role.bounds for n, role in bounded}
    states = [start, *(random_state_near(start, sizes, rng, valid, limits) for _ in range(STATES))]
    usual, rounds, of_units = 0.0, False, list[Finding]()
    for state in states:
        _set_fields(fields, state)
        usual = float(np.fmax(usual, potential.magnitude(t)))
    for k, state in enumerate(states):
        _set_fields(fields, state)
        where = "at the given state" if k == 0 else f"at random state {k}"
        subject = TermSubject(potential, term, t, where, usual, barrier)
        rounds = rounds or bool(_rounding_results(subject))
        if not np.isfinite(subject.value()):
            yield subject.finding("", "value", False, None, "U is not finite")
            continue
        if points:
            yield from _at_state(subject, fields, rng)
            of_units = of_units or _check_units(subject)
        for variable in _differentiable_variables(subject, sizes):
            yield from _of_variable(subject, variable, rng, rounds, points, paths)
        if isinstance(getattr(term, "elements", None), NearPairs):
            yield from tree_questions.mixed_tangents(
                subject, [*_differentiable_variables(subject, sizes)], rng
            )
        elif points:
            yield from _check_symmetries(subject, fields, rng)
    yield from of_units
    _set_fields(fields, start)
    if points and barrier is None:  # else nodes never coincide
        yield from kinks(TermSubject(potential, term, t, "", usual), fields)


def _step_sizes(term: Term | StagedTerm) -> dict[str, float]:
    """The sizes of steps, by field: 0 of one that holds integers."""
    still = {f.name for a, f in term.fields.items() if getattr(term.energy.roles.get(a), "integer", False)}
    sizes = {f.name: 0.1 * _variation_size(term, f.name, f.values) for f in term.fields.values()}
    for argument, field in term.fields.items():  # of numbers that are the same to rounding
        role = term.energy.roles.get(argument)
        if role is not None and role.unit == "1":
            sizes[field.name] = max(sizes[field.name], LEAST * role.scale)
    return sizes | dict.fromkeys(still, 0.0)


def _at_state(
    subject: TermSubject, fields: Mapping[str, Field], rng: np.random.Generator
) -> Iterator[Finding]:
    """The questions at the present state that are not to a variable."""
    term = subject.term
    if isinstance(term, StagedTerm):
        yield from stages(term, subject.t, subject.where)
    elif isinstance(term.elements, NearPairs):
        yield from tree_questions.at_state(subject, rng)
    else:
        yield _check_value(subject)
    if getattr(term, "grid", None):
        yield _check_window(subject)


def _check_units(subject: TermSubject) -> list[Finding]:
    """Whether U, or each output of a map, has its declared unit: a warning if not."""
    term = subject.term
    if isinstance(term, StagedTerm) or isinstance(term.elements, NearPairs):
        return []
    found = unit_mistakes(term, subject.t)
    return [
        Finding(term.name, "", QUESTION, True, None, text and f"{name or 'U'} {text}", warning=bool(text))
        for name, text in found
    ]


def _check_symmetries(
    subject: TermSubject, fields: Mapping[str, Field], rng: np.random.Generator
) -> Iterator[Finding]:
    term = subject.term
    declared = () if subject.potential.maps else term.energy.symmetries
    staged = isinstance(term, StagedTerm)
    among = {} if staged else {f.name: term.members(a) for a, f in term.fields.items()}
    box = None if staged else next(iter(term.uniform.values()), None)
    places = {} if staged else _place_data(term)
    yield from Symmetries(subject, fields, subject.gradient, rng, declared, among, box, places).findings()


def _place_data(term: Term) -> dict[str, Callable[[np.ndarray], None]]:
    """How the data that are places of a term's first field are moved from the start by a vector, by field."""
    found = [a for a, role in term.energy.of_role(Datum).items() if role.place]
    first = next(iter(term.fields.values()), None)
    if not found or first is None or term.outputs:
        return {}
    start = {a: storage.host(term.data[a]).astype(np.float64) for a in found}

    def move(by: np.ndarray) -> None:
        for argument, values in start.items():
            term.set_datum(argument, values + by)

    return {first.name: move}


def _of_variable(
    subject: TermSubject,
    variable: Variable,
    rng: np.random.Generator,
    rounds: bool,
    points: bool,
    paths: bool,
) -> Iterator[Finding]:
    """The questions to one gradient, along a random step; a path reaches the next rounded number."""
    direction = step_inside(subject, variable, variable.direction(rng))
    if not np.isfinite(variable.gradient()).all():
        yield subject.finding(variable.name, "taylor", False, None, INFINITE)
        return
    if points:
        yield from _at_a_point(subject, variable, direction)
    if not paths:
        return
    if rounds:
        direction = step_inside(
            subject, variable, until(partial(_rounding_results, subject), variable, direction)
        )
    yield _with_lines(subject, path(subject, variable, direction))


def _at_a_point(subject: TermSubject, variable: Variable, direction: np.ndarray) -> Iterator[Finding]:
    first = taylor(subject, variable, direction)
    yield _with_lines(subject, first)
    if variable.product is not None and KINK not in first.text:
        yield curvature(subject, variable, direction)


def _set_fields(fields: Mapping[str, Field], state: Mapping[str, np.ndarray]) -> None:
    for name, field in fields.items():
        field.set(state[name])


def _differentiable_variables(subject: TermSubject, sizes: Mapping[str, float]) -> Iterator[Variable]:
    """The variables with a derivative; of maps with switches, with the sides that their elements are on."""
    for variable in _plain_variables(subject, sizes):
        if subject.switches:
            rows = subject.rows(variable.name)
            yield replace(variable, sides=subject.sides, rows=rows)
        else:
            yield variable


def _plain_variables(subject: TermSubject, sizes: Mapping[str, float]) -> Iterator[Variable]:
    """The variables with a derivative: fields, data, parameters, in the order of the arguments."""
    potential, term = subject.potential, subject.term
    for argument in term.energy.differentiable:
        role, name = term.energy.roles[argument], term.address(argument)
        gradient, product = partial(subject.gradient, name), subject.product(name)
        match role:
            case Node():
                field = term.fields[argument]
                of_field, turned = partial(subject.gradient, field.name), subject.product(field.name)
                values = field.values.copy()
                size, admits = sizes[field.name], role.admits
                limits = role.bounds if admits(values) else (-np.inf, np.inf)
                made = Variable(argument, values, field.set, of_field, size, product=turned)
                stays = partial(subject.free_part, argument)
                yield replace(made, admits=admits, bounds=limits, free_part=stays)
            case Datum():
                values, put = _datum_access(term, argument)
                yield Variable(argument, values, put, gradient, 0.1 * field_spread(values), product=product)
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
                yield Variable(argument, values, put, gradient, size, inward, product)
            case Time():
                clock = subject.product(name, "t")
                now = np.array(subject.t)
                yield Variable(argument, now, subject.set_time, gradient, 0.1 * role.scale, product=clock)


def _rounding_results(subject: TermSubject) -> tuple:
    """The results of the energy's roundings (cast, floor, ...), for some elements."""
    term = subject.term
    if isinstance(term, StagedTerm):
        return ()
    if subject.switches is not None:
        return tuple(subject.switches.roundings(subject.t)[:, :MOST_CELLED].ravel().tolist())
    few = islice(arguments(term, subject.t), MOST_CELLED)
    return tuple(chain.from_iterable(rounding_results(term.energy, values) for values in few))


def _with_lines(subject: TermSubject, finding: Finding) -> Finding:
    """Add to a failed finding the lines of the energy at which derivatives end."""
    term = subject.term
    if finding.passed or isinstance(term, StagedTerm) or finding.argument not in term.energy.roles:
        return finding
    cuts: dict[str, Cut] = {}
    for values in islice(arguments(term, subject.t), MOST_CELLED):
        cuts |= {c.where: c for c in ends(term.energy, values, finding.argument)}
    if not cuts:
        return finding
    reasons = "; ".join(f"{in_words(c.where)}: a value {c.text.rstrip(',')}" for c in cuts.values())
    return replace(finding, text=f"{finding.text}: {reasons}", where=next(iter(cuts)))


def _check_value(subject: TermSubject) -> Finding:
    of = subject.potential
    small = part(subject.term, np.random.default_rng(0), nodes=12, tuples=MOST_PLAIN)
    if of.maps:
        whole = small.elements.count == subject.term.elements.count
        alone = of if whole else Potential(of.fields, list(of.terms.values()), [small])
        compiled = alone.value(subject.t)
        each = np.array(
            pieces(small, zip(small.elements.tuples(), arguments(small, subject.t), strict=True), of.fields)
        )
    else:
        compiled = Potential(of.fields, [small], frozen=True).value(subject.t)
        each = np.array(list(map(small.energy.evaluator(), arguments(small, subject.t))))
    share = small.elements.count / max(subject.term.elements.count, 1)
    expected, scale = ordered_sum(each), max(ordered_sum(np.abs(each)), share * subject.usual) or 1.0
    error = abs(compiled - expected) / scale
    text = f"compiled {compiled:.17g}, plain Python {expected:.17g}"
    if error > 1e-11 and not of.maps and abs(compiled - expected) <= 4.0 * _rounding_of_sum(small, subject.t):
        text += FOLDED
    return subject.finding("", "value", error <= 1e-11, error, text)


def _rounding_of_sum(term: Term, t: float) -> float:
    """How far rounding in every operation may move the sum of a term's energies."""
    every = Sample.of_elements(term, np.arange(term.elements.count), t)
    with np.errstate(all="ignore"):
        return float(every.numbers_with_rounding([of_term(term).value])[1].sum())


def _datum_access(term: Term | StagedTerm, argument: str) -> tuple[np.ndarray, Callable[[np.ndarray], None]]:
    """A datum's values, and how to set them."""
    if isinstance(term, StagedTerm):
        return term.inputs[argument].copy(), partial(term.set_input, argument)
    array = term.data[argument]
    return storage.host(array).copy(), partial(term.set_datum, argument)


def _check_window(subject: TermSubject) -> Finding:
    """The largest value outside a window, over all elements."""
    worst = max(cut_off(subject.term, values) for values in arguments(subject.term, subject.t))
    cut = f"an element writes {worst:.1e} of its largest value to a cell outside its window"
    return subject.finding(
        "", "window", worst <= EDGE, worst, cut if worst <= EDGE else f"{cut}: it is cut off,"
    )


def _variation_size(term: Term | StagedTerm, name: str, values: np.ndarray) -> float:
    """The size of a field's variation within an element, or among all nodes if it has one in an element."""
    if isinstance(term, StagedTerm) or term.elements.loop.dense:
        return field_spread(values)
    slots = next(term.slots(a) for a, f in term.fields.items() if f.name == name)
    if len(slots) < 2:
        return field_spread(values)
    corners = values[term.elements.tuples()[:, list(slots)]].astype(np.float64)
    legs = corners[:, 1:] - corners[:, :1]
    return float(np.sqrt(np.mean(legs**2))) or field_spread(values)
