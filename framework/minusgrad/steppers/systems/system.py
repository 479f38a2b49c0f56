"""The system: everything that moves and everything that acts on it, handed on whole.

    M d2x/dt2 = -dU/dx - dR/dv + q v x B - G^T lambda,   g(x, t) = 0,   held components as prescribed

U: the potential. R: the dissipation. B: the magnetic field. g: the constraints, with G = dg/dx and the
multipliers lambda. A Lagrangian L(q, v, t) takes the place of the inertia M. A heat bath exchanges energy
with the velocities, a barostat moves the box. `clock` has the present time.

Decisions 0116.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from ...energies.fields import Fields, Motion
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ..holds import Holds
from ..magnetic.force import MagneticForce
from ..pressure.barostat import Barostat
from ..timed.heat_bath import Bath
from ..timed.inertias import inertia


class HasTime(Protocol):
    """What has a present time: a stepper."""

    @property
    def time(self) -> float: ...


@dataclass(frozen=True)
class Instant:
    """A clock that stands."""

    time: float = 0.0


@dataclass(frozen=True)
class System:
    """The parts of a system; a part that is None is absent.

        System(potential, [Motion("x", "v", "m")], dissipation=drag)

    potential: U, with the fields and the box. motions: the fields that move in time, with velocity and
    inertia. holds: the supports, components with prescribed motion. dissipation: R(v, x, t) of friction.
    magnetic: the force on charges. constraints: g = 0. lagrangian: the sum of Lagrangians. bath: a heat bath.
    barostat: it moves the box. clock: the stepper, once there is one. of_stepper: maps of the stepper's own
    that have parameters.
    """

    potential: Potential
    motions: tuple[Motion, ...] = ()
    holds: Holds = None  # type: ignore[assignment]
    dissipation: Potential | None = None
    magnetic: MagneticForce | None = None
    constraints: Constraints | None = None
    lagrangian: Potential | None = None
    bath: Bath | None = None
    barostat: Barostat | None = None
    clock: HasTime = field(default=Instant(), repr=False, compare=False)
    of_stepper: tuple[Potential, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "motions", tuple(self.motions))
        if self.holds is None:
            object.__setattr__(self, "holds", Holds(self.potential.fields))

    def timed_by(self, clock: HasTime) -> "System":
        """The same system at the present time of a clock."""
        return replace(self, clock=clock)

    def without_motions(self) -> "System":
        """The same fields and forces, without all that depends on velocities."""
        return replace(
            self, motions=(), dissipation=None, magnetic=None, lagrangian=None, bath=None, barostat=None
        )

    @property
    def time(self) -> float:
        """The present time."""
        return self.clock.time

    @property
    def fields(self) -> Fields:
        """The fields of the potential."""
        return self.potential.fields

    @property
    def potentials(self) -> list[Potential]:
        """All that has parameters: U, L, R, flows of the magnetic field, constraints, maps of the stepper."""
        flows = self.magnetic.potential if self.magnetic else None
        kept = self.constraints.potential if self.constraints else None
        every = (self.potential, self.lagrangian, self.dissipation, flows, kept)
        return [*(one for one in every if one is not None), *self.of_stepper]

    @cached_property
    def inertia(self) -> dict[str, Any]:
        """The array of inertias of each position: one for each node, or a single one.

        Raises `EnergyError` for an inertia that is not positive and finite, or does not fit.
        """
        return {m.position: inertia(m, self.potential) for m in self.motions}

    @property
    def degrees_of_freedom(self) -> int:
        """The number of free components that move in time, less that of constraints."""
        free = sum(int(self.holds.free(motion.position).sum()) for motion in self.motions)
        return free - (self.constraints.count if self.constraints else 0)

    @property
    def is_driven(self) -> bool:
        """True if the potential depends on time, supports move, or constraints are driven."""
        driven = self.constraints is not None and self.constraints.uses_time
        return self.potential.uses_time or self.holds.moving or driven
