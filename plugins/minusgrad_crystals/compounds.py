"""Blocks of scenes for compounds: the potential of Tersoff, a map and an energy that share their cutoff."""

from typing import Annotated, Any

from minusgrad.plugin import Compound, CompoundContext, Quantity, Record, quantities

from .tersoff import tersoff

Length = Annotated[float | str, Quantity("m", "positive")]
Inverse = Annotated[float | str, Quantity("m^-1", "nonnegative")]
Energy = Annotated[float | str, Quantity("J", "nonnegative")]


class Tersoff(Record):
    """The potential of Tersoff (1988) for one element; every key has the value of silicon, T3, by default.

    Its two parts are called like the block, the energy, and `NAME_zeta`, the map. `S` is the cutoff; pairs
    are listed up to `S` and `skin`. `images`: several images of an atom count, where the box is small.
    """

    name: str = "tersoff"
    A: Energy = "1830.8 eV"
    B: Energy = "471.18 eV"
    lambda1: Inverse = "2.4799 angstrom^-1"
    lambda2: Inverse = "1.7322 angstrom^-1"
    lambda3: Inverse = "1.7322 angstrom^-1"
    beta: float = 1.1e-6
    n: float = 0.78734
    c: float = 1.0039e5
    d: float = 16.217
    h: float = -0.59825
    R: Length = "2.7 angstrom"
    S: Length = "3.0 angstrom"
    skin: Length | None = None
    images: bool = False

    def make(self, context: CompoundContext) -> Compound:
        given: dict[str, Any] = quantities(self, context.units)
        return tersoff(context.fields, units=context.units, **given)


COMPOUNDS = {"tersoff": Tersoff}
