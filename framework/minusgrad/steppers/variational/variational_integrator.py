"""Variational integrators: each step makes a discrete action stationary (`discrete_action`).

    d/dt (dL/dv) - dL/dq + dU/dq + dR/dv = 0            U the scene's energies, R its dissipation

The state is the coordinates q and the momenta p = dL/dv. Velocities are the Legendre transform of them
(`momenta`), computed where a call of `advance` ends; they never enter a step. Where someone writes q or v
between two steps, p begins afresh from them. A step that is not solved is taken once more in 2, 4, ... parts;
its times stay t0 + step dt.

    E = v dL/dv - L + U         W <- W + h sum_i b_i (dU/dt - dL/dt)        D <- D + h sum_i b_i v dR/dv

E minus W plus D is conserved up to the error of the method; W contains the work of moving supports: the
impulses that hold them, times their velocities.

Decisions 0375.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...energies.fields import ordered_sum, refuse_shared
from ...energies.lagrangian import Lagrangian
from ...engine import storage
from ...errors import EnergyError, NonFiniteError, RunFailedError, UnsolvedStepError
from ...potential.potential import Potential
from ...potential.velocity_terms import refuse_velocities
from ..constrained.move_tape import TakenMove
from ..constrained.projected_start import projected_start
from ..constrained.start import ProjectedStart
from ..implicit.moving_components import MovingComponents
from ..stepper import PARTS, Gradient, refuse_time_steps, refuse_unlike
from ..systems.missing_motions import refuse_missing
from ..systems.parts import (
    CONSTRAINTS,
    FAR,
    FRICTION,
    LAGRANGIAN,
    MAGNETIC,
    MOVING,
    PERIODIC,
    SUPPORTS,
    TIME,
    Consumer,
)
from ..systems.system import System
from ..timed.divided_steps import DividedSteps
from ..timed.friction import refuse_idle
from ..timed.motion_stepper import Memory, MotionStepper
from .accelerations import accelerations
from .action_tape import ActionTape, PhasePoint, SolvedAction
from .block_steps import BlockSteps, block_steps
from .constrained_steps import ConstrainedSteps
from .discrete_action import DiscreteAction
from .galerkin import GALERKIN
from .mass_matrix import refuse_singular
from .momenta import momenta, velocities
from .sparse_steps import SparseSteps

SUBSTEPS = 64
"""The most parts of a step."""
KIND = "variational"


class VariationalIntegrator(MotionStepper):
    """Advances the coordinates of a Lagrangian by a variational integrator, in place.

        lagrangian = Potential(fields, [pendulum])
        system = System(Potential(fields, []), [Motion("q", "v")], lagrangian=lagrangian)
        VariationalIntegrator(system, dt=0.01)

    system: its motions are the coordinates with their velocities, whose inertia is that of L alone;
    constraints act by impulses at the nodes of steps (`constrained_steps`). order: 2 or 4. dt, t0: as of
    `Integrator`. substeps: the most parts of a step, a power of 2. With a `tape`, steps record what
    derivatives need. blocks: solve node by node in a kernel, where elements share no nodes.
    Raises `EnergyError` for a singular mass matrix, naming the element, and for
    what does not fit; `UnsolvedStepError` where a step is not solved in its smallest parts: the state is then
    that before the step.
    """

    slow_on_devices = "each step copies the fields, for linear systems on the host"

    consumer = Consumer(
        "variational",
        {SUPPORTS, MOVING, FRICTION, CONSTRAINTS, LAGRANGIAN, PERIODIC, FAR, TIME},
        cure="leave it out",
        cures={MAGNETIC: "add q v A(x), the term of a charge in L, to the Lagrangian"},
    )
    fixed = PARTS | {"order", "gradient"}
    conserves = True

    @property
    def lagrangian(self) -> Potential:
        """The sum of Lagrangians."""
        found = self.system.lagrangian
        assert found is not None
        return found

    def __init__(
        self,
        system: System,
        dt: float,
        order: int = 2,
        t0: float = 0.0,
        substeps: int = SUBSTEPS,
        *,
        tape: ActionTape | None = None,
        blocks: bool = True,
    ):
        super().__init__(system)
        _refuse(system, order, substeps)
        potential, lagrangian, motions = self.potential, self.lagrangian, self.motions
        dissipation, constraints = self.dissipation, self.constraints
        self.order, self.substeps, self.tape = order, substeps, tape
        self._start_clock(dt, t0)
        fields = potential.fields
        self.holds.refuse_unmoved(self.motions)
        for term in dissipation.terms.values() if dissipation else ():
            refuse_idle(term, motions)
        self.components = MovingComponents(fields, motions, self.holds)
        self.action = DiscreteAction(GALERKIN[order], self.components, lagrangian, potential, dissipation)
        self.steps = SparseSteps(self.action)
        self.kept = ConstrainedSteps(self.action, constraints, motions, self.holds) if constraints else None
        self.impulses = np.zeros((order // 2 + 1, constraints.count if constraints else 0))
        alone = blocks and self.kept is None
        self.blocks: BlockSteps | None = block_steps(self.action, motions, self.holds) if alone else None
        self._forces = {m.position: storage.allocate(np.zeros(fields[m.position].shape)) for m in motions}
        self.gradient = Gradient(self._forces, self._look)
        self._sums = np.zeros((self.blocks.blocks if self.blocks else 1, 2))
        self._divided = DividedSteps()
        self.holds.place(self.time)
        fresh = self.kept is not None and tape is None  # with one it goes on from the state of another
        self._given_start = ProjectedStart(self.kept.projections, self.time) if self.kept and fresh else None
        self.evaluate()
        self._held = self._boundary()

    # The stepper's interface

    @property
    def works(self) -> bool:
        return super().works or self.lagrangian.uses_time

    @property
    def balance(self) -> dict[str, float]:
        """work and dissipated: those that L and U, supports and dissipation change."""
        moved = self._boundary() - self._held if self.holds.moving else 0.0
        found = {"work": ordered_sum(self._sums[:, 0]) + moved} if self.works else {}
        return found | ({"dissipated": ordered_sum(self._sums[:, 1])} if self.dissipation else {})

    @property
    def weights(self) -> set[str]:
        """None: the inertia is that of L."""
        return set()

    def energy_function(self) -> float:
        return self.action.energy_function(self.time)

    @property
    def multipliers(self) -> np.ndarray | None:
        """lambda (E,) of the constraints at the present coordinates and velocities."""
        if self.kept is None:
            return None
        self.update()
        return accelerations(self.action, self.holds, self.kept, self.time).multipliers

    @property
    def reactions(self) -> dict[str, np.ndarray]:
        """The forces of supports by coordinate, in its shape; zero at free components."""
        self.update()
        found = accelerations(self.action, self.holds, self.kept, self.time).reactions
        return self.components.parts(found, self.components.positions)

    @property
    def momenta(self) -> dict[str, np.ndarray]:
        """p by coordinate, in double precision, of the coordinate's shape."""
        self.update()
        parts = self.components.parts(self.p, self.components.positions)
        return {name: part.copy() for name, part in parts.items()}

    def events(self) -> list[dict[str, Any]]:
        """The steps that were divided since the last call, with the number of their parts."""
        return self._divided.report()

    def begin(self) -> None:
        self.holds.place(self.time)
        if self.kept and self._given_start:
            self._given_start = ProjectedStart(self.kept.projections, self.time)
        self.evaluate()
        self._held = self._boundary()

    def evaluate(self, t: float | None = None) -> None:
        """Begin at the present fields: momenta by the Legendre transform, and no memory of earlier steps.

        Raises `EnergyError` for a singular mass matrix.
        """
        now = self.time if t is None else t
        slopes = self.action.slopes_at(now)
        if not np.isfinite(slopes).all():
            self._refuse_nonfinite(now)
        self.refuse_singular(now)
        self.p = slopes[1]
        v = self.components.read(self.components.velocities)
        self.last = np.outer(self.action.galerkin.nodes[1:], self._dt * v)
        self._last_h = self._dt
        self.impulses = np.zeros_like(self.impulses)
        if t is None or t == self.time:
            self.mark()

    def refuse_unfit(self) -> None:
        self.refuse_singular()

    def refuse_singular(self, t: float | None = None) -> None:
        """Raise `EnergyError` for a singular mass matrix at the present fields, at time t."""
        matrix = self.action.mass(self.time if t is None else t)
        refuse_singular(matrix, self.lagrangian, self.components)

    def state(self) -> dict[str, np.ndarray]:
        """State that a step reads before it writes, besides fields: momenta, displacements, sums, time."""
        self.update()
        return self._state()

    def _state(self) -> dict[str, np.ndarray]:
        own = {"momentum": self.p.copy(), "last": self.last.copy(), "last_h": np.array(self._last_h)}
        sums = {"flows": self._sums.copy(), "boundary": np.array(self._held)}
        kept = {"impulses": self.impulses.copy()} if self.kept else {}
        return own | kept | sums | self._clock()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values that `state` returned; one made with another dt keeps its own, from that time."""
        refuse_unlike({"since": np.array(0), **state}, self._state())
        self.p, self.last = np.array(state["momentum"]), np.array(state["last"])
        self._last_h, self._held = float(state["last_h"]), float(state["boundary"])
        self._sums = np.array(state["flows"])
        self.impulses = np.array(state["impulses"]) if self.kept else self.impulses
        self.restore_clock(state)
        self.mark()

    def advance(self, n: int) -> None:
        """Move the fields n steps.

        Raises `UnsolvedStepError` for a step without a solution; the fields are then those before it.
        """
        self.update()
        try:
            while self.blocks and not self.tape and n and (taken := self._many(n, self.blocks)):
                n -= taken
            for _ in range(n):
                self._step()
                if self.tape:
                    self._finish()
                    self.tape.states[self.step] = self._phase_point()
        finally:
            self._finish()

    def _many(self, n: int, blocks: BlockSteps) -> int:
        """Take n steps in one launch; returns how many were taken: none where one has no solution."""
        before = self.memory()
        n = n if blocks.compared else 1
        self._put(blocks)
        if not blocks.advance(n, self.step - self.since, self.t0, self.dt):
            self.recall(before)
            return 0
        self._take(blocks, self.dt)
        if not blocks.compared:
            self._compare(blocks, before)
        self.step += n
        self.mark()
        return n

    def _compare(self, blocks: BlockSteps, before: Memory) -> None:
        """Put the first step of the kernel into the equations that other kernels give."""
        after, parts = self.memory(), self.components
        q = parts.joined(dict(zip((f.name for f in self.moving), before[1], strict=False)), parts.positions)
        blocks.compare(self.dt, self.time, q, before[0]["momentum"], self.last)
        self.recall(after)

    def _put(self, blocks: BlockSteps) -> None:
        blocks.put(self.p, self.last, self._last_h, self._sums)

    def _take(self, blocks: BlockSteps, h: float) -> None:
        """The state after a launch, which wrote the coordinates."""
        self.p, self.last = self.p.copy(), self.last.copy()
        self._sums, self._last_h = blocks.taken(self.p, self.last), h
        for name in self.components.positions:
            self.potential.fields[name].array.writes += 1

    # A step and its parts

    def _step(self) -> None:
        """A step in as few parts as are solved."""
        solved: list[SolvedAction] = []

        def take(parts: int) -> None:
            solved.clear()
            for part in range(parts):
                solved.append(self._part(part, parts))

        divisions = (2**k for k in range(self.substeps.bit_length()))
        parts = self.in_parts(divisions, take, self._unsolved)
        if parts > 1:
            self._divided.add(self.step + 1, parts)
        if self.tape:
            self.tape.parts[self.step] = solved
        self.step += 1
        self.mark()

    def _part(self, part: int, parts: int) -> SolvedAction:
        h = self.dt / parts
        start, end = self.time + part * h, self.time + (part + 1) * h
        end = float(self.times(self.step + 1)) if part + 1 == parts else end
        action, g = self.action, self.action.galerkin
        action.begin(h, start, self.components.read(self.components.positions), self.p)
        if self.blocks:
            return self._part_of_blocks(h, start, self.blocks)
        guess = g.continued(h / self._last_h) @ self.last
        speeds = self._held_path(guess)
        if self.kept:
            u, pushed = self.kept.solve(guess, self._impulses_at(h), end)
        else:
            u, pushed = self.steps.solve(guess), self.impulses
        slopes = action.slopes(u)
        p = self.p + action.impulse(slopes)
        work, lost = action.flows(u)
        if speeds is not None:
            held = np.where(self.components.free, 0.0, action.rows(slopes) * speeds)
            work -= ordered_sum(held)
        q, v = action.q + u[-1], g.shape(1.0, 1)[1:] @ u / h
        if self.kept:
            pulled, driven = self.kept.pull(u, pushed, end, speeds)
            p, work = p - pulled, work + driven
        action.put(q, v)
        self.holds.place(end)
        if not (np.isfinite(q).all() and np.isfinite(p).all()):
            raise NonFiniteError("the coordinates or momenta overflow")
        solved = SolvedAction(h, start, action.q, self.p, u)
        if self.kept:
            v, p, last, driven = self.kept.tangent(
                u, p, self.components.read(self.components.velocities), end
            )
            pushed, work = np.concatenate([pushed, last[None]]), work + driven
            solved = SolvedAction(h, start, action.q, self.p, u, pushed, v, end)
        self._sums = self._sums + np.array([work, lost])
        self.p, self.last, self._last_h, self.impulses = p, u, h, pushed
        return solved

    def _impulses_at(self, h: float) -> np.ndarray:
        """The impulses (s, E) with which the search for those of a step of length h begins: the last ones."""
        return np.concatenate([self.impulses[-1:], self.impulses[1:-1]]) * (h / self._last_h)

    def _part_of_blocks(self, h: float, start: float, blocks: BlockSteps) -> SolvedAction:
        """A part of a step by the kernel over blocks."""
        q, p = self.action.q, self.p
        self._put(blocks)
        if not blocks.advance(1, 0, start, h):
            raise UnsolvedStepError(
                f"Newton's method does not converge at node {blocks.first_failed()}, or meets numbers that"
                " are not finite"
            )
        self._take(blocks, h)
        return SolvedAction(h, start, q, p, self.last)

    def _held_path(self, u: np.ndarray) -> np.ndarray | None:
        """Set the displacements of held components; their velocities (s + 1, N) where they move."""
        if not self.holds.fields:
            return None
        free, action, speeds = self.components.free, self.action, []
        for n, d in enumerate(action.galerkin.nodes):
            self.holds.place(action.t + d * action.h)
            if n:
                there = self.components.read(self.components.positions)
                u[n - 1] = np.where(free, u[n - 1], there - action.q)
            speeds.append(self.components.read(self.components.velocities))
        return np.array(speeds) if self.holds.moving else None

    def _unsolved(self, parts: int, error: RunFailedError) -> UnsolvedStepError:
        divided = "at once" if parts == 1 else f"in {parts} substeps of {self.dt / parts:.6g}"
        return UnsolvedStepError(
            f"step {self.step + 1}: is not solved {divided}: {error}; a smaller dt, slower supports or more"
            " `substeps` may cure it"
        )

    def _finish(self) -> None:
        """Velocities by the Legendre transform of the momenta; momenta of held components from them."""
        components, t = self.components, self.time
        if self.kept:  # a step has computed them
            self._of_held(t)
            return
        if self.blocks:
            self._put(self.blocks)
            self.blocks.velocities(t)
            for name in components.velocities:
                self.potential.fields[name].array.writes += 1
            self._of_held(t)
            return
        q = components.read(components.positions)
        guess = components.read(components.velocities)
        end = self.action.galerkin.shape(1.0, 1)[1:] @ self.last / self._last_h
        guess = np.where(components.free, end, guess)
        velocities(self.action, q, self.p, t, guess)
        self._of_held(t)

    def _of_held(self, t: float) -> None:
        """The momenta of held components, from the present velocities."""
        if not self.components.whole:
            self.p = np.where(self.components.free, self.p, momenta(self.action, t))
        self.mark()

    # At the present state

    def _boundary(self) -> float:
        """p v of the held components, as it is now."""
        if not self.holds.moving:
            return 0.0
        v = self.components.read(self.components.velocities)
        held = np.where(self.components.free, 0.0, momenta(self.action, self.time) * v)
        return ordered_sum(held)

    def _look(self) -> None:
        """d(U - L)/dq at the present fields."""
        force = self.action.lagrangian.gradient(self.time)[0]
        if self.action.potential:
            force = force - self.action.potential.gradient(self.time)[0]
        for name, part in self.components.parts(-force, self.components.positions).items():
            storage.store(self._forces[name], part)

    def _refuse_nonfinite(self, t: float) -> None:
        """Raise `NonFiniteError` for a start at which L, U or R are not finite."""
        for _, _, one in self.action.functions:
            if found := one.potential.first_nonfinite(t, one.read):
                raise NonFiniteError(f"step {self.step}: {found}")
        raise NonFiniteError(f"step {self.step}: the slopes of the action are not finite")

    def _phase_point(self) -> PhasePoint:
        names = self.components.positions, self.components.velocities
        return PhasePoint(self.time, *(self.components.read(some) for some in names))

    # Derivatives

    def differentiable(self) -> "VariationalIntegrator":
        """Itself: steps of both orders have derivatives."""
        return self

    def with_tape(self, tape: ActionTape) -> "VariationalIntegrator":
        """An integrator of the same fields that records on a tape, which begins at the present time."""
        alone = self.blocks is not None
        one = VariationalIntegrator(
            self.system, self.dt, self.order, self.time, self.substeps, tape=tape, blocks=alone
        )
        one.kind = self.kind
        return one

    def give_back_start(self) -> None:
        """Be where the start was given, before it was moved onto constraints (`Start.give_back`)."""
        if self._given_start:
            self._given_start.give_back()

    def project_start(self) -> list[TakenMove]:
        """Move the start onto the constraints, positions and velocities; the projections, for derivatives.

        Nothing without constraints. Raises `UnsolvedStepError` where there is no projection.
        """
        if self.kept is None:
            return []
        taken = projected_start(self.kept.projections, self.time)
        self.evaluate()
        return taken

    def begin_tape(self, first: int) -> None:
        """Begin the tape at the present fields, with step number `first`."""
        assert self.tape
        self.tape.begin(first, self._phase_point())


def _refuse(system: System, order: int, substeps: int) -> None:
    """Raise `EnergyError` for parts of a scene without a rule in variational steps."""
    potential, lagrangian, motions = system.potential, system.lagrangian, system.motions
    refuse_missing(KIND, motions, system.fields)
    if lagrangian is None or not lagrangian.terms:
        raise EnergyError(f"{KIND}: has no Lagrangian, got energies alone; add a [[lagrangian]] block")
    if order not in GALERKIN:
        raise EnergyError(f"order: must be {' or '.join(map(str, GALERKIN))}, got {order}; correct it")
    if substeps < 1 or substeps & (substeps - 1):
        raise EnergyError(f"substeps: must be a power of 2, got {substeps}; use 1 to never divide a step")
    refuse_shared(motions)
    refuse_velocities(potential, motions)
    refuse_time_steps(potential)
    refuse_time_steps(lagrangian)
    pairs = {m.position: m.velocity for m in motions}
    for term in lagrangian.terms.values():
        _refuse_other_rates(term, pairs)


def _refuse_other_rates(term: Any, pairs: Mapping[str, str]) -> None:
    """Raise `EnergyError` for a rate that is not bound to the velocity of its coordinate's motion."""
    if not isinstance(term.energy, Lagrangian):
        raise EnergyError(f"{term.name}: is an energy, got among Lagrangians; declare it by @lagrangian")
    for coordinate, rate in term.energy.rates.items():
        q, v = term.fields[coordinate].name, term.fields[rate].name
        if pairs.get(q) != v:
            known = ", ".join(f"'{b}' of '{a}'" for a, b in pairs.items())
            raise EnergyError(
                f"lagrangian '{term.name}': {rate} is the rate of '{q}', got the field '{v}'; give the"
                f" velocity of a motion ({known}) by `fields`"
            )
