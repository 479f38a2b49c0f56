"""Check of single precision: the f32 kernels of each term against f64 kernels of the same inputs.

    value     U, relative to sum |u|
    gradient  dU/da of every argument with a derivative
    product   how each gradient changes along a random step of the term's fields, (d2U/da dx) w
    hessian   all second derivatives in the fields, where U is a sum over elements

A test of Taylor's remainder would have few digits in f32. Numbers may differ by 1 % of their usual size, the
largest over all states, or of the rounding that sums of this size have. A larger difference is a finding:
digits cancel in f32, or numbers leave its range. At a jump, where rounding decides between two values, both
pass.

Decisions 0335.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..elements.trees.near_pairs import NearPairs
from ..energies.fields import Field, Fields
from ..energies.roles import Node
from ..energies.term import Term
from ..engine import storage
from ..errors import MiscompiledError, RangeError
from ..potential.potential import Potential
from ..potential.staged.staged_term import StagedTerm
from .map_probe import probe_map
from .questions import Finding, field_spread
from .random_states import random_state_near
from .term_subject import maps_and_terms, no_elements_warning, part
from .trees.frozen_tree import freeze_tree

EPS = float(np.finfo(np.float32).eps)
OFF = 1e-2
"""The largest difference, relative to the usual size of a number."""
ROUNDING = 1e3 * EPS
"""The largest difference, relative to sum |u| over the size of a step."""
STATES, NODES, TUPLES = 2, 24, 48
"""Random states besides the given one; the targets and tuples of a term that are compared."""
SHIFTS = 4
"""How often the inputs are shifted by rounding, to recognise a jump."""
MATRIX = 200
"""The most rows of a Hessian that is compared."""
WRONG = (
    'f32 gives {:.6g} where f64 gives {:.6g}: digits cancel or leave the range of f32; use precision = "f64"'
)


def of_single(potential: Potential, t: float = 0.0, seed: int = 0) -> Iterator[Finding]:
    """Compare every map and term of an f32 potential with f64 at time t, on copies of its fields."""
    potential.refresh(t)
    maps, others = maps_and_terms(potential)
    for term in (*maps, *others):
        if isinstance(term, StagedTerm):
            continue  # no graph: its kernels are checked in f64 (`stage_check`)
        if term.elements.empty:
            yield replace(no_elements_warning(term), precision="f32")
            continue
        rng = np.random.default_rng(seed)
        few = part(term, rng, nodes=NODES, tuples=8 if term.grid else TUPLES)
        if isinstance(term.elements, NearPairs):
            few = freeze_tree(term, rng) or few
        try:
            alone = probe_map(few, rng, "f32") if term.outputs else _potential_of_term(few, potential.fields)
            yield from _Pair.of(alone, t).findings(rng)
        except (RangeError, MiscompiledError) as error:
            cause = "range" if isinstance(error, RangeError) else "value"
            yield Finding(term.name, "", cause, False, None, str(error), precision="f32")


@dataclass
class _Pair:
    """A potential of one term, or of a probed map, in f32 and in f64.

    `usual`: the largest number of each question over all states.
    """

    single: Potential
    double: Potential
    term: Term
    t: float
    usual: dict[tuple[str, str], float] = field(default_factory=dict)

    @classmethod
    def of(cls, single: Potential, t: float) -> "_Pair":
        (term,) = (single.maps or single.terms).values()
        return cls(single, in_double(single), term, t)

    def findings(self, rng: np.random.Generator) -> Iterator[Finding]:
        """The worst answer to each question over all states."""
        names = {f.name for f in self.term.fields.values()}
        start = {n: self.single.fields[n].values.astype(np.float64) for n in sorted(names)}
        sizes = {n: 0.1 * field_spread(v) for n, v in start.items()}

        def finite(state: Mapping[str, np.ndarray]) -> bool:
            self._put_rounded(state)
            return bool(np.isfinite(self.double.value(self.t)))

        states = [start, *(random_state_near(start, sizes, rng, finite) for _ in range(STATES))]
        tangents = {n: sizes[n] * rng.normal(size=v.shape) for n, v in start.items()}
        asked = dict(self._precision_questions(tangents, sizes))
        found: list[tuple[tuple[str, str], str, np.ndarray, np.ndarray, float, dict]] = []
        for k, state in enumerate(states):
            where = "at the given state" if k == 0 else f"at random state {k}"
            self._put_rounded(state)
            if not np.isfinite(self.double.value(self.t)):
                continue
            magnitude = self.double.magnitude(self.t)
            for key, (ask, size) in asked.items():
                one, right = (np.asarray(ask(u), np.float64) for u in (self.single, self.double))
                if not np.isfinite(right).all():
                    continue
                self.usual[key] = max(self.usual.get(key, 0.0), float(np.abs(right).max(initial=0.0)))
                found.append((key, where, one, right, ROUNDING * magnitude / size, state))
        for key in asked:
            answers = [self._judge_number(*one, asked[key][0]) for one in found if one[0] == key]
            if answers:
                yield max(answers, key=lambda f: (not f.passed, f.figure or 0.0))

    def _judge_number(
        self,
        key: tuple[str, str],
        where: str,
        one: np.ndarray,
        right: np.ndarray,
        rounding: float,
        state: Mapping[str, np.ndarray],
        ask: Callable[[Potential], Any],
    ) -> Finding:
        argument, question = key
        off, scale = np.abs(one - right), self.usual[key]
        worst = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
        error = float(off.flat[worst]) if off.size else 0.0
        figure = error / scale if scale else error
        name = self.term.name
        if error <= OFF * scale + rounding or self._jumps_by_rounding(state, ask, error):
            text = f"off by {figure:.1e} of the largest {where}"
            return Finding(name, argument, question, True, figure, text, precision="f32")
        text = f"{WRONG.format(one.flat[worst], right.flat[worst])} {where}"
        return Finding(name, argument, question, False, figure, text, precision="f32")

    def _jumps_by_rounding(
        self, state: Mapping[str, np.ndarray], ask: Callable[[Potential], Any], error: float
    ) -> bool:
        """True if a shift of the inputs by rounding moves the f64 number as far."""
        rng, found = np.random.default_rng(0), []
        for k in range(SHIFTS + 1):
            shift = 4.0 * EPS * (k > 0)
            self._put_rounded(
                {n: v * (1.0 + shift * rng.choice([-1.0, 1.0], v.shape)) for n, v in state.items()}
            )
            found.append(np.asarray(ask(self.double), np.float64))
        self._put_rounded(state)
        return max(float(np.abs(one - found[0]).max()) for one in found[1:]) >= 0.1 * error

    def _put_rounded(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the fields of both to the same numbers, rounded to f32."""
        for name, values in state.items():
            self.single.fields[name].set(values)
            self.double.fields[name].set(self.single.fields[name].values.astype(np.float64))

    def _precision_questions(
        self, tangents: Mapping[str, np.ndarray], sizes: Mapping[str, float]
    ) -> "Iterator[tuple[tuple[str, str], tuple[Callable[[Potential], Any], float]]]":
        """By (argument, question): the number of a potential, and the size of a step for its rounding."""
        t, term = self.t, self.term
        yield ("", "value"), (lambda u: u.value(t), 1.0)
        for argument in term.energy.differentiable:
            if isinstance(term.energy.roles[argument], Node):
                name = term.fields[argument].name
                size = sizes[name]
            else:
                name = term.address(argument)
                size = 0.1 * self._largest_value(argument)
            yield (argument, "gradient"), (partial(Potential.gradient, wrt=name, t=t), size)
            of_name = partial(Potential.product, tangents=tangents, wrt=name, t=t)
            yield (argument, "product"), (of_name, size)
        fields = tuple(dict.fromkeys(f.name for f in term.fields.values()))
        rows = sum(self.single.fields[n].values.size for n in fields)
        if not self.single.maps and rows <= MATRIX:
            least = min(sizes[n] for n in fields if sizes[n] > 0.0) ** 2
            yield ("", "hessian"), (lambda u: u.hessian(fields, t).toarray(), least)

    def _largest_value(self, argument: str) -> float:
        """The largest value of a datum or parameter; 1 of the time, and if all are zero."""
        term = self.term
        values = (
            storage.host(term.data[argument])
            if argument in term.data
            else term.parameters[argument].rows
            if argument in term.parameters
            else np.ones(1)
        )
        return float(np.abs(values).max(initial=0.0)) or 1.0


