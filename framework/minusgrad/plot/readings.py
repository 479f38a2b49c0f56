"""Recorded series as pictures show them: in units that people use, kJ/mol in place of 0.01 kJ/mol.

    recorded in      shown in                   recorded in      shown in
    angstrom^2 u ps^-2   kJ/mol, 0.01 times     m^2 kg s^-2      J, or mJ, kJ, eV by the size of the numbers
    m^-1 kg s^-2         Pa                     AU^2 Msun day^-2  J

Names are those of `files.trajectory`; only values and symbols differ. Decisions 0124.

Decisions 0124.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..files import trajectory
from ..files.trajectory import Series
from ..scene import units

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
"""Of joule, by their power of ten."""
ELECTRONVOLT = 1e-15
"""Energies below this are in eV [J]."""
_JOULE = units.parse_unit("J")
_EV = units.parse_unit("eV").factor


class ShownUnit(NamedTuple):
    """The unit of a picture: its name, and the size in it of the unit that was recorded."""

    factor: float
    name: str


def symbols(run: Path, name: str) -> tuple[str, str]:
    """The units in which a series and its times are shown, as texts for labels."""
    unit, clock = trajectory.symbols(run, name)
    return shown(unit).name, clock


def series(run: Path, name: str) -> Series:
    """A whole series."""
    return _scaled(trajectory.series(run, name), run, name)


def last_row(run: Path, name: str) -> Series:
    """The last row of a series."""
    return _scaled(trajectory.last_row(run, name), run, name)


def pieces(run: Path, name: str, after: int = -1) -> Iterator[Series]:
    """A series in pieces that fit into memory, of rows after a step."""
    for piece in trajectory.pieces(run, name, after):
        yield _scaled(piece, run, name)


def factor(run: Path, name: str) -> float:
    """What the numbers of a series are multiplied by."""
    return shown(trajectory.symbols(run, name)[0]).factor


def shown(unit: str) -> ShownUnit:
    """The unit in which numbers of this unit are shown, whatever their size."""
    return ShownUnit(*units.reduce_unit(unit))


def of_energies(unit: str, largest: float) -> ShownUnit:
    """The unit of a panel of energies whose largest number is this, recorded in `unit`: one for a whole run.

    kJ/mol where masses are in u or energies are per mole; else J with the prefix by which the largest number
    is from 1 to 1000, or eV; a unit of no energy as any other.
    """
    usual = shown(unit)
    try:
        given = units.parse_unit(unit)
    except units.UnitError:
        return usual
    if given.dimension != _JOULE.dimension or units.PER_MOLE in usual.name:
        return usual
    joules = given.factor * largest
    if 0.0 < joules < ELECTRONVOLT:
        return ShownUnit(given.factor / _EV, "eV")
    ten = 3 * math.floor(math.log10(joules) / 3.0) if joules > 0.0 else 0
    if ten not in PREFIXES:
        ten = 0
    return ShownUnit(given.factor / 10.0**ten, PREFIXES[ten] + "J")


def _scaled(seen: Series, run: Path, name: str) -> Series:
    size = factor(run, name)
    return seen if size == 1.0 else seen._replace(value=np.asarray(seen.value, float) * size)
