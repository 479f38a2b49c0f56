"""Blocks of scenes for compounds: the potential of Tersoff, a map and an energy that share their cutoff."""

from typing import Annotated, Any

from minusgrad.plugin import (
    ByForm,
    Compound,
    CompoundContext,
    Quantity,
    Record,
    UserError,
    one_or_table,
    quantities,
)

from .potential_files.blocks import EAM, StillingerWeber, tersoff_with_file
from .tersoff import tersoff

Length = Annotated[float | str, Quantity("m", "positive")]
Inverse = Annotated[float | str, Quantity("m^-1", "nonnegative")]
Energy = Annotated[float | str, Quantity("J", "nonnegative")]


class Tersoff(Record):
    """The potential of Tersoff (1988) for one element; every key has the value of silicon, T3, by default.

    Its two parts are called like the block, the energy, and `NAME_zeta`, the map. `S` is the cutoff; pairs
    are listed up to `S` and `skin`. `images`: several images of an atom count, where the box is small. With
    `file` all numbers are those of the file, for several elements, too.
    """

    name: str = "tersoff"
    """Name of the energy; the map is called NAME_zeta."""
    A: Energy = "1830.8 eV"
    """Strength of the repulsion."""
    B: Energy = "471.18 eV"
    """Strength of the attraction."""
    lambda1: Inverse = "2.4799 angstrom^-1"
    """Inverse length of the repulsion."""
    lambda2: Inverse = "1.7322 angstrom^-1"
    """Inverse length of the attraction."""
    lambda3: Inverse = "1.7322 angstrom^-1"
    """Inverse length by which longer bonds weaken one another less."""
    beta: float = 1.1e-6
    """Strength of the influence of other bonds."""
    n: float = 0.78734
    """Exponent of the influence of other bonds."""
    c: float = 1.0039e5
    """Strength of the dependence on angles."""
    d: float = 16.217
    """Width of the dependence on angles."""
    h: float = -0.59825
    """Cosine of the preferred angle."""
    R: Length = "2.7 angstrom"
    """Distance up to which bonds are whole."""
    S: Length = "3.0 angstrom"
    """Distance at which bonds end, the cutoff."""
    skin: Length | None = None
    """How much further than the cutoff pairs are listed (default: 0.1 of the cutoff)."""
    images: bool = False
    """Let several images of an atom interact, where the box is small."""

    file: str | None = None
    """A file of LAMMPS's pair style tersoff, which has all numbers (default: none)."""
    species: Annotated[str | dict[str, str], ByForm(one_or_table, ("one", "table"))] | None = None
    """With a file: the element of all atoms, or by body (default: bodies that are called as its elements)."""

    def make(self, context: CompoundContext) -> Compound:
        given: dict[str, Any] = quantities(self, context.units)
        file, species = given.pop("file"), given.pop("species")
        if file is None:
            if species is not None:
                raise UserError(
                    f"species: is of the elements of a file, got {species} without one; give `file`"
                )
            return tersoff(context.fields, units=context.units, **given)
        more = {key: given.pop(key) for key in ("name", "skin", "images")}
        if twice := sorted(self.model_fields_set & given.keys()):
            raise UserError(f"{twice[0]}: '{file}' has it, got another value; leave {', '.join(twice)} out")
        return tersoff_with_file(context, file, species, **more)


COMPOUNDS = {"tersoff": Tersoff, "eam": EAM, "stillinger_weber": StillingerWeber}
