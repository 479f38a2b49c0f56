"""Elastic rods: stretch, shear, bending in two directions and twist, with frames as quaternions on edges."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Edges with and without shear, joints, clamps."""
    from .bends import rod_bend, rod_clamp
    from .edges import cosserat_edge, kirchhoff_edge

    return [cosserat_edge, kirchhoff_edge, rod_bend, rod_clamp]


@hookimpl
def register_compounds():
    """All energies of a rod in one block."""
    from .compounds import COMPOUNDS

    return COMPOUNDS


@hookimpl
def register_states():
    """Rods: straight, along circles and helices, through points of a file."""
    from .states import STATES

    return STATES
