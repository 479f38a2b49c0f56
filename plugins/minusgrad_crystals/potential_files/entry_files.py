"""Parameters of triples of elements in files of LAMMPS: Stillinger-Weber (`.sw`) and Tersoff (`.tersoff`).

    # a comment, to the end of a line
    Si Si C     3.0 1.0 0.0 ...     three elements and so many numbers, on one line or several

The first element is the atom in the middle; the second and the third are its neighbours. Units are in
`file_lines`. Source: LAMMPS 22 Jul 2025, documentation of `pair_style sw` and `pair_style tersoff`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, printable

from .file_lines import FileLines

SW = ("epsilon", "sigma", "a", "lambda", "gamma", "costheta0", "A", "B", "p", "q", "tol")
TERSOFF = (
    *("m", "gamma", "lambda3", "c", "d", "costheta0", "n", "beta", "lambda2", "B", "R", "D", "lambda1", "A"),
)
"""The numbers of an entry, in their order."""
SIGNED = {"costheta0", "lambda3"}
"""Those that may be negative."""
KINDS = {
    len(SW): "Stillinger and Weber",
    len(TERSOFF): "Tersoff",
    17: "tersoff/mod",
    18: "tersoff/zbl or tersoff/mod/c",
    21: "Vashishta or another potential",
}
MOST_MISSING = 8
"""Triples that a message lists."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a file: `rows` (E, numbers) by triple of elements; names of the numbers; the unit of
    energy."""

    source: str
    names: tuple[str, ...]
    rows: Mapping[tuple[str, str, str], np.ndarray]
    energy: str

    @classmethod
    def of(cls, file: str, data: bytes, names: Sequence[str]) -> "Entries":
        """The entries of a file's bytes. Raises `UserError` with the line, for another kind of file, too."""
        found = bounded_read(read_entries, file, data, names=list(names))
        triples = [tuple(one) for one in found["triples"]]
        energy = {"metal": "eV", "real": "kcal/mol"}[found["units"]]
        return cls(f"'{file}'", tuple(names), dict(zip(triples, found["rows"], strict=True)), energy)

    @property
    def elements(self) -> tuple[str, ...]:
        """The elements that are the atom in the middle of some entry, in the order of the file."""
        return tuple(dict.fromkeys(first for first, _, _ in self.rows))

    def of_species(self, species: Sequence[str]) -> dict[str, np.ndarray]:
        """Each number for all triples of these species, (S, S, S). Raises `UserError` for missing triples."""
        triples = [(i, j, k) for i, j, k in product(species, repeat=3)]
        if missing := [" ".join(one) for one in triples if one not in self.rows]:
            more = f" and {len(missing) - MOST_MISSING} more" if len(missing) > MOST_MISSING else ""
            raise UserError(
                f"file: {self.source} needs an entry for each triple of {', '.join(species)}, got none for"
                f" {', '.join(missing[:MOST_MISSING])}{more}; add them, or use a file that has them"
            )
        values = np.stack([self.rows[one] for one in triples]).reshape(*[len(species)] * 3, -1)
        return {name: values[..., k] for k, name in enumerate(self.names)}


def read_entries(file: str, data: bytes, names: Sequence[str]) -> dict[str, Any]:
    """In the child: `triples` of elements, `rows` (E, numbers) of numbers that are called `names`, `units`.

    Raises `UserError` with the line for entries with other numbers, and for one that is there twice.
    """
    lines = FileLines(file, data)
    units, found = lines.units(), dict[tuple[str, ...], list[float]]()
    for triple, words in _entries(lines):
        if len(words) != len(names):
            _refuse_count(lines, triple, len(words), len(names))
        if triple in found:
            lines.fail(f"has an entry of {' '.join(triple)} already; leave one of them out")
        found[triple] = [
            lines.number(word, f"{name} of {' '.join(triple)}", -np.inf if name in SIGNED else 0.0)
            for name, word in zip(names, words, strict=True)
        ]
    if not found:
        lines.fail("needs entries of three elements and numbers, got none; use a file of .sw or .tersoff", 1)
    return {"triples": [*map(list, found)], "rows": np.array([*found.values()]), "units": units}


def _entries(lines: FileLines) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The elements and the words of the numbers of each entry; the line last read is that of its end."""
    triple, words = list[str](), list[str]()
    for number, line in enumerate(lines.lines, 1):
        for word in line.split("#")[0].split():
            if _is_number(word):
                if len(triple) < 3:
                    lines.fail(
                        f"needs three elements before numbers, got '{printable(word, 40)}'; correct it",
                        number,
                    )
                words.append(word)
            else:
                if words:
                    yield tuple(triple), words
                    triple, words = [], []
                if len(triple) == 3:
                    lines.fail(
                        f"needs a number after {' '.join(triple)}, got '{printable(word, 40)}'; correct it",
                        number,
                    )
                triple.append(word)
            lines.at = number
    if triple:
        yield tuple(triple), words


def _is_number(word: str) -> bool:
    """True for words that begin as numbers do; elements begin with a letter."""
    return not word[0].isalpha()


def _refuse_count(lines: FileLines, triple: tuple[str, ...], count: int, wanted: int) -> None:
    """Raise `UserError` for an entry of another number of numbers, with the potential that has so many."""
    kind = f", as {KINDS[count]} has" if count in KINDS else ""
    wrong = f"the entry of {' '.join(triple)} needs {wanted} numbers ({KINDS[wanted]}), got {count}{kind}"
    lines.fail(f"{wrong}; complete it, or use another kind of block or file")


def refuse_ordered_pairs(
    given: Mapping[str, np.ndarray], keys: Sequence[str], same: float, names: Sequence[str], source: str
) -> None:
    """Raise `UserError` for numbers (S, S, S) that differ for i j j and j i i by more than `same`."""
    every = np.arange(len(names))
    for key in keys:
        values = given[key][:, every, every]
        if (off := np.abs(values - values.T) > same * np.abs(values)).any():
            i, j = (names[n] for n in np.argwhere(off)[0])
            both = f"{i} {j} {j} and {j} {i} {i}"
            raise UserError(f"file: {source}: {key} of {both} must be the same, got two; make them equal")
