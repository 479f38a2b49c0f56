"""Elastic rods: stretch, shear, bending in two directions and twist, with frames as quaternions on edges."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Edges with and without shear, joints, clamps, branches of rigid nodes, loads, obstacles."""
    from .bends import rod_bend, rod_branch, rod_clamp
    from .edges import cosserat_edge, kirchhoff_edge
    from .loads import rod_couple, rod_load
    from .obstacles import CONTACTS

    rods = [cosserat_edge, kirchhoff_edge, rod_bend, rod_branch, rod_clamp]
    return [*rods, rod_load, rod_couple, *CONTACTS]


@hookimpl
def register_dissipations():
    """Friction on obstacles, drag of a viscous fluid."""
    from .drag import DRAGS
    from .obstacles import FRICTION

    return [*FRICTION, *DRAGS]


@hookimpl
def register_maps():
    """Material axes and directions of edges."""
    from .axes import rod_axes, rod_tangent

    return [rod_axes, rod_tangent]


@hookimpl
def register_compounds():
    """All energies of a rod in one block."""
    from .compounds import COMPOUNDS

    return COMPOUNDS


@hookimpl
def register_states():
    """Rods: straight, along circles and helices, through points of a file, networks."""
    from .networks import RodNetwork
    from .states import STATES

    return STATES | {"rod_network": RodNetwork}
