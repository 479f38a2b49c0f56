"""The outcome of a search: the text of the job file, and what the virtual machine makes of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..jobs import gcode
from ..jobs.toolpath import Toolpath
from ..machine.profile import Profile
from ..search.baseline import baseline
from ..search.recipe import Exposure
from ..virtual_machine import Replay, replay
from ..virtual_machine.motion import Motion as Moves
from ..virtual_machine.overburn import overburn
from ..virtual_machine.program import Program
from . import runs
from .evidence import Evidence, Motion
from .picture import Picture
from .request import Request

OFF = 0.02
"""Difference of replayed and searched dose, in parts of the dose (L1), from which on it is remarked."""


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
    return export_job(request, picture, path, searched, runs.history(run))


def export_job(
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
        text, m, picture.target.shape, picture.pixel, m.waists, request.material.full, name=request.out.name
    )
    facts, remarks = [], list(done.notes)
    if searched is not None:
        off = np.abs(done.dose - searched).sum() / np.abs(searched).sum()
        facts.append(("replayed dose off the search's", f"{100.0 * off:.2g} %"))
        if off > OFF:
            remarks.append(
                f"the replayed dose is {100.0 * off:.2g} % off that of the search, which ignores slew and"
                " latency of the power, and levels and places of the file; the scores are of the replay"
            )
    evidence = Evidence(
        title=request.image.name,
        machine=m,
        pixel=picture.pixel,
        dose=done.dose,
        developed=developed_map(done.dose, request.material),
        path=path,
        motion=motion(done.motion),
        overburn=relative_overburn(done, path),
        seconds=done.seconds,
        violations=done.violations,
        target=picture.target,
        loss=loss,
        facts=tuple(facts),
        remarks=tuple(remarks),
    )
    return Outcome(path, text, done, evidence)


def raster(request: Request, picture: Picture) -> Outcome:
    """The baseline of a request: the fastest raster whose score is within 0.01 of the best raster's."""
    m, material = request.machine, request.material
    found = baseline(picture.target, m, material, picture.pixel, request.power)
    return export_job(request, picture, found.path)


def developed_map(dose: np.ndarray, material: Exposure) -> np.ndarray:
    """The developed map of a dose, by the sigmoid threshold."""
    return 1.0 / (1.0 + np.exp(-material.steepness * (dose - material.threshold)))


def motion(done: Moves) -> Motion:
    """Speed and power over time."""
    t, _, _, v, power = done.table().T
    return Motion(t, v, power)


def relative_overburn(done: Replay, path: Toolpath, density: np.ndarray | None = None) -> np.ndarray:
    """The over-burn (rows, columns) over its median along the lit path: lines that overlap are 1, too.

    density (n,) [J/m]: what each block means (default: what the program says).
    """
    found = overburn(done, density)
    along = values_along(found, done, path)
    return found / np.nanmedian(along) if len(along) else found


def values_along(values: np.ndarray, done: Replay, path: Toolpath) -> np.ndarray:
    """The values of a map (rows, columns) of a replay in places of the lit path, half a waist apart."""
    lit = path.lit[1:].astype(bool) & (path.power[1:] > 0.0) & (path.lengths > 0.0)
    counts = np.where(lit, np.ceil(path.lengths / (0.5 * min(done.waists))), 0).astype(int)
    move = np.repeat(np.arange(len(counts)), counts)
    part = (np.arange(len(move)) - np.repeat(np.cumsum(counts) - counts, counts) + 0.5) / counts[move]
    places = (z[move] + part * (z[move + 1] - z[move]) for z in (path.y, path.x))
    row, column = (
        np.clip(np.rint(place / done.pixel).astype(int), 0, size - 1)
        for place, size in zip(places, values.shape, strict=True)
    )
    return values[row, column]


def path_of(program: Program, profile: Profile, origin: tuple[float, float]) -> Toolpath:
    """The moves of a job file, with the centre of the first cell of its canvas, at `origin`, at (0, 0)."""
    return Toolpath(
        program.x - origin[0],
        program.y - origin[1],
        np.append(0.0, program.power),
        np.append(0.0, np.where(np.isfinite(program.feed), program.feed, max(profile.speed))),
        np.append(False, program.power > 0.0),
    )
