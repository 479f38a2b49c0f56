"""Schedules: parameters that change over the steps of a search, such as a blur that goes from coarse to fine.

    value(k) = v_j + (v_(j+1) - v_j) f,      f = (k - s_j) / (s_(j+1) - s_j),      s_j <= k <= s_(j+1)

and v_j (v_(j+1) / v_j)^f for a `geometric` one; before the first of the steps s it is the first of the values
v, and after the last the last. The value depends on the step alone, so a resumed search has the same.
"""

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from minusgrad.plugin import Potential, Record, UnitSystem, UserError

RATE = "rate"
"""The name of the rate of the search itself."""


class Schedule(Record):
    """A parameter, or the search's own `rate`, piecewise linear over the steps; constant outside of them."""

    parameter: str
    """Name of the parameter, such as "sigmoid_threshold.steepness", or "rate"."""
    steps: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
    """Steps at which it has the values, ascending."""
    values: tuple[float | str, ...]
    """Its value at each of the steps, a number or a text with a unit."""
    geometric: bool = False
    """Linear in the logarithm of the value."""

    @model_validator(mode="after")
    def _fits(self) -> "Schedule":
        if len(self.values) != len(self.steps):
            raise ValueError(f"`steps` has {len(self.steps)} entries and `values` {len(self.values)}")
        if any(b <= a for a, b in zip(self.steps, self.steps[1:], strict=False)):
            raise ValueError(f"`steps` must ascend, got {list(self.steps)}")
        return self

    def course(self, potential: Potential, units: UnitSystem) -> "Course":
        """In the run's units. Raises `UserError` for a value that the parameter cannot have."""
        if self.parameter == RATE:
            return self._check_values(np.array([float(value) for value in self.values]), True)
        potential.parameter(self.parameter)
        role = potential.roles_of(self.parameter)[0][1]
        unit = UnitSystem.si().symbol(role.unit)
        values = np.array([units.convert(value, unit) for value in self.values])
        for given, value in zip(self.values, values, strict=True):
            if not role.admits(value):
                raise UserError(
                    f"schedule of '{self.parameter}': must be {role.limits()}, got {given}; change the value"
                )
        return self._check_values(values, self.geometric)

    def _check_values(self, values: np.ndarray, positive: bool) -> "Course":
        if positive and not (values > 0.0).all():
            why = "the rate is positive" if self.parameter == RATE else "a geometric schedule has no zero"
            raise UserError(f"schedule of '{self.parameter}': {why}, got {list(self.values)}; change it")
        return Course(self.parameter, np.array(self.steps), values, self.geometric)


class Course:
    """A schedule in the run's units."""

    def __init__(self, parameter: str, steps: np.ndarray, values: np.ndarray, geometric: bool):
        self.parameter, self.steps, self.geometric = parameter, steps, geometric
        self.values = np.log(values) if geometric else values

    def at(self, step: int) -> float:
        """The value at a step."""
        value = np.interp(step, self.steps, self.values)
        return float(np.exp(value) if self.geometric else value)
