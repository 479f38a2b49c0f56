"""Observers of the core: energies, momenta, temperatures, pressures, forces, frames."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field as Limits

from ...errors import EnergyError, unknown
from ...scene.records import Record
from ...scene.units import UnitSystem, product, quotient

if TYPE_CHECKING:
    from ..contexts import ObserverContext
    from ..observers import Observer


class Looks(Record):
    """An observer: looks at the start, every so many steps, and at the last one."""

    every: Annotated[int, Limits(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""


class EnergiesBlock(Looks):
    """Energy of each term, kinetic, total, drift."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ..observers import Energies

        if not context.stepper.motions and not context.stepper.potential.terms:
            raise EnergyError("energies: the scene has no energy to record; leave the observer out")
        if not context.stepper.motions:
            unit = context.stepper.slope_unit
            context.recorder.unit("residual", context.units.symbol(unit), context.units.in_si(unit))
        return Energies(context.stepper, context.recorder, self.every)


class MomentaBlock(Looks):
    """Momentum and angular momentum; of a Lagrangian its momenta, and momentum maps of declared symmetries.

    `by_node`: record the momentum of every node of a Lagrangian, too.
    """

    by_node: bool = False
    """Record the momentum of every node of a Lagrangian, too."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ..observers import ConjugateMomenta, Momenta

        if context.stepper.lagrangian is not None:
            return ConjugateMomenta(context.stepper, context.recorder, self.every, self.by_node)
        if self.by_node:
            raise EnergyError("by_node: is for the momenta of a Lagrangian, got none; leave it out")
        return Momenta(context.stepper, context.recorder, self.every)


class TemperaturesBlock(Looks):
    """The kinetic temperature; with `configurational` also that of the forces.

    `centre_of_mass`: false leaves out its motion, since its momentum is kept without a bath.
    """

    configurational: bool = False
    """Record the temperature of the forces, too."""
    centre_of_mass: bool = True
    """Count the motion of the centre of mass; false leaves out it and its degrees of freedom."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ..observers import Temperatures, boltzmann

        k = boltzmann(context.units)
        if self.configurational:
            _declare_configurational(context)
        context.recorder.unit("temperature/kinetic", *_kelvin(context.units))
        asked = self.configurational, self.centre_of_mass
        return Temperatures(context.stepper, context.recorder, self.every, k, *asked)


def _declare_configurational(context: "ObserverContext") -> None:
    """Set the units of the temperature of forces. Raises `EnergyError` for positions of several units."""
    units, fields = context.units, context.stepper.potential.fields
    lengths = {fields[motion.position].unit: motion.position for motion in context.stepper.motions}
    if len(lengths) > 1:
        names = " and ".join(f"'{name}'" for name in lengths.values())
        raise EnergyError(
            f"configurational: needs positions of one unit, got {names}; leave it out, the kinetic"
            " temperature counts each in its own"
        )
    context.recorder.unit("temperature/configurational", *_kelvin(units))
    for length in lengths:
        force = quotient("J", length)
        for label, unit in (("force_squared", product(force, force)), ("laplacian", quotient(force, length))):
            context.recorder.unit(label, units.symbol(unit), units.in_si(unit))


class PressureBlock(Looks):
    """Pressure and volume of all forces; with `tensor` also the stress, positive in tension."""

    tensor: bool = False
    """Record the stress, too, positive in tension."""
    parts: bool = False
    """Record the parts of the pressure, too: of motion, energies, constraints, friction and sharp cutoffs."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ...steppers.pressure.stress import PRESSURE, box_of
        from ..observers import Pressures

        d, units = box_of(context.stepper.potential).shape[-1], context.units
        symbol, in_si, factor = units.reported(PRESSURE[d])
        for label in ("pressure", *(["stress"] if self.tensor else [])):
            context.recorder.unit(label, symbol, in_si)
        size = " ".join(["m"] * d)
        context.recorder.unit("volume", units.symbol(size), units.in_si(size))
        asked = self.tensor, self.parts
        made = Pressures(
            context.stepper, context.recorder, self.every, context.system.motions, *asked, factor
        )
        for part in made.labels:
            context.recorder.unit(part, symbol, in_si)
        return made


def _kelvin(units: UnitSystem) -> tuple[str, float]:
    return units.symbol("K"), units.in_si("K")


class ForceErrorsBlock(Looks):
    """Errors of forces by a tree (`far`), against direct sums at a sample of nodes."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ...potential.far_pairs.tree_kernels import TreeKernels
        from ..observers import ForceErrors

        kernels = context.stepper.potential.kernels
        names = [name for name, one in kernels.items() if isinstance(one, TreeKernels)]
        for label in (f"{kind}/{name}" for name in names for kind in ("force_error", "force_error_99")):
            context.recorder.unit(label, "1", 1.0)
        if not names:
            raise EnergyError(
                "force_errors: are of energies with far pairs, got none; give an energy `far`, or leave the"
                " observer out"
            )
        return ForceErrors(context.stepper, context.recorder, self.every)


