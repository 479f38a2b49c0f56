"""Gauss-Radau integrator of order 15, whose steps are divided by its own error estimate (IAS15).

    a(s) = a_0 + b_1 s + ... + b_7 s^7,   0 <= s <= 1,   a = -(dU/dx + dR/dv) / m,   t = t_0 + h s

The b are those for which a is right at the Gauss-Radau nodes (`quadrature`): they are iterated from the ones
that the last substep predicts. x and v are the integrals of this polynomial, added up with the error of each
sum carried along (Everhart 1985; Rein & Spiegel 2015, MNRAS 446, 1424). The error is |b_7| in parts of |a|:
the next substep is h (1e-9 / (|b_7| / |a|))^(1/7), and one that should have been 4 times shorter is taken
again.

A step is an interval of time `dt`, as of every stepper, so that t = t0 + step dt and observers, losses and
measurements have states at exact times. Within it there are as many equal substeps as the estimate asks for;
its last one ends at the end of the step. Forces may depend on velocity: dissipations are part of a.
"""

from collections.abc import Sequence

import numpy as np

from ....energies.fields import Motion
from ....engine import storage
from ....engine.kernels import MOST_ARRAYS, BoundKernel, Code, short_loops_serial, zeroed
from ....errors import EnergyError, NonFiniteError, UnsolvedStepError
from ....potential.constraints.constraints import Constraints
from ....potential.fused_code import FusedCode
from ....potential.potential import Potential
from ....potential.velocity_terms import refuse_velocities
from ...holds import Holds
from ...implicit.moving_components import MovingComponents
from ...integrator import SMALL, inertia
from ...magnetic.force import MagneticForce
from ...moves import refuse_idle
from ...stepper import Gradient, refuse_time_steps, refuse_unlike
from ..motion_stepper import MotionStepper
from .quadrature import APART, NODES, POSITION, STAGES, TO_DIFFERENCES, TO_POWERS, VELOCITY, WEIGHTS, shifted

TOLERANCE = 1e-9
"""|b_7| in parts of |a|: the error of positions is then about 1e-16 of them (Rein & Spiegel 2015)."""
SAFETY = 0.25
"""Substeps grow by 1 / SAFETY at most, and are taken again where they should shrink by less than SAFETY."""
ROUNDS = 12
"""The most corrections of the b; three are usual."""
LEAST = 1e-12
"""The shortest substep, in parts of a step."""


