"""Materials of particles: the energy of one particle by its deformation gradient, volume times density.

    corotated      mu |F - R|^2 + lambda/2 (J - 1)^2             F = R S, the polar decomposition
                   in the plane |F - R|^2 = |F|^2 - 2 sqrt(|F|^2 + 2 J) + 2, which needs no decomposition
    neo-Hookean    mu/2 (|F|^2 - d) - mu ln J + lambda/2 (ln J)^2
    fluid          K (J - ln J - 1),    whose Kirchhoff stress is K (J - 1) 1
    muscle         s a / 2 |F e|^2,     whose Kirchhoff stress is s a (F e) (F e)^T

F (n, d, d) [1], J = det F; V (n,) [m^3] the volume of a particle at rest; mu, lambda, K, s [Pa]; a (n,) [1]
the activation, and e (d,) [1] the direction of the fibre. The derivative with respect to F is the first
Piola-Kirchhoff stress times V: a `[[slope]]` gives it.

Stomakhin, Howes, Schroeder & Teran 2012, Proc. Symp. Comput. Animation, 25 (fixed corotated); Bonet &
Wood 2008, section 6.4 (neo-Hookean); Hu et al. 2019, ICRA, 6265 (muscles as a stress along the fibre).
"""

from dataclasses import replace
from math import inf
from typing import Any

from minusgrad.plugin import Node, Parameter, local_energy, ti

STRETCH, VOLUME = Node("1", ("d", "d")), Node("m^3")
PLANE = Node("1", (2, 2))
MODULUS = Parameter("Pa", bounds=(0.0, inf), reason="a solid resists")
LAME: dict[str, Any] = {
    "mu": replace(MODULUS, about="Lame's constant mu, the shear modulus."),
    "lam": replace(MODULUS, about="Lame's constant lambda."),
}


@local_energy("corotated", over="nodes", F=PLANE, volume=VOLUME, **LAME)
def corotated(F, volume, mu, lam):
    """Fixed corotated solid in the plane."""
    J, square = F[0].determinant(), (F[0] * F[0]).sum()
    apart = square - 2.0 * ti.sqrt(square + 2.0 * J) + 2.0
    return volume[0] * (mu * apart + 0.5 * lam * (J - 1.0) * (J - 1.0))


@local_energy("neo_hookean_particles", over="nodes", F=STRETCH, volume=VOLUME, **LAME)
def neo_hookean_particles(F, volume, mu, lam):
    """Compressible neo-Hookean solid with logarithms."""
    log_J = ti.log(F[0].determinant())
    stretch = (F[0] * F[0]).sum() - F[0].n
    return volume[0] * (0.5 * mu * stretch - mu * log_J + 0.5 * lam * log_J * log_J)


@local_energy("fluid", over="nodes", F=STRETCH, volume=VOLUME, bulk=replace(MODULUS, about="Bulk modulus."))
def fluid(F, volume, bulk):
    """Fluid that resists a change of volume alone."""
    J = F[0].determinant()
    return volume[0] * bulk * (J - ti.log(J) - 1.0)


@local_energy(
    "particle_muscle",
    over="nodes",
    F=STRETCH,
    volume=VOLUME,
    a=Node(),
    strength=Parameter("Pa", scale=1.0, about="Stress along the fibre at an activation of one."),
    fibre=Parameter("1", ("d",), about="Direction of the fibre at rest."),
)
def particle_muscle(F, volume, a, strength, fibre):
    """Fibre that shortens with its activation."""
    along = F[0] @ fibre
    return 0.5 * volume[0] * strength * a[0] * along.dot(along)
