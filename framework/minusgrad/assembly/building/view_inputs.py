"""Numbers that a page gives to a run while it goes on: `[view.inputs]`, bound to parameters of terms.

    [view.inputs]
    goal = { parameter = "goal_offset.goal.0", range = [0.1, 0.9] }     one number of a vector
    push = { parameter = "wind.force", range = ["-1 N", "1 N"] }        a parameter that is one number

A number is judged (finite, within its range) and written between two steps. What U and the kinetic energy
gain by that is work done on the system:

    W <- W + (K + U)(x, v; p_new, t) - (K + U)(x, v; p_old, t)

K + U the total energy [J], p the parameter; so the energy that is kept stays the same
(`energy_balance.energy_flows`).

Decisions 0144.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...energies.roles import Bounded, Parameter, Role, Spacing, TimeStep
from ...energies.term import Term
from ...errors import EnergyError, UserError, at_key, unknown
from ...files.held import inbox
from ...potential.potential import Potential
from ...scene.document import ViewInputTable
from ...scene.units import UnitSystem
from ...steppers.stability.energy_balance import energies, kinetic
from ...steppers.stepper import Stepper
from ...steppers.supports.hold_numbers import HoldNumbers
from ...steppers.timed.time_stepper import TimeStepper
from .named_arguments import addresses_of, owner_of


class Steered(Protocol):
    """A simulation whose parameters are written between steps."""

    stepper: Stepper
    altered: dict[str, np.ndarray]

    @property
    def units(self) -> UnitSystem: ...
    @property
    def potentials(self) -> Sequence[Potential]: ...
    @property
    def holds(self) -> Any: ...
    @property
    def constraints(self) -> Any: ...


FIXED = (TimeStep, Spacing)
"""Parameters that scenes do not set."""


@dataclass(frozen=True)
class ViewInput:
    """One number: that of a parameter "term.argument" at an index; its range in the run's units."""

    name: str
    address: str
    parameter: str
    index: tuple[int, ...]
    lowest: float
    highest: float
    unit: str
    """The symbol of its unit; "1" of a number without one."""
    owner: Potential

    @property
    def value(self) -> float:
        """The present value."""
        return float(self.owner.parameter(self.parameter)[self.index])

    def with_value(self, value: float) -> np.ndarray:
        """The values of the whole parameter, with another one here."""
        values = self.owner.parameter(self.parameter)
        values[self.index] = value
        return values

    def judged(self, value: Any) -> float:
        """The value as a number. Raises `UserError` unless it is finite and within the range."""
        return inbox.judged_number(self.name, value, self.lowest, self.highest)


