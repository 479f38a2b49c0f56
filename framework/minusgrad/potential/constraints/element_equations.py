"""The equations of one constraint, element by element: g_e, its derivatives by the fields, and dg_e/dt.

The constraint is bound once more to elements that share no nodes: slot s of element e has a node of its own,
which holds a copy of the values at the real one. The gradient of the sum of g_e over these is then a row of
the Jacobian for each element, from the derivative that makes forces, and needs no kernel of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...elements.node_tuples import NodeTuples
from ...energies.constraint import Constraint
from ...energies.fields import Fields
from ...energies.roles import Time
from ...energies.term import Term
from ...engine import storage
from ..potential import Potential

OWN = "at_"
"""Begins the names of the fields with copies of the values."""


class ElementEquations:
    """g of each element of a bound constraint, and its derivatives by the fields `names` that it reads.

    `arguments`: those that stand for these fields. `nodes` (E, slots): those of each argument. `columns`
    (E, m): the places of an element's components among all components of these fields, one after another.
    """

    def __init__(self, term: Term, fields: Fields, names: Sequence[str]):
        assert isinstance(term.energy, Constraint)
        self.term, self.count = term, len(term.elements.nodes)
        self.arguments = [a for name in names for a, f in term.fields.items() if f.name == name]
        self.nodes = {a: term.elements.nodes[:, list(term.slots(a))] for a in term.fields}
        self._flat = {a: nodes.ravel().astype(np.intp) for a, nodes in self.nodes.items()}
        own = {a: np.zeros((nodes.size, *term.fields[a].shape[1:])) for a, nodes in self.nodes.items()}
        apart = fields.extended({f"{OWN}{a}": values for a, values in own.items()})
        self._clocks = [*term.energy.of_role(Time)]
        clocks = {a: storage.locked(storage.allocate(np.zeros(self.count, term.dtype))) for a in self._clocks}
        self._copy = replace(
            term,
            energy=term.energy.timed_energy(),
            elements=NodeTuples(self._element_places()),
            fields={a: apart[f"{OWN}{a}"] for a in term.fields},
            data={**term.data, **clocks},
        )
        self._potential = Potential(apart, [self._copy], frozen=True)
        shapes = {a: self._copy.fields[a].values for a in self.arguments}
        self._rows = {f"{OWN}{a}": storage.allocate(np.zeros_like(values)) for a, values in shapes.items()}
        self._along: dict[str, Any] = {}
        self._products = {n: storage.allocate(np.zeros_like(storage.host(a))) for n, a in self._rows.items()}
        self.columns = self._stack_columns(fields, names)

    def _element_places(self) -> np.ndarray:
        """The nodes of elements that share none: number e * slots + place, in the set of each slot."""
        term, places = self.term, np.zeros((self.count, self.term.arity), np.int32)
        sets = {term.energy.set_of(a): list(term.slots(a)) for a in term.fields}
        for slots in sets.values():
            own = np.arange(self.count * len(slots), dtype=np.int32)
            places[:, slots] = own.reshape(self.count, len(slots))
        return places

    def _stack_columns(self, fields: Fields, names: Sequence[str]) -> np.ndarray:
        sizes = [fields[name].values.size for name in names]
        first = dict(zip(names, np.concatenate([[0], np.cumsum(sizes)]).tolist(), strict=False))
        parts = [np.zeros((self.count, 0), np.int64)]
        for argument in self.arguments:
            field, nodes = self.term.fields[argument], self.nodes[argument].astype(np.int64)
            width = prod(field.shape[1:])
            part = first[field.name] + nodes[:, :, None] * width + np.arange(width)
            parts.append(part.reshape(self.count, -1))
        return np.concatenate(parts, axis=1)

    def load(self, t: float) -> None:
        """Take the present values of the fields, and the time, at which all later requests are answered."""
        for argument, field in self._copy.fields.items():
            here, own = storage.host(self.term.fields[argument].array), field.array.at
            if isinstance(own, np.ndarray):
                here.take(self._flat[argument], axis=0, out=own, mode="clip")
            else:
                storage.store(field.array, here.take(self._flat[argument], axis=0))
        for clock in self._clocks:
            self._copy.set_datum(clock, t)

    def values(self) -> np.ndarray:
        """g (E,) in f64."""
        return self._potential.by_element(self.term.name)

    def rows(self) -> np.ndarray:
        """dg_e by the components of each element, (E, m) in f64, in the order of `columns`."""
        if self._rows:
            self._potential.gradient_into(self._rows)
        return self._join_parts([storage.host(rows) for rows in self._rows.values()])

    def _join_parts(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        flat = [part.reshape(self.count, -1).astype(np.float64, copy=False) for part in parts]
        if len(flat) == 1:
            return flat[0]
        return np.concatenate([np.zeros((self.count, 0)), *flat], axis=1)

    def rates(self) -> np.ndarray:
        """dg_e/dt at fixed fields, (E,) in f64."""
        names = [f"{self.term.name}.{clock}" for clock in self._clocks]
        if not names:
            return np.zeros(self.count)
        return sum(self._potential.sweep(DerivativeRequest(slopes=tuple(names))).slopes.values())  # type: ignore[return-value]

    def hessians(self) -> np.ndarray:
        """d2g_e, (E, m, m) in f64, rows and columns in the order of `columns`."""
        return self._potential.element_hessians(self.term.name, [f"{OWN}{a}" for a in self.arguments])

    def rate_change(
        self,
        velocity: np.ndarray,
        along: Mapping[str, np.ndarray],
        values: Mapping[str, Any],
        clock: float = 0.0,
    ) -> np.ndarray:
        """The change of G v + dg/dt (E,) along tangents of fields, parameters and the time, at fixed v.

        velocity: v by component of the fields, in the order of `columns`. along: by field, in its shape.
        values: of parameters and data, by their names "term.argument".
        """
        tangents: dict[str, Any] = dict(values)
        for argument, field in self._copy.fields.items():
            if (name := self.term.fields[argument].name) in along:
                key = f"{OWN}{argument}"
                if key not in self._along:
                    self._along[key] = storage.allocate(np.zeros_like(field.values))
                moved = along[name].take(self.nodes[argument].ravel(), axis=0)
                storage.store(self._along[key], moved.astype(self.term.dtype))
                tangents[key] = self._along[key]
        clocks = [f"{self.term.name}.{a}" for a in self._clocks]
        tangents |= {name: np.full(self.count, clock) for name in clocks if clock}
        request = DerivativeRequest(product=self._products, changes=tuple(clocks), tangents=tangents)
        changes = self._potential.sweep(request).changes
        found = self._join_parts([storage.host(array) for array in self._products.values()])
        return (found * velocity[self.columns]).sum(axis=1) + sum(changes.values(), np.zeros(self.count))
