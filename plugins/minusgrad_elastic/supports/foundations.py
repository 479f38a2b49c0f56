"""Springs and dashpots between a side and the ground: elastic foundations, viscous boundaries.

    foundation      U = sum over facets of A (k_n u_n^2 + k_t |u_t|^2) / 2      k [N/m^3], per area
    side_spring     U = sum over facets of A/A_all (K_n u_n^2 + K_t |u_t|^2) / 2     K [N/m], of the side
    ground_spring   U = sum over nodes of (sum_a k_a (x_a - X_a)^2) / 2         k (d,) [N/m], of each node
    side_dashpot    R = sum over facets of A (c_n v_n^2 + c_t |v_t|^2) / 2      c [Pa s/m], per area

u = sum_a N_a (x_a - X_a) (d,) [m] the displacement from rest, v (d,) [m/s] the velocity at a point of a
facet, A [m^2] its area at rest, A_all that of all facets of the term; u_n = u . n along the normal n at rest,
u_t = u - u_n n. Half of the power that a dashpot takes is R. Springs pull and push; they keep their
directions.

A foundation with k_n alone is Winkler's (Hetenyi 1946, Beams on elastic foundation). A dashpot with
c_n = rho c_p and c_t = rho c_s takes in plane waves that meet the side at a right angle, without reflection
(Lysmer & Kuhlemeyer 1969, J. Eng. Mech. Div. ASCE 95, 859).

Decisions 0166.
"""

from math import inf

import numpy as np

from minusgrad.plugin import Datum, Node, Parameter, TermElements, local_energy, ti

SHAPES = Datum("1", ("k",), about="Shape functions at the point, one for each node.")
PATCH = Datum("m^2", about="Area at rest of a quadrature point of a facet.")
NORMAL = Datum("1", ("d",), about="Outward normal at rest, of size 1.")
PLACES = Datum("m", ("k", "d"), about="Places at rest of the nodes.", place=True)


@ti.func
def at_point(values, shares):
    """The value (d,) at a point of a facet, of those at its nodes."""
    found = shares[0] * values[0]
    for a in ti.static(range(1, len(values))):
        found += shares[a] * values[a]
    return found


@ti.func
def displacement(x, places, shares):
    """How far a point of a facet is from its place at rest (d,)."""
    found = 0.0 * x[0]
    for a in ti.static(range(len(x))):
        for i in ti.static(range(x[0].n)):
            found[i] += shares[a] * (x[a][i] - places[a, i])
    return found


@ti.func
def split_square(u, n, along, across):
    """along u_n^2 / 2 + across |u_t|^2 / 2."""
    normal = u.dot(n)
    return 0.5 * (along * normal * normal + across * (u.dot(u) - normal * normal))


def whole_area(given: TermElements) -> dict[str, np.ndarray]:
    """The area of all facets, at each of them (E,)."""
    patch = np.broadcast_to(given.data["patch"], len(given.nodes)).astype(np.float64)
    return {"whole": np.full(len(patch), patch.sum())}


def start_places(given: TermElements) -> dict[str, np.ndarray]:
    """Where nodes start (E, d)."""
    return {"anchor": given.fields["x"][given.nodes[:, 0]]}


@local_energy(
    "foundation",
    over="tuples",
    images="first",
    x=Node("m", ("d",)),
    patch=PATCH,
    shape_values=SHAPES,
    normal=NORMAL,
    places=PLACES,
    stiffness=Parameter("Pa/m", bounds=(0.0, inf), about="Stiffness along the normal: pressure per length."),
    tangential=Parameter(
        "Pa/m", default=0.0, bounds=(0.0, inf), about="Stiffness along the surface: stress per length."
    ),
)
def foundation(x, patch, shape_values, normal, places, stiffness, tangential):
    """Springs per area between a side and the ground (a Winkler foundation), at rest where the side is."""
    return patch * split_square(displacement(x, places, shape_values), normal, stiffness, tangential)


@local_energy(
    "side_spring",
    over="tuples",
    images="first",
    derive=whole_area,
    x=Node("m", ("d",)),
    patch=PATCH,
    whole=Datum("m^2", derived=True, about="Area of all facets (default: the sum of theirs)."),
    shape_values=SHAPES,
    normal=NORMAL,
    places=PLACES,
    stiffness=Parameter(
        "N/m",
        bounds=(0.0, inf),
        about="Stiffness of all facets along their normals; values by body count by their part of the area.",
    ),
    tangential=Parameter(
        "N/m", default=0.0, bounds=(0.0, inf), about="Stiffness of all its facets along them, as `stiffness`."
    ),
)
def side_spring(x, patch, whole, shape_values, normal, places, stiffness, tangential):
    """A spring between a side and the ground, shared by area, at rest where the side is."""
    u = displacement(x, places, shape_values)
    return patch / whole * split_square(u, normal, stiffness, tangential)


@local_energy(
    "ground_spring",
    over="nodes",
    derive=start_places,
    x=Node("m", ("d",)),
    anchor=Datum(
        "m",
        ("d",),
        derived=True,
        place=True,
        about="Where the spring is at rest (default: where the node starts).",
    ),
    stiffness=Parameter("N/m", ("d",), bounds=(0.0, inf), about="Stiffness of each node's spring, by axis."),
)
def ground_spring(x, anchor, stiffness):
    """A spring between each node and the ground, of a stiffness along each axis."""
    energy = 0.0
    for i in ti.static(range(x[0].n)):
        energy += 0.5 * stiffness[i] * (x[0][i] - anchor[i]) * (x[0][i] - anchor[i])
    return energy


@local_energy(
    "side_dashpot",
    over="tuples",
    unit="W",
    v=Node("m s^-1", ("d",)),
    patch=PATCH,
    shape_values=SHAPES,
    normal=NORMAL,
    damping=Parameter("Pa s/m", bounds=(0.0, inf), about="Damping along the normal: pressure per speed."),
    tangential=Parameter(
        "Pa s/m", default=0.0, bounds=(0.0, inf), about="Damping along the surface: stress per speed."
    ),
)
def side_dashpot(v, patch, shape_values, normal, damping, tangential):
    """Dashpots per area between a side and the ground: a viscous boundary that takes in waves."""
    return patch * split_square(at_point(v, shape_values), normal, damping, tangential)
