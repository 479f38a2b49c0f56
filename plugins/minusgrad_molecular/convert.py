"""Conversion of other programs' files to an OpenMM System file, so that a run needs no OpenMM.

    python -m minusgrad_molecular.convert peptide.pdb amber14-all.xml amber14/tip3pfb.xml
    python -m minusgrad_molecular.convert peptide.prmtop peptide.inpcrd
    python -m minusgrad_molecular.convert topol.top conf.gro --include toppar --define POSRES
    python -m minusgrad_molecular.convert peptide.psf peptide.pdb par_all36_prot.prm toppar_water_ions.str

writes peptide.xml, which the state `molecule` reads as `system`, and where the positions are no PDB file
peptide.pdb, with places to 0.001 angstrom and no velocities. Options are the keys of the state, with its
defaults: waters are flexible, no bond is constrained, and a box has particle-mesh Ewald sums. OpenMM reads
the files in a child process within limits of time and memory; force-field files may have scripts, which it
executes.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from minusgrad.plugin import MinusgradError, UnitSystem, UserError, input_files, pip_line, write_file

from . import pdb
from .programs import door, kinds, settings
from .states import Molecule


def convert(
    file: Path, others: Sequence[str], out: Path | None = None, **keys: Any
) -> tuple[list[Path], tuple[str, ...]]:
    """Write the System of a topology or of a PDB file; returns the paths that were written, and remarks.

    file: a topology, or PDB or PDBx/mmCIF file with all hydrogens. others: its positions and parameters, or
    force fields: names of OpenMM's files ("amber14-all.xml") or paths. out: default the file's name with the
    ending .xml. keys: those of the state `molecule`. Raises `UserError` without OpenMM, for files that it
    cannot read, and for what no force field knows; `RunFailedError` where nothing can be written.
    """
    if find_spec("openmm") is None:
        raise UserError(f"'{file}': needs OpenMM to apply a force field, got none; {pip_line('openmm')}")
    out = file.with_suffix(".xml") if out is None else out
    named = named_keys(file, others)
    is_pdb = kinds.kind_of(read_file(named["positions"])) == "pdb"
    written = [out] if is_pdb else [out, out.with_suffix(".pdb")]
    inputs = {Path(one).resolve() for one in (str(file), *others)}
    if taken := [one for one in written if one.resolve() in inputs]:
        raise UserError(
            f"'{taken[0]}': the System needs a file of its own, got one that is read; name another by --out"
        )
    made = made_system(named | keys)
    write_file(out, made.xml.decode())
    if is_pdb:
        return written, made.remarks
    write_file(written[1], pdb.text_of(str(written[1]), made.atoms))
    lost = f"'{named['positions']}': its velocities are left out: a PDB file has none"
    return written, made.remarks if made.atoms.velocities is None else (*made.remarks, lost)


def named_keys(file: Path, others: Sequence[str]) -> dict[str, Any]:
    """The keys of the state `molecule` for some files, by what they have. Raises `UserError` for others."""
    first = kinds.kind_of(read_file(str(file)))
    if first in kinds.APPLIED:
        return {"positions": str(file), "force_field": tuple(others)}
    found = {name: kinds.kind_of(read_file(name)) for name in others}
    places = [name for name, kind in found.items() if kind in kinds.POSITIONS]
    if len(places) != 1:
        raise UserError(
            f"'{file}': needs one file of positions beside it, got {len(places)}; name a PDB, gro, inpcrd"
            " or crd"
            " file"
        )
    rest = tuple(name for name in others if name not in places)
    return {"topology": str(file), "positions": places[0], "parameters": rest}


def made_system(keys: Mapping[str, Any]) -> door.Made:
    """The System of some keys of the state `molecule`, whose files lie anywhere."""
    try:
        asked = Molecule(**keys)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{where}: {first['msg']}, got {first['input']!r}; correct it") from None
    return door.make_system(replace(asked.request(UnitSystem.of("nm", "u", "ps")), scripts=True), read_file)


def read_file(name: str) -> bytes:
    """The bytes of a file by its path. Raises `UserError` where it cannot be read."""
    try:
        return input_files.read(Path(name))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"'{name}': cannot be read, got {reason}; name a file that is there") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code: 2 for bad input, 3 where the file cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m minusgrad_molecular.convert", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path, help="a topology, or a PDB or mmCIF file with all hydrogens")
    parser.add_argument(
        "others", nargs="+", help="its positions and parameters; OpenMM's force fields, or paths"
    )
    parser.add_argument("--out", type=Path, help="the System file (default: the file's name with .xml)")
    parser.add_argument("--nonbonded", choices=list(settings.METHODS), help="how pairs are summed")
    parser.add_argument("--constraints", choices=list(settings.CONSTRAINTS), help="lengths that are kept")
    parser.add_argument("--rigid-water", action="store_const", const=True, help="waters keep their shape")
    parser.add_argument("--implicit-solvent", choices=list(settings.SOLVENTS), help="of a prmtop or psf")
    parser.add_argument("--include", help="folder of the files that a GROMACS topology includes")
    parser.add_argument(
        "--define", action="append", metavar="NAME[=VALUE]", help="a macro of such a topology"
    )
    for name in ("cutoff", "switch", "hydrogen-mass"):
        parser.add_argument(f"--{name}", help='with a unit: "9 angstrom", "3 u"')
    given = vars(parser.parse_args(arguments))
    keys = {name: value for name, value in given.items() if value is not None}
    file, others, out = keys.pop("file"), keys.pop("others"), keys.pop("out", None)
    if "define" in keys:
        macros = (one.partition("=") for one in keys.pop("define"))
        keys["defines"] = {name: value if sign else True for name, sign, value in macros}
    try:
        written, remarks = convert(file, others, out, **keys)
    except MinusgradError as error:
        print(f"minusgrad: {error}", file=sys.stderr)
        return error.exit_code
    for remark in remarks:
        print(f"minusgrad: {remark}", file=sys.stderr)
    print("\n".join(map(str, written)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
