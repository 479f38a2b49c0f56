"""AMBER topologies (prmtop): in the child of `bounded_read`. What OpenMM's reader takes silently is checked.

A section has as many values as POINTERS says, so a truncated file is known; atoms of bonds, angles and
torsions are three times their number from 0, types are counted from 1. ambermd.org/FileFormats.php.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, printable

VERSION = "V0001.000"
POINTERS = {
    "NATOM": 0, "NTYPES": 1, "NBONH": 2, "MBONA": 3, "NTHETH": 4, "MTHETA": 5, "NPHIH": 6, "MPHIA": 7,
    "NNB": 10, "NRES": 11, "NBONA": 12, "NTHETA": 13, "NPHIA": 14, "NUMBND": 15, "NUMANG": 16, "NPTRA": 17,
    "NPHB": 19, "IFPERT": 20, "IFBOX": 27, "IFCAP": 29,
}  # fmt: skip
COUNTS = {
    "ATOM_NAME": ("NATOM", 1), "CHARGE": ("NATOM", 1), "MASS": ("NATOM", 1), "ATOM_TYPE_INDEX": ("NATOM", 1),
    "NUMBER_EXCLUDED_ATOMS": ("NATOM", 1), "RESIDUE_LABEL": ("NRES", 1), "RESIDUE_POINTER": ("NRES", 1),
    "BOND_FORCE_CONSTANT": ("NUMBND", 1), "BOND_EQUIL_VALUE": ("NUMBND", 1),
    "ANGLE_FORCE_CONSTANT": ("NUMANG", 1), "ANGLE_EQUIL_VALUE": ("NUMANG", 1),
    "DIHEDRAL_FORCE_CONSTANT": ("NPTRA", 1), "DIHEDRAL_PERIODICITY": ("NPTRA", 1),
    "DIHEDRAL_PHASE": ("NPTRA", 1),
    "BONDS_INC_HYDROGEN": ("NBONH", 3), "BONDS_WITHOUT_HYDROGEN": ("NBONA", 3),
    "ANGLES_INC_HYDROGEN": ("NTHETH", 4), "ANGLES_WITHOUT_HYDROGEN": ("NTHETA", 4),
    "DIHEDRALS_INC_HYDROGEN": ("NPHIH", 5), "DIHEDRALS_WITHOUT_HYDROGEN": ("NPHIA", 5),
    "EXCLUDED_ATOMS_LIST": ("NNB", 1),
}  # fmt: skip
"""Values of a section: which pointer counts its rows, and the values of a row."""
TUPLES = {
    "BONDS_INC_HYDROGEN": "NUMBND", "BONDS_WITHOUT_HYDROGEN": "NUMBND",
    "ANGLES_INC_HYDROGEN": "NUMANG", "ANGLES_WITHOUT_HYDROGEN": "NUMANG",
    "DIHEDRALS_INC_HYDROGEN": "NPTRA", "DIHEDRALS_WITHOUT_HYDROGEN": "NPTRA",
}  # fmt: skip
"""Sections of listed atoms, with the pointer of their types."""
_FORMAT = re.compile(r"\(\s*(\d*)([aAeEiIfF])(\d+)")
REFUSED = {
    "IFPERT": "a perturbation (IFPERT) is not supported; make a topology of one end state",
    "IFCAP": "a cap of water (IFCAP) is not supported; make the topology without one",
}
AGAIN = "write it again with tleap or ParmEd"


@dataclass
class _Section:
    line: int
    width: int = 80
    kind: str = "a"
    count: int = 0
    texts: list[str] = field(default_factory=list)


def make_topology(file: str, data: bytes, path: str, box: Any) -> Any:
    """The topology of a prmtop, read by OpenMM once it is known to be whole.

    path: of the file for OpenMM. Raises `UserError` for versions and sections that are wrong.
    """
    from openmm import app

    check_file(file, data.decode("utf-8", "replace"))
    return app.AmberPrmtopFile(path, periodicBoxVectors=box)


def check_file(file: str, text: str) -> None:
    """Raise `UserError` for a prmtop that OpenMM's reader would take wrongly, or only half of it."""
    sections = _find_sections(file, text)
    pointers = _read_pointers(file, sections)
    _refuse_kinds(file, sections, pointers)
    for name, (count, values) in COUNTS.items():
        wanted = pointers[count] * values
        found = sections.get(name)
        if (0 if found is None else found.count) < wanted:
            where = "" if found is None else f"line {found.line}: "
            raise UserError(
                f"'{file}': {where}section {name} must have {wanted} values, as POINTERS says, got"
                f" {'none' if found is None else found.count}; the file is truncated: {AGAIN}"
            )
    pairs = []
    for name, types in TUPLES.items():
        rows = _integers(file, sections, name).reshape(-1, COUNTS[name][1])
        _check_rows(file, name, sections.get(name), rows, pointers["NATOM"], pointers[types])
        if name.startswith("BONDS"):
            pairs.append(np.sort(rows[:, :2] // 3, axis=1))
    known, counts = np.unique(np.concatenate(pairs), axis=0, return_counts=True)
    if (counts > 1).any():
        i, j = known[np.argmax(counts > 1)] + 1
        raise UserError(f"'{file}': the bond of atoms {i} and {j} must be there once, got two; {AGAIN}")


def _find_sections(file: str, text: str) -> dict[str, _Section]:
    found: dict[str, _Section] = {}
    now: _Section | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("%VERSION"):
            stamp = re.search(r"VERSION_STAMP\s*=\s*(\S+)", line)
            if stamp is None or stamp.group(1) != VERSION:
                got = printable(line[8:].split("DATE")[0].strip() if stamp is None else stamp.group(1))
                raise UserError(
                    f"'{file}': line {number}: the version of a prmtop must be {VERSION}, got '{got}';"
                    f" {AGAIN}"
                )
        elif line.startswith("%FLAG"):
            now = found[[*line.split(), "?"][1]] = _Section(number)
        elif line.startswith("%FORMAT") and now is not None:
            if (form := _FORMAT.search(line)) is not None:
                now.kind, now.width = form.group(2).lower(), max(1, int(form.group(3)))
        elif not line.startswith("%") and now is not None:
            now.count += -(-len(line.rstrip()) // now.width)
            if now.kind == "i":
                now.texts.append(line)
    return found


def _read_pointers(file: str, sections: dict[str, _Section]) -> dict[str, int]:
    values = _integers(file, sections, "POINTERS")
    if len(values) < 30:
        raise UserError(
            f"'{file}': section POINTERS must have 30 numbers or more, got {len(values)}; {AGAIN}"
        )
    found = {name: int(values[k]) for name, k in POINTERS.items()}
    if min(found.values()) < 0 or not found["NATOM"]:
        raise UserError(f"'{file}': section POINTERS must count atoms, got {found['NATOM']}; {AGAIN}")
    return found


def _refuse_kinds(file: str, sections: dict[str, _Section], pointers: dict[str, int]) -> None:
    for name, why in REFUSED.items():
        if pointers[name] > 0:
            raise UserError(f"'{file}': {why}")
    polarisable = _integers(file, sections, "IPOL")
    if polarisable.any() or ("IPOL" not in sections and "POLARIZABILITY" in sections):
        raise UserError(
            f"'{file}': a polarisable force field (section"
            f" {'IPOL' if polarisable.any() else 'POLARIZABILITY'})"
            " is not supported; make the topology with a force field of fixed charges, such as ff19SB"
        )


def _integers(file: str, sections: dict[str, _Section], name: str) -> np.ndarray:
    """The numbers of a section; none where it is not there."""
    if name not in sections:
        return np.zeros(0, np.int64)
    width = sections[name].width
    lines = sections[name].texts
    try:
        if all(len(line.split()) == -(-len(line.rstrip()) // width) for line in lines[:1]):
            return np.array(" ".join(lines).split(), np.int64)
        items = [line[k : k + width] for line in lines for k in range(0, len(line.rstrip()), width)]
        return np.array([int(one) for one in items], np.int64)
    except ValueError:
        raise UserError(
            f"'{file}': line {sections[name].line}: section {name} must have whole numbers of {width}"
            " columns,"
            f" got others; {AGAIN}"
        ) from None


def _check_rows(
    file: str, name: str, section: _Section | None, rows: np.ndarray, atoms: int, types: int
) -> None:
    """Atoms 3 (k - 1) of atoms k, torsions with signs; types from 1."""
    if section is None or not len(rows):
        return
    places, kinds = np.abs(rows[:, :-1]) if name.startswith("DIHEDRALS") else rows[:, :-1], rows[:, -1]
    wrong = ((places < 0) | (places >= 3 * atoms) | (places % 3 != 0)).any(axis=1)
    what, most = f"atoms as multiples of 3 from 0 to {3 * atoms - 3}", places
    if not wrong.any():
        wrong = (kinds < 1) | (kinds > types)
        what, most = f"types from 1 to {types}", kinds
    if wrong.any():
        row = int(np.argmax(wrong))
        got = ", ".join(map(str, np.atleast_1d(most[row]).tolist()))
        raise UserError(
            f"'{file}': line {section.line}: row {row + 1} of section {name} must have {what}, got {got};"
            f" {AGAIN}"
        )
