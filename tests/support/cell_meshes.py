"""Small meshes of every kind of cell, whose nodes are numbered by vtk's own tables of places."""

from collections.abc import Callable

import numpy as np
import vtk

from minusgrad_elastic import generators
from minusgrad_elastic.mesh import Mesh

VTK_CELLS: dict[tuple[int, int], Callable] = {
    (2, 3): vtk.vtkTriangle,
    (2, 6): vtk.vtkQuadraticTriangle,
    (2, 4): vtk.vtkQuad,
    (2, 8): vtk.vtkQuadraticQuad,
    (2, 9): vtk.vtkBiQuadraticQuad,
    (3, 4): vtk.vtkTetra,
    (3, 10): vtk.vtkQuadraticTetra,
    (3, 5): vtk.vtkPyramid,
    (3, 6): vtk.vtkWedge,
    (3, 8): vtk.vtkHexahedron,
    (3, 20): vtk.vtkQuadraticHexahedron,
    (3, 27): vtk.vtkTriQuadraticHexahedron,
}
"""vtk's classes by dimension and number of nodes."""
LINEAR = {6: 3, 8: 4, 9: 4, 10: 4, 20: 8, 27: 8}
"""The number of corners by the number of nodes of quadratic cells."""


def places(d: int, k: int) -> np.ndarray:
    """vtk's parametric places (k, d) of the nodes."""
    cell = VTK_CELLS[d, k]()
    return np.array(cell.GetParametricCoords()[: 3 * k]).reshape(k, 3)[:, :d]


def functions(d: int, k: int, at: np.ndarray) -> np.ndarray:
    """vtk's shape functions (k,) at a parametric place (d,)."""
    found = [0.0] * k
    VTK_CELLS[d, k]().InterpolateFunctions([*at, *[0.0] * (3 - d)], found)
    return np.array(found)


def mesh_of(d: int, k: int, parts: int = 2, size: float = 1.0) -> Mesh:
    """A square or cube of such cells: the parts along each axis, or cut into simplices and the like."""
    corners = _linear(d, k, parts, size)
    if k not in LINEAR or (d, k) in ((3, 6), (2, 4), (3, 8)):
        return corners
    of_corners = LINEAR[k]
    weights = np.array([functions(d, of_corners, at) for at in places(d, k)])
    nodes = np.einsum("ka,eai->eki", weights, corners.points[corners.cells]).reshape(-1, d)
    _, first, number = np.unique(np.round(nodes, 9), axis=0, return_index=True, return_inverse=True)
    return Mesh(nodes[first], number.reshape(-1, k).astype(np.int32))


def _linear(d: int, k: int, parts: int, size: float) -> Mesh:
    whole = (2, 4), (2, 8), (2, 9), (3, 8), (3, 20), (3, 27)
    if d == 2:
        shape = "quadrilaterals" if (d, k) in whole else "triangles"
        return generators.rectangle((size,) * 2, (parts,) * 2, shape)
    if k in (4, 10):
        return generators.box((size,) * 3, (parts,) * 3)
    hexes = generators.box((size,) * 3, (parts,) * 3, "hexahedra")
    if k == 6:  # each cut along a diagonal
        halves = [hexes.cells[:, [0, 1, 2, 4, 5, 6]], hexes.cells[:, [0, 2, 3, 4, 6, 7]]]
        return Mesh(hexes.points, np.concatenate(halves))
    if k == 5:  # a pyramid on each side, with the middle as apex
        middles = hexes.points[hexes.cells].mean(axis=1)
        apex = len(hexes.points) + np.arange(len(hexes.cells), dtype=np.int32)
        inward = ((0, 1, 2, 3), (7, 6, 5, 4), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
        cells = [np.concatenate([hexes.cells[:, side], apex[:, None]], axis=1) for side in inward]
        return Mesh(np.concatenate([hexes.points, middles]), np.concatenate(cells).astype(np.int32))
    return hexes


def mixed_plane() -> Mesh:
    """Four quadrilaterals on the left, eight triangles on the right of a square in 4 x 2 parts."""
    quads = generators.rectangle((1.0, 1.0), (4, 2), "quadrilaterals")
    triangles = generators.rectangle((1.0, 1.0), (4, 2))
    left, right = (m.points[m.cells].mean(axis=1)[:, 0] < 0.5 for m in (quads, triangles))
    return Mesh(quads.points, quads.cells[left], quads.bodies, more=(triangles.cells[~right],))


def mixed_space() -> Mesh:
    """Of 3 x 3 x 3 hexahedra the middle one as pyramids on its faces, and a column along z as wedges."""
    hexes = generators.box((1.0, 1.0, 1.0), (3, 3, 3), "hexahedra")
    middle, column = hexes.cells[13], hexes.cells[:3]
    apex = len(hexes.points)
    inward = ((0, 1, 2, 3), (7, 6, 5, 4), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
    pyramids = np.array([[*middle[list(side)], apex] for side in inward], np.int32)
    wedges = np.concatenate([column[:, [0, 1, 2, 4, 5, 6]], column[:, [0, 2, 3, 4, 6, 7]]])
    points = np.concatenate([hexes.points, hexes.points[middle].mean(axis=0, keepdims=True)])
    return Mesh(points, np.delete(hexes.cells, [0, 1, 2, 13], axis=0), hexes.bodies, more=(pyramids, wedges))


def inner(mesh: Mesh) -> np.ndarray:
    """The nodes (n,) that are not on a side of the square or cube."""
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    return ((mesh.points > low + 1e-9) & (mesh.points < high - 1e-9)).all(axis=1)


def shaken(mesh: Mesh, by: float, seed: int = 0) -> Mesh:
    """The mesh with its inner nodes moved at random, by up to this distance along each axis."""
    free, points = inner(mesh), mesh.points.copy()
    points[free] += by * np.random.default_rng(seed).uniform(-1.0, 1.0, (free.sum(), mesh.dimension))
    return Mesh(points, mesh.cells, mesh.bodies, more=mesh.more)
