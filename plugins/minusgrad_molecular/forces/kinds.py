"""The classes of forces that are obeyed or left out, by name, and what to do about some that are refused."""

from ..custom import centroid_bonds, listed_forces, nonbonded_pairs
from ..implicit import custom_gb_force, gbsa_force
from . import bonded_forces, forces_left_out, nonbonded_force, torsion_forces

OWN = (bonded_forces, torsion_forces, nonbonded_force, gbsa_force, custom_gb_force)
CUSTOM = (listed_forces, nonbonded_pairs, centroid_bonds)
KINDS = {kind.name: kind for rows in (*OWN, *CUSTOM, forces_left_out) for kind in rows.KINDS}
"""By the class in the file, in the order of their terms."""
AMOEBA = ("Multipole", "Vdw", "TorsionTorsion", "GeneralizedKirkwood", "WcaDispersion")
POLARISABLE = ("DrudeForce", "HippoNonbondedForce", *(f"Amoeba{one}Force" for one in AMOEBA))
CURES = {
    "CustomHbondForce": "list its triples as a CustomCompoundBondForce, or leave it out",
    "CustomManyParticleForce": "list its sets as a CustomCompoundBondForce, or write an energy over triples",
    "CustomCVForce": "write the forces of its variables themselves, or an energy of the scene",
    "CustomVolumeForce": "leave it out; the stepper of the scene keeps the pressure",
    **dict.fromkeys(POLARISABLE, "take a force field with fixed charges"),
    "GayBerneForce": "take spheres, or several atoms for each ellipsoid",
    "RMSDForce": "hold or restrain the atoms themselves, by a CustomExternalForce",
}
"""For forces that users are likely to meet."""
