"""Thin shells: stretching of triangles in space, bending at the edges between them.

    stretching  U(x) = sum over triangles of A t (mu E:E + lambda*/2 (tr E)^2),   E = (F^T F - I) / 2
    bending     U(x) = sum over hinges of D/2 l^2 / (A_1 + A_2) (theta - theta_0)^2
                theta = atan2(|q| p . (q x r), -(p x q) . (q x r)),    p, q, r from node to node

x (n, 3) [m]; F (3, 2) = sum_a x_a (x) grad N_a along two axes in the triangle at rest; A [m^2], t [m]; Lame's
mu and lambda* = E nu / (1 - nu^2) of plane stress, E [Pa]. theta [rad] is the angle by which two triangles
with a common edge of length l at rest are folded, 0 in one plane; D [J] = E t^3 / (12 (1 - nu^2))
is the stiffness of the shell. A sheet that is bent to a cylinder of curvature k has U = D/2 k^2 per area in
the limit, where edges run along the cylinder or triangles are equilateral (Seung & Nelson 1988, Phys. Rev. A
38, 1005); on other meshes, and where both curvatures are there, the limit depends on the triangles. Source of
the form: Grinspun, Hirani, Desbrun & Schroeder 2003, Discrete shells (SCA), 62.
"""

from math import inf
from typing import Any

import numpy as np

from minusgrad.plugin import Datum, Linear, Node, Parameter, local_energy, ti
from minusgrad_elastic.hyperelastic import SOLID
from minusgrad_elastic.materials.roles import plane_stress_lame

SHELL: dict[str, Any] = SOLID | {
    "x": Node("m", (3,)),
    "gradients": Datum("m^-1", ("k", 2), about="Gradients of the shape functions in the triangle at rest."),
    "F": Linear("x", "gradients"),
    "volume": Datum("m^3", about="Area times thickness at rest."),
    "poissons_ratio": Parameter(
        "1",
        scale=0.3,
        bounds=(-1.0, 0.5),
        open="below",
        reason="the bulk modulus is positive",
        about="Poisson's ratio, above -1 and up to 0.5, incompressible.",
    ),
}


@local_energy("shell_stretching", over="tuples", **SHELL)
def shell_stretching(F, volume, youngs_modulus, poissons_ratio):
    """Stretching of a thin shell in plane stress, linear in Green's strain: for small strains."""
    mu, lam = plane_stress_lame(youngs_modulus, poissons_ratio)
    E = 0.5 * (F.transpose() @ F - ti.Matrix.identity(ti.f64, 2))
    return volume * (mu * (E * E).sum() + 0.5 * lam * E.trace() * E.trace())


@local_energy(
    "shell_bending",
    over=4,
    symmetries=("translation", "rotation"),
    x=Node("m", (3,)),
    stiffness=Parameter(
        "J",
        bounds=(0.0, inf),
        about="Stiffness D of the shell, E t^3 / (12 (1 - nu^2)): energy per squared fold.",
    ),
    rest=Datum("rad", differentiable=True, about="Angle of the fold at rest; 0 where it is flat."),
    aspect=Datum("1", about="Squared length of the edge at rest, over the area of both triangles."),
)
def shell_bending(x, stiffness, rest, aspect):
    """Bending of a thin shell at the edge between two triangles, harmonic in the angle of the fold."""
    p, q, r = x[1] - x[0], x[2] - x[1], x[3] - x[2]
    far = q.cross(r)
    fold = ti.atan2(q.norm() * p.dot(far), -p.cross(q).dot(far)) - rest
    return 0.5 * stiffness * aspect * fold * fold


def fold_angles(places: np.ndarray) -> np.ndarray:
    """theta (H,) of nodes at these places (H, 4, 3)."""
    p, q, r = np.diff(places, axis=1).swapaxes(0, 1)
    far = np.cross(q, r)
    sine = np.linalg.norm(q, axis=1) * np.einsum("hi,hi->h", p, far)
    return np.arctan2(sine, -np.einsum("hi,hi->h", np.cross(p, q), far))
