"""Tables of the embedded-atom method for the species of a scene, in the units of their file.

One `setfl` file has the tables of several elements. Files of one element (`funcfl`) are mixed as LAMMPS does:
all are interpolated anew, by cubics through four values, at the largest spacings dr and drho, and

    r phi_ij(r) = 27.2 * 0.529 Z_i(r) Z_j(r),     energies in eV and lengths in angstrom

The tables of mixed files have one value fewer than their range has room for, also of one file alone: the last
one is left out, as there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read

from .eam_files import read_eam
from .splines import lagrange_values

CHARGES = 27.2 * 0.529
"""In eV angstrom: of two charges Z, as LAMMPS rounds it."""


@dataclass(frozen=True, eq=False)
class EamTables:
    """Tables of S species: embedding (S, nrho), density (S, S, nr) that the first species gives to the
    second, products (S, S, nr), r phi; at the spacings drho and dr, with the cutoff; `masses` [u].

    energy: the unit of the file's energies, "eV" or "kcal/mol". Lengths are in angstrom.
    """

    elements: tuple[str, ...]
    masses: tuple[float, ...]
    cutoff: float
    dr: float
    drho: float
    embedding: np.ndarray
    density: np.ndarray
    products: np.ndarray
    energy: str = "eV"

    @property
    def greatest_density(self) -> float:
        """The density at the end of the embedding energies."""
        return (self.embedding.shape[1] - 1) * self.drho

    def of_species(self, names: Sequence[str]) -> "EamTables":
        """The tables of some of the species, in this order."""
        at = [self.elements.index(name) for name in names]
        pairs = np.ix_(at, at)
        return EamTables(
            tuple(names),
            tuple(self.masses[k] for k in at),
            self.cutoff,
            self.dr,
            self.drho,
            self.embedding[at],
            self.density[pairs],
            self.products[pairs],
            self.energy,
        )


@dataclass(frozen=True, eq=False)
class EamFiles:
    """What one file, or several of one element each, have; tables of them are made for the species in use.

    source: the files in words.
    """

    source: str
    read: Mapping[str, Mapping[str, Any]]
    elements: tuple[str, ...]

    @classmethod
    def of(cls, files: str | Mapping[str, str], contents: Mapping[str, bytes]) -> "EamFiles":
        """Of one file, or of `funcfl` files by element; contents: the bytes of each by its name.

        Raises `UserError` for files of another kind, and for one of another element than it is named for.
        """
        if isinstance(files, str):
            found = bounded_read(read_eam, files, contents[files])
            names = tuple(found["elements"])
            return cls(f"'{files}'", dict.fromkeys(names, found), names)
        read = {name: bounded_read(read_eam, file, contents[file]) for name, file in files.items()}
        for name, found in read.items():
            file = files[name]
            if found["form"] != "funcfl":
                raise UserError(
                    f"{name}: files of one element are funcfl, got '{file}', which is setfl, of"
                    f' {", ".join(found["elements"])}; write file = "{file}"'
                )
            if found["elements"] != [name]:
                raise UserError(
                    f"{name}: '{file}' is of {found['elements'][0]}, got {name}; name its own element"
                )
        return cls(", ".join(f"'{file}'" for file in files.values()), read, tuple(read))

    def tables(self, names: Sequence[str]) -> EamTables:
        """The tables of these species."""
        first = self.read[names[0]]
        if first["form"] == "funcfl":
            return _mixed({name: self.read[name] for name in names})
        keys = ("cutoff", "dr", "drho", "embedding", "density", "products")
        energy = {"metal": "eV", "real": "kcal/mol"}[first["units"]]
        values = {key: first[key] for key in keys}
        return EamTables(
            self.elements, tuple(map(float, first["masses"])), **values, energy=energy
        ).of_species(names)


def _mixed(read: Mapping[str, Mapping[str, Any]]) -> EamTables:
    """The tables of files of one element each, at common places."""
    files = [*read.values()]
    dr, drho = (max(one[key] for one in files) for key in ("dr", "drho"))
    nr, nrho = (
        int(max((one[table].shape[-1] - 1) * one[key] for one in files) / step + 0.5)
        for table, key, step in (("density", "dr", dr), ("embedding", "drho", drho))
    )
    r, rho = np.arange(nr) * dr, np.arange(nrho) * drho
    charge = np.stack([lagrange_values(one["charge"], r / one["dr"]) for one in files])
    density = np.stack([lagrange_values(one["density"][0, 0], r / one["dr"]) for one in files])
    return EamTables(
        tuple(read),
        tuple(float(one["masses"][0]) for one in files),
        max(one["cutoff"] for one in files),
        dr,
        drho,
        np.stack([lagrange_values(one["embedding"][0], rho / one["drho"]) for one in files]),
        np.repeat(density[:, None], len(files), axis=1),
        CHARGES * charge[:, None] * charge[None],
    )
