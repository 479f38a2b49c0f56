"""The steppers, observers and the uniform magnetic field of the core, registered like those of a plugin.

Decisions 0062.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ValidationInfo, create_model, field_validator, model_validator
from pydantic import Field as Limits

from ..energies.fields import Field
from ..energies.magnetic_field import MagneticField, uniform_field
from ..errors import EnergyError, UnitError
from ..potential.far_pairs.tree_kernels import TreeKernels
from ..scene.document import PROGRAM
from ..scene.records import Quantity, Record, quantities
from ..scene.units import UnitSystem, product, quotient
from ..steppers.holds import Holds
from ..steppers.implicit.gradient_flow import GradientFlow
from ..steppers.implicit.implicit_integrator import SUBSTEPS, ImplicitIntegrator
from ..steppers.implicit.stage import IMPLICIT_SCHEMES, ImplicitScheme, newmark
from ..steppers.integrator import Integrator
from ..steppers.minimisers.constrained_newton import ConstrainedNewton
from ..steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from ..steppers.minimisers.lbfgs import LBFGS
from ..steppers.minimisers.load_steps import LoadSteps
from ..steppers.minimisers.minimiser import Minimiser
from ..steppers.minimisers.newton import Newton
from ..steppers.minimisers.outcomes import BALANCED, NO_TOLERANCES, Tolerances
from ..steppers.minimisers.unknowns import Unknown
from ..steppers.pressure.barostat import Barostat
from ..steppers.pressure.stress import PRESSURE, box_of
from ..steppers.programs.evolution import Evolution
from ..steppers.schemes import SCHEMES, Scheme
from ..steppers.stepper import Stepper
from ..steppers.timed.gauss_radau.gauss_radau import TOLERANCE, GaussRadau
from ..steppers.timed.heat_bath import Bath
from ..steppers.variational.variational_integrator import VariationalIntegrator
from .arrays.arrays_state import ArraysBlock
from .contexts import ObserverContext, StepperContext
from .hookspecs import hookimpl
from .observers import (
    ConjugateMomenta,
    ConstraintForces,
    Energies,
    ForceErrors,
    Frames,
    Momenta,
    Observer,
    Pressures,
    Reactions,
    Temperatures,
    boltzmann,
)


class Splitting(Record):
    """A symplectic integrator by its row of coefficients; `dt` is the time step."""

    scheme: ClassVar[str]
    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""

    def make(self, context: StepperContext) -> Integrator:
        dt = quantities(self, context.units)["dt"]
        return Integrator(context.system, SCHEMES[self.scheme], dt)


def splitting(kind: str, scheme: Scheme) -> type[Splitting]:
    """The block of a scheme: one row in `SCHEMES` makes a kind of stepper."""
    name = "".join(word.capitalize() for word in kind.split("_"))
    model = create_model(name, __base__=Splitting, __doc__=scheme.summary, __module__=__name__)
    model.scheme = kind
    return model


class Langevin(Record):
    """BAOAB: leapfrog in a heat bath, at `friction` (a rate) and `temperature` (in units of energy where the
    scene is dimensionless: k_B = 1)."""

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    friction: Annotated[float | str, Quantity("s^-1", "nonnegative")]
    """Rate at which the heat bath damps velocities."""
    temperature: Annotated[float | str, Quantity("K", "nonnegative")]
    """Temperature of the heat bath; an energy k_B T where the scene is dimensionless."""

    def make(self, context: StepperContext) -> Integrator:
        given = quantities(self, context.units)
        bath = Bath(given["friction"], boltzmann(context.units) * given["temperature"], context.seed)
        return Integrator(replace(context.system, bath=bath), SCHEMES["leapfrog"], given["dt"])


class NPT(Langevin):
    """BAOAB at constant temperature and pressure: leapfrog in a heat bath, and a box that moves.

    `relaxation` sets the inertia of the box: about the time that its volume takes to follow. `cell_friction`
    is the rate of the box's own heat bath (1 / relaxation, where it is not given), `cell` how its edges may
    change: all by one factor, each axis by its own, or in any way but by a rotation.
    """

    pressure: float | str
    """External pressure: an SI unit of Pa in space, of N/m in the plane."""
    relaxation: Annotated[float | str, Quantity("s", "positive")]
    """About the time in which the volume follows the pressure; it sets the inertia of the box."""
    cell_friction: Annotated[float | str, Quantity("s^-1", "nonnegative")] | None = None
    """Rate of the heat bath of the box (default: 1 / relaxation)."""
    cell: Literal["isotropic", "orthorhombic", "flexible"] = "isotropic"
    """How the edges may change: by one factor, each axis by its own, or in any way but a rotation."""

    def make(self, context: StepperContext) -> Integrator:
        given, units = quantities(self, context.units), context.units
        box = box_of(context.potential)
        with_unit = units.convert(self.pressure, PRESSURE[box.shape[-1]])
        kT = boltzmann(units) * given["temperature"]
        if kT <= 0.0:
            raise EnergyError(
                "temperature: must be above 0 at constant pressure, because it sets the inertia of the box,"
                f" got {self.temperature}; for a cold box use a low temperature with a high friction"
            )
        own = given["cell_friction"]
        friction = 1.0 / given["relaxation"] if own is None else own
        barostat = Barostat(with_unit, kT, given["relaxation"], friction, context.seed, self.cell)
        bath = Bath(given["friction"], kT, context.seed)
        system = replace(context.system, bath=bath, barostat=barostat)
        return Integrator(system, SCHEMES["leapfrog"], given["dt"])


class Implicit(Record):
    """An implicit integrator by its scheme; `dt` is the time step.

    `solver` of its systems: by their size, where it is "auto". A step that Newton's method does not solve is
    divided into 2, 4, ... and at most `substeps` parts.
    """

    scheme: ClassVar[str]
    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    solver: Literal["auto", "superlu", "pardiso", "multigrid", "block_jacobi"] = "auto"
    """Solver of the linear systems; "auto" chooses by their size."""
    substeps: Annotated[int, Limits(ge=1)] = SUBSTEPS
    """The most parts into which a step is divided that Newton's method does not solve."""

    def made_of(self) -> ImplicitScheme:
        """The scheme of its kind."""
        return IMPLICIT_SCHEMES[self.scheme]

    def make(self, context: StepperContext) -> ImplicitIntegrator:
        dt = quantities(self, context.units)["dt"]
        return ImplicitIntegrator(
            context.system, self.made_of(), dt, solver=self.solver, substeps=self.substeps
        )


