"""Fibres: the part of a transversely isotropic solid that pulls along a direction, beside a matrix.

    psi = k1 / (2 k2) (exp(k2 E^2) - 1),     E = kappa (I1 - 3) + (1 - 3 kappa) (I4 - 1)   where E > 0, else 0

F (d, d) [1], psi [J/m^3]; I1 = tr C, in the plane with F_33 = 1; I4 = |F a|^2 the squared stretch along the
direction a [1], whose length does not count; k1 [Pa] the stiffness, k2 [1] how it grows: k2 = 0 is the
standard reinforcing model k1/2 (I4 - 1)^2. kappa [1] is the dispersion, 0 for parallel fibres, 1/3 for none
preferred. Fibres that are pressed do nothing, so that the tangent jumps where E = 0: at rest it is the mean
of both sides. At small strains fibres add 4 k1 to the stiffness along a.

Gasser, Ogden & Holzapfel 2006, J. R. Soc. Interface 3, 15 (equations 5 and 8); with the whole I1 and I4 in
place of isochoric ones, which would let fibres of a compressible matrix shorten (Nolan et al. 2014, J. Mech.
Behav. Biomed. Mater. 39, 48). Several families of fibres are several blocks.
"""

from math import inf

from minusgrad.plugin import Parameter, local_energy, ti

from .roles import SOLID_CELLS, first_invariant

SMALL = 1.0
"""Below it exp(z) - 1 over z is a series: the quotient and its slopes lose digits."""
TERMS = 18
"""Of the series; the first that is left out is 1e-17."""


@ti.func
def growth(z):
    """(exp(z) - 1) / z of z >= 0."""
    near = z < SMALL
    far = ti.select(near, 1.0, z)
    series = 1.0
    for n in ti.static(range(TERMS)):
        series = 1.0 + z / (TERMS + 1.0 - n) * series
    return ti.select(near, series, (ti.exp(far) - 1.0) / far)


@local_energy(
    "fibres",
    over="tuples",
    **SOLID_CELLS,
    direction=Parameter("1", ("d",), about="Direction of the fibres at rest; its length does not count."),
    k1=Parameter(
        "Pa",
        bounds=(0.0, inf),
        reason="fibres pull",
        about="Stiffness of the fibres; at small strains they add 4 k1 along their direction.",
    ),
    k2=Parameter(
        "1",
        default=0.0,
        bounds=(0.0, inf),
        reason="fibres stiffen",
        about="How the stiffness grows with the strain; 0: not at all.",
    ),
    dispersion=Parameter(
        "1",
        scale=0.1,
        default=0.0,
        bounds=(0.0, 1.0 / 3.0),
        reason="a third has no direction left",
        about="Dispersion of directions: 0 for parallel fibres, 1/3 for none preferred.",
    ),
)
def fibres(F, volume, direction, k1, k2, dispersion):
    """Fibres along one direction (Gasser, Ogden and Holzapfel), beside a matrix: tissue, rubber."""
    along = F @ direction
    stretch = along.norm_sqr() / direction.norm_sqr() - 1.0
    E = ti.max(dispersion * (first_invariant(F, 1.0) - 3.0) + (1.0 - 3.0 * dispersion) * stretch, 0.0)
    return volume * 0.5 * k1 * E * E * growth(k2 * E * E)
