"""Kernels that move: a kick, a drift, friction, and many whole steps in one.

The text of a step inside the one kernel is joined from the pieces of which single steps are made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..energies.fields import Motion
from ..energies.term import Term
from ..engine import storage
from ..engine.kernels import Code, at_each, real, zeroed
from ..errors import EnergyError
from ..potential.fused_code import FusedCode
from ..potential.potential import Potential
from .heat_bath import Bath
from .holds import Holds
from .schemes import Scheme
from .tape import Tape


class Moves:
    """Loops over the nodes of everything that moves; `gradient` and `inertia` by the position's name.

    `friction` (if anything rubs): dR/dv and the velocities before it, by the velocity's name. `work` and
    `dissipated` are sums of one number each.
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
    ):
        self.potential, self.motions, self.holds, self.bath = potential, motions, holds, bath
        self.gradient, self.inertia, self.work, self.friction = gradient, inertia, work, friction
        self.tape = tape

    def drift(self) -> Code:
        """x <- x + h v; with a bath in its middle for scalars h and `first`, the number of the step."""
        if self.bath is None:
            return Code.joined(self._drift(motion) for motion in self.motions)
        return Code.joined([Code("number = first\n"), *self._bathed(sums=False)])

    def kick(self) -> Code:
        """v <- v - h (dU/dx) / inertia"""
        return Code.joined(self._kick(motion) for motion in self.motions)

    def steps(self, scheme: Scheme) -> Code:
        """For a kernel of (steps, first, t0, dt): so many steps of length dt from number `first` on.

        With a tape also of `at`, the number of the first step on the tape: it is written as we go.
        """
        move = [
            Code("h = drifts[move] * dt\n"),
            *(self._bathed(sums=True) if self.bath else [self.drift()]),
            Code("t = t0 + (first + ti.f64(sub) + ends[move]) * dt\n"),
            self.holds.code(),
            self._noted_positions(len(scheme.drifts)),
            *(zeroed(f"g_{name}", array) for name, array in self.gradient.items()),
            FusedCode(self.potential).gradient(self.gradient),
            Code("h = kicks[move + 1] * dt\n"),
            *self._kick_and_work(),
        ]
        step = [
            Code("number = first + ti.f64(sub)\nt = t0 + number * dt\n"),
            self._noted_velocities("0"),
            *self._half_a_step_of_friction(),
            Code("h = kicks[0] * dt\n"),
            *self._kick_and_work(),
            Code.joined(move).inside("for move in range(drifts.shape[0]):"),
            self._noted_velocities("1"),
            *self._half_a_step_of_friction(),
        ]
        loop = Code.joined(step).inside("ti.loop_config(serialize=True)\nfor sub in range(steps):")
        arrays = {name: storage.allocate(np.array(row)) for name, row in scheme.rows.items()}
        return Code(loop.text, {**loop.arrays, **arrays})

    def _noted_positions(self, moves: int) -> Code:
        return self.tape.note_positions(f"(at + sub) * {moves} + move + 1") if self.tape else Code("")

    def _noted_velocities(self, half: str) -> Code:
        return self.tape.note_velocities(f"(at + sub) * 2 + {half}") if self.tape else Code("")

    def _kick_and_work(self) -> list[Code]:
        """A kick, and the work h dU/dt that an explicit time dependence does in it."""
        rates = FusedCode(self.potential).rates("work[0] = work[0] + h * {}")
        pieces = [self.kick(), *(rate.naming(work=self.work) for rate in rates)]
        if self.holds.moving:
            forces = {name: f"g_{name}" for name in self.gradient}
            pieces.append(self.holds.power_code(forces, "work").naming(work=self.work))
        return pieces

    def rub(self) -> Code:
        """v <- v - h (dR/dv) / inertia by the explicit midpoint rule, at the present x and t."""
        assert self.friction
        velocities = [self.potential.fields[m.velocity] for m in self.motions]
        before = [
            Code(
                at_each(f"f_{v.name}", v.array, f"before_{v.name}[{{at}}] = f_{v.name}[{{at}}]"),
                {f"f_{v.name}": v.array, f"before_{v.name}": self.friction.before[v.name]},
            )
            for v in velocities
        ]
        return Code.joined([*before, *self.rubbed("ti.f64(0.5) * h"), *self.rubbed("h")])

    def rubbed(self, h: str) -> list[Code]:
        """v <- (v before) - h (dR/dv) / inertia, dR/dv at the present v."""
        assert self.friction
        pieces = [zeroed(f"g_{name}", array) for name, array in self.friction.force.items()]
        pieces.append(FusedCode(self.friction.dissipation, "loss").gradient(self.friction.force))
        for motion in self.motions:
            force, before = self.friction.force[motion.velocity], self.friction.before[motion.velocity]
            pieces.append(self._accelerated(motion, f"g_{motion.velocity}", force, h, before))
        return pieces

    def _half_a_step_of_friction(self) -> list[Code]:
        """Friction, and what it costs, for half a step."""
        if not self.friction:
            return []
        pieces, sums = [Code("h = ti.f64(0.5) * dt\n"), self.rub()], {"dissipated": self.friction.dissipated}
        for motion in self.motions:
            pieces.append(self._lost(motion).naming(**sums))
        if self.holds.moving:
            forces = {m.position: f"g_{m.velocity}" for m in self.motions}
            for name, total in (sums | {"work": self.work}).items():
                pieces.append(self.holds.power_code(forces, name).naming(**{name: total}))
        return pieces

    def _lost(self, motion: Motion) -> Code:
        """dissipated <- dissipated + sum of inertia (v^2 before - v^2) / 2"""
        assert self.friction
        v, inertia = self.potential.fields[motion.velocity], self.inertia[motion.position]
        mass = f"ti.f64(i_{motion.position}[{'n' if len(inertia) > 1 else 0}])"
        old, new = f"ti.f64(before_{v.name}[{{at}}])", f"ti.f64(f_{v.name}[{{at}}])"
        line = f"dissipated[0] = dissipated[0] + ti.f64(0.5) * {mass} * ({old} * {old} - {new} * {new})"
        arrays = {f"f_{v.name}": v.array, f"before_{v.name}": self.friction.before[v.name]}
        return Code(at_each(f"f_{v.name}", v.array, line), arrays | {f"i_{motion.position}": inertia})

    def _bathed(self, sums: bool) -> list[Code]:
        """Drifts with the bath in their middle, for scalars h and `number`."""
        assert self.bath
        pieces = []
        for motion in self.motions:
            x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
            pieces.append(self.bath.drift(x, v, self.inertia[x.name], self.holds.mask(x.name), sums))
        return pieces

    def _drift(self, motion: Motion) -> Code:
        x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
        place = f"f_{x.name}[{{at}}]"
        line = f"{place} = {place} + {real(x.dtype)}(h) * f_{v.name}[{{at}}]"
        return Code(at_each(f"f_{x.name}", x.array, line), {f"f_{x.name}": x.array, f"f_{v.name}": v.array})

    def _kick(self, motion: Motion) -> Code:
        return self._accelerated(motion, f"g_{motion.position}", self.gradient[motion.position], "h")

    def _accelerated(self, motion: Motion, force: str, array: Any, h: str, before: Any = None) -> Code:
        """v <- v - h force / inertia where nothing holds; from the velocity before, if it is given."""
        x, v = (self.potential.fields[name] for name in (motion.position, motion.velocity))
        inertia, free = self.inertia[x.name], self.holds.mask(x.name)
        place, mass = f"f_{v.name}[{{at}}]", f"i_{x.name}[{'n' if len(inertia) > 1 else 0}]"
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
    """A dissipation R(v, x, t), and what a step keeps of it: by velocity, dR/dv and v before; the sum."""

    dissipation: Potential
    force: dict[str, Any]
    before: dict[str, Any]
    dissipated: Any

    @classmethod
    def of(cls, dissipation: Potential, motions: Sequence[Motion]) -> "Friction":
        """Raises `EnergyError` for a term that resists nothing."""
        for term in dissipation.terms.values():
            refuse_idle(term, motions)
        shapes = {m.velocity: np.zeros_like(dissipation.fields[m.velocity].values) for m in motions}
        force, before = ({v: storage.allocate(s) for v, s in shapes.items()} for _ in range(2))
        return cls(dissipation, force, before, storage.allocate(np.zeros(1)))


def refuse_idle(term: Term, motions: Sequence[Motion]) -> None:
    """Raise `EnergyError` for a term of a dissipation that depends on no velocity."""
    velocities = [m.velocity for m in motions]
    if not {f.name for f in term.fields.values()} & set(velocities):
        raise EnergyError(
            f"dissipation '{term.name}' depends on no velocity (there are: {', '.join(velocities) or 'none'})"
        )
