"""The constraints of a scene: bound terms, the energy C = sum of lambda_e g_e, and the equations g = 0.

    constraints = Constraints(fields, [bind(rod, fields, tuples=bonds, data={"length": lengths})])
    equations = constraints.equations(["x"])
    equations.load(t)
    g, G = equations.values(), equations.jacobian()

`potential` is C, with the multipliers as data "NAME.multiplier": its gradient by a field is G^T lambda, that
by a multiplier g, and its products are those of second derivatives. It has the parameters of constraints.

Decisions 0300.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from ...energies.constraint import MULTIPLIER, Constraint
from ...energies.fields import Fields
from ...energies.term import Term
from ...engine import storage
from ...errors import EnergyError, TermError
from ..potential import Potential
from .equations import Equations


class Constraints:
    """Bound constraints over the fields of a run; they are no part of the potential energy.

    terms: from `bind`. projected: the names of those whose starts may be moved onto g = 0. Raises
    `EnergyError` for terms that are no constraints or have one name, and for fields that maps compute.
    """

    def __init__(self, fields: Fields, terms: Sequence[Term], projected: Set[str] = frozenset()):
        for term in terms:
            _refuse_unfit(term, fields)
        if len(names := [term.name for term in terms]) > len({*names}):
            raise EnergyError(f"two terms have one name: {', '.join(names)}; give them a `name` each")
        self.fields, self.projected = fields, frozenset(projected)
        self.terms: dict[str, Term] = {term.name: term for term in terms}
        self._weighted = {term.name: _multiplier_energy(term) for term in terms}
        self.potential = Potential(fields, [*self._weighted.values()], frozen=True)
        self._equations: dict[tuple[str, ...], Equations] = {}
        self._weighings = 0

    def __repr__(self) -> str:
        return f"Constraints({', '.join(f'{n}: {len(t.elements.nodes)}' for n, t in self.terms.items())})"

    @property
    def count(self) -> int:
        """E: the number of equations."""
        return sum(len(term.elements.nodes) for term in self.terms.values())

    @property
    def uses_time(self) -> bool:
        """True if a constraint is driven: g depends on the time."""
        return any(term.uses_time for term in self.terms.values())

    @property
    def reads(self) -> set[str]:
        """The names of the fields that g depends on."""
        return self.potential.reads

    @property
    def writes(self) -> int:
        """How often fields, parameters and data that g depends on were overwritten; it only grows."""
        return self.potential.writes - self._weighings

    def equations(self, names: Sequence[str]) -> Equations:
        """g = 0 over these fields, whose components are the columns of its Jacobian; made once."""
        key = tuple(names)
        if key not in self._equations:
            self._equations[key] = Equations(self.fields, self.terms, key)
        return self._equations[key]

    def violation(self, names: Sequence[str], t: float) -> float:
        """The largest violation at the present values of these fields (see `equations`)."""
        system = self.equations(names)
        system.load(t)
        return float(system.violation(system.values(), system.rows(), system.extent()).max())

    @property
    def multipliers(self) -> np.ndarray:
        """lambda (E,) of `potential`, in the order of the equations."""
        parts = [storage.host(term.data[MULTIPLIER]).astype(np.float64) for term in self._weighted.values()]
        return np.concatenate(parts)

    def set_multipliers(self, values: np.ndarray) -> None:
        """Overwrite lambda (E,) of `potential`."""
        before = self.potential.writes
        ends = np.cumsum([len(term.elements.nodes) for term in self._weighted.values()])[:-1]
        for term, part in zip(self._weighted.values(), np.split(np.asarray(values), ends), strict=True):
            term.set_datum(MULTIPLIER, part)
        self._weighings += self.potential.writes - before

    def forces(self, multipliers: np.ndarray, names: Sequence[str], t: float = 0.0) -> dict[str, np.ndarray]:
        """G^T lambda by field: the gradient that constraints add to that of U; the force is its negative."""
        self.set_multipliers(multipliers)
        return {name: self.potential.gradient(name, t) for name in names}

    def product(
        self, tangents: Mapping[str, Any], multipliers: np.ndarray, names: Sequence[str], t: float = 0.0
    ) -> dict[str, np.ndarray]:
        """The change of G^T lambda by field along tangents of fields and parameters, lambda fixed."""
        self.set_multipliers(multipliers)
        return {name: self.potential.product(tangents, name, t) for name in names}

    def by_constraint(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Numbers of equations (E,) by constraint."""
        ends = np.cumsum([len(term.elements.nodes) for term in self.terms.values()])[:-1]
        return dict(zip(self.terms, np.split(values, ends), strict=True))


def _multiplier_energy(term: Term) -> Term:
    """The energy lambda g of a bound constraint, with the same parameters and data."""
    assert isinstance(term.energy, Constraint)
    multipliers = storage.locked(storage.allocate(np.zeros(len(term.elements.nodes), term.dtype)))
    return replace(term, energy=term.energy.weighted_energy(), data={**term.data, MULTIPLIER: multipliers})


def _refuse_unfit(term: Term, fields: Fields) -> None:
    if not isinstance(term.energy, Constraint):
        raise EnergyError(f"'{term.name}': is no constraint, got an energy; declare it with @constraint")
    if not len(term.elements.nodes):
        raise TermError(f"constraint '{term.name}': has no elements, got none; leave it out", term.name)
    if found := [f.name for f in term.fields.values() if f.name in fields.derived]:
        raise TermError(
            f"constraint '{term.name}': reads '{found[0]}', which a map computes; write g as a function of"
            " the fields of the state",
            term.name,
        )
