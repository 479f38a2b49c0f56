"""Forces that supports bear where they are not those of U: of loads that have a potential by their supports.

A load such as pressure on a surface with a held rim has a potential only because the rim is held; at held
components dU/dx has further terms, which are no forces. An energy that declares `borne` gives the forces.

Decisions 0070.
"""

import numpy as np

from ..energies.term import Term
from ..engine import storage
from .potential import Potential


class BorneForces:
    """The difference of the forces that supports bear and dU/dx, summed over the terms that declare it."""

    def __init__(self, potential: Potential):
        self._potential, self._alone = potential, dict[str, Potential]()

    @property
    def rimmed_fields(self) -> dict[str, str]:
        """Of each field whose held places such a term depends on, the name of the term."""
        return {one.fields["x"].name: name for name, one in self.terms.items() if one.needs_supports}

    @property
    def terms(self) -> dict[str, Term]:
        """The terms whose forces at held components are not those of U."""
        parts = self._potential.terms.items()
        return {n: one for n, one in parts if isinstance(one, Term) and one.energy.borne is not None}

    def beyond(self, field: str, t: float) -> np.ndarray | None:
        """The difference at each node of a field, as a derivative; None where no term has one."""
        own = [(name, term) for name, term in self.terms.items() if term.fields["x"].name == field]
        if not own:
            return None
        found = np.zeros(self._potential.fields[field].shape)
        for name, term in own:
            alone = self._alone.setdefault(name, Potential(self._potential.fields, [term], frozen=True))
            found += _borne_forces(term) - alone.gradient(field, t)
        return found


def _borne_forces(term: Term) -> np.ndarray:
    """The forces of a term as supports bear them, summed at the nodes."""
    nodes, x = term.elements.tuples(), term.fields["x"].values.astype(np.float64)
    data = {a: storage.host(v).astype(np.float64) for a, v in term.data.items()}
    parameters = {a: _by_element(v.rows, v.index, len(nodes)) for a, v in term.parameters.items()}
    assert term.energy.borne is not None
    forces, found = term.energy.borne(x[nodes], data, parameters), np.zeros_like(x)
    np.add.at(found, nodes, forces)
    return found


def _by_element(rows: np.ndarray, index: np.ndarray | None, count: int) -> np.ndarray:
    values = rows.astype(np.float64)
    return np.broadcast_to(values[0], (count, *values.shape[1:])) if index is None else values[index]