class ImplicitEulerBlock(Implicit):
    """Implicit Euler: first order, stable at every dt, and damps vibrations that are faster than dt."""

    scheme = "implicit_euler"


class ImplicitMidpointBlock(Implicit):
    """The implicit midpoint rule: second order, symplectic, keeps angular momentum and the size of energy."""

    scheme = "implicit_midpoint"


class BDF2Block(Implicit):
    """BDF2, by the last two states: second order, and damps vibrations that are faster than dt."""

    scheme = "bdf2"


class NewmarkBlock(Implicit):
    """Newmark's scheme; `beta` 1/4 and `gamma` 1/2 are the average acceleration, of second order.

    Other values are taken where they are stable at every dt; `gamma` above 1/2 damps and is of first order.
    """

    scheme = "newmark"
    beta: float = 0.25
    """Part of dt^2 times the new acceleration in the new position; 1/4 is the average."""
    gamma: float = 0.5
    """Part of the new acceleration in the new velocity; above 1/2 it damps, to first order."""

    def made_of(self) -> ImplicitScheme:
        return newmark(self.beta, self.gamma)


class GaussRadauBlock(Record):
    """Gauss-Radau steps of order 15 (IAS15): each step of `dt` in as many substeps as `tolerance` asks for.

    tolerance: of the last term of a substep's accelerations, in parts of the largest one; rounding alone is
    more than 1e-12 of it.
    """

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Length of a step, which is divided into substeps as the tolerance asks."""
    tolerance: Annotated[float, Limits(ge=1e-11)] = TOLERANCE
    """Largest last term of a substep's accelerations, relative to the largest acceleration."""

    def make(self, context: StepperContext) -> GaussRadau:
        return GaussRadau(context.system, quantities(self, context.units)["dt"], tolerance=self.tolerance)


