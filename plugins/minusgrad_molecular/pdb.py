"""PDB files: places, names, residues and chains of atoms, in the order of the file, and the box.

Columns of ATOM and HETATM records, counted from 1: name 13-16, alternate location 17, residue 18-20, chain
22, number of the residue 23-26, x y z [angstrom] 31-54, element 77-78. Of several models the first is
read, of alternate locations the first that an atom has, of residues that share a number the first one. Serial
numbers are not read, so hybrid-36 ones and stars do no harm. CRYST1: a b c [angstrom] 7-33, alpha beta gamma
[degree] 34-54; edges of 1 angstrom say that there is no box. Protein Data Bank Contents Guide 3.30 (2012),
Crystallographic and Coordinate Sections.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from minusgrad.plugin import AtomLabels, UserError


@dataclass(frozen=True)
class Atoms:
    """Places (n, 3) [angstrom], and of each atom its name, residue, number of the residue and chain.

    elements: chemical symbols, "" where the file has none. velocities: (n, 3) [angstrom/ps], None for a file
    without. box: (3, 3) [angstrom], the edge vectors as rows, None without one.
    """

    places: np.ndarray
    names: tuple[str, ...]
    residues: tuple[str, ...]
    numbers: tuple[str, ...]
    chains: tuple[str, ...]
    elements: tuple[str, ...] = ()
    velocities: np.ndarray | None = None
    box: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.names)

    def labels(self) -> AtomLabels:
        """The labels of the atoms; residues are counted anew where a number in the file is no whole one."""
        try:
            numbers = tuple(map(int, self.numbers))
        except ValueError:
            residues = [*zip(self.residues, self.numbers, self.chains, strict=True)]
            begins = [k == 0 or one != residues[k - 1] for k, one in enumerate(residues)]
            numbers = tuple(np.cumsum(begins).tolist())
        return AtomLabels(
            elements=self.elements or ("",) * len(self),
            names=self.names,
            residues=self.residues,
            residue_numbers=numbers,
            chains=self.chains,
        )

    def in_order(self, order: np.ndarray) -> "Atoms":
        """The atoms of these numbers (n,), in this order."""

        def chosen(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(texts[k] for k in order) if texts else ()

        return replace(
            self,
            places=self.places[order],
            names=chosen(self.names),
            residues=chosen(self.residues),
            numbers=chosen(self.numbers),
            chains=chosen(self.chains),
            elements=chosen(self.elements),
            velocities=None if self.velocities is None else self.velocities[order],
        )


def parse(file: str, data: bytes) -> Atoms:
    """The atoms in the bytes of a PDB file; `file`: its name in messages.

    Raises `UserError` for a file without atoms, and for a coordinate or a box that is not made of numbers.
    """
    rows: list[tuple[int, str]] = []
    box = None
    conformers: dict[str, str] = {}  # by atom, of which a file may have several of one name
    residues: dict[str, str] = {}
    for number, line in enumerate(data.decode("ascii", "replace").splitlines(), 1):
        if line.startswith("ENDMDL"):
            break
        if line.startswith("CRYST1"):
            box = _box_vectors(f"'{file}': line {number}", line)
        if not line.startswith(("ATOM  ", "HETATM")):
            continue
        residue, location = line[21:27], line[16:17].strip()
        named = residues.setdefault(residue, line[17:20])
        first = conformers.setdefault(line[12:16] + residue, location)
        if location and (location != first or line[17:20] != named):
            continue
        rows.append((number, line))
    if not rows:
        raise UserError(f"'{file}': has no ATOM or HETATM records, got {len(data)} bytes; give a PDB file")
    columns = ((12, 16), (17, 20), (22, 26), (21, 22), (76, 78))
    texts = [tuple(one[begin:end].strip() for begin, end in columns) for _, one in rows]
    names, kinds, numbers, chains, elements = zip(*texts, strict=True)
    symbols = tuple(map(AtomLabels.symbol_of, elements))
    return Atoms(_atom_places(file, rows), names, kinds, numbers, chains, symbols, box=box)


def text_of(file: str, atoms: Atoms) -> str:
    """A PDB file of atoms: places to 0.001 angstrom, no velocities; numbers start again behind the widest.

    Raises `UserError` for places that have no columns.
    """
    if (atoms.places > 9999.999).any() or (atoms.places < -999.999).any():
        raise UserError(
            f"'{file}': places must be from -999.999 to 9999.999 angstrom, got"
            f" {np.abs(atoms.places).max():g}; move the atoms"
        )
    lines = []
    if atoms.box is not None:
        lengths, angles = edge_lengths(atoms.box)
        edges = "".join([*(f"{a:9.3f}" for a in lengths), *(f"{a:7.2f}" for a in angles)])
        lines.append(f"CRYST1{edges}")
    symbols = atoms.elements or ("",) * len(atoms)
    labels = zip(atoms.names, atoms.residues, atoms.chains, atoms.numbers, symbols, strict=True)
    for k, ((name, residue, chain, number, symbol), (x, y, z)) in enumerate(
        zip(labels, atoms.places.tolist(), strict=True)
    ):
        named = f" {name:<3}" if len(name) < 4 else name[:4]
        counted = f"{int(number) % 10_000:>4}" if number.lstrip("-").isdigit() else f"{number:>4}"[:4]
        lines.append(
            f"HETATM{(k + 1) % 100_000:>5} {named} {residue[:3]:>3} {chain[:1]:1}{counted}    "
            f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbol.upper():>2}"
        )
    return "\n".join([*lines, "END", ""])


def edge_lengths(box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and angles [degree] of the edges (3, 3): the inverse of `edge_vectors`."""
    lengths = np.linalg.norm(box, axis=1)
    cosines = (box @ box.T / np.outer(lengths, lengths))[[1, 0, 0], [2, 2, 1]]
    return lengths, np.degrees(np.arccos(cosines))


