"""Torsion energies beside the periodic one: Ryckaert-Bellemans sums, and maps of two torsions.

    ryckaert_bellemans    U(x) = sum over torsions of sum over n = 0, ..., 5 of c_n (-cos phi)^n
    torsion_map           U(x) = sum over chains of five atoms of E_m(phi, psi)
                          E(phi, psi) = sum over k, l of C_kl B(N phi / (2 pi) - k) B(N psi / (2 pi) - l)

x (n, 3) [m], phi the dihedral angle of four nodes, psi that of the last four of five, 0 for cis; c (K, 6)
[J]. B is the cubic B-spline, and C (N, N) [J] the coefficients, once for each map, with which E takes the
values of a periodic grid, at phi = 2 pi k / N, psi = 2 pi l / N (`spline_coefficients`). That is the bicubic
patch whose slopes are those of periodic splines, as OpenMM has it (User Guide 8, chapter 19,
RBTorsionForce, CMAPTorsionForce). E has two continuous derivatives. Ryckaert & Bellemans 1975, Chem. Phys.
Lett. 30, 123; MacKerell, Feig & Brooks 2004, J. Comput. Chem. 25, 1400; de Boor 1978, A Practical Guide to
Splines. Where three nodes lie on a line there is no angle, and no derivative.

Decisions 0150.
"""

from math import pi

import numpy as np

from minusgrad.plugin import Datum, Node, Table, local_energy, ti

from .bonded import INVARIANT


@ti.func
def normal_products(p, q, r):
    """|p x q| |q x r| times the sine and the cosine of the dihedral angle of three edges."""
    far = q.cross(r)
    return q.norm() * p.dot(far), p.cross(q).dot(far)


@local_energy(
    "ryckaert_bellemans",
    over=4,
    **INVARIANT,
    x=Node("m", (3,)),
    coefficients=Datum(
        "J",
        (6,),
        differentiable=True,
        about="Coefficients c_0 to c_5 of powers of -cos(phi), of each torsion.",
    ),
)
def ryckaert_bellemans(x, coefficients):
    """Polynomial in the cosine of the dihedral angle of four nodes."""
    sine, cosine = normal_products(x[1] - x[0], x[2] - x[1], x[3] - x[2])
    c, s = coefficients, -cosine / ti.sqrt(sine * sine + cosine * cosine)
    return c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5]))))


@ti.func
def spline_weights(w):
    """The four B-splines that reach a point, which is w behind a knot."""
    v = 1.0 - w
    inner = 2.0 / 3.0 - w * w * (1.0 - 0.5 * w)
    outer = 2.0 / 3.0 - v * v * (1.0 - 0.5 * v)
    return ti.Vector([v * v * v / 6.0, inner, outer, w * w * w / 6.0])


@ti.func
def wrapped_cell(k, size):
    """k modulo the size of a map."""
    return ti.cast(k - size * ti.floor(k / size), ti.i32)


@local_energy(
    "torsion_map",
    over=5,
    **INVARIANT,
    x=Node("m", (3,)),
    which=Datum(integer=True, about="Number of the map of each chain, from 0."),
    size=Datum(integer=True, about="Number of grid points per turn of its map."),
    splines=Table(axes=3),
)
def torsion_map(x, which, size, splines):
    """A map of the two dihedral angles of a chain of five nodes, bicubic between the points of a grid."""
    p, q, r, s = x[1] - x[0], x[2] - x[1], x[3] - x[2], x[4] - x[3]
    phi_sine, phi_cosine = normal_products(p, q, r)
    psi_sine, psi_cosine = normal_products(q, r, s)
    u = ti.atan2(phi_sine, phi_cosine) * size / (2.0 * pi)
    v = ti.atan2(psi_sine, psi_cosine) * size / (2.0 * pi)
    k, l = ti.floor(u), ti.floor(v)  # noqa: E741
    of_phi, of_psi = spline_weights(u - k), spline_weights(v - l)
    m, total = ti.cast(which, ti.i32), 0.0
    for a in ti.static(range(4)):
        row = wrapped_cell(k + (a - 1.0), size)
        for b in ti.static(range(4)):
            total += of_phi[a] * of_psi[b] * splines[m, row, wrapped_cell(l + (b - 1.0), size)]
    return total


def spline_coefficients(values: np.ndarray) -> np.ndarray:
    """C (N, N) of a periodic grid of values (N, N): (C_(k-1) + 4 C_k + C_(k+1)) / 6 along both axes."""
    size = len(values)
    factors = (4.0 + 2.0 * np.cos(2.0 * pi * np.arange(size) / size)) / 6.0
    waves = np.fft.fft2(np.asarray(values, float))
    return np.fft.ifft2(waves / np.outer(factors, factors)).real
