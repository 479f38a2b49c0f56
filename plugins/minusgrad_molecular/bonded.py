"""Bonded energies of molecular force fields: harmonic bonds and angles, periodic torsions.

    harmonic_bond       U(x) = sum over bonds (i, j) of k/2 (|x_i - x_j| - r_0)^2
    harmonic_angle      U(x) = sum over angles (i, j, k) of k/2 (theta - theta_0)^2
    periodic_torsion    U(x) = sum over torsions (i, j, k, l) of k (1 + cos(n phi - delta))

x (n, d) [m], of torsions (n, 3); r_0 [m], theta_0 and delta [rad], n minima per turn; k is in N/m for
bonds, in J per rad^2 for angles, in J for torsions. All but x are data of the element. OpenMM User Guide 8,
chapter 19 (HarmonicBondForce, HarmonicAngleForce, PeriodicTorsionForce). An improper torsion is the same
function of four atoms that are no chain of bonds; the Urey-Bradley term is a harmonic bond between the ends
of an angle.

The functions are those of `spring`, `angle` and `dihedral` in `minusgrad_elastic`, which explains their
equations and their values where angles are flat. There the stiffness is a parameter that the scene sets;
here it is a datum, because each bond of a force field brings its own.

Decisions 0329.
"""

from typing import Any

from minusgrad.plugin import Datum, Node, local_energy
from minusgrad_elastic.angles import angle, dihedral
from minusgrad_elastic.springs import spring

INVARIANT: dict[str, Any] = {"symmetries": ("translation", "rotation")}
"""Of functions of distances and angles."""

harmonic_bond = local_energy(
    "harmonic_bond",
    over=2,
    **INVARIANT,
    x=Node("m", ("d",)),
    stiffness=Datum("N/m", differentiable=True, about="Stiffness of each bond."),
    rest=Datum("m", differentiable=True, about="Length of each bond at rest."),
)(spring.function)

harmonic_angle = local_energy(
    "harmonic_angle",
    over=3,
    **INVARIANT,
    x=Node("m", ("d",)),
    stiffness=Datum("J", differentiable=True, about="Stiffness of each angle, per squared radian."),
    rest=Datum("rad", differentiable=True, about="Angle at rest."),
)(angle.function)

periodic_torsion = local_energy(
    "periodic_torsion",
    over=4,
    **INVARIANT,
    x=Node("m", (3,)),
    stiffness=Datum("J", differentiable=True, about="Amplitude of each torsion."),
    multiplicity=Datum(integer=True, about="Number of minima per turn."),
    phase=Datum(
        "rad",
        differentiable=True,
        about="Phase delta: the energy is largest where the multiplicity times the angle is delta.",
    ),
)(dihedral.function)
