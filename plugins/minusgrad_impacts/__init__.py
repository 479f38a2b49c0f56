"""Impacts with times of impact: balls, masses above a ground, rigid bodies."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """Impulses of contacts and the motion that they change; free flight and landings of masses."""
    from .balls import impact, roll
    from .masses import damped_kick, landing

    return [impact, roll, damped_kick, landing]


@hookimpl
def register_energies():
    """Distances to a goal; springs of variable length."""
    from .balls import pocket
    from .masses import actuated_spring

    return [pocket, actuated_spring]


@hookimpl
def register_states():
    """Balls at given places; robots of boxes."""
    from .robots import ROBOTS
    from .tables import BALLS

    return BALLS | ROBOTS
