"""The signed distance to a closed surface on a grid, and the cubic spline through it.

    d(x) = -+ min over triangles of |x - nearest point|         negative inside
    s(x) = sum_ijk c_ijk B(u_1 - i) B(u_2 - j) B(u_3 - k),      u = (x - corner) / h

B is the cubic B-spline; the c are such that s is d at the points of the grid (Unser 1999, IEEE Signal
Process. Mag. 16(6), 22), so that s has two continuous derivatives where d has kinks. Distances within `BAND`
cells of the surface are exact; those of points further in are to the nearest of the triangle of the nearest
point of the band and the `CANDIDATES` with the nearest middles. Inside is where a ray along x has met an odd
number of triangles. Nearest points of triangles: Ericson 2005, Real-Time Collision Detection, section 5.1.5.

Decisions 0158.
"""

from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError, memory

from .surface_mesh import SurfaceMesh

BAND = 2
"""Cells around the surface in which distances are exact."""
CANDIDATES = 12
CHUNK = 200_000
"""Pairs of a point and a triangle at a time."""
MARGIN = 5
"""Cells around the box of the surface."""
SHIFT = np.array([0.61803e-6, 0.41421e-6])
"""How far, in cells, rays pass beside points of the grid, so that they meet no edge of a regular surface."""


@dataclass(frozen=True)
class DistanceGrid:
    """corner (3,), spacing h, values d (k, l, m) and coefficients c of the spline, of the same shape."""

    corner: np.ndarray
    spacing: float
    values: np.ndarray
    coefficients: np.ndarray

    def spline_values(self, places: np.ndarray) -> np.ndarray:
        """s at places (n, 3) within the grid."""
        from scipy.ndimage import map_coordinates

        at = (places - self.corner) / self.spacing
        return map_coordinates(self.coefficients, at.T, order=3, prefilter=False, mode="nearest")


def distance_grid(mesh: SurfaceMesh, cells: int) -> DistanceGrid:
    """The grid of a closed surface; cells: along the longest side of its box.

    Raises `UserError` for a surface that is open, or where rays find it open, and for too large a grid.
    """
    _refuse_open(mesh)
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    h = float((high - low).max()) / cells
    shape = tuple(int(n) for n in np.ceil((high - low) / h) + 1 + 2 * MARGIN)
    memory.require(64 * int(np.prod(shape)), f"{mesh.source}: a grid of {shape} distances")
    corner = low - MARGIN * h
    local = (mesh.corners() - corner) / h
    nearest, owner, crossings = _scan_triangles(local, shape)
    inside = np.cumsum(crossings, axis=0)
    if (inside[-1] % 2).any():
        raise UserError(f"{mesh.source}: rays along x find it open; repair the surface, or save it again")
    far = ~np.isfinite(nearest)
    nearest[far] = BAND
    deep = far & (inside % 2 == 1)
    nearest[deep] = _deep_distances(local, far, deep, owner)
    values = h * np.where(inside % 2 == 1, -nearest, nearest)
    from scipy.ndimage import spline_filter

    return DistanceGrid(corner, h, values, spline_filter(values, order=3, mode="nearest"))


def _refuse_open(mesh: SurfaceMesh) -> None:
    edges, counts = mesh.edges()
    if (wrong := np.flatnonzero(counts != 2)).size:
        place = ", ".join(f"{c:.4g}" for c in mesh.points[edges[wrong[0]]].mean(axis=0))
        raise UserError(
            f"{mesh.source}: an obstacle is a closed surface, got {len(wrong)} edges of one triangle, or of"
            f" more than two, the first at ({place}); close it, or take it as a `surface` that moves"
        )


