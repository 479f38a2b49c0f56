"""Initial states of molecules: from an OpenMM System and the places of its atoms, in run units.

    field       shape       unit
    x, v        (n, 3)      m, m s^-1
    m           (n,)        kg
    charge      (n,)        C
    sigma       (n,)        m           Lennard-Jones
    epsilon     (n,)        J
    box         (1, 3, 3)   m           edge vectors as rows, of a periodic System

    list            rows        data of its elements                                    energies
    bonds           (K, 2)      rest [m], stiffness [N/m]                               harmonic_bond
    urey_bradley    (K, 2)      the same, between the ends of angles                    harmonic_bond
    angles          (K, 3)      rest [rad], stiffness [J]                               harmonic_angle
    torsions        (K, 4)      multiplicity, phase [rad], stiffness [J]                periodic_torsion
    impropers       (K, 4)      the same, of atoms that are no chain                    periodic_torsion
    constraints     (K, 2)      length [m] that is kept                                 (constraint) rod
    pairs14         (K, 2)      charge_product [C^2], sigma [m], epsilon [J]            of 1-4 pairs
    exclusions      (K, 2)      of pairs without nonbonded energies, or with those of a 1-4 pair

Bodies are the residues by name (ALA, HOH), the chains (chain_A), and `lennard_jones`, the atoms whose
epsilon is above 0. Velocities are zero, or those of a `temperature`: normal with variance k T / m, without
a common velocity.

Decisions 0330.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

import numpy as np

from minusgrad.plugin import (
    Body,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    UnitSystem,
    UserError,
    quantities,
)

from . import openmm_system, pdb
from .forces.force_part import Interactions
from .nonbonded_settings import Block
from .topology import lists_of, parents_of

ARGUMENTS = {
    "d": ("rest", "1 nm", "m"),
    "k": ("stiffness", "1 kJ/mol", "J"),
    "a": ("rest", "1 rad", "rad"),
    "periodicity": ("multiplicity", "1", "1"),
    "phase": ("phase", "1 rad", "rad"),
    "q": ("charge_product", f"{1.602176634e-19**2!r} C^2", "C^2"),
    "sig": ("sigma", "1 nm", "m"),
    "eps": ("epsilon", "1 kJ/mol", "J"),
}
"""By the attribute in the file: the argument of the energy, OpenMM's unit and that of the argument."""
PER_LENGTH = {"k": ("stiffness", "1 kJ mol^-1 nm^-2", "N/m")}
"""Of bonds."""
KEPT = {"d": ("length", "1 nm", "m")}
"""Of constraints."""
OF_PARTICLES = {
    "q": ("charge", "1.602176634e-19 C", "C"),
    "sig": ARGUMENTS["sig"],
    "eps": ARGUMENTS["eps"],
}
UNITS = {"x": "m", "v": "m s^-1", "m": "kg", "charge": "C", "sigma": "m", "epsilon": "J", "box": "m"}


