"""What the way back through a step of a program reads: fields before the step, and outputs that it gave.

An output that a field became is known from the state after the step; what depends on known values alone is
not computed again. Where a field is held, the state after the step is not the output: the output is computed
again.

Decisions 0114.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from ...codegen.derivative_request import DerivativeRequest
from ...potential.potential import Potential
from ..holds import Holds


class Program(Protocol):
    """Maps and slopes of a potential, with the outputs that fields become: an `Evolution`."""

    updates: dict[str, str]

    @property
    def potential(self) -> Potential: ...

    @property
    def holds(self) -> Holds: ...


@dataclass(frozen=True)
class StepReads:
    """`before`: fields of the state before a step; `after`: outputs, by the field that each became."""

    before: tuple[str, ...]
    after: Mapping[str, str]

    @classmethod
    def of(
        cls, program: Program, request: DerivativeRequest, recorded: Collection[str] | None = None
    ) -> "StepReads":
        """The reads of a request by seeds; `recorded`: the fields on a tape, if not all.

        Where elements are rebuilt, or images follow positions, all of the state before a step is read.
        """
        potential, updates, held = program.potential, program.updates, program.holds.placed
        if not potential.stays:
            return cls(tuple(updates), {})
        usable = {
            y: x
            for x, y in updates.items()
            if y in potential.map_outputs and x not in held and (recorded is None or x in recorded)
        }
        _, wanted = potential.chain.needed_parts(potential.read_back(request), usable)
        return cls(tuple(x for x in updates if x in wanted), {y: x for y, x in usable.items() if y in wanted})

    @property
    def recorded(self) -> tuple[str, ...]:
        """The fields of which a tape has to hold the values."""
        return tuple(dict.fromkeys([*self.before, *self.after.values()]))
