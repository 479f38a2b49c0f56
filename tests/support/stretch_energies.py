"""Energy densities of materials on paper, in principal stretches and 40 digits; stresses by differences.

    psi(s1, s2, s3)          each as its source writes it, with moduli by way of the bulk modulus
    P = d psi / dF           central differences of psi(F) at 40 digits with a step of 1e-12: 24 digits
    K : H = dP/dF : H        differences of those

Plane strain has s3 = 1; in plane stress s3 = t makes psi least (found by Newton's method in 40 digits), or is
1 / (s1 s2) for an incompressible sheet. Nothing here is shared with the engine or with the functions of the
plugin: invariants are made of stretches, those of eigenvalues by mpmath.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

Numbers = Mapping[str, float]
DIGITS = 40


def moduli(p: Numbers) -> tuple[Any, Any]:
    """mu and lambda = K - 2 mu / 3 with K = E / (3 (1 - 2 nu))."""
    E, nu = mpf(p["youngs_modulus"]), mpf(p["poissons_ratio"])
    mu = E / 2 / (1 + nu)
    return mu, E / 3 / (1 - 2 * nu) - 2 * mu / 3


def _neo_hookean(p: Numbers, *s: Any) -> Any:
    mu, lam = moduli(p)
    J = mp.fprod(s)
    return mu / 2 * (sum(one**2 for one in s) - 3) - mu * mp.log(J) + lam / 2 * mp.log(J) ** 2


def _st_venant_kirchhoff(p: Numbers, *s: Any) -> Any:
    mu, lam = moduli(p)
    green = [(one**2 - 1) / 2 for one in s]
    return mu * sum(one**2 for one in green) + lam / 2 * sum(green) ** 2


def _hencky(p: Numbers, *s: Any) -> Any:
    mu, lam = moduli(p)
    h = [mp.log(one) for one in s]
    return mu * sum(one**2 for one in h) + lam / 2 * sum(h) ** 2


def _linear_corotated(p: Numbers, *s: Any) -> Any:
    mu, lam = moduli(p)
    return mu * sum((one - 1) ** 2 for one in s) + lam / 2 * (sum(s) - 3) ** 2


def _fixed_corotated(p: Numbers, *s: Any) -> Any:
    mu, lam = moduli(p)
    return mu * sum((one - 1) ** 2 for one in s) + lam / 2 * (mp.fprod(s) - 1) ** 2


def _stable_neo_hookean(p: Numbers, *s: Any) -> Any:
    """Smith, de Goes & Kim 2018, equation 14, less its value at rest."""
    small_mu, small_lam = moduli(p)
    mu, lam = 4 * small_mu / 3, small_lam + 5 * small_mu / 6
    alpha = 1 + mu / lam - mu / (4 * lam)

    def energy(squares: Any, J: Any) -> Any:
        return mu / 2 * (squares - 3) + lam / 2 * (J - alpha) ** 2 - mu / 2 * mp.log(squares + 1)

    return energy(sum(one**2 for one in s), mp.fprod(s)) - energy(mpf(3), mpf(1))


def _dilation(p: Numbers, s: Any) -> Any:
    J = mp.fprod(s)
    return mpf(p.get("bulk_modulus", 0.0)) / 2 * ((J**2 - 1) / 2 - mp.log(J))


def _mooney_rivlin(p: Numbers, *s: Any) -> Any:
    b = [one / mp.cbrt(mp.fprod(s)) for one in s]
    shear = mpf(p["c10"]) * (sum(one**2 for one in b) - 3) + mpf(p["c01"]) * (sum(one**-2 for one in b) - 3)
    return shear + _dilation(p, s)


def _ogden(p: Numbers, *s: Any) -> Any:
    b, a = [one / mp.cbrt(mp.fprod(s)) for one in s], mpf(p["exponent"])
    return mpf(p["shear_modulus"]) / a * (sum(one**a for one in b) - 3) + _dilation(p, s)


ELASTIC = {"youngs_modulus": 1.7, "poissons_ratio": 0.3}
MOONEY = {"c10": 0.6, "c01": 0.2}
OGDEN = {"shear_modulus": 0.63, "exponent": 2.6}


@dataclass(frozen=True)
class Material:
    """A density by stretches, its parameters, and the plane: in strain, in stress, or incompressible."""

    density: Callable[..., Any]
    parameters: Numbers
    plane: str = "strain"

    @property
    def dimensions(self) -> tuple[int, ...]:
        return (2, 3) if self.plane == "strain" else (2,)

    @property
    def hooke(self) -> tuple[float, float]:
        """mu and lambda of small strains, in the plane as it is made plane."""
        p = self.parameters
        if "youngs_modulus" in p:
            E, nu = p["youngs_modulus"], p["poissons_ratio"]
            mu = E / (2.0 + 2.0 * nu)
            return mu, E * nu / (1.0 - nu**2) if self.plane == "stress" else E / (1 - 2 * nu) / 3 - 2 * mu / 3
        mu = 2.0 * (p["c10"] + p["c01"]) if "c10" in p else p["shear_modulus"] * p["exponent"] / 2.0
        if self.plane == "incompressible":
            return mu, 2.0 * mu
        lam = p["bulk_modulus"] - 2.0 * mu / 3.0
        return mu, 2.0 * mu * lam / (lam + 2.0 * mu) if self.plane == "stress" else lam

    def of_stretches(self, *s: Any) -> Any:
        """psi; two stretches are made three."""
        if len(s) == 3:
            return self.density(self.parameters, *s)
        if self.plane == "strain":
            return self.density(self.parameters, *s, mpf(1))
        if self.plane == "incompressible":
            return self.density(self.parameters, *s, 1 / mp.fprod(s))
        return self.density(self.parameters, *s, self._across(*s))

    def _across(self, *s: Any) -> Any:
        """The stretch that makes psi least, where its slope is zero."""

        def slope(t: Any) -> Any:
            return mp.diff(lambda one: self.density(self.parameters, *s, one), t)

        return mp.findroot(slope, mpf(1) / mp.fprod(s) ** mpf("0.3"), tol=1e-40)

    def of_deformation(self, F: Any) -> Any:
        """psi of a matrix of mpmath; the least stretch is negative where it mirrors."""
        squares = mp.eigsy(F.T * F, eigvals_only=True)
        s = sorted(mp.sqrt(one) for one in squares)
        s[0] *= mp.sign(mp.det(F))
        return self.of_stretches(*s)


MATERIALS: dict[str, Material] = {
    "stable_neo_hookean": Material(_stable_neo_hookean, ELASTIC),
    "hencky": Material(_hencky, ELASTIC),
    "hencky_plane_stress": Material(_hencky, ELASTIC, "stress"),
    "linear_corotated": Material(_linear_corotated, ELASTIC),
    "linear_corotated_plane_stress": Material(_linear_corotated, ELASTIC, "stress"),
    "fixed_corotated": Material(_fixed_corotated, ELASTIC),
    "fixed_corotated_plane_stress": Material(_fixed_corotated, ELASTIC, "stress"),
    "mooney_rivlin": Material(_mooney_rivlin, MOONEY | {"bulk_modulus": 20.0}),
    "mooney_rivlin_plane_stress": Material(_mooney_rivlin, MOONEY, "incompressible"),
    "ogden": Material(_ogden, OGDEN | {"bulk_modulus": 5.0}),
    "ogden_plane_stress": Material(_ogden, OGDEN, "incompressible"),
    "neo_hookean_plane_stress": Material(_neo_hookean, ELASTIC, "stress"),
    "stable_neo_hookean_plane_stress": Material(_stable_neo_hookean, ELASTIC, "stress"),
    "st_venant_kirchhoff_plane_stress": Material(_st_venant_kirchhoff, ELASTIC, "stress"),
    "compressible_mooney_rivlin_plane_stress": Material(
        _mooney_rivlin, MOONEY | {"bulk_modulus": 20.0}, "stress"
    ),
    "compressible_ogden_plane_stress": Material(_ogden, OGDEN | {"bulk_modulus": 5.0}, "stress"),
}
"""All isotropic materials that are functions of stretches, by the names of their energies."""


def stress(material: Material, F: np.ndarray) -> np.ndarray:
    """P by differences."""
    with mp.workdps(DIGITS):
        return _numbers(_stress(material, mp.matrix(F.tolist())))


def tangent(material: Material, F: np.ndarray, along: np.ndarray) -> np.ndarray:
    """dP/dF : H by differences."""
    with mp.workdps(DIGITS):
        at, move, h = mp.matrix(F.tolist()), mp.matrix(along.tolist()), mpf("1e-9")
        up, down = (_stress(material, at + sign * h * move) for sign in (1, -1))
        return _numbers((up - down) / (2 * h))


def energy(material: Material, F: np.ndarray) -> float:
    with mp.workdps(DIGITS):
        return float(material.of_deformation(mp.matrix(F.tolist())))


def _stress(material: Material, F: Any) -> Any:
    found, h = mp.zeros(F.rows), mpf("1e-12")
    for i in range(F.rows):
        for j in range(F.rows):
            step = mp.zeros(F.rows)
            step[i, j] = h
            up, down = (material.of_deformation(F + sign * step) for sign in (1, -1))
            found[i, j] = (up - down) / (2 * h)
    return found


def _numbers(matrix: Any) -> np.ndarray:
    return np.array(matrix.tolist(), dtype=float)
