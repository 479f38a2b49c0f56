"""Frames as a PDB file: a model for each, with the box (CRYST1), names, residues and chains of the atoms.

    CRYST1   19.000   19.000   19.000  90.00  90.00  90.00 P 1           1
    MODEL        1
    ATOM      1  CA  ALA A   1       2.854   2.438   1.026  1.00  0.00           C

Lengths are in angstrom, with three digits. Each model has a CRYST1 before it. Numbers of atoms above
99,999 are hybrid-36 (cci.lbl.gov/hybrid_36), those of residues begin again at 0 behind 9,999, because readers
of hybrid-36 in these columns are few. An atom without a residue is one of its own, named by its element.
Source: Protein Data Bank Contents Guide 3.30 (2012).

Decisions 0147.
"""

import re

import numpy as np

from ....errors import UserError
from ..csv_export import RowStream
from .atom_frames import AtomFrame, AtomFrames
from .elements import UNKNOWN
from .upright_cells import UprightFrames, lengths_and_angles

LOWEST, HIGHEST, LONGEST = -999.9995, 9999.9995, 99999.9995
"""angstrom: coordinates and lengths that columns 31 to 54 and 7 to 33 hold."""
_AMINO_ACIDS = "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL"
_POLYMERS = frozenset([*_AMINO_ACIDS.split(), "A", "C", "G", "U", "I", "DA", "DC", "DG", "DT", "DI", "DU"])
"""Residues whose records are ATOM, those of others HETATM."""
_STRANGE = re.compile(r"[^!-~]")
"""What a column of a word cannot hold: blanks, and letters that are not ASCII."""
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def write_pdb(frames: AtomFrames, out: RowStream) -> list[str]:
    """Write the frames; returns remarks. Raises `UserError` for what the columns cannot hold."""
    upright, heads = UprightFrames.of(frames), _atom_heads(frames)
    several, boxes = len(frames) > 1, set()
    for number, frame in enumerate(upright, 1):
        _refuse_overflow(frames, frame)
        boxes.add(box := _box_line(frame))
        out.write((f"TITLE     STEP {frame.step}\n" if number == 1 else "") + box)
        out.write(f"MODEL     {hybrid_36(number, 4)}\n" if several else "")
        rows = zip(heads, frame.position.tolist(), strict=True)
        out.write("".join(f"{head}{x:8.3f}{y:8.3f}{z:8.3f}{tail}" for (head, tail), (x, y, z) in rows))
        out.write("ENDMDL\n" * several)
    out.write("END\n")
    said = ["the box moves: each model has its own, of which OpenMM reads the last"] if len(boxes) > 1 else []
    if (labels := frames.labels) is not None and max(labels.residue_numbers, default=0) > 9999:
        said.append("numbers of residues begin again at 0 behind 9,999")
    return [*upright.remarks, *said]


def hybrid_36(number: int, width: int) -> str:
    """A number in so many columns: decimal, above that A0000 to ZZZZZ, a0000 to zzzzz in base 36.

    Raises `UserError` for a number that does not fit.
    """
    if number < 10**width:
        return f"{number:>{width}}"
    block = 26 * 36 ** (width - 1)
    rest = number - 10**width
    if 0 <= rest < 2 * block:
        value, text = rest % block + 10 * 36 ** (width - 1), ""
        for _ in range(width):
            value, digit = divmod(value, 36)
            text = _DIGITS[digit] + text
        return text if rest < block else text.lower()
    raise UserError(f"pdb: {number} does not fit into {width} columns; use --format extxyz")


def _atom_heads(frames: AtomFrames) -> list[tuple[str, str]]:
    """The columns before and behind the coordinates of each atom; chains end with TER."""
    labels, symbols = frames.labels, [e.upper() if e != UNKNOWN else "" for e in frames.elements]
    named = labels is not None and labels.residues
    names = [*((labels.names if labels else ()) or (e or UNKNOWN for e in symbols))]
    residues = [*(labels.residues if named else names)]  # type: ignore[union-attr]
    numbers = [*((labels.residue_numbers if named else ()) or range(1, len(names) + 1))]  # type: ignore[union-attr]
    chains = [*((labels.chains if named else ()) or [""] * len(names))]  # type: ignore[union-attr]
    rows = [*zip(names, symbols, residues, chains, numbers, strict=True)]
    found = []
    for k, (*texts, number) in enumerate(rows):
        name, symbol, residue, chain = (_STRANGE.sub("_", text) for text in texts)
        record = "ATOM" if residue in _POLYMERS and named else "HETATM"
        aligned = f" {name:<3}" if len(symbol) < 2 and len(name) < 4 else f"{name:<4}"
        for what, text, most in (("atom name", name, 4), ("residue name", residue, 4), ("chain", chain, 1)):
            if len(text) > most:
                raise UserError(
                    f"atom {k}: its {what} '{text}' has more than {most} letters, which PDB files cannot"
                    " hold; use --format extxyz"
                )
        head = f"{record:<6}{hybrid_36(k + 1, 5)} {aligned} {residue:>3}"
        head = f"{head:<21}{chain or ' '}{number % 10_000:>4}    "
        ends = bool(chain) and (k + 1 == len(rows) or rows[k + 1][3] != rows[k][3])
        found.append((head, f"  1.00  0.00          {symbol:>2}  \n{'TER' if ends else ''}" + "\n" * ends))
    return found


def _box_line(frame: AtomFrame) -> str:
    if frame.edges is None:
        return ""
    lengths, angles = lengths_and_angles(frame.edges)
    a, b, c = lengths
    return f"CRYST1{a:9.3f}{b:9.3f}{c:9.3f}{angles[0]:7.2f}{angles[1]:7.2f}{angles[2]:7.2f} P 1           1\n"


def _refuse_overflow(frames: AtomFrames, frame: AtomFrame) -> None:
    bad = ~((frame.position > LOWEST) & (frame.position < HIGHEST))
    cure = "use --format extxyz, or dcd"
    if bad.any():
        atom, axis = (int(k) for k in np.argwhere(bad)[0])
        raise UserError(
            f"{frames.run}: step {frame.step}: atom {atom} lies at {frame.position[atom, axis]:g} angstrom,"
            f" and the columns of a PDB file hold -999.999 to 9999.999; {cure}"
        )
    if frame.edges is not None and not (longest := np.linalg.norm(frame.edges, axis=1).max()) < LONGEST:
        raise UserError(
            f"{frames.run}: step {frame.step}: an edge of the box is {longest:g} angstrom long, and the"
            f" columns of a PDB file hold 99999.999; {cure}"
        )
