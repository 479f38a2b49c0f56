"""Blocks of scenes for potentials from files: the embedded-atom method, Stillinger-Weber.

Tersoff's potential has a block of its own (`compounds`), which takes a file, too. Files are read beside the
scene and copied into the folder of a run.
"""

from typing import Annotated

from minusgrad.plugin import (
    ByForm,
    Compound,
    CompoundContext,
    Potential,
    Quantity,
    Record,
    UserError,
    at_key,
    one_or_table,
    quantities,
)

from .eam import eam
from .eam_tables import EamFiles
from .entry_files import SW, TERSOFF, Entries
from .species import Species
from .stillinger_weber_species import stillinger_weber
from .tersoff_species import tersoff_of_file

Length = Annotated[float | str, Quantity("m", "positive")]
OneOrTable = Annotated[str | dict[str, str], ByForm(one_or_table, ("one", "table"))]


class EAM(Record):
    """The embedded-atom method with the tables of a file: `setfl` (alloy, Finnis-Sinclair) or `funcfl`.

    The energies are called NAME_pair and NAME_embedding, the maps NAME_density and NAME_species. Tables are
    constants, which no fit changes.
    """

    name: str = "eam"
    """First part of the names of the energies and maps."""
    file: OneOrTable
    """A setfl or funcfl file, or by element its funcfl file: { Ni = "Ni_u3.eam", Cu = "Cu_u3.eam" }."""
    species: OneOrTable | None = None
    """The element of all atoms, or by body (default: bodies that are called as elements of the file)."""
    skin: Length | None = None
    """How much further than the cutoff pairs are listed (default: 0.1 of the cutoff)."""
    images: bool = False
    """Let several images of an atom interact, where the box is small."""

    def make(self, context: CompoundContext) -> Compound:
        _refuse_dimensionless(context)
        names = [self.file] if isinstance(self.file, str) else list(self.file.values())
        if not names:
            raise UserError("file: needs one file at least, got none; name files by their elements")
        with at_key("file"):
            files = EamFiles.of(self.file, {name: context.read(name) for name in names})
        atoms = _species(self.species, files.elements, context, files.source)
        tables = files.tables(atoms.names)
        _compare_masses(context, atoms, dict(zip(tables.elements, tables.masses, strict=True)), files.source)
        skin = quantities(self, context.units)["skin"]
        parts = eam(
            context.fields,
            tables,
            atoms,
            skin=skin,
            images=self.images,
            name=self.name,
            units=context.units,
        )
        potential = Potential(context.fields, parts.terms, parts.maps)
        potential.refresh()
        dense = context.fields[f"{self.name}_density"].values > tables.greatest_density
        if dense.any():
            context.remarks.append(
                f"{self.name}: the density of {int(dense.sum())} atoms is beyond the end of the tables of"
                f" {files.source}, {tables.greatest_density:g}; energies go on along the last tangent"
            )
        return parts


class StillingerWeber(Record):
    """The potential of Stillinger and Weber with the parameters of a file of LAMMPS, of one element or
    several.

    The energies are called NAME_pair and NAME_triple. Of one element they have parameters, which a fit may
    change, if its angle is the tetrahedral one; else tables, which are constants.
    """

    name: str = "stillinger_weber"
    """First part of the names of the energies."""
    file: str
    """A file of LAMMPS's pair style sw."""
    species: OneOrTable | None = None
    """The element of all atoms, or by body (default: bodies that are called as elements of the file)."""
    skin: Length | None = None
    """How much further than the cutoff pairs are listed (default: 0.1 of the cutoff)."""
    images: bool = False
    """Let several images of an atom interact, where the box is small."""

    def make(self, context: CompoundContext) -> Compound:
        _refuse_dimensionless(context)
        with at_key("file"):
            entries = Entries.of(self.file, context.read(self.file), SW)
        atoms = _species(self.species, entries.elements, context, entries.source)
        skin = quantities(self, context.units)["skin"]
        return stillinger_weber(
            context.fields,
            entries,
            atoms,
            skin=skin,
            images=self.images,
            name=self.name,
            units=context.units,
        )


def tersoff_with_file(
    context: CompoundContext,
    file: str,
    species: str | dict[str, str] | None,
    *,
    skin: float | None,
    images: bool,
    name: str,
) -> Compound:
    """Tersoff's potential with the parameters of a file of LAMMPS. skin: in the run's units."""
    _refuse_dimensionless(context)
    with at_key("file"):
        entries = Entries.of(file, context.read(file), TERSOFF)
    atoms = _species(species, entries.elements, context, entries.source)
    return tersoff_of_file(
        context.fields, entries, atoms, skin=skin, images=images, name=name, units=context.units
    )


def _species(
    given: str | dict[str, str] | None, known: tuple[str, ...], context: CompoundContext, source: str
) -> Species:
    return Species.of(given, known, context.state, len(context.fields["x"]), source)


def _refuse_dimensionless(context: CompoundContext) -> None:
    """Refuse a scene without units, which the numbers of a file have."""
    if not context.units.names:
        raise UserError(
            "file: has energies in eV and lengths in angstrom, got a scene without units; give [units], such"
            ' as length = "angstrom", mass = "u", time = "ps"'
        )


def _compare_masses(context: CompoundContext, atoms: Species, masses: dict[str, float], source: str) -> None:
    """Remark masses of atoms that are not those of the file."""
    if "m" in context.fields and context.fields["m"].shape == atoms.numbers.shape:
        unit = context.units.convert("1 u", "kg")
        context.remarks.extend(atoms.mass_remarks(masses, context.fields["m"].values / unit, source))
