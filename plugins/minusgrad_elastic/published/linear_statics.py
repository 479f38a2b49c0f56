"""Displacements and stresses to first order, of meshes that are made in Python.

    K u = f - dU/dx,     K = d2U/dx2,     both at rest
    P = dU/dF / V        at quadrature points; at a node continued from those of each cell, and averaged

u (n, d) [m], f (n, d) [N], K (n d, n d) [N/m], P (d, d) [Pa]. Stresses are better at quadrature points than
at nodes (Barlow 1976, Int. J. Numer. Methods Eng. 10, 243); a polynomial of degree 2 along each axis of a
cell goes through those of its 3^d points.

Decisions 0169.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse.linalg import spsolve

from minusgrad import Fields, Potential, bind
from minusgrad.plugin import Datum

from ..cells import reference_cells
from ..mesh import Mesh
from ..solids import solid
from ..stress.cell_points import CellPoints
from ..stress.patches import Patches


class LinearBody:
    """A mesh of one kind of cells, and their energy; stresses are those of squares and bricks of order 2.

    moduli: parameters of the energy. at_points: further data of it, a row for each quadrature point in the
    order of the cells. thickness [m]: of a body in the plane.
    """

    def __init__(
        self,
        mesh: Mesh,
        energy: Any,
        moduli: Mapping[str, float],
        at_points: Mapping[str, np.ndarray] | None = None,
        thickness: float = 1.0,
    ):
        self.mesh, self.state, self.name = mesh, solid(mesh, 1.0, thickness), energy.name
        self.fields = Fields(dict(self.state.fields))
        points = self.state.quadratures.get("cells")
        rows = points.nodes if points else self.state.tuples["cells"]
        known = {**self.state.data["cells"], **(at_points or {})}
        data = {name: known[name] for name in energy.of_role(Datum)}
        term = bind(energy, self.fields, tuples=rows, data=data, parameters=dict(moduli))
        self.potential = Potential(self.fields, [term])

    def facet_load(self, body: str, force: np.ndarray | None = None) -> np.ndarray:
        """Nodal forces (n, d) [N] of a traction on the facets of a body.

        force (d,) [Pa]: in one direction; None for the unit pull along the outward normal.
        """
        points = self.state.quadratures.get("boundary")
        rows = points.nodes if points else self.state.tuples["boundary"]
        data = self.state.data["boundary"]
        chosen = np.isin(rows, self.mesh.bodies[body]).all(axis=1)
        rows, data = rows[chosen], {name: values[chosen] for name, values in data.items()}
        if force is None:
            at_point = data["weight"][:, None] * _area_vectors(self.mesh.points[rows], data["tangents"])
        else:
            at_point = data["area"][:, None] * force
        load = np.zeros(self.mesh.points.shape)
        np.add.at(load, rows, data["shares"][:, :, None] * at_point[:, None])
        return load

    def displaced(self, held: np.ndarray, load: np.ndarray | float = 0.0) -> np.ndarray:
        """The displacement (n, d) [m] under forces (n, d); held (n, d): True for components that stay.

        The positions are those of the displaced body from then on.
        """
        free = np.flatnonzero(~held)
        force = (load - self.potential.gradient("x")).ravel()[free]
        u = np.zeros(held.size)
        u[free] = spsolve(self.potential.hessian("x")[free][:, free].tocsc(), force)
        self.fields["x"].set(self.mesh.points + u.reshape(held.shape))
        return u.reshape(held.shape)

    def stress_at(self, node: int) -> np.ndarray:
        """P (d, d) [Pa] at a node of the displaced body."""
        (points,) = self.mesh.at_points
        return continued_to_node(self.stress_at_points(), points.cell, self.mesh.cells, node)

    def stress_at_points(self) -> np.ndarray:
        """P (p, d, d) [Pa] at the quadrature points of the displaced body, in the order of the cells."""
        return stress_at_points(self.potential, self.name, self.state.data["cells"]["volume"])

    def recovered_at(self, node: int) -> tuple[np.ndarray, float]:
        """P (d, d) [Pa] at a node as the observer `stress` recovers it, and its estimate of the error.

        That is relative, in the energy norm of the body (`stress.recovery`).
        """
        cells = CellPoints(self.state, "cells")
        patches = Patches(cells, np.zeros(cells.count, int))
        data, count = self.state.data["cells"], len(self.mesh.points)
        assert len(patches.node) == count
        x = self.fields["x"].values[self.state.quadratures["cells"].nodes]
        at_points = self.stress_at_points(), np.einsum("pki,pkj->pij", x, data["gradients"])
        at_nodes = [patches.matrix @ (cells.sampler @ one.reshape(len(one), -1)) for one in at_points]
        P, F = (
            cells.point_shares @ at_nodes[k][patches.seat_of] - at_points[k].reshape(len(x), -1)
            for k in (0, 1)
        )
        squares = float(np.abs(cells.cell_sums(data["volume"] * (P * F).sum(axis=1))).sum())
        error = np.sqrt(squares / (2.0 * abs(self.potential.value()) + squares))
        (seat,) = np.flatnonzero(patches.node == node)
        return at_nodes[0][seat].reshape(at_points[0].shape[1:]), float(error)


def stress_at_points(potential: Potential, term: str, volume: np.ndarray) -> np.ndarray:
    """P (p, d, d) [Pa] of a term of F over cells, at their points of rest volumes (p,), as the fields are."""
    return potential.gradient(f"{term}.F") / volume[:, None, None]


def continued_to_node(P: np.ndarray, of_cell: np.ndarray, cells: np.ndarray, node: int) -> np.ndarray:
    """P (d, d) at a node: continued from the points (p, d, d) of each of its cells (E, k), and averaged.

    of_cell (p,): the cell of each point. Cells are of order 2. Of squares and bricks, with 3 points along
    each axis, a polynomial of degree 2 along each goes through them; of triangles and tetrahedra a plane.
    """
    d = P.shape[1]
    kind = reference_cells.cells()[d, cells.shape[1]]
    basis = _products if kind.parts == 1 else _planes
    found = []
    for cell, slot in np.argwhere(cells == node):
        values = P[of_cell == cell].reshape(-1, d * d)
        places, _ = kind.rule if len(values) == len(kind.rule[1]) else kind.curved or kind.rule
        fit = np.linalg.lstsq(basis(places), values)[0]
        found.append(basis(kind.nodes[[slot]])[0] @ fit)
    return np.mean(found, axis=0).reshape(d, d)


def mapped(mesh: Mesh, place: Callable[..., tuple]) -> Mesh:
    """The mesh with its nodes where a function of their coordinates says."""
    return replace(mesh, points=np.stack(np.broadcast_arrays(*place(*mesh.points.T)), axis=1))


def node_at(mesh: Mesh, *place: float) -> int:
    """The number of the node at a place. Raises `ValueError` if there is none."""
    apart = np.abs(mesh.points - np.array(place)).max(axis=1)
    if apart.min() > 1e-9 * np.abs(mesh.points).max():
        raise ValueError(f"{mesh.source}: no node lies at {place}, got one at a distance of {apart.min():g}")
    return int(apart.argmin())


def holding(mesh: Mesh, **axes: str) -> np.ndarray:
    """Components (n, d) that stay: of each body those along its axes."""
    held = np.zeros(mesh.points.shape, bool)
    for body, names in axes.items():
        for axis in names:
            held[mesh.bodies[body], "xyz".index(axis)] = True
    return held


def _products(places: np.ndarray) -> np.ndarray:
    """1, x, x^2, y, x y, ... at places (q, d): (q, 3^d)."""
    powers = np.array([*product((0, 1, 2), repeat=places.shape[1])])
    return np.prod(places[:, None] ** powers, axis=2)


def _planes(places: np.ndarray) -> np.ndarray:
    """1, x, y, ... at places (q, d): (q, d + 1)."""
    return np.column_stack([np.ones(len(places)), places])


def _area_vectors(points: np.ndarray, tangents: np.ndarray) -> np.ndarray:
    """Outward normals (q, d) of facets (q, k, d), as long as areas are large per unit of coordinates."""
    legs = np.einsum("qaj,qai->qji", tangents, points)
    if points.shape[2] == 2:
        return np.stack([legs[:, 0, 1], -legs[:, 0, 0]], axis=1)
    return np.cross(legs[:, 0], legs[:, 1])
