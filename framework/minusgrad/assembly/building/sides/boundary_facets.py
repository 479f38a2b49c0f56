"""The facets of a state's boundary, with their areas and normals at rest, from the data of their points.

    A = sum_q A_q      n = sum_q w_q m_q / |sum_q w_q m_q|    m = (y', -x') in the plane, x_,1 x x_,2 in space

A_q [m^2] is `area` of a quadrature point of the facet, w_q its `weight`, x_,i = sum_a x_a N_a,i with the
slopes `tangents` of the shape functions: outward, as of pressure.

Decisions 0159.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....energies.fields import BOX, POSITIONS, State
from ....errors import UserError

NOBODY = -1
"""Fills rows of facets that have fewer nodes than others."""


@dataclass(frozen=True, eq=False)
class BoundaryFacets:
    """The facets of the list `State.facets`: rows (F, k) of nodes; shorter ones end with -1."""

    state: State

    @cached_property
    def rows(self) -> np.ndarray:
        name = self.state.facets
        points = self.state.quadratures.get(name)
        blocks = [self.state.tuples[one] for one in (points.lists if points else (name,))]
        most = max(block.shape[1] for block in blocks)
        wide = [((0, 0), (0, most - block.shape[1])) for block in blocks]
        padded = [np.pad(b, w, constant_values=NOBODY) for b, w in zip(blocks, wide, strict=True)]
        return np.concatenate(padded)

    def __len__(self) -> int:
        return len(self.rows)

    def all_within(self, mask: np.ndarray) -> np.ndarray:
        """The facets all of whose nodes are chosen by a mask (n,), as a mask (F,)."""
        met = mask[self.rows] | (self.rows == NOBODY)
        return np.asarray(met.all(axis=1))

    def nodes(self, chosen: np.ndarray) -> np.ndarray:
        """The nodes of the facets that a mask (F,) chooses, sorted."""
        found = np.unique(self.rows[chosen])
        return found[found != NOBODY]

    @cached_property
    def areas(self) -> np.ndarray | None:
        """A (F,) [m^2] in the run's units, in the plane times the thickness; None where none are known."""
        data = self.state.data.get(self.state.facets, {})
        if "area" not in data:
            return None
        return np.bincount(self._owner, weights=data["area"], minlength=len(self))

    @cached_property
    def normals(self) -> np.ndarray:
        """n (F, d), outward, of a facet as a whole. Raises `UserError` for a state that has none."""
        data = self.state.data.get(self.state.facets, {})
        if not {"tangents", "weight"} <= data.keys():
            raise UserError(
                f"needs the normals of facets, got none in the list '{self.state.facets}'; choose by place"
            )
        points, x = self.state.quadratures.get(self.state.facets), self.state.fields[POSITIONS]
        corners = x[self.rows if points is None else points.nodes]
        if (images := self.state.images.get(self.state.facets)) is not None:
            corners = corners + images @ np.asarray(self.state.fields[BOX])[0]
        legs = np.einsum("paj,pai->jpi", data["tangents"], corners - corners[:, :1])
        if x.shape[1] == 2:
            normal = np.stack([legs[0, :, 1], -legs[0, :, 0]], axis=1)
        else:
            normal = np.cross(legs[0], legs[1])
        total = np.zeros((len(self), x.shape[1]))
        np.add.at(total, self._owner, data["weight"][:, None] * normal)
        return total / np.linalg.norm(total, axis=1, keepdims=True)

    @property
    def _owner(self) -> np.ndarray:
        """The facet of each quadrature point."""
        points = self.state.quadratures.get(self.state.facets)
        return np.arange(len(self)) if points is None else points.cell

    def sharp_nodes(self, angle: float) -> np.ndarray:
        """A mask (n,) of the nodes at which the normals of two facets differ by more than an angle [rad]."""
        facet, place = np.nonzero(self.rows != NOBODY)
        node = self.rows[facet, place]
        order = np.argsort(node, kind="stable")
        node, normal = node[order], self.normals[facet[order]]
        sharp = np.zeros(len(self.state.fields[POSITIONS]), bool)
        for step in range(1, int(np.bincount(node).max())):
            alike = node[step:] == node[:-step]
            cosine = (normal[step:] * normal[:-step]).sum(axis=1)
            sharp[node[step:][alike & (cosine < np.cos(angle))]] = True
        return sharp
