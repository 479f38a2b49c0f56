"""The stress of friction between nodes: how a dissipation changes with the rate of a homogeneous strain.

    dR/dL[a, b] = sum over elements of  sum_s x_s[a] (dR/dv_s)[b]          v_s -> v_s + x_s L

x_s are the places of an element's nodes, images among them, so that the sum holds across the faces of a box.
Of two nodes it is r (dR/dv), r the vector between them: minus the virial of the friction force -dR/dv.

Friction counts where it acts between nodes: R does not change as all velocities of an element change by one
vector, and no momentum goes anywhere else. A drag on single nodes is a force from outside, as gravity or the
friction of a heat bath is, and has no part in the stress.

Decisions 0012.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...energies.local_energy import IMAGES, LocalEnergy
from ...energies.roles import Parameter
from ...energies.term import Term
from ...energies.values.parameter_values import Values
from ...energies.written.function import function_from_source
from ...errors import TermError
from ...potential.potential import Potential

RATE = "strain_rate"
"""The argument of the strained dissipation that is L."""
ALIKE = 1e-9
"""R that changes by a smaller part, as all velocities change by one vector, does not change."""


class FrictionStress:
    """dR/dL of each term of a dissipation that acts between nodes, matrices (d, d).

    Raises `TermError` for a term that is neither drag on single nodes nor friction between them, and for one
    whose places are not known.
    """

    def __init__(self, dissipation: Potential, motions: Sequence[Motion]):
        self._fields, self._motions = dissipation.fields, motions
        parts = dissipation.terms.items()
        self._parts = {name: part for name, part in parts if _strained_rate(part, motions)}
        self._made: tuple[tuple[int, ...], Potential] | None = None

    @property
    def names(self) -> list[str]:
        """The terms that act between nodes."""
        return list(self._parts)

    def by_term(self, t: float) -> dict[str, np.ndarray]:
        """dR/dL at the present fields."""
        return {name: self._potential.gradient(f"{name}.{RATE}", t) for name in self._parts}

    @property
    def _potential(self) -> Potential:
        """R with L as a parameter; made again after parameters or data were written."""
        writes = tuple(part.writes for part in self._parts.values())
        if self._made is None or self._made[0] != writes:
            terms = [_strained_rate(part, self._motions) for part in self._parts.values()]
            self._made = writes, Potential(self._fields, [term for term in terms if term], frozen=True)
        return self._made[1]


def refuse_friction_between(dissipation: Potential | None, motions: Sequence[Motion]) -> None:
    """Raise `TermError` for friction between nodes in a box that moves, on which its stress would work."""
    names = FrictionStress(dissipation, motions).names if dissipation else []
    if names:
        raise TermError(
            f"dissipation '{names[0]}': acts between nodes, whose stress would do work on a box that moves,"
            " got a barostat, which has no rule for it; leave one of them out, or use drag on single nodes",
            names[0],
        )


def _strained_rate(part: Any, motions: Sequence[Motion]) -> Term | None:
    """The term of friction between nodes with L as a parameter; None of drag on single nodes."""
    if not isinstance(part, Term):
        raise _unknown(part.name, "is made of kernels")
    velocities = {m.velocity: m.position for m in motions}
    moved = [(a, f) for a, f in part.fields.items() if f.name in velocities]
    if part.arity == 1:
        return None
    if not _is_galilean(part.energy, [a for a, _ in moved], part.dimension):
        raise _unknown(part.name, "changes as all velocities of an element change by one vector")
    return _strained(part, {a: _places(part, velocities[f.name]) for a, f in moved})


def _unknown(name: str, why: str) -> TermError:
    return TermError(
        f"dissipation '{name}': {why}, so that its part of the pressure is not known, got an observer or a"
        " barostat that needs it; leave one of them out, or write drag over 'nodes' and friction of"
        " differences of velocities",
        name,
    )


def _places(term: Term, position: str) -> str:
    """The argument that stands for these positions. Raises `TermError` where the term reads none."""
    found = [a for a, f in term.fields.items() if f.name == position]
    if not found:
        raise _unknown(term.name, f"does not read '{position}'")
    return found[0]


def _is_galilean(energy: LocalEnergy, velocities: Sequence[str], d: int | None) -> bool:
    """True if R is the same where all velocities of an element change by one vector, at random states."""
    rng, evaluate = np.random.default_rng(0), replace(energy, cutoff=None).evaluator()
    for _ in range(8):
        values = energy.sample(rng, d or 3)
        values.pop(IMAGES, None)  # nodes are where they are drawn
        here = float(evaluate(values))
        for name in velocities:
            by = rng.normal(size=np.shape(values[name][0])) * energy.roles[name].scale
            values[name] = [None if v is None else v + by for v in values[name]]
        if not abs(float(evaluate(values)) - here) <= ALIKE * abs(here):
            return False
    return True


def _strained(term: Term, places: Mapping[str, str]) -> Term:
    """The same term with the rate L of a homogeneous strain, which is zero, as a parameter."""
    energy = term.energy
    given = {a: _strained_argument(term, a, places) for a in energy.arguments}
    read = [x for v, x in places.items() if v in given]
    names = ", ".join(dict.fromkeys([*energy.arguments, *read, RATE]))
    source = f"def strained({names}):\n    return friction({', '.join(given.values())})\n"
    function = function_from_source("strained", source, {"friction": energy.function})
    function.__doc__ = energy.function.__doc__
    d = next(term.fields[v].shape[1] for v in places)
    roles = {**energy.roles, RATE: Parameter("s^-1", ("d", "d"))}
    rate = Values(np.zeros((1, d, d), term.dtype))
    strained = replace(energy, function=function, roles=roles)
    parameters = {name: replace(values) for name, values in term.parameters.items()} | {RATE: rate}
    return replace(term, energy=strained, parameters=parameters, shared={})


def _strained_argument(term: Term, argument: str, places: Mapping[str, str]) -> str:
    """An argument of the dissipation under the strain: velocities, and what is Linear in them, change."""
    if argument in places:
        x = places[argument]
        rows = [f"{argument}[{s}] + {RATE}.transpose() @ {x}[{s}]" for s in range(term.arity)]
        return f"[{', '.join(rows)}]"
    made = term.energy.linear.get(argument)
    if made is None or made.field not in places:
        return argument
    alike = (places[made.field], made.weights)
    shapes = [a for a, one in term.energy.linear.items() if (one.field, one.weights) == alike]
    if not shapes:
        raise _unknown(term.name, f"has '{argument}' of velocities, and none of places with its weights")
    return f"{argument} + {RATE}.transpose() @ {shapes[0]}"