def edge_vectors(lengths: Sequence[float], angles: Sequence[float]) -> np.ndarray:
    """The edges (3, 3) as rows, the first along x, the second in the plane of x and y; angles [degree]."""
    cosines = np.cos(np.radians(angles))
    cosines[np.isclose(angles, 90.0, rtol=0.0, atol=1e-9)] = 0.0
    alpha, beta, gamma = cosines
    sine = np.sqrt(1.0 - gamma * gamma)
    y = (alpha - beta * gamma) / sine
    z = np.sqrt(1.0 - beta * beta - y * y)
    return np.array([[1.0, 0.0, 0.0], [gamma, sine, 0.0], [beta, y, z]]) * np.array(lengths)[:, None]


def _box_vectors(where: str, line: str) -> np.ndarray | None:
    """The box of a CRYST1 record; None for one that says that there is none."""
    ends = (6, 15, 24, 33, 40, 47, 54)
    try:
        numbers = [float(line[begin:end]) for begin, end in pairwise(ends)]
    except ValueError:
        numbers = [np.nan]
    if np.isfinite(numbers).all() and max(numbers[:3]) <= 1.0:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        box = edge_vectors(numbers[:3], numbers[3:]) if len(numbers) == 6 else np.full((3, 3), np.nan)
    if not np.isfinite(box).all() or not (np.diag(box) > 0.0).all():
        raise UserError(
            f"{where}: columns 7 to 54 of CRYST1 must be three lengths and three angles of a box, got"
            f" '{line[6:54].strip()}'; correct them, or remove the line"
        )
    return box


def _atom_places(file: str, rows: Sequence[tuple[int, str]]) -> np.ndarray:
    """The coordinates (n, 3) in the numbered lines of atoms."""
    try:
        places = np.array([[float(one[30:38]), float(one[38:46]), float(one[46:54])] for _, one in rows])
    except ValueError:
        places = np.full((1, 3), np.nan)
    if not np.isfinite(places).all():
        number, line = next(row for row in rows if not _has_a_place(row[1]))
        raise UserError(
            f"'{file}': line {number}: columns 31 to 54 must be three numbers, got '{line[30:54].strip()}';"
            " correct them"
        )
    return places


def _has_a_place(line: str) -> bool:
    try:
        return bool(np.isfinite([float(line[k : k + 8]) for k in (30, 38, 46)]).all())
    except ValueError:
        return False
