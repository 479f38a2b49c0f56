"""Questions to Lagrangians beside those to energies: the mass matrix, and declared symmetries.

    mass       d2L/dv2 is regular: no eigenvalue of a block, scaled to a unit diagonal, is zero
    momentum   dL/dq xi + dL/dv (dxi/dq) v = 0 for each generator xi: its momentum map is conserved (Noether)

They are asked at the given state and at random ones near it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ...check.questions import Finding
from ...check.term_check import of_potential
from ...energies.fields import Field, ordered_sum
from ...energies.lagrangian import Lagrangian
from ...energies.term import Term
from ...energies.written.momentum_map import MOMENTUM, bound_map
from ...potential.potential import Potential
from ...potential.sample_potential import instance
from ...steppers.variational.mass_matrix import SINGULAR, least_eigenvalue

STATES = 3
"""Random states, besides the given one."""
KEPT = 1e-9
"""The rate of a conserved momentum map, relative to its summands."""


def of_lagrangian(energy: Lagrangian, d: int = 3, seed: int = 0) -> Iterator[Finding]:
    """The questions of an energy, and those above, at random states of the declared scales."""
    potential = instance(energy, d, np.random.default_rng(seed))
    yield from of_lagrangians(potential, 0.7, seed)


def of_lagrangians(potential: Potential, t: float = 0.0, seed: int = 0) -> Iterator[Finding]:
    """The same of all Lagrangians of a potential, whose mass matrix is that of their sum."""
    yield from of_potential(potential, t, seed)
    terms = [term for term in potential.terms.values() if isinstance(term.energy, Lagrangian)]
    fields = {f.name: f for term in terms for f in term.fields.values()}
    start, rng = {n: f.values.copy() for n, f in fields.items()}, np.random.default_rng(seed)
    try:
        for k in range(1 + STATES):
            where = f" at random state {k}" if k else " at the given state"
            if k:
                _scatter(fields.values(), start, terms, rng)
            if np.isfinite(potential.value(t)):
                yield _mass(potential, terms, t, where)
                for term in terms:
                    for name in lagrangian_of(term).generators:
                        yield _momentum(potential, term, name, t, where)
    finally:
        for name, values in start.items():
            fields[name].set(values)


def lagrangian_of(term: Term) -> Lagrangian:
    """The Lagrangian of a term that has one."""
    assert isinstance(term.energy, Lagrangian)
    return term.energy


def _scatter(
    fields: Iterable[Field], start: Mapping[str, np.ndarray], terms: Sequence[Term], rng: np.random.Generator
) -> None:
    """Random values near those of the start, of a tenth of the declared scales."""
    scales = {f.name: term.energy.roles[a].scale for term in terms for a, f in term.fields.items()}
    for field in fields:
        values = start[field.name]
        field.set(values + 0.1 * scales[field.name] * rng.normal(size=values.shape))


def _mass(potential: Potential, terms: Sequence[Term], t: float, where: str) -> Finding:
    moved: dict[str, np.ndarray] = {}
    for term in terms:
        for rate in lagrangian_of(term).rates.values():
            field = term.fields[rate]
            mask = moved.setdefault(field.name, np.zeros(field.shape, bool))
            mask[term.members(rate)] = True
    rates = [*moved]
    rows = np.flatnonzero(np.concatenate([mask.ravel() for mask in moved.values()]))
    least = least_eigenvalue(potential.hessian(rates, t)[rows][:, rows])
    passed = bool(least > SINGULAR)
    text = "the mass matrix d2L/dv2 is regular" if passed else "the mass matrix d2L/dv2 is singular"
    name = ", ".join(term.name for term in terms)
    return Finding(name, ", ".join(rates), "mass", passed, least, text + where, precision="f64")


def _momentum(potential: Potential, term: Term, name: str, t: float, where: str) -> Finding:
    """The rate at which L changes along a generator, which is that of its momentum map."""
    ((coordinate, rate),) = lagrangian_of(term).rates.items()
    q, v = term.fields[coordinate], term.fields[rate]
    alone = Potential(potential.fields, [term], frozen=True)
    force, momentum = alone.gradient(q.name, t), alone.gradient(v.name, t)
    fields = potential.fields.extended({MOMENTUM: momentum})
    found = Potential(fields, [bound_map(term, name, fields)], frozen=True)
    parts = [force * found.gradient(MOMENTUM), found.gradient(q.name) * v.values]
    changed, size = sum(ordered_sum(p) for p in parts), sum(ordered_sum(np.abs(p)) for p in parts)
    error = abs(changed) / (size or 1.0)
    passed = bool(error <= KEPT)
    text = f"{name} is conserved" if passed else f"L changes along {name}, which is not conserved"
    return Finding(term.name, name, "momentum", passed, error, text + where, precision="f64")
