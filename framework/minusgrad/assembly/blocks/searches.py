"""Minimisers of the core: their unknowns, tolerances and methods.

Decisions 0062.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from pydantic import Field as Limits
from pydantic import ValidationInfo, field_validator, model_validator

from ...errors import EnergyError, UnitError, UserError
from ...scene.records import Quantity, Record, quantities
from ...scene.tagged_unions import ByForm, one_or_table
from ...scene.units import UnitSystem, quotient

if TYPE_CHECKING:
    from ...energies.fields import Field
    from ...steppers.minimisers.minimiser import Minimiser
    from ...steppers.minimisers.newton import Newton
    from ...steppers.minimisers.unknowns import Unknown
    from ...steppers.stepper import Stepper
    from ..contexts import StepperContext


class _Method:
    """A class of minimisers as an attribute that imports it where it is read."""

    def __init__(self, module: str, name: str):
        self._module, self._name = module, name

    def __get__(self, block: Any, owner: Any) -> "type[Minimiser]":
        home = import_module(f"minusgrad.steppers.minimisers.{self._module}")
        return cast("type[Minimiser]", getattr(home, self._name))


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

    def unknown(self, field: "Field", units: UnitSystem) -> "Unknown":
        """In the run's units."""
        from ...steppers.minimisers.unknowns import Unknown

        unit = UnitSystem.si().symbol(field.unit)
        lower = -inf if self.lower is None else units.convert(self.lower, unit)
        upper = inf if self.upper is None else units.convert(self.upper, unit)
        scale = 1.0 if self.scale is None else units.convert(self.scale, unit)
        return Unknown(field.name, scale, lower, upper, self.rate)


