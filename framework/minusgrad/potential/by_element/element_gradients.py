"""Derivatives of the energy of each element by the places of its nodes: who gives a node which force.

    g_ea = du_e / dx_a          of node a of element e

The same energy is bound once more to elements that share no nodes. An energy whose supports bear other forces
than dU/dx (`borne`) has those. Sums of g over elements are the gradient of the term.

Decisions 0162.
"""

from dataclasses import replace

import numpy as np

from ...elements.node_tuples import NodeTuples
from ...energies.fields import Fields
from ...energies.local_energy import IMAGES
from ...energies.term import Term
from ...engine import storage
from ..potential import Potential


class ElementGradients:
    """du_e/dx of the nodes of every element of a term, by one of its fields.

        gradients = ElementGradients(term, "x")
        gradients.at(t)                 # (E, k, d)

    `of` gives None of terms whose elements change or have images, or that do not read the field at all nodes.
    """

    def __init__(self, term: Term, field: str):
        self.term, self.field = term, field
        self.nodes = term.elements.tuples()
        self._writes = -1

    @staticmethod
    def of(term: object, field: str) -> "ElementGradients | None":
        """Of a term, if it has such derivatives."""
        if not isinstance(term, Term) or not term.elements.fixed or IMAGES in term.energy.roles:
            return None
        if term.energy.element_kind.several or term.uniform or term.box is not None:
            return None
        reads = any(one.name == field for one in term.fields.values())
        return ElementGradients(term, field) if reads and term.elements.nodes.ndim == 2 else None

    def at(self, t: float) -> np.ndarray:
        """At the present fields and time t, in double precision (E, k, d)."""
        if self.term.energy.borne is not None:
            return self._borne_forces()
        if self._writes != self.term.writes:
            self._writes, self._twin = self.term.writes, self._bound_twin()
        for field in self.term.fields.values():
            mine = self._twin.fields[field.name]
            mine.set(field.values[self.nodes].reshape(mine.shape))
        found = self._twin.gradient(self.field, t).astype(float)
        return found.reshape(*self.nodes.shape, *found.shape[1:])

    def _borne_forces(self) -> np.ndarray:
        term = self.term
        assert term.energy.borne is not None
        x = term.fields["x"].values.astype(float)[self.nodes]
        data = {a: storage.host(v).astype(float) for a, v in term.data.items()}
        parameters = {}
        for name, values in term.parameters.items():
            rows = values.rows.astype(float)
            every = np.broadcast_to(rows[0], (len(x), *rows.shape[1:]))
            parameters[name] = every if values.index is None else rows[values.index]
        return np.asarray(term.energy.borne(x, data, parameters))

    def _bound_twin(self) -> Potential:
        """The energy over elements of their own."""
        term, count = self.term, self.nodes.size
        values = {f.name: f.values[self.nodes].reshape(count, *f.shape[1:]) for f in term.fields.values()}
        fields = Fields(values, precision="f32" if term.dtype == np.float32 else "f64")
        rows = np.arange(count, dtype=np.int32).reshape(self.nodes.shape)
        own = {a: storage.locked(storage.allocate(storage.host(v).copy())) for a, v in term.data.items()}
        twin = replace(
            term,
            elements=NodeTuples(rows),
            fields={a: fields[f.name] for a, f in term.fields.items()},
            data=own,
            parameters={a: replace(v, rows=v.rows.copy()) for a, v in term.parameters.items()},
            shared={},
        )
        return Potential(fields, [twin])
