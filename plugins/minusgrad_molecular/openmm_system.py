"""OpenMM System files: particles, forces, constraints and the periodic box, without OpenMM.

The XML is that of `openmm.XmlSerializer.serialize(system)`. Units are OpenMM's: nm, kJ/mol, u, e, rad.

    Particles       mass of each
    Constraints     p1 p2, d: a distance that is kept
    Forces          by class, as the rows of `forces.kinds` read them

Forces of one class are put together. Other forces and virtual sites are refused by name, and so are
constraints that cannot be.

Decisions 0329.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import UserError, bounded_read, printable

from .element_tree import element_tree, elements
from .forces.force_part import ForcePart, Interactions
from .forces.kinds import CURES, KINDS
from .forces.nonbonded_force import without_force
from .forces.system_reader import SystemReader
from .nonbonded_settings import NonbondedSettings
from .site_elements import Sites


@dataclass(frozen=True)
class System:
    """A parsed System, in OpenMM's units.

    file: its name. mass (n,) of the atoms, which come first; sites: those behind them; constraints of
    distances; parts: what was read of the forces of each class; box (3, 3), its edge vectors as rows, None
    without periodic boundaries; remarks for the user.
    """

    file: str
    mass: np.ndarray
    constraints: Interactions
    parts: Mapping[str, ForcePart]
    sites: Sites
    box: np.ndarray | None = None
    remarks: tuple[str, ...] = ()

    @property
    def bonds(self) -> Interactions:
        """Harmonic bonds, p1 p2, d and k."""
        return self._listed("HarmonicBondForce", 2, "d", "k")

    @property
    def angles(self) -> Interactions:
        """Harmonic angles, p1 to p3, a and k."""
        return self._listed("HarmonicAngleForce", 3, "a", "k")

    @property
    def torsions(self) -> Interactions:
        """Periodic torsions, p1 to p4, periodicity, phase and k."""
        return self._listed("PeriodicTorsionForce", 4, "periodicity", "phase", "k")

    @property
    def nonbonded(self) -> dict[str, np.ndarray]:
        """q, sig and eps of the particles, (n,)."""
        return self._nonbonded_part.own[0]

    @property
    def exceptions(self) -> Interactions:
        """Exceptions of the NonbondedForce, p1 p2, q, sig and eps."""
        return self._nonbonded_part.listed or Interactions.none_of(2, "q", "sig", "eps")

    @property
    def settings(self) -> NonbondedSettings:
        """Method, cutoff, switch and corrections of the NonbondedForce."""
        return self._nonbonded_part.own[1]

    @property
    def _nonbonded_part(self) -> ForcePart:
        return self.parts.get("NonbondedForce") or without_force(len(self.sites.order))

    def _listed(self, kind: str, arity: int, *names: str) -> Interactions:
        part = self.parts.get(kind)
        return Interactions.none_of(arity, *names) if part is None or part.listed is None else part.listed


def parse(file: str, data: bytes) -> System:
    """The System in the bytes of an XML file; `file`: its name in messages.

    Raises `UserError` for other files, for what has no counterpart here, and for atoms that do not exist.
    """
    return _read_system(SystemReader(file, _root_of(file, data)))


def refuse_impossible(file: str, constraints: Interactions) -> None:
    """Raise `UserError` for distances that no places of the atoms have: of a pair, and of a triangle."""
    lengths: dict[tuple[int, int], float] = {}
    others: dict[int, set[int]] = {}
    for (i, j), d in zip(constraints.atoms.tolist(), constraints.numbers["d"].tolist(), strict=True):
        if i == j or not d > 0.0:
            raise UserError(
                f"'{file}': Constraint must keep two atoms at a distance above 0, got atoms {i} and {j} at"
                f" {d:g} nm; correct it"
            )
        if (pair := (min(i, j), max(i, j))) in lengths:
            raise UserError(
                f"'{file}': Constraint of atoms {i} and {j} must be there once, got two; leave one out"
            )
        lengths[pair] = d
        others.setdefault(pair[0], set()).add(pair[1])
    for (i, j), d in lengths.items():
        for k in sorted(others[i] & others.get(j, set())):
            sides = d, lengths[i, k], lengths[j, k]
            if 2.0 * max(sides) > sum(sides):
                raise UserError(
                    f"'{file}': Constraints of atoms {i}, {j} and {k} must be the sides of a triangle, got"
                    f" {', '.join(f'{side:g}' for side in sides)} nm, of which one is longer than the others"
                    " together; correct them"
                )


def _root_of(file: str, data: bytes) -> Element:
    """The element of the System. Raises `UserError` for other files."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:  # entities may expand without end
        raise UserError(f"'{file}': must have no document type declaration, got one; remove it")
    root = element_tree(bounded_read(elements, file, data))
    if root.tag != "System":
        raise UserError(
            f"'{file}': must be an OpenMM System, got <{printable(root.tag)}>;"
            " write openmm.XmlSerializer.serialize(system)"
        )
    return root


def _read_system(reader: SystemReader) -> System:
    """The System of a file's elements."""
    _refuse_the_rest(reader)
    parts = {
        name: kind.read_part(reader, reader.forces[name])
        for name, kind in KINDS.items()
        if name in reader.forces
    }
    kept = reader.tuples_of("Constraint", [reader.root], "Constraints/Constraint", 2, ("d",))
    reader.sites.refuse_constraints(reader.file, kept.atoms)
    refuse_impossible(reader.file, kept)
    return System(
        file=reader.file,
        mass=reader.mass,
        constraints=kept,
        parts=parts,
        sites=reader.sites,
        box=_box_vectors(reader) if any(part.periodic for part in parts.values()) else None,
        remarks=(*reader.sites.remarks(reader.file), *(r for part in parts.values() for r in part.remarks)),
    )


def _refuse_the_rest(reader: SystemReader) -> None:
    if strange := [kind for kind in reader.forces if kind not in KINDS]:
        cure = CURES.get(strange[0], "remove it from the System, or write it as an energy of the scene")
        raise UserError(f"'{reader.file}': {printable(strange[0])} is not supported; {cure}")


def _box_vectors(reader: SystemReader) -> np.ndarray:
    rows = [reader.root.find(f"PeriodicBoxVectors/{name}") for name in "ABC"]
    if None in rows:
        raise UserError(f"'{reader.file}': PeriodicBoxVectors need A, B and C; write them")
    found = [row for row in rows if row is not None]
    return np.stack([reader.numbers_of(found, axis, "PeriodicBoxVectors") for axis in "xyz"], axis=1)
