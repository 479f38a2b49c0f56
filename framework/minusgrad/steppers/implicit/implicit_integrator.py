"""Implicit integrators: each step minimises an incremental potential; stiff motions need no small dt.

The scheme gives the stage of a step (`stage`), Newton's method its displacements (`step_solver`). A step that
is not solved is taken once more in 2, 4, ... substeps within it; its times stay t0 + step dt. The next step
begins with one substep again, so that a run depends on its saved state alone.

    W, D <- + (the power of supports and of an explicit dU/dt, dR/dv v), integrated at the middle of a step
            (midpoint), by its ends (BDF2, Newmark), or at its end (Euler)

Energy minus W plus D is conserved by midpoint and Newmark up to their error. Euler and BDF2 damp: they take
energy themselves, which is recorded by its name and is no drift.

Decisions 0371, 0372.
"""

from typing import Any

import numpy as np

from ...energies.fields import refuse_shared
from ...engine import storage
from ...errors import EnergyError, NonFiniteError, RunFailedError, UnsolvedStepError
from ...potential.velocity_terms import refuse_velocities
from ...solvers.sparse_system import SparseSystem
from ..stepper import PARTS, Gradient, refuse_time_steps, refuse_unlike
from ..systems.missing_motions import refuse_missing
from ..systems.parts import BARRIERS, FRICTION, LAGRANGIAN, MOVING, PERIODIC, SUPPORTS, TIME, Consumer
from ..systems.system import System
from ..timed.divided_steps import DividedSteps
from ..timed.friction import refuse_idle
from ..timed.motion_stepper import MotionStepper
from .incremental_potential import IncrementalPotential
from .moving_components import MovingComponents
from .stage import MOVED, V_BEFORE, A, ImplicitScheme, V
from .step_solver import StepSolver
from .substep_tape import SolvedStage, SubstepTape

SUBSTEPS = 64
"""The most substeps of a step."""
FAR = 0.4
"""The turn of supports in a step, in half turns, from which on another equilibrium may be nearer."""
LOOKED = 100_000
"""The most steps whose turns are looked at: ramps of more steps turn little in each."""


