"""Files of atoms of other programs, known by their first lines: no tables, no HDF5; a state reads them.

Decisions 0145.
"""

import re

from ...errors import UserError, printable

NUMBERS = rb"(?:[ \t]+-?\d[-+.\deE]*){3}"
SIGNS = {
    "xyz": rb"\A\s*\d+[ \t]*\r?\n[^\n]*\n[ \t]*[A-Za-z]\w*" + NUMBERS,
    "CIF": rb"(?m)^data_\S*\s*$[\s\S]*^\s*(?:_cell_|_atom_site_)",
    "POSCAR": rb"\A[^\n]*\n\s*-?[.\d]+\s*\n"
    + 3 * (rb"[ \t]*-?\d[-+.\deE]*" + NUMBERS[:-3] + rb"{2}[^\n]*\n"),
    "LAMMPS": rb"(?m)^\s*\S+\s+\S+\s+xlo\s+xhi",
    "gro": rb"\A[^\n]*\n\s*\d+\s*\n[^\n]{20}(?:\s*-?\d+\.\d+){3}",
    "PDB": rb"(?m)^(?:ATOM  |HETATM|CRYST1)",
    "ASE": rb"\A- of Ulm",
}
"""By the name of a format: what the beginning of its files matches."""
READ = 4000
"""Bytes of a file that are looked at."""


def refuse_atoms(file: str, data: bytes, wanted: str) -> None:
    """Raise `UserError` for a file of atoms in the place of what is wanted, such as "a table"."""
    for name, sign in SIGNS.items():
        if re.search(sign, data[:READ]):
            raise UserError(
                f"'{printable(file)}': needs {wanted}, got atoms of another program ({name}); read them by"
                ' [state] kind = "atoms"'
            )
