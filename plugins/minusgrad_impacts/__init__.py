"""Impacts with times of impact: balls, masses above a ground, rigid bodies."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """Impulses of contacts, and the motion that they change."""
    from .balls import impact, roll

    return [impact, roll]


@hookimpl
def register_energies():
    """Distances to a goal."""
    from .balls import pocket

    return [pocket]


@hookimpl
def register_states():
    """Balls at given places."""
    from .tables import BALLS

    return BALLS
