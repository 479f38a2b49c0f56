"""Elasticity: solids of triangles and tetrahedra, springs, loads, obstacles and damping."""

from minusgrad import hookimpl


@hookimpl
def register_energies():
    """Two hyperelastic solids, springs, dead loads, obstacles."""
    from .contacts import floor, sphere, wall
    from .hyperelastic import neo_hookean, st_venant_kirchhoff
    from .loads import body_force, load, traction
    from .springs import spring

    return [neo_hookean, st_venant_kirchhoff, spring, body_force, traction, load, floor, wall, sphere]


@hookimpl
def register_dissipations():
    """Damping in proportion to mass, and to the rate of strain."""
    from .damping import mass_damping, strain_rate_damping

    return [mass_damping, strain_rate_damping]


@hookimpl
def register_states():
    """Meshes: generated, from Gmsh, from elsewhere."""
    from .states import STATES

    return STATES


@hookimpl
def register_observers():
    """The energy density of each cell."""
    from .observers import OBSERVERS

    return OBSERVERS
