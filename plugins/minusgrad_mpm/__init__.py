"""The material point method: particles, a grid between them, and materials as energies.

Sulsky, Chen & Schreyer 1994, Comput. Methods Appl. Mech. Eng. 118, 179; the affine transfer (APIC) of Jiang
et al. 2015, ACM Trans. Graph. 34(4), 51; stresses through it (MLS-MPM) by Hu et al. 2018, ACM Trans. Graph.
37(4), 150. A step is a program of maps and slopes:

    particles       F_next, momentum q and affine part A of each particle
    to the grid     p = sum of w (q + A d),  mass = sum of w m              `to_grid`
    on the grid     V = p / mass + g dt, then walls and obstacles
    to particles    v_next = dE/dq,  C_next = D^-1 dE/dA,  E = sum of V . p        the transpose of `to_grid`
    particles       x_next = x + dt v_next
"""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Materials and muscles: energies of particles by their deformation gradient."""
    from .materials import corotated, fluid, neo_hookean_particles, particle_muscle

    return [corotated, neo_hookean_particles, fluid, particle_muscle]


@hookimpl
def register_maps():
    """Deformation, transfer to the grid, boundaries, motion of the particles."""
    from .boundaries import grid_velocity, obstacle_contact, wall_contact, wall_sticking
    from .particles import (
        activation,
        fluid_deformation,
        momentum_with_force,
        momentum_with_stress,
        particle_deformation,
        particles_moved,
        particles_moved_within,
    )
    from .transfer import to_grid, to_particles

    return [
        *(
            particle_deformation,
            fluid_deformation,
            activation,
            momentum_with_force,
            momentum_with_stress,
            to_grid,
            to_particles,
        ),
        *(grid_velocity, obstacle_contact, wall_contact, wall_sticking),
        *(particles_moved, particles_moved_within),
    ]


@hookimpl
def register_states():
    """Blocks and sheets of particles above a grid."""
    from .states import STATES

    return STATES


@hookimpl
def register_published_values():
    """A soft crawler, beside the program that it is taken from."""
    from .published.programs import ROWS

    return ROWS
