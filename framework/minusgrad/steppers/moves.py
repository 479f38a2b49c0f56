"""The moves of a step: what each of them does, as pieces, and the loops over nodes that these need.

`pieces` is the only statement of a step. Joined in the sequence of the scheme they are one kernel of many
steps (`steps`), launched one by one they are a step of a large system (`timed.single_moves`).

Decisions 0112, 0353, 0359.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..energies.fields import Motion
from ..engine import storage
from ..engine.kernels import Code, at_each, real
from ..potential.fused_code import FusedCode
from ..potential.potential import Potential
from .constrained.constrained_moves import ConstrainedMoves
from .holds import Holds
from .magnetic.drift import PREFIX, MagneticDrifts
from .pressure.cell import MovingBox
from .schemes import Scheme
from .step_sequence import (
    BathDrift,
    ConstrainedBathDrift,
    ConstrainedDrift,
    Drift,
    FlowDrift,
    Forces,
    HalfFriction,
    InteractionKick,
    Kick,
    MagneticDrift,
    Move,
    PressureDrift,
    PressureKick,
    TangentProjection,
)
from .tape import Tape
from .timed.flows.part_flow import PartFlow
from .timed.friction import Friction
from .timed.heat_bath import Bath
from .timed.host_sums import HostSums, add_to
from .timed.move_pieces import (
    BEFORE_DRIFT_END,
    DRIFT,
    DRIFT_END,
    HALF_STEP,
    OWN,
    BeforeKick,
    EnergySweep,
    HostMove,
    JoinedPieces,
    LaunchedPieces,
    MoveLength,
    NodeLoops,
    Piece,
    Rules,
    TapeRow,
)

HALF_DRIFT = MoveLength("drifts", 0.5)
STEPS = "ti.loop_config(serialize=True)\nfor sub in range(steps):"
"""Header of the loop over steps, which is taken in order by one thread."""


class Moves:
    """What moves do, for everything that moves; `gradient` and `inertia` by the position's name.

    `friction` (if there is a dissipation): dR/dv and the velocities before it, by the velocity's name. `work`
    and `dissipated` are sums of one number each. cell: the box that moves at constant pressure.
    """

    def __init__(
        self,
        potential: Potential,
        motions: Sequence[Motion],
        gradient: Mapping[str, Any],
        inertia: Mapping[str, Any],
        holds: Holds,
        work: Any,
        friction: Friction | None = None,
        tape: Tape | None = None,
        bath: Bath | None = None,
        magnetic: MagneticDrifts | None = None,
        part_flow: PartFlow | None = None,
        constrained: ConstrainedMoves | None = None,
        cell: MovingBox | None = None,
    ):
        self.potential, self.motions, self.holds, self.bath = potential, motions, holds, bath
        self.magnetic, self.part_flow, self.constrained = magnetic, part_flow, constrained
        self.gradient, self.inertia, self.work, self.friction = gradient, inertia, work, friction
        self.tape, self.cell = tape, cell
        self._sums = HostSums(potential.fields, motions, inertia)

    # Many steps in one kernel

    def steps(self, scheme: Scheme) -> Code:
        """For a kernel of (steps, first, t0, dt): so many steps of length dt from number `first` on.

        With a tape also of `at`, the number of the first step on the tape, which is written on the way.
        """
        begin = Code("number = first + ti.f64(sub)\nt = t0 + number * dt\n")
        whole = Code.joined([begin, scheme.sequence.code(self._joined(scheme))])
        loop = (self.constrained.while_solved(whole) if self.constrained else whole).inside(STEPS)
        return loop.naming(**coefficients(scheme))

    def step(self, scheme: Scheme) -> Code:
        """The loops of one step, for a kernel of (first, t0, dt) as of `steps`, where each is a task."""
        begin = Code("sub = 0\nnumber = first\nt = t0 + number * dt\n")
        moves = scheme.sequence.unrolled_code(self._joined(scheme), scheme.stages)
        return Code.joined([begin, moves]).naming(**coefficients(scheme))

    def _joined(self, scheme: Scheme) -> JoinedPieces:
        return JoinedPieces(self.pieces(scheme), "integrator")

    # What each move does

    def pieces(self, scheme: Scheme) -> Rules:
        """What each move of a step does, in its order."""
        drift, kick = NodeLoops(self.drift), [MoveLength("kicks"), NodeLoops(self.kick), *self._work()]
        arrive, turned = self._arrival(scheme), self._turned(scheme)
        rules: dict[type[Move], Sequence[Piece]] = {
            HalfFriction: self._half_a_step_of_friction(),
            Kick: kick,
            Drift: [DRIFT, drift, *arrive],
            InteractionKick: kick,
            Forces: self._before_kick(scheme),
        }
        if self.part_flow:
            rules[FlowDrift] = [*turned, DRIFT, NodeLoops(self.part_flow.drift), *arrive]
        if self.magnetic:
            rules[MagneticDrift] = [*turned, DRIFT, *self._rotation(), *arrive]
        if self.bath:
            half = [HALF_DRIFT, *self._rotation()] if self.magnetic else []
            rules[BathDrift] = [*half, DRIFT, self._exchange(not self.magnetic), *half, *arrive]
        if self.cell:
            rules |= {
                PressureKick: [*kick, *self._push(self.cell)],
                PressureDrift: self._at_pressure(self.cell),
            }
        if self.constrained:
            rules |= self._onto_constraints(self.constrained)
        return rules

    def _host_move(
        self,
        launched: Callable[[LaunchedPieces], object],
        joined: Callable[[str], Sequence[Code]],
        plain: bool = True,
    ) -> HostMove:
        """One whose loops a device launches as tasks if they are `plain`; with constraints the host moves."""
        return HostMove(launched, joined, as_tasks=plain and not self.constrained)

    def _work(self) -> list[Piece]:
        """The work h dU/dt that an explicit time dependence does in a kick, and moving supports."""
        timed, moving = self.potential.uses_time, self.holds.moving
        if not (timed or moving):
            return []

        def count(at: LaunchedPieces) -> None:
            power = self.potential.rate(at.t) + self.holds.power(self.gradient)
            add_to(self.work, at.h * power)

        def loops(number: str) -> list[Code]:
            return [*self.rates(), *([self.power()] if moving else [])]

        plain = FusedCode(self.potential).statements(self.gradient) < math.inf
        return [self._host_move(count, loops, plain or not timed)]

    def _arrival(self, scheme: Scheme) -> list[Piece]:
        """The end of a drift: time, supports and the tape's row are those of its end."""
        rows: list[Piece] = []
        if self.tape:
            rows = [TapeRow(self.tape.record_positions, len(scheme.drifts), after=1)]
        return [DRIFT_END, NodeLoops(self.holds.code), *rows]

    def _turned(self, scheme: Scheme) -> list[Piece]:
        """A tape has the velocities before a drift that changes them."""
        return [TapeRow(self.tape.record_turned, len(scheme.drifts))] if self.tape else []

    def _rotation(self) -> list[Piece]:
        """A drift of length h in a magnetic field, whose time is that length until it is over."""
        assert self.magnetic
        sweep = EnergySweep(self.magnetic.potential, self.magnetic.request, PREFIX)
        return [OWN, sweep, NodeLoops(self.magnetic.moved)]

    def _exchange(self, drifting: bool) -> Piece:
        """The heat bath, in the middle of a drift if `drifting`; the heat is counted."""
        alone = partial(self.bath_drift, drifting=drifting)

        def exchange(at: LaunchedPieces) -> None:
            assert self.bath
            before = self._sums.kinetic()
            at.launch(alone)
            tangent = self.constrained.tangent() if self.constrained else 0.0
            add_to(self.bath.given, tangent + self._sums.kinetic() - before)

        counted = partial(self.bath_drift, sums=True, drifting=drifting)
        return self._host_move(exchange, lambda number: [counted()])

    def _push(self, cell: MovingBox) -> list[Piece]:
        """A kick of the cell."""
        return [HostMove(lambda at: cell.kick(at.h, self.gradient))]

    def _at_pressure(self, cell: MovingBox) -> list[Piece]:
        """Half a drift, half a deformation, the baths, and the halves in reverse order."""
        by_motion = HostMove(lambda at: cell.kick_by_motion(at.h))
        drift, deform = NodeLoops(self.drift), HostMove(lambda at: cell.deform(at.h))
        baths: list[Piece] = [self._exchange(drifting=False)] if self.bath else []
        baths.append(HostMove(lambda at: cell.exchange_heat(at.h, at.clock.number)))
        before: list[Piece] = [HALF_DRIFT, by_motion, drift, deform]
        after: list[Piece] = [HALF_DRIFT, deform, drift, by_motion]
        return [*before, DRIFT, *baths, *after, DRIFT_END, NodeLoops(self.holds.code)]

    def _onto_constraints(self, constrained: ConstrainedMoves) -> dict[type[Move], Sequence[Piece]]:
        """Drifts onto constraints, in a bath two halves with the exchange of heat between them."""
        drift, places = NodeLoops(self.drift), NodeLoops(self.holds.code)
        tangent = self._host_move(lambda at: constrained.tangent(), self._tangents)

        def onto(each: int = 1, more: int = 0) -> HostMove:
            """The projection with the number `each` (number of the drift) + `more`."""
            return self._host_move(
                lambda at: constrained.project(each * at.number + more, at.h, at.t),
                lambda number: [constrained.onto(number)],
            )

        rules: dict[type[Move], Sequence[Piece]] = {
            TangentProjection: [tangent],
            ConstrainedDrift: [DRIFT, drift, DRIFT_END, places, onto()],
        }
        if self.bath:
            bath = self._exchange(drifting=False)
            before: list[Piece] = [HALF_DRIFT, drift, BEFORE_DRIFT_END, places, onto(2)]
            after: list[Piece] = [HALF_DRIFT, drift, DRIFT_END, places, onto(2, 1)]
            rules[ConstrainedBathDrift] = [*before, tangent, DRIFT, bath, *after]
        return rules

    def _tangents(self, number: str) -> list[Code]:
        assert self.constrained
        return [self.constrained.tangents()]

    def forces(self) -> list[Piece]:
        """dU/dx at the present positions, and the part of it that kicks take."""
        sweep = EnergySweep(self.potential, DerivativeRequest(gradient=self.gradient))
        return [sweep, *([NodeLoops(self.rest_of_forces)] if self.part_flow else [])]

    def _before_kick(self, scheme: Scheme) -> list[Piece]:
        forces = self.forces()
        return [BeforeKick(forces, scheme.kicks)] if scheme.ends_with_drift else forces

    def _half_a_step_of_friction(self) -> list[Piece]:
        """v <- v - h (dR/dv) / inertia by the explicit midpoint rule, at the present x and t; the energy."""
        pieces: list[Piece] = [TapeRow(self.tape.record_velocities, 2)] if self.tape else []
        if not (friction := self.friction):
            return pieces
        sweep = EnergySweep(friction.dissipation, DerivativeRequest(gradient=friction.force), "loss")
        stages = [NodeLoops(partial(self.slowed, h)) for h in ("ti.f64(0.5) * h", "h")]
        tangents: list[list[Piece]] = [[], []]
        if constrained := self.constrained:
            taken = lambda at: add_to(friction.dissipated, -constrained.tangent())  # noqa: E731
            launched = (lambda at: constrained.velocities(), taken)
            tangents = [[self._host_move(one, self._tangents)] for one in launched]
        pieces += [HALF_STEP, NodeLoops(self.remembered)]
        for stage, tangent in zip(stages, tangents, strict=True):
            pieces += [sweep, stage, *tangent]
        lost = self._host_move(self._count_lost, lambda number: self.lost())
        return [*pieces, lost]

    def _count_lost(self, at: LaunchedPieces) -> None:
        """Count the energy that friction took in a time h, from bodies and from supports."""
        assert self.friction
        friction, forces = self.friction, {m.position: self.friction.force[m.velocity] for m in self.motions}
        for lost in self._sums.kinetic_losses(friction.before):
            add_to(friction.dissipated, lost)
        supports = at.h * self.holds.power(forces)
        add_to(friction.dissipated, supports)
        add_to(self.work, supports)

    # Loops

    def drift(self) -> Code:
        """x <- x + h v"""
        return Code.joined(self._drift(motion) for motion in self.motions)

    def bath_drift(self, sums: bool = False, drifting: bool = True) -> Code:
        """The heat bath, for scalars h and `number` (the step's); in the middle of a drift if `drifting`.

        With `sums` the heat is added up: in loops on one thread.
        """
        assert self.bath
        pieces = []
        for motion in self.motions:
            x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
            pieces.append(
                self.bath.drift(x, v, self.inertia[x.name], self.holds.mask(x.name), sums, drifting)
            )
        return Code.joined(pieces)

    def kick(self) -> Code:
        """v <- v - h (dU/dx) / inertia; with a flow of a part, by the rest of U."""
        if self.part_flow and (kick := self.part_flow.kick()) is not None:
            return kick
        return Code.joined(self._kick(motion) for motion in self.motions)

    def rest_of_forces(self) -> Code:
        """With a flow of a part: the forces that kicks take."""
        return self.part_flow.rest(self.gradient[self.part_flow.x]) if self.part_flow else Code("")

    def lost(self) -> list[Code]:
        """Loops that count the energy which friction took in a time h, from bodies and from supports."""
        assert self.friction
        sums = {"dissipated": self.friction.dissipated}
        pieces = [self._lost(motion).naming(**sums) for motion in self.motions]
        if self.holds.moving:
            forces = {m.position: f"g_{m.velocity}" for m in self.motions}
            named = {f"g_{m.velocity}": self.friction.force[m.velocity] for m in self.motions}
            for name, total in (sums | {"work": self.work}).items():
                pieces.append(self.holds.power_code(forces, name).naming(**{name: total}, **named))
        return pieces

    def rates(self) -> list[Code]:
        """Loops that add h dU/dt to the work, for each term that depends on time."""
        rates = FusedCode(self.potential).rates("work[0] = work[0] + h * {}")
        return [rate.naming(work=self.work) for rate in rates]

    def power(self) -> Code:
        """Loops that add h times the power of supports by the forces of now to the work."""
        forces = {name: f"g_{name}" for name in self.gradient}
        named = {f"g_{name}": array for name, array in self.gradient.items()}
        return self.holds.power_code(forces, "work").naming(work=self.work, **named)

    def remembered(self) -> Code:
        """Copies of the velocities before friction."""
        assert self.friction
        velocities = [self.potential.fields[m.velocity] for m in self.motions]
        return Code.joined(
            Code(
                at_each(f"f_{v.name}", v.array, f"before_{v.name}[{{at}}] = f_{v.name}[{{at}}]"),
                {f"f_{v.name}": v.array, f"before_{v.name}": self.friction.before[v.name]},
            )
            for v in velocities
        )

    def slowed(self, h: str) -> Code:
        """v <- (v before) - h (dR/dv) / inertia, with dR/dv as it was computed."""
        assert self.friction
        pieces = []
        for motion in self.motions:
            force, before = self.friction.force[motion.velocity], self.friction.before[motion.velocity]
            pieces.append(self._accelerated(motion, f"g_{motion.velocity}", force, h, before))
        return Code.joined(pieces)

    def _lost(self, motion: Motion) -> Code:
        """dissipated <- dissipated + sum of inertia (v^2 before - v^2) / 2"""
        assert self.friction
        v, inertia = self.potential.fields[motion.velocity], self.inertia[motion.position]
        mass = f"ti.f64(i_{motion.position}[{'n' if inertia.shape[0] > 1 else 0}])"
        old, new = f"ti.f64(before_{v.name}[{{at}}])", f"ti.f64(f_{v.name}[{{at}}])"
        line = f"dissipated[0] = dissipated[0] + ti.f64(0.5) * {mass} * ({old} * {old} - {new} * {new})"
        arrays = {f"f_{v.name}": v.array, f"before_{v.name}": self.friction.before[v.name]}
        return Code(at_each(f"f_{v.name}", v.array, line), arrays | {f"i_{motion.position}": inertia})

    def _drift(self, motion: Motion) -> Code:
        x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
        place = f"f_{x.name}[{{at}}]"
        line = f"{place} = {place} + {real(x.dtype)}(h) * f_{v.name}[{{at}}]"
        return Code(at_each(f"f_{x.name}", x.array, line), {f"f_{x.name}": x.array, f"f_{v.name}": v.array})

    def _kick(self, motion: Motion) -> Code:
        return self._accelerated(motion, f"g_{motion.position}", self.gradient[motion.position], "h")

    def _accelerated(self, motion: Motion, force: str, array: Any, h: str, before: Any = None) -> Code:
        """v <- v - h force / inertia at free components; from the velocity `before`, if given."""
        x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
        inertia, free = self.inertia[x.name], self.holds.mask(x.name)
        place, mass = f"f_{v.name}[{{at}}]", f"i_{x.name}[{'n' if inertia.shape[0] > 1 else 0}]"
        old = place if before is None else f"before_{v.name}[{{at}}]"
        change = (
            f"{force}[{{at}}] / {mass}"
            if free is None
            else f"free_{x.name}[{{at}}] * {force}[{{at}}] / {mass}"
        )
        line = f"{place} = {old} - {real(x.dtype)}({h}) * ({change})"
        arrays = {force: array, f"i_{x.name}": inertia, f"f_{v.name}": v.array}
        arrays |= {} if free is None else {f"free_{x.name}": free}
        arrays |= {} if before is None else {f"before_{v.name}": before}
        return Code(at_each(f"f_{v.name}", v.array, line), arrays)


def coefficients(scheme: Scheme) -> dict[str, Any]:
    """The rows of a scheme as arrays for kernels, by name."""
    return {name: storage.allocate(np.array(row)) for name, row in scheme.rows.items()}