class Molecule(Record):
    """Molecules: force field of an OpenMM System (`system`, XML), places of a PDB file (`positions`).

    `temperature`: velocities are drawn for it; default: at rest.
    """

    system: str
    """XML file of an OpenMM System: masses and force field."""
    positions: str
    """PDB file of the positions."""
    temperature: Annotated[float | str, Quantity("K", "nonnegative")] = 0.0
    """Temperature for which velocities are drawn; 0: at rest."""

    def make(self, context: StateContext) -> State:
        units = context.units
        system = openmm_system.parse(self.system, context.read(self.system))
        atoms = pdb.parse(self.positions, context.read(self.positions))
        if len(atoms) != len(system.mass):
            raise UserError(
                f"positions: must have the atoms of the System, {len(system.mass)}, got {len(atoms)};"
                " give the PDB file that the System was made of"
            )
        context.remarks += system.remarks
        lists, parts = lists_of(system), system.parts.values()
        data = {
            name: _convert_numbers(one.numbers, _list_arguments(name, one.numbers), units)
            for name, one in lists.items()
        }
        fields = {"x": atoms.places * units.convert("1 angstrom", "m")} | {
            "m": system.mass * units.convert("1 u", "kg")
        }
        fields["v"] = self._draw_velocities(fields["m"], context)
        fields |= _convert_numbers(system.nonbonded, OF_PARTICLES, units)
        own = {name: numbers for part in parts for name, numbers in part.fields.items()}
        fields |= {name: numbers.in_units(units) for name, numbers in own.items()}
        of_forces = {name: one for part in parts for name, one in part.lists.items() if len(one.atoms)}
        data |= {name: {a: n.in_units(units) for a, n in one.data.items()} for name, one in of_forces.items()}
        tuples = {name: one.atoms for name, one in (lists | of_forces).items()}
        if system.box is not None:
            fields["box"] = system.box[None] * units.convert("1 nm", "m")
        return State(
            fields=fields,
            units={name: own[name].unit if name in own else UNITS[name] for name in fields},
            motions=(Motion("x", "v", "m"),),
            bodies=tuple(
                Body(name, nodes) for name, nodes in _bodies_by_name(atoms, fields["epsilon"]).items()
            ),
            atoms=atoms.labels(),
            tuples=tuples,
            data=data,
            labels={"x": "position", "v": "velocity", "m": "mass", "box": "edges"},
            parents=_image_parents(lists),
            shown=tuple(name for name in ("bonds", "constraints") if name in lists),
            tables={name: one.in_units(units) for part in parts for name, one in part.tables.items()},
            brings=system,
            compare=partial(self._energy_differences, system, fields, units.convert("1 nm", "m")),
        )

    def _energy_differences(
        self,
        system: openmm_system.System,
        fields: Mapping[str, np.ndarray],
        nanometre: float,
        blocks: Sequence[Block],
    ) -> list[str]:
        """Remarks on what the energies of the scene do otherwise than the System."""
        extent = float(np.linalg.norm(np.ptp(fields["x"], axis=0)))
        charged, wells = fields["charge"].any(), fields["epsilon"].any()
        found = system.settings.differences(blocks, nanometre, extent, bool(charged), bool(wells))
        return [f"'{self.system}': its NonbondedForce {one}; the scene counts" for one in found]

    def _draw_velocities(self, m: np.ndarray, context: StateContext) -> np.ndarray:
        heat = context.units.convert("1.380649e-23 J K^-1", "J K^-1")
        heat *= quantities(self, context.units)["temperature"]
        v = context.random("molecule.velocities").normal(size=(len(m), 3)) * np.sqrt(heat / m)[:, None]
        return v - m @ v / m.sum()


def _image_parents(lists: Mapping[str, Interactions]) -> dict[str, np.ndarray]:
    """How the images of impropers follow: from the atom in their middle."""
    if "impropers" not in lists:
        return {}
    bonds = [lists[name].atoms for name in ("bonds", "constraints") if name in lists]
    return {
        "impropers": parents_of(lists["impropers"].atoms, np.concatenate([np.zeros((0, 2), int), *bonds]))
    }


def _list_arguments(name: str, numbers: Mapping[str, np.ndarray]) -> dict[str, tuple[str, str, str]]:
    """What the numbers of a list are."""
    return KEPT if name == "constraints" else ARGUMENTS | (PER_LENGTH if "d" in numbers else {})


def _convert_numbers(
    numbers: Mapping[str, np.ndarray], arguments: Mapping[str, tuple[str, str, str]], units: UnitSystem
) -> dict[str, np.ndarray]:
    """Numbers of a file by argument, in the run's units."""
    found = {}
    for name, values in numbers.items():
        argument, given, needed = arguments[name]
        whole = argument == "multiplicity"
        found[argument] = np.rint(values).astype(np.int32) if whole else values * units.convert(given, needed)
    return found


def _bodies_by_name(atoms: pdb.Atoms, epsilon: np.ndarray) -> dict[str, np.ndarray]:
    """Nodes by the name of their residue, by their chain, and those with a well."""
    chains = ["" if not chain else f"chain_{chain}" for chain in atoms.chains]
    wells = ["lennard_jones" if depth > 0.0 else "" for depth in epsilon]
    found: dict[str, list[int]] = {}
    for names in (atoms.residues, chains, wells):
        for node, name in enumerate(names):
            found.setdefault(name, []).append(node)
    return {name: np.array(nodes, np.int32) for name, nodes in found.items() if name}


STATES = {"molecule": Molecule}
