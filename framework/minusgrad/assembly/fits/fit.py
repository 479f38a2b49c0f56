"""Parameter estimation: from a scene with `[fit]` to the search for the parameters that fit its data.

simulation -> losses over its states -> rollout or equilibrium -> objective -> minimiser
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...adjoint.equilibria.equilibrium import Equilibrium
from ...adjoint.equilibria.mean_constraint import MeanConstraint
from ...adjoint.run_objective import RunObjective
from ...adjoint.standard_errors import StandardErrors, standard_errors
from ...check.dead_fields import CAUSE, CURE, Candidate
from ...energies.fields import Field
from ...errors import Problem, SceneError, UserError, at_key
from ...files.checkpoint import Snapshot
from ...files.trajectory import Recorder
from ...scene.units import UnitSystem
from ...steppers.minimisers.first_order import Adam, GradientDescent
from ...steppers.minimisers.gauss_newton import GaussNewton
from ...steppers.minimisers.lbfgs import LBFGS
from ...steppers.minimisers.minimiser import Minimiser
from ...steppers.minimisers.optimality_criteria import OptimalityCriteria
from ...steppers.minimisers.outcomes import Tolerances
from ...steppers.minimisers.unknowns import Unknown
from .. import job
from ..ensembles.members import Members
from ..observers import FitHistory, HeldOutHistory, Observer
from ..validation import ValidatedScene
from .comparison import ComparedRow, compared
from .estimates import Estimate, Estimates, combination
from .experiments import Experiments
from .fitted_members import refuse_two_starts, refuse_unsaid, simulation_of
from .fresh_draws import FreshDraws
from .losses import FitLosses
from .objective_kinds import KINDS
from .parameters import FitParameters

METHODS: dict[str, type[Minimiser]] = {
    "gauss_newton": GaussNewton,
    "lbfgs": LBFGS,
    "adam": Adam,
    "gradient_descent": GradientDescent,
    "optimality_criteria": OptimalityCriteria,
}
CHANGE = 1e-8
"""Gauss-Newton ends where no z changes by more, unless the scene gives a tolerance."""
MOST_ERRORS = 1000
"""Standard errors of more numbers are not computed: each of them needs a run of its own."""


class Uncertainty(NamedTuple):
    """Standard errors of z and their origin in words; the sigma to multiply them by, if it was estimated."""

    found: StandardErrors
    origin: str
    sigma: float | None = None
    reduced: float | None = None


class ParameterFit:
    """The fit of a scene, at iteration 0: a job whose steps are the iterations of a minimiser.

    It has the `simulation` of the run or equilibrium, the `objective` that computes it, and the `search` that
    minimises the objective; `plan` says how its gradient is computed. Its recorder and observers are of the
    search. Those of the simulation stay unused.

    In a scene with `[ensemble]` it is the fit of `member`, or of the one that the scene names; without one
    the members are `experiments` that share the parameters. members: those of the scene, where known.
    """

    def __init__(
        self,
        validated: ValidatedScene,
        folder: Path | None = None,
        members: Members | None = None,
        member: int | None = None,
    ):
        scene = validated.scene
        if scene.fit is None:
            raise UserError(f"{scene.path}: has no [fit]; add one, or run the scene with `minusgrad run`")
        refuse_unsaid(scene)
        if scene.ensemble is not None:
            members = members or Members(validated, folder)
            member = scene.ensemble.member if member is None else member
        self.members, self.member = members, member
        self.simulation, self.table = simulation_of(validated, folder, members, member), scene.fit
        self.scene, self.registry, self.units = scene, validated.registry, self.simulation.units
        self.placed = self.simulation.placed
        self.experiments: Experiments | None = None
        if members is not None and member is None:
            self.experiments = Experiments(members, validated.models, self.table)
            made = self.experiments.first
        else:
            kind = KINDS[self.table.of](self.simulation, self.table)
            made = kind.function(FitLosses(self.simulation, validated.models, kind.clock, member))
        self.observed, self.function, self.plan = made.observed, made.function, made.plan
        self.origin = self.simulation.origin  # of the values in the scene, before a parameter moves
        self.parameters = FitParameters(self.simulation, self.table.parameters, self.function)
        with self.placed(("fit", "parameters")):
            refuse_two_starts(members, self.table.parameters)
            whole, listed = self.experiments or self.function, self.parameters.listed
            if self.experiments is not None:
                listed, self.plan = self.experiments.share(listed), self.experiments.plan
        self.draws = self._draws(validated)
        with self.placed(("fit",)):
            self.objective = RunObjective(whole, listed, self._limit(), self.draws)
            self.objective.redraw(0)
            self.search = self._search()
        seconds = self.units.symbol("s"), self.units.in_si("s")
        self.recorder = Recorder(self.recorded_units(), seconds)
        self.observers: list[Observer] = [FitHistory(self.search, self.recorder, 1)]
        if (table := self.table.held_out) is not None:
            held_out = HeldOutHistory(self.search, self.recorder, table.every, self._held_out_loss)
            self.observers.append(held_out)

    # The job

    @property
    def stepper(self) -> Minimiser:
        """The search: its steps are iterations."""
        return self.search

    @property
    def solver_used(self) -> str:
        """The linear solver of the last equilibrium's derivatives; empty for a run."""
        return self.function.solver.used if isinstance(self.function, Equilibrium) else ""

    @property
    def count(self) -> int:
        """The numbers that were measured, in all experiments."""
        return self.observed.count if self.experiments is None else self.experiments.count

    @property
    def last(self) -> int:
        """The most iterations."""
        return self.table.iterations

    @property
    def between_saves(self) -> int:
        """Iterations from one checkpoint to the next."""
        return self.table.between_saves

    @property
    def start_files(self) -> dict[str, bytes]:
        """The files that the scene read, data among them, by their names relative to its folder."""
        return self.simulation.start_files

    @property
    def remarks(self) -> list[str]:
        """Remarks for the user about the initial state."""
        return self.simulation.remarks

    @property
    def lanes(self) -> list[str]:
        """The terms that are evaluated in lanes."""
        return self.simulation.lanes

    @property
    def saved_fields(self) -> dict[str, Field]:
        """The parameters, as fields of the objective."""
        return dict(self.objective.fields)

    def facts(self) -> dict[str, Any]:
        """The origin of a checkpoint, and that it is one of a fit."""
        return self.simulation.facts() | {"fit": True}

    def look(self) -> None:
        """Observe iteration 0. Raises `SceneError` if rows until a checkpoint need too much memory."""
        job.first_look(self)

    def snapshot(self) -> Snapshot:
        """A copy of the present state, from which `restore` continues bit for bit."""
        return job.snapshot(self)

    def restore(self, snapshot: Snapshot, changed: bool = False) -> None:
        """Restore a saved state. Raises `CheckpointError` if it does not fit this fit."""
        job.restore(self, snapshot, changed)

    def refresh(self) -> None:
        """Nothing: the objective writes the parameters into the run before each evaluation."""

    def refuse_dead(self) -> None:
        """Raise `SceneError` for parameters on which the loss depends although its gradient is zero.

        [run] allow_dead = true allows them.
        """
        if not self.scene.run.allow_dead and (problems := [*self._dead()]):
            raise SceneError(problems)

    def _dead(self) -> Iterator[Problem]:
        yield from self.simulation.dead_fields()
        rng = np.random.default_rng(0)
        for unknown in self.parameters.unknowns if self.simulation.suspects else ():
            name = unknown.field
            if not self.search.has_slope(name) and self._candidate(unknown).is_dead(rng):
                text = f"the loss changes with '{name}', {CAUSE}, and nothing would move {name}; {CURE}"
                yield self.scene.document.problem(("fit", "parameters", name), text)

    def _candidate(self, unknown: Unknown) -> Candidate:
        objective, name = self.objective, unknown.field
        field, found = self.objective.fields[name], np.zeros(self.objective.fields[name].shape)

        def gradient() -> np.ndarray:
            objective.evaluate_into({name: found})
            return found

        return Candidate(
            field.values.copy(),
            field.set,
            objective.value,
            objective.magnitude,
            gradient,
            self.parameters.free[name],
            unknown.lower,
            unknown.upper,
        )

    # Building

    def recorded_units(self) -> dict[str, tuple[str, float]]:
        """Symbol and size in SI of everything that may be recorded."""
        units = {f"parameters/{n}": f.unit for n, f in self.objective.fields.items()}
        units |= {"loss": "1", "slope": "1"} | ({"held_out": "1"} if self.table.held_out else {})
        return {label: (self.units.symbol(u), self.units.in_si(u)) for label, u in units.items()}

    def _draws(self, validated: ValidatedScene) -> FreshDraws | Experiments | None:
        """What each iteration draws anew."""
        table, names = self.table, [one.name for one in self.parameters.listed]
        fresh = FreshDraws(validated, self.simulation, names, self.members) if table.vary else None
        if fresh is not None:
            self.plan += f"; each iteration draws {', '.join(table.vary)} anew"
        if self.experiments is None:
            return fresh
        self.experiments.fresh = fresh
        return self.experiments if self.experiments.drawn else None

    def _held_out_loss(self) -> float:
        """The loss of what is held out at the present parameters."""
        assert self.table.held_out is not None
        return self.objective.held_out(self.table.held_out.draws, self.search.step)

    def _limit(self) -> MeanConstraint | None:
        if (table := self.table.constraint) is None:
            return None
        with self.placed(("fit", "constraint")):
            with at_key("field"):
                unit = UnitSystem.si().symbol(self.simulation.fields[table.field].unit)
            with at_key("mean"):
                limit = self.units.convert(table.mean, unit)
            return MeanConstraint(self.simulation.potential, table.field, limit)

    def _search(self) -> Minimiser:
        gradient, change = self.table.gradient, self.table.change
        if self.table.method == "gauss_newton" and gradient is None and change is None:
            change = CHANGE
        method: Callable[..., Minimiser] = METHODS[self.table.method]
        tolerances, free = Tolerances(gradient, change), self.parameters.free
        return method(self.objective, self.parameters.unknowns, tolerances, free=free, **self.table.own_keys)

    # The result

    def estimates(self) -> Estimates:
        """The values of the parameters, with standard errors if the loss is a sum of squares."""
        search, uncertainty = self.search, self._uncertainty()
        sigma = 1.0 if uncertainty.sigma is None else uncertainty.sigma
        found = self._each(uncertainty.found.errors * search.coordinates.scale * sigma)
        labels = [label for estimate in found for label in estimate.labels]
        return Estimates(
            outcome=search.outcome or "finished",
            verdict=search.verdict,
            iterations=search.step,
            loss=search.energy,
            observations=self.count,
            parameters=found,
            errors_from=uncertainty.origin,
            sigma=uncertainty.sigma,
            reduced=uncertainty.reduced,
            undetermined=[combination(one, labels) for one in uncertainty.found.undetermined],
            held_out=self._held_out_loss() if self.table.held_out else None,
        )

    def comparison(self) -> list[ComparedRow]:
        """The measured numbers beside those of the model that was found; computes the loss once more."""
        return compared(self.observed, self.objective.again)

    def _each(self, errors: np.ndarray) -> list[Estimate]:
        """The estimate of each parameter, for its free components."""
        spread = self.search.coordinates.spread
        free, errors_of, moving = spread(np.ones_like(errors) > 0.0), spread(errors), spread(self._moving())
        found = []
        for s in self.parameters.listed:
            mine = free[s.name]
            places = np.argwhere(mine.reshape(np.shape(s.start))).tolist()
            labels = [self.parameters.label(s.name, place) for place in places]
            values, bounded = self.objective.fields[s.name].values[mine], ~moving[s.name][mine]
            unit, given = self.units.symbol(s.unit), self.parameters.given_unit(s)
            found.append(Estimate(s.name, unit, labels, values, errors_of[s.name][mine], bounded, *given))
        return found

    def _moving(self) -> np.ndarray:
        """Mask (P,) of the components of z that are at no bound."""
        c = self.search.coordinates
        z = c.read() / c.scale
        return (c.lower < z) & (z < c.upper)

    def _uncertainty(self) -> Uncertainty:
        """How well the data determine the parameters."""
        count = len(self.search.coordinates)
        nothing = StandardErrors(np.full(count, np.nan), [])
        if not self.observed.squares:
            return Uncertainty(nothing, "none, because the loss is not only misfits")
        if self.table.vary or self.table.batch is not None:
            return Uncertainty(nothing, "none, because the loss is drawn anew in each iteration")
        if count > MOST_ERRORS:
            return Uncertainty(nothing, f"none, because more than {MOST_ERRORS} numbers are sought")
        curvature = self.objective.curvature(self.search.coordinates.directions())
        found = standard_errors(curvature, self._moving(), self.simulation.fields.dtype)
        spare = self.count - found.determined
        reduced = 2.0 * self.search.energy / spare if spare > 0 else None
        if self.observed.with_sigma:
            return Uncertainty(
                found, "from the Gauss-Newton Hessian of the loss and the sigma given", reduced=reduced
            )
        if reduced is None:
            return Uncertainty(nothing, "none, because there are no more observations than parameters")
        origin = "from the Gauss-Newton Hessian of the loss and sigma = sqrt(2 loss / (n - p))"
        return Uncertainty(found, origin, sigma=float(np.sqrt(reduced)))
