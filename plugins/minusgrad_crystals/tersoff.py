"""The potential of Tersoff for tetrahedral solids: the strength of a bond depends on the bonds around it.

    U(x)    = 1/2 sum_i sum_{j != i} f(r_ij) [ A exp(-lambda1 r_ij) - b_ij B exp(-lambda2 r_ij) ]
    b_ij    = [ 1 + (beta zeta_ij)^n ]^(-1 / 2n)
    zeta_ij = sum_{k != i, j} f(r_ik) g(cos theta_jik) exp[ lambda3^3 (r_ij - r_ik)^3 ]
    g(s)    = 1 + c^2 / d^2 - c^2 / [ d^2 + (h - s)^2 ]
    f(r)    = 1 for r <= R,   1/2 + 1/2 cos( pi (r - R) / (S - R) ) for R < r < S,   0 for r >= S

x (n, 3) [m], r_ij = |x_i - x_j|, theta_jik the angle at i; zeta (directed pairs,) and the bond order b have
no unit, b_ij and b_ji differ. A, B [J]; lambda1, lambda2, lambda3 [1/m]; R, S [m]; beta, n, c, d, h numbers.
Tersoff 1988, Phys. Rev. B 38, 9902, for silicon (Si(C), called T3): A = 1830.8 eV, B = 471.18 eV, lambda1 =
2.4799, lambda2 = lambda3 = 1.7322 per angstrom, beta = 1.1e-6, n = 0.78734, c = 1.0039e5, d = 16.217, h =
-0.59825, R = 2.7, S = 3.0 angstrom. Tersoff 1989, Phys. Rev. B 39, 5566, has lambda3 = 0 beside them.

f has one continuous derivative at R and S: second derivatives jump there. As zeta goes to 0, because the last
neighbour of a bond leaves, d2b/dzeta2 has no limit, since n < 1. A bond without neighbours has b = 1.
"""

from dataclasses import replace
from math import inf, pi
from typing import Any

from minusgrad import Fields, bind
from minusgrad.plugin import (
    Compound,
    Cutoff,
    Node,
    Parameter,
    UnitSystem,
    UserError,
    local_energy,
    local_map,
    ti,
)

INNER = Parameter("m", bounds=(0.0, inf), scale=1.0, about="Distance up to which bonds are whole.")
OUTER = Parameter(
    "m",
    bounds=(0.0, inf),
    open=True,
    reason="no bond is shorter than 0",
    scale=2.0,
    about="Distance at which bonds end, the cutoff.",
)
INVERSE = Parameter("m^-1", bounds=(0.0, inf))
STRENGTH = Parameter("J", bounds=(0.0, inf))


@ti.func
def fading(r, R, S):
    """f(r)."""
    wave = 0.5 + 0.5 * ti.cos(pi * (r - R) / (S - R))
    return ti.select(r < R, 1.0, ti.select(r < S, wave, 0.0))


@local_map(
    "tersoff_zeta",
    gives="zeta",
    over="directed_triples",
    x=Node("m", ("d",)),
    lambda3=replace(INVERSE, about="Inverse length by which longer bonds weaken one another less."),
    c=Parameter(default=1.0039e5, about="Strength of the dependence on angles."),
    d=Parameter(
        default=16.217,
        bounds=(0.0, inf),
        open=True,
        reason="it divides",
        about="Width of the dependence on angles.",
    ),
    h=Parameter(default=-0.59825, about="Cosine of the preferred angle."),
    R=INNER,
    S=OUTER,
)
def tersoff_zeta(x, lambda3, c, d, h, R, S):
    """The share of the neighbour x[3] in zeta of the bond from x[1] to x[2]."""
    a, b = x[2] - x[1], x[3] - x[1]
    r, s = a.norm(), b.norm()
    off = h - a.dot(b) / (r * s)
    angular = 1.0 + (c * off / d) ** 2 / (d * d + off * off)  # g, without the difference of large numbers
    longer = lambda3 * (r - s)
    return fading(s, R, S) * angular * ti.exp(longer * longer * longer)


@local_energy(
    "tersoff_bond",
    over="directed_pairs",
    symmetries=("translation", "rotation"),
    x=Node("m", ("d",)),
    zeta=Node(of="pair", bounds=(0.0, inf)),
    A=replace(STRENGTH, about="Strength of the repulsion."),
    B=replace(STRENGTH, about="Strength of the attraction."),
    lambda1=replace(INVERSE, about="Inverse length of the repulsion."),
    lambda2=replace(INVERSE, about="Inverse length of the attraction."),
    beta=Parameter(default=1.1e-6, bounds=(0.0, inf), about="Strength of the influence of other bonds."),
    n=Parameter(
        default=0.78734,
        bounds=(0.0, inf),
        open=True,
        reason="it divides",
        about="Exponent of the influence of other bonds.",
    ),
    R=INNER,
    S=OUTER,
)
def tersoff_bond(x, zeta, A, B, lambda1, lambda2, beta, n, R, S):
    """Half of the energy of a bond, with the bond order of its first atom."""
    r = (x[1] - x[2]).norm()
    crowd = ti.select(zeta[0] > 0.0, (beta * zeta[0]) ** n, 0.0)
    order = (1.0 + crowd) ** (-0.5 / n)
    return 0.5 * fading(r, R, S) * (A * ti.exp(-lambda1 * r) - order * B * ti.exp(-lambda2 * r))


def tersoff(
    fields: Fields,
    *,
    S: float,
    skin: float | None = None,
    images: bool = False,
    name: str = "tersoff",
    units: UnitSystem | None = None,
    **parameters: Any,
) -> Compound:
    """The map and the energy of Tersoff's potential over fields x and box.

        silicon = tersoff(fields, A=..., B=..., lambda1=..., lambda2=..., lambda3=..., R=..., S=...)
        potential = Potential(fields, silicon.terms, silicon.maps)

    S: the cutoff. skin, images: of the list of neighbours (`Cutoff`). name: of the energy; the map and its
    field are called `name`_zeta. parameters: the others of both, in the units of `units`; beta, n, c, d and h
    are those of silicon by default. Raises `UserError` unless R < S.
    """
    given = parameters | {"S": S}
    if not given["R"] < S:
        raise UserError(f"{name}.R: must be below S = {S:g}, got {given['R']:g}; correct one of them")
    options: dict[str, Any] = {"cutoff": Cutoff(S, skin=skin, sharp=True, images=images), "units": units}
    zeta = f"{name}_zeta"
    around, bonds = ({a: v for a, v in given.items() if a in of.roles} for of in (tersoff_zeta, tersoff_bond))
    shares = bind(tersoff_zeta, fields, name=zeta, gives=zeta, parameters=around, **options)
    read = {"zeta": zeta}
    bond = bind(tersoff_bond, fields, name=name, renamed=read, parameters=bonds, **options)
    return Compound([bond], [shares])