class ViewInputs:
    """The inputs of a simulation by their names. Raises `UserError` with the key of a wrong table."""

    def __init__(self, simulation: Steered, tables: Mapping[str, ViewInputTable]):
        self._simulation = simulation
        if tables:
            self._refuse_unfit_stepper()
        self._inputs: dict[str, ViewInput] = {}
        for name, table in tables.items():
            with at_key(name):
                self._inputs[name] = self._bound_input(name, table)
        self._refuse_shared_numbers()

    def __iter__(self) -> Iterator[ViewInput]:
        return iter(self._inputs.values())

    def __len__(self) -> int:
        return len(self._inputs)

    def named(self, name: str) -> ViewInput:
        """The input of a name. Raises `UserError` for a name that no input has."""
        if name not in self._inputs:
            raise UserError(f"[view.inputs]: {unknown('input', name, self._inputs)}")
        return self._inputs[name]

    def differs(self, name: str, value: float) -> bool:
        """True if the value, in the precision of the run, is not the present one."""
        one = self.named(name)
        return bool((one.with_value(value) != one.owner.parameter(one.parameter)).any())

    def write_value(self, name: str, value: float) -> None:
        """Write a value that was judged, between two steps; the energy that this takes is work."""
        one, simulation, stepper = self.named(name), self._simulation, self._simulation.stepper
        before = self._energy()
        simulation.altered.setdefault(one.parameter, one.owner.parameter(one.parameter))
        one.owner.set_parameter(one.parameter, one.with_value(value))
        stepper.take_parameters([one.parameter])
        if before is not None:
            stepper.given_work = (stepper.given_work or 0.0) + self._energy() - before

    def _energy(self) -> Any:
        """K + U at the present state; None where nothing has a kinetic energy, as in a program."""
        stepper = self._simulation.stepper
        if not stepper.motions:
            return None
        with stepper.observed():
            return kinetic(stepper) + sum(energies(stepper).values())

    # What a scene may say

    def _refuse_unfit_stepper(self) -> None:
        stepper = self._simulation.stepper
        if not stepper.motions and not isinstance(stepper, TimeStepper):
            raise EnergyError(
                f"needs a stepper in time, got '{stepper.name}', which seeks a minimum; leave them out"
            )

    def _bound_input(self, name: str, table: ViewInputTable) -> ViewInput:
        with at_key("parameter"):
            parameter, index, role, owner = self._place_of(table.parameter)
        units = self._simulation.units
        with at_key("range"):
            low, high = (units.convert(end, UnitSystem.si().symbol(role.unit)) for end in table.range)
            given = " and ".join(map(str, table.range))
            if not low < high or not math.isfinite(high - low):
                raise EnergyError(f"needs its lower end first and a width, got {given}; correct it")
            if isinstance(role, Bounded) and not role.admits(np.array([low, high])):
                raise EnergyError(
                    f"has ends that '{parameter}' cannot have, got {given}; it is {role.limits()}"
                )
            unit = units.symbol(role.unit)
            one = ViewInput(name, table.parameter, parameter, index, low, high, unit, owner)
            if not low <= one.value <= high:
                raise EnergyError(
                    f"does not have the value at the start, {one.value:g}, got {given}; widen it, or start"
                    " within it"
                )
        return one

    def _place_of(self, address: str) -> tuple[str, tuple[int, ...], Role, Potential]:
        """The parameter of an address, the index of the number in it, its role and its owner."""
        if "." not in address:
            meant = addresses_of(self._simulation, address) or ["TERM.PARAMETER"]
            raise EnergyError(f"needs a term and its parameter, got '{address}'; write {' or '.join(meant)}")
        term, argument, *numbers = address.split(".")
        parameter = f"{term}.{argument}"
        of_hold = parameter in self._simulation.holds.numbers
        owner = owner_of(self._simulation, parameter if of_hold else address)
        if isinstance(owner, HoldNumbers):
            raise EnergyError(
                f"'{address}': is a number of a hold, which moves as [[hold]] says; take one of a term"
            )
        if self._simulation.constraints is not None and owner is self._simulation.constraints.potential:
            raise EnergyError(
                f"'{address}': is of a constraint, whose bodies would have to jump; take one of a force"
            )
        term, argument = owner.places_of(parameter)[0]
        part = owner.parts[term]
        known = [*part.parameters] if isinstance(part, Term) else [*part.energy.of_role(Parameter)]
        roles = {name: part.energy.roles.get(name) for name in known}
        free = {n: r for n, r in roles.items() if isinstance(r, Parameter) and not isinstance(r, FIXED)}
        if argument not in free:
            raise EnergyError(f"{term}: {unknown('parameter', argument, free)}")
        return parameter, self._index_of(address, owner.parameter(parameter), numbers), free[argument], owner

    def _index_of(self, address: str, values: np.ndarray, numbers: Sequence[str]) -> tuple[int, ...]:
        """The index of one number in the values of a parameter."""
        index = tuple(int(one) for one in numbers if one.isascii() and one.isdigit() and len(one) < 10)
        within = len(index) == len(numbers) == values.ndim
        if not within or any(k >= size for k, size in zip(index, values.shape, strict=True)):
            parameter = ".".join(address.split(".")[:2])
            if not values.ndim:
                raise EnergyError(f"'{address}': '{parameter}' is one number; write {parameter}")
            first, last = (
                ".".join(map(str, at)) for at in ([0] * values.ndim, [n - 1 for n in values.shape])
            )
            shape = list(values.shape)
            raise EnergyError(
                f"'{address}': is no single number of '{parameter}', which has the shape {shape};"
                f" write {parameter}.{first}" + (f" to {parameter}.{last}" if last != first else "")
            )
        return index

    def _refuse_shared_numbers(self) -> None:
        seen: dict[tuple[str, tuple[int, ...]], str] = {}
        for one in self:
            if (first := seen.setdefault((one.parameter, one.index), one.name)) != one.name:
                with at_key(one.name, "parameter"):
                    raise EnergyError(f"'{one.address}': is the number of '{first}', too; leave one out")
