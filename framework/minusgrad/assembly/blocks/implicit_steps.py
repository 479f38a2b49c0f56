"""Steppers of the core that solve an equation or minimise in each step, and gradient flows."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field as Limits

from ...errors import EnergyError
from ...scene.records import Quantity, Record, quantities
from ...steppers.implicit.gradient_flow import GradientFlow
from ...steppers.implicit.implicit_integrator import SUBSTEPS, ImplicitIntegrator
from ...steppers.implicit.stage import IMPLICIT_SCHEMES, ImplicitScheme, newmark
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..contexts import StepperContext


class Implicit(Record):
    """An implicit integrator by its scheme; `dt` is the time step.

    `solver` of its systems: by their size, where it is "auto". A step that Newton's method does not solve is
    divided into 2, 4, ... and at most `substeps` parts.
    """

    scheme: ClassVar[str]
    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    solver: Literal["auto", "cholesky", "superlu", "pardiso", "multigrid", "block_jacobi"] = "auto"
    """Solver of the linear systems; "auto" chooses by their size."""
    substeps: Annotated[int, Limits(ge=1)] = SUBSTEPS
    """The most parts into which a step is divided that Newton's method does not solve."""

    def made_of(self) -> ImplicitScheme:
        """The scheme of its kind."""
        return IMPLICIT_SCHEMES[self.scheme]

    def make(self, context: StepperContext) -> ImplicitIntegrator:
        dt = quantities(self, context.units)["dt"]
        return ImplicitIntegrator(
            context.system, self.made_of(), dt, solver=self.solver, substeps=self.substeps
        )


class ImplicitEulerBlock(Implicit):
    """Implicit Euler: first order, stable at every dt, and damps vibrations that are faster than dt."""

    scheme = "implicit_euler"


class ImplicitMidpointBlock(Implicit):
    """The implicit midpoint rule: second order, symplectic, keeps angular momentum and the size of energy."""

    scheme = "implicit_midpoint"


class BDF2Block(Implicit):
    """BDF2, by the last two states: second order, and damps vibrations that are faster than dt."""

    scheme = "bdf2"


class NewmarkBlock(Implicit):
    """Newmark's scheme; `beta` 1/4 and `gamma` 1/2 are the average acceleration, of second order.

    Other values are taken where they are stable at every dt; `gamma` above 1/2 damps and is of first order.
    """

    scheme = "newmark"
    beta: float = 0.25
    """Part of dt^2 times the new acceleration in the new position; 1/4 is the average."""
    gamma: float = 0.5
    """Part of the new acceleration in the new velocity; above 1/2 it damps, to first order."""

    def made_of(self) -> ImplicitScheme:
        return newmark(self.beta, self.gamma)


class VariationalBlock(Record):
    """A variational integrator of the scene's Lagrangians: symplectic, and keeps momentum maps to rounding.

    `order`: 2, the midpoint rule, or 4, Galerkin's method with two points. `substeps`: the most parts of a
    step that Newton's method does not solve at once.
    """

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    order: Literal[2, 4] = 2
    """2: the midpoint rule; 4: Galerkin's method with two points."""
    substeps: Annotated[int, Limits(ge=1)] = SUBSTEPS
    """The most parts into which a step is divided that Newton's method does not solve."""

    def make(self, context: StepperContext) -> VariationalIntegrator:
        if context.system.lagrangian is None:
            raise EnergyError(
                "variational: has no Lagrangian, got energies alone; add a [[lagrangian]] block"
            )
        dt = quantities(self, context.units)["dt"]
        return VariationalIntegrator(context.system, dt, self.order, substeps=self.substeps)


class GradientFlowBlock(Record):
    """A gradient flow C dT/dt = -dU/dT, in implicit steps of length `dt`.

    `capacities`: for each field that flows, the field with the capacity C of each node, or one number.
    """

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    capacities: dict[str, str | float] = Limits(min_length=1)
    """For each field that flows, the field with the capacity C of each node, or one number."""
    scheme: Literal["implicit_euler", "crank_nicolson", "bdf2"] = "implicit_euler"
    """Implicit scheme: of first order, or of second order (the other two)."""
    solver: Literal["auto", "cholesky", "superlu", "pardiso", "multigrid", "block_jacobi"] = "auto"
    """Solver of the linear systems; "auto" chooses by their size."""

    def make(self, context: StepperContext) -> GradientFlow:
        dt, potential = quantities(self, context.units)["dt"], context.potential
        for name in self.capacities:
            potential.fields[name]
        return GradientFlow(context.system, self.capacities, dt, self.scheme, solver=self.solver)
