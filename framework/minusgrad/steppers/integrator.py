"""Symplectic integrators: a row of coefficients each, one body for all.

For H = sum p^2 / (2 inertia) + U(x, t) a step of length h is

    kick c_0, then for each drift d_i:  drift d_i, forces, kick c_{i+1}

    kick c    v <- v - c h (dU/dx) / inertia,     W <- W + c h dU/dt
    drift d   x <- x + d h v,                     t <- t + d h

W is the work of an explicit dU/dt and of moving supports, which are an explicit dU/dt of the energy of the
free components. Total energy minus W is conserved. W is the momentum conjugate to time, so it converges at
the order of the scheme (at order 3 at most across the ends of a ramp, whose third derivative jumps there).

A dissipation R(v, x, t) acts for half a step before and half a step after (Strang 1968, SIAM J. Numer.
Anal. 5, 506), by the explicit midpoint rule at fixed x: the whole is of second order at most.

    friction h/2    v <- v - (h/2) (dR/dv) / inertia,     D <- D + the kinetic energy that it takes

Energy minus W plus D is conserved at the order of the scheme: D is the energy that friction takes.

In a heat `bath` the middle of every drift exchanges Q with it; then energy minus W plus D minus Q is
conserved.

A `barostat` moves the box at constant pressure (`pressure.cell`): then energy minus W plus D minus Q plus the
energy of the cell is conserved, P V among it.

With constraints g(x, t) = 0 drifts end on them and velocities are tangent (`constrained.projections`). A step
whose projections fail is taken in 2, 4, ... substeps.

Drifts may follow the flow of kinetic energy and a part of U, and kicks the rest of U (`part_flow`).

In a magnetic field every drift turns the velocities of charges (`magnetic.flow`), exactly if the field is
uniform. The force does no work. The state is x and v: the canonical momentum m v + q A is not used.

Small systems take many steps in one kernel. Every sub-step stores its state to the arrays, so that the bits
do not depend on how many steps a call takes; the choice depends on the size of the system alone.

Decisions 0032, 0042, 0115, 0353, 0358.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..energies.fields import Field, Motion, refuse_shared
from ..engine import runtime, storage
from ..engine.device_tasks import LEAST_WORK, steps_of_tasks
from ..engine.finite_numbers import FiniteNumbers
from ..engine.kernels import MOST_ARRAYS, BoundKernel
from ..errors import EnergyError, NonFiniteError, RunFailedError, UnsolvedStepError, UserError
from ..potential.constraints.constraints import Constraints
from ..potential.fused_code import FusedCode
from ..potential.velocity_terms import refuse_velocities
from ..potential.watches.verified_ranges import ProvenRanges
from .constrained.choice import projections
from .constrained.constrained_moves import ConstrainedMoves
from .constrained.move_tape import MoveRecorder, MoveTape, TakenMove
from .constrained.multipliers import multipliers
from .constrained.projected_start import projected_start
from .constrained.start import ProjectedStart
from .magnetic.drift import MagneticDrifts
from .magnetic.force import MagneticForce
from .moves import Moves
from .pressure.cell import MovingBox
from .pressure.friction_stress import refuse_friction_between
from .schemes import Scheme
from .stability.nonfinite_diagnosis import NonFiniteDiagnosis
from .step_sequence import Forces
from .stepper import PARTS, Gradient, refuse_time_steps, refuse_unlike
from .systems.missing_motions import refuse_missing
from .systems.parts import (
    ALL,
    BAROSTAT,
    BARRIERS,
    CONSTRAINTS,
    LAGRANGIAN,
    MAGNETIC,
    SUPPORTS,
    Consumer,
)
from .systems.system import System
from .tape import Tape
from .timed.divided_steps import DividedSteps
from .timed.flows.part_flow import PartFlow
from .timed.friction import Friction
from .timed.motion_stepper import Memory, MotionStepper
from .timed.single_moves import SingleMoves

SUBSTEPS = 1024
"""The most parts that a step whose constraints are not solved is divided into."""
APART = 1 << 40
"""Begins the numbers of substeps, whose heat baths draw numbers of their own."""
SMALL = 10_000_000
"""Up to this many statements a step (some milliseconds), steps are taken inside one kernel, on one thread."""

SPLITTING = Consumer(
    "a splitting scheme",
    ALL - {LAGRANGIAN, BARRIERS},
    apart=[(CONSTRAINTS, MAGNETIC), (CONSTRAINTS, BAROSTAT), (BAROSTAT, SUPPORTS), (BAROSTAT, MAGNETIC)],
    cure="leave one of them out",
    cures={
        LAGRANGIAN: 'use kind = "variational"',
        BARRIERS: 'use kind = "implicit_euler", "bdf2" or "newmark"',
    },
)
"""The parts of a system that splittings have moves for."""


class Integrator(MotionStepper):
    """Advances the moving fields of a potential by a symplectic scheme, in place.

        Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], dt=0.01).advance(100)

    system: all that moves and acts; a barostat moves the field "box", the `cell`. scheme: its coefficients.
    dt, t0: the step and the time at step 0 [the run's unit of time]; `dt` may be set between steps, and time
    goes on from where it is. part_flow: the flow of a part of U that drifts follow. With a `tape`,
    the steps record what the adjoint needs. Raises `EnergyError` without motions, for an energy that reads a
    velocity, for an inertia of zero, for a dt by which the clock or the fields cannot move, and for holds, a
    dissipation, a magnetic force, a barostat or constraints that do not fit; `NonFiniteError` where a step
    gives infinity or NaN, `UnsolvedStepError` where it does not reach the constraints, `RunFailedError` where
    the box collapses.
    """

    fixed = (
        frozenset(("scheme", "gradient", "inertia", "tape", "bath", "friction", "moves", "cell", "part_flow"))
        | PARTS
    )
    optional = MotionStepper.optional | {"held"}
    conserves = True

    def __init__(
        self,
        system: System,
        scheme: Scheme,
        dt: float,
        t0: float = 0.0,
        *,
        tape: Tape | MoveTape | None = None,
        part_flow: PartFlow | None = None,
    ):
        self.consumer = part_flow.consumer if part_flow else SPLITTING
        if part_flow:
            _refuse_shared_names(system, part_flow)
            system = replace(system, of_stepper=tuple(part_flow.potentials))
        super().__init__(system)
        potential, motions, constraints = self.potential, self.motions, self.constraints
        dissipation, magnetic, bath, barostat = self.dissipation, self.magnetic, system.bath, system.barostat
        refuse_missing("integrator", motions, system.fields)
        if barostat:
            refuse_friction_between(dissipation, motions)
            scheme = scheme.at_pressure()
        _refuse_approximate_parts(scheme, magnetic, constraints)
        scheme = scheme.in_bath() if bath else scheme.in_field() if magnetic else scheme
        self.part_flow = part_flow
        if part_flow:
            _refuse_motions_beside(motions, part_flow)
            _refuse_symmetric_drifts(scheme, part_flow)
            self.conserves = part_flow.conserves
            scheme = scheme.along_a_flow()
        if constraints:
            scheme = scheme.constrained()
        self.scheme, self.bath = scheme, bath
        self.forward = bath is not None or barostat is not None
        self._start_clock(dt, t0)
        fields = potential.fields
        self.inertia = self.system.inertia
        self.cell = MovingBox(barostat, potential, motions, self.inertia) if barostat else None
        pulled = [*self.inertia, *([self.cell.box.name] if self.cell else [])]
        self._forces = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in pulled}
        self.gradient = Gradient(self._forces, self.update)
        refuse_shared(motions)
        refuse_velocities(potential, motions)
        refuse_time_steps(potential)
        self.tape = tape if isinstance(tape, Tape) else None
        self.move_tape = tape if isinstance(tape, MoveTape) else None
        self.holds.refuse_unmoved(self.motions)
        if magnetic:
            magnetic.refuse_partly_held(self.holds)
        self.friction = Friction.of(dissipation, motions) if dissipation else None
        self._work = storage.allocate(np.zeros(1))
        self._constrained = self._constrained_moves()
        self.moves = Moves(
            potential,
            self.motions,
            self._forces,
            self.inertia,
            self.holds,
            self._work,
            self.friction,
            self.tape,
            bath,
            MagneticDrifts(magnetic, self.motions) if magnetic else None,
            part_flow,
            self._constrained,
            self.cell,
        )
        self._single = SingleMoves(self.moves, self.scheme)
        if self._constrained and self.move_tape:
            self._single.recorder = MoveRecorder(
                self.move_tape, fields, self.motions, self.scheme, self._constrained
            )
            self._constrained.recorded = True
        self._divided = DividedSteps()
        self._finite_numbers = FiniteNumbers([field.array for field in self.moving])
        whole = self.cell is None and (not self._constrained or self._constrained.steps_in_kernels())
        self._steps = self._kernel_of_steps() if whole else None
        self._own = [field.array for field in self.moving]
        self._proven = ProvenRanges(*(p for p in (self.potential, self.dissipation) if p))
        self.holds.place(self.time)
        self._held = self.holds.kinetic(self.inertia)
        self._given_start: ProjectedStart | None = None
        if self._constrained and tape is None:  # with one it goes on from the state of another
            self._given_start = ProjectedStart(self._constrained.projections, self.time)
        self.evaluate()

    def _constrained_moves(self) -> ConstrainedMoves | None:
        """The projections of a step onto constraints, if there are some."""
        if self.constraints is None:
            return None
        made = projections(self.constraints, self.motions, self.inertia, self.holds)
        count = len(self.scheme.drifts) * (2 if self.bath else 1)
        return ConstrainedMoves(made, self._work, count, smooth=self.bath is None)

    def _kernel_of_steps(self) -> Callable[..., None] | None:
        """Many steps in one kernel, or on a device one step in a launch.

        None if it has more arrays than a kernel may, or the step is too long.
        """
        row = ("at",) if self.tape else ()
        if runtime.arch() != "cpu":
            return (
                steps_of_tasks(self.moves.step(self.scheme), *row) if self.statements <= LEAST_WORK else None
            )
        if self.statements > SMALL:
            return None
        steps = self.moves.steps(self.scheme)
        fits = len(steps.arrays) <= MOST_ARRAYS
        return BoundKernel(steps, "steps", "first", "t0", "dt", *row) if fits else None

    @property
    def statements(self) -> float:
        """The approximate number of statements in a step."""
        evaluations = sum(isinstance(move, Forces) for move in self.scheme.moves)
        forces = FusedCode(self.potential).statements(self._forces) * evaluations
        drifts = len(self.scheme.drifts) * self.moves.magnetic.statements if self.moves.magnetic else 0
        drifts += len(self.scheme.drifts) * 2 * self.part_flow.statements if self.part_flow else 0
        if self._constrained and (loops := self._constrained.projections.loops):
            drifts += len(self.scheme.drifts) * loops.statements
        return forces + drifts + (4 * self.friction.statements if self.friction else 0)

    @property
    def fused(self) -> bool:
        """True if many steps are taken inside one kernel; on a device, if each is one launch."""
        return self._steps is not None

    @property
    def slow_on_devices(self) -> str:  # type: ignore[override]
        """Of moves that take no part in kernels of whole steps, and of those of one thread."""
        if self.constraints:
            return "each step copies the fields, for projections onto constraints on the host"
        if self.cell:
            return "each step copies the stress, for a move of the box on the host"
        return self.part_flow.slow if self.part_flow else ""

    @property
    def order_remark(self) -> str:
        """That friction lowers the order of the scheme."""
        if not self.friction or self.scheme.order <= 2:
            return ""
        return (
            f"stepper '{self.name}': with friction ([[dissipation]]) its steps are of order 2 in dt, got a"
            f" scheme of order {self.scheme.order}; leapfrog has order 2 for fewer forces, gauss_radau keeps"
            " order 15"
        )

    def differentiable(self) -> "Integrator":
        """Itself. Raises `EnergyError` where a move of its step has no adjoint."""
        for move in self.scheme.moves:
            if move.without_adjoint:
                raise EnergyError(f"stepper '{self.name}': {move.without_adjoint}")
        return self

    def with_tape(self, tape: Tape | MoveTape) -> "Integrator":
        """An integrator of the same fields that records on a tape, which begins at the present time.

        With constraints it is a `MoveTape`, and the fields fulfil them.
        """
        return Integrator(self.system, self.scheme, self.dt, self.time, tape=tape, part_flow=self.part_flow)

    # The stepper's interface

    def _clock_changed(self) -> None:
        """Tell the bath how many steps came before those that kernels count."""
        if self.bath:
            self.bath.count_from(self.since)
        if self.cell:
            self.cell.before = self.since

    @property
    def dt_sizes(self) -> tuple[float, float]:
        """Those of normal numbers of the fields: kernels take others for zero."""
        known = np.finfo(self.potential.fields.dtype)
        return float(known.smallest_normal), float(known.max)

    def give_back_start(self) -> None:
        """Be where the start was given, before it was moved onto constraints (`Start.give_back`)."""
        if self._given_start:
            self._given_start.give_back()

    def project_start(self) -> list[TakenMove]:
        """Move the start onto the constraints, positions and velocities; the projections, for derivatives.

        Raises `UnsolvedStepError` where there is no projection.
        """
        assert self._constrained
        taken = projected_start(self._constrained.projections, self.time)
        self._constrained.put(0.0)
        self.evaluate()
        return taken

    @property
    def work(self) -> float:
        """The work done so far by an explicit time dependence of the potential, and by moving supports."""
        return float(storage.host(self._work)[0]) + self.holds.kinetic(self.inertia) - self._held

    @property
    def dissipated(self) -> float:
        """The kinetic energy that friction has taken so far."""
        return float(storage.host(self.friction.dissipated)[0]) if self.friction else 0.0

    @property
    def balance(self) -> dict[str, float]:
        """work, dissipated, heat and cell: those that potential, dissipation, baths and barostat change."""
        found = {"work": self.work} if self.works else {}
        found |= {"dissipated": self.dissipated} if self.friction else {}
        baths = [array for name, array in self._sums.items() if name in ("heat", "cell heat")]
        if baths:
            found["heat"] = sum(float(storage.host(given)[0]) for given in baths)
        return found | ({"cell": self.cell.energy} if self.cell else {})

    @property
    def moving(self) -> list[Field]:
        """Positions and velocities, and the box at constant pressure."""
        return [*super().moving, self.cell.box] if self.cell else super().moving

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that a step reads before it writes, except the fields: forces, energy sums, clock."""
        self.update()
        if self._steps is not None and runtime.arch() == "cpu":
            self._verify_forces(self.time)
        return self._state()

    def _state(self, copied: Callable[[Any], Any] = storage.host_copy) -> dict[str, np.ndarray]:
        """`state`, with the forces as they are."""
        forces = {f"gradient/{n}": copied(g) for n, g in self._forces.items()}
        if self._constrained:
            forces["multipliers"] = self._constrained.multipliers.copy()
        if self.holds.moving:
            forces["held"] = np.array(self._held)
        return forces | {n: copied(array) for n, array in self._sums.items()} | self._clock()

    def _kept(self) -> dict[str, Any]:
        return self._state(storage.duplicate)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values that `state` returned; one made with another dt keeps its own, from that time.

        Where dt was set after the saved stepper was made, it is restored. Raises `CheckpointError` if
        anything is missing or does not fit.
        """
        refuse_unlike({"since": np.array(0), "held": np.array(0.0), **state}, self._state())
        self._held = float(state.get("held", self._held))
        self._put(state)
        self.restore_clock(state)
        if self._constrained:
            self._constrained.projections.weigh()
            self._begin(self.time)
        self.mark()

    def _put(self, state: dict[str, np.ndarray]) -> None:
        """Overwrite the arrays of a state, without the clock."""
        for name, array in self._forces.items():
            storage.store(array, state[f"gradient/{name}"])
        for name, array in self._sums.items():
            storage.store(array, state[name])
        if self._constrained:
            self._constrained.put(state["multipliers"])

    def advance(self, n: int) -> None:
        """Move the fields n steps.

        Raises `NonFiniteError` naming step, term and node; the fields are then those of the last finite step.
        """
        self.update()
        before = self.memory()
        try:
            self._run(n)
            if self._finite():
                self._note()
                return
        except (RunFailedError, UserError):
            if self.cell is None and self._constrained is None:
                raise
        self.recall(before)
        for _ in range(n):
            before = self.memory()
            self._run_or_recall(before)
            if not self._finite():
                diagnosis = NonFiniteDiagnosis(self._single, self.moving, self._evaluate)
                overflow = diagnosis.overflow()
                self.recall(before)
                trouble = diagnosis.first(self.step - self.since, self.t0, self.dt) or overflow
                self.recall(before)
                raise NonFiniteError(f"step {self.step + 1}: {trouble}")
        self._note()

    @property
    def _sums(self) -> dict[str, Any]:
        friction = {"dissipated": self.friction.dissipated} if self.friction else {}
        heat = {"heat": self.bath.given} if self.bath else {}
        cell = {"cell momentum": self.cell.momentum, "cell heat": self.cell.given} if self.cell else {}
        flow = dict(self.part_flow.state) if self.part_flow else {}
        return {"work": self._work} | friction | heat | cell | flow

    def kept_arrays(self) -> dict[str, Any]:
        """The arrays besides the fields that a step reads before it writes, by their names in `state`."""
        return {f"gradient/{name}": array for name, array in self._forces.items()} | self._sums

    def _note(self) -> None:
        """Count a write of all that moves, for others that computed from it; the forces are those of now."""
        for array in self._own:
            array.writes += 1
        self.mark()

    # Steps, by single launches or in one kernel

    def _run(self, n: int) -> None:
        first = self.step - self.since
        if self._steps is not None:
            row = (self.step - self.tape.first,) if self.tape else ()
            self._launch(n, float(first), self.t0, self.dt, float(self.times(self.step + n)), *row)
            self.step += n
            if self.scheme.ends_with_drift and runtime.arch() != "cpu":
                self._single.forces(self.time)
            return
        for _ in range(n):
            if self._single.recorder:
                self._single.recorder.begin_step(self.step)
            if self.tape:
                self._single.row = self.step - self.tape.first
            self._single.step(self.step - self.since, self.t0, self.dt)
            self.step += 1

    def _run_or_recall(self, before: Memory) -> None:
        """A step; where a box that moves no longer fits its potential, the state `before` and an error."""
        number = self.step + 1
        try:
            self._run(1)
        except UnsolvedStepError:
            self._run_divided(before)
        except (RunFailedError, UserError) as error:
            if self.cell is None:
                raise
            self.recall(before)
            raise RunFailedError(f"step {number}: {error}") from error

    def _run_divided(self, before: Memory) -> None:
        """A step in as few substeps as are solved; else the state `before` and an error."""
        first = 1 if self._steps is None else 0  # launches have more ways than a kernel of steps
        self.recall(before)
        t0, end = self.time, float(self.times(self.step + 1))

        def take(parts: int) -> None:
            if self._single.recorder:
                self._single.recorder.begin_step(self.step)
            h = self.dt / parts
            for part in range(parts):
                last = end if part + 1 == parts else t0 + (part + 1) * h
                draws = APART + (self.step - self.since) * SUBSTEPS + part
                self._single.substep(t0 + part * h, h, last, draws)

        parts = self.in_parts([2**k for k in range(first, SUBSTEPS.bit_length())], take, self._unsolved)
        self.step += 1
        if parts > 1:
            self._divided.add(self.step, parts)
        if self._steps:
            self._begin(self.time)
            self.mark()

    def _unsolved(self, parts: int, error: RunFailedError) -> UnsolvedStepError:
        return UnsolvedStepError(
            f"step {self.step + 1}: is not solved in {parts} substeps of {self.dt / parts:.6g}: {error}; a"
            " smaller dt may cure it"
        )

    @property
    def multipliers(self) -> np.ndarray | None:
        """lambda (E,) of the constraints at the present positions and velocities."""
        if self._constrained is None:
            return None
        self.update()
        forces = {n: storage.host(g).astype(np.float64) for n, g in self._forces.items()}
        for motion in self.motions if self.dissipation else ():
            assert self.dissipation
            forces[motion.position] += self.dissipation.gradient(motion.velocity, self.time)
        return multipliers(self._constrained.projections, forces)

    def events(self) -> list[dict[str, Any]]:
        """The steps that were divided since the last call, with the number of their substeps."""
        return self._divided.report()

    def begin_tape(self, first: int) -> None:
        """Begin the tape at the present fields, with step number `first`."""
        if self._single.recorder:
            self._single.recorder.begin(first)
            return
        assert self.tape
        self.tape.first = first
        self._single.begin_tape()

    def begin(self) -> None:
        self.holds.place(self.time)
        self._held = self.holds.kinetic(self.inertia)
        if self._constrained and self._given_start:
            self._given_start = ProjectedStart(self._constrained.projections, self.time)
        self.evaluate()

    def draw_as(self, seed: int) -> None:
        if self.bath:
            self.bath.draw_as(seed)
        if self.cell:
            self.cell.barostat.seed = seed

    def evaluate(self, t: float | None = None) -> None:
        """Recompute the forces, at time t; steps do it themselves where they are stale."""
        self._evaluate(self.time if t is None else t)
        if t is None or t == self.time:
            self.mark()

    def _evaluate(self, t: float) -> None:
        if self.part_flow:
            self.part_flow.begin()
        if self._constrained:
            self._constrained.projections.weigh()
            self._begin(t)
        if self._steps is None or self.tape or runtime.arch() != "cpu":
            self._single.forces(t)
            return
        self._verify_forces(t)
        self._step_of_no_length(t)

    def _verify_forces(self, t: float) -> None:
        """Compute forces and friction by kernels of their own, which are verified and judge the range.

        Once in each range of fields and parameters.

        The kernel of many steps has the same loops; only sums over terms could be seen in its arrays.
        """
        if not self._proven.lack(t):
            return
        for part, motions in ((self.potential, self._forces), (self.dissipation, self._velocities)):
            if part:
                fields = part.fields
                part.gradient_into({n: storage.allocate(np.zeros_like(fields[n].values)) for n in motions}, t)
        self._proven.note()

    @property
    def _velocities(self) -> list[str]:
        return [m.velocity for m in self.motions]

    def _step_of_no_length(self, t: float) -> None:
        """The forces by a step with dt = 0: these have the bits that steps give them."""
        before, fields = self.memory()
        for array in self._forces.values():
            array.fill(0)
        try:
            self._launch(1, 0.0, t, 0.0, t)
        finally:
            forces = {n: values for n, values in self._state().items() if n.startswith("gradient/")}
            for field, values in zip(self._remembered, fields, strict=True):
                field.set(values)
            self._put(before | forces)

    def _begin(self, t: float) -> None:
        """The Jacobian of constraints and its factors, with the bits that steps give them."""
        assert self._constrained
        if self._steps is None:
            self._constrained.projections.begin(t)
            return
        before = self._state()
        self._step_of_no_length(t)
        self._put(before)

    def _launch(self, n: int, first: float, t0: float, dt: float, end: float, *row: int) -> None:
        """Take n steps in one kernel, until the time `end`. Raises `UnsolvedStepError`."""
        assert self._steps
        steps = partial(self._steps, n, first, t0, dt, *row)
        if self._constrained is None:
            steps()
        else:
            self._constrained.projections.launched(steps, end, dt)

    # The last finite state

    def _finite(self) -> bool:
        return self._finite_numbers()


def _refuse_approximate_parts(
    scheme: Scheme, magnetic: MagneticForce | None, constraints: Constraints | None
) -> None:
    """Raise `EnergyError` for a scheme whose order needs the exact flows of both parts."""
    for what, given in (("a magnetic field", magnetic), ("constraints", constraints)):
        if given and scheme.order > 2 and not scheme.of_leapfrogs:
            raise EnergyError(
                f"integrator: a scheme of order {scheme.order} that is no composition of leapfrogs has no"
                f" rule for {what}, got both; use yoshida6 or kahan_li8"
            )


def _refuse_shared_names(system: System, flow: PartFlow) -> None:
    """Raise `EnergyError` for a map of a flow with the name of a part of the system."""
    taken = {n for one in replace(system, of_stepper=()).potentials for n in one.parts}
    for name in (name for potential in flow.potentials for name in potential.parts):
        if name in taken:
            raise EnergyError(f"{flow.name}: its map '{name}' has the name of an energy; give it another")


def _refuse_motions_beside(motions: Sequence[Motion], flow: PartFlow) -> None:
    """Raise `EnergyError` for motions that the drifts of a flow would leave where they are."""
    if [m.position for m in motions] != [flow.x]:
        moving = ", ".join(f"'{m.position}'" for m in motions)
        raise EnergyError(f"{flow.name}: its drifts move '{flow.x}' alone, got motions of {moving}; give one")


def _refuse_symmetric_drifts(scheme: Scheme, flow: PartFlow) -> None:
    """Raise `EnergyError` for a scheme that needs exact drifts, where a drift is symmetric only."""
    if flow.inexact and not scheme.of_leapfrogs:
        what, cure = flow.inexact
        raise EnergyError(
            f"{flow.name}: {what} have no exact drifts, got a scheme that needs them; use leapfrog, or {cure}"
        )