class VariationalBlock(Record):
    """A variational integrator of the scene's Lagrangians: symplectic, and keeps momentum maps to rounding.

    `order`: 2, the midpoint rule, or 4, Galerkin's method with two points. `substeps`: the most parts of a
    step that Newton's method does not solve at once.
    """

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    order: Literal[2, 4] = 2
    """2: the midpoint rule; 4: Galerkin's method with two points."""
    substeps: Annotated[int, Limits(ge=1)] = SUBSTEPS
    """The most parts into which a step is divided that Newton's method does not solve."""

    def make(self, context: StepperContext) -> VariationalIntegrator:
        if context.system.lagrangian is None:
            raise EnergyError(
                "variational: has no Lagrangian, got energies alone; add a [[lagrangian]] block"
            )
        dt = quantities(self, context.units)["dt"]
        return VariationalIntegrator(context.system, dt, self.order, substeps=self.substeps)


class EvolutionBlock(Record):
    """A program in time: in steps of length `dt` fields become the results of maps and slopes.

    `next`: for each field that changes, the field that it becomes.
    """

    next: dict[str, str] = Limits(min_length=1)
    """For each field that changes, the field that it becomes at the end of a step."""
    dt: Annotated[float | str, Quantity("s", "positive")] = 1.0
    """Length of a step."""

    def make(self, context: StepperContext) -> Evolution:
        dt = quantities(self, context.units)["dt"]
        return Evolution(context.system, self.next, dt)


class GradientFlowBlock(Record):
    """A gradient flow C dT/dt = -dU/dT, in implicit steps of length `dt`.

    `capacities`: for each field that flows, the field with the capacity C of each node, or one number.
    """

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    capacities: dict[str, str | float] = Limits(min_length=1)
    """For each field that flows, the field with the capacity C of each node, or one number."""
    scheme: Literal["implicit_euler", "crank_nicolson", "bdf2"] = "implicit_euler"
    """Implicit scheme: of first order, or of second order (the other two)."""
    solver: Literal["auto", "superlu", "pardiso", "multigrid", "block_jacobi"] = "auto"
    """Solver of the linear systems; "auto" chooses by their size."""

    def make(self, context: StepperContext) -> GradientFlow:
        dt, potential = quantities(self, context.units)["dt"], context.potential
        for name in self.capacities:
            potential.fields[name]
        return GradientFlow(context.system, self.capacities, dt, self.scheme, solver=self.solver)


class UnknownField(Record):
    """An unknown field of a minimiser; scale and bounds are in its unit."""

    scale: float | str | None = None
    """Size of a change that matters, in the field's unit: z = x / scale (default: 1 in the run's unit)."""
    lower: float | str | None = None
    """Lower bound of the field, in its unit (default: none)."""
    upper: float | str | None = None
    """Upper bound of the field, in its unit (default: none)."""
    rate: Annotated[float, Limits(gt=0.0)] = 1.0
    """Factor of this field's steps in methods of first order."""

    def unknown(self, field: Field, units: UnitSystem) -> Unknown:
        """In the run's units."""
        unit = UnitSystem.si().symbol(field.unit)
        lower = -inf if self.lower is None else units.convert(self.lower, unit)
        upper = inf if self.upper is None else units.convert(self.upper, unit)
        scale = 1.0 if self.scale is None else units.convert(self.scale, unit)
        return Unknown(field.name, scale, lower, upper, self.rate)


def slope_in(
    key: str,
    given: float | str | None,
    tables: Mapping[str, UnknownField],
    known: Mapping[str, Field],
    units: UnitSystem,
) -> float | None:
    """A size of dU/dz in the run's units, z = x / scale; None if none is given.

    A text is an energy, or a force where no unknown has a `scale`: dU/dz is then dU/dx. Raises `EnergyError`
    for an energy that would depend on the run's unit of an unknown, because that is its default scale.
    """
    if not isinstance(given, str):
        value = given
    elif any(table.scale is not None for table in tables.values()) or _is_energy(given, units):
        value = units.convert(given, "J")
        plain = [name for name, table in tables.items() if table.scale is None]
        if odd := [name for name in plain if units.in_si(known[name].unit) != 1.0]:
            own = units.symbol(known[odd[0]].unit)
            raise EnergyError(
                f"{key}: an energy needs the `scale` of '{odd[0]}', which by default is 1 {own}, the run's"
                f" unit, got {given}; write a force, '{given}/{own}', or give a scale"
            )
    else:
        different = {known[name].unit: name for name in tables}
        if len(different) > 1:
            names = " and ".join(f"'{name}'" for name in different.values())
            raise EnergyError(
                f"{key}: the fields {names} have different units, got {given}; give each a scale, and an"
                " energy"
            )
        value = units.convert(given, quotient("J", next(iter(different))))
    if value is not None and not 0.0 <= value < inf:
        raise EnergyError(f"{key}: must be finite and not negative, got {given}; correct it")
    return value


