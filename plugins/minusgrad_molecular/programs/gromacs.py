"""GROMACS topologies (top) as active lines: in the child of `bounded_read`.

OpenMM's reader counts from 1 and takes atom 0 for the last one, adds a bond for each line, and leaves out
sections that it does not know; so lines are looked at before it. GROMACS Reference Manual, Topology file.
"""

from collections.abc import Sequence
from typing import Any

from minusgrad.plugin import UserError, printable

ATOMS = {
    "bonds": 2, "pairs": 2, "angles": 3, "dihedrals": 4, "constraints": 2, "settles": 1, "cmap": 5,
    "exclusions": 0, "virtual_sites2": 3, "virtual_sites3": 4, "dummies2": 3, "dummies3": 4,
}  # fmt: skip
"""Atoms at the beginning of a line, by section; 0: all its words."""
READ = {
    *ATOMS, "defaults", "atomtypes", "bondtypes", "pairtypes", "angletypes", "dihedraltypes", "cmaptypes",
    "nonbond_params", "constrainttypes", "moleculetype", "atoms", "system", "molecules",
}  # fmt: skip
LEFT_OUT = {
    "position_restraints", "distance_restraints", "orientation_restraints", "dihedral_restraints",
    "angle_restraints", "angle_restraints_z", "implicit_genborn_params",
}  # fmt: skip
"""Sections that OpenMM leaves out; each is remarked."""


class TopologyLines:
    """Active lines with their places."""

    def __init__(self, texts: Sequence[str], places: Sequence[Sequence[int]], files: Sequence[str]):
        self.texts, self.places, self.files = texts, places, files
        self.remarks: list[str] = []
        self.types: set[str] = set()
        self.molecules: dict[str, _MoleculeType] = {}
        self.counts: list[tuple[int, str, int]] = []

    def where(self, k: int) -> str:
        file, line = self.places[k]
        return f"'{printable(self.files[file])}': line {line}"

    def place_of(self, text: str) -> str | None:
        """The place of the line that a message of OpenMM ends with; None without one."""
        words = text.split()
        for k, line in enumerate(self.texts):
            if words and line.split(";")[0].split() == words:
                return self.where(k)
        return None

    def check(self) -> None:
        """Raise `UserError` for what OpenMM's reader would take wrongly; collect remarks."""
        section, molecule = "", None
        for k, line in enumerate(self.texts):
            words = line.split(";")[0].split()
            if not words or words[0].startswith(("#", "*")):
                continue
            if words[0].startswith("["):
                section = "".join(words).strip("[]")
                self._take_section(k, section)
            elif section == "moleculetype":
                molecule = self.molecules[words[0]] = _MoleculeType()
            elif section == "atomtypes":
                self.types.add(words[0])
            elif section == "molecules" and len(words) > 1:
                self.counts.append((k, words[0], self._whole_number(k, "molecules", words[1])))
            elif section == "atoms" and molecule is not None and len(words) > 1:
                molecule.take_atom(self, k, words)
            elif section in ATOMS and molecule is not None:
                molecule.take_tuple(self, k, section, words)
        self._check_molecules()

    def _take_section(self, k: int, section: str) -> None:
        if section in LEFT_OUT:
            self.remarks.append(f"{self.where(k)}: [ {section} ] is left out")
        elif section not in READ:
            raise UserError(
                f"{self.where(k)}: section [ {printable(section)} ] is not supported; write the topology"
                " without it"
            )

    def _check_molecules(self) -> None:
        if not self.counts:
            raise UserError(
                f"'{self.files[0]}': must have the section [ molecules ], got none; name the topology that"
                " grompp"
                " takes, not a file that it includes"
            )
        for k, name, count in self.counts:
            if name not in self.molecules:
                known = ", ".join(self.molecules) or "none"
                raise UserError(
                    f"{self.where(k)}: molecule {printable(name)} must have a [ moleculetype ], got {known};"
                    " include the file that has it"
                )
            if count:
                for at, kind in self.molecules[name].types.values():
                    if kind not in self.types:
                        raise UserError(
                            f"{self.where(at)}: atom type {printable(kind)} must be in [ atomtypes ], got no"
                            " such type; include the force field that has it, or correct the name"
                        )

    def _whole_number(self, k: int, what: str, word: str) -> int:
        try:
            return int(word)
        except ValueError:
            raise UserError(
                f"{self.where(k)}: [ {what} ] must have a whole number here, got '{printable(word)}';"
                " correct it"
            ) from None


class _MoleculeType:
    """Atoms of a molecule type, and the bonds that were met, with their lines."""

    def __init__(self) -> None:
        self.atoms = 0
        self.types: dict[str, tuple[int, str]] = {}
        self.bonds: dict[tuple[int, int], int] = {}

    def take_atom(self, lines: TopologyLines, k: int, words: Sequence[str]) -> None:
        self.atoms += 1
        self.types.setdefault(words[1], (k, words[1]))
        if (number := lines._whole_number(k, "atoms", words[0])) != self.atoms:
            raise UserError(
                f"{lines.where(k)}: atoms of a molecule must be numbered from 1 without gaps, got {number}"
                " for"
                f" atom {self.atoms}; correct it"
            )

    def take_tuple(self, lines: TopologyLines, k: int, section: str, words: Sequence[str]) -> None:
        count = ATOMS[section] or len(words)
        atoms = [lines._whole_number(k, section, word) for word in words[:count]]
        if wrong := [one for one in atoms if not 1 <= one <= self.atoms]:
            raise UserError(
                f"{lines.where(k)}: atoms of [ {section} ] must be numbers from 1 to {self.atoms}, got"
                f" {wrong[0]};"
                " they are counted from 1"
            )
        if section == "bonds" and len(atoms) == 2:
            pair = min(atoms), max(atoms)
            if pair in self.bonds:
                raise UserError(
                    f"{lines.where(k)}: the bond of atoms {pair[0]} and {pair[1]} must be there once, got one"
                    f" more at {lines.where(self.bonds[pair])}; leave one out"
                )
            self.bonds[pair] = k


def make_topology(path: str, lines: TopologyLines, box: Any, defines: dict[str, str]) -> Any:
    """The topology of the lines, written to a file for OpenMM. Raises what `TopologyLines.check` does."""
    from pathlib import Path

    from openmm import app

    lines.check()
    Path(path).write_text("\n".join(lines.texts) + "\n", encoding="utf-8")
    return app.GromacsTopFile(
        path, periodicBoxVectors=box, includeDir=str(Path(path).parent), defines=defines
    )
