"""Runs from Python, and what the command line does: start, resume, take a scene into the hand.

    run = minusgrad.run("scenes/two_body.toml", {"stepper.dt": 0.01}, out="runs/two_body")
    run.series("observables/drift").value
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from . import durable, scheduler, trajectory
from .errors import CheckpointError, InterruptedRunError, MinusgradError, RunFolderError
from .rundir import RunDir
from .scene import load
from .signals import stop_requests
from .simulation import Simulation, differences, judge
from .triggers import Every

Progress = Callable[[int, int], AbstractContextManager[Callable[[int], None]]]
INPUTS = "inputs"
"""Where a run folder keeps the files that its scene reads."""


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, and its objects at the last step."""

    folder: Path
    simulation: Simulation
    remarks: tuple[str, ...] = ()

    def series(self, name: str) -> trajectory.Series:
        """What was recorded: "observables/total", "particles/all/position", ..."""
        return trajectory.series(self.folder, name)


class Saver:
    """The checkpoint, as the scheduler sees it."""

    def __init__(self, simulation: Simulation, folder: RunDir):
        self.simulation, self.folder = simulation, folder
        self.trigger = Every(simulation.scene.checkpoint.every)
        self.remarks: list[str] = []

    def observe(self, seal: bool = True) -> None:
        """Save this moment; `seal` is False for the save of an interruption."""
        keep = self.simulation.scene.checkpoint.keep
        self.remarks += self.folder.save(self.simulation.snapshot(), self.simulation.recorder, keep, seal)


def build(
    scene: Path | str,
    overrides: Mapping[str, Any] | Sequence[str] = (),
    plugins: Sequence[Path | ModuleType] = (),
) -> Simulation:
    """The objects of a scene at step 0, without files. Raises `SceneError` with all its mistakes."""
    return Simulation(judge(load(scene, as_overrides(overrides)), plugins))


def run(
    scene: Path | str,
    overrides: Mapping[str, Any] | Sequence[str] = (),
    out: Path | str | None = None,
    plugins: Sequence[Path | ModuleType] = (),
    force: bool = False,
    progress: Progress = lambda first, last: nullcontext(lambda step: None),
) -> Run:
    """Run a scene file into a new folder (`runs/NAME`, where `out` is not given) and return what came out.

    Raises `SceneError` before anything is written, `RunFolderError` for an occupied folder (with `force`, an
    earlier run in it is thrown away), `NonFiniteError` if the numbers explode, `InterruptedRunError` after a
    signal: the run is saved then, and `resume` goes on.
    """
    simulation = build(scene, overrides, plugins)
    path = Path(out) if out is not None else _free(Path("runs") / Path(scene).stem)
    with RunDir.create(path, simulation.scene.source, simulation.scene.overrides, force) as folder:
        for name, data in simulation.start_files.items():
            target = path / INPUTS / name
            target.parent.mkdir(parents=True, exist_ok=True)
            durable.replace(target, data)
        folder.journal("built", threads=simulation.scene.runtime.threads, plugins=list(simulation.registry.plugins))
        for observer in simulation.observers:
            observer.observe()
        return _finished(simulation, folder, progress, fresh=True)


def resume(
    path: Path | str,
    plugins: Sequence[Path | ModuleType] = (),
    allow_changed: bool = False,
    progress: Progress = lambda first, last: nullcontext(lambda step: None),
) -> Run:
    """Go on with a run from its newest good checkpoint, bit for bit as if it had never stopped.

    Raises `CheckpointError` if the scene, its files or a plugin changed since (unless `allow_changed`).
    """
    path = Path(path)
    with RunDir.open(path) as folder:
        snapshot, remarks = folder.restore()
        document = load(path / "scene.toml", folder.overrides)
        simulation = Simulation(judge(document, plugins), path / INPUTS)
        grave, light = differences(snapshot.meta, simulation.facts())
        if grave and not allow_changed:
            raise CheckpointError(
                "\n".join([f"{path}: not the run that was saved:", *grave, "to go on all the same: --allow-changed"])
            )
        if grave or light:
            remarks += ["not bit for bit the run that was saved:", *grave, *light]
            folder.journal("changed", differences=[*grave, *light])
        simulation.restore(snapshot)
        result = _finished(simulation, folder, progress, fresh=False)
        return Run(result.folder, result.simulation, (*remarks, *result.remarks))


def _finished(simulation: Simulation, folder: RunDir, progress: Progress, fresh: bool) -> Run:
    """Run to the last step, or save and raise if asked to stop."""
    saver, last = Saver(simulation, folder), simulation.scene.run.steps
    stepper = simulation.stepper
    try:
        if fresh:
            saver.observe()
        else:
            saver.remarks += folder.tidy(simulation.scene.checkpoint.keep)
        with stop_requests() as asked, progress(stepper.step, last) as tell:
            outcome = scheduler.run(stepper, last, simulation.observers, saver, asked, tell)
    except MinusgradError as error:
        folder.journal("failed", step=stepper.step, error=str(error))
        raise
    if outcome == "interrupted":
        saver.observe(seal=False)
        folder.journal("interrupted", step=stepper.step)
        raise InterruptedRunError(
            f"interrupted and saved at step {stepper.step} of {last}; go on with: minusgrad resume {folder.path}"
        )
    folder.journal("finished", step=stepper.step)
    return Run(folder.path, simulation, tuple(saver.remarks))


def as_overrides(overrides: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Overrides as the command line writes them: `key=value`, the value in TOML."""
    if isinstance(overrides, Mapping):
        return [f"{key}={json.dumps(value)}" for key, value in overrides.items()]
    return list(overrides)


def _free(path: Path) -> Path:
    """The path, or the first of path-2, path-3, ... that does not exist."""
    for number in range(1, 10_000):
        candidate = path if number == 1 else path.with_name(f"{path.name}-{number}")
        if not candidate.exists():
            return candidate
    raise RunFolderError(f"{path}: ten thousand runs of that name; give another with --out")