def slope_unit(tables: Mapping[str, UnknownField], known: Mapping[str, Field]) -> str:
    """The SI unit of dU/dz: a force where no unknown has a scale of its own, and all one unit."""
    units = {known[name].unit for name in tables}
    scaled = any(table.scale is not None for table in tables.values())
    return "J" if scaled or len(units) != 1 else quotient("J", units.pop())


def _is_energy(given: str, units: UnitSystem) -> bool:
    try:
        units.convert(given, "J")
    except UnitError:
        return False
    return True


class Balance(Record):
    """`tolerance` of a search: it ends where all that is given here holds.

    `force`: no out-of-balance force on a node exceeds this part of the largest force that an energy or a
    support exerts on one. `step`: the last step moved no component by more than this, in the fields' unit.
    `constraint`: constraints are kept to this part of the largest coordinate; default: to rounding.
    """

    force: Annotated[float, Limits(gt=0.0)] | None = None
    """Largest out-of-balance force, relative to the largest force on a node (default: not asked)."""
    step: float | str | None = None
    """Largest change of a component in the last step, in the fields' unit (default: not asked)."""
    constraint: Annotated[float, Limits(gt=0.0)] | None = None
    """Largest violation of constraints, relative to the coordinates (default: to rounding)."""

    @model_validator(mode="after")
    def _some(self) -> "Balance":
        if self.force is None and self.step is None:
            raise ValueError("needs `force` or `step`, or both")
        return self

    def step_in(self, fields: Sequence[Field], units: UnitSystem) -> float | None:
        """`step` in the run's units. Raises `EnergyError` for fields of several units."""
        if self.step is None:
            return None
        different = {field.unit: field.name for field in fields}
        if len(different) > 1:
            names = " and ".join(f"'{name}'" for name in different.values())
            raise EnergyError(f"tolerance.step: the fields {names} have different units; use `change`")
        step = units.convert(self.step, UnitSystem.si().symbol(fields[0].unit))
        if not step > 0.0:
            raise EnergyError(f"tolerance.step: must be positive, got {self.step}; give a length")
        return step


class Search(Record):
    """A minimiser of the potential at one `time`, over some `fields` (all that move, if none is named).

    Under constraints it moves along them, and dU/dz is its part along them.

    It ends where no free component of dU/dz exceeds `gradient` (z = x / scale), where no component of z
    changes by more than `change`, where its `tolerance` is reached, or after the run's steps.
    """

    method: ClassVar[type[Minimiser]]
    constrained: ClassVar[type[Minimiser] | None] = None
    """The method under constraints, if it is another one."""
    balances: ClassVar[bool] = False
    """True if a search without tolerances ends at an out-of-balance force that the precision allows."""
    fields: dict[str, UnknownField] = {}  # noqa: RUF012  (pydantic copies it)
    """The fields to vary, each with its scale and bounds (default: those that move)."""
    gradient: float | str | None = None
    """Converged when no free dU/dz exceeds it: an energy, or without `scale` a force, in units such as
    "eV/angstrom" (default: not asked)."""
    change: Annotated[float, Limits(ge=0.0)] | None = None
    """Settled when no component of z changes by more than this (default: not asked)."""
    tolerance: Balance | None = None
    """Converged when all that is given here holds (default: not asked)."""
    time: Annotated[float | str, Quantity("s")] = 0.0
    """Time at which energies and holds that depend on it are taken."""

    def own_keys(self) -> list[str]:
        """The keys that are arguments of the method."""
        return [key for key in type(self).model_fields if key not in Search.model_fields]

    def make(self, context: StepperContext) -> Stepper:
        return self.search(context, quantities(self, context.units)["time"])

    def _tables(self, context: StepperContext) -> dict[str, UnknownField]:
        return self.fields or {m.position: UnknownField() for m in context.motions}

    def search(self, context: StepperContext, t: float, **options: Any) -> Minimiser:
        """The minimiser at a time; options: the masks of free components."""
        values, known = quantities(self, context.units), context.potential.fields
        tables = self._tables(context)
        unknowns = [table.unknown(known[name], context.units) for name, table in tables.items()]
        own = {key: values[key] for key in self.own_keys()}
        own |= {key: slope_in(key, own[key], tables, known, context.units) for key in own.keys() & {"clip"}}
        gradient = slope_in("gradient", self.gradient, tables, known, context.units)
        tolerances = Tolerances(gradient, values["change"])
        if self.tolerance is None and tolerances == NO_TOLERANCES and self.balances:
            tolerances = Tolerances(force=BALANCED[known.dtype.name])
        if (balance := self.tolerance) is not None:
            step = balance.step_in([known[unknown.field] for unknown in unknowns], context.units)
            tolerances = replace(tolerances, force=balance.force, step=step, constraint=balance.constraint)
        method = (self.constrained if context.system.constraints else None) or self.method
        made = method(context.system, unknowns, tolerances, t=t, **options, **own)
        made.slope_unit = slope_unit(tables, known)
        return made