class ReactionsBlock(Looks):
    """Forces of the supports, at each node and in sum."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ..observers import Reactions

        return Reactions(context.stepper, context.recorder, self.every)


class ForcesBlock(Looks):
    """Forces -dU/dx of the energies on all nodes; with `stress` their stress, without that of motion."""

    stress: bool = False
    """Record the stress of the energies, too, positive in tension; the scene needs a [box]."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ...steppers.pressure.stress import PRESSURE, box_of
        from ..observers import ENERGY_STRESS, EnergyForces

        motions, units, factor = context.system.motions, context.units, 1.0
        if not motions or not context.stepper.potential.terms:
            raise EnergyError("forces: the scene has no energy of nodes that move; leave the observer out")
        if self.stress:
            d = box_of(context.stepper.potential).shape[-1]
            symbol, in_si, factor = units.reported(PRESSURE[d])
            context.recorder.unit(ENERGY_STRESS, symbol, in_si)
        made = EnergyForces(context.stepper, context.recorder, self.every, motions, self.stress, factor)
        for name in made.names:
            unit = quotient("J", made.fields[name].unit)
            context.recorder.unit(made.label(name), units.symbol(unit), units.in_si(unit))
        return made


class LoadPathBlock(Looks):
    """Load factor, arc length and stability of equilibria under a growing load, and displacements."""

    bodies: tuple[str, ...] = ()
    """Bodies or sides whose mean displacement is recorded, each by itself."""
    nodes: tuple[Annotated[int, Limits(ge=0)], ...] = ()
    """Numbers of nodes whose displacement is recorded."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ...steppers.minimisers.continuation.followed_load import FollowedLoad
        from .load_path import SERIES, LoadPath, chosen_nodes

        stepper, known = context.stepper, {body.name: body.nodes for body in context.state.bodies}
        if not isinstance(stepper, FollowedLoad):
            raise EnergyError(
                f"load_path: is of equilibria under a growing load, got the stepper '{stepper.name}'; give"
                ' [stepper] kind = "newton" its `load_steps`, or leave the observer out'
            )
        field = stepper.moving[0]
        if odd := [name for name in self.bodies if name not in known]:
            raise EnergyError(f"load_path: {unknown('body', odd[0], known)}")
        if far := [node for node in self.nodes if node >= len(field)]:
            raise EnergyError(f"load_path: no node {far[0]}; '{field.name}' has {len(field)}")
        parts = chosen_nodes(known, self.bodies, self.nodes)
        for name in ("factor", "arc_length", "unstable"):
            context.recorder.unit(f"{SERIES}/{name}", "1", 1.0)
        length = context.units.symbol(field.unit), context.units.in_si(field.unit)
        for name in parts:
            context.recorder.unit(f"{SERIES}/displacement/{name}", *length)
        return LoadPath(stepper, context.recorder, self.every, field.name, parts)


class ConstraintsBlock(Looks):
    """Multipliers of each constraint, their largest violation, and the forces of constraints on nodes."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ..observers import ConstraintForces

        made = ConstraintForces(context.stepper, context.recorder, self.every)
        context.recorder.unit("violation", "1", 1.0)
        for name in made.names:
            unit = quotient("J", made.fields[name].unit)
            force = context.units.symbol(unit), context.units.in_si(unit)
            context.recorder.unit(made.label(name), *force)
        return made


class FramesBlock(Looks):
    """Whole fields; all that move, where `fields` is not given.

    In a periodic box positions are those in the box itself; `unwrapped`: as they moved on, without jumps.
    """

    fields: tuple[str, ...] | None = None
    """Names of the fields to record (default: those that move)."""
    unwrapped: bool = False
    """Record positions as they moved on, without jumps into the periodic box."""

    def make(self, context: "ObserverContext") -> "Observer":
        from ..observers import Frames

        moving = [f.name for f in context.stepper.moving]
        names = self.fields if self.fields is not None else moving
        labels, grids = context.labels, context.grids
        return Frames(context.stepper, context.recorder, self.every, names, labels, grids, self.unwrapped)
