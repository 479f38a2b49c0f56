"""Settings of a System that openmm.app makes of other programs' files: in the child of `bounded_read`.

asked       what                                                                    default
nonbonded   METHODS: how pairs without bonds are summed                             pme in a box, else none
cutoff      [nm]                                                                    1 nm
switch      [nm] where Lennard-Jones energies begin to be switched off              no switch
dispersion  whether the rest beyond the cutoff is counted                           OpenMM's: true
constraints, rigid_water    what keeps its length                                   nothing
hydrogen_mass   [u]; what hydrogens get is taken from their neighbours              as in the file
implicit_solvent    of a prmtop or a psf                                            none
box         (3, 3) [nm] edge vectors as rows                                        that of the files
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

METHODS = {
    "no_cutoff": "NoCutoff",
    "cutoff_non_periodic": "CutoffNonPeriodic",
    "cutoff_periodic": "CutoffPeriodic",
    "ewald": "Ewald",
    "pme": "PME",
    "lj_pme": "LJPME",
}
PERIODIC = ("cutoff_periodic", "ewald", "pme", "lj_pme")
CONSTRAINTS = {"none": None, "h_bonds": "HBonds", "all_bonds": "AllBonds", "h_angles": "HAngles"}
SOLVENTS = {"hct": "HCT", "obc1": "OBC1", "obc2": "OBC2", "gbn": "GBn", "gbn2": "GBn2"}
LISTED = ("getNumBonds", "getNumAngles", "getNumTorsions")
CUTOFF = 1.0
"""[nm], as OpenMM has it."""


def box_vectors(asked: Mapping[str, Any], box: np.ndarray | None) -> Any:
    """Edges for openmm.app: those that are asked for, else of the positions [angstrom]; None without."""
    from openmm import Vec3, unit

    edges = asked["box"] if asked["box"] is not None else None if box is None else 0.1 * box
    return None if edges is None else [Vec3(*map(float, edge)) for edge in edges] * unit.nanometer


def create_keywords(asked: Mapping[str, Any], topology: Any, file: str, remarks: list[str]) -> dict[str, Any]:
    """The arguments of `createSystem`; appends to the remarks what is chosen here.

    Raises `UserError` for a method that needs a box where there is none, and for a cutoff beyond half of it.
    """
    from openmm import app, unit

    edges = topology.getPeriodicBoxVectors()
    method = asked["nonbonded"] or ("no_cutoff" if edges is None else "pme")
    if asked["nonbonded"] is None and edges is not None:
        remarks.append(
            f"'{file}': has a box, so its charges are summed by pme, with a cutoff of"
            f" {10.0 * (asked['cutoff'] or CUTOFF):g} angstrom; `nonbonded` and `cutoff` say otherwise"
        )
    if method in PERIODIC and edges is None:
        raise UserError(
            f'nonbonded: "{method}" needs a box, got none in the files; give `box`, or nonbonded ='
            ' "no_cutoff"'
        )
    if method == "no_cutoff" and edges is not None:
        remarks.append(f"'{file}': the box is left out, because nonbonded = \"no_cutoff\" has none")
    if method == "no_cutoff" and (asked["cutoff"] or asked["switch"]):
        name = "cutoff" if asked["cutoff"] else "switch"
        raise UserError(
            f'{name}: nonbonded = "no_cutoff" has none, got one; leave it out, or name another `nonbonded`'
        )
    cutoff = asked["cutoff"] or CUTOFF
    if method in PERIODIC:
        _require_room(cutoff, np.array(edges.value_in_unit(unit.nanometer)), asked["cutoff"] is None)
    kept = CONSTRAINTS[asked["constraints"]]
    found = {
        "nonbondedMethod": getattr(app, METHODS[method]),
        "nonbondedCutoff": cutoff * unit.nanometer,
        "constraints": None if kept is None else getattr(app, kept),
        "rigidWater": asked["rigid_water"],
        "removeCMMotion": False,
    }
    if asked["switch"]:
        found["switchDistance"] = asked["switch"] * unit.nanometer
    if asked["hydrogen_mass"]:
        found["hydrogenMass"] = asked["hydrogen_mass"] * unit.dalton
    return found


def solvent_keyword(asked: Mapping[str, Any], program: str | None = None) -> dict[str, Any]:
    """The argument for the implicit solvent. Raises `UserError` for a program that has none."""
    from openmm import app

    name = asked["implicit_solvent"]
    if name is None:
        return {}
    if program is not None:
        raise UserError(
            f'implicit_solvent: is of a prmtop or a psf, got "{name}" with {program}; name the solvent\'s own'
            ' file in `force_field`, such as "implicit/obc2.xml"'
        )
    return {"implicitSolvent": getattr(app, SOLVENTS[name])}


def set_dispersion(system: Any, dispersion: bool | None) -> None:
    """Count the rest beyond the cutoff in all forces between pairs, or in none; None: as it is."""
    if dispersion is None:
        return
    for force in system.getForces():
        for name in ("setUseDispersionCorrection", "setUseLongRangeCorrection"):
            if hasattr(force, name):
                getattr(force, name)(dispersion)


def remove_empty_forces(system: Any) -> None:
    """Remove forces of bonds, angles or torsions that list none: a psf without impropers has one of these."""
    for k in reversed(range(system.getNumForces())):
        force = system.getForce(k)
        counts = [getattr(force, name)() for name in LISTED if hasattr(force, name)]
        if counts and not any(counts):
            system.removeForce(k)


def _require_room(cutoff: float, box: np.ndarray, is_usual: bool) -> None:
    half = 0.5 * float(np.diag(box).min())
    if cutoff > half * (1.0 + 1e-9):
        got = f"{10.0 * cutoff:g} angstrom{', as it is where none is given' if is_usual else ''}"
        raise UserError(
            f"cutoff: must be at most half of the box, {10.0 * half:g} angstrom, got {got}; give a smaller"
            " one,"
            " or a larger box"
        )
