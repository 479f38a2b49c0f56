"""Positions, velocities and boxes from files of other programs: in the child of `bounded_read`.

    pdb, pdbx   positions, box                  gro     positions, velocities, box
    inpcrd      positions, velocities, box      crd     positions

Those of pdb and gro are read by code of ours, the others by OpenMM.
"""

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

from .. import pdb
from ..pdb import Atoms
from . import gro

CURES = {
    "pdbx": "write the file again",
    "inpcrd": "it needs a title, the number of atoms, and 6 numbers of 12 columns a line",
    "crd": "it needs a title of stars, the number of atoms, and a line of 10 words for each atom",
}


def read_positions(file: str, data: bytes, kind: str, folder: str) -> Atoms:
    """The atoms of a file of positions; without names where the file has none.

    folder: an empty one for files that OpenMM opens by their path. Raises `UserError` for a file that cannot
    be read, and for positions that are no numbers.
    """
    if kind in OURS:
        return OURS[kind](file, data)
    path = Path(folder) / "positions"
    path.write_bytes(data)
    try:
        found = READERS[kind](path, data)
    except (UserError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).replace(str(path), "the file").split())[:300] or type(error).__name__
        raise UserError(f"'{file}': cannot be read ({reason}); {CURES[kind]}") from error
    for what in (found.places, found.velocities, found.box):
        if what is not None and not np.isfinite(what).all():
            raise UserError(f"'{file}': has numbers that are not finite; {CURES[kind]}")
    if not len(found.places):
        raise UserError(f"'{file}': has no atoms; {CURES[kind]}")
    return found


def angstroms(given: Any, rate: bool = False) -> np.ndarray:
    """A quantity of OpenMM as an array, in angstrom, or angstrom/ps."""
    from openmm import unit

    wanted = unit.angstrom / unit.picosecond if rate else unit.angstrom
    return np.array(given._value, np.float64) * given.unit.conversion_factor_to(wanted)


def _of_pdbx(path: Path, data: bytes) -> Atoms:
    from openmm import app

    return of_topology(app.PDBxFile(StringIO(data.decode("utf-8", "replace"))))


def of_topology(found: Any) -> Atoms:
    """The atoms of a file that OpenMM has read with its topology."""
    edges = found.topology.getPeriodicBoxVectors()
    atoms = list(found.topology.atoms())
    return Atoms(
        angstroms(found.positions),
        tuple(atom.name for atom in atoms),
        tuple(atom.residue.name for atom in atoms),
        tuple(atom.residue.id for atom in atoms),
        tuple(atom.residue.chain.id.strip() for atom in atoms),
        tuple("" if atom.element is None else atom.element.symbol for atom in atoms),
        box=None if edges is None else angstroms(edges),
    )


def _of_inpcrd(path: Path, data: bytes) -> Atoms:
    from openmm import app

    found = app.AmberInpcrdFile(str(path))
    places = angstroms(found.positions)
    empty = ("",) * len(places)
    v, edges = found.velocities, found.boxVectors  # None or False without
    if edges is not None and edges is not False and not data.startswith(b"CDF"):
        _refuse_angles(data.decode("utf-8", "replace").split("\n"))
    return Atoms(
        places, empty, empty, empty, empty,
        velocities=None if v is None or v is False else angstroms(v, rate=True),
        box=None if edges is None or edges is False else angstroms(edges),
    )  # fmt: skip


def _refuse_angles(lines: list[str]) -> None:
    """Raise ValueError for a box whose angles are no degrees."""
    last = next(line for line in reversed(lines) if line.strip())
    angles = [float(last[k : k + 12]) for k in (36, 48, 60)]
    if not all(0.0 < one < 180.0 for one in angles):
        raise ValueError(
            f"angles of the box must be between 0 and 180 degrees, got"
            f" {', '.join(f'{one:g}' for one in angles)}"
        )


def _of_crd(path: Path, data: bytes) -> Atoms:
    from openmm import app

    found = app.CharmmCrdFile(str(path))
    numbers = tuple(map(str, found.resno))
    return Atoms(
        angstroms(found.positions), tuple(found.attype), tuple(found.resname), numbers, tuple(found.segid)
    )


OURS = {"pdb": pdb.parse, "gro": gro.parse}
READERS = {"pdbx": _of_pdbx, "inpcrd": _of_inpcrd, "crd": _of_crd}
