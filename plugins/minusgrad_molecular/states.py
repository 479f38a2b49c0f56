"""Initial states of molecules: from an OpenMM System, or files that OpenMM makes one of, in run units.

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
epsilon is above 0. Velocities are those of the file of positions, else zero, or those of a `temperature`:
normal with variance k T / m, without a common velocity.

Decisions 0146, 0330.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    ByForm,
    Hold,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    UnitSystem,
    UserError,
    one_or_each,
    quantities,
)

from . import openmm_system
from .forces.force_part import Interactions
from .nonbonded_settings import Block, twice_counted
from .pdb import Atoms
from .programs import door
from .topology import lists_of, parents_of
from .virtual_sites import PLACE, site_data, site_lists

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


Names = Annotated[str | tuple[str, ...], ByForm(one_or_each, ("one", "each"))]
AS_THEY_ARE = ("nonbonded", "dispersion", "constraints", "rigid_water", "implicit_solvent")
TO_MAKE = ("parameters", "include", "defines", *AS_THEY_ARE, "cutoff", "switch", "hydrogen_mass", "box")
"""Keys of a System that is made."""


class Molecule(Record):
    """Molecules: an OpenMM System, a topology of another program, or a force field, and `positions`.

    Of `system`, `topology` and `force_field` one is given. `temperature`: velocities are drawn for it.
    """

    system: str | None = None
    """XML file of an OpenMM System: masses and force field (default: none)."""
    topology: str | None = None
    """AMBER prmtop, GROMACS top or CHARMM psf, which OpenMM reads (default: none)."""
    parameters: Names = ()
    """Files of CHARMM parameters for a psf (par, prm, rtf, str), in their order."""
    force_field: Names = ()
    """OpenMM's force fields by name, or XML files: applied to a PDB or PDBx/mmCIF file with all hydrogens."""
    positions: str
    """File of the positions: PDB, PDBx/mmCIF, gro, inpcrd, rst7 or crd, with its box and velocities."""
    include: str | None = None
    """Folder beside the scene with files that a GROMACS topology includes (default: none)."""
    defines: dict[str, bool | float | str] = Field(default_factory=dict)
    """Macros of a GROMACS topology, in its units: { POSRES = true } (default: FLEXIBLE; false removes it)."""
    nonbonded: (
        Literal["no_cutoff", "cutoff_non_periodic", "cutoff_periodic", "ewald", "pme", "lj_pme"] | None
    ) = None
    """How pairs are summed in the System that is made (default: "pme" in a box, else "no_cutoff")."""
    cutoff: Annotated[float | str | None, Quantity("m", "positive")] = None
    """Cutoff of pairs in the System that is made (default: 10 angstrom)."""
    switch: Annotated[float | str | None, Quantity("m", "positive")] = None
    """Distance from which Lennard-Jones energies are switched off (default: not at all)."""
    dispersion: bool | None = None
    """Whether the System counts the dispersion beyond the cutoff (default: as OpenMM does, true)."""
    constraints: Literal["none", "h_bonds", "all_bonds", "h_angles"] = "none"
    """Lengths kept in place of springs: bonds of hydrogen, all bonds, or those and angles of hydrogen."""
    rigid_water: bool = False
    """Whether waters keep their lengths and angle."""
    hydrogen_mass: Annotated[float | str | None, Quantity("kg", "positive")] = None
    """Mass of hydrogens, taken from the atoms that they are bonded to (default: as in the file)."""
    implicit_solvent: Literal["hct", "obc1", "obc2", "gbn", "gbn2"] | None = None
    """Generalised Born model of a prmtop or a psf (default: none)."""
    box: tuple[Annotated[float | str, Quantity("m", "positive")], ...] | None = None
    """Three edges of a rectangular box (default: that of the positions, else of the topology)."""
    temperature: Annotated[float | str | None, Quantity("K", "nonnegative", absolute=True)] = None
    """Temperature of drawn velocities, 0: at rest (default: velocities of the file, else at rest)."""

    def make(self, context: StateContext) -> State:
        units = context.units
        system, read = self._read_files(context)
        sites, places = system.sites, read.in_order(system.sites.order)
        atoms = places.in_order(np.arange(sites.atoms))
        context.remarks += system.remarks
        lists, parts = lists_of(system), system.parts.values()
        data = {
            name: _convert_numbers(one.numbers, _list_arguments(name, one.numbers), units)
            for name, one in lists.items()
        }
        fields = {"x": atoms.places * units.convert("1 angstrom", "m")} | {
            "m": system.mass * units.convert("1 u", "kg")
        }
        fields["v"] = self._velocities(atoms, fields["m"], sites.held, context)
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
                Body(name, nodes) for name, nodes in _bodies_by_name(places, fields["epsilon"]).items()
            ),
            atoms=atoms.labels(),
            tuples=tuples | site_lists(sites),
            data=data | site_data(sites, units),
            holds=(Hold("massless", "x", sites.held),) if len(sites.held) else (),
            sizes={PLACE: len(sites.order)} if sites.count else {},
            labels={"x": "position", "v": "velocity", "m": "mass", "box": "edges"},
            parents=_image_parents(lists),
            shown=tuple(name for name in ("bonds", "constraints") if name in lists),
            tables={name: one.in_units(units) for part in parts for name, one in part.tables.items()},
            brings=system,
            compare=partial(_energy_differences, system, fields, units.convert("1 nm", "m")),
        )

    def _read_files(self, context: StateContext) -> tuple[openmm_system.System, Atoms]:
        """The System, and the atoms."""
        ways = [name for name in ("system", "topology", "force_field") if getattr(self, name)]
        if len(ways) != 1:
            raise UserError(
                f"system: one of `system`, `topology` and `force_field` must be given, got"
                f" {' and '.join(ways) or 'none'}; a System has all of a topology"
            )
        if self.system is None:
            made = door.make_system(self.request(context.units), context.read)
            context.remarks += made.remarks
            return openmm_system.parse(made.file, made.xml), made.atoms
        if wrong := [name for name in TO_MAKE if _is_given(self, name)]:
            raise UserError(
                f"{wrong[0]}: a System has its own, got it with `system`; leave it out, or give `topology`"
            )
        system = openmm_system.parse(self.system, context.read(self.system))
        atoms = door.read_places(self.positions, context.read(self.positions))
        if len(atoms) != len(system.sites.order):
            raise UserError(
                f"positions: must have the atoms of the System, {len(system.sites.order)}, got {len(atoms)};"
                " give the PDB file that the System was made of"
            )
        _remark_other_box(self.system, self.positions, system.box, atoms.box, context.remarks)
        return system, atoms

    def request(self, units: UnitSystem) -> door.Request:
        """What OpenMM is asked for, in its units."""
        values = quantities(self, units)
        lengths = {
            name: None if getattr(self, name) is None else values[name] / units.convert("1 nm", "m")
            for name in ("cutoff", "switch")
        }
        mass = None if self.hydrogen_mass is None else values["hydrogen_mass"] / units.convert("1 u", "kg")
        return door.Request(
            self.positions, self.topology, _listed_names(self.parameters), _listed_names(self.force_field),
            self.include, self.defines,
            lengths
            | {"hydrogen_mass": mass, "box": self._box_edges(units)}
            | {name: getattr(self, name) for name in AS_THEY_ARE},
        )  # fmt: skip

    def _box_edges(self, units: UnitSystem) -> np.ndarray | None:
        """The edges (3, 3) of `box` [nm]."""
        if self.box is None:
            return None
        if len(self.box) != 3:
            raise UserError(f"box: must be three lengths, got {len(self.box)}; give those of the edges")
        return np.diag(quantities(self, units)["box"]) / units.convert("1 nm", "m")

    def _velocities(self, atoms: Atoms, m: np.ndarray, held: np.ndarray, context: StateContext) -> np.ndarray:
        """Those of the file, or of the temperature; held atoms rest."""
        if self.temperature is None and atoms.velocities is not None:
            v = atoms.velocities * context.units.convert("1 angstrom ps^-1", "m s^-1")
            v[held] = 0.0
            return v
        if atoms.velocities is not None:
            context.remarks.append(
                f"'{self.positions}': its velocities are left out: `temperature` draws others"
            )
        heat = context.units.convert("1.380649e-23 J K^-1", "J K^-1")
        heat *= 0.0 if self.temperature is None else quantities(self, context.units)["temperature"]
        v = context.random("molecule.velocities").normal(size=(len(m), 3)) * np.sqrt(heat / m)[:, None]
        v[held] = 0.0
        free = np.setdiff1d(np.arange(len(m)), held)
        drift = m[free] @ v[free] / m[free].sum() if len(free) else 0.0
        v[free] -= drift
        return v


