"""Torsion forces of a System with terms of their own: Ryckaert-Bellemans sums, and maps of two torsions.

    RBTorsionForce      p1 p2 p3 p4, c0 to c5                      rb_torsions
    CMAPTorsionForce    a1 to a4, b1 to b4, map; maps of N^2 e     torsion_maps

The two torsions of a map are those of a chain of five atoms: b1 b2 b3 = a2 a3 a4.
"""

from collections.abc import Sequence
from math import isqrt
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import Term, UserError

from ..torsion_maps import ryckaert_bellemans, spline_coefficients, torsion_map
from .force_kind import ForceContext, ForceKind
from .force_part import ForceList, ForcePart, Numbers
from .system_reader import SystemReader

RYCKAERT_BELLEMANS, MAPS = "RBTorsionForce", "CMAPTorsionForce"
COEFFICIENTS = tuple(f"c{n}" for n in range(6))


def read_ryckaert_bellemans(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """Torsions with six coefficients each."""
    found = reader.tuples_of(RYCKAERT_BELLEMANS, forces, "Torsions/Torsion", 4, COEFFICIENTS)
    numbers = np.stack([found.numbers[name] for name in COEFFICIENTS], axis=1)
    data = {"coefficients": Numbers(numbers, "kJ/mol", "J")}
    return ForcePart(lists={"rb_torsions": ForceList(found.atoms, data)}, periodic=reader.uses_box(forces))


def read_torsion_maps(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """Chains of five atoms, the map of each, and the spline coefficients of all maps.

    Raises `UserError` for a map that is not square, for one that does not exist, and for torsions that are
    not those of a chain of five atoms.
    """
    maps: list[np.ndarray] = []
    atoms, numbers = [np.zeros((0, 8), np.int64)], [np.zeros(0)]
    for force in forces:
        before, found = len(maps), force.findall("Torsions/Torsion")
        maps += [_read_map(reader, one) for one in force.iterfind("Maps/Map")]
        atoms.append(reader.atoms_of(MAPS, found, [f"{side}{k}" for side in "ab" for k in range(1, 5)]))
        named = reader.numbers_of(found, "map", MAPS)
        known = len(maps) - before
        if (strange := named[(named != np.rint(named)) | (named < 0) | (named >= known)]).size:
            raise UserError(
                f"'{reader.file}': {MAPS}: map must be a whole number below {known}, got {strange[0]:g};"
                " correct it"
            )
        numbers.append(named + before)
    chains, which = _chains_of(reader, np.concatenate(atoms)), np.concatenate(numbers)
    if not len(chains):
        return ForcePart(periodic=reader.uses_box(forces))
    sizes = np.array([len(one) for one in maps])
    table = np.zeros((len(maps), sizes.max(), sizes.max()))
    for one, values in zip(table, maps, strict=True):
        one[: len(values), : len(values)] = values
    data = {"which": Numbers(which, whole=True), "size": Numbers(sizes[which.astype(int)], whole=True)}
    return ForcePart(
        lists={"torsion_maps": ForceList(chains, data)},
        tables={"splines": Numbers(table, "kJ/mol", "J")},
        periodic=reader.uses_box(forces),
    )


def _read_map(reader: SystemReader, one: Element) -> np.ndarray:
    """The spline coefficients of a map, (N, N), of which the file has values with phi running first."""
    values = reader.numbers_of(one.findall("Energy"), "e", MAPS)
    size = isqrt(len(values))
    if not size or size * size != len(values) or reader.number_of(one, "size", MAPS, size) != size:
        raise UserError(
            f"'{reader.file}': {MAPS}: a map must have `size` times `size` energies, got {len(values)} and"
            f" size {one.get('size', '')[:9]}; write the file again"
        )
    return spline_coefficients(values.reshape(size, size).T)


def _chains_of(reader: SystemReader, atoms: np.ndarray) -> np.ndarray:
    """The five atoms of each pair of torsions (K, 8)."""
    wrong = (atoms[:, 1:4] != atoms[:, 4:7]).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UserError(
            f"'{reader.file}': {MAPS}: the torsions of a map must be those of a chain of five atoms, got"
            f" {atoms[row, :4].tolist()} and {atoms[row, 4:].tolist()}; leave torsion {row} out"
        )
    return np.concatenate([atoms[:, :4], atoms[:, 7:]], axis=1)


def ryckaert_bellemans_terms(context: ForceContext) -> list[Term]:
    """The torsions of the list."""
    return context.listed_terms(ryckaert_bellemans, "rb_torsions")


def map_terms(context: ForceContext) -> list[Term]:
    """The chains of the list, with the table of all maps."""
    return context.listed_terms(
        torsion_map, "torsion_maps", tables={"splines": context.state.tables.get("splines")}
    )


KINDS = (
    ForceKind(RYCKAERT_BELLEMANS, read_ryckaert_bellemans, ryckaert_bellemans_terms),
    ForceKind(MAPS, read_torsion_maps, map_terms),
)
