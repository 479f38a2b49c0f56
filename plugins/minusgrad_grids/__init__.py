"""Fields on the cells of a grid: waves and incompressible flow."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """A step of a wave, and the stages of a step of incompressible flow."""
    from .flow import advected, divergence, pressure, projection, velocity_advected
    from .waves import wave

    return [wave, velocity_advected, divergence, pressure, projection, advected]


@hookimpl
def register_energies():
    """Membranes, and the misfit between a field and a target."""
    from .misfits import height_l2, picture_l2
    from .waves import surface_tension

    return [surface_tension, height_l2, picture_l2]


@hookimpl
def register_states():
    """Fields over the cells of a grid."""
    from .states import STATES

    return STATES
