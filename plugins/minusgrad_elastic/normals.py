"""Normals of surfaces as maps from positions, which energies read: of facets, of nodes weighted by area.

    facet_area    a_f = (x_1 - x_0) x (x_2 - x_0) / 2                    (facets, 3) [m^2]
    area_vector   a_i = 1/3 sum of a_f over the facets at node i         (n, 3) [m^2]
    unit_normal   n_i = a_i / |a_i|, 0 for nodes of no facet             (n, 3) [1]

x (n, 3) [m]; facets are rows of three nodes, listed counterclockwise as they are seen from outside. The sum
of a_f over a closed surface is zero, and a pressure p on it gives node i the force -p a_i.

`[[compound]] kind = "normals"` has both maps of nodes for a list of the state. Forces of energies that read
them follow from the map (`potential.map_chain`).

Decisions 0138.
"""

from typing import Any

import numpy as np

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    CompoundContext,
    Node,
    Record,
    UserError,
    choices,
    local_map,
    ti,
)

VECTOR: dict[str, Any] = {"shape": (3,)}


@local_map(
    "facet_area",
    gives="facet_area",
    unit="m^2",
    over=("facet", "facet_node", "facet_node", "facet_node"),
    x=Node("m", (3,), of="facet_node"),
    **VECTOR,
)
def facet_area(x):
    """The normal of a facet, as long as its area."""
    return 0.5 * (x[2] - x[1]).cross(x[3] - x[1])


@local_map("area_vector", gives="area_vector", unit="m^2", over=3, x=Node("m", (3,)), **VECTOR)
def area_vector(x):
    """The normal of a node, as long as its share in the areas of the facets around it."""
    return (x[1] - x[0]).cross(x[2] - x[0]) / 6.0


@local_map(
    "unit_normal",
    gives="normal",
    over="nodes",
    area_vector=Node("m^2", (3,)),
    **VECTOR,
)
def unit_normal(area_vector):
    """The unit normal of a node, weighted by area."""
    a = area_vector[0]
    square = a.norm_sqr()
    return a / ti.sqrt(ti.select(square > 0.0, square, 1.0))


class NormalsBlock(Record):
    """Normals of the nodes of a surface: the fields area_vector [m^2] and normal, which energies may read."""

    list: str = "boundary"
    """List of facets of three nodes in space, such as boundary or triangles."""

    def make(self, context: CompoundContext) -> Compound:
        found = context.state.tuples
        if self.list not in found:
            raise UserError(f"list: no list named '{self.list}'{choices(self.list, found)}")
        rows = found[self.list]
        width = context.fields["x"].shape[1]
        if rows.shape[1] != 3 or width != 3:
            raise UserError(
                f"list: '{self.list}' must have three nodes a facet in space, got {rows.shape[1]} in {width}"
                " dimensions; use linear elements"
            )
        vectors = bind(area_vector, context.fields, tuples=corner_rows(rows), units=context.units)
        normals = bind(unit_normal, context.fields, units=context.units)
        return Compound([], maps=[vectors, normals])


def corner_rows(facets: np.ndarray) -> np.ndarray:
    """Facets (E, 3), once from each corner, (3 E, 3)."""
    return np.concatenate([np.roll(facets, -k, axis=1) for k in range(3)]).astype(np.int32)
