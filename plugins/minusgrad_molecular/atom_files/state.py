"""The state `atoms`: fields, bodies and the box from a file of another program, in the run's units.

    field       shape       unit
    x, v        (n, 3)      m, m s^-1
    m           (n,)        kg
    box         (1, 3, 3)   m           edge vectors as rows, where the file has a cell that repeats
    charge      (n,)        C           where the file or `charges` has them
    species     (n,)        1           the number of the species of each atom in `species_names`, from 0

and the other columns of the file under their names. Bodies are the species (Ar), residues and names of atoms,
and `fixed`, the atoms that the file holds. Axes of the cell that do not repeat are those of the state;
without a vector they get one of 1 angstrom, normal to the others, on which nothing depends.

Decisions 0145.
"""

from importlib.util import find_spec
from typing import Annotated, Any, Literal

from pydantic import Field

from minusgrad.plugin import (
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    bounded_read,
    pip_line,
    quantities,
)

from .formats import AS_IT_STANDS, format_of
from .found_atoms import FoundAtoms
from .reading import LOADS, read_atoms

Cells = Annotated[int, Field(ge=1)]


class AtomFile(Record):
    """Atoms of a file of another program: xyz, CIF, POSCAR, LAMMPS data, gro, PDB, ASE's traj, xsf or gen.

    Gives positions, velocities, masses, the cell, charges and other columns; species are bodies. Needs ASE.
    """

    file: str
    """File of the atoms, beside the scene."""
    index: int = -1
    """Image of a file of several, from 0; negative numbers count from the last one, -1."""
    format: (
        Literal["xyz", "cif", "poscar", "xdatcar", "lammps", "gro", "pdb", "traj", "xsf", "gen"] | None
    ) = None
    """Format of the file (default: as its name shows)."""
    style: Literal["atomic", "charge", "bond", "angle", "molecular", "full"] | None = None
    """Atom style of a LAMMPS data file (default: as the file says behind `Atoms #`)."""
    units: Literal["real", "metal", "si", "cgs", "electron", "micro", "nano", "lj"] | None = None
    """Units of a LAMMPS data file (default: as its first line says); "lj": plain numbers of any file."""
    species: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """Species by name, type or number in the file, { 1 = "Ar" } (default: its elements)."""
    masses: dict[str, Annotated[float | str, Quantity("kg", "positive")]] = {}  # noqa: RUF012
    """Masses by species (default: those of the file, else of the elements)."""
    charges: dict[str, Annotated[float | str, Quantity("C")]] = {}  # noqa: RUF012
    """Charges by species, of all of them (default: those of the file)."""
    columns: dict[str, str] = {}  # noqa: RUF012
    """Units of further columns, { velo = "angstrom fs^-1" } (default: plain numbers)."""
    temperature: Annotated[float | str, Quantity("K", "nonnegative", absolute=True)] | None = None
    """Temperature for which velocities are drawn (default: the file's velocities, else at rest)."""
    cells: list[Cells] = Field(default=[1, 1, 1], min_length=3, max_length=3)
    """How often the cell is repeated along each of its vectors."""

    def make(self, context: StateContext) -> State:
        format = format_of(self.file, self.format)
        if find_spec("ase") is None:
            raise UserError(f"'{self.file}': needs ASE to be read, got none; {pip_line('ase')}")
        self._refuse_other_keys(format)
        found: dict[str, Any] = bounded_read(
            read_atoms, self.file, context.read(self.file), LOADS, format=format, index=self.index,
            style=self.style or "", species=dict(self.species),
        )  # fmt: skip
        return FoundAtoms(self, quantities(self, context.units), found, context, format).state()

    def _refuse_other_keys(self, format: str) -> None:
        if format == "lammps":
            return
        if self.style is not None:
            raise UserError(
                f"style: is that of LAMMPS data, got '{self.style}' for a {format} file; leave it out"
            )
        if self.units not in (None, AS_IT_STANDS):
            raise UserError(
                f"units: a {format} file has its own, got '{self.units}'; leave it out, or write 'lj' for"
                " plain numbers"
            )


STATES = {"atoms": AtomFile}
