"""OpenMM System files: particles, bonded forces, nonbonded parameters and the periodic box, without OpenMM.

The XML is that of `openmm.XmlSerializer.serialize(system)`. Units are OpenMM's: nm, kJ/mol, u, e, rad.

    HarmonicBondForce       p1 p2, d (r_0), k
    HarmonicAngleForce      p1 p2 p3, a (theta_0), k
    PeriodicTorsionForce    p1 p2 p3 p4, periodicity, phase, k
    NonbondedForce          of each particle q, sig, eps; exceptions p1 p2 with q (product), sig, eps
    CMMotionRemover         no energy; left out with a remark
    Constraints             p1 p2, d: a distance that is kept

`NonbondedSettings` are the method, cutoff, switch and corrections of a NonbondedForce, which a scene has in
its own energies. Forces of one type are put together. Other forces, virtual sites and offsets of parameters
are refused by name, and so are constraints that cannot be.

Decisions 0329.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import UserError, bounded_read, node_numbers, printable

from .nonbonded_settings import NAMES, PERIODIC, NonbondedSettings

DEEPEST = 20
"""Elements within one another: a System has 5."""
CURES = {
    "CMAPTorsionForce": "take a force field without CMAP, such as amber14-all.xml",
    "GBSAOBCForce": "leave the implicit solvent out",
    "CustomGBForce": "leave the implicit solvent out",
    "MonteCarloBarostat": "remove it; the stepper of a scene keeps the pressure",
    "MonteCarloAnisotropicBarostat": "remove it; the stepper of a scene keeps the pressure",
    "AndersenThermostat": "remove it; the stepper of a scene keeps the temperature",
}
"""For forces that users are likely to meet."""
KNOWN = (
    "HarmonicBondForce",
    "HarmonicAngleForce",
    "PeriodicTorsionForce",
    "NonbondedForce",
    "CMMotionRemover",
)


@dataclass(frozen=True)
class Interactions:
    """Listed tuples (K, k) of atoms, and numbers (K,) of each by the attribute of the file."""

    atoms: np.ndarray
    numbers: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.atoms)

    def of(self, chosen: np.ndarray) -> "Interactions":
        """Those that a mask (K,) chooses."""
        return Interactions(self.atoms[chosen], {name: n[chosen] for name, n in self.numbers.items()})


@dataclass(frozen=True)
class System:
    """A parsed System, in OpenMM's units.

    mass (n,); bonds, angles and torsions; constraints of distances; nonbonded: q, sig and eps (n,);
    exceptions of pairs; box (3, 3), its edge vectors as rows, None without periodic boundaries; settings of
    the nonbonded force; remarks for the user.
    """

    mass: np.ndarray
    bonds: Interactions
    angles: Interactions
    torsions: Interactions
    constraints: Interactions
    nonbonded: dict[str, np.ndarray]
    exceptions: Interactions
    box: np.ndarray | None
    settings: NonbondedSettings
    remarks: tuple[str, ...] = ()


def parse(file: str, data: bytes) -> System:
    """The System in the bytes of an XML file; `file`: its name in messages.

    Raises `UserError` for other files, for what has no counterpart here, and for atoms that do not exist.
    """
    return _Reader(file, data).system()


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


def elements(file: str, data: bytes) -> dict[str, list]:
    """In the child of `bounded_read`: depth, tag and attributes of each element, in the order of the file."""
    depths: list[int] = []
    tags: list[str] = []
    attributes: list[dict[str, str]] = []
    depth = 0
    try:
        for event, one in ElementTree.iterparse(BytesIO(data), events=("start", "end")):
            if event == "end":
                depth -= 1
                one.clear()
                continue
            depth += 1
            if depth > DEEPEST:
                raise UserError(
                    f"'{file}': elements nest more than {DEEPEST} deep; write it with openmm.XmlSerializer"
                )
            depths.append(depth)
            tags.append(one.tag)
            attributes.append(dict(one.attrib))
    except ElementTree.ParseError as error:
        raise UserError(f"'{file}': is no XML ({error}); write it with openmm.XmlSerializer") from None
    return {"depths": depths, "tags": tags, "attributes": attributes}


def _element_tree(found: Mapping[str, list]) -> Element:
    """The elements as a tree again."""
    open_ones: list[Element] = []
    for depth, tag, attributes in zip(found["depths"], found["tags"], found["attributes"], strict=True):
        del open_ones[depth - 1 :]
        one = Element(tag, attributes)
        if open_ones:
            open_ones[-1].append(one)
        else:
            root = one
        open_ones.append(one)
    return root


class _Reader:
    """Walks through the tree of one file."""

    def __init__(self, file: str, data: bytes):
        self.file = file
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:  # entities may expand without end
            raise UserError(f"'{file}': must have no document type declaration, got one; remove it")
        self.root = _element_tree(bounded_read(elements, file, data))
        if self.root.tag != "System":
            raise UserError(
                f"'{file}': must be an OpenMM System, got <{printable(self.root.tag)}>;"
                " write openmm.XmlSerializer.serialize(system)"
            )
        self.forces: dict[str, list[Element]] = {}
        for force in self.root.iterfind("Forces/Force"):
            self.forces.setdefault(force.get("type", "?"), []).append(force)
        self.n = len(self.root.findall("Particles/Particle"))

    def system(self) -> System:
        self._refuse_the_rest()
        settings, nonbonded, exceptions = self._nonbonded_values()
        torsions = self._listed_tuples(
            "PeriodicTorsionForce", "Torsions/Torsion", 4, ("periodicity", "phase", "k")
        )
        minima = torsions.numbers["periodicity"]
        if (broken := minima[minima != np.rint(minima)]).size:
            raise UserError(
                f"'{self.file}': PeriodicTorsionForce: periodicity must be a whole number, got {broken[0]:g};"
                " correct it"
            )
        kept = self._listed_tuples("Constraint", "Constraints/Constraint", 2, ("d",), [self.root])
        refuse_impossible(self.file, kept)
        removed = f"'{self.file}': CMMotionRemover is left out: steppers here keep the momentum"
        return System(
            mass=self._particle_masses(),
            bonds=self._listed_tuples("HarmonicBondForce", "Bonds/Bond", 2, ("d", "k")),
            angles=self._listed_tuples("HarmonicAngleForce", "Angles/Angle", 3, ("a", "k")),
            torsions=torsions,
            constraints=kept,
            nonbonded=nonbonded,
            exceptions=exceptions,
            box=self._box_vectors() if settings.method in PERIODIC else None,
            settings=settings,
            remarks=(removed,) if "CMMotionRemover" in self.forces else (),
        )

    def _refuse_the_rest(self) -> None:
        if not self.n:
            raise UserError(f"'{self.file}': has no particles; write a System with some")
        if strange := [kind for kind in self.forces if kind not in KNOWN]:
            cure = CURES.get(strange[0], "remove it from the System, or write it as an energy of the scene")
            raise UserError(f"'{self.file}': {strange[0]} is not supported; {cure}")
        sites = (k for k, one in enumerate(self.root.iterfind("Particles/Particle")) if len(one))
        if (site := next(sites, None)) is not None:
            raise UserError(
                f"'{self.file}': virtual sites are not supported, got particle {site}; take a model without,"
                " such as TIP3P for water"
            )
        for force in self.forces.get("NonbondedForce", ()):
            for name in ("GlobalParameters", "ParticleOffsets", "ExceptionOffsets"):
                if len(force.find(name) or ()):
                    raise UserError(
                        f"'{self.file}': {name} of NonbondedForce are not supported; set the parameters of"
                        " particles themselves"
                    )

    def _particle_masses(self) -> np.ndarray:
        mass = self._attribute_numbers(self.root.findall("Particles/Particle"), "mass", "Particle")
        if (light := np.flatnonzero(~(mass > 0.0))).size:
            raise UserError(
                f"'{self.file}': particle {light[0]} must have a mass above 0, got {mass[light[0]]:g};"
                " give it its mass and hold it in the scene"
            )
        return mass

    def _box_vectors(self) -> np.ndarray:
        rows = [self.root.find(f"PeriodicBoxVectors/{name}") for name in "ABC"]
        if None in rows:
            raise UserError(f"'{self.file}': PeriodicBoxVectors need A, B and C; write them")
        found = [row for row in rows if row is not None]
        return np.stack(
            [self._attribute_numbers(found, axis, "PeriodicBoxVectors") for axis in "xyz"], axis=1
        )

    def _listed_tuples(
        self,
        kind: str,
        path: str,
        arity: int,
        names: Sequence[str],
        within: Sequence[Element] | None = None,
    ) -> Interactions:
        """Tuples of atoms and their numbers in the elements `within`, by default the forces of that kind."""
        places = self.forces.get(kind, []) if within is None else within
        found = [one for place in places for one in place.iterfind(path)]
        what = f"'{self.file}': {kind}"
        columns = [self._attribute_numbers(found, f"p{k + 1}", kind) for k in range(arity)]
        atoms = np.stack(columns, axis=1).reshape(-1, arity)
        wrong = ((atoms != np.rint(atoms)) | (atoms < 0) | (atoms >= self.n)).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise UserError(
                f"{what}: atoms must be whole numbers from 0 to {self.n - 1}, got"
                f" {', '.join(f'{a:g}' for a in atoms[row])}; correct number {row}"
            )
        return Interactions(
            node_numbers(what, atoms.astype(np.int64)),
            {name: self._attribute_numbers(found, name, kind) for name in names},
        )

    def _nonbonded_values(self) -> tuple[NonbondedSettings, dict[str, np.ndarray], Interactions]:
        """The settings, charge, sigma and epsilon of particles, and the exceptions."""
        forces = self.forces.get("NonbondedForce", [])
        if len(forces) > 1:
            raise UserError(
                f"'{self.file}': must have at most one NonbondedForce, got {len(forces)}; put them together"
            )
        names = ("q", "sig", "eps")
        exceptions = self._listed_tuples("NonbondedForce", "Exceptions/Exception", 2, names)
        if not forces:
            return NonbondedSettings(), {name: np.zeros(self.n) for name in names}, exceptions
        found = forces[0].findall("Particles/Particle")
        if len(found) != self.n:
            raise UserError(
                f"'{self.file}': NonbondedForce must have {self.n} particles, as the System has,"
                f" got {len(found)}; write the file again"
            )
        return (
            self._nonbonded_settings(forces[0]),
            {name: self._attribute_numbers(found, name, "NonbondedForce") for name in names},
            exceptions,
        )

    def _nonbonded_settings(self, force: Element) -> NonbondedSettings:
        """Method, cutoff, switch and corrections. Raises `UserError` for those without a counterpart here."""
        names = {"method": 0.0, "cutoff": 0.0, "useSwitchingFunction": 0.0, "switchingDistance": -1.0}
        names |= {"dispersionCorrection": 0.0, "rfDielectric": 78.3, "includeDirectSpace": 1.0}
        found = {
            name: self._attribute_numbers([force], name, "NonbondedForce")[0]
            if name in force.attrib
            else usual
            for name, usual in names.items()
        }
        method = int(found["method"])
        if method != found["method"] or method not in range(len(NAMES) - 1):
            shown = dict(enumerate(NAMES)).get(method, f"{found['method']:g}")
            raise UserError(
                f"'{self.file}': NonbondedForce with the method {shown}"
                " is not supported; make the System with PME, and a dispersion correction"
            )
        if not found["includeDirectSpace"]:
            raise UserError(
                f"'{self.file}': NonbondedForce without its direct space is not supported; set"
                " setIncludeDirectSpace(True)"
            )
        begin, cutoff = found["switchingDistance"], found["cutoff"]
        switched = bool(found["useSwitchingFunction"]) and method and 0.0 <= begin < cutoff
        return NonbondedSettings(
            method,
            float(cutoff),
            float(begin) if switched else None,
            bool(found["dispersionCorrection"]),
            float(found["rfDielectric"]),
        )

    def _attribute_numbers(self, found: Sequence[Element], name: str, what: str) -> np.ndarray:
        """One attribute of some elements, shape (K,)."""
        try:
            numbers = np.array([float(one.attrib[name]) for one in found])
        except (KeyError, ValueError):
            numbers = np.full(1, np.nan)
        if not np.isfinite(numbers).all():
            raise UserError(
                f"'{self.file}': {what} needs a finite number `{name}` everywhere; write the file again"
            )
        return numbers
