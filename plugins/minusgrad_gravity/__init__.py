"""Gravity: Newton's potential between point masses, and states to start from."""

from minusgrad.plugin import hookimpl

from .states import STATES


@hookimpl
def register_energies():
    """Gravity, Plummer-softened."""
    from .gravity import gravity

    return [gravity]


@hookimpl
def register_states():
    """Two bodies, a Plummer sphere, random points, a table of bodies."""
    return STATES
