"""Images of a scene: refraction at a water surface, and marching through a volume."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """Volumes, and the ground under water, as rays see them."""
    from .marching import optical_depth
    from .refraction import refracted

    return [optical_depth, refracted]


@hookimpl
def register_energies():
    """How far views are from their targets."""
    from .losses import view_l2

    return [view_l2]


@hookimpl
def register_states():
    """A volume of cells between cameras."""
    from .states import STATES

    return STATES
