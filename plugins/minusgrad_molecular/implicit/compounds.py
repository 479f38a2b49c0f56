"""Blocks of scenes for compounds: a generalized Born solvent."""

from typing import Annotated

from minusgrad.plugin import Compound, CompoundContext, Cutoff, Quantity, Record, quantities

from .generalized_born import implicit_solvent

Length = Annotated[float | str, Quantity("m", "nonnegative")]
Permittivity = Annotated[float | str, Quantity("1", "positive")]


class GeneralizedBorn(Record):
    """The solvent of Onufriev, Bashford and Case with a surface; every key is that of OpenMM by default.

    Reads the fields `x`, `charge`, `born_radius` and `born_scale`. Its parts are called like the block, the
    energy of pairs, and NAME_self, NAME_surface, NAME_reduced, NAME_descreening, NAME_radius, NAME_charge.
    """

    name: str = "generalized_born"
    """Name of the energy of pairs; other parts begin with it."""
    eps_in: Permittivity = 1.0
    """Relative permittivity of the molecule."""
    eps_out: Permittivity = 78.3
    """Relative permittivity of the solvent."""
    offset: Length = "0.09 angstrom"
    """Length by which intrinsic radii are reduced."""
    alpha: float = 1.0
    """Factor of psi in the effective radius."""
    beta: float = 0.8
    """Factor of -psi^2 in the effective radius."""
    gamma: float = 4.85
    """Factor of psi^3 in the effective radius."""
    tension: Annotated[float | str, Quantity("J m^-2")] = "2.25936 kJ mol^-1 nm^-2"
    """Energy of an area of the surface [J m^-2]; 0: no such term."""
    probe: Length = "1.4 angstrom"
    """Radius of a molecule of the solvent."""
    cutoff: Annotated[float | str, Quantity("m", "positive")] | None = None
    """Distance beyond which pairs do not interact, cut sharply (default: every pair interacts)."""
    skin: Length | None = None
    """How much further than the cutoff pairs are listed (default: 0.1 of the cutoff)."""
    coulomb_constant: Annotated[float | str, Quantity("N m^2 C^-2", "positive")] | None = None
    """Coulomb's constant 1 / (4 pi eps0) (default: that of the SI, in the run's units)."""
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """For an argument whose field has another name, the field: { born_radius = "R" }."""

    def make(self, context: CompoundContext) -> Compound:
        given = quantities(self, context.units)
        if given["coulomb_constant"] is None:
            del given["coulomb_constant"]
        cutoff, skin = given.pop("cutoff"), given.pop("skin")
        return implicit_solvent(
            context.fields,
            within=None if cutoff is None else Cutoff(cutoff, skin=skin, sharp=True),
            surface=given["tension"] != 0.0,
            renamed=given.pop("fields"),
            units=context.units,
            **given,
        )


COMPOUNDS = {"generalized_born": GeneralizedBorn}
