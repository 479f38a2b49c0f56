"""What the shell at rest is: edges, directors, the dyads of their turns, curvature; in NumPy.

    n_e = (N_1 + N_2) / |N_1 + N_2|                of the normals of both triangles of an edge
    theta_e = atan2(n_e . m_e, n_e . N),   B_e = l_e / A m_e (x) m_e,   k = sum_e theta_e B_e

As in `energies`: m_e (3,) across edge e in its triangle, outwards. Edge e of a triangle is across its corner
e. Tensors in a triangle are components 11, 22 and 12 along two axes in it.

Decisions 0103.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from minusgrad.plugin import UserError
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh

from ..surface_state import axes_along_edges

AXES_11_22_12 = np.array([[0, 0], [1, 1], [0, 1]])


@dataclass(frozen=True, eq=False)
class ShellGeometry:
    """points (n, 3), triangles (E, 3), axes (E, 2, 3) in each, edges (K, 2), edges of triangles (E, 3)."""

    points: np.ndarray
    triangles: np.ndarray
    axes: np.ndarray
    edges: np.ndarray
    edges_of: np.ndarray

    @cached_property
    def corners(self) -> np.ndarray:
        """The places (E, 3, 3) of the corners."""
        return self.points[self.triangles]

    @cached_property
    def normals(self) -> np.ndarray:
        """N (E, 3)."""
        return unit_normals(self.corners)[0]

    @cached_property
    def areas(self) -> np.ndarray:
        """A (E,)."""
        return unit_normals(self.corners)[1]

    @cached_property
    def lengths(self) -> np.ndarray:
        """l (K,)."""
        return np.linalg.norm(self.points[self.edges[:, 1]] - self.points[self.edges[:, 0]], axis=1)

    @cached_property
    def areas_around(self) -> np.ndarray:
        """The area (K,) of the triangles of each edge."""
        return self._sum_over_triangles(np.tile(self.areas[:, None], (1, 3)))

    @cached_property
    def directors(self) -> np.ndarray:
        """n (K, 3): of an edge of one triangle its normal."""
        sums = np.stack(
            [self._sum_over_triangles(np.tile(part[:, None], (1, 3))) for part in self.normals.T], axis=1
        )
        return sums / np.linalg.norm(sums, axis=1)[:, None]

    @cached_property
    def turns(self) -> np.ndarray:
        """B (E, 3, 3): of each edge components 11, 22 and 12."""
        across = conormals(self.corners, self.normals)
        inside = np.einsum("eki,eai->eka", across, self.axes)
        dyads = inside[:, :, AXES_11_22_12[:, 0]] * inside[:, :, AXES_11_22_12[:, 1]]
        return dyads * (self.lengths[self.edges_of] / self.areas[:, None])[:, :, None]

    @cached_property
    def curvature(self) -> np.ndarray:
        """k (E, 3): components 11, 22 and 12 of the second fundamental form."""
        return self.second_forms(self.points, self.directors)

    def second_forms(self, points: np.ndarray, directors: np.ndarray) -> np.ndarray:
        """b (E, 3) of the shell with its nodes at `points` (n, 3)."""
        corners = points[self.triangles]
        normals, _ = unit_normals(corners)
        across, own = conormals(corners, normals), directors[self.edges_of]
        sines, cosines = np.einsum("eki,eki->ek", own, across), np.einsum("eki,ei->ek", own, normals)
        return np.einsum("ek,ekc->ec", np.arctan2(sines, cosines), self.turns)

    def strains(self, points: np.ndarray, gradients: np.ndarray) -> np.ndarray:
        """Green's strain (E, 3) of the shell with its nodes at `points`; gradients (E, 3, 2)."""
        F = np.einsum("eai,eac->eic", points[self.triangles], gradients)
        C = np.einsum("eia,eib->eab", F, F) - np.eye(2)
        return 0.5 * C[:, AXES_11_22_12[:, 0], AXES_11_22_12[:, 1]]

    def edges_between(self, nodes: np.ndarray) -> np.ndarray:
        """The numbers of the edges with both ends among some nodes."""
        inside = np.zeros(len(self.points), bool)
        inside[nodes] = True
        return np.flatnonzero(inside[self.edges].all(axis=1))

    def _sum_over_triangles(self, values: np.ndarray) -> np.ndarray:
        """Sums (K,) over the triangles of each edge, of values (E, 3)."""
        return np.bincount(self.edges_of.ravel(), values.ravel(), minlength=len(self.edges))


def shell_geometry(mesh: SurfaceMesh, axes: np.ndarray | None = None) -> ShellGeometry:
    """The geometry of a surface at rest; axes (E, 2, 3) (default: along its first edge, and across).

    Raises `UserError` for triangles without area, for edges of three triangles, and for triangles that are
    listed the other way round than a neighbour.
    """
    triangles = np.asarray(mesh.triangles)
    corners = mesh.points[triangles]
    size = float(np.ptp(mesh.points, axis=0).max())
    areas = unit_normals(corners)[1]
    if (flat := np.flatnonzero(~(areas > 1e-12 * size**2))).size:
        raise UserError(
            f"{mesh.source}: triangle {flat[0]} needs an area, got {areas[flat[0]]:.3g} m^2; repair the mesh"
        )
    directed = np.concatenate([triangles[:, [(k + 1) % 3, (k + 2) % 3]] for k in range(3)])
    edges, which, counts = np.unique(
        np.sort(directed, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    if counts.max() > 2:
        a, b = edges[int(np.argmax(counts))]
        raise UserError(
            f"{mesh.source}: edge {a}-{b} has two triangles at most, got {counts.max()}; part the surface"
        )
    if (twice := np.flatnonzero(np.unique(directed, axis=0, return_counts=True)[1] > 1)).size:
        a, b = np.unique(directed, axis=0)[twice[0]]
        raise UserError(
            f"{mesh.source}: both triangles of edge {a}-{b} must be listed the same way round, got one that"
            " is not; turn it over, and cut a surface with one side"
        )
    if axes is None:
        axes = axes_along_edges(corners)
    edges_of = which.reshape(3, len(triangles)).T
    return ShellGeometry(mesh.points, triangles, axes, edges.astype(np.int32), edges_of.astype(np.int32))


def unit_normals(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normals (E, 3) and areas (E,) of triangles with corners (E, 3, 3)."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    twice = np.linalg.norm(normals, axis=1)
    return normals / np.where(twice > 0.0, twice, 1.0)[:, None], 0.5 * twice


def conormals(corners: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """m (E, 3, 3): across each edge in the triangle, outwards."""
    ahead = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
    return np.cross(ahead, normals[:, None]) / np.linalg.norm(ahead, axis=2)[:, :, None]
