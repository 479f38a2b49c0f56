"""Symplectic integrators: a row of coefficients each, one body for all.

For H = sum p^2 / (2 inertia) + U(x, t) a step of length h is

    kick c_0, then for each drift d_i:  drift d_i, forces, kick c_{i+1}

    kick c    v <- v - c h (dU/dx) / inertia,     W <- W + c h dU/dt
    drift d   x <- x + d h v,                     t <- t + d h

W is the work of an explicit dU/dt, and of supports that move (they are a dU/dt too, of the energy of what
is free): total energy minus W is what stays. It is the momentum conjugate to time, so it converges at the
order of the scheme (at order 3 at most across the ends of a ramp, whose third derivative jumps there). Time
is t0 + step h, never a running sum.

A dissipation R(v, x, t) acts for half a step before and half a step after (Strang 1968, SIAM J. Numer.
Anal. 5, 506), by the explicit midpoint rule at fixed x: the whole is of second order at most.

    friction h/2    v <- v - (h/2) (dR/dv) / inertia,     D <- D + the kinetic energy that it takes

Energy minus W plus D is what stays, at the order of the scheme: D is exactly what friction takes.

In a heat `bath` the middle of every drift exchanges Q with it; then energy minus W plus D minus Q stays.

Small systems take many steps in one kernel. Every sub-step stores its state to the arrays, so that the bits
do not depend on how many steps a call takes; which way a system goes depends on its size alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..energies.fields import Field, Motion, ordered_sum
from ..engine import storage
from ..engine.kernels import MOST_ARRAYS, BoundKernel
from ..errors import CheckpointError, EnergyError, NonFiniteError
from ..potential.fused_code import FusedCode
from ..potential.non_finite import first_non_finite_node
from ..potential.potential import Potential
from .heat_bath import Bath
from .holds import Holds
from .moves import Friction, Moves
from .schemes import Scheme
from .stepper import Stepper
from .tape import Notes, Tape

SMALL = 10_000_000
"""Up to this many statements a step (some milliseconds), steps are taken inside one kernel, on one thread."""


class Integrator(Stepper):
    """Advances the moving fields of a potential by a symplectic scheme, in place.

        Integrator(potential, [Motion("x", "v", "m")], SCHEMES["leapfrog"], dt=0.01).advance(100)

    motions: the fields that move. scheme: its coefficients. dt, t0: the step and the time at step 0 [the
    run's unit of time]. holds: components with prescribed motion. dissipation: R(v, x, t) of friction. bath:
    a heat bath. Raises `EnergyError` without motions, `NonFiniteError` where a step gives infinity or NaN.
    With a `tape`, the steps record what the adjoint needs.
    """

    def __init__(
        self,
        potential: Potential,
        motions: Sequence[Motion],
        scheme: Scheme,
        dt: float,
        t0: float = 0.0,
        holds: Holds | None = None,
        dissipation: Potential | None = None,
        tape: Tape | None = None,
        bath: Bath | None = None,
    ):
        if not motions:
            raise EnergyError("nothing moves: the state names no field with a velocity")
        self.potential, self.motions, self.scheme = potential, tuple(motions), scheme
        self.dt, self.t0, self.step = dt, t0, 0
        fields = potential.fields
        self.gradient = {
            m.position: storage.allocate(np.zeros_like(fields[m.position].values)) for m in motions
        }
        self.inertia = {m.position: inertia(m, potential) for m in motions}
        self.holds, self.dissipation = holds or Holds(fields), dissipation
        self.holds.refuse_unmoved(self.motions)
        self.friction = Friction.of(dissipation, motions) if dissipation else None
        self._work = storage.allocate(np.zeros(1))
        self.tape, self._notes = tape, Notes(tape) if tape else None
        self.moves = moves = Moves(
            potential,
            self.motions,
            self.gradient,
            self.inertia,
            self.holds,
            self._work,
            self.friction,
            tape,
            bath,
        )
        self.bath, number = bath, ("first",) if bath else ()
        self._kick, self._drift = BoundKernel(moves.kick(), "h"), BoundKernel(moves.drift(), "h", *number)
        self._rub = BoundKernel(moves.rub(), "t", "h") if self.friction else None
        cost = FusedCode(potential).statements(self.gradient) * len(scheme.drifts)
        if dissipation and self.friction:
            cost += 4 * FusedCode(dissipation).statements(self.friction.force)
        small = cost <= SMALL
        steps = moves.steps(scheme) if small else None
        fits = steps and len(steps.arrays) <= MOST_ARRAYS
        row = ("at",) if tape else ()
        self._steps = BoundKernel(steps, "steps", "first", "t0", "dt", *row) if steps and fits else None
        self.holds.place(self.time)
        self._held = self.holds.kinetic(self.inertia)
        self.evaluate()

    @property
    def fused(self) -> bool:
        """Whether many steps are taken inside one kernel."""
        return self._steps is not None

    # The stepper's interface

    @property
    def time(self) -> float:
        return self.t0 + self.step * self.dt

    @property
    def work(self) -> float:
        """Done so far by an explicit dependence of the potential on time, and by moving supports."""
        return float(storage.host(self._work)[0]) + self.holds.kinetic(self.inertia) - self._held

    @property
    def works(self) -> bool:
        """Whether anything may do work."""
        return self.potential.uses_time or self.holds.moving

    @property
    def dissipated(self) -> float:
        """The kinetic energy that friction has taken so far."""
        return float(storage.host(self.friction.dissipated)[0]) if self.friction else 0.0

    @property
    def balance(self) -> dict[str, float]:
        """work, dissipated and heat, where anything works and rubs, and of a bath."""
        work = {"work": self.work} if self.works else {}
        heat = {"heat": float(storage.host(self.bath.given)[0])} if self.bath else {}
        return work | ({"dissipated": self.dissipated} if self.friction else {}) | heat

    @property
    def moving(self) -> list[Field]:
        """Positions and velocities."""
        return [self.potential.fields[n] for m in self.motions for n in (m.position, m.velocity)]

    def state(self) -> dict[str, np.ndarray]:
        """Everything a step reads before it writes, the fields apart: forces, work, clock."""
        gradients = {f"gradient/{n}": storage.host(g).copy() for n, g in self.gradient.items()}
        clock = {"step": np.array(self.step), "t0": np.array(self.t0), "dt": np.array(self.dt)}
        sums = {n: storage.host(array).copy() for n, array in self._sums.items()}
        return gradients | sums | clock

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Give back what `state` took; with another dt than then, t0 moves so that time goes on where it was.

        Raises `CheckpointError` if anything is missing or does not fit.
        """
        for name, present in self.state().items():
            if name not in state or state[name].shape != present.shape:
                raise CheckpointError(
                    f"the checkpoint's 'stepper/{name}' is missing or does not fit this stepper"
                )
        for name, array in self.gradient.items():
            storage.store(array, state[f"gradient/{name}"])
        for name, array in self._sums.items():
            storage.store(array, state[name])
        self.step = int(state["step"])
        self.t0 = float(state["t0"]) + self.step * (float(state["dt"]) - self.dt)

    def advance(self, n: int) -> None:
        """Move the fields n steps.

        Raises `NonFiniteError` naming step, term and node; the fields are then those of the last finite step.
        """
        before = self._memory()
        self._run(n)
        if self._finite():
            return
        self._recall(before)
        for _ in range(n):
            before = self._memory()
            self._run(1)
            if not self._finite():
                outgrown = self._outgrown()
                self._recall(before)
                trouble = self._trouble() or outgrown
                self._recall(before)
                raise NonFiniteError(f"step {self.step + 1}: {trouble}")

    @property
    def _sums(self) -> dict[str, Any]:
        friction = {"dissipated": self.friction.dissipated} if self.friction else {}
        return {"work": self._work} | friction | ({"heat": self.bath.given} if self.bath else {})

    # One step, by launches or in one kernel

    def _run(self, n: int) -> None:
        if self._steps is not None:
            row = (self.step - self.tape.first,) if self.tape else ()
            self._steps(n, float(self.step), self.t0, self.dt, *row)
            self.step += n
            return
        for _ in range(n):
            self._one_step()
            self.step += 1

    def _one_step(self) -> None:
        s, times = self.scheme, self._times()
        self._noted_velocities(0)
        self._rubbed(self.time)
        self._kicked(s.kicks[0], self.time)
        for move, (drift, kick, t) in enumerate(zip(s.drifts, s.kicks[1:], times, strict=True)):
            self._drifted(drift, t)
            self._noted_positions(move)
            self.evaluate(t)
            self._kicked(kick, t)
        self._noted_velocities(1)
        self._rubbed(times[-1])

    def begin_tape(self, first: int) -> None:
        """The tape begins at the present fields, with step number `first`."""
        assert self.tape
        assert self._notes
        self.tape.first = first
        self._notes.positions(0)

    def _noted_positions(self, move: int) -> None:
        if self.tape and self._notes:
            self._notes.positions((self.step - self.tape.first) * len(self.scheme.drifts) + move + 1)

    def _noted_velocities(self, half: int) -> None:
        if self.tape and self._notes and self._notes.velocities:
            self._notes.velocities((self.step - self.tape.first) * 2 + half)

    def _times(self) -> list[float]:
        """The time after each drift of the present step; the last is exactly that of the next step."""
        inner = [self.t0 + (self.step + f) * self.dt for f in self.scheme.ends[:-1]]
        return [*inner, self.t0 + (self.step + 1) * self.dt]

    def evaluate(self, t: float | None = None) -> None:
        """The forces anew; needed only if something other than a step has changed what they depend on."""
        t = self.time if t is None else t
        if self._steps is None or self.tape:
            self.potential.gradient_into(self.gradient, t)
        else:
            self._stand_still(t)

    def _stand_still(self, t: float) -> None:
        """A step of no length, of which only the forces are kept: one kernel to compile, and not two."""
        assert self._steps
        before, fields = self._memory()
        for array in self.gradient.values():
            array.fill(0)
        self._steps(1, 0.0, t, 0.0)
        forces = {n: values for n, values in self.state().items() if n.startswith("gradient/")}
        self._recall((before | forces, fields))

    def _kicked(self, coefficient: float, t: float) -> None:
        self._kick(coefficient * self.dt)
        if self.works:
            power = self.potential.rate(t) + self.holds.power(self.gradient)
            _add(self._work, coefficient * self.dt * power)

    def _drifted(self, coefficient: float, t: float) -> None:
        h = coefficient * self.dt
        if self.bath is None:
            self._drift(h)
        else:
            before = self._kinetic()
            self._drift(h, float(self.step))
            _add(self.bath.given, self._kinetic() - before)
        self.holds.place(t)

    def _kinetic(self) -> float:
        """The kinetic energy of all that moves."""
        fields, total = self.potential.fields, 0.0
        for motion in self.motions:
            v, mass = fields[motion.velocity].values, storage.host(self.inertia[motion.position])
            each = 0.5 * mass.astype(np.float64).reshape(-1, *[1] * (v.ndim - 1)) * v.astype(np.float64) ** 2
            total += ordered_sum(each)
        return total

    def _rubbed(self, t: float) -> None:
        """Half a step of friction."""
        if self._rub is None or self.friction is None:
            return
        h, forces = 0.5 * self.dt, {m.position: self.friction.force[m.velocity] for m in self.motions}
        self._rub(t, h)
        for motion in self.motions:
            v, old = self.potential.fields[motion.velocity].values, self.friction.before[motion.velocity]
            mass = storage.host(self.inertia[motion.position]).astype(np.float64)
            with np.errstate(all="ignore"):  # what is not finite is told by name
                change = storage.host(old).astype(np.float64) ** 2 - v.astype(np.float64) ** 2
                lost = ordered_sum(0.5 * mass.reshape(-1, *[1] * (v.ndim - 1)) * change)
            _add(self.friction.dissipated, lost)
        supports = h * self.holds.power(forces)
        _add(self.friction.dissipated, supports)
        _add(self._work, supports)

    # When something is not finite

    def _finite(self) -> bool:
        return all(np.isfinite(f.values).all() for f in self.moving)

    def _memory(self) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
        return self.state(), [f.values.copy() for f in self.moving]

    def _recall(self, memory: tuple[dict[str, np.ndarray], list[np.ndarray]]) -> None:
        self.restore(memory[0])
        for field, values in zip(self.moving, memory[1], strict=True):
            field.set(values)

    def _trouble(self) -> str | None:
        """Take the next step move by move, and say what breaks first; None if, move by move, nothing does."""
        s, times = self.scheme, (self.time, *self._times())
        if (outgrown := self._outgrown_by_friction(times[0])) is not None:
            return outgrown
        for drift, kick, t in zip((None, *s.drifts), s.kicks, times, strict=True):
            if drift is not None:
                self._drifted(drift, t)
                if (outgrown := self._outgrown()) is not None:
                    return outgrown
                self.evaluate(t)
            if (blamed := self.potential.first_nonfinite(t, self.gradient)) is not None:
                return f"{blamed}; a smaller dt or a softening may cure it"
            self._kick(kick * self.dt)
            if (outgrown := self._outgrown()) is not None:
                return outgrown
        return self._outgrown_by_friction(times[-1])

    def _outgrown_by_friction(self, t: float) -> str | None:
        """What half a step of friction makes grow beyond all numbers."""
        if self.friction is None:
            return None
        self._rubbed(t)
        return (outgrown := self._outgrown()) and f"{outgrown}, in the friction"

    def _outgrown(self) -> str | None:
        """The first moving field and node that are not finite."""
        for field in self.moving:
            if (node := first_non_finite_node(field.values)) is not None:
                return f"field '{field.name}', node {node} grew beyond all numbers; try a smaller dt"
        return None


def _add(total: Any, value: float) -> None:
    storage.store(total, storage.host(total) + value)


def inertia(motion: Motion, potential: Potential) -> Any:
    """The array of inertias: one for each node, or a single one.

    Raises `EnergyError` for zero inertia, and for a velocity or inertia that does not fit the position.
    """
    x, v = (potential.fields[name] for name in (motion.position, motion.velocity))
    if v.shape != x.shape:
        raise EnergyError(f"'{x.name}' has shape {list(x.shape)}, its velocity '{v.name}' {list(v.shape)}")
    if not isinstance(motion.inertia, str):
        values = np.array([motion.inertia], x.dtype)
        _refuse_massless(f"'{x.name}'", values)
        return storage.allocate(values)
    inertia = potential.fields[motion.inertia]
    if inertia.shape != (len(x),):
        raise EnergyError(
            f"inertia '{inertia.name}' has shape {list(inertia.shape)}; '{x.name}' needs [{len(x)}]"
        )
    _refuse_massless(f"'{x.name}'", inertia.values)
    return inertia.array


def _refuse_massless(what: str, inertia: np.ndarray) -> None:
    if (bad := np.flatnonzero(~((inertia > 0) & np.isfinite(inertia)))).size:
        raise EnergyError(
            f"{what} moves with inertia {inertia[bad[0]]:g} at node {bad[0]}: it has no finite acceleration;"
            " give it a small one (1e-20), or keep it out of the motion"
        )
