"""MacNeal and Harder's beams and patch tests: distorted cells in bending, twisted and curved beams.

    straight   6 x 0.2 x 0.1, E = 1e7, nu = 0.3: cells in rectangles, in trapezoids, in parallelograms
    curved     a quarter of a ring, radii 4.12 and 4.32, thickness 0.1, E = 1e7, nu = 0.25
    twisted    12 x 1.1 x 0.32, turned by 90 degrees along its length, E = 29e6, nu = 0.22
    patches    u = 1e-3 (x + y / 2, y + x / 2), in space 1e-3 (2 x + y + z, x + 2 y + z, x + y + 2 z) / 2;
               E = 1e6, nu = 0.25

Beams are clamped at one end and bear a force of 1 that is spread over the other. Lengths in inches, forces in
pounds. MacNeal & Harder 1985, Finite Elem. Anal. Des. 1, 3.

Decisions 0169.
"""

from collections.abc import Mapping

import numpy as np

from minusgrad.plugin import PublishedValue, Workplace, published_value

from .. import generators
from ..generators import Cell
from ..materials.linear import linear, linear_plane_stress
from ..mesh import Mesh
from .linear_statics import LinearBody, holding, mapped

PAPER = "MacNeal & Harder 1985, Finite Elem. Anal. Des. 1, 3"
ALTAIR = "help.altair.com/hwsolvers/os/topics/solvers/os"
ANAX = "www.anaxsoft.com/contents/products/feeasdk/Examples/MembranePlatePatchTest.aspx"
FINE = "limits of fine meshes of solids, FinEALE (github.com/PetrKryslUCSD/FinEALE)"
Moduli = Mapping[str, float]
STRAIGHT: Moduli = {"youngs_modulus": 1e7, "poissons_ratio": 0.3}
CURVED: Moduli = {"youngs_modulus": 1e7, "poissons_ratio": 0.25}
TWISTED: Moduli = {"youngs_modulus": 29e6, "poissons_ratio": 0.22}
PATCH: Moduli = {"youngs_modulus": 1e6, "poissons_ratio": 0.25}
THEORY = {"x": 3e-5, "y": 0.4321, "z": 0.1081}
"""Displacements of the end of the straight beam by theory: along it, out of the plane, in the plane."""
SLANTS = {
    "rectangles": (0, 0, 0, 0, 0, 0, 0),
    "trapezoids": (0, 1, -1, 1, -1, 1, 0),
    "parallelograms": (0, 1, 1, 1, 1, 1, 0),
}
"""The tangent of the slant of the sections at x = 0, 1 .. 6, by the name of the cells."""

# Meshes


def straight(slant: str, parts: tuple[int, int, int], cell: Cell = "hexahedra", order: int = 2) -> Mesh:
    """The straight beam; its depth of 0.1 is along y, its height of 0.2 along z."""
    mesh = generators.box((6.0, 0.1, 0.2), parts, cell, order)
    lean = lambda x: np.interp(x, range(7), SLANTS[slant])  # noqa: E731
    return mapped(mesh, lambda x, y, z: (x + lean(x) * (z - 0.1), y, z))


def curved(parts: tuple[int, int, int], cell: Cell = "hexahedra", order: int = 2) -> Mesh:
    """The curved beam around the axis z, clamped at (0, 4.22), its end at (4.22, 0)."""
    mesh = generators.box((np.pi / 2, 0.2, 0.1), parts, cell, order)
    return mapped(mesh, lambda t, s, z: ((4.12 + s) * np.sin(t), (4.12 + s) * np.cos(t), z))


def twisted(parts: tuple[int, int, int], cell: Cell = "hexahedra", order: int = 2) -> Mesh:
    """The twisted beam around the axis x; its width is along y where it is clamped, along z at its end."""
    mesh = generators.box((12.0, 1.1, 0.32), parts, cell, order)

    def turned(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple:
        angle, y, z = np.pi * x / 24.0, y - 0.55, z - 0.16
        c, s = np.cos(angle), np.sin(angle)
        return x, y * c - z * s, y * s + z * c

    return mapped(mesh, turned)


def patch(d: int, order: int = 1) -> Mesh:
    """The patch of 5 quadrilaterals in a rectangle, or of 7 hexahedra in a cube."""
    corners, inner = (RECTANGLE, IN_RECTANGLE) if d == 2 else (CUBE, IN_CUBE)
    points, count = np.array([*corners, *inner]), 2**d
    sides = ((0, 1), (1, 2), (2, 3), (3, 0)) if d == 2 else CUBE_SIDES
    around = [[*side, *(count + k for k in (side[::-1] if d == 2 else side))] for side in sides]
    cells = np.array([*around, [*range(count, 2 * count)]], np.int32)
    if order == 2:
        points, cells = generators.with_middles(points, cells)
    return Mesh(points, cells)


RECTANGLE = ((0.0, 0.0), (0.24, 0.0), (0.24, 0.12), (0.0, 0.12))
IN_RECTANGLE = ((0.04, 0.02), (0.18, 0.03), (0.16, 0.08), (0.08, 0.08))
CUBE = tuple((x, y, z) for z in (0.0, 1.0) for x, y in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)))
IN_CUBE = (
    (0.249, 0.342, 0.192), (0.826, 0.288, 0.288), (0.850, 0.649, 0.263), (0.273, 0.750, 0.230),
    (0.320, 0.186, 0.643), (0.677, 0.305, 0.683), (0.788, 0.693, 0.644), (0.165, 0.745, 0.702),
)  # fmt: skip
CUBE_SIDES = ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
"""Corners of each side of the cube, from inside counterclockwise."""


