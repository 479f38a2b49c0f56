"""Times of a scene as whole numbers of steps: `every = "10 day"` of observers, `[run] time = "100 yr"`.

    n = every / dt,  which is whole up to rounding

No state between steps is interpolated: choose a dt that divides the times. A step of Gauss-Radau may have
any dt, because its substeps adapt.

Decisions 0123, 0239.
"""

import re
from dataclasses import replace
from math import floor

from ..errors import EnergyError, Problem, UnitError
from .document import Block, Document, RunTable
from .units import UnitSystem

ROUNDING = 1e-9
"""Parts of a whole number of steps by which it may be missed."""
_QUANTITY = re.compile(r"([-+]?[\d.]+(?:[eE][-+]?\d+)?) *(.*)")


def in_steps(document: Document, block: Block, units: UnitSystem) -> tuple[Block, list[Problem]]:
    """The block with a text in `every` replaced by the number of steps; others as they are.

    With a problem where the text is no time, or no whole number of steps; `every` is then 1.
    """
    every = block.values.get("every")
    if block.section != "observe" or not isinstance(every, str):
        return block, []
    try:
        steps, said = _step_count(document, units.convert(every, "s"), units, every), ""
    except (UnitError, EnergyError) as error:
        steps, said = 1, str(error)
    problems = [document.problem((*block.path, "every"), said)] if said else []
    return replace(block, values=block.values | {"every": steps}), problems


def run_in_steps(document: Document, run: RunTable, units: UnitSystem) -> tuple[RunTable, list[Problem]]:
    """The table with the number of steps that its `time` takes; one without a time as it is.

    The document says so, too, and with it every checkpoint. With a problem where the stepper has no dt, where
    members differ in it, and where the time is no whole number of steps.
    """
    if run.time is None:
        return run, []
    varied = document.data.get("ensemble", {}).get("vary", {})
    try:
        if "stepper.dt" in varied:
            raise EnergyError(
                "members differ in stepper.dt, so that they need other numbers of steps; give steps"
            )
        steps = _step_count(document, units.convert(run.time, "s"), units, str(run.time))
    except (UnitError, EnergyError) as error:
        return run, [document.problem(("run", "time"), str(error))]
    kept = {key: value for key, value in document.data["run"].items() if key != "time"}
    document.data["run"] = kept | {"steps": steps}
    return run.model_copy(update={"steps": steps}), []


def _step_count(document: Document, interval: float, units: UnitSystem, written: str) -> int:
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
        near = " and ".join(
            _time_as_written(n, n * dt / interval, written) for n in _neighbouring_counts(interval / dt)
        )
        got = f"needs a whole number of steps, dt = {stepper['dt']}, got {interval / dt:.6g}"
        raise EnergyError(f"{got}; the nearest are {near}")
    return steps


def _neighbouring_counts(steps: float) -> list[int]:
    """The whole numbers on both sides that are at least 1."""
    return [n for n in (floor(steps), floor(steps) + 1) if n > 0]


def _time_as_written(steps: int, share: float, written: str) -> str:
    """So many steps as a time in the unit that was written, with digits enough to be whole again."""
    found = _QUANTITY.fullmatch(written.strip())
    if found is None:  # in another notation than a number and a unit
        return f"{steps} steps"
    exact = float(found[1]) * share
    rounded = (float(f"{exact:.{digits}g}") for digits in range(1, 18))
    short = next(one for one in rounded if abs(one - exact) <= ROUNDING / 2 * abs(exact))
    unit = f" {found[2]}" if found[2] else ""
    return f"{repr(short).removesuffix('.0')}{unit} ({steps} step{'s' * (steps > 1)})"
