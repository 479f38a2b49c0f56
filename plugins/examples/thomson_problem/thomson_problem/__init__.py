"""Charges on a sphere: an energy of pairs, a constraint, a state of random places."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """The repulsion of two charges."""
    from .sphere import thomson_repulsion

    return [thomson_repulsion]


@hookimpl
def register_constraints():
    """The sphere."""
    from .sphere import on_sphere

    return [on_sphere]


@hookimpl
def register_states():
    """Charges at random places of a sphere."""
    from .sphere import Charges

    return {"thomson_charges": Charges}
