"""Conversion of a PDB file with OpenMM force-field files to a System file, with the extra `openmm`.

    python -m minusgrad_molecular.convert peptide.pdb amber14-all.xml amber14/tip3pfb.xml

writes peptide.xml, which the state `molecule` reads; a run needs no OpenMM. Waters are flexible and no bond
is constrained. A PDB file with a periodic box (CRYST1) gives a periodic System. OpenMM reads the PDB file in
a child process within limits of time and memory; force-field files may have scripts, which it executes.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from minusgrad.plugin import MinusgradError, UserError, bounded_read, input_files, pip_line, write_file

from . import force_field


def convert(pdb: Path, force_fields: Sequence[str], out: Path | None = None) -> Path:
    """Write the System of the atoms of a PDB file; returns its path.

    pdb: the file, with all hydrogens. force_fields: names of OpenMM's files ("amber14-all.xml") or paths.
    out: default the PDB file's name with the ending .xml. Raises `UserError` without OpenMM, for files that
    it cannot read, and for residues that no force field knows; `RunFailedError` where it cannot be written.
    """
    if find_spec("openmm") is None:
        raise UserError(f"'{pdb}': needs OpenMM to apply a force field, got none; {pip_line('openmm')}")
    out = pdb.with_suffix(".xml") if out is None else out
    if out.resolve() == pdb.resolve():
        raise UserError(f"'{pdb}': the System needs a file of its own, got the same; name another one")
    try:
        data = input_files.read(pdb)
    except (OSError, ValueError) as error:
        raise UserError(
            f"'{pdb}': cannot be read, got {getattr(error, 'strerror', None) or error}; name a PDB file"
        ) from None
    write_file(out, from_bytes(str(pdb), data, force_fields))
    return out


def from_bytes(file: str, data: bytes, force_fields: Sequence[str]) -> str:
    """The XML of the System of the atoms in the bytes of a PDB file, by OpenMM in a child within limits.

    Raises `UserError` that begins with the file for one that OpenMM cannot read, or not within the limits,
    and for residues that no force field knows.
    """
    named = [str(Path(one).resolve()) if Path(one).is_file() else one for one in force_fields]
    return bounded_read(
        force_field.system, file, data, force_field.LOADS, seconds=force_field.SECONDS,
        space=force_field.SPACE, force_fields=named,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code: 2 for bad input, 3 where the file cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m minusgrad_molecular.convert", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("pdb", type=Path, help="a PDB file with all hydrogens")
    parser.add_argument("force_fields", nargs="+", help="OpenMM's force-field files, or paths of others")
    parser.add_argument("--out", type=Path, help="the System file (default: the PDB file's name with .xml)")
    given = parser.parse_args(arguments)
    try:
        print(convert(given.pdb, given.force_fields, given.out))
    except MinusgradError as error:
        print(f"minusgrad: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