def _scan_triangles(corners: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances within the band (else infinite), whose they are, and where rays along x meet triangles.

    corners (E, 3, 3), in cells.
    """
    nearest, owner = np.full(shape, np.inf).ravel(), np.full(shape, -1).ravel()
    crossings = np.zeros(shape, np.int32)
    low = np.maximum(np.floor(corners.min(axis=1)).astype(int) - BAND, 0)
    high = np.minimum(np.ceil(corners.max(axis=1)).astype(int) + BAND + 1, shape)
    sizes, which = np.unique(high - low, axis=0, return_inverse=True)
    for number, size in enumerate(sizes):
        window = np.stack(np.meshgrid(*map(np.arange, size), indexing="ij"), axis=-1).reshape(-1, 3)
        members = np.flatnonzero(which.reshape(-1) == number)
        for part in np.array_split(members, -(-len(members) * len(window) // CHUNK)):
            places = (low[part][:, None] + window).reshape(-1, 3)
            owners = np.repeat(part, len(window))
            found = np.linalg.norm(places - nearest_points(places, corners[owners]), axis=1)
            at, close = np.ravel_multi_index(tuple(places.T), shape), found <= BAND
            np.minimum.at(nearest, at[close], found[close])
            best = close & (found == nearest[at])
            owner[at[best]] = owners[best]
    for triangle in corners:
        _count_crossings(crossings, triangle)
    return nearest.reshape(shape), owner.reshape(shape), crossings


def _count_crossings(crossings: np.ndarray, triangle: np.ndarray) -> None:
    """Add one at the first point behind each place where a ray along x meets the triangle."""
    flat = triangle[:, 1:] - SHIFT
    low, high = np.ceil(flat.min(axis=0)).astype(int), np.floor(flat.max(axis=0)).astype(int) + 1
    if (high <= low).any():
        return
    j, k = (
        one.ravel()
        for one in np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]), indexing="ij")
    )
    legs = (flat[1:] - flat[0]).T
    area = legs[0, 0] * legs[1, 1] - legs[0, 1] * legs[1, 0]
    if area == 0.0:
        return
    r = np.stack([j, k], axis=1) - flat[0]
    b = (r[:, 0] * legs[1, 1] - r[:, 1] * legs[0, 1]) / area
    c = (r[:, 1] * legs[0, 0] - r[:, 0] * legs[1, 0]) / area
    hit = (b >= 0.0) & (c >= 0.0) & (b + c <= 1.0)
    x = (
        triangle[0, 0]
        + b[hit] * (triangle[1, 0] - triangle[0, 0])
        + c[hit] * (triangle[2, 0] - triangle[0, 0])
    )
    np.add.at(crossings, (np.ceil(x).astype(int), j[hit], k[hit]), 1)


def _deep_distances(corners: np.ndarray, far: np.ndarray, deep: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Distances of points deep inside, to the triangle of the nearest point of the band and some others."""
    from scipy.ndimage import distance_transform_edt
    from scipy.spatial import cKDTree

    if not deep.any():
        return np.zeros(0)
    at = distance_transform_edt(far, return_distances=False, return_indices=True)
    places = np.argwhere(deep).astype(float)
    count = min(CANDIDATES, len(corners))
    _, near = cKDTree(corners.mean(axis=1)).query(places, count)
    chosen = np.column_stack([near.reshape(len(places), count), owner[tuple(axis[deep] for axis in at)]])
    found = [np.linalg.norm(places - nearest_points(places, corners[column]), axis=1) for column in chosen.T]
    return np.min(found, axis=0)


def nearest_points(places: np.ndarray, triangle: np.ndarray) -> np.ndarray:
    """The nearest points (n, 3) of a triangle (3, 3), or of one for each place (n, 3, 3)."""
    a, b, c = np.moveaxis(np.broadcast_to(triangle, (len(places), 3, 3)), 1, 0)
    best = _on_segment(places, a, b)
    for one, other in ((b, c), (c, a)):
        found = _on_segment(places, one, other)
        nearer = _squares(places - found) < _squares(places - best)
        best = np.where(nearer[:, None], found, best)
    ab, ac, ap = b - a, c - a, places - a
    normal = np.cross(ab, ac)
    size = _squares(normal)
    v = np.einsum("ni,ni->n", np.cross(ap, ac), normal) / size
    w = np.einsum("ni,ni->n", np.cross(ab, ap), normal) / size
    within = (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0)
    return np.where(within[:, None], a + v[:, None] * ab + w[:, None] * ac, best)


def _on_segment(places: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    along = b - a
    t = np.einsum("ni,ni->n", places - a, along) / _squares(along)
    return a + np.clip(t, 0.0, 1.0)[:, None] * along


def _squares(vectors: np.ndarray) -> np.ndarray:
    return np.einsum("ni,ni->n", vectors, vectors)