def slope_in(
    key: str,
    given: float | str | None,
    tables: Mapping[str, UnknownField],
    known: Mapping[str, "Field"],
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


def slope_unit(tables: Mapping[str, UnknownField], known: Mapping[str, "Field"]) -> str:
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

    def step_in(self, fields: Sequence["Field"], units: UnitSystem) -> float | None:
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

    method: ClassVar[Any]
    """The class of minimisers."""
    constrained: ClassVar[Any] = None
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

    def make(self, context: "StepperContext") -> "Stepper":
        return self.search(context, quantities(self, context.units)["time"])

    def _tables(self, context: "StepperContext") -> dict[str, UnknownField]:
        return self.fields or {m.position: UnknownField() for m in context.motions}

    def search(self, context: "StepperContext", t: float, **options: Any) -> "Minimiser":
        """The minimiser at a time; options: the masks of free components."""
        from ...steppers.minimisers.outcomes import BALANCED, NO_TOLERANCES, Tolerances

        values, known = quantities(self, context.units), context.potential.fields
        if not (tables := self._tables(context)):
            name = next((name for name in known if name not in ("box", "v", "m")), "x")
            raise UserError(
                "fields: needs the unknowns, got none, and no motion names one; write"
                f" fields = {{ {name} = {{}} }}, in Python fields={{'{name}': {{}}}}"
            )
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
    """Gradient descent with backtracking; `first` is the largest change of z in the first trial.

    With a `rate` each step is this times the slope, whether U falls or not.
    """

    method = _Method("first_order", "GradientDescent")
    first: Annotated[float, Limits(gt=0.0)] = 0.1
    """Largest change of z in the first trial."""
    rate: Annotated[float, Limits(gt=0.0)] | None = None
    """Constant factor of the slope dU/dz in each step (default: none, the steps are tried)."""


class AdamBlock(Search):
    """Adam: steps of about `rate` in each z, independent of the size of its slope.

    With `final_rate` and `decay_steps` the rate falls along half a cosine. Slopes p whose norm exceeds `clip`
    are shortened to it.
    """

    method = _Method("first_order", "Adam")
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

    method = _Method("lbfgs", "LBFGS")
    memory: Annotated[int, Limits(ge=1)] = 10
    """Number of stored pairs of steps and changes of the gradient."""
    first: Annotated[float, Limits(gt=0.0)] = 0.1
    """Largest change of z in the first trial."""


class ArcLengthTable(Record):
    """`load_steps` by arc length: the path of equilibria, through limit points and branches if asked."""

    arc_length: Annotated[float, Limits(gt=0.0)]
    """Length of a step, as the part of the full load by which the load grows in the first one."""
    most_load: Annotated[float, Limits(gt=0.0)] = 1.0
    """The path ends where the load, of either sign, is so many times the full one."""
    longest: Annotated[float, Limits(ge=1.0)] = 1.0
    """Steps that are easy grow up to so many times `arc_length`."""
    halvings: Annotated[int, Limits(ge=0, le=30)] = 10
    """How often a step may be halved, 0 to 30."""
    iterations: Annotated[int, Limits(ge=2)] = 12
    """The most corrections of one step."""
    direction: Literal["up", "down"] = "up"
    """Whether the load grows or falls in the first step."""
    branch: int = 0
    """Number of the bifurcation where the path leaves along its mode, negative: to the other side."""
    slopes: tuple[str, ...] = ()
    """Parameters or fields, as "spring.stiffness", by which the loads of limit points are differentiated."""


class NewtonBlock(Search):
    """Newton's method with the exact Hessian; `solver` of its systems: by their size, where it is "auto".

    Without a tolerance it ends at a relative `force` of 1e-9 (f32: 1e-4).

    `load_steps`: the load grows from nothing in so many steps, each an equilibrium: the time up to `time`
    (default: 1), holds, and the parameters `loads`. An increment that fails within `iterations` is halved, up
    to `halvings` times.
    """

    method = _Method("newton", "Newton")
    constrained = _Method("constrained_newton", "ConstrainedNewton")
    balances = True
    solver: Literal["auto", "cholesky", "superlu", "pardiso", "multigrid", "block_jacobi"] = "auto"
    """Solver of the linear systems; "auto" chooses by their size."""
    load_steps: (
        Annotated[Annotated[int, Limits(ge=1)] | ArcLengthTable, ByForm(one_or_table, ("one", "table"))]
        | None
    ) = None
    """Number of equal steps to the full load, or { arc_length = 0.1 } (default: the full load at once)."""
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
        if info.field_name != "loads" and isinstance(info.data["load_steps"], ArcLengthTable):
            raise ValueError("belongs into the table of `load_steps`; write it beside `arc_length`")
        return value

    def make(self, context: "StepperContext") -> "Stepper":
        from ...steppers.holds import Holds
        from ...steppers.minimisers.continuation.load_steps import LoadSteps
        from ...steppers.minimisers.newton import Newton

        if self.load_steps is None:
            return super().make(context)
        holds = context.system.holds
        names = [*self.fields] or [m.position for m in context.motions]
        unheld = replace(context, system=replace(context.system, holds=Holds(context.potential.fields)))
        search = self.search(unheld, 0.0, free={n: holds.free(n) for n in names})
        assert isinstance(search, Newton)
        if isinstance(self.load_steps, ArcLengthTable):
            return self._by_arc_length(context, search, self.load_steps)
        duration = quantities(self, context.units)["time"] or 1.0
        numbers = self.load_steps, self.loads, duration, self.iterations, self.halvings
        made = LoadSteps(search, holds, *numbers)
        made.slope_unit = search.slope_unit
        return made

    def _by_arc_length(self, context: "StepperContext", search: "Newton", table: ArcLengthTable) -> "Stepper":
        from ...steppers.minimisers.continuation.arc_length import ArcLength

        ArcLength.consumer.accept(context.system)
        given = ("gradient", "change", "tolerance", "time")
        if odd := [key for key in given if key in self.model_fields_set]:
            raise EnergyError(
                f"{odd[0]}: has no meaning along a path by arc length, which balances forces to rounding, got"
                f" one; leave `{odd[0]}` out"
            )
        made = ArcLength(
            search,
            context.system.holds,
            table.arc_length,
            self.loads,
            most=table.most_load,
            longest=table.longest,
            halvings=table.halvings,
            iterations=table.iterations,
            direction=1 if table.direction == "up" else -1,
            branch=table.branch,
            slopes=table.slopes,
        )
        made.slope_unit = search.slope_unit
        return made


class FIREBlock(Search):
    """Fast inertial relaxation; `first`, `longest`: the largest change of z in the first step, in any."""

    method = _Method("first_order", "FIRE")
    first: Annotated[float, Limits(gt=0.0)] = 0.01
    """Largest change of z in the first step."""
    longest: Annotated[float, Limits(gt=0.0)] = 0.1
    """Largest change of z in any step."""
