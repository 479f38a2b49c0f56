"""The GBSAOBCForce of a System: radii, scales and charges of its particles, and the solvent that they are in.

    Particles     of each particle q, r, scale
    attributes    method, cutoff, soluteDielectric, solventDielectric, surfaceAreaEnergy

The state has the fields `born_radius` and `born_scale`; charges are those of the NonbondedForce where both
are alike, else the field `born_charge`. Parts are called generalized_born, generalized_born_self, ...
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import Compound, UserError

from ..forces.force_kind import ForceContext, ForceKind
from ..forces.force_part import ForcePart, Numbers
from ..forces.nonbonded_terms import COULOMB
from ..forces.pair_cutoff import METHODS, pair_cutoff
from ..forces.system_reader import SystemReader
from .generalized_born import implicit_solvent

KIND = "GBSAOBCForce"
USUAL = {
    "method": 0.0,
    "cutoff": 1.0,
    "soluteDielectric": 1.0,
    "solventDielectric": 78.3,
    "surfaceAreaEnergy": 2.25936,
}
"""Attributes, and their values where they are not there."""


def read_solvent(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """The one force. Raises `UserError` for two of them, and for other numbers of particles."""
    what = f"'{reader.file}': {KIND}"
    if len(forces) > 1:
        raise UserError(f"'{reader.file}': must have at most one {KIND}, got {len(forces)}; leave others out")
    found = forces[0].findall("Particles/Particle")
    if len(found) != reader.n:
        raise UserError(
            f"{what} must have {reader.n} particles, as the System has, got {len(found)}; write the file"
            " again"
        )
    settings = {name: reader.number_of(forces[0], name, KIND, usual) for name, usual in USUAL.items()}
    if settings["method"] not in range(len(METHODS)):
        raise UserError(
            f"{what}: method must be 0, 1 or 2, got {settings['method']:g}; make the System with one of"
            f" {', '.join(METHODS)}"
        )
    charge, radius, scale = (reader.numbers_of(found, name, KIND) for name in ("q", "r", "scale"))
    fields = {"born_radius": Numbers(radius, "nm", "m"), "born_scale": Numbers(scale)}
    if not np.array_equal(charge, _nonbonded_charges(reader)):
        fields["born_charge"] = Numbers(charge, "e", "C")
    return ForcePart(
        fields=fields, periodic=METHODS[int(settings["method"])] == "CutoffPeriodic", own=settings
    )


def _nonbonded_charges(reader: SystemReader) -> np.ndarray:
    """The charges of the first NonbondedForce; none without it, or where global parameters change them."""
    forces = reader.forces.get("NonbondedForce", [])
    if forces and len(forces[0].find("ParticleOffsets") or ()):
        return np.zeros(0)
    return reader.numbers_of(forces[0].findall("Particles/Particle") if forces else [], "q", "NonbondedForce")


def solvent_terms(context: ForceContext) -> Compound:
    """The maps and energies of the force. Raises `UserError` for a box that does not fit its method."""
    settings, charged = context.part.own, "born_charge" in context.part.fields
    tension = settings["surfaceAreaEnergy"] * context.units.convert("1 kJ mol^-1 nm^-2", "J m^-2")
    return implicit_solvent(
        context.fields,
        within=pair_cutoff(context, f"'{context.file}': {KIND}", int(settings["method"]), settings["cutoff"]),
        surface=tension != 0.0,
        renamed={"charge": "born_charge"} if charged else None,
        units=context.units,
        coulomb_constant=context.units.convert(COULOMB, "N m^2 C^-2"),
        eps_in=settings["soluteDielectric"],
        eps_out=settings["solventDielectric"],
        tension=tension,
    )


KINDS = (ForceKind(KIND, read_solvent, solvent_terms),)
