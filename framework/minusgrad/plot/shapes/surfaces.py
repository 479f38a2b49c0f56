"""Visible facets and edges of lists of tuples, and views of them.

A facet of a tuple lacks one of its nodes: an edge of a triangle, a triangle of a tetrahedron. It lies on the
boundary if no other tuple has it. Points x (n, 3) are seen as x @ view.T, where the rows of a view (3, 3)
point to the right, up, and towards the eye; parallel lines stay parallel.
"""

import numpy as np

CREASE = np.cos(np.radians(35.0))


def boundary(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Facets (B, k - 1) of cells (E, k) that belong to one cell only, with their cells (B,), in their order.

    Third, the node of the cell that the facet lacks, (B,): the facet's inner side is where it lies.
    """
    k = cells.shape[1]
    facets = np.concatenate([np.delete(cells, lacking, axis=1) for lacking in range(k)])
    nodes = np.sort(facets, axis=1)
    rank = np.lexsort(nodes.T)
    new = np.any(np.diff(nodes[rank], axis=0, prepend=-1) != 0, axis=1)
    alone = rank[new & np.append(new[1:], True)]
    lacking, owner = np.divmod(alone, len(cells))
    order = np.lexsort((lacking, owner))
    return facets[alone[order]], owner[order], cells[owner, lacking][order]


def edges(tuples: np.ndarray) -> np.ndarray:
    """The pairs of nodes that share a tuple, each once, (K, 2)."""
    first, second = np.triu_indices(tuples.shape[1], 1)
    pairs = np.stack([tuples[:, first].ravel(), tuples[:, second].ravel()], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0)


def outward(x: np.ndarray, polygons: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Unit normals (B, 3) of polygons (B, l) between points x (n, 3), away from the nodes inner (B,).

    Zero for one without area.
    """
    last = polygons.shape[1]
    a, b, c = (x[polygons[:, corner]] for corner in (0, last // 3, 2 * last // 3))
    normal = np.cross(b - a, c - a)
    normal[np.einsum("ij,ij->i", normal, x[inner] - a) > 0] *= -1
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return normal / np.where(length > 0, length, 1.0)


def contour(x: np.ndarray, polygons: np.ndarray, inner: np.ndarray, eye: np.ndarray) -> np.ndarray:
    """The edges (K, 2) of a line drawing of a body: creases, rim and silhouette.

    polygons (B, l) of its boundary between points x (n, 3), with the node inside of each, inner (B,).
    """
    normal, sides = outward(x, polygons, inner), range(polygons.shape[1])
    pairs = np.concatenate([np.stack([polygons[:, s - 1], polygons[:, s]], axis=1) for s in sides])
    face = np.tile(np.arange(len(polygons)), len(sides))
    whole = pairs[:, 0] != pairs[:, 1]
    pairs, face = np.sort(pairs[whole], axis=1), face[whole]
    rank = np.lexsort(pairs.T)
    pairs, face = pairs[rank], face[rank]
    start = np.flatnonzero(np.any(np.diff(pairs, axis=0, prepend=-1) != 0, axis=1))
    count = np.diff(np.append(start, len(pairs)))
    one, other = normal[face[start]], normal[face[start + np.minimum(count, 2) - 1]]
    crease = np.einsum("ij,ij->i", one, other) < CREASE
    turns = (one @ eye > 0) != (other @ eye > 0)
    return pairs[start[(count != 2) | crease | turns]]


def view(azimuth: float, elevation: float) -> np.ndarray:
    """The view (3, 3) of an eye at these angles [rad]: from +x around +z, and up from the xy plane."""
    s, c, up, out = np.sin(azimuth), np.cos(azimuth), np.sin(elevation), np.cos(elevation)
    return np.array([[-s, c, 0.0], [-up * c, -up * s, out], [out * c, out * s, up]])


def sensible_view(x: np.ndarray) -> np.ndarray:
    """A view of points x (n, 3): z upwards, the longer of x and y across, from higher up if they lie flat."""
    wide, deep, high = np.ptp(x, axis=0)
    azimuth = -62.0 if wide >= deep else -28.0
    elevation = 38.0 if high < 0.2 * min(wide, deep) else 24.0
    return view(np.radians(azimuth), np.radians(elevation))


def fans(polygons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Triangles (F, 3) of polygons (P, l), whose last node may repeat, and of each its polygon, (F,)."""
    count = polygons.shape[1] - 2
    parts = [polygons[:, [0, k + 1, k + 2]] for k in range(count)]
    faces = np.stack(parts, axis=1).reshape(-1, 3)
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return faces[whole], np.repeat(np.arange(len(polygons)), count)[whole]


def sides(polygons: np.ndarray) -> np.ndarray:
    """The edges (K, 2) of polygons (P, l), each once."""
    pairs = np.stack([polygons, np.roll(polygons, -1, axis=1)], axis=2).reshape(-1, 2)
    return np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
