"""Nets of springs for minusgrad: the energy of a strut, and a tube of them to start from."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """The strut."""
    from .tube import strut

    return [strut]


@hookimpl
def register_states():
    """The tube."""
    from .tube import Tube

    return {"tube": Tube}
