"""From a scene with `[fit]` to a search: the run as a function of what is sought, and who minimises it.

simulation -> losses over its states -> rollout -> objective -> minimiser, with a report of each iteration
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..adjoint.rollout import Rollout
from ..adjoint.run_objective import RunObjective
from ..adjoint.standard_errors import StandardErrors, standard_errors
from ..check.dead_fields import CAUSE, CURE, Candidate
from ..energies.fields import Field
from ..errors import Problem, SceneError, UserError
from ..files.trajectory import Recorder
from ..scene.fit_table import FitTable
from ..steppers.first_order import Adam
from ..steppers.gauss_newton import GaussNewton
from ..steppers.integrator import Integrator
from ..steppers.lbfgs import LBFGS
from ..steppers.minimiser import Minimiser
from ..steppers.outcomes import Tolerances
from ..steppers.unknowns import Unknown
from .estimates import Estimate, Estimates, combination
from .fit_losses import Observed
from .fit_parameters import Parameters
from .observers import FitHistory
from .simulation import Simulation
from .validation import ValidatedScene

METHODS: dict[str, type[Minimiser]] = {"gauss_newton": GaussNewton, "lbfgs": LBFGS, "adam": Adam}
SETTLED = 1e-8
"""Gauss-Newton ends where no z changes by more, unless the scene asks for something else."""
MOST_ERRORS = 1000
"""Beyond so many numbers standard errors are not computed: each needs a run of its own."""


class Uncertainty(NamedTuple):
    """Errors of z and where they are from; the sigma that they are to be multiplied by, if it was sought."""

    found: StandardErrors
    told: str
    sigma: float | None = None
    reduced: float | None = None


class Fitting(Simulation):
    """A scene's fit, at iteration 0: `stepper` is the search, `integrator` what the scene moves with."""

    def __init__(self, judged: ValidatedScene, folder: Path | None = None):
        if judged.scene.fit is None:
            raise UserError(
                f"{judged.scene.path}: has no [fit], so nothing is sought; `minusgrad run` runs it"
            )
        super().__init__(judged, folder)
        self.table: FitTable = judged.scene.fit
        self.integrator = self._integrator()
        self.observed = Observed(self, judged.models, self.integrator.dt)
        self.parameters = Parameters(self, self.table.parameters)
        with self.placed(("fit",)):
            losses, last, budget = self.observed.losses, self.observed.last, self.table.budget
            self.rollout = Rollout(self.integrator, losses, last, budget)
            self.objective = RunObjective(self.rollout, self.parameters.sought)
            self.search = self._search()
        self.stepper: Any = self.search
        seconds = self.units.symbol("s"), self.units.in_si("s")
        self.recorder = Recorder(self._recorded_units_of_fit(), seconds)
        self.observers = [FitHistory(self.search, self.recorder, 1)]

    # The simulation's interface, for iterations in the place of steps

    @property
    def last(self) -> int:
        return self.table.iterations

    @property
    def between_saves(self) -> int:
        return self.table.between_saves

    @property
    def plan(self) -> str:
        """How the states on the way are stored and recomputed."""
        return str(self.rollout.plan)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"fit": True}

    def _dead(self) -> Iterator[Problem]:
        yield from super()._dead()
        rng = np.random.default_rng(0)
        for unknown in self.parameters.unknowns if self.suspects else ():
            name = unknown.field
            if self._suspect(unknown).is_dead(rng):
                text = f"the loss changes with '{name}', {CAUSE}, and nothing would move {name}; {CURE}"
                yield self.scene.document.problem(("fit", "parameters", name), text)

    def _suspect(self, unknown: Unknown) -> Candidate:
        objective, name = self.objective, unknown.field
        field, found = self.objective.fields[name], np.zeros(self.objective.fields[name].shape)

        def gradient() -> np.ndarray:
            objective.evaluate_into({name: found})
            return found

        free = self.parameters.free[name]
        return Candidate(
            field.values.copy(),
            field.set,
            objective.value,
            objective.magnitude,
            gradient,
            free,
            unknown.lower,
            unknown.upper,
        )

    def _kept(self) -> dict[str, Field]:
        return dict(self.objective.fields)

    def _recorded_units_of_fit(self) -> dict[str, tuple[str, float]]:
        units = {f"parameters/{n}": f.unit for n, f in self.objective.fields.items()}
        units |= {"loss": "1", "slope": "1"}
        return {label: (self.units.symbol(u), self.units.in_si(u)) for label, u in units.items()}

    # Building

    def _integrator(self) -> Integrator:
        if not isinstance(self.stepper, Integrator):
            text = (
                "a fit is of what moves in time, and this searches for a minimum; use leapfrog, yoshida4, ..."
            )
            raise SceneError([self.scene.document.problem(("stepper", "kind"), text)])
        return self.stepper

    def _search(self) -> Minimiser:
        gradient, change = self.table.gradient, self.table.change
        if self.table.method == "gauss_newton" and gradient is None and change is None:
            change = SETTLED
        method: Callable[..., Minimiser] = METHODS[self.table.method]
        enough, free = Tolerances(gradient, change), self.parameters.free
        return method(self.objective, self.parameters.unknowns, enough, free=free, **self.table.own)

    # What came out

    def estimates(self) -> Estimates:
        """The values found, with standard errors where the loss is a sum of squares."""
        search, uncertainty = self.search, self._uncertainty()
        sigma = 1.0 if uncertainty.sigma is None else uncertainty.sigma
        found = self._each(uncertainty.found.errors * search.coordinates.scale * sigma)
        labels = [label for estimate in found for label in estimate.labels]
        return Estimates(
            outcome=search.outcome or "finished",
            verdict=search.verdict,
            iterations=search.step,
            loss=search.energy,
            observations=self.observed.count,
            parameters=found,
            errors_from=uncertainty.told,
            sigma=uncertainty.sigma,
            reduced=uncertainty.reduced,
            undetermined=[combination(one, labels) for one in uncertainty.found.undetermined],
        )

    def _each(self, errors: np.ndarray) -> list[Estimate]:
        """What was found of each parameter: of its free components."""
        spread = self.search.coordinates.spread
        free, errors_of, moving = spread(np.ones_like(errors) > 0.0), spread(errors), spread(self._moving())
        found = []
        for s in self.parameters.sought:
            mine = free[s.name]
            places = np.argwhere(mine.reshape(np.shape(s.start))).tolist()
            labels = [self.parameters.label(s.name, place) for place in places]
            values, bounded = self.objective.fields[s.name].values[mine], ~moving[s.name][mine]
            found.append(
                Estimate(s.name, self.units.symbol(s.unit), labels, values, errors_of[s.name][mine], bounded)
            )
        return found

    def _moving(self) -> np.ndarray:
        """The components that are at no bound."""
        c = self.search.coordinates
        z = c.read() / c.scale
        return (c.lower < z) & (z < c.upper)

    def _uncertainty(self) -> Uncertainty:
        """How well the data determine what was found."""
        count = len(self.search.coordinates)
        nothing = StandardErrors(np.full(count, np.nan), [])
        if not self.observed.squares:
            return Uncertainty(nothing, "none, because the loss is not only misfits")
        if count > MOST_ERRORS:
            return Uncertainty(nothing, f"none, because more than {MOST_ERRORS} numbers are sought")
        curvature = self.objective.curvature(self.search.coordinates.directions())
        found = standard_errors(curvature, self._moving(), self.fields.dtype)
        spare = self.observed.count - found.determined
        reduced = 2.0 * self.search.energy / spare if spare > 0 else None
        if self.observed.with_sigma:
            return Uncertainty(
                found, "from the Gauss-Newton Hessian of the loss and the sigma given", reduced=reduced
            )
        if reduced is None:
            return Uncertainty(nothing, "none, because there are no more observations than parameters")
        told = "from the Gauss-Newton Hessian of the loss and sigma = sqrt(2 loss / (n - p))"
        return Uncertainty(found, told, sigma=float(np.sqrt(reduced)))
