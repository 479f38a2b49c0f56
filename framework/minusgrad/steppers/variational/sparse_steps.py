"""Steps of all coordinates together: Newton's method with sparse second derivatives of the action.

Decisions 0376.
"""

import numpy as np

from ...errors import SingularSystemError, UnsolvedStepError
from ...solvers.unsymmetric_factors import UnsymmetricFactors
from .convergence import Convergence
from .discrete_action import DiscreteAction


class SparseSteps:
    """Solves the equations of a step (`discrete_action`) at free components."""

    def __init__(self, action: DiscreteAction):
        self.action = action
        self.iterations = 0
        self._free = np.tile(action.components.free, action.galerkin.degree)

    def solve(self, u: np.ndarray) -> np.ndarray:
        """The displacements (s, N) of the step that `action` has begun; `u`: where the search begins.

        Components that are held keep those of `u`. Raises `UnsolvedStepError` where it finds none.
        """
        action, free, u = self.action, self._free, u.copy()
        test = Convergence(action.components.fields.dtype)
        for _ in range(Convergence.MOST):
            self.iterations += 1
            left = action.residual(action.slopes(u)).reshape(-1)[free]
            if not np.isfinite(left).all():
                raise UnsolvedStepError(self._not_finite())
            try:
                change = UnsymmetricFactors(action.jacobian(action.blocks_at(u))[free][:, free]).solve(-left)
            except SingularSystemError as error:
                raise UnsolvedStepError(f"the equations of the step are singular: {error}") from error
            u.reshape(-1)[free] += change
            if test.reached(change, u.reshape(-1)[free], action.q):
                return u
        raise UnsolvedStepError(f"Newton's method does not converge in {Convergence.MOST} iterations")

    def _not_finite(self) -> str:
        """The first number that is not finite, in words."""
        for _, _, one in self.action.functions:
            if found := one.potential.first_nonfinite(self.action.t, one.read):
                return found
        return "the slopes of the action are not finite"