class GaussRadau(MotionStepper):
    """Advances the moving fields of a potential by Gauss-Radau steps of order 15, in place.

        GaussRadau(potential, [Motion("x", "v", "m")], dt=10.0).advance(100)

    dt, t0: the length of a step and the time at step 0; `substeps` counts those taken. tolerance: of the
    error estimate; with an infinite one a step is one substep. dissipation: R(v, x, t) of friction. Raises
    `EnergyError` without motions, in single precision, and for holds, a magnetic force, constraints and maps
    of velocities; `NonFiniteError` where forces are not finite; `UnsolvedStepError` where substeps become
    shorter than 1e-12 of a step.
    """

    fixed = frozenset(("potential", "motions", "gradient", "inertia", "dissipation"))
    conserves = True

    def __init__(
        self,
        potential: Potential,
        motions: Sequence[Motion],
        dt: float,
        t0: float = 0.0,
        tolerance: float = TOLERANCE,
        holds: Holds | None = None,
        dissipation: Potential | None = None,
        magnetic: MagneticForce | None = None,
        constraints: Constraints | None = None,
    ):
        _refuse(potential, motions, holds, magnetic, constraints)
        self.potential, self.motions, self.tolerance = potential, tuple(motions), tolerance
        self.dissipation = dissipation
        self._start_clock(dt, t0)
        fields = potential.fields
        self.inertia = {m.position: inertia(m, potential) for m in motions}
        self._forces = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in self.inertia}
        self.gradient = Gradient(self._forces, self.update)
        refuse_velocities(potential, motions)
        refuse_time_steps(potential)
        for term in dissipation.terms.values() if dissipation else ():
            refuse_idle(term, motions)
        self.holds = holds or Holds(fields)
        self.components = MovingComponents(fields, motions, self.holds)
        n = len(self.components)
        self._masses = self.components.masses(self.inertia)
        self._pull = self._one_kernel()
        self.substeps, self._work, self._lost = 0, 0.0, 0.0
        nothing = np.zeros((STAGES, n))
        self._kept: dict[str, np.ndarray] = {"b": nothing, "predicted": nothing.copy()}
        self._rest: dict[str, np.ndarray] = {"x": np.zeros(n), "v": np.zeros(n)}
        self._wanted = self._last = 0.0
        self._flows = np.zeros((STAGES + 1, 2))
        self.evaluate()

    def _one_kernel(self) -> BoundKernel | None:
        """The gradient by one launch, of a tenth of the cost; None where there is no such kernel."""
        code = FusedCode(self.potential)
        if code.statements(self._forces) > SMALL:
            return None
        cleared = [zeroed(f"g_{name}", array) for name, array in self._forces.items()]
        whole = Code.joined([*cleared, code.gradient(self._forces)])
        return BoundKernel(short_loops_serial(whole), "t") if len(whole.arrays) <= MOST_ARRAYS else None

    # The stepper's interface

    @property
    def inputs(self) -> tuple[float, ...]:
        lost = self.dissipation.writes if self.dissipation else 0
        own = sum(field.array.writes for field in self.moving)
        return self.potential.writes, lost, own, *((self.time,) if self.works else ())

    @property
    def balance(self) -> dict[str, float]:
        """work and dissipated: those that potential and dissipation change."""
        found = {"work": self._work} if self.works else {}
        return found | ({"dissipated": self._lost} if self.dissipation else {})

    def evaluate(self, t: float | None = None) -> None:
        """Begin at the present fields: forces, and no memory of earlier substeps; at time t."""
        now = self.time if t is None else t
        self._masses = self.components.masses(self.inertia)
        self._acceleration(now)
        for array in (*self._kept.values(), *self._rest.values()):
            array.fill(0.0)
        self._wanted = self._last = 0.0
        if t is None or t == self.time:
            self.mark()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a step reads before it writes, except the fields: forces, b and those predicted,
        errors of sums, the length of the next substep, sums of energy, clock."""
        self.update()
        return self._state()

    def _state(self) -> dict[str, np.ndarray]:
        forces = {f"gradient/{n}": storage.host(g).copy() for n, g in self._forces.items()}
        own = {name: values.copy() for name, values in self._kept.items()}
        own |= {f"rest {name}": values.copy() for name, values in self._rest.items()}
        sums = {"work": np.array(self._work), "dissipated": np.array(self._lost)}
        lengths = {"last substep": np.array(self._last), "next substep": np.array(self._wanted)}
        counts = {"substeps": np.array(self.substeps)}
        return forces | own | sums | lengths | counts | self._clock()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values that `state` returned; one made with another dt keeps its own, from that time."""
        refuse_unlike({"since": np.array(0), **state}, self._state())
        for name, array in self._forces.items():
            storage.store(array, state[f"gradient/{name}"])
        self._kept = {name: np.array(state[name]) for name in self._kept}
        self._rest = {name: np.array(state[f"rest {name}"]) for name in self._rest}
        self._work, self._lost = float(state["work"]), float(state["dissipated"])
        self._last, self._wanted = float(state["last substep"]), float(state["next substep"])
        self.substeps = int(state["substeps"])
        self._restore_clock(state)
        self.mark()

    def advance(self, n: int) -> None:
        """Move the fields n steps.

        Raises `NonFiniteError` and `UnsolvedStepError`; the fields are then those before the failed step.
        """
        self.update()
        self._masses = self.components.masses(self.inertia)
        for _ in range(n):
            before = self.memory()
            try:
                self._step()
            except (NonFiniteError, UnsolvedStepError) as error:
                number = self.step + 1
                self.recall(before)
                raise type(error)(f"step {number}: {error}") from error
            self.step += 1
            self.mark()

    # A step and its substeps

    def _step(self) -> None:
        """Substeps until the end of the step; the time within it is a compensated sum."""
        start, whole = self.time, self.dt
        elapsed = rest = 0.0
        while True:
            left = whole - elapsed + rest
            wanted = abs(self._wanted or self._first())
            parts = max(1, int(np.ceil(abs(left) / wanted * (1.0 - 1e-12))))
            h = left / parts
            if abs(h) < LEAST * abs(whole):
                raise UnsolvedStepError(
                    f"the error estimate asks for a substep of {h:.3g}, less than {LEAST:g} of dt ="
                    f" {self.dt:.6g}; bodies that meet need a softening or another energy"
                )
            if not self._substep(start + elapsed, h):
                continue
            self.substeps += 1
            if parts == 1:
                return
            part = h - rest
            total = elapsed + part
            rest, elapsed = (total - elapsed) - part, total

    def _first(self) -> float:
        """A length to begin with: a hundredth of the time in which velocities change."""
        if np.isinf(self.tolerance):
            return abs(self.dt)
        a = np.abs(self._acceleration(self.time)).max(initial=0.0)
        v = np.abs(self.components.read(self.components.velocities)).max(initial=0.0)
        guess = 0.01 * v / a if a > 0.0 and v > 0.0 else 0.0
        return float(min(guess, abs(self.dt)) or 1e-3 * abs(self.dt))

    def _substep(self, t: float, h: float) -> bool:
        """Take a substep from time t; False, with the state before it, where it must be shorter."""
        x, v = self._read()
        a0 = self._acceleration(t)
        self._flows[0] = self._powers(t)
        ratio = h / self._last if self._last else 0.0
        guess = shifted(self._kept["b"], ratio)
        b = guess + (self._kept["b"] - self._kept["predicted"] if ratio else 0.0)
        b, size = self._corrected(t, h, x, v, a0, b)
        top = np.abs(b[-1]).max(initial=0.0)
        factor = (self.tolerance * size / top) ** (1.0 / 7.0) if top > 0.0 else 1.0 / SAFETY
        if factor < SAFETY:
            self._write(x, v)
            self._wanted = abs(h) * max(factor, 0.05)
            self._acceleration(t)
            return False
        work, lost = h * (WEIGHTS @ self._flows)
        self._work, self._lost = self._work + float(work), self._lost + float(lost)
        moved = h * v + (h * h) * (0.5 * a0 + POSITION[-1] @ b) - h * self._rest["v"]
        self._write(self._summed("x", x, moved), self._summed("v", v, h * (a0 + VELOCITY[-1] @ b)))
        self._kept = {"b": b, "predicted": guess}
        self._last, self._wanted = h, abs(h) * min(factor, 1.0 / SAFETY)
        self._acceleration(t + h)
        return True

    def _corrected(
        self, t: float, h: float, x: np.ndarray, v: np.ndarray, a0: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """b for which the accelerations at the nodes are right, from a guess; and the largest of these."""
        g, last, size = TO_DIFFERENCES @ b, np.inf, 0.0
        b, flowing = b.copy(), self.works or self.dissipation is not None
        for turn in range(ROUNDS):
            before = b[-1].copy()
            for k in range(STAGES):
                s = NODES[k + 1]
                place = (h * s) * (v - self._rest["v"]) + (h * h) * (0.5 * s * s * a0 + POSITION[k] @ b)
                self.components.write(x + (place - self._rest["x"]), self.components.positions)
                if self.dissipation:
                    speed = v + (h * (s * a0 + VELOCITY[k] @ b) - self._rest["v"])
                    self.components.write(speed, self.components.velocities)
                a = self._acceleration(t + h * s)
                if flowing:
                    self._flows[k + 1] = self._powers(t + h * s)
                difference = APART[k, 0] * (a - a0)
                for j in range(k):
                    difference = APART[k, j + 1] * (difference - g[j])
                b[: k + 1] += np.outer(TO_POWERS[: k + 1, k], difference - g[k])
                g[k] = difference
            size = float(np.abs(a).max(initial=0.0))
            off = float(np.abs(b[-1] - before).max(initial=0.0))
            if off <= 1e-16 * size or (turn > 1 and off >= last):
                break
            last = off
        return b, size

    def _summed(self, name: str, old: np.ndarray, change: np.ndarray) -> np.ndarray:
        """old + change, with the error of the sum carried to the next (Kahan 1965)."""
        part = change - self._rest[name]
        total = old + part
        self._rest = {**self._rest, name: (total - old) - part}
        return total

    # Fields and forces

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        one = self.components
        return one.read(one.positions), one.read(one.velocities)

    def _write(self, x: np.ndarray, v: np.ndarray) -> None:
        self.components.write(x, self.components.positions)
        self.components.write(v, self.components.velocities)

    def _acceleration(self, t: float) -> np.ndarray:
        """-(dU/dx + dR/dv) / m (N,) at the present fields. Raises `NonFiniteError`."""
        if self._pull:
            self._pull(t)
        else:
            self.potential.gradient_into(self._forces, t)
        force = self.components.joined(self._forces, self.components.positions)
        if self.dissipation:
            force = force + self._friction(t)
        if not np.isfinite(force).all():
            named = self.potential.first_nonfinite(t, [n for n in self._forces if n in self.potential.reads])
            raise NonFiniteError(named or "the state, or the friction, is not finite")
        return -force / self._masses

    def _friction(self, t: float) -> np.ndarray:
        assert self.dissipation
        names = self.components.velocities
        return self.components.joined({n: self.dissipation.gradient(n, t) for n in names}, names)

    def _powers(self, t: float) -> np.ndarray:
        """dU/dt at fixed x, and v dR/dv, at the present fields."""
        work = self.potential.rate(t) if self.works else 0.0
        lost = float(self._read()[1] @ self._friction(t)) if self.dissipation else 0.0
        return np.array([work, lost])


def _refuse(
    potential: Potential,
    motions: Sequence[Motion],
    holds: Holds | None,
    magnetic: MagneticForce | None,
    constraints: Constraints | None,
) -> None:
    """Raise `EnergyError` for a scene that these steps have no rule for."""
    if not motions:
        raise EnergyError("gauss_radau: has no motions; give at least one field with a velocity")
    if potential.fields.precision != "f64":
        raise EnergyError(
            f"gauss_radau: needs double precision, got {potential.fields.precision}; use [runtime]"
            ' precision = "f64", or leapfrog'
        )
    held = holds is not None and holds.fields
    for what, given in (("held nodes", held), ("a magnetic field", magnetic), ("constraints", constraints)):
        if given:
            raise EnergyError(f"gauss_radau: has no rule for {what}, got some; use leapfrog or yoshida6")
