"""The equilibrium of a beam by scikit-fem and by TinyAD, each with Newton's method by hand."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import splu

from .beam import DECREASE, FELL, MOST, ROUNDING, Beam
from .harness.cases import BenchError
from .harness.compiled import pointers, with_tinyad
from .harness.peers import require


def by_scikit_fem(beam: Beam) -> Callable[[], float]:
    """The sag; the factors are SuperLU's, with the options of ours."""
    require("skfem")
    forms = ScikitFem(beam)

    def call() -> float:
        u, first = np.zeros(beam.forces.size), 0.0
        for _ in range(MOST):
            p = forms.slope(u)
            residual = float(np.abs(p).max())
            first = first or residual
            if residual <= FELL * first:
                return float(u.reshape(-1, 3)[beam.tip, 2].mean())
            u = forms.lower(u, forms.direction(u, p), p)
        raise BenchError("scikit-fem: no equilibrium")

    return call


class ScikitFem:
    """The basis, and the forms of neo-Hookean statics; u (3 n,)."""

    def __init__(self, beam: Beam):
        import skfem

        solid = beam.solid
        mesh = skfem.MeshTet(solid.x.T.copy(), solid.cells.T.astype(np.int64))
        self.basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP1()), intorder=1)
        self.free = np.flatnonzero(np.repeat(beam.free, 3))
        self.forces = beam.forces.ravel()
        self.energy_form, self.slope_form, self.hessian_form = rubber_forms(skfem, *solid.lame)

    def energy(self, u: np.ndarray) -> float:
        """U; NaN where a cell is inverted."""
        with np.errstate(invalid="ignore", divide="ignore"):
            strain = self.energy_form.assemble(self.basis, p=self.basis.interpolate(u))
        return float(strain - self.forces @ u)

    def slope(self, u: np.ndarray) -> np.ndarray:
        """dU/du of the free components."""
        return (self.slope_form.assemble(self.basis, p=self.basis.interpolate(u)) - self.forces)[self.free]

    def direction(self, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """-H^-1 p"""
        H = self.hessian_form.assemble(self.basis, p=self.basis.interpolate(u))[self.free][:, self.free]
        symmetric = {"SymmetricMode": True}
        factors = splu(H.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)
        return -factors.solve(p)

    def lower(self, u: np.ndarray, d: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Along d, halved until U falls."""
        U, s = self.energy(u), 1.0
        while s > 1e-10:
            there = u.copy()
            there[self.free] += s * d
            if self.energy(there) <= U + DECREASE * s * (p @ d) + ROUNDING * abs(U):
                return there
            s *= 0.5
        raise BenchError("scikit-fem: no step lowers U")


def rubber_forms(skfem: Any, mu: float, lam: float) -> tuple[Any, Any, Any]:
    """U and its first and second variation, of mu/2 (F:F - 3) - mu ln J + lambda/2 (ln J)^2."""
    from skfem.helpers import ddot, det, grad, inv, mul, trace, transpose

    one = np.eye(3)[:, :, None, None]

    @skfem.Functional
    def energy(w):
        F = grad(w["p"]) + one
        log = np.log(det(F))
        return 0.5 * mu * (ddot(F, F) - 3.0) - mu * log + 0.5 * lam * log * log

    @skfem.LinearForm
    def slope(v, w):
        F = grad(w["p"]) + one
        return ddot(mu * F + (lam * np.log(det(F)) - mu) * transpose(inv(F)), grad(v))

    @skfem.BilinearForm
    def hessian(u, v, w):
        F, dF = grad(w["p"]) + one, grad(u)
        G = inv(F)
        turned = transpose(mul(mul(G, dF), G))
        k = lam * np.log(det(F)) - mu
        return ddot(mu * dF + lam * trace(mul(G, dF)) * transpose(G) - k * turned, grad(v))

    return energy, slope, hessian


def by_tinyad(beam: Beam) -> Callable[[], float]:
    """The sag, by a program in C++ that is compiled here."""
    library = with_tinyad("tinyad_bend.cpp")
    library.beam.restype = ctypes.c_void_p
    solid = beam.solid
    weights = np.ascontiguousarray(solid.gradients[:, 1:].reshape(-1, 9))
    arrays = [
        np.ascontiguousarray(solid.x),
        np.ascontiguousarray(solid.cells, np.int32),
        weights,
        np.ascontiguousarray(solid.volumes),
        beam.free.astype(np.int32),
        np.ascontiguousarray(beam.forces),
    ]
    sizes = map(ctypes.c_int, (len(solid.x), len(solid.cells)))
    made = ctypes.c_void_p(library.beam(*sizes, *pointers(arrays), *map(ctypes.c_double, solid.lame)))
    out = np.zeros_like(solid.x)

    def call(keep: list[np.ndarray] = arrays) -> float:
        if library.bend(made, ctypes.c_double(FELL), MOST, *pointers([out])) < 0:
            raise BenchError("TinyAD: no equilibrium")
        return beam.sag(out)

    return call
