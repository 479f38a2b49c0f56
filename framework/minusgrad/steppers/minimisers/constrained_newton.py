"""Newton's method under constraints g(z) = 0: steps to a stationary point of the Lagrangian U + lambda^T g.

    [ H + K  G^T ] [ d  ]     [ p_t ]            H = d2U/dz2,  K = sum of lambda_e d2g_e/dz2,  G = dg/dz
    [ G      0   ] [ mu ] = - [ 0   ]            p_t = dU/dz + G^T lambda,  lambda of least squares

then the step of `line_search` along d, 1 tried first; each trial point is moved onto g = 0
(`constraint_manifold`), so that U alone judges it. d is tangent to the constraints. The matrix H + K is taken
as it is while it is positive definite on the tangent space, where d then leads downhill. Else the Hessian of
each element of U is made positive semi-definite first (`Potential.hessian`), and then a multiple of the
identity is added, which is raised until the matrix is positive definite on the tangent space; where that does
not help, d is the slope p_t. Near a minimum the number of correct digits doubles with every step, because
H + K is the second derivative of U along the surface g = 0.
(Nocedal and Wright, Numerical Optimization, chapters 16 and 18; Waechter and Biegler 2006, Math. Program.
106, 25, section 3.1: the multiples.)

Decisions 0349.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import EnergyError, SingularSystemError
from ...solvers.saddle_point import SaddlePoint, definite_on_kernel
from ...solvers.sparse_system import FREE, SparseSystem
from ..systems.system import System
from .minimiser import Point, dot, largest
from .newton import Newton
from .outcomes import NO_TOLERANCES, Tolerances
from .scaled_hessian import scaled_hessian
from .soft_motions import SoftMotion
from .unknowns import Unknown

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHIFTS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0)
"""Multiples of the identity, in units of the largest entry of the matrix."""


class ConstrainedNewton(Newton):
    """Newton's method under the constraints of a system; the arguments are those of `Newton`.

    Raises `EnergyError` for a solver that cannot solve for multipliers: conjugate gradients need a positive
    definite matrix.
    """

    def __init__(
        self,
        objective: System,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        solver: str = "auto",
        **options: Any,
    ):
        if solver not in ("auto", "superlu"):
            raise EnergyError(
                f"newton: solver '{solver}' does not solve for the multipliers of constraints; use"
                ' solver = "superlu"'
            )
        self._used = ""
        super().__init__(objective, unknowns, tolerances, solver=solver, **options)

    @property
    def solver_used(self) -> str:
        return self._used

    def lagrangian_hessian(self, project: str | None = None) -> SparseSystem:
        """H + K (N, N) in scaled variables at the present fields; `project`: "clamp" or "abs", of H."""
        return self._linear_system(self._soft_motions(), project)

    def followed(self, way: Mapping[str, np.ndarray], changes: Mapping[str, np.ndarray]) -> np.ndarray:
        """The change of z (N,) with which an equilibrium follows a way of loads, supports and the time.

        The fields must be those of the equilibrium. changes: that of dU/dx along the way, by unknown field.
        Raises `SingularSystemError` where it is not unique.
        """
        assert self.manifold is not None
        self.evaluate()
        kept = self.manifold.constraints
        own = {n: step for n, step in way.items() if n in kept.reads or n.partition(".")[0] in kept.terms}
        own |= {"t": way["t"]} if "t" in way and kept.uses_time else {}
        more, off = self.manifold.pushed(own, self._multipliers(), self.t)
        right = self.coordinates.components({n: np.asarray(c) + more[n] for n, c in changes.items()})
        factors = SaddlePoint(self.lagrangian_hessian().matrix, self.manifold.jacobian)
        return factors.solve(-self.coordinates.scale * right, -off)[0]

    def _linear_system(self, motions: Sequence[SoftMotion], project: str | None) -> SparseSystem:
        assert self.manifold is not None
        found = scaled_hessian(self._curved, self.coordinates, motions, self.t, project)
        return self.manifold.curved(found, self._multipliers())

    def _parts(self, system: SparseSystem) -> list[np.ndarray]:
        return [np.arange(system.size)]  # constraints connect parts

    def _unresisted(self, system: SparseSystem, turned: np.ndarray) -> list[int]:
        """The motions that neither U nor a constraint resists."""
        assert self.manifold is not None
        free, jacobian = system.free_modes(turned), self.manifold.jacobian
        moved = np.abs(jacobian @ system.modes).max(axis=0, initial=0.0)
        most = abs(jacobian).sum(axis=1).max() * np.abs(system.modes).max(axis=0, initial=0.0)
        return [k for k in free if moved[k] <= FREE * most[k]]

    def _directions(self, here: Point) -> Iterator[np.ndarray]:
        """Directions downhill along the surface: by the Hessian as it is, by shifted ones, the slope."""
        assert self.manifold is not None
        motions, system = self._soft_motions(), self.lagrangian_hessian()
        rows = self._resisted(here, np.arange(len(here.z)), motions, system)
        jacobian = self.manifold.jacobian[:, rows]
        for matrix in self._matrices(system, rows):
            if not definite_on_kernel(matrix, jacobian):
                continue
            direction = np.zeros(len(here.z))
            try:
                factors = SaddlePoint(matrix, jacobian)
            except SingularSystemError:
                continue
            direction[rows], _ = factors.solve(-here.slope[rows])
            self._used = (
                f"{factors.name}: {len(rows):,} unknowns, {factors.count:,} multipliers; {factors.report}"
            )
            if np.isfinite(direction).all() and dot(here.slope, direction) < 0.0:
                yield direction
                self.manifold.load(self.t)
        yield -self.first / largest(here.slope) * here.slope

    def _matrices(self, system: SparseSystem, rows: np.ndarray) -> "Iterator[csr_matrix]":
        """H + K over some rows: as it is, projected by elements, and shifted more and more."""
        from scipy.sparse import eye_array

        yield system.restricted_to(rows).matrix
        projected = self.lagrangian_hessian("clamp").restricted_to(rows).matrix
        yield projected
        size = float(np.abs(projected.data).max(initial=0.0)) or 1.0
        for shift in SHIFTS:
            yield (projected + shift * size * eye_array(len(rows))).tocsr()
