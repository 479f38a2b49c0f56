"""Frames of a run in the format of another program, by the format's name.

written = write_frames(Path("runs/argon"), "pdb", Path("argon.pdb"))
written.frames, written.remarks

Decisions 0147.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import UserError, unknown
from ...files import durable
from ..streams import EndingStream
from .atom_exports.atom_frames import AtomFrames
from .atom_exports.elements import UNKNOWN
from .atom_exports.extxyz_file import write_extxyz
from .atom_exports.lammps_data import write_lammps_data
from .atom_exports.pdb_file import write_pdb
from .atom_exports.trajectory_files import write_trajectory
from .csv_export import RowStream
from .vtu_export import NAME, export_vtu
from .xyz_export import export_xyz

ATOMS: Mapping[str, Callable[[AtomFrames, RowStream], list[str]]] = {
    "extxyz": write_extxyz,
    "pdb": write_pdb,
    "lammps-data": write_lammps_data,
}
"""Texts of atoms."""
BINARY = ("dcd", "xtc")
FORMATS = ("xyz", "vtu", *ATOMS, *BINARY)


class ExportedFrames(NamedTuple):
    """What was written: the file, the number of frames, and what was changed or is missing in it."""

    path: Path | None
    frames: int
    remarks: list[str]


def write_frames(
    run: Path,
    form: str,
    out: Path | None,
    names: Sequence[str] = (),
    step: int | None = None,
    every: int | None = None,
    given: Sequence[str] = (),
) -> ExportedFrames:
    """Write frames of a run into a file, of "vtu" a folder; out: None is the terminal.

    names, step, every: as for `RecordedFrames`. given: elements (`node_elements`). Raises `UserError` for an
    unknown format, for what a format cannot hold and where its file cannot be written, and what
    `RecordedFrames` raises.
    """
    if form not in FORMATS:
        raise UserError(f"format: {unknown('format of frames', form, FORMATS)}")
    if form == "vtu":
        _refuse_elements(form, given)
        folder = out or run.with_name(f"{run.resolve().name}-vtu")
        count = export_vtu(run, folder, names, step, every or 1)
        return ExportedFrames(folder / f"{NAME}.pvd", count, [])
    if form == "xyz":
        return _write_text(out, lambda file: (export_xyz(run, file, names, step, every or 1, given), []))
    _refuse_options(form, names, every)
    frames = AtomFrames(run, form, names, step, every or 1, given, lj=form == "lammps-data")
    if form in ATOMS:
        count = 1 if form == "lammps-data" else len(frames)
        written = _write_text(out, lambda file: (count, ATOMS[form](frames, file)))
        if unknown_ones := frames.elements.count(UNKNOWN):
            written.remarks.append(
                f"{unknown_ones} of {frames.count} atoms have no known element and are {UNKNOWN}; say it with"
                " --element Ar, or BODY=Ar"
            )
        return written
    if out is None:
        raise UserError(f"--format {form}: is no text, got the terminal; give a file with --out")
    _refuse_place(out)
    with durable.outside_a_run(out, "give another file with --out"):
        return ExportedFrames(out, len(frames), write_trajectory(frames, out, form))


def _write_text(out: Path | None, write: Callable[[RowStream], tuple[int, list[str]]]) -> ExportedFrames:
    if out is None:
        return ExportedFrames(None, *write(EndingStream(sys.stdout)))
    _refuse_place(out)
    with durable.outside_a_run(out, "give another file with --out"), durable.rewritten(out) as file:
        return ExportedFrames(out, *write(file))


def _refuse_place(out: Path) -> None:
    if out.is_dir() or not out.parent.is_dir():
        why = "is a folder" if out.is_dir() else f"there is no folder {out.parent}"
        raise UserError(f"{out}: cannot be written: {why}; give a file with --out")


def _refuse_elements(form: str, given: Sequence[str]) -> None:
    if given:
        raise UserError(f"--element: is for files of atoms, got --format {form}; leave it out")


def _refuse_options(form: str, names: Sequence[str], every: int | None) -> None:
    if names and form != "extxyz":
        raise UserError(
            f"{names[0]}: is a series, got --format {form}, which has what its readers know; leave it out"
        )
    if form == "lammps-data" and every is not None:
        raise UserError(
            "--every: chooses several frames, got --format lammps-data, which has one; use --step"
        )