def _potential_of_term(term: Term, among: Fields) -> Potential:
    """A potential of this term, on copies of its fields, which are some of these."""
    own = {f.name for f in term.fields.values()} | ({term.box.name} if term.box else set())
    fields = _copy_fields({n: f for n, f in among.items() if n in own}, among, "f32")
    return Potential(fields, [term.twin(fields)], frozen=True)


def _copy_fields(some: Mapping[str, Field], among: Fields, precision: str) -> Fields:
    """Some of these fields in memory of their own."""
    values, units = {n: f.values for n, f in some.items()}, {n: f.unit for n, f in some.items()}
    made = Fields(values, units, precision, among.periodic if among.box_name in some else None)
    made.list_as(among)
    made.images_stay = among.images_stay
    return made


def in_double(potential: Potential) -> Potential:
    """The same potential in f64: fields, data, parameters and tables have the same values."""
    known, derived = potential.fields, potential.fields.derived
    fields = _copy_fields({n: f for n, f in known.items() if n not in derived}, known, "f64")
    for of_map in potential.maps.values():
        for f in of_map.outputs.values():
            fields.derive(f.name, len(f), f.unit, f.shape[1:], f.pair_set, f.computed_places)

    maps = [term_in_f64(m, fields) for m in potential.maps.values()]
    return Potential(fields, [term_in_f64(u, fields) for u in potential.terms.values()], maps, frozen=True)


def term_in_f64(term: Term, fields: Fields) -> Term:
    """The same term in f64, over other fields, which are in f64."""
    wide = replace(
        term,
        data={a: _copy_in_f64(storage.host(v)) for a, v in term.data.items()},
        parameters={a: replace(v, rows=_copy_in_f64(v.rows)) for a, v in term.parameters.items()},
        tables={a: _copy_in_f64(v) for a, v in term.tables.items()},
        dtype=np.dtype(np.float64),
    )
    return wide.twin(fields)


def _copy_in_f64(values: np.ndarray) -> np.ndarray:
    """A copy in f64; of whole numbers as they are."""
    return values.astype(np.float64) if values.dtype.kind == "f" else values.copy()