def _listed_names(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


def _is_given(record: Record, name: str) -> bool:
    """A key is other than where it is left out."""
    usual = type(record).model_fields[name].get_default(call_default_factory=True)
    return bool(getattr(record, name) != usual)


def _remark_other_box(
    system: str, positions: str, box: np.ndarray | None, other: np.ndarray | None, remarks: list[str]
) -> None:
    """A remark where the box of the positions [angstrom] is not that of the System [nm], which counts."""
    if box is not None and other is not None and not np.allclose(10.0 * box, other, rtol=0.0, atol=2e-3):
        edges = [", ".join(f"{edge:g}" for edge in np.diag(one)) for one in (other, 10.0 * box)]
        remarks.append(
            f"'{positions}': has a box of {edges[0]} angstrom, '{system}' one of {edges[1]} angstrom; the"
            " System"
            " counts"
        )


def _energy_differences(
    system: openmm_system.System,
    fields: Mapping[str, np.ndarray],
    nanometre: float,
    blocks: Sequence[Block],
) -> list[str]:
    """Remarks on what the energies of the scene do otherwise than the System."""
    extent = float(np.linalg.norm(np.ptp(fields["x"], axis=0)))
    charged, wells = fields["charge"].any(), fields["epsilon"].any()
    found = system.settings.differences(blocks, nanometre, extent, bool(charged), bool(wells))
    remarks = [f"'{system.file}': its NonbondedForce {one}; the scene counts" for one in found]
    return [*remarks, *twice_counted(system.file, blocks)]


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


def _bodies_by_name(atoms: Atoms, epsilon: np.ndarray) -> dict[str, np.ndarray]:
    """Nodes by the name of their residue, by their chain, and those with a well."""
    chains = ["" if not chain else f"chain_{chain}" for chain in atoms.chains]
    wells = ["lennard_jones" if depth > 0.0 else "" for depth in epsilon]
    found: dict[str, list[int]] = {}
    for names in (atoms.residues, chains, wells):
        for node, name in enumerate(names):
            found.setdefault(name, []).append(node)
    return {name: np.array(nodes, np.int32) for name, nodes in found.items() if name}


STATES = {"molecule": Molecule}
