"""The classes of forces that are obeyed or left out, by name, and what to do about some that are refused."""

from ..implicit import gbsa_force
from . import bonded_forces, forces_left_out, nonbonded_force, torsion_forces

KINDS = {
    kind.name: kind
    for rows in (bonded_forces, torsion_forces, nonbonded_force, gbsa_force, forces_left_out)
    for kind in rows.KINDS
}
"""By the class in the file, in the order of their terms."""
CURES = {
    "CustomGBForce": "leave the implicit solvent out",
}
"""For forces that users are likely to meet."""
