"""The part of the pressure that sharp cutoffs have at uniform density: the derivative of J / V, no part of U.

    E = J / V,    dE/de = -(J / V) 1,    pressure J / V^2        J of each pair energy: `codegen.cutoff_shell`

It is counted where an energy stands for the pairs beyond the cutoff at uniform density (`beyond_cutoff`, as
the correction of dispersion): energy and jump together have the pressure of the pairs that are left out.
J / V is the work of this pressure, which the conserved energy at constant pressure contains. Energies of
charges are left out: charges are nowhere at uniform density, where those of a neutral system add to nothing.

Decisions 0011.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.cutoff_shell import jump_over_ball
from ...energies.local_energy import LocalEnergy
from ...energies.local_map import LocalMap
from ...energies.roles import Node
from ...energies.term import Term
from ...errors import TermError
from ...potential.potential import Potential
from ...scene.units import parse_unit


class CutoffJumps:
    """J of the sharply cut pair energies of a potential, where one stands for the pairs beyond.

    `counted`: their names, empty where no energy does.
    """

    def __init__(self, potential: Potential):
        parts = [part for part in potential.terms.values() if isinstance(part, Term)]
        tail = any(isinstance(part.energy, LocalEnergy) and part.energy.beyond_cutoff for part in parts)
        self._terms = {part.name: part for part in parts if tail and jumps_sharply(part)}
        self._known: dict[str, tuple[Any, float]] = {}

    @property
    def counted(self) -> list[str]:
        """The names of the energies whose jumps are counted."""
        return list(self._terms)

    def by_term(self, t: float) -> dict[str, float]:
        """J of each of them, computed again where parameters or fields other than positions changed."""
        return {name: self._at(term, t) for name, term in self._terms.items()}

    def total(self, t: float) -> float:
        """The sum of J."""
        return sum(self.by_term(t).values())

    def refuse_changing(self, moving: Sequence[str]) -> None:
        """Raise `TermError` for a J that changes with the time or with fields that move besides positions."""
        for name, term in self._terms.items():
            own = {f.name for a, f in term.fields.items() if a not in term.energy.positions}
            if term.uses_time or own.intersection(moving):
                what = "the time" if term.uses_time else f"'{min(own.intersection(moving))}', which moves"
                raise TermError(
                    f"{name}: jumps at its sharp cutoff by an energy that depends on {what}, got a box that"
                    " moves, which has no rule for it; give it a `switch`",
                    name,
                )

    def _at(self, term: Term, t: float) -> float:
        fields = [f for a, f in term.fields.items() if a not in term.energy.positions]
        clock = t if term.uses_time else 0.0
        key = term.writes, clock, *(f.values.tobytes() for f in fields)
        if (known := self._known.get(term.name)) is None or known[0] != key:
            self._known[term.name] = known = key, jump_over_ball(term, clock)
        return known[1]


def jumps_sharply(term: Term) -> bool:
    """True for an energy over unordered pairs with a sharp cutoff, unless it is one of charges."""
    energy = term.energy
    unordered = energy.element_kind.unordered and not isinstance(energy, LocalMap)
    if not (unordered and energy.cutoff is not None and energy.cutoff.sharp):
        return False
    charge = parse_unit("C").dimension
    return all(parse_unit(role.unit).dimension != charge for role in energy.of_role(Node).values())


def pressure(strength: float, volume: float) -> float:
    """J / V^2."""
    return strength / volume**2


def strain_derivative(strength: float, volume: float, dimension: int) -> np.ndarray:
    """dE/de of E = J / V, a matrix (d, d)."""
    return -(strength / volume) * np.eye(dimension)
