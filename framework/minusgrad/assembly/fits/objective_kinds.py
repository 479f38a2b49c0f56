"""The function that a fit minimises: the loss of a run, or that of an equilibrium, from `[fit] of`."""

from dataclasses import dataclass

from ...adjoint.equilibria.equilibrium import Equilibrium
from ...adjoint.rollout import Rollout
from ...errors import EnergyError
from ...scene.fit_table import FitTable
from ...steppers.integrator import Integrator
from ...steppers.minimisers.continuation.followed_load import FollowedLoad
from ...steppers.minimisers.minimiser import Minimiser
from ...steppers.minimisers.newton import Newton
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..built_scene import BuiltScene
from .losses import FitLosses, Moment, RunSteps


@dataclass(frozen=True)
class FitFunction:
    """Losses, their function of the parameters, and in words how its derivatives are computed."""

    observed: FitLosses
    function: Rollout | Equilibrium
    plan: str


class OfRun:
    """The losses of a run. Raises `SceneError` if the runs of the scene's stepper have no derivatives."""

    def __init__(self, simulation: BuiltScene, table: FitTable):
        self.simulation, self.table = simulation, table
        with simulation.placed(("stepper", "kind")):
            self.stepper = simulation.stepper.differentiable()
            if isinstance(self.stepper, Integrator | VariationalIntegrator):
                self.stepper.give_back_start()  # each run of the fit projects it
        self.clock = RunSteps(self.stepper.dt, simulation.scene.run.steps, simulation.units.symbol("s"))

    def function(self, observed: FitLosses, share: int = 1) -> FitFunction:
        """The losses as a function of the parameters, with one of `share` parts of the memory."""
        with self.simulation.placed(("fit",)):
            rollout = Rollout(self.stepper, observed.losses, observed.last, self.table.budget // share)
        return FitFunction(observed, rollout, str(rollout.plan))


class OfEquilibrium:
    """The losses of an equilibrium. Raises `SceneError` for a stepper that searches for none."""

    def __init__(self, simulation: BuiltScene, table: FitTable):
        self.simulation, search = simulation, simulation.stepper
        with simulation.placed(("stepper", "kind")):
            if isinstance(search, FollowedLoad):
                raise EnergyError(
                    "load_steps: a fit finds each equilibrium in one search, which begins at the last one,"
                    " got some; leave `load_steps` out"
                )
            if not isinstance(search, Minimiser):
                raise EnergyError(
                    f"stepper '{search.name}': moves in time, and finds no equilibrium; use a minimiser, such"
                    ' as "newton", or [fit] of = "run"'
                )
        self.search = search
        self.clock = Moment(search.time, simulation.units.symbol("s"))

    def function(self, observed: FitLosses, share: int = 1) -> FitFunction:
        """The losses as a function of the parameters; nothing of it is shared."""
        search = self.search
        with self.simulation.placed(("stepper",)):
            solver = search.solver.method if isinstance(search, Newton) else "auto"
            found = Equilibrium(search, observed.losses, self.simulation.last, solver)
        plan = (
            f"each evaluation finds an equilibrium by {search.name}, and solves one system for its gradient"
        )
        return FitFunction(observed, found, plan)


KINDS: dict[str, type[OfRun] | type[OfEquilibrium]] = {"run": OfRun, "equilibrium": OfEquilibrium}
