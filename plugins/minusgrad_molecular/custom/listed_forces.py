"""Custom forces over listed atoms: bonds, angles, torsions, compound bonds and external potentials.

    CustomBondForce             p1 p2, r                       a list and a term for each force
    CustomAngleForce            p1 p2 p3, theta
    CustomTorsionForce          p1 p2 p3 p4, theta
    CustomCompoundBondForce     p1 ... pN, x1 y1 z1 ..., distance, angle, dihedral, point...
    CustomExternalForce         index, x y z, periodicdistance

Atoms that use the box are nearest images along the chain, from the start on. Where a compound bond reads
places themselves, and in `periodicdistance`, each difference is that of nearest images, at each step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element

from minusgrad import bind
from minusgrad.plugin import Node, Term, UnitSystem, UserError

from ..forces.force_kind import ForceContext, ForceKind
from ..forces.force_part import ForceList, ForcePart, Numbers
from ..forces.system_reader import SystemReader
from .custom_force import BOX, CustomForce, read_force
from .emission import Symbols
from .geometry import OF_NUMBERS, OF_POINTS, PLACES, calls_of

INVARIANT = ("translation", "rotation")
VECTOR: dict[str, Any] = {"x": Node("m", ("d",))}
SPACE: dict[str, Any] = {"x": Node("m", (3,))}
ANGLE = "angle_ = angle_between(x[0] - x[1], x[2] - x[1])"
TURN = "angle_ = dihedral_of(x[1] - x[0], x[2] - x[1], x[3] - x[2])"
Declare = Callable[[CustomForce, UnitSystem, int], Any]


@dataclass(frozen=True)
class ListedClass:
    """A class of forces over listed atoms.

    path: of its elements. per: the tag of their parameters. declare: the energy of a force over so many
    atoms. arity: how many; 0: as the force says. index: the attribute of the only atom.
    """

    kind: str
    path: str
    per: str
    declare: Declare
    arity: int = 0
    index: str = ""

    def read_part(self, reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
        """The lists of the forces, and what their terms need. Raises `UserError`."""
        own = [self._read_one(reader, one) for one in forces]
        return ForcePart(
            lists={force.term: listed for force, _, listed in own},
            periodic=any(force.periodic for force, _, _ in own),
            own=[(force, arity) for force, arity, _ in own],
        )

    def _read_one(self, reader: SystemReader, one: Element) -> tuple[CustomForce, int, ForceList]:
        force, arity = read_force(reader, one, self.per), self.arity
        if not arity:
            arity = read_arity(reader, one, force.what, "particles")
        if self.kind == EXTERNAL:
            force = replace(force, periodic="periodicdistance" in force.energy)
        found = one.findall(self.path)
        names = [self.index] if self.index else [f"p{k + 1}" for k in range(arity)]
        atoms = reader.atoms_of(self.kind, found, names)
        return force, arity, ForceList(atoms, read_values(reader, self.kind, force, found))

    def terms(self, context: ForceContext) -> list[Term]:
        """A term for each force that has elements."""
        made = []
        for force, arity in context.part.own:
            energy = self.declare(force, context.units, arity)
            if (rows := context.state.tuples.get(force.term)) is not None:
                given = context.state.data.get(force.term, {})
                data = {a: v for a, v in given.items() if a in energy.roles}
                boxed = force.periodic and not takes_nearest(force)
                images = context.images_of(rows, boxed) if arity > 1 else None
                made.append(
                    bind(
                        energy, context.fields, name=force.term, tuples=rows, images=images, data=data,
                        tables=force.tables_of(energy), units=context.units,
                    )
                )  # fmt: skip
        return made


def read_arity(reader: SystemReader, one: Element, what: str, of: str) -> int:
    """How many particles, or groups, a bond has. Raises `UserError` for none and for too many."""
    number = reader.number_of(one, of, one.get("type", "?"), 0.0)
    if number not in range(1, MOST + 1):
        raise UserError(f"{what}: bonds must have 1 to {MOST} {of}, got {number:g}; divide it among forces")
    return int(number)


def read_values(
    reader: SystemReader, kind: str, force: CustomForce, found: Sequence[Element]
) -> dict[str, Numbers]:
    """The parameters of elements, param1, param2, ..., by argument."""
    names = force.arguments
    return {
        names[name]: Numbers(reader.numbers_of(found, f"param{k + 1}", kind))
        for k, name in enumerate(force.own)
    }


def declare_bond(force: CustomForce, units: UnitSystem, arity: int = 2) -> Any:
    """The energy of a distance r."""
    return force.declare_energy(
        2, units, VECTOR,
        lambda scale: [f"d_ = {scale}(x[0] - x[1])", "rr_ = d_.norm_sqr()", "r_ = ti.sqrt(rr_)"],
        Symbols({"r": "r_"}, {"r": "rr_"}), symmetries=INVARIANT,
    )  # fmt: skip


def declare_angle(force: CustomForce, units: UnitSystem, arity: int = 3) -> Any:
    """The energy of an angle theta."""
    return force.declare_energy(
        3, units, SPACE, lambda scale: [ANGLE], Symbols({"theta": "angle_"}), symmetries=INVARIANT
    )


def declare_torsion(force: CustomForce, units: UnitSystem, arity: int = 4) -> Any:
    """The energy of a dihedral angle theta."""
    return force.declare_energy(
        4, units, SPACE, lambda scale: [TURN], Symbols({"theta": "angle_"}), symmetries=INVARIANT
    )


def declare_external(force: CustomForce, units: UnitSystem, arity: int = 1) -> Any:
    """The energy of a place x, y, z."""
    calls, squares = calls_of({}, False)
    variables = {name: f"p_[{k}]" for k, name in enumerate("xyz")}
    return force.declare_energy(
        1, units, SPACE | (BOX if force.periodic else {}),
        lambda scale: [f"p_ = {scale}x[0]", *([f"cell_ = {scale}box"] if force.periodic else [])],
        Symbols(variables, calls=calls, call_squares=squares), of_numbers={"periodicdistance": 6},
    )  # fmt: skip


def takes_nearest(force: CustomForce, letter: str = "p") -> bool:
    """Whether each difference of a force of several particles is that of nearest images."""
    return force.periodic and (letter == "g" or PLACES.search(force.energy) is not None)


def declare_compound(
    force: CustomForce, units: UnitSystem, arity: int, letter: str = "p", over: Any = None
) -> Any:
    """The energy of several particles, or of centres of groups (letter "g")."""
    points = {f"{letter}{k + 1}": f"p{k + 1}_" for k in range(arity)}
    nearest = takes_nearest(force, letter)
    calls, squares = calls_of(points, nearest)
    places = {f"{axis}{k + 1}": f"p{k + 1}_[{a}]" for k in range(arity) for a, axis in enumerate("xyz")}
    return force.declare_energy(
        over or arity, units, SPACE | (BOX if nearest else {}),
        lambda scale: [
            *(f"p{k + 1}_ = {scale}x[{k}]" for k in range(arity)),
            *([f"cell_ = {scale}box"] if nearest else []),
        ],
        Symbols(places, calls=calls, call_squares=squares), points=[*points], of_points=OF_POINTS,
        of_numbers={name: 3 * n for name, n in OF_NUMBERS.items()},
    )  # fmt: skip


MOST = 32
"""Particles of one compound bond."""
EXTERNAL = "CustomExternalForce"
CLASSES = (
    ListedClass("CustomBondForce", "Bonds/Bond", "PerBondParameters", declare_bond, 2),
    ListedClass("CustomAngleForce", "Angles/Angle", "PerAngleParameters", declare_angle, 3),
    ListedClass("CustomTorsionForce", "Torsions/Torsion", "PerTorsionParameters", declare_torsion, 4),
    ListedClass("CustomCompoundBondForce", "Bonds/Bond", "PerBondParameters", declare_compound),
    ListedClass(EXTERNAL, "Particles/Particle", "PerParticleParameters", declare_external, 1, "index"),
)
KINDS = tuple(ForceKind(one.kind, one.read_part, one.terms) for one in CLASSES)
