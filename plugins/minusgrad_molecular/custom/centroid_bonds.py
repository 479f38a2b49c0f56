"""CustomCentroidBondForce: energies of the centres of groups of particles, which are a map.

    c_g = sum_i w_i x_i / sum_i w_i        over the particles i of group g; w_i: as given, or the masses
    u(c_g1, c_g2, ...)                     distance(g1, g2), angle, dihedral, x1 y1 z1, ..., point...

c (groups, 3) [m] is the field custom_centroid_bond_centres. Centres are those of places as they are, without
images; where the force uses the box each difference of centres is that of nearest images.
"""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad import bind
from minusgrad.plugin import Compound, Datum, Node, UserError, local_map

from ..forces.force_kind import ForceContext, ForceKind
from ..forces.force_part import ForceList, ForcePart, Numbers
from ..forces.system_reader import SystemReader
from .custom_force import CustomForce, read_force
from .listed_forces import declare_compound, read_arity, read_values

KIND = "CustomCentroidBondForce"


@local_map(
    "centre",
    gives="centres",
    over=("group", "particle"),
    unit="m",
    shape=(3,),
    x=Node("m", (3,), of="particle"),
    weight=Datum("1", about="Share of the particle in the centre of the group."),
)
def centre(x, weight):
    """The share of a particle in the centre of its group."""
    return weight * x[1]


def read_centroids(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """Members of groups with their shares, and bonds of groups. Raises `UserError`."""
    masses = reader.numbers_of(reader.root.findall("Particles/Particle"), "mass", "Particle")
    own: list[tuple[CustomForce, int, int]] = []
    lists: dict[str, ForceList] = {}
    for one in forces:
        force = read_force(reader, one, "PerBondParameters")
        arity = read_arity(reader, one, force.what, "groups")
        groups = one.findall("Groups/Group")
        members = [_read_group(reader, force.what, k, group, masses) for k, group in enumerate(groups)]
        found = one.findall("Bonds/Bond")
        bonds = _groups_of(reader, force.what, found, arity, len(groups))
        own.append((force, arity, len(groups)))
        if len(bonds):
            rows = [np.stack([np.full(len(atoms), k), atoms], axis=1) for k, (atoms, _) in enumerate(members)]
            shares = np.concatenate([share for _, share in members])
            lists[f"{force.term}_members"] = ForceList(np.concatenate(rows), {"weight": Numbers(shares)})
            lists[force.term] = ForceList(bonds, read_values(reader, KIND, force, found))
    return ForcePart(lists=lists, periodic=any(force.periodic for force, _, _ in own), own=own)


def _read_group(
    reader: SystemReader, what: str, number: int, group: Element, masses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The particles of a group (K,), and their shares (K,), which sum to 1."""
    found = group.findall("Particle")
    atoms = reader.atoms_of(KIND, found, ["p"])[:, 0]
    given = [one for one in found if "weight" in one.attrib]
    weights = reader.numbers_of(found, "weight", KIND) if given else masses[atoms]
    if not len(found) or not weights.sum():
        raise UserError(f"{what}: group {number} needs particles whose weights do not sum to 0; correct it")
    return atoms, weights / weights.sum()


def _groups_of(
    reader: SystemReader, what: str, found: Sequence[Element], arity: int, count: int
) -> np.ndarray:
    """The groups (K, k) of bonds. Raises `UserError` for those that do not exist."""
    rows = np.stack([reader.numbers_of(found, f"g{k + 1}", KIND) for k in range(arity)], axis=1)
    wrong = ((rows != np.rint(rows)) | (rows < 0) | (rows >= count)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UserError(
            f"{what}: groups must be whole numbers from 0 to {count - 1}, got"
            f" {', '.join(f'{g:g}' for g in rows[row])}; correct bond {row}"
        )
    return rows.astype(np.int32).reshape(-1, arity)


def centroid_terms(context: ForceContext) -> Compound:
    """A map and a term for each force that has bonds."""
    maps: list[Any] = []
    terms: list[Any] = []
    state, fields = context.state, context.fields
    for force, arity, count in context.part.own:
        energy = declare_compound(force, context.units, arity, "g", over=("group",) * arity)
        if force.term not in state.tuples:
            continue
        members, centres = f"{force.term}_members", f"{force.term}_centres"
        maps.append(
            bind(
                centre, fields, name=centres, gives=centres, tuples=state.tuples[members],
                data=state.data[members], sizes={"group": count}, units=context.units,
            )
        )  # fmt: skip
        data = {a: v for a, v in state.data.get(force.term, {}).items() if a in energy.roles}
        terms.append(
            bind(
                energy, fields, name=force.term, tuples=state.tuples[force.term], renamed={"x": centres},
                data=data, tables=force.tables_of(energy), units=context.units,
            )
        )  # fmt: skip
    return Compound(terms, maps)


KINDS = (ForceKind(KIND, read_centroids, centroid_terms),)
