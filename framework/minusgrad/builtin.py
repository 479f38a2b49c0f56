"""The core's own steppers, observers and states, entering by the same door as a stranger's."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BaseModel
from pydantic import Field as Limits

from .contexts import Looking, Moving
from .hooks import hookimpl
from .integrators import Integrator
from .records import Quantity, Record, quantities
from .reports import Energies, Frames, Momenta, Reactions, Report
from .schemes import SCHEMES


class Splitting(Record):
    """A symplectic integrator by its row of coefficients; `dt` is the time step."""

    scheme: ClassVar[str]
    dt: Annotated[float | str, Quantity("s", "positive")]

    def make(self, context: Moving) -> Integrator:
        dt = quantities(self, context.units)["dt"]
        return Integrator(
            context.potential,
            context.motions,
            SCHEMES[self.scheme],
            dt,
            holds=context.holds,
            dissipation=context.dissipation,
        )


class SymplecticEuler(Splitting):
    """Kick, drift: order 1."""

    scheme = "symplectic_euler"


class Leapfrog(Splitting):
    """Half kick, drift, forces, half kick: order 2."""

    scheme = "leapfrog"


class Yoshida4(Splitting):
    """Three leapfrogs, the middle one backwards: order 4."""

    scheme = "yoshida4"


class Yoshida6(Splitting):
    """Seven leapfrogs: order 6."""

    scheme = "yoshida6"


class Looks(Record):
    """An observer: looks at the start, every so many steps, and at the last one."""

    every: Annotated[int, Limits(ge=1)]


class EnergiesBlock(Looks):
    """Energy of each term, kinetic, total, drift."""

    def make(self, context: Looking) -> Report:
        return Energies(context.stepper, context.recorder, self.every)


class MomentaBlock(Looks):
    """Momentum and angular momentum."""

    def make(self, context: Looking) -> Report:
        return Momenta(context.stepper, context.recorder, self.every)


class ReactionsBlock(Looks):
    """Forces of the supports, at each node and in sum."""

    def make(self, context: Looking) -> Report:
        return Reactions(context.stepper, context.recorder, self.every, context.holds, context.dissipation)


class FramesBlock(Looks):
    """Whole fields; all that move, where `fields` is not given."""

    fields: tuple[str, ...] | None = None

    def make(self, context: Looking) -> Report:
        moving = [f.name for f in context.stepper.moving]
        names = self.fields if self.fields is not None else moving
        return Frames(context.stepper, context.recorder, self.every, names, context.labels)


@hookimpl
def register_steppers() -> Mapping[str, type[BaseModel]]:
    return {model.scheme: model for model in (SymplecticEuler, Leapfrog, Yoshida4, Yoshida6)}


@hookimpl
def register_observers() -> Mapping[str, type[BaseModel]]:
    return {
        "energies": EnergiesBlock,
        "momenta": MomentaBlock,
        "reactions": ReactionsBlock,
        "frames": FramesBlock,
    }
