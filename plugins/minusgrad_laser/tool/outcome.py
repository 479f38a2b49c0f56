"""The outcome of a search: the text of the job file, and what the virtual machine makes of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..jobs import gcode
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..virtual_machine import Replay, replay
from . import runs
from .evidence import Evidence, Motion
from .picture import Picture
from .request import Material, Request


@dataclass(frozen=True, eq=False)
class Outcome:
    """A job: its path, the text of its file, the replay of that text, and the evidence for a report."""

    path: Toolpath
    text: str
    replay: Replay
    evidence: Evidence


def of(request: Request, picture: Picture, run: Any) -> Outcome:
    """The outcome of a finished run. Raises `UserError` if the path breaks limits of the machine."""
    path = runs.toolpath(run)
    searched = run.simulation.fields["dose"].values.reshape(picture.target.shape)
    return exported(request, picture, path, searched, runs.history(run))


def exported(
    request: Request,
    picture: Picture,
    path: Toolpath,
    searched: np.ndarray | None = None,
    loss: tuple[np.ndarray, np.ndarray] | None = None,
) -> Outcome:
    """The job of a path. searched: the dose (rows, columns) that the search had for it."""
    m = request.machine
    text = gcode.write(path, m)
    done = replay(
        text, m, picture.target.shape, picture.pixel, m.waist, request.material.full, name=request.out.name
    )
    facts = []
    if searched is not None:
        off = np.abs(done.dose - searched).sum() / np.abs(searched).sum()
        facts.append(("replayed dose off the search's", f"{100.0 * off:.2g} %"))
    evidence = Evidence(
        title=request.image.name,
        machine=m,
        pixel=picture.pixel,
        dose=done.dose,
        developed=developed(done.dose, request.material),
        path=path,
        motion=motion(done),
        seconds=done.seconds,
        violations=done.violations,
        target=picture.target,
        loss=loss,
        facts=tuple(facts),
    )
    return Outcome(path, text, done, evidence)


def developed(dose: np.ndarray, material: Material) -> np.ndarray:
    """The developed map of a dose, by the sigmoid threshold."""
    return 1.0 / (1.0 + np.exp(-material.steepness * (dose - material.threshold)))


def motion(done: Replay) -> Motion:
    """Speed and power over time."""
    t, _, _, v, power = done.motion.table().T
    return Motion(t, v, power)


def path_of(done: Replay, profile: Profile) -> Toolpath:
    """The moves of a replayed file."""
    program = done.program
    return Toolpath(
        program.x - done.origin[0],
        program.y - done.origin[1],
        np.append(0.0, program.power),
        np.append(0.0, np.where(np.isfinite(program.feed), program.feed, max(profile.speed))),
        np.append(False, program.power > 0.0),
    )
