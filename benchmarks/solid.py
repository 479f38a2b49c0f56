"""A box of neo-Hookean tetrahedra, bent and shaken, and what is right of it by NumPy in f64.

U = sum_e V (mu/2 (|F|^2 - 3) - mu ln J + lambda/2 (ln J)^2),    P = dpsi/dF = mu F + (lambda ln J - mu) F^-T
dP = mu dF + lambda tr(F^-1 dF) F^-T - (lambda ln J - mu) F^-T dF^T F^-T
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad_elastic.generators import box
from minusgrad_elastic.hyperelastic import neo_hookean

YOUNGS_MODULUS, POISSONS_RATIO = 1.0, 0.3


@dataclass(frozen=True)
class Solid:
    """x, along (n, 3): positions and a direction; cells (E, 4), gradients (E, 4, 3), volumes (E,)."""

    x: np.ndarray
    along: np.ndarray
    cells: np.ndarray
    gradients: np.ndarray
    volumes: np.ndarray

    @classmethod
    def of(cls, parts: tuple[int, int, int]) -> "Solid":
        """6 tetrahedra in each of so many parts of a box whose cells are cubes of side 1."""
        mesh = box([float(n) for n in parts], parts)
        rng = np.random.default_rng(0)
        x = mesh.points + 0.06 * rng.uniform(-1.0, 1.0, mesh.points.shape)
        x[:, 1] += 0.1 * np.sin(0.3 * x[:, 0])
        along = rng.normal(size=x.shape)
        return cls(x, along, mesh.cells, mesh.gradients(), mesh.volumes())

    def rounded(self, dtype: np.dtype) -> "Solid":
        """The same in numbers that the precision holds; weights still sum to zero."""
        gradients = self.gradients.astype(dtype).astype(float)
        gradients[:, 0] = -gradients[:, 1:].sum(axis=1)
        parts = {"x": self.x, "along": self.along, "volumes": self.volumes}
        return replace(
            self, gradients=gradients, **{k: v.astype(dtype).astype(float) for k, v in parts.items()}
        )

    def first(self, count: int) -> "Solid":
        """So many of its tetrahedra."""
        parts = {"cells": self.cells, "gradients": self.gradients, "volumes": self.volumes}
        return replace(self, **{name: values[:count] for name, values in parts.items()})

    @property
    def lame(self) -> tuple[float, float]:
        """mu and lambda."""
        mu = YOUNGS_MODULUS / (2.0 * (1.0 + POISSONS_RATIO))
        return mu, 2.0 * mu * POISSONS_RATIO / (1.0 - 2.0 * POISSONS_RATIO)

    def potential(self, precision: str) -> Potential:
        """Ours, of the shipped energy."""
        fields = Fields({"x": self.x}, precision=precision)
        term = bind(
            neo_hookean,
            fields,
            tuples=self.cells,
            data={"gradients": self.gradients, "volume": self.volumes},
            parameters={"youngs_modulus": YOUNGS_MODULUS, "poissons_ratio": POISSONS_RATIO},
        )
        return Potential(fields, [term])

    # What is right, by NumPy in f64

    @cached_property
    def _deformed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """F and its inverse (E, 3, 3), lambda ln J - mu (E,)."""
        mu, lam = self.lame
        F = self._spread(self.x)
        return F, np.linalg.inv(F), lam * np.log(np.linalg.det(F)) - mu

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """sum_a values_a (x) grad N_a"""
        return np.einsum("eai,eaj->eij", values[self.cells], self.gradients)

    def _gathered(self, P: np.ndarray) -> np.ndarray:
        """sum over the cells at a node of V P grad N"""
        forces = np.einsum("e,eij,eaj->eai", self.volumes, P, self.gradients)
        out = np.zeros_like(self.x)
        np.add.at(out, self.cells, forces)
        return out

    def energy(self) -> float:
        """U; infinite where a cell is inverted."""
        mu, lam = self.lame
        F = self._spread(self.x)
        J = np.linalg.det(F)
        if J.min() <= 0.0:
            return np.inf
        log = np.log(J)
        psi = 0.5 * mu * ((F**2).sum(axis=(1, 2)) - 3.0) - mu * log + 0.5 * lam * log**2
        return float(self.volumes @ psi)

    def gradient(self) -> np.ndarray:
        """dU/dx, (n, 3)"""
        F, inverse, k = self._deformed
        return self._gathered(self.lame[0] * F + k[:, None, None] * inverse.transpose(0, 2, 1))

    def product(self) -> np.ndarray:
        """(d2U/dx2) along, (n, 3)"""
        return self._gathered(self._changed(self._spread(self.along)))

    def _changed(self, D: np.ndarray) -> np.ndarray:
        """dP along dF = D."""
        mu, lam = self.lame
        _, inverse, k = self._deformed
        turned = inverse @ D
        trace = np.trace(turned, axis1=1, axis2=2)[:, None, None]
        return mu * D + (lam * trace * inverse - k[:, None, None] * turned @ inverse).transpose(0, 2, 1)

    def element_hessians(self) -> np.ndarray:
        """(E, 12, 12), rows by (node, component)."""
        E, found = len(self.cells), np.zeros((len(self.cells), 12, 12))
        for a in range(4):
            for i in range(3):
                D = np.zeros((E, 3, 3))
                D[:, i] = self.gradients[:, a]
                forces = np.einsum("e,eij,eaj->eai", self.volumes, self._changed(D), self.gradients)
                found[:, 3 * a + i] = forces.reshape(E, 12)
        return found
