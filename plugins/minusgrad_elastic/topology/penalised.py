"""A linear elastic plate whose stiffness is that of its density to a power: SIMP.

    U(u) = sum over points of V psi,       psi = E(rho) / (2 (1 - nu^2)) (exx^2 + eyy^2 + 2 nu exx eyy
                                                  + (1 - nu) / 2 gxy^2)
    E(rho) = E_min + rho^p (E - E_min)

u (n, 2) [m] displacements, e their symmetric gradient at a point, gxy = 2 exy, in plane stress; rho [1] the
density of the point's cell, V [m^3] the volume of the point. p = 3 makes intermediate densities weak for
their weight, so that they vanish; E_min keeps empty cells from making the system singular
(Bendsoe & Sigmund 1999, Arch. Appl. Mech. 69, 635; "solid isotropic material with penalisation").
"""

from math import inf

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti


@local_energy(
    "penalised_plate",
    over=("cell", "node", "node", "node", "node"),
    u=Node("m", ("d",), scale=0.1, of="node"),
    density=Node(bounds=(0.0, 1.0), of="cell"),
    slopes=Datum("m^-1", (4, 2), about="Gradients of the four shape functions at a quadrature point."),
    volume=Datum("m^3", about="Volume of a quadrature point."),
    youngs_modulus=Parameter("Pa", bounds=(0.0, inf), open=True, about="Young's modulus of a full cell."),
    poissons_ratio=Parameter(
        "1",
        scale=0.3,
        default=0.3,
        bounds=(-1.0, 1.0),
        open=True,
        about="Poisson's ratio, between -1 and 1 in plane stress.",
    ),
    penalty=Parameter(
        "1", default=3.0, bounds=(1.0, 10.0), about="Exponent of the density in the stiffness."
    ),
    least=Parameter(
        "1",
        scale=1e-3,
        default=1e-9,
        bounds=(0.0, 1.0),
        open=True,
        about="Stiffness of an empty cell, relative to a full one.",
    ),
)
def penalised_plate(u, density, slopes, volume, youngs_modulus, poissons_ratio, penalty, least):
    """Plate in plane stress whose stiffness is its density to a power (SIMP); `least` is E_min / E."""
    xx, yy, xy = 0.0, 0.0, 0.0
    for a in ti.static(range(4)):
        xx += u[a + 1][0] * slopes[a, 0]
        yy += u[a + 1][1] * slopes[a, 1]
        xy += u[a + 1][0] * slopes[a, 1] + u[a + 1][1] * slopes[a, 0]
    nu = poissons_ratio
    stiff = youngs_modulus * (least + density[0] ** penalty * (1.0 - least))
    strain = xx * xx + yy * yy + 2.0 * nu * xx * yy + 0.5 * (1.0 - nu) * xy * xy
    return 0.5 * volume * stiff / (1.0 - nu * nu) * strain
