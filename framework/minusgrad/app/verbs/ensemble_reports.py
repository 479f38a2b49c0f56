"""The end of an ensemble on the terminal: how its members ended, which failed, and their last observables.

Exit codes: 0 all members ended well, 1 some failed, 3 all failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import RunFailedError
from .shared_options import print_json

if TYPE_CHECKING:
    from ..results.ensemble_run import EnsembleRun

MOST = 5
"""The most failures that are printed one by one."""


def report(run: EnsembleRun, as_json: bool) -> int:
    """Print how an ensemble ended. Returns the exit code."""
    from ..tables import print_table

    stepper, unit = run.ensemble.stepper, run.ensemble.units.symbol("s")
    failures = sorted(stepper.failures.items())
    code = RunFailedError.exit_code if len(failures) == stepper.count else int(stepper.failed)
    last = _last(run)
    if as_json:
        failed = [{"member": n, "step": one.step, "error": one.text} for n, one in failures]
        facts: dict[str, Any] = {"folder": str(run.folder), "outcome": run.outcome, "step": stepper.step}
        facts |= {"time": stepper.time, "time_unit": unit, "members": stepper.count, "failed": failed}
        print_json(facts | {"last": last, "remarks": list(run.remarks)})
        return code
    clock = f"steps, t = {stepper.time:.10g}{'' if unit == '1' else ' ' + unit}"
    iterations = "iterations" if not stepper.motions and stepper.residual is not None else clock
    print(f"{run.folder}: {stepper.count} members, {stepper.step} {iterations}")
    if stepper.verdict:
        print(f"  {stepper.verdict}")
    for number, one in failures[:MOST]:
        print(f"  member {number} failed after {one.step} steps: {one.text}")
    if len(failures) > MOST:
        print(f"  and {len(failures) - MOST} more; all of them: minusgrad export {run.folder} --table")
    if last:
        rows = [(name, *(f"{value:.6g}" for value in found.values())) for name, found in last.items()]
        print_table(("last value", "mean", "deviation", "least", "most"), rows)
    print(f"  a row for each member: minusgrad export {run.folder} --table")
    return code


def _last(run: EnsembleRun) -> dict[str, dict[str, float]]:
    """Mean, standard deviation, least and largest last value over the members, of each scalar observable."""
    from ...files import trajectory

    found = {}
    for name in trajectory.names(run.folder):
        values = trajectory.last_row(run.folder, name).value
        if name.startswith("observables/") and values.shape == (1, run.ensemble.stepper.count):
            good = values[0][np.isfinite(values[0])]
            if len(good):
                figures = {
                    "mean": good.mean(),
                    "deviation": good.std(),
                    "least": good.min(),
                    "most": good.max(),
                }
                found[name.removeprefix("observables/")] = {n: float(v) for n, v in figures.items()}
    return found
