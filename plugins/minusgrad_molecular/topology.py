"""Topology of molecules: proper and improper torsions, Urey-Bradley pairs, 1-4 pairs, exclusions.

A proper torsion is a chain of three bonds; the four atoms of an improper one are no such chain. A
Urey-Bradley pair is a bond between the ends of an angle whose arms are bonds that end no angle themselves
(all three sides of a ring of three are bonds). An exception of a NonbondedForce replaces the energies of
its pair by its own: the pair is excluded, and where its own are not zero it is a 1-4 pair as well. A
constraint of a pair is a bond of fixed length.
"""

import numpy as np

from .forces.force_part import Interactions
from .openmm_system import System

LISTS = ("bonds", "urey_bradley", "angles", "torsions", "impropers", "constraints", "pairs14", "exclusions")


def lists_of(system: System) -> dict[str, Interactions]:
    """The lists of a System by the names of LISTS, without those that are empty."""
    bonds, angles, torsions, pairs = system.bonds, system.angles, system.torsions, system.exceptions
    across = _urey_bradley_bonds(bonds.atoms, angles.atoms, system.constraints.atoms)
    kept = np.concatenate([bonds.atoms[~across], system.constraints.atoms])
    chains = _chain_torsions(kept, torsions.atoms)
    left = (pairs.numbers["q"] != 0.0) | (pairs.numbers["eps"] != 0.0)
    found = {
        "bonds": bonds.of(~across),
        "urey_bradley": bonds.of(across),
        "angles": angles,
        "torsions": torsions.of(chains),
        "impropers": torsions.of(~chains),
        "constraints": system.constraints,
        "pairs14": pairs.of(left),
        "exclusions": Interactions(pairs.atoms, {}),
    }
    return {name: one for name, one in found.items() if len(one)}


def parents_of(impropers: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    """The slots that the images of improper torsions follow, (K, 4): that of the atom bonded to all others.

    Without such an atom each slot follows the one before it.
    """
    rows = np.asarray(impropers, np.int64).reshape(-1, 4)
    arms = np.stack([rows[:, :, None].repeat(4, 2), rows[:, None, :].repeat(4, 1)], axis=-1)
    is_arm = np.isin(_pair_keys(arms), _pair_keys(bonds)) | (arms[..., 0] == arms[..., 1])
    is_centre = is_arm.all(axis=2)
    centre = np.argmax(is_centre, axis=1)
    found = np.where(np.arange(4) == 0, 0, centre[:, None])
    found[np.arange(len(rows)), centre] = 0
    found[~is_centre.any(axis=1)] = 0, 0, 1, 2
    return found.astype(np.int32)


def _pair_keys(pairs: np.ndarray) -> np.ndarray:
    """One number for each pair of atoms, whatever their order; pairs (..., 2)."""
    pairs = np.asarray(pairs, np.int64)
    return pairs.min(axis=-1) << 32 | pairs.max(axis=-1)


def _urey_bradley_bonds(bonds: np.ndarray, angles: np.ndarray, constraints: np.ndarray) -> np.ndarray:
    """Of each bond, whether it is a Urey-Bradley pair."""
    ends = _pair_keys(angles[:, [0, 2]])
    arms = np.setdiff1d(np.concatenate([_pair_keys(bonds), _pair_keys(constraints)]), ends)
    is_spanned = np.isin(_pair_keys(angles[:, [0, 1]]), arms) & np.isin(_pair_keys(angles[:, [1, 2]]), arms)
    return np.isin(_pair_keys(bonds), ends[is_spanned])


def _chain_torsions(bonds: np.ndarray, torsions: np.ndarray) -> np.ndarray:
    """Of each torsion, whether its atoms are a chain of bonds."""
    steps = np.stack([torsions[:, [k, k + 1]] for k in range(3)], axis=1)
    return np.asarray(np.isin(_pair_keys(steps), _pair_keys(bonds)).all(axis=1))
