"""PDB files: places, names, residues and chains of atoms, in the order of the file.

Columns of ATOM and HETATM records, counted from 1: name 13-16, alternate location 17, residue 18-20, chain
22, number of the residue 23-26, x y z [angstrom] 31-54. Of several models the first is read, of alternate
locations the first of each atom. Protein Data Bank Contents Guide 3.30 (2012), Coordinate Section.
"""

from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError


@dataclass(frozen=True)
class Atoms:
    """Places (n, 3) [angstrom], and of each atom its name, residue, number of the residue and chain."""

    places: np.ndarray
    names: tuple[str, ...]
    residues: tuple[str, ...]
    numbers: tuple[str, ...]
    chains: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


def parse(file: str, data: bytes) -> Atoms:
    """The atoms in the bytes of a PDB file; `file`: its name in messages.

    Raises `UserError` for a file without atoms, and for a coordinate that is not a finite number.
    """
    rows: list[tuple[str, str, str, str]] = []
    places: list[tuple[float, ...]] = []
    conformers: dict[str, str] = {}  # by atom, of which a file may have several of one name
    for number, line in enumerate(data.decode("ascii", "replace").splitlines(), 1):
        if line.startswith("ENDMDL"):
            break
        if not line.startswith(("ATOM  ", "HETATM")):
            continue
        atom, location = line[12:16] + line[21:27], line[16:17].strip()
        if conformers.setdefault(atom, location) != location and location:
            continue
        rows.append((line[12:16].strip(), line[17:20].strip(), line[22:26].strip(), line[21:22].strip()))
        places.append(_atom_place(f"'{file}': line {number}", line))
    if not rows:
        raise UserError(f"'{file}': has no ATOM or HETATM records, got {len(data)} bytes; give a PDB file")
    names, residues, numbers, chains = zip(*rows, strict=True)
    return Atoms(np.array(places), names, residues, numbers, chains)


def _atom_place(where: str, line: str) -> tuple[float, ...]:
    texts = [line[k : k + 8] for k in (30, 38, 46)]
    try:
        place = tuple(float(text) for text in texts)
    except ValueError:
        place = (np.nan,)
    if not np.isfinite(place).all():
        raise UserError(
            f"{where}: columns 31 to 54 must be three numbers, got '{line[30:54].strip()}'; correct them"
        )
    return place
