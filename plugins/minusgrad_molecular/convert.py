"""Conversion of a PDB file with OpenMM force-field files to a System file, with the extra `openmm`.

    python -m minusgrad_molecular.convert peptide.pdb amber14-all.xml amber14/tip3pfb.xml

writes peptide.xml, which the state `molecule` reads; a run needs no OpenMM. Waters are flexible and no bond
is constrained. A PDB file with a periodic box (CRYST1) gives a periodic System.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from minusgrad.plugin import MinusgradError, UserError, pip_line


def convert(pdb: Path, force_fields: Sequence[str], out: Path | None = None) -> Path:
    """Write the System of the atoms of a PDB file; returns its path.

    pdb: the file, with all hydrogens. force_fields: names of OpenMM's files ("amber14-all.xml") or paths.
    out: default the PDB file's name with the ending .xml. Raises `UserError` without OpenMM, for files that
    it cannot read, and for residues that no force field knows.
    """
    try:
        import openmm
        from openmm import app
    except ImportError:
        raise UserError(
            f"'{pdb}': needs OpenMM to apply a force field, got none; {pip_line('openmm')}"
        ) from None
    out = pdb.with_suffix(".xml") if out is None else out
    if out.resolve() == pdb.resolve():
        raise UserError(f"'{pdb}': the System needs a file of its own, got the same; name another one")
    try:
        found = app.PDBFile(str(pdb))
        periodic = found.topology.getPeriodicBoxVectors() is not None
        method = app.CutoffPeriodic if periodic else app.NoCutoff
        system = app.ForceField(*force_fields).createSystem(
            found.topology, nonbondedMethod=method, constraints=None, rigidWater=False, removeCMMotion=False
        )
    except Exception as error:  # OpenMM raises ValueError, KeyError, OSError, its own and others
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"'{pdb}': OpenMM cannot make a System with {', '.join(force_fields)} ({reason});"
            " correct the file, or name force fields that have its residues"
        ) from error
    out.write_text(openmm.XmlSerializer.serialize(system))
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code, 2 for bad input."""
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
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