class GradientDescentBlock(Search):
    """Gradient descent with backtracking; `first` is the largest change of z in the first trial."""

    method = GradientDescent
    first: Annotated[float, Limits(gt=0.0)] = 0.1
    """Largest change of z in the first trial."""


class AdamBlock(Search):
    """Adam: steps of about `rate` in each z, independent of the size of its slope.

    With `final_rate` and `decay_steps` the rate falls along half a cosine. Slopes p whose norm exceeds `clip`
    are shortened to it.
    """

    method = Adam
    rate: Annotated[float, Limits(gt=0.0)] = 1e-3
    """Length of the steps in each z, whatever the size of its slope."""
    final_rate: Annotated[float, Limits(ge=0.0)] | None = None
    """Rate that the steps fall to along half a cosine, in `decay_steps` iterations (default: `rate`)."""
    decay_steps: Annotated[int, Limits(ge=1)] | None = None
    """Number of iterations in which the rate falls to `final_rate` (default: it is constant)."""
    clip: float | str | None = None
    """Norm of dU/dz to which longer ones are shortened, in units as `gradient` (default: none)."""


class LBFGSBlock(Search):
    """Limited-memory BFGS with `memory` pairs; `first` is the largest change of z in the first trial."""

    method = LBFGS
    memory: Annotated[int, Limits(ge=1)] = 10
    """Number of stored pairs of steps and changes of the gradient."""
    first: Annotated[float, Limits(gt=0.0)] = 0.1
    """Largest change of z in the first trial."""


