"""Molecules: force fields of bonds, angles, torsions, Lennard-Jones and Coulomb energies; clusters."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Bonded energies; Lennard-Jones and Coulomb energies of all and of 1-4 pairs; an implicit solvent."""
    from .bonded import harmonic_angle, harmonic_bond, periodic_torsion
    from .electrostatics import coulomb, coulomb_14, coulomb_reaction_field
    from .implicit.generalized_born import ace_surface, born_self, generalized_born
    from .lennard_jones import lennard_jones, lennard_jones_14, lennard_jones_mixture
    from .species.mixing_rules import lennard_jones_geometric, lennard_jones_waldman_hagler
    from .torsion_maps import ryckaert_bellemans, torsion_map

    bonded = [harmonic_bond, harmonic_angle, periodic_torsion, ryckaert_bellemans, torsion_map]
    dispersion = [lennard_jones, lennard_jones_mixture, lennard_jones_14]
    dispersion += [lennard_jones_geometric, lennard_jones_waldman_hagler]
    solvent = [generalized_born, born_self, ace_surface]
    return [*bonded, *dispersion, coulomb, coulomb_reaction_field, coulomb_14, *solvent]


@hookimpl
def register_maps():
    """Effective Born radii, and charges that they induce in a solvent; places of virtual sites."""
    from .implicit.born_radii import born_descreening, obc_radius, reduced_radius
    from .implicit.generalized_born import polarization_charge
    from .virtual_sites import local_frame_sites, virtual_sites

    solvent = [reduced_radius, born_descreening, obc_radius, polarization_charge]
    return [*solvent, virtual_sites, local_frame_sites]


@hookimpl
def register_observers():
    """The radial distribution function."""
    from .radial_distribution import OBSERVERS

    return OBSERVERS


@hookimpl
def register_states():
    """Molecules from an OpenMM System, files of atoms, and random clusters."""
    from .atom_files.state import STATES as ATOMS
    from .clusters import STATES as CLUSTERS
    from .states import STATES

    return STATES | CLUSTERS | ATOMS


@hookimpl
def register_compounds():
    """All energies of an OpenMM System, as OpenMM sums them; an implicit solvent; energies by species."""
    from .forces.compound import COMPOUNDS
    from .implicit.compounds import COMPOUNDS as SOLVENTS
    from .species.compound import COMPOUNDS as OF_SPECIES

    return COMPOUNDS | SOLVENTS | OF_SPECIES


@hookimpl
def register_published_values():
    """Clusters and liquids, beside numbers that others have published."""
    from .published import clusters, liquids

    return [*clusters.ROWS, *liquids.ROWS]
