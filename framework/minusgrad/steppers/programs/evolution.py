"""Programs in time: the next state is computed from the present one by maps and slopes.

    y_1 = f_1(x, p, t),   y_2 = f_2(x, y_1, p, t),   ...        then, all at once,   x <- y

The maps and slopes are those of a potential, in its order. What they compute is derived and never saved: the
state is the fields that are updated. A program has no energy balance.

The derivative of a step is one sweep back through the maps and slopes, with the adjoints of the next state as
seeds (`adjoint.programs`); its tangent is theirs.

Decisions 0032, 0118, 0275, 0357.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine import storage
from ...engine.finite_numbers import FiniteNumbers
from ...engine.kernels import copy_loops
from ...errors import EnergyError, NonFiniteError, OutsideError, UpdateError, choices
from ...potential.fused_code import FusedSweep
from ...potential.joined_launch import JoinedLaunch
from ...potential.non_finite import non_finite_field
from ...potential.watches.verified_ranges import ProvenRanges
from ...scene.units import parse_unit
from ..stepper import PARTS, refuse_unlike
from ..systems.parts import FAR, MOVING, PERIODIC, SUPPORTS, TIME, Consumer
from ..systems.system import System
from ..timed.time_stepper import TimeStepper
from .serial_steps import SerialSteps
from .state_exchange import StateExchange
from .state_tape import StateTape


class Evolution(TimeStepper):
    """Updates fields by a potential's maps and slopes, in place and all at once.

        Evolution(System(Potential(fields, [], [wave])), {"p": "q", "q": "q_next"}, dt=0.01).advance(100)

    updates: for each field of the state that changes, the field that it becomes: an output, or another field
    of the state. dt, t0: the step and the time at step 0 [the run's unit of time]; maps see the time at the
    start of a step. Held components are set after each step. Raises
    `EnergyError` for an update of an output, and for fields of another shape or dimension.
    """

    consumer = Consumer(
        "evolution", {SUPPORTS, MOVING, PERIODIC, FAR, TIME}, cure="write it as maps and slopes"
    )
    fixed = PARTS | {"updates"}

    def __init__(
        self,
        system: System,
        updates: Mapping[str, str],
        dt: float = 1.0,
        t0: float = 0.0,
        *,
        tape: StateTape | None = None,
    ):
        super().__init__(system)
        self._system = self.system.without_motions()
        potential = self.potential
        potential.refuse_exits()
        self.updates = dict(updates)
        self._start_clock(dt, t0)
        self._clock_changed()
        self.gradient: dict[str, Any] = {}
        self._refuse_unlike()
        self.tape = tape
        self._copied = self._copies()
        self._exchange = StateExchange(potential.fields, self.updates, tape)
        self._needed, _ = potential.chain.needed_parts(
            self.updates.values()
        )  # others wait for who reads them
        self._steps, self._proven = self._kernel_of_steps(), ProvenRanges(self.potential)
        self._finite = FiniteNumbers([field.array for field in self.moving])
        self.holds.place(self.time)

    def _refuse_unlike(self) -> None:
        fields = self.potential.fields
        if idle := [name for name in self.holds.fields if name not in self.updates]:
            raise EnergyError(
                f"hold: field '{idle[0]}' is not updated; hold one of {', '.join(self.updates)}"
            )
        if not self.updates:
            raise EnergyError("next: updates no field; give at least one, such as { x = 'x_next' }")
        for x, y in self.updates.items():
            if x not in fields or x in fields.derived:
                state = [n for n in fields if n not in fields.derived]
                raise UpdateError(f"next: '{x}' is no field of the state{choices(x, state)}", x)
            if y not in fields:
                names = sorted(fields, key=lambda name: name not in fields.derived)  # outputs first
                raise UpdateError(f"next.{x}: there is no field '{y}'{choices(y, names)}", x)
            if y in fields.derived and y not in self.potential.map_outputs:
                raise UpdateError(f"next.{x}: no map or slope of this potential gives '{y}'; add it", x)
            if fields[y].pair_set is not None:
                raise UpdateError(
                    f"next.{x}: '{x}' is over nodes, got '{y}', which is over directed pairs, whose number"
                    " changes; give it the output of a map to nodes",
                    x,
                )
            if fields[x].shape != fields[y].shape:
                raise UpdateError(
                    f"next.{x}: '{x}' has shape {list(fields[x].shape)}, got '{y}' of shape"
                    f" {list(fields[y].shape)}; a field becomes one of its own shape",
                    x,
                )
            here, there = (parse_unit(fields[n].unit) for n in (x, y))
            if "1" not in (fields[x].unit, fields[y].unit) and here.dimension != there.dimension:
                raise UpdateError(
                    f"next.{x}: '{x}' is in {fields[x].unit}, got '{y}' in {fields[y].unit}; correct the unit"
                    " of the map",
                    x,
                )

    def _copies(self) -> list[tuple[Any, Any]]:
        """x <- y for all x at once: values that are read and overwritten are copied first."""
        fields = self.potential.fields
        kept = {y: fields[y].twin().array for y in self.updates.values() if y in self.updates}
        saved = [(array, fields[y].array) for y, array in kept.items()]
        sources = {x: kept.get(y, fields[y].array) for x, y in self.updates.items()}
        self._scratch = [*kept.values(), *(field.array for field in self.potential.map_outputs.values())]
        return [*saved, *((fields[x].array, source) for x, source in sources.items())]

    def _kernel_of_steps(self) -> SerialSteps | None:
        """Many steps in one kernel, which also records them on a tape; None for a large program."""
        code = FusedSweep(self.potential)
        computed = code.refresh() if code.possible else []
        if not SerialSteps.serve(code.statements):
            return None
        copies = [copy_loops(into, source) for into, source in self._copied]
        loops, recorded = [*computed, *copies], self.tape.recorded() if self.tape else []
        ending = [self.holds.code(), *recorded]
        return SerialSteps(loops, code.statements, ending, scratch=self._scratch)

    @cached_property
    def _side_by_side(self) -> JoinedLaunch:
        """All maps and slopes in one kernel, which verifies those of many steps."""
        return JoinedLaunch(self.potential)

    @property
    def fused(self) -> bool:
        """True if many steps are taken inside one kernel."""
        return self._steps is not None

    def _clock_changed(self) -> None:
        """Set the arguments of maps that are the time step."""
        for name in self.potential.time_steps:
            self.potential.set_parameter(name, self.dt)

    # Steps

    @property
    def moving(self) -> list[Field]:
        """The fields that are updated."""
        return [self.potential.fields[name] for name in self.updates]

    def advance(self, n: int) -> None:
        """Take n steps.

        Raises `NonFiniteError` naming step, map and node, and `OutsideError` for a window that leaves its
        grid; the fields are then those before that step.
        """
        chain, before = self.potential.chain, self._memory()
        chain.forget_exits()
        self._run(n)
        if self._finite() and not chain.exits:
            return
        self._recall(before)
        for _ in range(n):
            before = self._memory()
            chain.forget_exits()
            self._run(1)
            found = None if self._finite() else non_finite_field(self.moving)
            if found or chain.exits:
                self._recall(before)
                self.potential.refresh(self.time)
                if left := chain.first_exit(self.time):
                    raise OutsideError(f"step {self.step + 1}: {left}")
                trouble = self.potential.first_nonfinite_output() or found
                raise NonFiniteError(f"step {self.step + 1}: {trouble}")

    def _run(self, n: int) -> None:
        self._verify()
        if self._steps is not None:
            row = self.step - self.tape.first if self.tape else 0
            self._steps(self.times(np.arange(self.step, self.step + n + 1)), row)
            self.step += n
        else:
            exchanges = self._exchange.exchanges(n)
            with self._exchange.lent():
                for left in reversed(range(n)):
                    self._launch(left in exchanges)
        for field in self.moving:
            field.array.writes += 1

    def _launch(self, exchange: bool) -> None:
        """Take a step by single launches; `exchange`: without copies."""
        if exchange:
            self._exchange.reach_ahead(self.step)
        self.potential.refresh(self.time, self._needed)
        if exchange:
            self._exchange.take()
        else:
            self._exchange.leave()
            self._copy_next()
        self.step += 1
        self.holds.place(self.time)
        if self.tape:
            self._exchange.record(self.step)

    def _copy_next(self) -> None:
        for into, source in self._copied:
            storage.store(into, source)

    def _verify(self) -> None:
        """Compute all maps and slopes by a kernel that is verified and judges the range.

        Once in each range of fields and parameters. The kernel of many steps has the same loops. Raises
        `EnergyError` for windows that never meet a grid.
        """
        if self._proven.lack(self.time):
            if self.fused and self._side_by_side.serves and self._side_by_side.defined:
                self._side_by_side(self.time)
            else:
                self.potential.refresh(self.time)
            if not self.potential.chain.exits:
                self.potential.chain.refuse_idle()
            self._proven.note()

    def evaluate(self, t: float | None = None) -> None:
        """Nothing: a program computes nothing before a step."""

    def _memory(self) -> tuple[int, list[Any]]:
        return self.step, [storage.duplicate(field.array) for field in self.moving]

    def _recall(self, memory: tuple[int, list[Any]]) -> None:
        self.step = memory[0]
        for field, values in zip(self.moving, memory[1], strict=True):
            storage.store(field.array, values)

    # Saving, and derivatives

    def state(self) -> dict[str, np.ndarray]:
        """The clock: a step reads nothing else but the fields."""
        return self._clock()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values that `state` returned; one made with another dt keeps its own, from that time.

        Raises `CheckpointError` if anything is missing or does not fit.
        """
        refuse_unlike({"since": np.array(0), **state}, self.state())
        self.restore_clock(state)

    def differentiable(self) -> "Evolution":
        """Itself: every program of maps and slopes has derivatives."""
        return self

    def with_tape(self, tape: StateTape) -> "Evolution":
        """The same program, recording on a tape, which begins at the present time."""
        one = Evolution(self.system, self.updates, self.dt, self.time, tape=tape)
        one.kind = self.kind
        return one

    def begin_tape(self, first: int) -> None:
        """Begin the tape at the present fields, with step number `first`."""
        assert self.tape
        self.tape.first = first
        self.tape.record(first)
