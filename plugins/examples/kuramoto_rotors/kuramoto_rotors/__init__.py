"""Coupled oscillators after Kuramoto: two maps that make a step, a state, an observer of their order."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """The mean pull of all others, and the step."""
    from .rotors import kuramoto_pull, kuramoto_step

    return [kuramoto_pull, kuramoto_step]


@hookimpl
def register_states():
    """Oscillators with Lorentzian frequencies."""
    from .rotors import Rotors

    return {"kuramoto_rotors": Rotors}


@hookimpl
def register_observers():
    """The order parameter."""
    from .rotors import OrderBlock

    return {"kuramoto_order": OrderBlock}
