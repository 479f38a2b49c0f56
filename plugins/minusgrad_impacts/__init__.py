"""Impacts with times of impact: balls, masses above a ground, rigid bodies."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """Impulses of contacts and the motion that they change: balls, masses and boxes above a ground."""
    from .balls import impact, roll
    from .boxes import corner, free, hinge, motion, posture
    from .masses import damped_kick, landing

    return [impact, roll, damped_kick, landing, free, hinge, corner, motion, posture]


@hookimpl
def register_energies():
    """Distances to a goal; springs of variable length; springs and joints between boxes."""
    from .balls import pocket
    from .boxes import actuated_strut, distance, joint
    from .masses import actuated_spring

    return [pocket, actuated_spring, distance, actuated_strut, joint]


@hookimpl
def register_states():
    """Balls at given places; robots of masses and springs; boxes with struts and joints; robots in files."""
    from .linked_boxes import LINKED_BOXES
    from .robot_files import ROBOT_FILES
    from .robots import ROBOTS
    from .spring_robots import SPRING_ROBOTS
    from .tables import BALLS

    return BALLS | SPRING_ROBOTS | ROBOTS | LINKED_BOXES | ROBOT_FILES
