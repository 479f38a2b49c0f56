"""Stepper: the interface of integrators and minimisers, to the scheduler, observers and derivatives.

Decisions 0041, 0212, 0312.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from ..energies.fields import Field, Motion
from ..engine import storage
from ..errors import CheckpointError, EnergyError, TermError
from ..potential.constraints.constraints import Constraints
from ..potential.potential import Potential
from .holds import Holds
from .magnetic.force import MagneticForce
from .minimisers.unknowns import Outside
from .moves import Moves
from .schemes import Scheme
from .systems.parts import Consumer
from .systems.system import System
from .tape import Tape
from .timed.friction import Friction


class DifferentiableStepper(Protocol):
    """A stepper in time whose runs have derivatives (`adjoint.derivation` has a row for each class of them).

    The derivatives set `dt` and `step`.
    """

    step: int
    dt: float
    t0: float
    since: int

    @property
    def system(self) -> System: ...

    @property
    def potential(self) -> Potential: ...

    @property
    def holds(self) -> Holds: ...

    @property
    def motions(self) -> tuple[Motion, ...]: ...

    @property
    def dissipation(self) -> Potential | None: ...

    @property
    def magnetic(self) -> MagneticForce | None: ...

    @property
    def constraints(self) -> Constraints | None: ...

    @property
    def lagrangian(self) -> Potential | None: ...

    @property
    def time(self) -> float: ...

    @property
    def moving(self) -> list[Field]: ...

    @property
    def weights(self) -> set[str]: ...

    def differentiable(self) -> "DifferentiableStepper": ...

    def begin_tape(self, first: int) -> None: ...

    clock: Any

    def times(self, steps: Any) -> Any: ...

    def count_from_here(self) -> None: ...

    @property
    def writes(self) -> int: ...

    def refuse_unfit(self) -> None: ...

    def advance(self, n: int) -> None: ...

    def evaluate(self) -> None: ...

    def state(self) -> dict[str, np.ndarray]: ...

    def restore(self, state: dict[str, np.ndarray]) -> None: ...


class SplittingStepper(DifferentiableStepper, Protocol):
    """One whose step is a sequence of moves that have an adjoint: `scheme.moves`, with kernels in `moves`.

    On a `tape` it records what the adjoint needs.
    """

    moves: Moves
    scheme: Scheme
    friction: Friction | None
    tape: Tape | None
    inertia: Mapping[str, Any]
    gradient: Mapping[str, Any]

    @property
    def fused(self) -> bool: ...

    def with_tape(self, tape: Tape) -> "SplittingStepper":
        """The same stepper, recording on a tape."""


PARTS = frozenset(
    ("potential", "motions", "holds", "dissipation", "magnetic", "constraints", "lagrangian", "system")
)
"""The attributes of a stepper that are parts of its system, which it cannot change."""


class Gradient(Mapping[str, Any]):
    """dU/d(field) by field, as arrays for kernels; `update` is called first, which recomputes a stale one."""

    def __init__(self, arrays: Mapping[str, Any], update: Callable[[], None]):
        self.arrays, self._update = arrays, update

    def __getitem__(self, field: str) -> Any:
        self._update()
        return self.arrays[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


class Stepper:
    """Moves the fields of a potential, in place.

    system: all that moves and acts. `step` is the number of steps taken. `gradient` holds dU/d(field) at the
    present fields, by field, held components included. Raises `EnergyError` for a part of the system that its
    `consumer` has no rule for.

    A stepper that keeps numbers computed at the present fields `watches` the `inputs` of a step, calls
    `update` before it uses these numbers, and `mark` after it computed them: then everything that was written
    between two steps is noticed, and judged as at the start (`refuse_unfit`).
    """

    kind: str = ""
    """Its kind in a scene file."""
    consumer: Consumer | None = None
    """The parts of a system that it understands; a stepper declares them."""
    fixed: ClassVar[frozenset[str]] = frozenset()
    """Attributes that cannot be set after construction, because kernels were compiled for them."""
    optional: ClassVar[frozenset[str]] = frozenset()
    """Names that only some of its states have: `restore` has a value for a state without them."""

    watches: bool = False
    """True if it keeps numbers from step to step, which a write between two steps makes stale."""

    _marked: Any = None

    def __init__(self, system: System):
        if not isinstance(system, System):
            raise EnergyError(
                f"{type(self).__name__}: takes a System, got a {type(system).__name__}; give"
                " context.system in a plugin, else System(potential, motions)"
            )
        if self.consumer is None:
            raise EnergyError(
                f"{type(self).__name__}: does not say which parts of a system it understands; give the class"
                ' a `consumer`, such as Consumer("name", {"supports"})'
            )
        self.consumer.accept(system)
        self._system = system.timed_by(self)

    def __repr__(self) -> str:
        kind = f"'{self.kind}', " if self.kind else ""
        dt = f", dt = {self.dt:g}" if hasattr(self, "dt") else ""
        return f"{type(self).__name__}({kind}step {self.step}{dt})"

    _system: System | None = None
    inertia: Mapping[str, Any] = {}
    gradient: Mapping[str, Any]
    step: int
    dt: float = 0.0
    conserves: bool = False
    """True if the energy less its `balance` is conserved, so that a run can be judged by it."""
    damps: bool = False
    """True if the scheme itself takes energy, as implicit Euler does: that is no drift."""
    outside: Sequence[Outside] = ()
    """The fields that began outside their bounds, and were moved onto them."""
    slope_unit: str = "J"
    """The SI unit of `residual`: that of dU/dz, a force where z is the unknown itself in the run's unit."""
    given_work: float | None = None
    """The work that parameters did which were written between steps; None where none is written."""
    patience: float = 1.0
    """How many times as much work as usual the scheduler gives it at once."""

    slow_on_devices: str = ""
    """The part of a step that takes no advantage of a device, and why, as a clause; empty where none does."""

    def device_remark(self, arch: str) -> str:
        """A warning about steps that are slow on this architecture; empty where they are not."""
        if arch == "cpu" or not self.slow_on_devices:
            return ""
        return (
            f"stepper '{self.name}' on {arch}: {self.slow_on_devices}; a small system is faster with"
            ' arch = "cpu"'
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.fixed and (name in self.__dict__ or name in PARTS):
            raise EnergyError(
                f"stepper '{self.name}': `{name}` cannot be changed, its kernels are compiled for it; make"
                " another stepper"
            )
        super().__setattr__(name, value)

    # The parts of its system

    @property
    def has_system(self) -> bool:
        """False for the search of a fit, which moves parameters."""
        return self._system is not None

    @property
    def system(self) -> System:
        """All that it moves and that acts on it. Raises `AttributeError` for the search of a fit."""
        if self._system is None:
            raise AttributeError(f"{type(self).__name__} has no system")
        return self._system

    @property
    def potential(self) -> Potential:
        """U, the sum of the energies."""
        return self.system.potential

    @property
    def holds(self) -> Holds:
        """The components with prescribed motion."""
        return self.system.holds

    @property
    def motions(self) -> tuple[Motion, ...]:
        """The fields that move in time, with velocity and inertia; none of a minimiser."""
        return self._system.motions if self._system else ()

    @property
    def dissipation(self) -> Potential | None:
        """R(v, x, t) of friction."""
        return self._system.dissipation if self._system else None

    @property
    def magnetic(self) -> MagneticForce | None:
        """The force of a magnetic field on charges."""
        return self._system.magnetic if self._system else None

    @property
    def constraints(self) -> Constraints | None:
        """g(x, t) = 0."""
        return self._system.constraints if self._system else None

    @property
    def lagrangian(self) -> Potential | None:
        """The sum of Lagrangians, which then has the kinetic energy of all that moves."""
        return self._system.lagrangian if self._system else None

    # Writes between steps

    @property
    def writes(self) -> int:
        """How often the inputs of a step were overwritten: fields that it reads or moves, inertias, the box,
        parameters, data and elements of all energies, constraints, numbers of holds. It only grows."""
        return sum([one.writes for one in self._counters])

    @cached_property
    def _counters(self) -> list[Any]:
        """Everything that a step reads and others may write; each counts its `writes`."""
        fields = self.potential.fields
        energies = [p for p in (self.potential, self.lagrangian, self.dissipation) if p is not None]
        energies += [*([self.magnetic.potential] if self.magnetic else []), *self.system.of_stepper]
        read = set().union(*(one.reads for one in energies), self.weights, {f.name for f in self.moving})
        if self.constraints is not None:
            read |= self.constraints.reads
        read |= {fields.box_name} if fields.box_name else set()
        arrays = [fields[name].array for name in sorted(read.intersection(fields) - fields.derived)]
        parts = {id(part): part for one in energies for part in one.parts.values()}
        kept = [self.constraints] if self.constraints is not None else []
        return [*arrays, *parts.values(), *kept, self.holds.numbers]

    @property
    def inputs(self) -> Any:
        """The inputs of `gradient`, as a value that differs after every write; None: not watched."""
        return (self.writes,) if self.watches else None

    def refuse_unfit(self) -> None:
        """Raise `EnergyError` for present values that no step can begin with, such as a mass of zero."""

    @property
    def stale(self) -> bool:
        """True if something that `gradient` depends on was written since it was computed."""
        return self._marked != self.inputs

    def mark(self) -> None:
        """Note that `gradient` is that of the present fields and parameters."""
        self._marked = self.inputs

    def update(self) -> None:
        """Recompute the gradient if it is stale; held components are set to their prescribed values first.

        Steps, `state` and `gradient` begin with it. Raises as `refuse_unfit` does.
        """
        if self.stale:
            self.refuse_unfit()
            self.holds.place(self.time)
            self.evaluate()

    @contextmanager
    def observed(self) -> Iterator[None]:
        """Energies may be evaluated meanwhile: the next step begins with the lists of neighbours of now.

        A stale gradient is computed before, as the next step would do.
        """
        if not hasattr(self, "potential"):  # the search of a fit, whose runs begin with new lists
            yield
            return
        fields = self.potential.fields
        if fields.lists_last:
            self.update()
        with fields.lists_kept():
            yield

    def place(self) -> None:
        """Set held components to their prescribed values at the present time."""
        self.holds.place(self.time)

    @property
    def multipliers(self) -> np.ndarray | None:
        """The multipliers lambda (E,) of its constraints at the present state; None without constraints."""
        return None

    def violation(self) -> float | None:
        """The largest violation of a constraint, in parts of the largest coordinate; None without any."""
        if self.constraints is None:
            return None
        moved = [field.name for field in self.moving if field.name in self.constraints.reads]
        return self.constraints.violation(moved, self.time)

    @property
    def outcome(self) -> str | None:
        """The outcome in one word; None until the stepper has finished."""
        return None

    @property
    def verdict(self) -> str:
        """The outcome in a sentence; empty for an integrator."""
        return ""

    @property
    def solver_used(self) -> str:
        """The linear solver of the last step, why it was taken, and its cost; empty without one."""
        return ""

    def events(self) -> list[dict[str, Any]]:
        """Entries for the journal of a run, as "event" and facts: all since the last call."""
        return []

    @property
    def time(self) -> float:
        """The time at which the potential is taken."""
        raise NotImplementedError

    @property
    def moving(self) -> list[Field]:
        """The fields that change."""
        raise NotImplementedError

    def remark(self, steps: int) -> str:
        """A warning about so many steps from the start, before they are taken; empty where there is none."""
        return ""

    @property
    def order_remark(self) -> str:
        """A warning that its order is lower in this scene than by its name; empty where it is not."""
        return ""

    @property
    def weights(self) -> set[str]:
        """The inertias of the nodes that a step moves."""
        return {m.inertia for m in self.motions if isinstance(m.inertia, str)}

    @property
    def momenta(self) -> Mapping[str, np.ndarray]:
        """The momenta dL/dv of a Lagrangian, by coordinate, in double precision."""
        raise NotImplementedError

    @property
    def reactions(self) -> Mapping[str, np.ndarray]:
        """The forces of supports on a Lagrangian, by coordinate; zero at free components."""
        raise NotImplementedError

    def energy_function(self) -> float:
        """v dL/dv - L at the present fields, the energy of a Lagrangian (Jacobi's integral)."""
        raise NotImplementedError

    @property
    def failed(self) -> bool:
        """True if the stepper ended without reaching its tolerances."""
        return False

    @property
    def balance(self) -> dict[str, float]:
        """Energy that has come in and gone out so far, by name: work (in), dissipated (out)."""
        return {}

    @property
    def residual(self) -> float | None:
        """How far a minimiser is from its end; None for an integrator."""
        return None

    def differentiable(self) -> DifferentiableStepper:
        """This stepper, for derivatives of a run of it.

        Raises `EnergyError` naming the kind and the cure, if its runs have no derivatives.
        """
        reason = "has no adjoint" if self.motions else "searches for a minimum"
        equilibrium = "" if self.motions else ', or [fit] of = "equilibrium"'
        raise EnergyError(
            f"stepper '{self.name}': {reason}, so a run of it has no derivative; use a splitting scheme,"
            f" such as leapfrog{equilibrium}"
        )

    @property
    def name(self) -> str:
        """Its kind in a scene file; else the name of its class."""
        return self.kind or type(self).__name__

    def advance(self, n: int) -> None:
        """Move the fields by n steps, or fewer if the stepper finishes before."""
        raise NotImplementedError

    def evaluate(self) -> None:
        """Recompute the gradient; steps do it themselves where it is stale (`update`)."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin at the present fields and parameters, at step 0 and without memory, as if made for them.

        For the members of an ensemble, whose states follow each other in one simulation: `restore` of the
        state at step 0 has been called.
        """
        self.place()
        self.evaluate()

    def draw_as(self, seed: int) -> None:
        """From now on draw the random numbers of this seed; nothing for a stepper that draws none."""

    def take_parameters(self, names: Sequence[str]) -> None:
        """These parameters, and fields that no step moves, such as masses, were written.

        For a stepper that keeps numbers derived from them; called before `restore` and `begin`.
        """

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a step reads before it writes, except the fields; here the gradient."""
        return {f"gradient/{n}": storage.host(g).copy() for n, g in self.gradient.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values of `state`. Raises `CheckpointError` if any is missing or does not fit."""
        refuse_unlike(state, self.state())
        for name, array in self.gradient.items():
            storage.store(array, state[f"gradient/{name}"])
        self.mark()


def refuse_time_steps(potential: Potential) -> None:
    """Raise `TermError` for an argument that is the time step of a program: only programs set it."""
    if names := potential.time_steps:
        raise TermError(
            f"{names[0]}: is the time step of a program, got a stepper that is none; use [stepper]"
            ' kind = "evolution", or make it a Parameter',
            names[0].partition(".")[0],
        )


def refuse_unlike(state: Mapping[str, np.ndarray], present: Mapping[str, np.ndarray]) -> None:
    """Raise `CheckpointError` if `state` lacks an array of `present`, or has it in another shape."""
    for name, array in present.items():
        if name not in state or state[name].shape != array.shape:
            raise CheckpointError(
                f"the checkpoint's 'stepper/{name}' is missing or does not fit this stepper"
            )
