"""Derivatives of element energies by arguments that are Linear in a field: dU_e/dF, volume times stress.

    F = sum_a x_a (x) w_a           of the elements as they are

The same energy is bound once more to elements that share no nodes, whose weights are unit vectors: node a >
0 of an element is displaced by column a of F, so that its gradient is that column of dU_e/dF. So stress
comes from the derivative that gives the forces, of any energy, and needs no kernel of its own.

Matrices that are Linear in another field by the same weights, as in the nodes at rest, are given in the same
way: their columns displace the nodes of that field.

An energy that is written for any dimension has in space the F of a body in plane strain: F_33 = 1, and with
it the derivative by F_33, which the plane does not show.

Decisions 0300, 0326.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...elements.node_tuples import NodeTuples
from ...energies.fields import Fields
from ...energies.local_energy import IMAGE_BOX, IMAGES
from ...energies.roles import Linear, Role
from ...energies.term import Term
from ...energies.written.rest_shape import REST
from ...engine import storage
from ...errors import EnergyError
from ..potential import Potential

OF_IMAGES = (IMAGES, IMAGE_BOX)
"""The arguments that displace nodes to their images in a periodic box."""
Pair = tuple[np.ndarray, np.ndarray]
"""F and dU_e/dF, each (E, *shape of F)."""


class LinearDerivatives:
    """F and dU_e/dF of every element of a term, for each argument that is Linear in one field.

        derivatives = LinearDerivatives(term, "x")
        F, slope = derivatives.at(t)["F"]

    dimension: of the space that the energy is bound in; above that of the term F is continued by the unit
    matrix, and other vectors by zeros. Default: that of the term. In a periodic box F is that of the images
    of nodes. Raises `EnergyError` for a term without such an argument, and one with values for each node,
    without weights, of an element that has fewer nodes than these arguments have columns.
    """

    def __init__(self, term: Term, field: str, dimension: int | None = None):
        linear = term.energy.linear
        shaping = [m for m in term.energy.shaping if term.fields[m.field].name == field]
        self.term, self.made = term, {name: m for name, m in linear.items() if m in shaping}
        if not self.made:
            raise EnergyError(f"{term.name}: has no argument that is Linear in '{field}'; ask another term")
        self.field = next(iter(self.made.values())).field
        self.own = term.fields[self.field].shape[1]
        self.blocks = [*dict.fromkeys(made.weights for made in linear.values())]
        self.d = dimension or self.own
        self.arity = self._twin_arity()
        self._writes = -1

    def at(self, t: float, F: np.ndarray | None = None) -> Mapping[str, Pair]:
        """F and dU_e/dF at the present fields and time t, by argument, in double precision.

        F (d, d), or (E, d, d): from the nodes at rest, of all arguments, in place of that of the fields.
        """
        if self._writes != self.term.writes:
            self._writes, self._probe = self.term.writes, self._bound_twin()
        asked = self._asked_matrices(F)
        for argument, field in self.term.fields.items():
            mine = self._probe.fields[field.name]
            mine.set(self._twin_values(argument, asked).reshape(mine.shape))
        slopes = self._probe.gradient(self.term.fields[self.field].name, t).astype(float)
        columns = slopes.reshape(self.term.elements.count, self.arity, self.d).transpose(0, 2, 1)
        return {name: (asked[name], columns[..., self._displaced_nodes(m)]) for name, m in self.made.items()}

    def matrix(self, argument: str) -> np.ndarray:
        """A Linear argument of every element, in double precision: (E, *shape of the field, d).

        In space F and that of the nodes at rest are continued by the unit matrix, others by zeros.
        """
        made, nodes = self.term.energy.linear[argument], self.term.elements.nodes
        weights = storage.host(self.term.data[made.weights]).astype(float)
        values = self.term.fields[made.field].values.astype(float)[nodes]
        if (
            IMAGES in self.term.data
            and made.field in self.term.energy.positions
            and self.term.box is not None
        ):
            values = values + storage.host(self.term.data[IMAGES]).astype(float) @ self.term.box.values[0]
        flat = np.einsum("ea...,eaj->e...j", values - values[:, :1], weights)
        role = self.term.energy.roles[made.field]
        more = [(0, (self.d - self.own) * (one == "d")) for one in (*role.shape, "d")]
        found = np.pad(flat, [(0, 0), *more])
        if made.field in (self.field, REST):
            found[:, range(self.own, self.d), range(self.own, self.d)] = 1.0
        return found

    def _asked_matrices(self, F: np.ndarray | None) -> dict[str, np.ndarray]:
        """The matrices of all Linear arguments that derivatives are asked at."""
        linear = self.term.energy.linear
        found = {name: self.matrix(name) for name in linear}
        if F is None:
            return found
        rest = {made.weights: found[name] for name, made in linear.items() if made.field == REST}
        every = np.broadcast_to(F, (self.term.elements.count, *F.shape[-2:]))
        of_rest = {name: rest.get(made.weights) for name, made in self.made.items()}
        return found | {name: every if G is None else every @ G for name, G in of_rest.items()}

    def _displaced_nodes(self, made: Linear) -> slice:
        """The nodes of an element of the twin that columns of this argument displace."""
        first = 1 + self.d * self.blocks.index(made.weights)
        return slice(first, first + self.d)

    def _twin_values(self, field: str, asked: Mapping[str, np.ndarray]) -> np.ndarray:
        """A field at the nodes of the twin's elements: (E, arity, *shape)."""
        term, count = self.term, self.term.elements.count
        role, linear = term.energy.roles[field], term.energy.linear
        own = [argument for argument, made in linear.items() if made.field == field]
        if not own:
            values = self._pad_axes(role, term.fields[field].values)[term.elements.nodes]
            return np.concatenate([values, *[values[:, :1]] * (self.arity - term.arity)], axis=1)
        matrices = {argument: asked[argument] for argument in own}
        values = np.zeros((count, self.arity, *matrices[own[0]].shape[1:-1]))
        for argument, matrix in matrices.items():
            values[:, self._displaced_nodes(linear[argument])] = np.moveaxis(matrix, -1, 1)
        return values

    def _twin_arity(self) -> int:
        """The nodes of an element that gives every column of every Linear argument a node of its own."""
        term, linear, roles = self.term, self.term.energy.linear, self.term.energy.roles
        computed = {m.field for m in linear.values()}
        if besides := computed & {*term.energy.arguments}:
            raise EnergyError(
                f"{term.name}: reads '{min(besides)}' itself, besides an argument that is Linear in it;"
                " stress needs an energy of F alone"
            )
        needed = 1 + self.d * len(self.blocks)
        of_nodes = [a for a in term.fields if a not in computed]
        of_nodes += [a for a in term.data if "k" in roles[a].shape and a not in (*self.blocks, IMAGES)]
        if not of_nodes:
            return needed
        weighted = any(a in term.data and roles[a].shape[:1] == ("k",) for a in of_nodes)
        if needed > term.arity and not weighted:
            raise EnergyError(
                f"{term.name}: '{of_nodes[0]}' has values for each of {term.arity} nodes, got {needed - 1}"
                f" columns of F; stress needs elements of {needed} nodes"
            )
        return max(needed, term.arity)

    def _pad_axes(self, role: Role, values: np.ndarray) -> np.ndarray:
        """Values of one for each row, with zeros along further axes of space."""
        more = [(0, (self.d - self.own) * (one == "d")) for one in role.shape]
        return np.pad(values, [(0, 0), *more])

    def _pad_nodes(self, role: Role, values: np.ndarray) -> np.ndarray:
        """Data of elements with zeros for further nodes, which repeat the first one."""
        if role.shape[:1] != ("k",):
            return values
        more = max(self.arity - values.shape[1], 0)
        return np.pad(values, [(0, 0), (0, more), *[(0, 0)] * (values.ndim - 2)])

    def _bound_twin(self) -> Potential:
        """The energy over elements of their own, whose weights are unit vectors."""
        term, count, roles = self.term, self.term.elements.count, self.term.energy.roles
        rows = np.arange(count * self.arity, dtype=np.int32).reshape(count, self.arity)
        zeros = {
            f.name: self._pad_axes(roles[a], np.zeros((rows.size, *f.shape[1:])))
            for a, f in term.fields.items()
        }
        fields = Fields(zeros, precision="f32" if term.dtype == np.float32 else "f64")
        plain = replace(
            term.energy, roles={a: role for a, role in roles.items() if a not in OF_IMAGES}, positions=()
        )
        data = {
            a: self._pad_axes(roles[a], self._pad_nodes(roles[a], storage.host(v)))
            for a, v in term.data.items()
            if a != IMAGES
        }
        data |= {m.weights: self._unit_weights(m) for m in term.energy.linear.values()}
        twin = replace(
            term,
            energy=plain,
            elements=NodeTuples(rows),
            fields={a: fields[f.name] for a, f in term.fields.items()},
            data={a: storage.locked(storage.allocate(np.ascontiguousarray(v))) for a, v in data.items()},
            parameters={
                a: replace(v, rows=self._pad_axes(roles[a], v.rows)) for a, v in term.parameters.items()
            },
            box=None,
            shared={},
        )
        return Potential(fields, [twin])

    def _unit_weights(self, made: Linear) -> np.ndarray:
        """Those of an argument: its column j is that of the j-th of its nodes, less that of node 0."""
        weights = np.zeros((self.arity, self.d))
        weights[0] = -1.0
        weights[self._displaced_nodes(made)] = np.eye(self.d)
        return np.tile(weights, (self.term.elements.count, 1, 1)).astype(self.term.dtype)