class ImplicitIntegrator(MotionStepper):
    """Advances the moving fields of a potential by an implicit scheme, in place.

        ImplicitIntegrator(System(potential, [Motion("x", "v", "m")]), IMPLICIT_SCHEMES["newmark"], dt=0.1)

    system, dt, t0: as of `Integrator`. solver: of `solvers.linear_solver.METHODS`, or
    "auto". substeps: the most that a step is divided into, a power of 2. With a `tape`, steps record what
    derivatives need. Raises `EnergyError` as `Integrator` does, for a potential without a sparse Hessian, and
    for a magnetic force; `UnsolvedStepError` where a step is not solved in its smallest substeps: the state
    is then that before the step.
    """

    slow_on_devices = "each step copies the fields, for linear systems on the host"

    optional = MotionStepper.optional | {"held"}
    consumer = Consumer(
        "an implicit scheme",
        {SUPPORTS, MOVING, FRICTION, PERIODIC, TIME, BARRIERS},
        cure="use leapfrog",
        cures={LAGRANGIAN: 'use kind = "variational"'},
    )
    fixed = PARTS | {"scheme", "gradient", "inertia", "solver"}

    def __init__(
        self,
        system: System,
        scheme: ImplicitScheme,
        dt: float,
        t0: float = 0.0,
        solver: str = "auto",
        substeps: int = SUBSTEPS,
        *,
        tape: SubstepTape | None = None,
    ):
        super().__init__(system)
        _refuse(system, scheme, substeps)
        potential, motions, dissipation = self.potential, self.motions, self.dissipation
        self.scheme = scheme
        self.conserves, self.damps = scheme.conserves, not scheme.conserves
        self.forward = self.damps
        self.substeps, self.tape, self._solver_name = substeps, tape, solver
        self._start_clock(dt, t0)
        fields = potential.fields
        self.inertia = self.system.inertia
        self._forces = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in self.inertia}
        self.gradient = Gradient(self._forces, self.update)
        self.holds.refuse_unmoved(self.motions)
        for term in dissipation.terms.values() if dissipation else ():
            refuse_idle(term, motions)
        self.components = MovingComponents(fields, motions, self.holds)
        self.incremental = IncrementalPotential(self.components, potential, self.holds, dissipation)
        self._work = self._dissipated = 0.0
        self._divided = DividedSteps()
        self.holds.place(self.time)
        self._held = self.holds.kinetic(self.inertia)
        self.evaluate()
        before = self.memory()
        self._begin(self.dt, self.time)
        self.solver = StepSolver(self.incremental, solver)  # computes Phi, for which it writes the fields
        self.recall(before)

    # The stepper's interface

    @property
    def work(self) -> float:
        """The work done so far by an explicit time dependence of the potential, and by moving supports."""
        return self._work + self.holds.kinetic(self.inertia) - self._held

    @property
    def balance(self) -> dict[str, float]:
        """work and dissipated: those that potential, supports and dissipation change."""
        found = {"work": self.work} if self.works else {}
        return found | ({"dissipated": self._dissipated} if self.dissipation else {})

    @property
    def solver_used(self) -> str:
        return self.solver.solver_used

    def events(self) -> list[dict[str, Any]]:
        """The steps that were divided since the last call, with the number of their substeps."""
        return self._divided.report()

    def begin(self) -> None:
        self.holds.place(self.time)
        self._held = self.holds.kinetic(self.inertia)
        self.evaluate()

    def evaluate(self, t: float | None = None) -> None:
        """Begin at the present fields: forces, and no memory of earlier steps; at time t."""
        now = self.time if t is None else t
        self.potential.refuse_crossed()
        self._look(now)
        self._before, self.known = 0.0, {name: np.zeros(len(self.components)) for name in self.scheme.keeps}
        if A in self.known:
            self.known[A] = self._acceleration()
        if t is None or t == self.time:
            self.mark()

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that a step reads before it writes, except the fields: forces, energy sums, clock; the
        memory of the scheme."""
        self.update()
        return self._state()

    def _state(self) -> dict[str, np.ndarray]:
        forces = {f"gradient/{n}": storage.host(g).copy() for n, g in self._forces.items()}
        memory = {name: values.copy() for name, values in self.known.items()}
        memory |= {"last_dt": np.array(self._before)} if MOVED in self.known else {}
        memory |= {"held": np.array(self._held)} if self.holds.moving else {}
        sums = {"work": np.array(self._work), "dissipated": np.array(self._dissipated)}
        return forces | memory | sums | {"flows": np.array(self._flows)} | self._clock()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values that `state` returned; one made with another dt keeps its own, from that time."""
        refuse_unlike({"since": np.array(0), "held": np.array(0.0), **state}, self._state())
        self._held = float(state.get("held", self._held))
        for name, array in self._forces.items():
            storage.store(array, state[f"gradient/{name}"])
        self.known = {name: np.array(state[name]) for name in self.known}
        self._before = float(state.get("last_dt", np.zeros(())))
        self._work, self._dissipated = float(state["work"]), float(state["dissipated"])
        self._flows = (float(state["flows"][0]), float(state["flows"][1]))
        self.restore_clock(state)
        self.mark()

    def advance(self, n: int) -> None:
        """Move the fields n steps.

        Raises `UnsolvedStepError` for a step without a solution; the fields are then those before it.
        """
        self.update()
        for _ in range(n):
            self._step()
            self.step += 1
            self.mark()

    def remark(self, steps: int) -> str:
        """That supports turn so far in a step that a body may find another equilibrium."""
        turn = self.holds.turn(np.asarray(self.times(np.arange(min(steps, LOOKED) + 1))))
        if turn < FAR * np.pi:
            return ""
        return (
            f"supports turn by {np.degrees(turn):.0f} degrees in a step of {self.dt:g}: the body may slip to"
            " another equilibrium, such as the untwisted one, without a failed step; turn by less than"
            f" {180.0 * FAR:.0f} degrees a step"
        )

    # A step and its substeps

    def _step(self) -> None:
        """A step in as few substeps as are solved."""

        def take(parts: int) -> None:
            if self.tape:
                self.tape.begin_step(self.step)
            for part in range(parts):
                self._substep(part, parts)

        parts = self.in_parts(self._divisions(), take, self._unsolved)
        if parts > 1:
            self._divided.add(self.step + 1, parts)

    def _divisions(self) -> list[int]:
        """The numbers of substeps to try, one after another."""
        return [2**k for k in range(self.substeps.bit_length())]

    def _unsolved(self, parts: int, error: RunFailedError) -> UnsolvedStepError:
        divided = "at once" if parts == 1 else f"in {parts} substeps of {self.dt / parts:.6g}"
        return UnsolvedStepError(
            f"step {self.step + 1}: is not solved {divided}: {error}; a smaller dt, slower supports or more"
            " `substeps` may cure it"
        )

    def _substep(self, part: int, parts: int) -> None:
        h = self.dt / parts
        start, last = self.time + part * h, part + 1 == parts
        end = float(self.times(self.step + 1)) if last else self.time + (part + 1) * h
        middle = start + 0.5 * h
        self._begin(h, end if self.scheme.ends else middle)
        stage, known = self.incremental.stage, self._at_start
        u = self.solver.solve()
        self._record(u)
        if self.scheme.ends is None:
            self._add(h, self.incremental.flows(u))
        x, moved = self.incremental.x, stage.reach * u
        self.components.write(x + moved, self.components.positions)
        self.components.write(stage.new_velocity(u, known), self.components.velocities)
        self.holds.place(end)
        self._remember(h, u, moved, known)
        before = self._flows
        self._look(end)
        self._refuse_nonfinite(end)
        if self.scheme.ends is not None:
            of_start, of_end = self.scheme.ends
            self._add(h * of_start, before)
            self._add(h * of_end, self._flows)

    def _begin(self, h: float, at: float) -> None:
        """Set the incremental potential of a substep from the present state; `at`: the time of its stage."""
        stage = self.scheme.stage(h, h / self._before if self._before else 0.0)
        self._at_start = {V: self.components.read(self.components.velocities), **self.known}
        x = self.components.read(self.components.positions)
        self.incremental.begin(stage, at, x, self._at_start, self.components.masses(self.inertia))

    def _remember(self, h: float, u: np.ndarray, moved: np.ndarray, known: dict[str, np.ndarray]) -> None:
        """Keep the numbers that the next step needs of this one."""
        stage, y = self.incremental.stage, self.incremental.y
        found = {MOVED: moved, V_BEFORE: known[V], A: stage.weight * (u - y)}
        self.known = {name: np.where(self.components.free, found[name], 0.0) for name in self.known}
        self._before = h

    def _record(self, u: np.ndarray) -> None:
        if self.tape:
            one = self.incremental
            self.tape.stages[self.step].append(
                SolvedStage(one.stage, one.time, one.x, u, one.y, one.q, one.seen)
            )

    # Forces and flows of energy at the present state

    def _look(self, t: float) -> None:
        """Compute the forces, and the flows of energy, at the present fields."""
        read = {n: g for n, g in self._forces.items() if n in self.potential.reads}
        self._energy = self.potential.evaluate_into(read, t)
        self._flows = self.incremental.flows_at(t, self._forces)

    def _refuse_nonfinite(self, t: float) -> None:
        """Raise `NonFiniteError` for a state, forces or an energy that are not finite."""
        arrays = [*(f.values for f in self.moving), *map(storage.host, self._forces.values())]
        if np.isfinite(self._energy) and all(np.isfinite(a).all() for a in arrays):
            return
        energies = self.potential.by_term(t).items()
        bad = (f"the energy of term '{name}' is {u}" for name, u in energies if not np.isfinite(u))
        named = self.potential.first_nonfinite(t, [n for n in self._forces if n in self.potential.reads])
        raise NonFiniteError(named or next(bad, "the state or the sum of the energies overflows"))

    def _add(self, h: float, flows: tuple[float, float]) -> None:
        """Add flows of energy for a time h to the sums of work and friction."""
        self._work += h * flows[0]
        self._dissipated += h * flows[1]

    def _acceleration(self) -> np.ndarray:
        """-(dU/dx + dR/dv) / m at free components, at the present state."""
        force = self.components.joined(self._forces, self.components.positions)
        force += self.incremental.friction_force
        return np.where(self.components.free, -force / self.components.masses(self.inertia), 0.0)

    # Derivatives

    def differentiable(self) -> "ImplicitIntegrator":
        """Itself: every implicit scheme has derivatives."""
        return self

    def with_tape(self, tape: SubstepTape) -> "ImplicitIntegrator":
        """An integrator of the same fields that records on a tape, which begins at the present time."""
        one = ImplicitIntegrator(
            self.system, self.scheme, self.dt, self.time, self._solver_name, self.substeps, tape=tape
        )
        one.kind = self.kind
        return one

    def begin_tape(self, first: int) -> None:
        """Begin the tape at the present fields, with step number `first`."""
        assert self.tape
        names = self.components.positions, self.components.velocities
        own = [self.known[A]] if A in self.known else []
        self.tape.begin(first, [*(self.components.read(some) for some in names), *own])

    def linear_system(self) -> SparseSystem:
        """d2Phi/du2 at free components, where the incremental potential is."""
        return self.solver.linear_system()


def _refuse(system: System, scheme: ImplicitScheme, substeps: int) -> None:
    """Raise `EnergyError` for parts of a scene without a rule in implicit steps."""
    potential, motions = system.potential, system.motions
    refuse_missing(scheme.name, motions, system.fields)
    if substeps < 1 or substeps & (substeps - 1):
        raise EnergyError(f"substeps: must be a power of 2, got {substeps}; use 1 to never divide a step")
    refuse_shared(motions)
    refuse_velocities(potential, motions)
    refuse_time_steps(potential)
    if potential.barriers and scheme.ends is None:
        raise EnergyError(
            f"{scheme.name}: has forces in the middle of a step, so that its end may be beyond a barrier, got"
            f" '{potential.barriers[0]}'; use newmark, which conserves as well, or bdf2"
        )
