"""Effective Born radii by Onufriev, Bashford and Case: maps from the positions to a radius of each atom.

    reduced_radius      rho_i = R_i - offset
    born_descreening    I_i   = 1/2 sum_{j != i} H(r_ij, rho_i, s_j),    s_j = S_j rho_j
    obc_radius          1/B_i = 1/rho_i - tanh(alpha psi - beta psi^2 + gamma psi^3) / R_i,    psi = I_i rho_i

R_i (`born_radius`) [m] is the intrinsic radius of an atom, S_i (`born_scale`) its scale factor, rho [m] the
reduced radius, I (`descreening`) [1/m], B (`effective_radius`) [m]; r_ij = |x_i - x_j|, x (n, d) [m]. H / 2
is the integral of 1 / (4 pi t^4) over the ball of radius s around atom j, outside of the ball of radius rho
around atom i, t being the distance from atom i; with u = 1 / (r + s) and L = ln(|r - s| u) / (2 r):

    H = 0                                                              r + s <= rho, j is inside of i
        1/rho - u + (r^2 - s^2) (u^2 - 1/rho^2) / (4 r) + ln(rho u) / (2 r)     |r - s| < rho < r + s
        s / (r^2 - s^2) + L                                            r - s >= rho, they are apart
        s / (r^2 - s^2) + L + 2 / rho                                  s - r >= rho, i is inside of j

Hawkins, Cramer & Truhlar 1996, J. Phys. Chem. 100, 19824, with the last row by Ponder (TINKER, OpenMM);
Onufriev, Bashford & Case 2004, Proteins 55, 383: alpha, beta, gamma = 1, 0.8, 4.85 (OBC II, OpenMM's), or
0.8, 0, 2.909125 (OBC I); offset = 0.09 angstrom. H and its slopes are continuous, its second derivatives
jump where two balls begin to touch from outside or inside. Atoms at one place have no direction, and no
value.

Decisions 0153.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_map, ti

RADIUS = Node("m", bounds=(0.0, inf), open=True, reason="it is the radius of an atom")
REDUCED = Node("m", bounds=(0.0, inf), open=True, reason="an atom's radius is above the offset")


@ti.func
def hidden_share(r, rho, s):
    """H / 2: what a ball of radius s at the distance r takes from 1 / rho."""
    meet = ti.abs(r - s) < rho
    gap = ti.select(meet, rho, r - s)
    u = 1.0 / (r + s)
    across = 1.0 / rho - u + 0.25 * (r - s) * (r + s) / r * (u * u - 1.0 / (rho * rho))
    apart = s * u / gap + ti.select(rho <= s - r, 2.0 / rho, 0.0)
    whole = ti.select(meet, across, apart) + 0.5 * ti.log(ti.abs(gap) * u) / r
    return ti.select(rho < r + s, 0.5 * whole, 0.0)


@local_map(
    "reduced_radius",
    over="nodes",
    gives="reduced_radius",
    unit="m",
    born_radius=RADIUS,
    offset=Parameter(
        "m",
        default="0.09 angstrom",
        scale=0.1,
        bounds=(0.0, inf),
        about="Length by which intrinsic radii are reduced.",
    ),
)
def reduced_radius(born_radius, offset):
    """The intrinsic radius of an atom without the offset."""
    return born_radius[0] - offset


@local_map(
    "born_descreening",
    over="pairs",
    gives="descreening",
    unit="m^-1",
    x=Node("m", ("d",)),
    reduced_radius=REDUCED,
    born_scale=Node(bounds=(0.0, inf)),
)
def born_descreening(x, reduced_radius, born_scale):
    """The share of the second atom in the sum of the first one: how much of its solvent it displaces."""
    scaled = born_scale[1] * reduced_radius[1]
    return hidden_share((x[0] - x[1]).norm(), reduced_radius[0], scaled)


@local_map(
    "obc_radius",
    over="nodes",
    gives="effective_radius",
    unit="m",
    descreening=Node("m^-1"),
    reduced_radius=REDUCED,
    born_radius=RADIUS,
    alpha=Parameter(default=1.0, about="Factor of psi."),
    beta=Parameter(default=0.8, about="Factor of -psi^2."),
    gamma=Parameter(default=4.85, about="Factor of psi^3."),
)
def obc_radius(descreening, reduced_radius, born_radius, alpha, beta, gamma):
    """The effective Born radius of an atom: the larger, the deeper it lies in the molecule."""
    psi = descreening[0] * reduced_radius[0]
    buried = ti.tanh(psi * (alpha - psi * (beta - psi * gamma)))
    return 1.0 / (1.0 / reduced_radius[0] - buried / born_radius[0])
