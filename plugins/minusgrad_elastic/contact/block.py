"""`[[compound]] kind = "contact"`: surfaces of bodies that no step lets pass through each other.

The energies are those of `barriers`, with one stiffness. With stiffness = "auto" it is

    k = K / D,      K the mean of d2U/dx_c^2 over components c of surface nodes, of all other energies

so that bodies rest on each other at about half of D. K is found once, from the products of the Hessian and a
few vectors of random signs (Hutchinson 1990, Commun. Stat. Simul. Comput. 19, 433).

Decisions 0087.
"""

from math import inf
from typing import Annotated, Any, Literal

import numpy as np

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    CompoundContext,
    FoundTuples,
    MinusgradError,
    Potential,
    Quantity,
    Record,
    UserError,
    choices,
    quantities,
)

from . import barriers
from .collision_surface import EDGE, EDGES, END, ENDS, LEVEL, POINTS, TRIANGLE, CollisionSurface

Length = Annotated[float | str, Quantity("m", "positive")]
Stiffness = Annotated[float | str, Quantity("Pa", "positive")]
PROBES = 8
"""Vectors of random signs."""

TO_POINTS = {"to_r": [1.0, -1.0]}
TO_EDGE = {"to_r": [1.0, -1.0, 0.0], "to_q": [0.0, -1.0, 1.0]}
TO_TRIANGLE = {"to_r": [1.0, -1.0, 0.0, 0.0], "to_p": [0.0, -1.0, 1.0, 0.0], "to_q": [0.0, -1.0, 0.0, 1.0]}
OF_EDGES = {"to_r": [1.0, 0.0, -1.0, 0.0], "to_p": [-1.0, 1.0, 0.0, 0.0], "to_q": [0.0, 0.0, -1.0, 1.0]}
ENERGIES: dict[str, tuple[Any, dict[str, list[float]]]] = {
    TRIANGLE: (barriers.point_triangle_barrier, TO_TRIANGLE),
    EDGES: (barriers.edge_edge_barrier, OF_EDGES),
    LEVEL: (barriers.parallel_edges_barrier, OF_EDGES),
    EDGE: (barriers.point_edge_barrier, TO_EDGE),
    POINTS: (barriers.point_point_barrier, TO_POINTS),
    END: (barriers.parallel_end_barrier, OF_EDGES),
    ENDS: (barriers.parallel_ends_barrier, OF_EDGES),
}
"""By kind of tuples, the energy and the weights of its differences."""
IN_PLANE = EDGE, POINTS
IN_SPACE = TRIANGLE, EDGES, EDGE, POINTS, LEVEL, END, ENDS


class Contact(Record):
    """Contact of bodies with each other and with themselves, by barriers, with the extra `contact`."""

    bodies: Literal["all"] | tuple[str, ...] = "all"
    """Bodies whose surfaces take part: facets all of whose nodes are in them; "all": the whole surface."""
    distance: Length
    """Distance at which the barrier begins; shorter than the edges of the surface."""
    stiffness: Literal["auto"] | Stiffness = "auto"
    """Stiffness of the barrier; "auto": bodies rest on each other at about half of the distance."""
    name: str = "contact"
    """Name of the block; its energies are NAME_points, NAME_edge and so on, its parameter NAME.stiffness."""

    def make(self, context: CompoundContext) -> Compound:
        return _Builder(self, quantities(self, context.units), context).compound()


