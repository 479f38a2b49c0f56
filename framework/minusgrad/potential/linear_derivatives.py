"""Derivatives of element energies by arguments that are Linear in a field: dU_e/dF, volume times stress.

    F = sum_a x_a (x) w_a           of the elements as they are

The same energy is bound once more to elements that share no nodes, whose weights are unit vectors: node a >
0 of an element is displaced by column a of F, so that its gradient is that column of dU_e/dF. So stress
comes from the derivative that gives the forces, of any energy, and needs no kernel of its own.

An energy that is written for any dimension has in space the F of a body in plane strain: F_33 = 1, and with
it the derivative by F_33, which the plane does not show.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..elements.node_tuples import NodeTuples
from ..energies.fields import Fields
from ..energies.local_energy import IMAGES
from ..energies.roles import Linear, Role
from ..energies.term import Term
from ..engine import storage
from ..errors import EnergyError
from .potential import Potential

Pair = tuple[np.ndarray, np.ndarray]
"""F and dU_e/dF, each (E, *shape of F)."""


class LinearDerivatives:
    """F and dU_e/dF of every element of a term, for each argument that is Linear in one field.

        derivatives = LinearDerivatives(term, "x")
        F, slope = derivatives.at(t)["F"]

    dimension: of the space that the energy is bound in; above that of the term F is continued by the unit
    matrix, and other vectors by zeros. Default: that of the term. Raises `EnergyError` for a term without
    such an argument, one in a periodic box, and one with values for each node of an element that has fewer
    nodes than these arguments have columns.
    """

    def __init__(self, term: Term, field: str, dimension: int | None = None):
        linear = term.energy.linear.items()
        shaping = [m for m in term.energy.shaping if term.fields[m.field].name == field]
        self.term, self.made = term, {name: m for name, m in linear if m in shaping}
        if not self.made:
            raise EnergyError(f"{term.name}: has no argument that is Linear in '{field}'; ask another term")
        if IMAGES in term.energy.roles:
            raise EnergyError(f"{term.name}: is in a periodic box, where its F has images; take another term")
        self.field = next(iter(self.made.values())).field
        self.own = term.fields[self.field].shape[1]
        self.d = dimension or self.own
        self.arity = self._arity()
        self._writes = -1

    def at(self, t: float) -> Mapping[str, Pair]:
        """F and dU_e/dF at the present fields and time t, by argument, in double precision."""
        if self._writes != self.term.writes:
            self._writes, self._probe = self.term.writes, self._bound()
        elements, d = self.term.elements, self.d
        deformations = {name: self._deformation(made) for name, made in self.made.items()}
        places = np.zeros((elements.count, self.arity, d))
        for k, F in enumerate(deformations.values()):
            places[:, 1 + k * d : 1 + (k + 1) * d] = F.transpose(0, 2, 1)
        for argument, field in self.term.fields.items():
            role, mine = self.term.energy.roles[argument], self._probe.fields[field.name]
            values = places if argument == self.field else self._padded(role, field.values)[elements.nodes]
            mine.set(values.reshape(mine.shape))
        slopes = self._probe.gradient(self.term.fields[self.field].name, t).astype(float)
        columns = slopes.reshape(places.shape)[:, 1 : 1 + d * len(self.made)].reshape(
            elements.count, -1, d, d
        )
        return {
            name: (F, columns[:, k].transpose(0, 2, 1)) for k, (name, F) in enumerate(deformations.items())
        }

    def _arity(self) -> int:
        """The nodes of an element that gives every column of every F a node of its own."""
        term, weights = self.term, {m.weights for m in self.made.values()}
        needed, roles = 1 + self.d * len(self.made), term.energy.roles
        of_nodes = [a for a in term.fields if a != self.field]
        of_nodes += [a for a in term.data if "k" in roles[a].shape and a not in weights]
        if not of_nodes:
            return needed
        if needed > term.arity:
            raise EnergyError(
                f"{term.name}: '{of_nodes[0]}' has values for each of {term.arity} nodes, got {needed - 1}"
                f" columns of F; stress needs elements of {needed} nodes"
            )
        return term.arity

    def _deformation(self, made: Linear) -> np.ndarray:
        """F of every element, in double precision, continued by the unit matrix."""
        nodes, weights = self.term.elements.nodes, storage.host(self.term.data[made.weights]).astype(float)
        x = self.term.fields[made.field].values.astype(float)[nodes]
        F = np.tile(np.eye(self.d), (len(nodes), 1, 1))
        F[:, : self.own, : self.own] = np.einsum("eai,eaj->eij", x - x[:, :1], weights)
        return F

    def _padded(self, role: Role, values: np.ndarray) -> np.ndarray:
        """Values of one for each row, with zeros along further axes of space."""
        more = [(0, (self.d - self.own) * (one == "d")) for one in role.shape]
        return np.pad(values, [(0, 0), *more])

    def _bound(self) -> Potential:
        """The energy over elements of their own, whose weights are unit vectors."""
        term, count, roles = self.term, self.term.elements.count, self.term.energy.roles
        rows = np.arange(count * self.arity, dtype=np.int32).reshape(count, self.arity)
        zeros = {
            f.name: self._padded(roles[a], np.zeros((rows.size, *f.shape[1:])))
            for a, f in term.fields.items()
        }
        fields = Fields(zeros, precision="f32" if term.dtype == np.float32 else "f64")
        data = {a: self._padded(roles[a], storage.host(v)) for a, v in term.data.items()}
        data |= {m.weights: self._weights(k) for k, m in enumerate(self.made.values())}
        twin = replace(
            term,
            elements=NodeTuples(rows),
            fields={a: fields[f.name] for a, f in term.fields.items()},
            data={a: storage.locked(storage.allocate(np.ascontiguousarray(v))) for a, v in data.items()},
            parameters={
                a: replace(v, rows=self._padded(roles[a], v.rows)) for a, v in term.parameters.items()
            },
            box=None,
            shared={},
        )
        return Potential(fields, [twin])

    def _weights(self, k: int) -> np.ndarray:
        """Those of the k-th argument: its column j is x_(1 + k d + j) - x_0."""
        weights = np.zeros((self.arity, self.d))
        weights[0] = -1.0
        weights[1 + k * self.d : 1 + (k + 1) * self.d] = np.eye(self.d)
        return np.tile(weights, (self.term.elements.count, 1, 1)).astype(self.term.dtype)
