"""Coulomb energy of point charges in a periodic box, by Ewald's splitting of 1 / r at a parameter alpha.

    ewald_direct        U = sum over pairs of k q_i q_j erfc(alpha r) / r, within a cutoff
    ewald_excluded      U = - sum over listed pairs of k q_i q_j erf(alpha r) / r
    ewald_scaled        U = sum over listed pairs of s k q_i q_j / r
    ewald_self          U = - sum over charges of k alpha q^2 / sqrt(pi)
    ewald_reciprocal    U = sum over modes m /= 0 of k w(m) exp(-pi^2 h^2 / alpha^2) |S(m)|^2 / (2 pi V h^2)
    ewald_background    U = - k pi S(0)^2 / (2 V alpha^2)

r = |x_i - x_j|, x (n, 3) [m], q (n,) [C], alpha [1/m], k = 1 / (4 pi eps0) [N m^2 C^-2]; V is the volume of
the box, h = sum over axes a of m_a a*_a the wave vector with the reciprocal vectors a*_a . box_b = delta_ab,
and S(m) the transform of the charges on a mesh (`mesh`), w(m) the weight of a mode: the moduli of the
B-splines, times the number of modes (m and -m) that it stands for. Listed pairs are those without
an interaction, which the sum over wave vectors contains, or with one times s (1-4 pairs of molecules), which
have both energies. The background is the uniform charge that
neutralises a box, as periodic sums have it. The surrounding medium is a conductor. Essmann et al. 1995,
J. Chem. Phys. 103, 8577, eqs. 2.1 to 2.5 and 4.7.
"""

from math import inf, pi, sqrt
from typing import Any

from minusgrad.plugin import Box, Datum, Node, Parameter, erf, erfc, local_energy, ti

from .box import volume, wave_vector

CONSTANT = Parameter("N m^2 C^-2", default="8.9875517862e9 N m^2 C^-2", bounds=(0.0, inf))
SPLITTING: dict[str, Any] = {
    "coulomb_constant": CONSTANT,
    "alpha": Parameter("m^-1", bounds=(0.0, inf), open=True),
}
PLACES: dict[str, Any] = {"x": Node("m", ("d",)), "charge": Node("C")}
MODES: dict[str, Any] = {"mesh_modes": Node("C", (2,)), "box": Box()}
SYMMETRIES = ("translation", "rotation")


@local_energy("ewald_direct", over="pairs", symmetries=SYMMETRIES, **PLACES, **SPLITTING)
def ewald_direct(x, charge, coulomb_constant, alpha):
    """Ewald's sum in space: the screened Coulomb energy of pairs."""
    r = (x[0] - x[1]).norm()
    return coulomb_constant * charge[0] * charge[1] * erfc(alpha * r) / r


@local_energy("ewald_excluded", over=2, symmetries=SYMMETRIES, **PLACES, **SPLITTING)
def ewald_excluded(x, charge, coulomb_constant, alpha):
    """Part of listed pairs, which do not interact, in Ewald's sum over wave vectors, subtracted."""
    r = (x[0] - x[1]).norm()
    return -coulomb_constant * charge[0] * charge[1] * erf(alpha * r) / r


@local_energy(
    "ewald_scaled", over=2, symmetries=SYMMETRIES, **PLACES, coulomb_constant=CONSTANT, factor=Parameter("1")
)
def ewald_scaled(x, charge, coulomb_constant, factor):
    """Coulomb energy of listed pairs at any distance, times a factor."""
    return factor * coulomb_constant * charge[0] * charge[1] / (x[0] - x[1]).norm()


@local_energy("ewald_self", over="nodes", charge=PLACES["charge"], **SPLITTING)
def ewald_self(charge, coulomb_constant, alpha):
    """Energy of each charge in its own screening cloud, which Ewald's sum over wave vectors contains."""
    return -coulomb_constant * alpha / sqrt(pi) * charge[0] * charge[0]


@local_energy(
    "ewald_reciprocal", over=1, **MODES, **SPLITTING, mode=Datum(shape=(3,), integer=True), weight=Datum()
)
def ewald_reciprocal(mesh_modes, box, coulomb_constant, alpha, mode, weight):
    """Ewald's sum over wave vectors, from the transform of charges on a mesh."""
    h = wave_vector(mode, box)
    square = h.dot(h)
    screened = ti.exp(-(pi * pi) / (alpha * alpha) * square) / (2.0 * pi * volume(box) * square)
    real, imaginary = mesh_modes[0][0], mesh_modes[0][1]
    return coulomb_constant * weight * screened * (real * real + imaginary * imaginary)


@local_energy("ewald_background", over=1, **MODES, **SPLITTING)
def ewald_background(mesh_modes, box, coulomb_constant, alpha):
    """Energy of the uniform background that neutralises the charges of a box."""
    total = mesh_modes[0][0]
    return -coulomb_constant * pi * total * total / (2.0 * volume(box) * alpha * alpha)
