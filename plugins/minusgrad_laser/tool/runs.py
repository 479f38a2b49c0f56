"""The search of a job as an ordinary run: begun in a new folder, or continued from its checkpoint."""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import minusgrad
from minusgrad.plugin import MinusgradError, UserError

from ..jobs.toolpath import Toolpath
from .request import Request

INTERRUPTED = 4
"""The exit code of runs that can be continued."""


@dataclass(frozen=True)
class Scene:
    """The text of a scene, and the files that it reads, by their names beside it: the image, its fonts."""

    text: str
    files: Mapping[str, bytes]

    def write(self, file: Path) -> Path:
        """Write the scene, and its files beside it."""
        file.write_text(self.text, encoding="utf-8")
        for name, data in self.files.items():
            (file.parent / name).write_bytes(data)
        return file


def begin_search(request: Request, scene: Scene, max_hours: float | None, force: bool) -> Any:
    """The finished run of a scene, in the request's run folder; with `force` in place of an earlier run.

    Raises as `minusgrad.run` does; an interruption names the command that continues the job.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = scene.write(Path(folder) / "scene.toml")
        options: dict[str, Any] = {"progress": True, "max_hours": max_hours, "say": say, "force": force}
        return _outcome_of_run(request, lambda: minusgrad.run(file, out=request.run, **options))


def resume_search(request: Request, scene: Scene, max_hours: float | None) -> Any:
    """The run, continued to its end. Raises `UserError` if the folder is that of another request."""
    if not os.path.lexists(request.run / "scene.toml"):
        raise UserError(f"--resume: {request.run} is no run to continue; leave --resume out")
    run = minusgrad.open(request.run)
    same, kept = run.scene == scene.text, {name: run.read_input(name) for name in scene.files}
    if same and (None in kept.values() or not run.info()["checkpoints"]):
        raise UserError(
            f"--resume: {request.run} was stopped before its first save; begin again with --force"
        )
    if not same or kept != scene.files:
        what = "with other options" if not same else "from another image"
        raise UserError(f"--resume: {request.run} was begun {what}; repeat them, or restart with --force")
    options: dict[str, Any] = {"progress": True, "max_hours": max_hours, "say": say}
    return _outcome_of_run(request, lambda: minusgrad.resume(request.run, **options))


def _outcome_of_run(request: Request, run: Callable[[], Any]) -> Any:
    """What `run` returns; an interruption names the command of the job in place of that of its run."""
    try:
        return run()
    except MinusgradError as error:
        if error.exit_code != INTERRUPTED:
            raise
        head = str(error).partition("; continue with")[0]
        error.args = (f"{head}; continue with: {request.again}",)
        raise


def say(text: str) -> None:
    """A remark of the run, for the terminal; those about a time step have no meaning in a search."""
    print(f"minusgrad: {text}", file=sys.stderr)


def toolpath(run: Any) -> Toolpath:
    """The path at the end of a run, in SI units, without spare points at its end.

    Its speed is the `nominal` one where motion is planned, its power the `drive` where the laser has a slew
    rate: what the dose is made of, within the limits of the machine.
    """
    simulation = run.simulation
    units = {"x": "m", "y": "m", "power": "W", "speed": "m s^-1", "lit": "1"}
    limited = {"power": "drive", "speed": "nominal"}
    source = {name: limited[name] if limited.get(name) in simulation.fields else name for name in units}
    path = Toolpath(
        **{
            name: simulation.fields[source[name]].values.astype(np.float64) * simulation.units.in_si(unit)
            for name, unit in units.items()
        }
    )
    last = int(np.flatnonzero(path.lit > 0.5)[-1]) if (path.lit > 0.5).any() else 0
    cut = {name: getattr(path, name)[: last + 1] for name in units}
    return replace(path, **cut | {"lit": cut["lit"] > 0.5})


def history(run: Any) -> tuple[np.ndarray, np.ndarray]:
    """Iterations and values of the loss [J]."""
    series = run.series("total" if "total" in run.names else "potential")
    return series.step, series.value * run.simulation.units.in_si("J")
