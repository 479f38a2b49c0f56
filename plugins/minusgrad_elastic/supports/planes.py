"""Planes at any angle in which nodes of a side stay: symmetry planes, and rollers on slopes.

    g = n . (x - p) / |n| - s = 0

x (n, d) [m]; n (d,) a normal, of any length; p (d,) [m] a point of the plane, for each node where it starts
unless it is given; s [m] the distance by which the plane has moved along its normal. The multiplier of a node
is the force along n with which it presses on the plane [N].

Decisions 0165.
"""

from math import inf

import numpy as np

from minusgrad.plugin import Datum, EnergyError, Node, Parameter, TermElements, constraint


def start_places(given: TermElements) -> dict[str, np.ndarray]:
    """The points (E, d) where nodes start."""
    return {"point": given.fields["x"][given.nodes[:, 0]]}


def kept_planes(values):
    """Normals, points and distances of the planes; see `constraint`."""
    if not np.linalg.norm(values["normal"], axis=1).all():
        raise EnergyError("normal: must not be zero, got a vector of length 0; give the plane a direction")
    return values["normal"], values["point"], values["distance"]


@constraint(
    "symmetry_plane",
    over="nodes",
    derive=start_places,
    planes=kept_planes,
    x=Node("m", ("d",)),
    normal=Parameter("1", ("d",), about="Normal of the plane; its length does not count."),
    point=Datum(
        "m",
        ("d",),
        derived=True,
        place=True,
        about="A point of the plane (default: of each node the place where it starts).",
    ),
    distance=Parameter(
        "m", default=0.0, bounds=(-inf, inf), about="Distance by which the plane has moved along its normal."
    ),
)
def symmetry_plane(x, normal, point, distance):
    """Nodes stay in a plane with this normal: symmetry, rollers; its multiplier is the force along it."""
    return normal.normalized().dot(x[0] - point) - distance
