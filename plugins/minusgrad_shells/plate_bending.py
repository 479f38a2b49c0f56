"""Bending of sheets at their edges: of plates by their modulus and thickness, quadratic, by direction.

    plate       U(x) = sum over hinges of D/2 a (theta - theta_0)^2,       D = E t^3 / (12 (1 - nu^2))
    quadratic   U(x) = sum over hinges of D/2 |sum_k w_k x_k|^2 / (A_1 + A_2)
    fabric      U(x) = sum over hinges of (sqrt(D_1) c + sqrt(D_2) (1 - c))^2 / 2 a (theta - theta_0)^2

theta [rad] is the angle of the fold, theta_0 that at rest, a [1] = l^2 / (A_1 + A_2) with the length l [m] of
the edge and the areas A [m^2] of its triangles (`bending`); D [J] the stiffness of a plate with Young's
modulus E [Pa], Poisson's ratio nu, thickness t [m].

Quadratic: the weights w_k [1] are sums of cotangents of the triangles at rest, and the sum is l times the
jump of the slope across the edge: 2 l sin(theta / 2) while lengths stay. So U is quadratic in x, its Hessian
constant and positive semidefinite, and it is that of the hinge for small folds. It is for sheets that are
flat at rest and hardly stretch. Bergou, Wardetzky, Harmon, Zorin & Grinspun 2006, A quadratic bending model
for inextensible surfaces (SGP), 227, whose energy is 3 times this one: here U is D/2 k^2 per area of a sheet
bent to a cylinder, as of the hinges.

Fabric: D_1 is the stiffness of a strip along the warp, D_2 of one along the weft, and c = cos^2 of the angle
between the warp and the direction across the edge, at rest.

Decisions 0133.
"""

from math import inf
from typing import Any

import numpy as np

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti

from .membranes import POISSONS_RATIO, THICKNESS, YOUNGS_MODULUS

HINGE: dict[str, Any] = {
    "symmetries": ("translation", "rotation"),
    "x": Node("m", (3,)),
    "rest": Datum("rad", differentiable=True, about="Angle of the fold at rest; 0 where it is flat."),
    "aspect": Datum("1", about="Squared length of the edge at rest, over the area of both triangles."),
}


@ti.func
def fold_angle(x):
    """The angle of the fold between two triangles: a corner, the two ends of their edge, the other corner."""
    p, q, r = x[1] - x[0], x[2] - x[1], x[3] - x[2]
    far = q.cross(r)
    return ti.atan2(q.norm() * p.dot(far), -p.cross(q).dot(far))


@local_energy(
    "plate_bending",
    over=4,
    **HINGE,
    youngs_modulus=YOUNGS_MODULUS,
    poissons_ratio=POISSONS_RATIO,
    thickness=THICKNESS,
)
def plate_bending(x, youngs_modulus, poissons_ratio, thickness, rest, aspect):
    """Bending of a plate at the edge between two triangles, of its modulus and thickness."""
    cube = thickness * thickness * thickness
    stiffness = youngs_modulus * cube / (12.0 * (1.0 - poissons_ratio * poissons_ratio))
    fold = fold_angle(x) - rest
    return 0.5 * stiffness * aspect * fold * fold


@local_energy(
    "quadratic_bending",
    over=4,
    symmetries=("translation", "rotation"),
    x=Node("m", (3,)),
    stiffness=Parameter(
        "J",
        bounds=(0.0, inf),
        about="Stiffness D of the sheet: energy per squared fold; a force times a length.",
    ),
    weights=Datum("1", (3,), about="Weights of the first, third and last node, from the second one."),
    hinge_area=Datum("m^2", about="Area of both triangles at rest."),
)
def quadratic_bending(x, stiffness, weights, hinge_area):
    """Bending of a sheet that is flat at rest and hardly stretches: quadratic in the positions."""
    jump = weights[0] * (x[0] - x[1]) + weights[1] * (x[2] - x[1]) + weights[2] * (x[3] - x[1])
    return 0.5 * stiffness * jump.norm_sqr() / hinge_area


STIFFNESS_ALONG = "Stiffness of a strip along the {}: a force times a length."


@local_energy(
    "fabric_bending",
    over=4,
    **HINGE,
    stiffness_warp=Parameter(
        "J", bounds=(0.0, inf), open=True, reason="its root is read", about=STIFFNESS_ALONG.format("warp")
    ),
    stiffness_weft=Parameter(
        "J", bounds=(0.0, inf), open=True, reason="its root is read", about=STIFFNESS_ALONG.format("weft")
    ),
    warp_share=Datum("1", about="Squared cosine between the warp and the direction across the edge."),
)
def fabric_bending(x, stiffness_warp, stiffness_weft, rest, aspect, warp_share):
    """Bending of a fabric at the edge between two triangles, with two stiffnesses by direction."""
    root = ti.sqrt(stiffness_warp) * warp_share + ti.sqrt(stiffness_weft) * (1.0 - warp_share)
    fold = fold_angle(x) - rest
    return 0.5 * root * root * aspect * fold * fold


def hinge_weights(places: np.ndarray) -> np.ndarray:
    """w (H, 3) of the first, third and last node of hinges at rest, places (H, 4, 3); that of the second is
    minus their sum."""
    one, a, b, other = places.swapaxes(0, 1)
    at_a = _cotangents(a, b, one), _cotangents(a, b, other)
    at_b = _cotangents(b, a, one), _cotangents(b, a, other)
    return np.stack([at_a[0] + at_b[0], -(at_a[0] + at_a[1]), at_a[1] + at_b[1]], axis=1)


def _cotangents(at: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cotangents (H,) of angles at places (H, 3) between two others."""
    p, q = one - at, other - at
    return np.einsum("hi,hi->h", p, q) / np.linalg.norm(np.cross(p, q), axis=1)