class _Builder:
    """The terms of one block."""

    def __init__(self, block: Contact, given: dict[str, Any], context: CompoundContext):
        self.block, self.context, self.name = block, context, block.name
        self.distance: float = given["distance"]
        self.given: Any = given["stiffness"]
        self._refuse_unfit()
        self.x = context.fields["x"].values.astype(np.float64)
        self.d = self.x.shape[1]
        self.surface = CollisionSurface(self._facets(), self.distance, self.d)
        self._refuse_start()

    def _refuse_unfit(self) -> None:
        """Refuse what collisions are not found in: boxes, single precision, devices."""
        fields = self.context.fields
        if fields.box is not None:
            raise UserError(
                "kind: contact knows no images of nodes, got a periodic box; leave one of them out"
            )
        if fields.dtype != np.float64:
            raise UserError(
                'kind: contact needs double precision, got f32; write [runtime] precision = "f64"'
            )

    def _facets(self) -> np.ndarray:
        """The facets (F, d), each once."""
        state, d = self.context.state, self.d
        if not state.facets or d not in (2, 3):
            raise UserError("kind: contact needs bodies with a surface, got none; use a state with cells")
        facets = np.unique(np.asarray(state.tuples[state.facets]), axis=0)
        if facets.shape[1] != d:
            flat = "edges of two nodes" if d == 2 else "triangles"
            raise UserError(
                f"kind: contact is of surfaces of {flat}, got facets of {facets.shape[1]} nodes; use linear"
                f" {'cells' if d == 2 else 'tetrahedra'}"
            )
        if self.block.bodies == "all":
            return facets
        known = {body.name: body.nodes for body in state.bodies}
        if missing := [name for name in self.block.bodies if name not in known]:
            raise UserError(f"bodies: no body named '{missing[0]}'{choices(missing[0], known)}")
        if not self.block.bodies:
            raise UserError('bodies: names no body, got []; write bodies = "all"')
        nodes = np.concatenate([known[name] for name in self.block.bodies])
        kept = facets[np.isin(facets, nodes).all(axis=1)]
        if not len(kept):
            raise UserError(
                f"bodies: no facet of the surface has all nodes in {', '.join(self.block.bodies)}, none; name"
                " other bodies"
            )
        return kept

    def _refuse_start(self) -> None:
        """Refuse a distance that neighbours of one surface are within, and surfaces that intersect."""
        shortest = self.surface.shortest_edge(self.x)
        if not self.distance < shortest:
            raise UserError(
                f"distance: must be below the shortest edge of the surface, {shortest:.4g}, as neighbours do"
                f" not touch, got {self.distance:.4g}; give a smaller one"
            )
        if text := self.surface.trouble(self.x):
            raise UserError(f"kind: {text}")

    def compound(self) -> Compound:
        """The terms, which have their stiffness in common."""
        stiffness = self._found_stiffness() if self.given == "auto" else self.given
        terms = []
        for kind in IN_PLANE if self.d == 2 else IN_SPACE:
            energy, weights = ENERGIES[kind]
            constants = {name: np.array(row) for name, row in weights.items()}
            terms.append(
                bind(
                    energy,
                    self.context.fields,
                    name=f"{self.name}_{kind}",
                    elements=FoundTuples(self.surface, kind, self.x, constants),
                    parameters={"stiffness": stiffness},
                    tables={"distance": np.array([self.distance])},
                    units=self.context.units,
                )
            )
        return Compound(terms, common={self.name: ["stiffness"]})

    def _found_stiffness(self) -> float:
        """k of "auto"."""
        fields, nodes = self.context.fields, self.surface.nodes
        try:
            potential = Potential(fields, self.context.terms, self.context.maps)
            signs = np.random.Generator(np.random.Philox(key=np.zeros(2, np.uint64)))
            found = 0.0
            for _ in range(PROBES):
                probe = signs.choice([-1.0, 1.0], self.x.shape)
                product = potential.product({"x": probe}, "x") if "x" in potential.reads else 0.0 * probe
                found += float((probe * product)[nodes].mean()) / PROBES
        except MinusgradError as error:
            raise UserError(
                f'stiffness: "auto" needs second derivatives of U: {error}; give a number'
            ) from None
        if not 0.0 < found < inf:
            raise UserError(
                f'stiffness: "auto" follows from the stiffness of the surface, got {found:.3g} of the'
                " energies above; give a number"
            )
        found /= self.distance
        self.context.remarks.append(
            f'{self.name}: its stiffness is {found:.6g} in the run\'s units, by "auto"'
        )
        return found
