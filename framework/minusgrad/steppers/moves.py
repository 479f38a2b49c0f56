"""Kernels that move the fields: a kick, a drift, friction, and many whole steps in one.

The kernel of many steps is joined from the same pieces as single moves, in the sequence of the scheme.

Decisions 0353, 0359.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..energies.fields import Motion
from ..energies.term import Term
from ..engine import storage
from ..engine.kernels import Code, at_each, real, zero_loops
from ..errors import EnergyError
from ..potential.fused_code import FusedCode
from ..potential.potential import Potential
from .constrained.constrained_moves import ConstrainedMoves
from .holds import Holds
from .magnetic.drift import MagneticDrifts
from .schemes import Scheme
from .step_sequence import (
    BathDrift,
    ConstrainedDrift,
    Drift,
    Emit,
    FlowDrift,
    Forces,
    HalfFriction,
    InteractionKick,
    Kick,
    MagneticDrift,
    TangentProjection,
    rule,
)
from .tape import Tape
from .timed.flows.part_flow import PartFlow
from .timed.heat_bath import Bath

STEPS = "ti.loop_config(serialize=True)\nfor sub in range(steps):"
"""Header of the loop over steps, which is taken in order by one thread."""


class Moves:
    """Loops over the nodes of everything that moves; `gradient` and `inertia` by the position's name.

    `friction` (if there is a dissipation): dR/dv and the velocities before it, by the velocity's name. `work`
    and `dissipated` are sums of one number each.
    """

    def __init__(
        self,
        potential: Potential,
        motions: Sequence[Motion],
        gradient: Mapping[str, Any],
        inertia: Mapping[str, Any],
        holds: Holds,
        work: Any,
        friction: "Friction | None" = None,
        tape: Tape | None = None,
        bath: Bath | None = None,
        magnetic: MagneticDrifts | None = None,
        part_flow: PartFlow | None = None,
        constrained: ConstrainedMoves | None = None,
    ):
        self.potential, self.motions, self.holds, self.bath = potential, motions, holds, bath
        self.magnetic, self.part_flow, self.constrained = magnetic, part_flow, constrained
        self.gradient, self.inertia, self.work, self.friction = gradient, inertia, work, friction
        self.tape = tape

    def drift(self) -> Code:
        """x <- x + h v"""
        return Code.joined(self._drift(motion) for motion in self.motions)

    def bath_drift(self, sums: bool = False, drifting: bool = True) -> Code:
        """`drift` with the bath in its middle, for scalars h and `number` (the step's).

        With `sums` the heat is added up: in loops on one thread. In a magnetic field, or if not `drifting`,
        the bath alone.
        """
        assert self.bath
        pieces, drifting = [], drifting and not self.magnetic
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

    # Many steps in one kernel

    def steps(self, scheme: Scheme) -> Code:
        """For a kernel of (steps, first, t0, dt): so many steps of length dt from number `first` on.

        With a tape also of `at`, the number of the first step on the tape, which is written on the way.
        """
        begin = Code("number = first + ti.f64(sub)\nt = t0 + number * dt\n")
        whole = Code.joined([begin, scheme.sequence.code(self._emit(scheme))])
        loop = (self.constrained.while_solved(whole) if self.constrained else whole).inside(STEPS)
        return loop.naming(**coefficients(scheme))

    def step(self, scheme: Scheme) -> Code:
        """The loops of one step, for a kernel of (first, t0, dt) as of `steps`, where each is a task."""
        begin = Code("sub = 0\nnumber = first\nt = t0 + number * dt\n")
        moves = scheme.sequence.unrolled_code(self._emit(scheme), scheme.stages)
        return Code.joined([begin, moves]).naming(**coefficients(scheme))

    def _emit(self, scheme: Scheme) -> Emit:
        """The rules of moves in kernels."""
        rules = {
            HalfFriction: self._half_a_step_of_friction,
            Kick: lambda move, number: [Code(f"h = kicks[{number}] * dt\n"), *self._kick_and_work()],
            Drift: lambda move, number: self._drift_and_place(number, scheme, self.drift()),
            BathDrift: lambda move, number: self._drift_and_place(number, scheme, self._around_bath()),
            MagneticDrift: lambda move, number: self._magnetic_drift(number, scheme),
            InteractionKick: lambda move, number: [
                Code(f"h = kicks[{number}] * dt\n"),
                *self._kick_and_work(),
            ],
            FlowDrift: lambda move, number: self._flow_drift(number, scheme),
            ConstrainedDrift: lambda move, number: self._drift_onto(number, scheme),
            TangentProjection: lambda move, number: [self._tangents()],
            Forces: lambda move, number: self._forces(number, scheme),
        }
        return lambda move, number: rule(rules, move, "integrator")(move, number)

    def _drift_and_place(self, number: str, scheme: Scheme, drift: Code) -> list[Code]:
        """A drift; then time, supports and the tape's row are those of its end."""
        row = f"(at + sub) * {len(scheme.drifts)} + {number} + 1"
        return [
            Code(f"h = drifts[{number}] * dt\n"),
            drift,
            Code(f"t = t0 + (first + ti.f64(sub) + ends[{number}]) * dt\n"),
            self.holds.code(),
            self.tape.record_positions(row) if self.tape else Code(""),
        ]

    def _drift_onto(self, number: str, scheme: Scheme) -> list[Code]:
        """A drift and its projection onto constraints."""
        assert self.constrained
        return [*self._drift_and_place(number, scheme, self.drift()), self.constrained.onto(number)]

    def _tangents(self) -> Code:
        """Velocities tangent to constraints, if there are some."""
        return self.constrained.tangents() if self.constrained else Code("")

    def _around_bath(self) -> Code:
        """A drift in the heat bath; in a magnetic field between two halves of its flow."""
        bath = self.bath_drift(sums=True)
        if self.magnetic is None:
            return bath
        half = Code.joined([Code("h = ti.f64(0.5) * h\nt = h\n"), self.magnetic.code()])
        return Code.joined([half, Code("h = ti.f64(2.0) * h\n"), bath, half])

    def _magnetic_drift(self, number: str, scheme: Scheme) -> list[Code]:
        """A drift in a magnetic field, whose time `t` is its length until it is over."""
        assert self.magnetic
        row = f"(at + sub) * {len(scheme.drifts)} + {number}"
        before = [self.tape.record_turned(row)] if self.tape else []
        drift = Code.joined([Code("t = h\n"), self.magnetic.code()])
        return [*before, *self._drift_and_place(number, scheme, drift)]

    def _flow_drift(self, number: str, scheme: Scheme) -> list[Code]:
        """A drift along a flow; with a tape, the velocities before it are recorded, too."""
        assert self.part_flow
        row = f"(at + sub) * {len(scheme.drifts)} + {number}"
        before = [self.tape.record_turned(row)] if self.tape else []
        return [*before, *self._drift_and_place(number, scheme, self.part_flow.drift())]

    def _forces(self, number: str, scheme: Scheme) -> list[Code]:
        cleared = [zero_loops(f"g_{name}", array) for name, array in self.gradient.items()]
        pieces = [*cleared, FusedCode(self.potential).gradient(self.gradient), self.rest_of_forces()]
        if not scheme.ends_with_drift:
            return pieces
        if number.isdecimal():  # of a single step, whose last forces are computed apart
            return pieces if scheme.kicks[int(number) + 1] else []
        # between two drifts no kick takes them; the last ones are the stepper's
        return [Code.joined(pieces).inside(f"if kicks[{number} + 1] != 0.0 or sub + 1 == steps:")]

    def rest_of_forces(self) -> Code:
        """With a flow of a part: the forces that kicks take."""
        return self.part_flow.rest(self.gradient[self.part_flow.x]) if self.part_flow else Code("")

    def _kick_and_work(self) -> list[Code]:
        """A kick, and the work h dU/dt that an explicit time dependence does in it."""
        pieces = [self.kick(), *self.rates()]
        if self.holds.moving:
            pieces.append(self.power())
        return pieces

    def _half_a_step_of_friction(self, move: HalfFriction, number: str) -> list[Code]:
        """Friction for half a step, and the energy that it takes."""
        pieces = [self.tape.record_velocities(f"(at + sub) * 2 + {number}")] if self.tape else []
        if not self.friction:
            return pieces
        pieces += [Code("h = ti.f64(0.5) * dt\n"), self.apply_friction(self._tangents())]
        return [*pieces, *self.lost()]

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

    # Friction

    def apply_friction(self, projected: Code | None = None) -> Code:
        """v <- v - h (dR/dv) / inertia by the explicit midpoint rule, at the present x and t.

        projected: loops after each of its two stages.
        """
        after = [projected] if projected else []
        half, whole = self.friction_stage("ti.f64(0.5) * h"), self.friction_stage("h")
        return Code.joined([self.remembered(), *half, *after, *whole, *after])

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

    def friction_stage(self, h: str) -> list[Code]:
        """v <- (v before) - h (dR/dv) / inertia, dR/dv at the present v."""
        assert self.friction
        pieces = [zero_loops(f"g_{name}", array) for name, array in self.friction.force.items()]
        pieces.append(FusedCode(self.friction.dissipation, "loss").gradient(self.friction.force))
        return [*pieces, self.slowed(h)]

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


@dataclass(frozen=True)
class Friction:
    """A dissipation R(v, x, t) with its arrays: dR/dv and v before, by velocity; the dissipated energy."""

    dissipation: Potential
    force: dict[str, Any]
    before: dict[str, Any]
    dissipated: Any

    @property
    def statements(self) -> float:
        """The approximate number of statements in one evaluation of dR/dv."""
        return FusedCode(self.dissipation).statements(self.force)

    @classmethod
    def of(cls, dissipation: Potential, motions: Sequence[Motion]) -> "Friction":
        """The friction of these motions. Raises `EnergyError` for a term that depends on no velocity."""
        for term in dissipation.terms.values():
            refuse_idle(term, motions)
        shapes = {m.velocity: np.zeros_like(dissipation.fields[m.velocity].values) for m in motions}
        force, before = ({v: storage.allocate(s) for v, s in shapes.items()} for _ in range(2))
        return cls(dissipation, force, before, storage.allocate(np.zeros(1)))


def coefficients(scheme: Scheme) -> dict[str, Any]:
    """The rows of a scheme as arrays for kernels, by name."""
    return {name: storage.allocate(np.array(row)) for name, row in scheme.rows.items()}


def refuse_idle(term: Term, motions: Sequence[Motion]) -> None:
    """Raise `EnergyError` for a term of a dissipation that depends on no velocity."""
    velocities = [m.velocity for m in motions]
    if not {f.name for f in term.fields.values()} & set(velocities):
        raise EnergyError(
            f"dissipation '{term.name}': depends on no velocity; use one of {', '.join(velocities) or 'none'}"
        )
