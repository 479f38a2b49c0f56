"""The surface g(z) = 0 on which a constrained minimiser moves: tangent space, multipliers, projection.

    p_t = p + G^T lambda,    (G G^T) lambda = -G p       the part of p = dU/dz along the surface, G p_t = 0
    z <- z - G^T (G G^T)^-1 g(z)                         onto the surface, until g is zero to rounding

p_t is the gradient of the Lagrangian U + lambda^T g, and lambda the multipliers of least squares; where
p_t = 0 they are those of the equilibrium, dU/dz + G^T lambda = 0. G = dg/dz (E, N) over the free components,
in scaled variables. Each trial point of a minimiser is moved onto the surface, so that U alone judges it:
there is no penalty to choose, and a full step is never refused because a straight step leaves a curved
surface (Maratos 1978). (Luenberger 1972, Manag. Sci. 18, 620; Absil, Mahony and Sepulchre 2008, Optimization
Algorithms on Matrix Manifolds, chapters 4 and 6.)

Decisions 0349.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.constraint import MULTIPLIER
from ...errors import EnergyError, RunFailedError, SingularSystemError
from ...potential.constraints.constraints import Constraints
from ...solvers.sparse_factors import SuperLU
from ...solvers.sparse_system import SparseSystem
from ..constrained.dependent_constraints import (
    NEAR,
    ROUGH,
    refuse_dependent,
    refuse_immovable,
    refuse_unreached,
    refuse_violated,
    row_sizes,
)
from ..constrained.levenberg_marquardt import approached
from .cell_variables import CellVariables
from .unknowns import ScaledVariables

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SOLVED, ROUNDED = 4.0, 64.0
"""A violation of so many eps ends a projection; and so does one of so many that no longer falls by half."""
MOST = 50
"""The most evaluations of a projection by Newton's steps."""


