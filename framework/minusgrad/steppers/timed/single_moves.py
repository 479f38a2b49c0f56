"""One step by single launches: each move a kernel of its own, its energies added up on the host.

For systems too large for a kernel of many steps, and for inspection between two moves. On a device energies
are added up by its tasks (`engine.device_tasks`), so that nothing is copied; but for constraints, which are
solved on the host, and dU/dt of energies with maps or with elements that are rebuilt.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...energies.fields import ordered_sum
from ...engine import runtime, storage
from ...engine.device_tasks import tasks
from ...engine.kernels import BoundKernel, Code, short_loops_serial
from ...potential.fused_code import FusedCode
from ..constrained.constrained_moves import ConstrainedMoves
from ..constrained.move_tape import MoveRecorder
from ..moves import Moves
from ..pressure.cell import MovingBox
from ..schemes import Scheme
from ..step_sequence import (
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
    rule,
)
from ..tape import TapeKernels
from .heat_bath import Bath


class SingleMoves:
    """The moves of `moves`, each by a launch; `step` takes a whole one.

    `time` is that of the present positions, `number` that of the present step, which began at t0 + number dt.
    cell: the box that moves at constant pressure. constrained: the projections onto constraints.
    """

    def __init__(
        self,
        moves: Moves,
        scheme: Scheme,
        cell: MovingBox | None = None,
        constrained: ConstrainedMoves | None = None,
    ):
        self.moves, self.scheme, self.cell, self.constrained = moves, scheme, cell, constrained
        self.time = self.t0 = self.dt = 0.0
        self.number = self.draws = 0
        self.end: float | None = None
        apart = cell is not None or constrained is not None
        plain = moves.bath is None or apart
        self._kick = _kernel(moves.kick(), "h")
        self._drift = _kernel(moves.drift(), "h") if plain else _kernel(_bath(moves), "h", "first")
        self._bath = _kernel(_bath(moves, drifting=False), "h", "first") if moves.bath and apart else None
        self._turn = BoundKernel(moves.magnetic.moved(), "h") if moves.magnetic else None
        self._flow = _kernel(moves.part_flow.drift(), "h") if moves.part_flow else None
        self._rest = _kernel(rest) if (rest := moves.rest_of_forces()).text else None
        self._friction = _friction(moves, constrained)
        self._counts = runtime.arch() != "cpu" and constrained is None
        if self._counts:
            self._lost = BoundKernel(tasks(Code.joined(moves.lost())), "h") if moves.friction else None
            self._power = BoundKernel(tasks(moves.power()), "h") if moves.holds.moving else None
            plain = FusedCode(moves.potential).statements(moves.gradient) < math.inf
            timed = moves.potential.uses_time and plain
            self._rates = BoundKernel(tasks(Code.joined(moves.rates())), "t", "h") if timed else None
        self.tape = TapeKernels(moves.tape) if moves.tape else None
        self.row = 0
        """That of the next step on the tape, counted in steps."""
        self.recorder: MoveRecorder | None = None

    def begin(self, number: int, t0: float, dt: float) -> None:
        """Set the number and the time to the start of a step."""
        self.number, self.t0, self.dt, self.draws, self.end = number, t0, dt, number, None
        self.time = t0 + number * dt

    def step(self, number: int, t0: float, dt: float) -> None:
        """Take a step, with its energies, and its rows of the tape."""
        self.begin(number, t0, dt)
        self._take()

    def substep(self, start: float, dt: float, end: float, draws: int) -> None:
        """Take a part of a step, from `start` to `end`; `draws`: the number for which the bath draws."""
        self.begin(0, start, dt)
        self.end, self.draws = end, draws
        self._take()

    def _take(self) -> None:
        for move in self.scheme.moves:
            begun = self.time
            if self.recorder:
                self.recorder.before(move)
            self.take(move)
            if self.recorder:
                self.recorder.after(move, self.dt, begun, self.time)

    def take(self, move: Move) -> None:
        """One move of the present step."""
        rule(self._rules, move, "integrator")(move)

    # The rules of a step

    @property
    def _rules(self) -> Mapping[type[Move], Callable[..., None]]:
        return {
            HalfFriction: self._half_friction,
            Kick: self._kick_and_work,
            Drift: self._drift_and_record,
            BathDrift: self._drift_and_record,
            MagneticDrift: self._turning_drift_and_record,
            InteractionKick: self._kick_and_work,
            FlowDrift: self._turning_drift_and_record,
            PressureKick: self._kick_and_work,
            PressureDrift: self._drift_and_record,
            ConstrainedDrift: self.constrained_drift,
            ConstrainedBathDrift: self.constrained_drift,
            TangentProjection: self.tangent,
            Forces: self._forces,
        }

    def _half_friction(self, move: HalfFriction) -> None:
        if self.tape and self.tape.velocities:
            self.tape.velocities(self.row * 2 + move.number)
        self.half_friction()

    def _kick_and_work(self, move: Kick) -> None:
        self.kick(move)
        potential, holds = self.moves.potential, self.moves.holds
        if self._counts:
            h = self.scheme.kicks[move.number] * self.dt
            if self._power:
                self._power(h)
            if self._rates:
                self._rates(self.time, h)
            elif potential.uses_time:
                _add(self.moves.work, h * potential.rate(self.time))
        elif potential.uses_time or holds.moving:
            power = potential.rate(self.time) + holds.power(self.moves.gradient)
            _add(self.moves.work, self.scheme.kicks[move.number] * self.dt * power)

    def _drift_and_record(self, move: Drift) -> None:
        self.drift(move)
        if self.tape:
            self.tape.positions(self.row * len(self.scheme.drifts) + move.number + 1)

    def _turning_drift_and_record(self, move: Drift) -> None:
        """A drift that changes velocities, which a tape then has from before it."""
        if self.tape and self.tape.turned:
            self.tape.turned(self.row * len(self.scheme.drifts) + move.number)
        self._drift_and_record(move)

    def _forces(self, move: Forces) -> None:
        self.forces(self.time)

    # Moves

    def forces(self, t: float) -> None:
        """dU/dx at the present positions, and the part of it that kicks take."""
        self.moves.potential.gradient_into(self.moves.gradient, t)
        if self._rest:
            self._rest()

    def kick(self, move: Kick) -> None:
        """v <- v - c dt (dU/dx) / inertia, and the kick of the cell; the work is not counted."""
        h = self.scheme.kicks[move.number] * self.dt
        self._kick(h)
        if self.cell:
            self.cell.kick(h, self.moves.gradient)

    def drift(self, move: Drift) -> None:
        """x <- x + d dt v, with the bath or the magnetic field; then supports and time are of its end."""
        h, bath = self.scheme.drifts[move.number] * self.dt, self.moves.bath
        if self.cell:
            self._pressure_drift(self.cell, h)
        elif isinstance(move, MagneticDrift):
            self._magnetic_drift(h)
        elif self._flow:
            self._flow(h)
        elif bath is None:
            self._drift(h)
        else:
            if self.moves.magnetic:
                self._magnetic_drift(0.5 * h)
            self._exchange_heat(bath, self._drift, h)
            if self.moves.magnetic:
                self._magnetic_drift(0.5 * h)
        self.time = self._time_after(move.number)
        self.moves.holds.place(self.time)

    def constrained_drift(self, move: Drift) -> None:
        """A drift onto constraints; in a bath two halves of it, with the exchange of heat between them."""
        assert self.constrained
        constrained, h, bath = self.constrained, self.scheme.drifts[move.number] * self.dt, self.moves.bath
        end = self._time_after(move.number)
        if bath is None:
            constrained.drift(move.number, h, end, self._drift)
        else:
            assert self._bath
            constrained.drift(2 * move.number, 0.5 * h, end - 0.5 * h, self._drift)
            constrained.tangent()
            before = self._kinetic()
            self._bath(h, float(self.draws))
            _add(bath.given, constrained.tangent() + self._kinetic() - before)
            constrained.drift(2 * move.number + 1, 0.5 * h, end, self._drift)
        self.time = end

    def tangent(self, move: TangentProjection) -> None:
        """Tangent velocities."""
        assert self.constrained
        self.constrained.tangent()

    def _exchange_heat(self, bath: Bath, kernel: BoundKernel, h: float) -> None:
        if self._counts:
            kernel(h, float(self.number))
            return
        before = self._kinetic()
        kernel(h, float(self.number))
        _add(bath.given, self._kinetic() - before)

    def _pressure_drift(self, cell: MovingBox, h: float) -> None:
        """Half a drift, half a deformation, the baths, and the halves in reverse order."""
        cell.kick_by_motion(0.5 * h)
        self._drift(0.5 * h)
        cell.deform(0.5 * h)
        if self._bath and self.moves.bath:
            self._exchange_heat(self.moves.bath, self._bath, h)
        cell.exchange_heat(h, self.number)
        cell.deform(0.5 * h)
        self._drift(0.5 * h)
        cell.kick_by_motion(0.5 * h)

    def _magnetic_drift(self, h: float) -> None:
        assert self._turn
        assert self.moves.magnetic
        self.moves.magnetic.potential.sweep(self.moves.magnetic.request, h)
        self._turn(h)

    def half_friction(self) -> None:
        """Half a step of friction, and the energy that it takes."""
        friction = self.moves.friction
        if friction is None or self._friction is None:
            return
        h, forces = 0.5 * self.dt, {m.position: friction.force[m.velocity] for m in self.moves.motions}
        self._friction(self.time, h)
        if self._counts:
            if self._lost:
                self._lost(h)
            return
        for motion in self.moves.motions:
            v, old = self.moves.potential.fields[motion.velocity].values, friction.before[motion.velocity]
            mass = storage.host(self.moves.inertia[motion.position]).astype(np.float64)
            with np.errstate(all="ignore"):  # values that are not finite are reported by name
                change = storage.host(old).astype(np.float64) ** 2 - v.astype(np.float64) ** 2
                lost = ordered_sum(0.5 * mass.reshape(-1, *[1] * (v.ndim - 1)) * change)
            _add(friction.dissipated, lost)
        supports = h * self.moves.holds.power(forces)
        _add(friction.dissipated, supports)
        _add(self.moves.work, supports)

    def _time_after(self, drift: int) -> float:
        """The time after a drift of the present step; after the last it is exactly that of the next step."""
        if self.end is not None and drift + 1 == len(self.scheme.drifts):
            return self.end
        return self.t0 + (self.number + self.scheme.ends[drift]) * self.dt

    def _kinetic(self) -> float:
        """The kinetic energy of all that moves."""
        fields, total = self.moves.potential.fields, 0.0
        for motion in self.moves.motions:
            v, mass = fields[motion.velocity].values, storage.host(self.moves.inertia[motion.position])
            each = 0.5 * mass.astype(np.float64).reshape(-1, *[1] * (v.ndim - 1)) * v.astype(np.float64) ** 2
            total += ordered_sum(each)
        return total


def _kernel(code: Code, *scalars: str) -> BoundKernel:
    return BoundKernel(short_loops_serial(code), *scalars)


def _friction(
    moves: Moves, constrained: ConstrainedMoves | None = None
) -> Callable[[float, float], None] | None:
    """Friction for a time h at time t: one kernel, or several where elements are rebuilt between them."""
    friction = moves.friction
    if friction is None or (friction.dissipation.fixed and constrained is None):
        return BoundKernel(moves.apply_friction(), "t", "h") if friction else None
    before, add = BoundKernel(moves.remembered()), friction.dissipated
    stages = [_kernel(moves.slowed(h), "h") for h in ("ti.f64(0.5) * h", "h")]

    def applied(t: float, h: float) -> None:
        before()
        for stage in stages:
            friction.dissipation.gradient_into(friction.force, t)
            stage(h)
            if constrained and stage is stages[0]:
                constrained.velocities()
        if constrained:
            _add(add, -constrained.tangent())

    return applied


def _bath(moves: Moves, drifting: bool = True) -> Code:
    """The bath; on a device with sums of the heat, but for constraints, which change it."""
    device = runtime.arch() != "cpu"
    drift = moves.bath_drift(sums=device and moves.constrained is None, drifting=drifting)
    code = Code.joined([Code("number = first\n"), drift])
    return tasks(code) if device else code


def _add(total: Any, value: float) -> None:
    storage.store(total, storage.host(total) + value)
