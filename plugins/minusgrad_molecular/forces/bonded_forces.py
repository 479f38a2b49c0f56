"""Bonded forces of a System: harmonic bonds and angles, periodic torsions.

    HarmonicBondForce       p1 p2, d (r_0), k                      bonds, urey_bradley
    HarmonicAngleForce      p1 p2 p3, a (theta_0), k               angles
    PeriodicTorsionForce    p1 p2 p3 p4, periodicity, phase, k     torsions, impropers

`topology` sorts bonds and torsions into lists; each list is a term of its name.
"""

from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import Term, UserError

from ..bonded import harmonic_angle, harmonic_bond, periodic_torsion
from .force_kind import ForceContext, ForceKind
from .force_part import ForcePart
from .system_reader import SystemReader

Read = Callable[[SystemReader, Sequence[Element]], ForcePart]


def _reader_of(kind: str, path: str, arity: int, *names: str) -> Read:
    """How tuples and their numbers are read."""

    def read_tuples(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
        found = reader.tuples_of(kind, forces, path, arity, names)
        return ForcePart(listed=found, periodic=reader.uses_box(forces))

    return read_tuples


def read_torsions(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """Periodic torsions. Raises `UserError` for a periodicity that is no whole number."""
    kind = "PeriodicTorsionForce"
    found = reader.tuples_of(kind, forces, "Torsions/Torsion", 4, ("periodicity", "phase", "k"))
    minima = found.numbers["periodicity"]
    if (broken := minima[minima != np.rint(minima)]).size:
        raise UserError(
            f"'{reader.file}': {kind}: periodicity must be a whole number, got {broken[0]:g}; correct it"
        )
    return ForcePart(listed=found, periodic=reader.uses_box(forces))


def bond_terms(context: ForceContext) -> list[Term]:
    """Bonds, and bonds between the ends of angles."""
    return [term for name in ("bonds", "urey_bradley") for term in context.listed_terms(harmonic_bond, name)]


def angle_terms(context: ForceContext) -> list[Term]:
    """Angles."""
    return context.listed_terms(harmonic_angle, "angles")


def torsion_terms(context: ForceContext) -> list[Term]:
    """Proper and improper torsions."""
    return [
        term for name in ("torsions", "impropers") for term in context.listed_terms(periodic_torsion, name)
    ]


KINDS = (
    ForceKind("HarmonicBondForce", _reader_of("HarmonicBondForce", "Bonds/Bond", 2, "d", "k"), bond_terms),
    ForceKind(
        "HarmonicAngleForce", _reader_of("HarmonicAngleForce", "Angles/Angle", 3, "a", "k"), angle_terms
    ),
    ForceKind("PeriodicTorsionForce", read_torsions, torsion_terms),
)