def affine(points: np.ndarray) -> np.ndarray:
    """The displacement (n, d) of a patch at points (n, d)."""
    d = points.shape[1]
    return 1e-3 * points @ (0.5 * (np.eye(d) + np.ones((d, d))))


# Answers


def displacement_of_the_end(mesh: Mesh, moduli: Moduli, axis: str) -> float:
    """The mean displacement of the end `right` along an axis, by a force of 1 along it, `left` clamped."""
    body, force = LinearBody(mesh, linear, moduli), np.zeros(3)
    force["xyz".index(axis)] = 1.0
    load = body.facet_load("right", force)
    load /= load.sum()
    return float((body.displaced(holding(mesh, left="xyz"), load) * load).sum())


def stress_of_a_patch(d: int, order: int) -> np.ndarray:
    """P (p, d, d) at the quadrature points of a patch whose outer nodes follow the affine displacement."""
    mesh = patch(d, order)
    energy = linear_plane_stress if d == 2 else linear
    body = LinearBody(mesh, energy, PATCH)
    outside = on_the_boundary(mesh.points)
    target = np.where(outside[:, None], mesh.points + affine(mesh.points), mesh.points)
    body.fields["x"].set(target)
    held = np.repeat(outside[:, None], d, axis=1)
    free = np.flatnonzero(~held)
    force = -body.potential.gradient("x").ravel()[free]
    x = target.ravel().copy()
    x[free] += np.linalg.solve(body.potential.hessian("x")[free][:, free].toarray(), force)
    body.fields["x"].set(x.reshape(target.shape))
    return body.stress_at_points()


def on_the_boundary(points: np.ndarray) -> np.ndarray:
    """Whether each of the points (n, d) lies on the box around all."""
    low, high = points.min(axis=0), points.max(axis=0)
    return (np.abs(points - low) < 1e-12).any(axis=1) | (np.abs(points - high) < 1e-12).any(axis=1)


# Rows


@published_value(
    "MacNeal-Harder straight beam",
    area="elasticity",
    value=[1.0] * 9,
    tolerance=6e-3,
    why="the clamped end, where a beam has no Poisson contraction: 0.1 % in pull, 0.5 % in bending",
    source=f"{PAPER}, table 3; {ALTAIR}/straight_cantilever_beam_verification_r.htm",
    quick=True,
)
def bending_of_a_straight_beam(place: Workplace) -> list[float]:
    """Displacements over theory: pull, bending out of and in the plane, of each shape of cells."""
    return [
        displacement_of_the_end(straight(slant, (36, 2, 3)), STRAIGHT, axis) / THEORY[axis]
        for slant in SLANTS
        for axis in "xyz"
    ]


@published_value(
    "MacNeal-Harder curved beam",
    area="elasticity",
    value=[0.0885194, 0.498302],
    tolerance=[1e-4, 2e-3],
    why="48 x 4 x 2 cells; MacNeal & Harder's 0.08734 and 0.5022 are of a beam's theory, 1.3 % and 0.8 % off",
    source=f"{FINE}, Curved_beam; {PAPER}, table 3; {ALTAIR}/curved_cantilever_beam_verification_r.htm",
    unit="in",
    quick=True,
)
def bending_of_a_curved_beam(place: Workplace) -> list[float]:
    """Displacement of the end of a quarter of a ring, by a force across it in its plane and out of it."""
    mesh = curved((48, 4, 2))
    return [displacement_of_the_end(mesh, CURVED, axis) for axis in "xz"]


@published_value(
    "MacNeal-Harder twisted beam",
    area="elasticity",
    value=[1.753248e-3, 5.424535e-3],
    tolerance=[2e-6, 8e-6],
    why="36 x 6 x 2 cells; the paper has 1.754e-3 and 5.424e-3",
    source=f"{FINE}, pub_Twisted_beam; {PAPER}, table 3; {ALTAIR}/twisted_cantilever_beam_verification_r.htm",
    unit="in",
    quick=True,
)
def bending_of_a_twisted_beam(place: Workplace) -> list[float]:
    """Displacement of the end along a force in the plane of the clamped width, and across it."""
    mesh = twisted((36, 6, 2))
    return [displacement_of_the_end(mesh, TWISTED, axis) for axis in "yz"]


@published_value(
    "MacNeal-Harder patch tests",
    area="elasticity",
    value=[4000.0 / 3.0, 400.0, 2000.0, 400.0] * 2,
    tolerance=1e-6,
    why="rounding; displacements that are affine lie in the space of any cell",
    source=f"{PAPER}, table 2; {ANAX}",
    unit="psi",
    quick=True,
)
def stress_of_the_patches(place: Workplace) -> list[float]:
    """Direct and shear stress in plane stress and in space, by cells of order 1 and of order 2."""
    return [number for order in (1, 2) for d in (2, 3) for number in _farthest(stress_of_a_patch(d, order))]


def _farthest(stress: np.ndarray) -> tuple[float, float]:
    """Direct and shear stress, each where it is farthest from the exact one."""
    d = stress.shape[1]
    direct, shear = stress[:, range(d), range(d)].ravel(), stress[:, ~np.eye(d, dtype=bool)].ravel()
    exact = (4000.0 / 3.0 if d == 2 else 2000.0), 400.0
    one = [float(s[np.abs(s - e).argmax()]) for s, e in zip((direct, shear), exact, strict=True)]
    return one[0], one[1]


ROWS: list[PublishedValue] = [
    bending_of_a_straight_beam,
    bending_of_a_curved_beam,
    bending_of_a_twisted_beam,
    stress_of_the_patches,
]
