"""Observers that ask by time: `every = "10 day"` in a scene, as a whole number of steps.

    n = every / dt,  which is whole up to rounding

No state between steps is interpolated: choose a dt that divides the times. A step of Gauss-Radau may have
any dt, because its substeps adapt.

Decisions 0239.
"""

from dataclasses import replace

from ..errors import EnergyError, Problem, UnitError
from .document import Block, Document
from .units import UnitSystem

ROUNDING = 1e-9
"""Parts of a step by which a whole number of steps may be missed."""


def in_steps(document: Document, block: Block, units: UnitSystem) -> tuple[Block, list[Problem]]:
    """The block with a text in `every` replaced by the number of steps; others as they are.

    With a problem where the text is no time, or no whole number of steps; `every` is then 1.
    """
    every = block.values.get("every")
    if block.section != "observe" or not isinstance(every, str):
        return block, []
    try:
        steps, said = _steps(document, units.convert(every, "s"), units), ""
    except (UnitError, EnergyError) as error:
        steps, said = 1, str(error)
    problems = [document.problem((*block.path, "every"), said)] if said else []
    return replace(block, values=block.values | {"every": steps}), problems


def _steps(document: Document, interval: float, units: UnitSystem) -> int:
    """The number of steps; 1 where dt itself is wrong. Raises `EnergyError` for none, or a broken one."""
    stepper = document.data["stepper"]
    if "dt" not in stepper:
        raise EnergyError(f"stepper '{stepper['kind']}' has no dt, got a time; give a number of iterations")
    try:
        dt = units.convert(stepper["dt"], "s")
    except (UnitError, TypeError):
        return 1
    if not dt > 0.0:
        return 1
    steps = round(interval / dt)
    if steps < 1 or abs(interval / dt - steps) > ROUNDING * steps:
        raise EnergyError(
            f"needs a whole number of steps, dt = {stepper['dt']}, got {interval / dt:.6g}; change either"
        )
    return steps
