"""A body under a load that grows by a factor, and constraints g(x) = 0: its equilibria, and their stability.

    dU/dx + G^T lambda = 0,  g = 0         K = d2U/dx2 + sum lambda_e d2g_e/dx2,   G = dg/dx (E, N)

    [ K  G^T ] [ dx      ]     [ dU/dx + G^T lambda ]
    [ G   0  ] [ dlambda ] = - [ g                  ]

Stable is what is positive definite along the constraints, on the kernel of G. Along the path of equilibria
G dx = 0, since the constraints do not depend on the load.

Decisions 0351.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import EnergyError, SingularSystemError
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ...solvers.linear_solver import direct
from ...solvers.saddle_point import SaddlePoint, negative_on_kernel
from ..constrained.dependent_constraints import row_sizes
from ..holds import Holds
from .loaded_body import BALANCED, HALVINGS, ITERATIONS, ROUNDINGS, LoadedBody, LoadedEquilibrium

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DEPENDENT = (
    "buckling: the constraints are dependent at a state, as rods in line between fixed ends are; let one end"
    " slide, or leave one of them out"
)


ASIDE = 1e-3
"""The violation, in parts of the largest coordinate, that a step which lowers forces may leave."""


class TangentFactors:
    """Factors of K along constraints. Raises `SingularSystemError` where the system is singular."""

    def __init__(self, stiffness: "csr_matrix", jacobian: "csr_matrix"):
        self._factors = SaddlePoint(stiffness, jacobian)
        self.negative = negative_on_kernel(stiffness, jacobian)

    def solve(self, right: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
        """x (N,) with G x = 0 and K x + G^T y = b; always to rounding."""
        return self._factors.solve(right)[0]

    def step(self, force: np.ndarray, values: np.ndarray) -> np.ndarray:
        """dx (N,) for the forces along the constraints and g."""
        return self._factors.solve(-force, -values)[0]


class ConstrainedBody(LoadedBody):
    """A `LoadedBody` under constraints over the same fields.

    Raises `EnergyError` where they leave nothing free.
    """

    def __init__(
        self,
        potential: Potential,
        names: Sequence[str],
        holds: Holds,
        loads: Collection[str],
        constraints: Constraints,
        t: float = 0.0,
    ):
        super().__init__(potential, names, holds, loads, t)
        self._equations = constraints.equations(names)
        if self._equations.count >= self.free.size:
            raise EnergyError(
                f"buckling: {self._equations.count} constraints leave nothing to buckle, got {self.free.size}"
                " free components; leave some of them out"
            )

    def imbalance(self, factor: float) -> float:
        return float(np.abs(self._balance(factor)[0]).max())

    def equilibrium(self, factor: float, start: np.ndarray) -> LoadedEquilibrium | None:
        """The equilibrium near `start`; None where Newton's method does not find one. Moves the fields.

        Raises `EnergyError` for dependent constraints.
        """
        self.x = start
        force, multipliers, off = self._balance(factor)
        for _ in range(ITERATIONS):
            if not (np.isfinite(force).all() and np.isfinite(off).all()):
                return None
            second = self._equations.hessian(multipliers)[self.free.rows][:, self.free.rows]
            stiffness = (self.stiffness(factor) + second).tocsr()
            try:
                factors = TangentFactors(stiffness, self._jacobian)
            except SingularSystemError:
                factors = None
            eps = np.finfo(np.float64).eps
            rounding = eps * float(abs(stiffness).dot(np.abs(self.x)).max(initial=0.0))
            rounding += eps * float(abs(self._jacobian.T).dot(np.abs(multipliers)).max(initial=0.0))
            enough = max(BALANCED * abs(factor) * self.push, ROUNDINGS * rounding)
            met = np.abs(off).max() <= ROUNDINGS * eps
            if met and np.abs(force).max() <= enough:
                return LoadedEquilibrium(factor, self.x, stiffness, factors, self._jacobian)
            if factors is None:
                return None
            found = self._stepped(factor, factors.step(force, self._values), enough, force, off)
            if found is None:
                return None
            force, multipliers, off = found
        return None

    def _balance(self, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The force along the constraints (N,), lambda of least squares (E,), and violations (E,)."""
        equations = self._equations
        equations.load(self.t)
        self._values, whole = equations.values(), equations.jacobian()
        self._jacobian = whole[:, self.free.rows].tocsr()
        gradient, sizes = self.gradient(factor), row_sizes(self._jacobian)
        rows = self._jacobian.multiply(1.0 / np.where(sizes > 0.0, sizes, 1.0)[:, None]).tocsr()
        factors = direct((rows @ rows.T).tocsr())
        if factors is None:
            raise EnergyError(DEPENDENT)
        multipliers = -factors.solve(rows @ gradient, 0.0)
        multipliers -= factors.solve(rows @ (gradient + rows.T @ multipliers), 0.0)
        force, multipliers = gradient + rows.T @ multipliers, multipliers / sizes
        return force, multipliers, np.abs(self._values) / (row_sizes(whole) * equations.extent())

    def _stepped(
        self, factor: float, step: np.ndarray, enough: float, force: np.ndarray, off: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Go along a step, halved until forces or violations fall; the balance there, None of none."""
        start, size, violated = self.x, float(np.abs(force).max()), float(off.max())
        for k in range(HALVINGS):
            self.x = start + 0.5**k * step
            found = self._balance(factor)
            there, now = float(np.abs(found[0]).max()), float(found[2].max())
            if (there < max(size, enough) and now <= max(violated, ASIDE)) or now < 0.5 * violated:
                return found
        return None