class ConstraintManifold:
    """g = 0 over the free components of a minimiser's unknowns, at the present fields and time t.

    accuracy: the violation at which a projection ends; None: the rounding of the fields. Raises `EnergyError`
    for unknowns with bounds, and for an accuracy below rounding.
    """

    def __init__(self, constraints: Constraints, variables: ScaledVariables, accuracy: float | None = None):
        _refuse_bounds(variables)
        self.constraints, self.variables = constraints, variables
        self.names = [field.name for field in variables.fields]
        self.equations = constraints.equations(self.names)
        self.precision = variables.fields[0].dtype.name
        self._eps = float(np.finfo(variables.fields[0].dtype).eps)
        if accuracy is not None and accuracy < ROUNDED * self._eps:
            raise EnergyError(
                f"tolerance `constraint`: is below the rounding of positions, got {accuracy:g}; give at least"
                f' {ROUNDED * self._eps:.2g}, or compute with precision = "f64"'
            )
        self.accuracy, self.trouble = accuracy, ""
        self._loaded: Any = None

    @property
    def count(self) -> int:
        """E: the number of equations."""
        return self.equations.count

    # At the present fields

    def load(self, t: float) -> None:
        """Evaluate g and G at the present fields, if they were written since, and the time t."""
        key = (self.constraints.writes, t)
        if key == self._loaded:
            return
        self.equations.load(t)
        self.values, self.whole = self.equations.values(), self.equations.jacobian()
        free = self.whole[:, self.variables.rows]
        self.jacobian = free.multiply(self.variables.scale[None, :]).tocsr()
        self._factors: SuperLU | None = None
        self._loaded = key

    def violations(self) -> np.ndarray:
        """|g_e| / (|G_e| X) (E,) where it was loaded (`Equations`)."""
        with np.errstate(all="ignore"):
            found = np.abs(self.values) / (row_sizes(self.whole) * self.equations.extent())
        return np.where(self.values == 0.0, 0.0, found)

    @property
    def violation(self) -> float:
        """The largest of `violations`."""
        return float(self.violations().max(initial=0.0))

    def multipliers(self, slope: np.ndarray) -> np.ndarray:
        """lambda (E,) of least squares, for a slope dU/dz (N,). Raises `SingularSystemError`."""
        first = -self._solved(self.jacobian @ slope)
        return first - self._solved(self.jacobian @ (slope + self.jacobian.T @ first))

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """The part (N,) of a vector that is along the surface."""
        return vector + self.jacobian.T @ self.multipliers(vector)

    def second_derivatives(self, multipliers: np.ndarray) -> "csr_matrix":
        """sum of lambda_e d2g_e/dz2 (N, N)."""
        rows, scale = self.variables.rows, self.variables.scale
        whole = self.equations.hessian(multipliers)[rows][:, rows]
        return whole.multiply(scale[:, None]).multiply(scale[None, :]).tocsr()

    def curved(self, system: SparseSystem, multipliers: np.ndarray) -> SparseSystem:
        """The system of a Hessian d2U/dz2, with that of lambda^T g added: the Lagrangian's."""
        matrix = (system.matrix + self.second_derivatives(multipliers)).tocsr()
        return SparseSystem(matrix, system.node, system.component, system.modes)

    def by_field(self, multipliers: np.ndarray) -> dict[str, np.ndarray]:
        """G^T lambda of all components, held ones too, by field; constraints exert the negative."""
        return self.equations.by_field(self.whole.T @ multipliers)

    def pushed(
        self, way: Mapping[str, np.ndarray], multipliers: np.ndarray, t: float
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The change of G^T lambda by unknown field, and that of g (E,), along a way of all that g reads.

        way: by field, by "constraint.argument", and "t"; lambda is fixed.
        """
        of_g, fields = self.constraints.potential, self.constraints.fields
        self.constraints.set_multipliers(multipliers)
        found = {name: np.zeros(fields[name].shape) for name in self.names}
        if not way:
            return found, np.zeros(self.count)
        for name in found:
            if name in of_g.reads:
                found[name] = of_g.product(way, name, t).astype(np.float64)
        weights = [f"{name}.{MULTIPLIER}" for name in self.constraints.terms]
        return found, np.concatenate([of_g.product(way, name, t).astype(np.float64) for name in weights])

    # Onto the surface

    def reach(self, t: float) -> bool:
        """Move the free components onto the surface; False, and `trouble` says why, if that fails.

        By Newton's steps, halved while they make the constraints' violations larger as a whole.
        """
        last, size, rows, z, step = np.inf, np.inf, np.ones(self.count), np.zeros(0), np.zeros(0)
        for _ in range(MOST):
            self.load(t)
            off = self.violations()
            worst, now = float(off.max(initial=0.0)), float(np.linalg.norm(self.values / rows))
            if not np.isfinite(worst):
                break
            if self._near(worst, last):
                self.trouble = ""
                return True
            if now < size or worst <= ROUNDED * self._eps:
                z = self.variables.scaled(self.variables.read())
                rows, last = row_sizes(self.whole), worst
                size = float(np.linalg.norm(self.values / rows))
                try:
                    step = self.jacobian.T @ self._solved(self.values)
                except SingularSystemError:
                    return self._failed(off, "no projection reaches it: equations became dependent")
            else:
                step = 0.5 * step
            self.variables.write(z - step)
        return self._failed(off, f"no projection reaches it, got g = {self.values[self._worst(off)]:.3g}")

    def reach_from_far(self, t: float) -> bool:
        """`reach`, and where Newton's steps lead nowhere, by damped ones (`levenberg_marquardt`)."""
        before = self.variables.scaled(self.variables.read())
        if self.reach(t):
            return True
        self.variables.write(before)
        return approached(_Linearised(self, t), self._eps) and self.reach(t)

    def _failed(self, off: np.ndarray, why: str) -> bool:
        self.worst = self.equations.row(self._worst(off))
        self.trouble = f"{self.worst}: {why}"
        return False

    @staticmethod
    def _worst(off: np.ndarray) -> int:
        """The number of the equation that is violated most."""
        return int(np.argmax(np.where(np.isfinite(off), off, np.inf)))

    def begin(self, t: float) -> None:
        """Refuse a start with dependent or violated constraints; move free components onto the surface.

        Raises `EnergyError` naming elements and nodes.
        """
        self.load(t)
        refuse_immovable(self.equations, row_sizes(self.whole), row_sizes(self.jacobian))
        self._refuse_dependent(t)
        off = self.violations()
        refuse_violated(self.equations, self.values, off, self.constraints.projected, self.precision)
        if not self.reach_from_far(t):
            refuse_unreached(self.worst.constraint, self.trouble)
        if (off > ROUGH[self.precision]).any():
            self._refuse_dependent(t)

    def _refuse_dependent(self, t: float) -> None:
        free = self.whole[:, self.variables.rows]
        refuse_dependent(self.equations, free, self.values, self.precision, lambda: self._nearby(t))

    def _nearby(self, t: float) -> "csr_matrix":
        """dg/dx where the free components are moved a little; the fields stay."""
        x, rng = self.variables.read(), np.random.default_rng(0)
        moved = NEAR * self.equations.extent() * rng.uniform(-1.0, 1.0, len(x))
        self.variables.put(x + moved)
        self.load(t)
        found = self.whole[:, self.variables.rows]
        self.variables.put(x)
        self.load(t)
        return found

    def _near(self, worst: float, last: float) -> bool:
        if self.accuracy is not None:
            return worst <= self.accuracy
        return worst <= SOLVED * self._eps or (worst <= ROUNDED * self._eps and worst > 0.5 * last)

    def _solved(self, right: np.ndarray) -> np.ndarray:
        """(G G^T)^-1 b. Raises `SingularSystemError`."""
        if self._factors is None:
            self._factors = _factors((self.jacobian @ self.jacobian.T).tocsr())
        return self._factors.solve(right, 0.0)


class _Linearised:
    """The surface of a manifold at the time t, for damped steps (`levenberg_marquardt.Linearised`)."""

    def __init__(self, manifold: ConstraintManifold, t: float):
        self._manifold, self._t = manifold, t

    def take(self) -> tuple[np.ndarray, np.ndarray, float]:
        one = self._manifold
        one.load(self._t)
        self._jacobian, self._values = one.jacobian, one.values
        self._z = one.variables.scaled(one.variables.read())
        self._matrix = (self._jacobian @ self._jacobian.T).tocsr()
        return self._values, np.sqrt(self._matrix.diagonal()), one.violation

    def step(self, damping: float) -> np.ndarray:
        from scipy.sparse import diags_array

        one = self._manifold
        factors = _factors((self._matrix + diags_array(damping * self._matrix.diagonal())).tocsr())
        one.variables.write(self._z - self._jacobian.T @ factors.solve(self._values, 0.0))
        one.load(self._t)
        return one.values


def _factors(matrix: "csr_matrix") -> SuperLU:
    """Factors of a matrix of the equations (E, E). Raises `SingularSystemError`."""
    if not np.isfinite(matrix.data).all():
        raise SingularSystemError("the Jacobian of the constraints is not finite")
    count = matrix.shape[0]
    return SuperLU(SparseSystem(matrix, np.arange(count), np.zeros(count, int), np.zeros((count, 0))))


def reached(manifold: ConstraintManifold, t: float) -> None:
    """Move the free components onto the surface. Raises `RunFailedError` where that fails."""
    if not manifold.reach_from_far(t):
        raise RunFailedError(f"{manifold.trouble}; the constraints cannot be met from here, start elsewhere")


def _refuse_bounds(variables: ScaledVariables) -> None:
    if isinstance(variables, CellVariables):
        raise EnergyError(
            "'box': is sought together with constraints, got both; leave the box, or the constraints, out"
        )
    bounded = np.isfinite(variables.lower) | np.isfinite(variables.upper)
    if bounded.any():
        names = [n for n, mask in variables.spread(bounded).items() if mask.any()]
        raise EnergyError(
            f"'{names[0]}': has bounds beside constraints, got both; leave the bounds out, or replace them by"
            " an energy that grows beyond them"
        )