class NewtonBlock(Search):
    """Newton's method with the exact Hessian; `solver` of its systems: by their size, where it is "auto".

    Without a tolerance it ends at a relative `force` of 1e-9 (f32: 1e-4).

    `load_steps`: the load grows from nothing in so many steps, each an equilibrium: the time up to `time`
    (default: 1), holds, and the parameters `loads`. An increment that fails within `iterations` is halved, up
    to `halvings` times.
    """

    method = Newton
    constrained = ConstrainedNewton
    balances = True
    solver: Literal["auto", "superlu", "pardiso", "multigrid", "block_jacobi"] = "auto"
    """Solver of the linear systems; "auto" chooses by their size."""
    load_steps: Annotated[int, Limits(ge=1)] | None = None
    """Number of equal steps from no load to the full load (default: the full load at once)."""
    loads: tuple[str, ...] = ()
    """Parameters, such as "traction.traction", that grow with the load; holds always do."""
    iterations: Annotated[int, Limits(ge=1)] = 50
    """The most iterations of one increment of the load."""
    halvings: Annotated[int, Limits(ge=0, le=30)] = 6
    """How often an increment of the load may be halved, 0 to 30."""

    def own_keys(self) -> list[str]:
        return ["solver"]

    @field_validator("loads", "iterations", "halvings")
    @classmethod
    def _of_steps(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("load_steps") is None:
            raise ValueError("belongs to a search in `load_steps`, which are not given; give them")
        return value

    def make(self, context: StepperContext) -> Stepper:
        if self.load_steps is None:
            return super().make(context)
        holds = context.system.holds
        names = [*self.fields] or [m.position for m in context.motions]
        unheld = replace(context, system=replace(context.system, holds=Holds(context.potential.fields)))
        search = self.search(unheld, 0.0, free={n: holds.free(n) for n in names})
        assert isinstance(search, Newton)
        duration = quantities(self, context.units)["time"] or 1.0
        numbers = self.load_steps, self.loads, duration, self.iterations, self.halvings
        made = LoadSteps(search, holds, *numbers)
        made.slope_unit = search.slope_unit
        return made


class FIREBlock(Search):
    """Fast inertial relaxation; `first`, `longest`: the largest change of z in the first step, in any."""

    method = FIRE
    first: Annotated[float, Limits(gt=0.0)] = 0.01
    """Largest change of z in the first step."""
    longest: Annotated[float, Limits(gt=0.0)] = 0.1
    """Largest change of z in any step."""


class Looks(Record):
    """An observer: looks at the start, every so many steps, and at the last one."""

    every: Annotated[int, Limits(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""


class EnergiesBlock(Looks):
    """Energy of each term, kinetic, total, drift."""

    def make(self, context: ObserverContext) -> Observer:
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

    def make(self, context: ObserverContext) -> Observer:
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

    def make(self, context: ObserverContext) -> Observer:
        k = boltzmann(context.units)
        if self.configurational:
            _declare_configurational(context)
        context.recorder.unit("temperature/kinetic", *_kelvin(context.units))
        asked = self.configurational, self.centre_of_mass
        return Temperatures(context.stepper, context.recorder, self.every, k, *asked)


def _declare_configurational(context: ObserverContext) -> None:
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

    def make(self, context: ObserverContext) -> Observer:
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

    def make(self, context: ObserverContext) -> Observer:
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

    def make(self, context: ObserverContext) -> Observer:
        return Reactions(context.stepper, context.recorder, self.every)


class ConstraintsBlock(Looks):
    """Multipliers of each constraint, their largest violation, and the forces of constraints on nodes."""

    def make(self, context: ObserverContext) -> Observer:
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

    def make(self, context: ObserverContext) -> Observer:
        moving = [f.name for f in context.stepper.moving]
        names = self.fields if self.fields is not None else moving
        labels, grids = context.labels, context.grids
        return Frames(context.stepper, context.recorder, self.every, names, labels, grids, self.unwrapped)


@hookimpl
def register_magnetic_fields() -> Sequence[MagneticField]:
    return [uniform_field]


@hookimpl
def register_states() -> Mapping[str, type[BaseModel]]:
    return {"arrays": ArraysBlock}


@hookimpl
def register_steppers() -> Mapping[str, type[BaseModel]]:
    integrators = {kind: splitting(kind, scheme) for kind, scheme in SCHEMES.items()}
    return {
        **integrators,
        "langevin": Langevin,
        "npt": NPT,
        "implicit_euler": ImplicitEulerBlock,
        "implicit_midpoint": ImplicitMidpointBlock,
        "bdf2": BDF2Block,
        "newmark": NewmarkBlock,
        "variational": VariationalBlock,
        "gauss_radau": GaussRadauBlock,
        PROGRAM: EvolutionBlock,
        "gradient_flow": GradientFlowBlock,
        "gradient_descent": GradientDescentBlock,
        "adam": AdamBlock,
        "lbfgs": LBFGSBlock,
        "fire": FIREBlock,
        "newton": NewtonBlock,
    }


@hookimpl
def register_observers() -> Mapping[str, type[BaseModel]]:
    return {
        "energies": EnergiesBlock,
        "momenta": MomentaBlock,
        "force_errors": ForceErrorsBlock,
        "reactions": ReactionsBlock,
        "constraints": ConstraintsBlock,
        "temperatures": TemperaturesBlock,
        "pressure": PressureBlock,
        "frames": FramesBlock,
    }
