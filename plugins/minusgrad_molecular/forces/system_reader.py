"""Numbers and tuples of atoms in the elements of an OpenMM System file, checked.

Particles are numbered with atoms first and virtual sites behind them (`site_elements`).
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import UserError, node_numbers, printable

from ..site_elements import Sites, read_sites
from .force_part import Interactions

BOX_KEYS = ("usesPeriodic", "usesPeriodicBoundaryConditions")
"""Attributes by which forces say that they use the periodic box."""


class SystemReader:
    """The elements of one file: `root`, and the `forces` by class; `n` particles, and the `sites` of these.

    Elements of all particles, of the System and of forces, are put in the order of the sites. Raises
    `UserError` without particles.
    """

    def __init__(self, file: str, root: Element):
        self.file, self.root = file, root
        self.forces: dict[str, list[Element]] = {}
        for force in root.iterfind("Forces/Force"):
            self.forces.setdefault(force.get("type", "?"), []).append(force)
        particles = root.findall("Particles/Particle")
        self.n = len(particles)
        if not self.n:
            raise UserError(f"'{file}': has no particles; write a System with some")
        mass = self.numbers_of(particles, "mass", "Particle")
        self.sites: Sites = read_sites(file, particles, mass)
        self.mass = self.sites.inertia(file, mass[self.sites.order])
        for owner in (root, *root.iterfind("Forces/Force")):
            for every in owner.iterfind("Particles"):
                if len(every) == self.n:
                    every[:] = [every[k] for k in self.sites.order]

    def tuples_of(
        self, kind: str, within: Sequence[Element], path: str, arity: int, names: Sequence[str]
    ) -> Interactions:
        """The tuples of atoms, p1 to p`arity`, and numbers of the elements at a path within some others.

        kind: the class of forces, which messages name. Raises `UserError` for atoms that do not exist.
        """
        found = [one for place in within for one in place.iterfind(path)]
        atoms = self.atoms_of(kind, found, [f"p{k + 1}" for k in range(arity)])
        return Interactions(atoms, {name: self.numbers_of(found, name, kind) for name in names})

    def atoms_of(self, kind: str, found: Sequence[Element], names: Sequence[str]) -> np.ndarray:
        """The atoms (K, k) that attributes of elements name. Raises `UserError` for others."""
        columns = [self.numbers_of(found, name, kind) for name in names]
        atoms = np.stack(columns, axis=1).reshape(-1, len(names))
        wrong = ((atoms != np.rint(atoms)) | (atoms < 0) | (atoms >= self.n)).any(axis=1)
        what = f"'{self.file}': {kind}"
        if wrong.any():
            row = int(np.argmax(wrong))
            raise UserError(
                f"{what}: atoms must be whole numbers from 0 to {self.n - 1}, got"
                f" {', '.join(f'{a:g}' for a in atoms[row])}; correct number {row}"
            )
        return node_numbers(what, self.sites.places[atoms.astype(np.int64)])

    def numbers_of(self, found: Sequence[Element], name: str, what: str) -> np.ndarray:
        """One attribute of some elements, shape (K,). Raises `UserError` for what is no finite number."""
        try:
            numbers = np.array([float(one.attrib[name]) for one in found])
        except (KeyError, ValueError):
            numbers = np.full(1, np.nan)
        if not np.isfinite(numbers).all():
            raise UserError(
                f"'{self.file}': {what} needs a finite number `{name}` everywhere; write the file again"
            )
        return numbers

    def number_of(self, one: Element, name: str, what: str, usual: float) -> float:
        """One attribute of an element, `usual` where it is not there."""
        return float(self.numbers_of([one], name, what)[0]) if name in one.attrib else usual

    def uses_box(self, forces: Sequence[Element]) -> bool:
        """Whether forces of one class use the periodic box. Raises `UserError` where only some do."""
        kind = forces[0].get("type", "?")
        said = {
            bool(self.number_of(one, key, kind, 0.0))
            for one in forces
            for key in [next((key for key in BOX_KEYS if key in one.attrib), "")]
        }
        if len(said) > 1:
            raise UserError(
                f"'{self.file}': all forces {printable(kind)} must use the periodic box, or none, got both;"
                " give them the same setUsesPeriodicBoundaryConditions"
            )
        return True in said
