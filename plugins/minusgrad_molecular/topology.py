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
    known, found = set(_bonded_pairs(bonds)), []
    for row in impropers.tolist():
        arms = [{frozenset((one, other)) for other in row if other != one} for one in row]
        centre = next((k for k in range(4) if arms[k] <= known), None)
        found.append([0, 0, 1, 2] if centre is None else [centre if k else 0 for k in range(4)])
        if centre:
            found[-1][centre] = 0
    return np.array(found, np.int32).reshape(-1, 4)


def _bonded_pairs(rows: np.ndarray) -> list[frozenset[int]]:
    return [frozenset(row) for row in rows.tolist()]


def _urey_bradley_bonds(bonds: np.ndarray, angles: np.ndarray, constraints: np.ndarray) -> np.ndarray:
    """Of each bond, whether it is a Urey-Bradley pair."""
    known, ends = {*_bonded_pairs(bonds), *_bonded_pairs(constraints)}, set(_bonded_pairs(angles[:, [0, 2]]))
    spanned = {
        frozenset((i, k))
        for i, j, k in angles.tolist()
        if {frozenset((i, j)), frozenset((j, k))} <= known - ends
    }
    return np.array([pair in spanned for pair in _bonded_pairs(bonds)], bool)


def _chain_torsions(bonds: np.ndarray, torsions: np.ndarray) -> np.ndarray:
    """Of each torsion, whether its atoms are a chain of bonds."""
    known = set(_bonded_pairs(bonds))
    steps = [_bonded_pairs(torsions[:, [k, k + 1]]) for k in range(3)]
    return np.array([known.issuperset(chain) for chain in zip(*steps, strict=True)], bool)
