"""The function that a fit minimises: the loss of a run, or that of an equilibrium, from `[fit] of`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...adjoint.equilibria.equilibrium import Equilibrium
from ...adjoint.rollout import Rollout
from ...errors import EnergyError
from ...scene.fit_table import FitTable
from ...steppers.integrator import Integrator
from ...steppers.minimisers.load_steps import LoadSteps
from ...steppers.minimisers.minimiser import Minimiser
from ...steppers.minimisers.newton import Newton
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..simulation import Simulation
from .losses import Clock, FitLosses, Moment


@dataclass(frozen=True)
class FitFunction:
    """Losses, their function of the parameters, and in words how its derivatives are computed."""

    observed: FitLosses
    function: Rollout | Equilibrium
    plan: str


def of_run(simulation: Simulation, models: dict[Any, Any], table: FitTable) -> FitFunction:
    """The losses of a run. Raises `SceneError` if the runs of the scene's stepper have no derivatives."""
    with simulation.placed(("stepper", "kind")):
        stepper = simulation.stepper.differentiable()
        if isinstance(stepper, Integrator | VariationalIntegrator):
            stepper.give_back_start()  # each run of the fit projects it
    clock = Clock(stepper.dt, simulation.scene.run.steps, simulation.units.symbol("s"))
    observed = FitLosses(simulation, models, clock)
    with simulation.placed(("fit",)):
        rollout = Rollout(stepper, observed.losses, observed.last, table.budget)
    return FitFunction(observed, rollout, str(rollout.plan))


def of_equilibrium(simulation: Simulation, models: dict[Any, Any], table: FitTable) -> FitFunction:
    """The losses of an equilibrium. Raises `SceneError` for a stepper that searches for none."""
    search = simulation.stepper
    with simulation.placed(("stepper", "kind")):
        if isinstance(search, LoadSteps):
            raise EnergyError(
                "load_steps: a fit finds each equilibrium in one search, which begins at the last one, got"
                f" {search.levels} steps; leave `load_steps` out"
            )
        if not isinstance(search, Minimiser):
            raise EnergyError(
                f"stepper '{search.name}': moves in time, and finds no equilibrium; use a minimiser, such as"
                ' "newton", or [fit] of = "run"'
            )
    observed = FitLosses(simulation, models, Moment(search.time, simulation.units.symbol("s")))
    with simulation.placed(("stepper",)):
        solver = search.solver.method if isinstance(search, Newton) else "auto"
        found = Equilibrium(search, observed.losses, simulation.last, solver)
    plan = f"each evaluation finds an equilibrium by {search.name}, and solves one system for its gradient"
    return FitFunction(observed, found, plan)


KINDS: dict[str, Callable[[Simulation, dict[Any, Any], FitTable], FitFunction]] = {
    "run": of_run,
    "equilibrium": of_equilibrium,
}
