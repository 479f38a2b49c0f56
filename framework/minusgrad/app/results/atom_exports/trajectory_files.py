"""Positions and boxes of frames as DCD or XTC, written by MDAnalysis, in single precision.

    DCD     angstrom; one time between frames, no times of their own
    XTC     nm, to 0.001 nm (of fewer than 10 atoms all digits); step and time [ps] of each frame

Boxes stand upright. Both need the extra `trajectory`. Source: MDAnalysis, docs.mdanalysis.org.

Decisions 0147.
"""

import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ....errors import MissingPackageError, UserError, pip_line
from ....files import durable
from .atom_frames import AtomFrame, AtomFrames
from .upright_cells import UprightFrames, lengths_and_angles

FARTHEST = {"dcd": 1e30, "xtc": 2.0e7}
"""angstrom: the largest coordinate that a format holds."""
LAST_STEP = 2**31 - 1


def write_trajectory(frames: AtomFrames, out: Path, form: str) -> list[str]:
    """Write the frames as "dcd" or "xtc"; returns remarks.

    Raises `MissingPackageError` without MDAnalysis, `UserError` for places that the format cannot hold,
    `RunFailedError` if writing fails.
    """
    package = _package(form)
    upright = UprightFrames.of(frames)
    remarks = list(upright.remarks)
    options: dict[str, Any] = {"dt": None}
    if form == "dcd":
        options, said = _times_of_dcd(upright)
        remarks += said
    with warnings.catch_warnings(), durable.rewritten_by_name(out) as file:
        warnings.simplefilter("ignore")
        universe = package.Universe.empty(frames.count, trajectory=True)
        kind = package.coordinates.DCD.DCDWriter if form == "dcd" else package.coordinates.XTC.XTCWriter
        with kind(str(file), frames.count, **options) as writer:
            for number, frame in enumerate(upright):
                _refuse_far(frames, frame, form)
                _place(universe.trajectory.ts, frame, number)
                writer.write(universe)
    return remarks


def _package(form: str) -> ModuleType:
    try:
        return import_module("MDAnalysis")
    except ImportError:
        cure = pip_line("trajectory")
        raise MissingPackageError(
            f"--format {form}: needs the package MDAnalysis, which is not installed; {cure}",
            name="MDAnalysis",
        ) from None


def _place(moment: Any, frame: AtomFrame, number: int) -> None:
    """Put a frame into MDAnalysis' own."""
    moment.positions = frame.position.astype(np.float32)
    moment.dimensions = None
    if frame.edges is not None:
        moment.dimensions = np.concatenate(lengths_and_angles(frame.edges))
    moment.time, moment.frame = frame.time, number
    moment.data["step"] = min(frame.step, LAST_STEP)


def _refuse_far(frames: AtomFrames, frame: AtomFrame, form: str) -> None:
    if (bad := ~(np.abs(frame.position) < FARTHEST[form])).any():
        atom, axis = (int(k) for k in np.argwhere(bad)[0])
        raise UserError(
            f"{frames.run}: step {frame.step}: atom {atom} lies at {frame.position[atom, axis]:g} angstrom,"
            f" and {form} holds places up to {FARTHEST[form]:g}; use --format extxyz"
        )


def _times_of_dcd(upright: UprightFrames) -> tuple[dict[str, Any], list[str]]:
    """The time between frames and the number of the first, of which times of a DCD follow."""
    times = np.array(upright.times)
    between = float(times[1] - times[0]) if len(times) > 1 else 0.0
    between = between if between > 0.0 else 1.0
    first = round(times[0] / between)
    read = (first + np.arange(len(times))) * between
    if np.allclose(read, times, rtol=1e-6, atol=1e-6 * between):
        return {"dt": between, "istart": first}, []
    return {"dt": between, "istart": first}, [
        f"a DCD has no time of each frame: readers find {read[-1]:g} ps for the last one, which is of"
        f" {times[-1]:g} ps; XTC has them"
    ]
