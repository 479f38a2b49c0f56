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

Decisions 0346.
"""

from collections.abc import Sequence

import numpy as np

from ....engine import storage
from ....errors import NonFiniteError, NonFiniteStartError, RunFailedError, UnsolvedStepError
from ....potential.velocity_terms import refuse_velocities
from ...implicit.moving_components import MovingComponents
from ...stepper import PARTS, Gradient, refuse_time_steps, refuse_unlike
from ...systems.parts import FAR, FRICTION, PERIODIC, TIME, Consumer
from ...systems.system import System
from ..friction import refuse_idle
from ..motion_stepper import Memory, MotionStepper
from .close_pairs import ClosePairs
from .radau_cases import may_move, refuse_unfit
from .radau_code import LEAST, TOO_SHORT, RadauCode
from .radau_launches import RadauLaunches
from .radau_tape import RadauTape, Substep

MEMORY = {"b": "kept", "predicted": "predicted", "rest x": "rx", "rest v": "rv"}
"""Saved arrays, by their names in a state: those of `RadauCode`."""
NUMBERS = {"work": "work", "dissipated": "dissipated", "last substep": "last", "next substep": "wanted"}
"""Saved numbers, alike."""
TOLERANCE = 1e-9
"""|b_7| in parts of |a|: the error of positions is then about 1e-16 of them (Rein & Spiegel 2015)."""


class GaussRadau(MotionStepper):
    """Advances the moving fields of a potential by Gauss-Radau steps of order 15, in place.

        GaussRadau(System(potential, [Motion("x", "v", "m")]), dt=10.0).advance(100)

    dt, t0: the length of a step and the time at step 0; `substeps` counts those taken. tolerance: of the
    error estimate; with an infinite one a step is one substep. tape: the states before steps, for
    derivatives. Raises `EnergyError` without motions, in single precision, and for holds, a magnetic force,
    constraints and maps of velocities; `NonFiniteError` where forces are not finite; `UnsolvedStepError`
    where substeps become shorter than 1e-12 of a step.
    """

    slow_on_devices = "each substep copies numbers, for a choice of its length on the host"

    consumer = Consumer("gauss_radau", {FRICTION, PERIODIC, FAR, TIME}, cure="use leapfrog or yoshida6")
    fixed = PARTS | {"gradient", "inertia"}
    conserves = True

    def __init__(
        self,
        system: System,
        dt: float,
        t0: float = 0.0,
        tolerance: float = TOLERANCE,
        *,
        tape: RadauTape | None = None,
    ):
        super().__init__(system)
        refuse_unfit(system)
        self.tolerance, self.tape = tolerance, tape
        potential, motions, dissipation = self.potential, self.motions, self.dissipation
        self._start_clock(dt, t0)
        fields = potential.fields
        self.inertia = self.system.inertia
        self._forces = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in self.inertia}
        self.gradient = Gradient(self._forces, self.update)
        refuse_velocities(potential, motions)
        refuse_time_steps(potential)
        for term in dissipation.terms.values() if dissipation else ():
            refuse_idle(term, motions)
        self.components = MovingComponents(fields, motions, self.holds)
        lost = self.components.velocities if dissipation else []
        self._friction = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in lost}
        arrays = {field.name: field.array for field in self.moving}
        kind = ClosePairs if may_move(potential, dissipation, self.motions) else RadauCode
        self._code = kind(arrays, self.motions, self._forces, self._friction, self.works)
        self._launches = RadauLaunches(self._code, potential, dissipation)
        try:
            self.evaluate()
        except NonFiniteError as error:
            raise NonFiniteStartError(f"step 0: {error}") from None

    @property
    def fused(self) -> bool:
        """True if many substeps are taken inside one kernel."""
        return self._launches.fused

    @property
    def substeps(self) -> int:
        """The number of substeps taken so far."""
        return int(self._code.number("substeps"))

    # The stepper's interface

    @property
    def balance(self) -> dict[str, float]:
        """work and dissipated: those that potential and dissipation change."""
        found = {"work": self._code.number("work")} if self.works else {}
        return found | ({"dissipated": self._code.number("dissipated")} if self.dissipation else {})

    def evaluate(self, t: float | None = None) -> None:
        """Begin at the present fields: forces, and no memory of earlier substeps; at time t."""
        now = self.time if t is None else t
        self._compute_forces(now)
        for name in MEMORY.values():
            self._code.arrays[name].fill(0.0)
        self._code.put(wanted=0.0, last=0.0)
        if t is None or t == self.time:
            self.mark()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a step reads before it writes, except the fields: forces, b and those predicted,
        errors of sums, the length of the next substep, sums of energy, clock."""
        self.update()
        return self._state()

    def _state(self) -> dict[str, np.ndarray]:
        forces = {f"gradient/{n}": storage.host(g).copy() for n, g in self._forces.items()}
        own = {name: storage.host(self._code.arrays[array]).copy() for name, array in MEMORY.items()}
        numbers = {name: np.array(self._code.number(number)) for name, number in NUMBERS.items()}
        counts = {"substeps": np.array(self.substeps)}
        return forces | own | numbers | counts | self._clock()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values that `state` returned; one made with another dt keeps its own, from that time."""
        refuse_unlike({"since": np.array(0), **state}, self._state())
        for name, array in self._forces.items():
            storage.store(array, state[f"gradient/{name}"])
        for name, array in MEMORY.items():
            storage.store(self._code.arrays[array], state[name])
        self._code.put(**{number: float(state[name]) for name, number in NUMBERS.items()})
        self._code.put(substeps=float(state["substeps"]))
        self.restore_clock(state)
        self.mark()

    def advance(self, n: int) -> None:
        """Move the fields n steps.

        Raises `NonFiniteError` and `UnsolvedStepError`; the fields are then those before the failed step.
        """
        self.update()
        if self.tape is None:
            before = self.memory()
            if self._take(n):
                return
            self.recall(before)
        for _ in range(n):  # one at a time, to be in the state before the one that fails
            before = self.memory()
            if self.tape is not None:
                self.tape.starts[self.step] = before
            if not self._take(1):
                raise self._failed(before)

    # Derivatives

    def differentiable(self) -> "GaussRadau":
        """Itself: runs have derivatives along the lengths of their substeps, which count as given."""
        return self

    def with_tape(self, tape: RadauTape) -> "GaussRadau":
        """A stepper of the same fields that records on a tape, which begins at the present time."""
        one = GaussRadau(self.system, self.dt, self.time, self.tolerance, tape=tape)
        one.kind = self.kind
        return one

    def begin_tape(self, first: int) -> None:
        """Begin the tape with step number `first`."""
        assert self.tape is not None
        self.tape.starts.clear()

    def advance_recorded(self, lengths: Sequence[float] = ()) -> list[Substep]:
        """Take one step, and return its substeps; lengths: theirs, in place of the error estimate's.

        Raises as `advance` does.
        """
        self.update()
        before, found = self.memory(), list[Substep]()
        first, most = self._begin(1), 1 if lengths else self._launches.batch
        while self._going:
            if given := lengths[len(found) :]:
                self._code.put(wanted=abs(given[0]), tolerance=np.inf)
            found += self._launches.recorded(most, first, self.t0, self.dt)
        if not self._end(1):
            raise self._failed(before)
        return found

    # Steps

    def _take(self, n: int) -> bool:
        """Take n steps; False where one failed, which leaves the fields at the node where it did."""
        first = self._begin(n)
        while self._going:
            self._launches.substeps(self._launches.batch, first, self.t0, self.dt)
        return self._end(n)

    def _begin(self, n: int) -> float:
        """Before n steps; returns the number of the first since dt was set."""
        storage.store(self._code.arrays["mass"], self.components.masses(self.inertia))
        if not self._code.number("wanted"):
            self._code.put(wanted=self._first())
        self._code.put(left=n, done=0.0, elapsed=0.0, rest=0.0, status=0.0, tolerance=self.tolerance)
        return float(self.step - self.since)

    @property
    def _going(self) -> bool:
        """True while steps are left, and none failed."""
        return bool(self._code.number("left")) and not self._code.number("status")

    def _end(self, n: int) -> bool:
        """After n steps; False where one failed."""
        self._code.written()
        if self._code.number("status"):
            return False
        self.step += n
        self._compute_forces(self.time)
        self.mark()
        return True

    def _failed(self, before: Memory) -> RunFailedError:
        """Be in the state before the step that failed; returns the error."""
        error = self._failure()
        self.recall(before)
        return error

    def _failure(self) -> RunFailedError:
        """Why the step failed that has just been taken."""
        number, t = self.step + 1, self._code.number("time")
        if self._code.number("status") == TOO_SHORT:
            h = self._code.number("h")
            return UnsolvedStepError(
                f"step {number}: the error estimate asks for a substep of {h:.3g}, less than {LEAST:g} of dt"
                f" = {self.dt:.6g}; bodies that meet need a softening or another energy"
            )
        return NonFiniteError(f"step {number}: {self._not_finite(t)}")

    def _first(self) -> float:
        """A length to begin with: a hundredth of the time in which velocities change."""
        if np.isinf(self.tolerance):
            return abs(self.dt)
        forces = self.components.joined(self._forces, self.components.positions)
        a = np.abs(forces / self.components.masses(self.inertia)).max(initial=0.0)
        v = np.abs(self.components.read(self.components.velocities)).max(initial=0.0)
        guess = 0.01 * v / a if a > 0.0 and v > 0.0 else 0.0
        return float(min(guess, abs(self.dt)) or 1e-3 * abs(self.dt))

    def _compute_forces(self, t: float) -> None:
        """dU/dx at the present fields. Raises `NonFiniteError`."""
        self.potential.gradient_into(self._forces, t)
        if not all(np.isfinite(storage.host(force)).all() for force in self._forces.values()):
            raise NonFiniteError(self._not_finite(t))

    def _not_finite(self, t: float) -> str:
        """The term and the node that are not finite."""
        named = self.potential.first_nonfinite(t, [n for n in self._forces if n in self.potential.reads])
        return named or "the state, or the friction, is not finite"
