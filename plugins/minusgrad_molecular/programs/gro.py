"""GROMACS coordinates (gro): positions, velocities and the box of the first frame.

Columns of an atom, counted from 1: number of the residue 1-5, residue 6-10, name 11-15, number 16-20, then
x y z [nm] and, if there, velocities [nm/ps]. The distance of the decimal points is the width of a column, so
that files of any precision are read; velocities have one decimal more. Numbers of atoms and residues start
again behind 99999 and are not read. The box is three lengths, or nine: xx yy zz xy xz yx yz zx zy.

OpenMM's reader takes no velocities and three decimals alone. GROMACS Reference Manual, File formats.
"""

import numpy as np

from minusgrad.plugin import UserError

from ..pdb import Atoms

NINE = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))
"""Places of the numbers of a box in the matrix whose rows are its edges."""


def parse(file: str, data: bytes) -> Atoms:
    """The atoms of a gro file. Raises `UserError` with the line for one that is cut, or has no numbers."""
    lines = data.decode("utf-8", "replace").splitlines()
    try:
        n = int(lines[1])
    except (IndexError, ValueError):
        got = lines[1].strip()[:40] if len(lines) > 1 else "no line"
        raise UserError(f"'{file}': line 2: must be the number of atoms, got '{got}'; write it") from None
    if not 0 < n <= len(lines) - 3:
        raise UserError(
            f"'{file}': must have {n} atoms, as line 2 says, and a box behind them, got {len(lines)} lines;"
            " the file is cut: write it again"
        )
    rows = lines[2 : 2 + n]
    width = _column_width(file, rows[0])
    has_velocities = all(row[20 + 3 * width :].strip() for row in rows)
    numbers = _column_numbers(file, rows, width, 6 if has_velocities else 3)
    box = _box_vectors(file, lines[2 + n], 3 + n)
    return Atoms(
        10.0 * numbers[:, :3],
        tuple(row[10:15].strip() for row in rows),
        tuple(row[5:10].strip() for row in rows),
        tuple(row[:5].strip() for row in rows),
        ("",) * n,
        velocities=10.0 * numbers[:, 3:] if has_velocities else None,
        box=box,
    )


def _column_width(file: str, row: str) -> int:
    first = row.find(".", 20)
    second = row.find(".", first + 1)
    if first < 0 or second < 0:
        raise UserError(
            f"'{file}': line 3: must have positions behind column 20, got '{row[20:80]}'; write them"
        )
    return second - first


def _column_numbers(file: str, rows: list[str], width: int, count: int) -> np.ndarray:
    """The numbers (n, count) in the columns behind the names."""
    ends = [(20 + k * width, 20 + (k + 1) * width) for k in range(count)]
    try:
        found = np.array([[float(row[begin:end]) for begin, end in ends] for row in rows])
    except ValueError:
        found = np.full((1, 1), np.nan)
    if np.isfinite(found).all():
        return found
    for k, row in enumerate(rows):
        try:
            if np.isfinite([float(row[begin:end]) for begin, end in ends]).all():
                continue
        except ValueError:
            pass
        raise UserError(
            f"'{file}': line {k + 3}: must have {count} numbers of {width} columns behind column 20, got"
            f" '{row[20 : ends[-1][1]].strip()}'; correct them"
        )
    raise AssertionError("a row without numbers")


def _box_vectors(file: str, line: str, number: int) -> np.ndarray | None:
    """Edges [angstrom], so that each lies within half of those before it; None for zeros."""
    try:
        numbers = [float(word) for word in line.split()]
    except ValueError:
        numbers = []
    if len(numbers) not in (3, 9) or not np.isfinite(numbers).all() or min(numbers[:3]) < 0.0:
        raise UserError(
            f"'{file}': line {number}: must be a box of 3 or 9 numbers, got '{line.strip()[:60]}'; write it"
        )
    if not all(numbers[:3]):
        return None
    box = np.zeros((3, 3))
    for place, value in zip(NINE, numbers, strict=False):
        box[place] = 10.0 * value
    for one, other in ((2, 1), (2, 0), (1, 0)):
        box[one] -= box[other] * np.rint(box[one, other] / box[other, other])
    return box
