"""Laser deposition: a spot moves along a path, and its dose shall match a target picture."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """The beam where the laser is on, its dose along a path, and what the material makes of the dose."""
    from .dose.blanking import blanking
    from .dose.spots import gaussian_dose, stencil_dose
    from .materials.responses import sigmoid_threshold

    return [blanking, stencil_dose, gaussian_dose, sigmoid_threshold]


@hookimpl
def register_energies():
    """How far the dose is from the target."""
    from .losses.pixel_differences import dose_l1, dose_l2

    return [dose_l2, dose_l1]


@hookimpl
def register_states():
    """A path over a canvas with a target."""
    from .states import STATES

    return STATES


@hookimpl
def register_observers():
    """The dose on the canvas, its error, and the path that leaves it."""
    from .observers import OBSERVERS

    return OBSERVERS
