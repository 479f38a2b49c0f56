"""The places between which a constrained run moves: the Jacobian there, and the systems of projections."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsolvedStepError
from ...steppers.implicit.moving_components import MovingComponents
from ...steppers.integrator import Integrator
from ...steppers.variational.variational_integrator import VariationalIntegrator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import SuperLU


class ConstraintPlaces:
    """Puts a constrained stepper's fields where a move was, and solves with G W G_0^T.

    components: positions and velocities as vectors (N,). weights (N,): inverse inertia, zero at held
    components; `weigh` takes the present inertia. inertia: in the place of the stepper's.
    """

    def __init__(self, stepper: Integrator | VariationalIntegrator, inertia: Mapping[str, Any] | None = None):
        assert stepper.constraints is not None
        self._inertia = inertia
        self.stepper, self.constraints = stepper, stepper.constraints
        self.fields = stepper.potential.fields
        self.components = MovingComponents(self.fields, stepper.motions, stepper.holds)
        self.equations = self.constraints.equations(self.components.positions)
        self.multipliers = [f"{name}.multiplier" for name in self.constraints.terms]
        self.weigh()

    @property
    def is_fixed(self) -> bool:
        """True where the inertia is not that of the stepper, so that no field has it."""
        return self._inertia is not None

    def weigh(self) -> None:
        """Take the present inertia."""
        self.masses = self.components.masses(self._inertia or self.stepper.inertia)
        self.weights = np.where(self.components.free, 1.0 / self.masses, 0.0)

    def put(self, vector: np.ndarray, names: Sequence[str]) -> None:
        """Set all components of positions or velocities, held ones too."""
        for name, part in self.components.parts(vector, names).items():
            self.fields[name].set(part.astype(self.fields[name].dtype))

    def at(self, x: np.ndarray) -> None:
        """Be at positions (N,)."""
        self.put(x, self.components.positions)

    def jacobian(self, x: np.ndarray, t: float) -> "csr_matrix":
        """Be at positions (N,); G (E, N) there at time t."""
        self.at(x)
        self.equations.load(t)
        return self.equations.jacobian()

    def factors(self, here: "csr_matrix", there: "csr_matrix") -> "SuperLU":
        """Factors of G W G_0^T (E, E), which is symmetric only where both are one.

        Raises `UnsolvedStepError` where it is singular.
        """
        from scipy.sparse import csc_matrix, diags_array
        from scipy.sparse.linalg import splu

        try:
            return splu(csc_matrix(here @ diags_array(self.weights) @ there.T))
        except RuntimeError:
            raise UnsolvedStepError("the constraints of a step are singular") from None
